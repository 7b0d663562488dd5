"""How a fit ends: nothing half-fitted, and what the user should know of a success."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from gferm.exceptions import ConstantModelWarning, InactiveConstraintWarning
from gferm.solver.projection import Solution

if TYPE_CHECKING:
    from gferm.estimators.base import FairModel

OF_THE_FEATURES = ("n_features_in_", "feature_names_in_")
ROUNDING = 1e-9
REMEDIES = {
    "projection": "the problem is badly conditioned. Use a larger alpha, fewer y_bins or s_bins, "
    "or solver='spectrum'.",
    "splitting": "the iteration stopped at max_iter={max_iter}. Use a larger max_iter, tol or "
    "alpha, or scale X.",
    "newton": "Newton's method stopped at max_iter={max_iter}, or where rounding let it go no "
    "further. Use a larger max_iter, tol or alpha, or scale X.",
    "libsvm": "libsvm came no closer, nor did max_iter={max_iter} steps of splitting after it. Use "
    "a larger max_iter, tol or alpha, or scale X.",
}


@contextmanager
def unchanged_on_error(estimator: BaseEstimator) -> Iterator[None]:
    """Leave an estimator as it was if fitting fails: never half-fitted."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def share_features(model: Any, other: Any) -> None:
    """Let another estimator know the features that one has read, and no others."""
    known = {name: vars(model)[name] for name in OF_THE_FEATURES if name in vars(model)}
    for name in OF_THE_FEATURES:
        other.__dict__.pop(name, None)
    other.__dict__.update(known)


def speak_up(model: FairModel, solutions: Sequence[Solution]) -> None:
    """Return what the user should know about a fit that succeeded."""
    converged = model.duality_gap_ <= model.tol  # not if it is NaN
    epsilon = model.epsilon or 0.0
    inactive = epsilon > 0.0 and not model.active_ and model.contrasts_ is not None
    # the gap itself, as the first epsilon of a frontier is, was asked for on purpose
    if inactive and converged and epsilon > (1.0 + ROUNDING) * model.violation_:
        warnings.warn(
            f"epsilon={model.epsilon:g} is larger than the gap of the unconstrained model, "
            f"{model.violation_:.4g}: the constraint is not active and this is the plain "
            "model. Use a smaller epsilon to trade accuracy for fairness.",
            InactiveConstraintWarning,
            stacklevel=5,
        )
    constant = [k for k, one in enumerate(solutions) if one.active and one.constant]
    if constant:
        named = [str(model.classes_[k]) for k in constant] if len(solutions) > 1 else []
        of_these = f" of {', '.join(map(repr, named))} against the rest" if named else ""
        warnings.warn(
            f"epsilon={model.epsilon:g} leaves only the constant model{of_these}: its "
            f"{solutions[0].multipliers.size} contrasts use up every degree of freedom, or every "
            "one worth its cost. Use a larger epsilon, fewer y_bins or s_bins, a smaller alpha, "
            "more features or a richer kernel.",
            ConstantModelWarning,
            stacklevel=5,
        )
    if not converged:
        warnings.warn(
            f"The relative duality gap is {model.duality_gap_:.2g}, above tol={model.tol:g}: "
            f"{REMEDIES[model.solver_.method].format(max_iter=model.max_iter)}",
            ConvergenceWarning,
            stacklevel=5,
        )
