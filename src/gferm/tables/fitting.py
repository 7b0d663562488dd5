"""Fair models of the rows of a table: what may be asked for, the search for one, what it is.

    matrix (preparation.py) + rows (labelled_rows.py) → model, or search for one → what it is

The plain model is the same without the constraint; it is fitted beside the fair one where that
costs little, to tell what fairness cost.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

from gferm.arrays import Array
from gferm.arrays.device import open_device
from gferm.estimators import FairClassifier, FairRegressor
from gferm.exceptions import InputError
from gferm.features.kernel import Kernel
from gferm.losses import CLASSIFICATION_LOSSES, REGRESSION_LOSSES
from gferm.model_selection import FairClassifierCV, FairRegressorCV
from gferm.solver import choose_solver
from gferm.tables.columns import Task, nearest
from gferm.tables.labelled_rows import LabelledRows

MODELS = {"regression": FairRegressor, "classification": FairClassifier}
SEARCHES = {"regression": FairRegressorCV, "classification": FairClassifierCV}
LOSSES = {"regression": REGRESSION_LOSSES, "classification": CLASSIFICATION_LOSSES}

GAMMAS = (0.1, 1.0, 10.0)  # to try, over the number of columns: the features have deviation 1
SMALL = 20  # rows of a cell whose mean is mostly chance
CHEAP = 2000  # rows up to which any plain model is fitted too, to compare …
CHEAP_NUMBERS = 2_000_000  # … and numbers of a matrix up to which a linear one is
KERNEL_COPIES = 1.3  # n×n arrays that a kernel fit holds at once


@dataclass(frozen=True)
class Search:
    """What is chosen by cross-validation; None stands for the grid by default."""

    rule: str
    alphas: list[float] | None = None
    gammas: list[float] | None = None
    epsilons: list[float | None] | None = None
    folds: int = 5
    tolerance: float = 0.1

    def run(
        self, params: Mapping[str, Any], matrix: Array, rows: LabelledRows, *, verbose: bool
    ) -> Any:
        """Return a fitted search: what ``params`` fix is fixed, what they leave open is tried."""
        fixed = dict(params)
        alpha, gamma, epsilon = (fixed.pop(name, None) for name in ("alpha", "gamma", "epsilon"))
        gammas = self.gammas if gamma is None else [gamma]
        if gammas is None and Kernel(fixed.get("kernel", "rbf")).has_gamma:
            gammas = [factor / matrix.shape[1] for factor in GAMMAS]
        return SEARCHES[rows.task](
            alphas=self.alphas if alpha is None else [alpha],
            gammas=gammas,
            epsilons=[epsilon] if self.epsilons is None else self.epsilons,
            selection=self.rule,
            tolerance=self.tolerance,
            cv=self.folds,
            verbose=int(verbose),
            **fixed,
        ).fit(matrix, rows.y, **rows.groups_and_weight)


def require_known(task: Task, params: Mapping[str, Any]) -> None:
    """Raise an error if there is no such loss, kernel or device; it names the nearest."""
    for option, value, known in (
        ("--loss", params.get("loss"), LOSSES[task]),
        ("--kernel", params.get("kernel"), tuple(PAIRWISE_KERNEL_FUNCTIONS)),
    ):
        if value is not None and value not in known:
            raise InputError(f"{option} {value!r} is not known for {task}; {nearest(value, known)}")
    if "device" in params:
        open_device(params["device"])


def require_memory(
    matrix: Array, *, kernel: str | Callable[..., Any], n_landmarks: int | None = None
) -> None:
    """Raise an error if the fit needs a kernel matrix that this machine cannot hold."""
    n, d = matrix.shape
    choice = choose_solver(
        kernel=kernel, n_samples=n, n_features=d, n_landmarks=n_landmarks, alpha=1.0
    )
    needed = KERNEL_COPIES * 8 * n**2
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows: let it try
        return
    if choice.form == "kernel" and needed > there:
        raise InputError(
            f"the kernel matrix of {n} rows needs {needed / 2**30:.0f} GiB and this machine "
            f"has {there / 2**30:.0f}; use --landmarks 2000, --kernel linear, or fewer rows."
        )


def fit_model(params: Mapping[str, Any], matrix: Array, rows: LabelledRows) -> Any:
    """Return a fitted FairRegressor or FairClassifier."""
    return MODELS[rows.task](**params).fit(matrix, rows.y, **rows.groups_and_weight)


def describe_model(model: Any, task: Task) -> dict[str, Any]:
    """Return what a fitted model is, whom it compared and how well it is proved."""
    cells, contrasts, solver = model.cells_, model.contrasts_, model.solver_
    sizes = [len(block.kept) for block in contrasts.blocks]
    possible = [len(block.groups) for block in contrasts.blocks]
    settings = "loss kernel gamma n_landmarks alpha epsilon match min_cell_size"
    return {
        "task": task,
        **{name: getattr(model, name) for name in settings.split()},
        "cells": [
            {
                "attribute": part.name,
                "groups": list(part.groups),
                "label_bins": list(cells.label_bins.labels),
                "rows": part.counts.tolist(),
            }
            for part in cells.partitions
        ],
        "continuous": list(cells.scores),
        "small_cells": [
            {"attribute": name, "label_bin": label, "group": group, "rows": count}
            for name, label, group, count in cells.small(SMALL)
        ],
        "pairs_compared": sum(n * (n - 1) // 2 for n in sizes),
        "pairs_not_compared": sum(
            n * (n - 1) // 2 - k * (k - 1) // 2 for n, k in zip(possible, sizes, strict=True)
        ),
        "violation": model.violation_,
        "duality_gap": model.duality_gap_,
        "iterations": model.n_iter_,
        "solver": f"{solver.method}, {solver.form} form",
    }


def describe_price(model: Any, matrix: Array, rows: LabelledRows) -> dict[str, Any]:
    """Return gap and price beside the plain model; None where that would cost much to know."""
    plain = _fit_plain(model, matrix, rows)
    if plain is None:
        return {"plain_violation": None, "price_percent": None}
    price = 100 * (model.objective_ / plain.objective_ - 1) if plain.objective_ > 0 else None
    return {"plain_violation": plain.violation_, "price_percent": price}


def describe_search(found: Any) -> dict[str, Any]:
    """Return what was tried, what was chosen and how good that was on held-out rows."""
    return {
        "settings": len(found.cv_results_["params"]),
        "folds": found.n_splits_,
        "rule": str(found.rule_),
        "chosen": found.best_params_,
        "held_out_error": found.best_error_,
        "held_out_unfairness": found.best_unfairness_,
        "unfairness_measure": found.unfairness_,
    }


def _fit_plain(model: Any, matrix: Array, rows: LabelledRows) -> Any:
    """Return the same model without the constraint, or None."""
    linear = model.solver_.method == "projection" and model.solver_.form == "linear"
    cheap = len(matrix) <= CHEAP or (linear and matrix.size <= CHEAP_NUMBERS)
    if model.epsilon is None or not cheap:
        return None
    return clone(model).set_params(epsilon=None).fit(matrix, rows.y, **rows.groups_and_weight)
