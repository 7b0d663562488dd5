"""How a fit ends: nothing half-fitted, and what the user should know of a success."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from gferm.exceptions import ConstantModelWarning, InactiveConstraintWarning
from gferm.solver.projection import Solution
from gferm.solver.system import Reduction

if TYPE_CHECKING:
    from gferm.estimators.regressor import FairRegressor


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


def speak_up(model: FairRegressor, solution: Solution, reduction: Reduction) -> None:
    """Say what the user should know about a fit that succeeded."""
    if model.epsilon and not solution.active and model.contrasts_ is not None:
        warnings.warn(
            f"epsilon={model.epsilon:g} is larger than the gap of the unconstrained model, "
            f"{solution.violation:.4g}: the constraint is not active and this is the plain "
            "model. Use a smaller epsilon to trade accuracy for fairness.",
            InactiveConstraintWarning,
            stacklevel=4,
        )
    if solution.active and reduction.is_constant(solution.multipliers):
        warnings.warn(
            f"epsilon={model.epsilon:g} leaves only the constant model: its "
            f"{solution.multipliers.size} contrasts use up every degree of freedom. Use a "
            "larger epsilon, fewer y_bins or s_bins, more features or a richer kernel.",
            ConstantModelWarning,
            stacklevel=4,
        )
    if not model.duality_gap_ <= model.tol:  # NaN too
        warnings.warn(
            f"The relative duality gap is {model.duality_gap_:.2g}, above tol={model.tol:g}: the "
            "problem is badly conditioned. Use a larger alpha, fewer y_bins or s_bins, or "
            "solver='spectrum'.",
            ConvergenceWarning,
            stacklevel=4,
        )
