"""What every fair estimator shares: its parameters, and the way of a fit.

    rows → cells → constraint      who is compared with whom       posing.py, fairness/
    rows → features → problem      the one factorisation           features/, solver/problem.py
    problem → solutions            by the solver that choice.py names
    solutions → fitted attributes

Estimators differ in their ``labels`` (labels.py) and in their docstrings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, signature
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, _fit_context
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS
from sklearn.utils._param_validation import (
    Interval,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.validation import check_is_fitted, validate_data

from gferm.arrays import Array
from gferm.arrays.device import CPU, DEVICES
from gferm.arrays.foreign import as_numpy, back_to, device_for
from gferm.arrays.memory import explain_out_of_memory
from gferm.estimators.labels import Labels
from gferm.estimators.messages import (
    unchanged_on_error,
    warn_about_fit,
    warn_of_cells_without_rows,
)
from gferm.estimators.posing import pose_rows
from gferm.fairness.bins import Bins
from gferm.fairness.cells import Cells, SensitiveBins
from gferm.fairness.comparison import EPSILON_SCALES, MATCHES
from gferm.fairness.constraint import Constraint
from gferm.features.base import Features, values_of
from gferm.features.kernel import Kernel
from gferm.features.landmarks import WAYS
from gferm.losses import Loss
from gferm.solver.choice import SOLVERS, SolverChoice
from gferm.solver.problem import LearningProblem
from gferm.solver.projection import Solution


class InheritedParameters:
    """Completes the signature of an ``__init__`` with the parameters that it passes on.

    A name that is no parameter is refused in the words of the class that the user knows.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = cls.__dict__.get("__init__")
        named = {} if own is None else dict(signature(own).parameters)
        passed_on = [name for name, one in named.items() if one.kind is Parameter.VAR_KEYWORD]
        if own is None or not passed_on:
            return
        del named[passed_on[0]]
        inherited = signature(super(cls, cls).__init__).parameters
        every = dict(named)
        for name, one in inherited.items():
            every.setdefault(name, one.replace(kind=Parameter.KEYWORD_ONLY))

        @wraps(own)
        def init(self: Any, *args: Any, **parameters: Any) -> None:
            for name in (name for name in parameters if name not in every):
                near = get_close_matches(name, every, n=1)
                hint = f"; did you mean {near[0]}?" if near else "."
                raise TypeError(f"{type(self).__name__}() has no parameter {name!r}{hint}")
            own(self, *args, **parameters)

        whole = signature(own).replace(parameters=list(every.values()))
        init.__signature__ = whole  # type: ignore[attr-defined]
        cls.__init__ = init  # type: ignore[method-assign]


class KernelMachine(BaseEstimator):  # type: ignore[misc]
    """An estimator whose kernel is named as in KernelRidge."""

    kernel: str | Callable[..., float]
    gamma: float | None
    degree: float
    coef0: float
    kernel_params: Mapping[str, Any] | None

    _kernel_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions(set(PAIRWISE_KERNEL_FUNCTIONS) | {"precomputed"}), callable],
        "gamma": [Interval(Real, 0, None, closed="left"), None],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
    }

    def __sklearn_tags__(self) -> Any:
        tags, kernel = super().__sklearn_tags__(), Kernel(self.kernel)
        tags.input_tags.sparse = bool(kernel.accept_sparse)
        tags.input_tags.pairwise = kernel.is_given
        tags.input_tags.positive_only = kernel.takes_counts
        return tags


class SharedParameters(InheritedParameters, KernelMachine):
    """What fair models and searches for them have in common."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [str, Loss],  # as_loss says it better than a type check
        **KernelMachine._kernel_constraints,
        "n_landmarks": [Interval(Integral, 1, None, closed="left"), None],
        "landmarks": [StrOptions(set(WAYS)), "array-like", "sparse matrix"],
        "epsilon_scale": [StrOptions(set(EPSILON_SCALES))],
        "y_bins": [Interval(Integral, 1, None, closed="left"), "array-like", Bins],
        "s_bins": [str, Interval(Integral, 1, None, closed="left"), "array-like", Bins, dict],
        "intersectional": ["boolean"],
        "match": [StrOptions(set(MATCHES))],
        "min_cell_size": [Interval(Integral, 1, None, closed="left")],
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "device": [StrOptions(set(DEVICES)), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        loss: str | Loss = "squared",
        *,
        kernel: str | Callable[..., float] = "rbf",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: Mapping[str, Any] | None = None,
        n_landmarks: int | None = None,
        landmarks: Any = "uniform",
        epsilon_scale: str = "mean",
        y_bins: Any = 10,
        s_bins: SensitiveBins = "auto",
        intersectional: bool = True,
        match: str = "prediction",
        min_cell_size: int = 1,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int = 5000,
        device: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.loss = loss
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.epsilon_scale = epsilon_scale
        self.y_bins = y_bins
        self.s_bins = s_bins
        self.intersectional = intersectional
        self.match = match
        self.min_cell_size = min_cell_size
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.device = device
        self.random_state = random_state


def check_parameters(estimator: BaseEstimator) -> None:
    """Refuse parameters of the wrong type or range, as `fit` does."""
    validate_parameter_constraints(
        estimator._parameter_constraints,
        estimator.get_params(deep=False),
        caller_name=type(estimator).__name__,
    )


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
            warn_about_fit(self, solutions)  # if that is an error, nothing was fitted
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
    kernel = Kernel.of(model)
    # weights of features serve wherever they were learned
    device = CPU if support is None else device_for(model.device, X)
    rows = validate_data(model, as_numpy(X), accept_sparse=kernel.accept_sparse, reset=False)
    with explain_out_of_memory(device):
        return values_of(kernel, rows, coefficients, support, device) + intercepts[:, None]
