"""Where iterations begin: with a stiffness of the right size, and only if there is an end."""

from __future__ import annotations

import numpy as np

from gferm.arrays import Array
from gferm.losses import Loss
from gferm.solver.fair_ridge import FairRidge, Fit
from gferm.solver.projection import require_met


def first_rho(loss: Loss, y: Array, weight: Array | None) -> float:
    """Return the slope of the loss at a constant prediction, beside the spread of the labels."""
    level = np.full(y.shape, np.average(y, weights=weight))
    spread = float(np.sqrt(np.average((y - level) ** 2, weights=weight)))
    if spread == 0.0:
        return 1.0
    step = 1e-3 * spread
    rise = loss.value(y, level + step) - loss.value(y, level - step)
    slope = float(np.sqrt(np.average(rise**2, weights=weight))) / (2.0 * step)
    return slope / spread if slope > 0.0 else 1.0


def require_reachable(core: FairRidge, fit: Fit) -> None:
    """Refuse an epsilon that no model meets, before iterating in vain."""
    contrasts, epsilon = core.contrasts, core.epsilon
    if contrasts is not None and epsilon is not None:
        reached = contrasts.violation_of(core.contrasts_of(fit))
        plain = contrasts.violation_of(core.plain_contrasts_of(fit))
        require_met(reached, epsilon, plain, contrasts, float(np.ptp(fit.predictions)))
