"""What every fair estimator shares: the way of a fit.

    rows → cells → constraint      who is compared with whom       reading.py, fairness/
    rows → features → problem      the one factorisation           features/, solver/problem.py
    problem → solutions            by the solver that choice.py names
    solutions → fitted attributes

Estimators differ in their ``labels`` (labels.py) and in their docstrings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from gferm.arrays import Array
from gferm.arrays.foreign import as_numpy, back_to, device_for
from gferm.arrays.memory import explain_out_of_memory
from gferm.estimators.labels import Labels
from gferm.estimators.messages import (
    unchanged_on_error,
    warn_about_fit,
    warn_of_cells_without_rows,
)
from gferm.estimators.parameters import SharedParameters
from gferm.estimators.reading import read_rows, read_sensitive
from gferm.exceptions import NothingToCompareError
from gferm.fairness.cells import Cells
from gferm.fairness.comparison import Comparison, no_contrasts, require_every_row_in_a_bin
from gferm.fairness.constraint import Constraint
from gferm.fairness.membership import Membership
from gferm.features.base import Features, values_of
from gferm.features.kernel import Kernel
from gferm.features.space import FunctionSpace
from gferm.losses import as_loss
from gferm.solver.choice import LIBSVM, SOLVERS, Settings, SolverChoice
from gferm.solver.problem import LearningProblem
from gferm.solver.projection import Solution


class FairModel(SharedParameters):
    """Base of FairRegressor and FairClassifier; see there for the parameters."""

    labels: ClassVar[Labels]

    coef_: Any
    dual_coef_: Any
    X_fit_: Any
    intercept_: Any
    multipliers_: Array
    cells_: Cells | None
    contrasts_: Constraint | None
    violation_: float
    active_: bool
    objective_: float
    duality_gap_: float
    n_iter_: int
    solver_: SolverChoice
    classes_: npt.NDArray[Any]
    n_features_in_: int
    stream_: Any

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SharedParameters._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left")],
        "epsilon": [Interval(Real, 0, None, closed="left"), None],
        "solver": [StrOptions(set(SOLVERS))],
    }

    def __init__(
        self,
        loss: Any = "squared",
        *,
        gamma: float | None = None,
        alpha: float = 1.0,
        epsilon: float | None = 0.0,
        solver: str = "auto",
        **shared: Any,
    ) -> None:
        super().__init__(loss, **shared)
        self.gamma = gamma
        self.alpha = alpha
        self.epsilon = epsilon
        self.solver = solver

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(
        self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn the model.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Training rows, or the kernel matrix for kernel="precomputed".
        y : array of shape (n_samples,)
            Label of each row: numbers for a regressor; numbers or words that are classes for a
            classifier.
        sensitive_features : array, Series, data frame or dict of columns
            The sensitive attributes, one row per sample; required unless epsilon is None.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the risk and of the cell means.

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            self.__dict__.pop("stream_", None)
            posed = pose_rows(self, X, y, sensitive_features, sample_weight)
            solutions = posed.problem.solve()
            accept_solutions(self, Learned.of(posed.problem, posed.cells), solutions)
            for name, value in self.labels.learned(posed.y).items():
                setattr(self, name, value)
        warn_about_fit(self, solutions)
        if self.labels.are_classes:
            warn_of_cells_without_rows(self, posed.members)
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict; the sensitive attributes are not needed.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            For kernel="precomputed", the kernel between these and the training rows.

        Returns
        -------
        array of shape (n_samples,)
        """
        check_is_fitted(self)
        answers = self.labels.answers(model_values(self, X), getattr(self, "classes_", None))
        predictions: npt.NDArray[Any] = back_to(answers, X)
        return predictions

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "intercept_")


@dataclass(frozen=True, eq=False)
class PosedRows:
    """The learning problem of some rows.

    Attributes
    ----------
    problem : LearningProblem
    members : Membership or None
        Which row is in which cell; None when nobody is compared.
    y : array of shape (n_samples,)
        The labels that count.
    mass : float
        Σ w, the number of rows without weights.
    """

    problem: LearningProblem
    members: Membership | None
    y: npt.NDArray[Any]
    mass: float

    @property
    def cells(self) -> Cells | None:
        """The table of cells."""
        return None if self.members is None else self.members.cells


def pose_rows(
    model: FairModel, X: Any, y: Any, sensitive_features: Any, sample_weight: Any
) -> PosedRows:
    """Read what was passed to `fit`, and write the learning problem."""
    plain = model.epsilon is None and sensitive_features is None
    rows = read_rows(model, X, y, sample_weight, ensure_min_samples=1 if plain else 2)
    space = FunctionSpace.of(model)
    landmarks = space.find_landmarks(rows.X, getattr(model, "feature_names_in_", None))
    members: Membership | None = None
    constraint: Constraint | None = None
    columns = no_contrasts(rows.y.size)
    targets, y_bins = model.labels.targets(rows.y), model.labels.bins(rows.y, model.y_bins)
    if not plain:
        attributes = read_sensitive(sensitive_features, rows, like=(X, y))
        try:
            members, constraint, columns = compare_rows(
                Comparison.of(model, y_bins=y_bins), rows.y, attributes, rows.weight, targets
            )
        except NothingToCompareError:
            if model.epsilon is not None:  # else nothing was to be constrained
                raise
    problem = LearningProblem(
        rows.features(space, landmarks, in_rows=model.solver == LIBSVM),
        targets,
        constraint,
        columns,
        settings_of(model),
    )
    mass = float(rows.y.size if rows.weight is None else rows.weight.sum())
    return PosedRows(problem, members, rows.y, mass)


def comparison_of(model: FairModel, y: npt.NDArray[Any]) -> Comparison:
    """Return who is compared with whom, with the bins that these labels settle."""
    return Comparison.of(model, y_bins=model.labels.bins(y, model.y_bins))


def compare_rows(
    comparison: Comparison,
    y: npt.NDArray[Any],
    attributes: Any,
    weight: Array | None,
    targets: Sequence[Array],
) -> tuple[Membership, Constraint, sparse.csr_array]:
    """Settle the bins on rows, all of which must lie in them, and build the constraint."""
    if comparison.match == "residual" and len(targets) > 1:
        raise ValueError(
            "match='residual' compares f − y with y = ±1, which more than two classes do not "
            "have; use match='prediction'."
        )
    members = comparison.sort(y, attributes, weight)
    require_every_row_in_a_bin(members, y, attributes)
    return members, *comparison.constrain(members, targets[0] if targets else None)


def settings_of(model: FairModel) -> Settings:
    """Return how the model's learning problem is to be solved."""
    loss = as_loss(model.loss, model.labels.losses)
    how = model.solver, model.tol, model.max_iter
    return Settings(loss, model.alpha, model.epsilon, *how)


@dataclass(frozen=True, eq=False)
class Learned:
    """What a fitted model is made of beside its solutions; it knows no rows but those f needs.

    Attributes
    ----------
    features : Features
    constraint : Constraint or None
    choice : SolverChoice
        What solved it.
    cells : Cells or None
    """

    features: Features
    constraint: Constraint | None
    choice: SolverChoice
    cells: Cells | None

    @classmethod
    def of(cls, problem: LearningProblem, cells: Cells | None) -> Learned:
        """Keep what fitted models take of a problem that was solved."""
        return cls(problem.features.without_rows(), problem.constraint, problem.choice, cells)


def accept_solutions(model: FairModel, learned: Learned, solutions: Sequence[Solution]) -> None:
    """Set every fitted attribute; nothing before this does."""
    shape, features = model.labels.shape, learned.features
    coefficients, intercepts = features.expand(
        np.array([solution.coefficients for solution in solutions]),
        np.array([solution.intercept for solution in solutions]),
    )
    for name in ("coef_", "dual_coef_", "X_fit_"):  # of an earlier fit with another kernel
        model.__dict__.pop(name, None)
    support, multipliers = features.support, np.array([one.multipliers for one in solutions])
    fitted: dict[str, Any] = {"coef_" if support is None else "dual_coef_": shape(coefficients)}
    if support is not None:
        fitted["X_fit_"] = support
    fitted |= {
        "intercept_": shape(intercepts),
        "multipliers_": shape(multipliers),
        "cells_": learned.cells,
        "contrasts_": learned.constraint,
        "violation_": max(solution.violation for solution in solutions),
        "active_": any(solution.active for solution in solutions),
        "objective_": sum(solution.objective for solution in solutions),
        "duality_gap_": max(solution.relative_gap for solution in solutions),
        "n_iter_": max(solution.n_iter for solution in solutions),
        "solver_": learned.choice,
    }
    for name, value in fitted.items():
        setattr(model, name, value)


def model_values(model: FairModel, X: Any) -> Array:
    """Return the value of each of the fitted models at each row, shape (n_models, n_samples)."""
    support = getattr(model, "X_fit_", None)
    coefficients = model.coef_ if support is None else model.dual_coef_
    return values_of_several(
        model, X, np.atleast_2d(coefficients), np.atleast_1d(model.intercept_), support
    )


def values_of_several(
    model: FairModel, X: Any, coefficients: Array, intercepts: Array, support: Any
) -> Array:
    """Predict with models of any coefficients, one a row, evaluating the kernel once."""
    kernel, device = Kernel.of(model), device_for(model.device, X)
    rows = validate_data(model, as_numpy(X), accept_sparse=kernel.accept_sparse, reset=False)
    with explain_out_of_memory(device):
        return values_of(kernel, rows, coefficients, support, device) + intercepts[:, None]
