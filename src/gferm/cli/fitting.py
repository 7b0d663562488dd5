"""`gferm fit` without the terminal: a file and options in, a saved model and its summary out.

file → rows (learning_data.py) → matrix (features.py) → fair model, or a search for one
model → summary (plain data), model file (model_file.py)
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sklearn.base import clone
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS
from sklearn.pipeline import Pipeline

from gferm.arrays import Array
from gferm.arrays.device import open_device
from gferm.cli.bins_option import read_class_bins, read_group_bins, read_label_bins
from gferm.cli.columns import nearest
from gferm.cli.features import RULE, TablePreparation
from gferm.cli.learning_data import DataOptions, read_learning_data
from gferm.cli.model_file import SavedModel, save_model
from gferm.cli.roles import LearningRows, Roles, Task
from gferm.cli.terminal import InputError, stage
from gferm.estimators import FairClassifier, FairRegressor
from gferm.losses import CLASSIFICATION_LOSSES, REGRESSION_LOSSES
from gferm.model_selection import FairClassifierCV, FairRegressorCV

MODELS = {"regression": FairRegressor, "classification": FairClassifier}
SEARCHES = {"regression": FairRegressorCV, "classification": FairClassifierCV}
LOSSES = {"regression": REGRESSION_LOSSES, "classification": CLASSIFICATION_LOSSES}

WITH_GAMMA = ("rbf", "laplacian", "poly", "polynomial", "sigmoid", "chi2")
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


@dataclass(frozen=True)
class FitOptions:
    """What a user asked of a fit.

    Attributes
    ----------
    task : {"regression", "classification"}
    y_bins, s_bins
        As they were written; bins_option.py reads them.
    params : dict
        Further arguments of the estimator.
    search : Search or None
    """

    task: Task
    y_bins: str | None = None
    s_bins: tuple[str, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    search: Search | None = None


def fit_file(
    path: Path, data: DataOptions, options: FitOptions, out: Path, *, show: bool = True
) -> dict[str, Any]:
    """Fit, save, and give a summary that is plain data; ``show`` is for progress on stderr."""
    require_known(options)
    with stage(f"Reading {path}", show=show):
        roles, rows = read_learning_data(path, data, options.task)
        preparation = TablePreparation(roles.categorical)
        matrix = preparation.fit_transform(rows.X)
    params = estimator_params(options, roles, rows, matrix)
    search = options.search
    found = None if search is None else _search(params, options.task, search, matrix, rows, show)
    with stage(f"Fitting {len(rows.y)} rows", show=show):
        model = (
            MODELS[options.task](**params).fit(matrix, **given(rows))
            if found is None
            else (found.best_estimator_)
        )
        plain = _plain(model, matrix, rows)
        model.set_params(device=None)  # it will be used where there may be no GPU
    saved = SavedModel(
        pipeline=Pipeline([("prepare", preparation), ("model", model)]),
        task=options.task,
        target=roles.target,
        sensitive=roles.sensitive,
        categorical=roles.categorical,
        features=roles.features,
        words=tuple(preparation.words_),
        settings={"y_bins": options.y_bins, "s_bins": list(options.s_bins), **options.params},
    )
    save_model(saved, out)
    return {
        "data": str(path),
        "rows": len(rows.y),
        "rows_left_out": rows.dropped,
        "target": roles.target,
        "sensitive": list(roles.sensitive),
        "features": list(roles.features),
        "categorical_features": list(preparation.words_),
        "columns_of_matrix": matrix.shape[1],
        "preparation": RULE,
        **describe_model(model, options.task),
        **_compare(model, plain),
        "selection": None if found is None else _describe_search(found),
        "model": str(out),
    }


def require_known(options: FitOptions) -> None:
    """Refuse a loss or a kernel that does not exist, naming the nearest."""
    for option, value, known in (
        ("--loss", options.params.get("loss"), LOSSES[options.task]),
        ("--kernel", options.params.get("kernel"), tuple(PAIRWISE_KERNEL_FUNCTIONS)),
    ):
        if value is not None and value not in known:
            raise InputError(
                f"{option} {value!r} is not known for {options.task}; {nearest(value, known)}"
            )
    if "device" in options.params:  # before a large file is read
        open_device(options.params["device"])


def estimator_params(
    options: FitOptions, roles: Roles, rows: LearningRows, matrix: Array
) -> dict[str, Any]:
    """Return the arguments of the estimator; refuse a kernel matrix that fits into no memory."""
    params = dict(options.params)
    if params.get("kernel", "rbf") != "linear" and params.get("n_landmarks") is None:
        require_memory(len(matrix))
    if options.task == "classification":
        y_bins = read_class_bins(options.y_bins, rows.y)
    else:
        y_bins = read_label_bins(options.y_bins)
    if y_bins is not None:
        params["y_bins"] = y_bins
    return params | {"s_bins": read_group_bins(options.s_bins, roles.sensitive)}


def given(rows: LearningRows) -> dict[str, Any]:
    """Return what goes to `fit` beside the matrix."""
    return {"y": rows.y, "sensitive_features": rows.sensitive, "sample_weight": rows.weight}


def describe_model(model: Any, task: Task) -> dict[str, Any]:
    """Return what a fitted model is, whom it compared and how well it is proved."""
    cells, contrasts, solver = model.cells_, model.contrasts_, model.solver_
    sizes = [len(block.kept) for block in contrasts.blocks]
    possible = [len(block.groups) for block in contrasts.blocks]
    return {
        "task": task,
        "loss": model.loss,
        "kernel": model.kernel,
        "gamma": model.gamma,
        "n_landmarks": model.n_landmarks,
        "alpha": model.alpha,
        "epsilon": model.epsilon,
        "match": model.match,
        "min_cell_size": model.min_cell_size,
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


def require_memory(n_rows: int) -> None:
    """Refuse a kernel matrix that this machine cannot hold."""
    needed = KERNEL_COPIES * 8 * n_rows**2
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows: let it try
        return
    if needed > there:
        raise InputError(
            f"the kernel matrix of {n_rows} rows needs {needed / 2**30:.0f} GiB and this machine "
            f"has {there / 2**30:.0f}; use --landmarks 2000, --kernel linear, or fewer rows."
        )


def _search(
    params: Mapping[str, Any],
    task: Task,
    search: Search,
    matrix: Array,
    rows: LearningRows,
    show: bool,
) -> Any:
    """Try the grids: what the user fixed is fixed, what is left open is tried."""
    fixed = dict(params)
    alpha, gamma, epsilon = (fixed.pop(name, None) for name in ("alpha", "gamma", "epsilon"))
    gammas = search.gammas if gamma is None else [gamma]
    if gammas is None and fixed.get("kernel", "rbf") in WITH_GAMMA:
        gammas = [factor / matrix.shape[1] for factor in GAMMAS]
    return SEARCHES[task](
        alphas=search.alphas if alpha is None else [alpha],
        gammas=gammas,
        epsilons=[epsilon] if search.epsilons is None else search.epsilons,
        selection=search.rule,
        tolerance=search.tolerance,
        cv=search.folds,
        verbose=int(show),
        **fixed,
    ).fit(matrix, **given(rows))


def _describe_search(found: Any) -> dict[str, Any]:
    return {
        "settings": len(found.cv_results_["params"]),
        "folds": found.n_splits_,
        "rule": str(found.rule_),
        "chosen": found.best_params_,
        "held_out_error": found.best_error_,
        "held_out_unfairness": found.best_unfairness_,
        "unfairness_measure": found.unfairness_,
    }


def _plain(model: Any, matrix: Array, rows: LearningRows) -> Any:
    """Fit the same model without the constraint, where that costs little."""
    linear = model.solver_.method == "projection" and model.solver_.form == "linear"
    cheap = len(matrix) <= CHEAP or (linear and matrix.size <= CHEAP_NUMBERS)
    if model.epsilon is None or not cheap:
        return None
    return clone(model).set_params(epsilon=None).fit(matrix, **given(rows))


def _compare(model: Any, plain: Any) -> dict[str, Any]:
    if plain is None:
        return {"plain_violation": None, "price_percent": None}
    price = 100 * (model.objective_ / plain.objective_ - 1) if plain.objective_ > 0 else None
    return {"plain_violation": plain.violation_, "price_percent": price}
