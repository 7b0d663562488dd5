"""How steep and how large a loss is where |f| ≤ M and y lies in a range.

A loss ℓ(y, ·) is convex, so its slope is largest at an end of [−M, M], and there a difference
quotient taken outwards is never below the slope:

    L ≤ max ( (ℓ(y, M + h) − ℓ(y, M)) / h,  (ℓ(y, −M − h) − ℓ(y, −M)) / h ),   h small,

and never above the steepest slope there is at all. It is a function of u − y or of y u, so the ends
of the range of y are the worst. Losses are never negative, so their largest value bounds their
range c; it is taken at an end too. For the square loss L = 2 max |u − y| and c = max (u − y)².
"""

from __future__ import annotations

import numpy as np

from gferm.bounds.rademacher import Class
from gferm.losses import Loss

STEP = 1e-6  # of M + |y|: the constant comes out as much too large, relatively
ROUNDING = 1e-8  # of the quotient, which must not come out too small


def loss_on_ball(loss: Loss, reach: float, y_range: tuple[float, float]) -> Class:
    """Return Lipschitz constant and range of a loss on the ball.

    Parameters
    ----------
    loss : Loss
    reach : float
        M, the largest |f|.
    y_range : tuple of float
        (−1, 1) for classes.

    Returns
    -------
    Class
    """
    side, y = (np.ravel(part) for part in np.meshgrid([-1.0, 1.0], np.array(y_range, dtype=float)))
    step = STEP * max(reach + float(np.abs(y).max()), 1e-100)
    at_end = loss.value(y, side * reach)
    outwards = (loss.value(y, side * (reach + step)) - at_end) / step
    steepest = np.abs(loss.slopes(y)).max()
    lipschitz = min(float(outwards.max()) * (1.0 + ROUNDING), float(steepest))
    return Class(lipschitz, reach, float(at_end.max()))


def risk_of_middle(loss: Loss, y_range: tuple[float, float]) -> float:
    """Return the largest loss of the constant in the middle of the range, which needs no rows."""
    y = np.array(y_range, dtype=float)
    return float(loss.value(y, np.full(2, y.mean())).max())
