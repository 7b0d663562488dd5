"""The parameters that estimators and searches share, with their defaults and their checks.

A subclass names in its ``__init__`` only what it adds, or what has another default; the rest comes
as ``**shared``. `InheritedParameters` tells scikit-learn, and whoever asks for help, all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.base import BaseEstimator
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS
from sklearn.utils._param_validation import (
    Interval,
    StrOptions,
    validate_parameter_constraints,
)

from gferm.arrays.device import DEVICES
from gferm.fairness.bins import Bins
from gferm.fairness.cells import SensitiveBins
from gferm.fairness.comparison import EPSILON_SCALES, MATCHES
from gferm.features.kernel import Kernel
from gferm.features.landmarks import WAYS
from gferm.losses import Loss


class InheritedParameters:
    """Completes the signature of an ``__init__`` with the parameters that it passes on."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = cls.__dict__.get("__init__")
        if own is None or signature(own).parameters.keys() <= {"self"}:
            return
        named = dict(signature(own).parameters)
        passed_on = [name for name, one in named.items() if one.kind is Parameter.VAR_KEYWORD]
        if not passed_on:
            return
        del named[passed_on[0]]
        inherited = signature(super(cls, cls).__init__).parameters
        every = {**inherited, **named}
        own.__signature__ = signature(own).replace(parameters=list(every.values()))


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
