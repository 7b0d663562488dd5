"""How far risks on a sample can be from those of the population, at once for a ball of functions.

For f(x) = ⟨w, φ(x)⟩ with ‖w‖ ≤ R and κ² = sup k(x, x), a loss that is L-Lipschitz in f and varies
by at most c on the ball, n independent rows of one distribution and any δ, with probability 1 − δ

    sup over the ball |L(f) − L̂(f)| ≤ B(δ, n) = 2 L R κ / √n + c √(ln(2/δ) / (2n)).

The first term is twice the Rademacher complexity of the ball (with Talagrand's contraction), the
second is McDiarmid's inequality, on both sides (remark 2 of the paper).

L and c follow from the loss where |f| ≤ M = Rκ and y lies in a range. A loss ℓ(y, ·) is convex, so
its slope is largest at an end of [−M, M], and there a difference quotient taken outwards is never
below the slope:

    L ≤ max ( (ℓ(y, M + h) − ℓ(y, M)) / h,  (ℓ(y, −M − h) − ℓ(y, −M)) / h ),   h small,

and never above the steepest slope there is at all. It is a function of u − y or of y u, so the ends
of the range of y are the worst. Losses are never negative, so their largest value bounds their
range c; it is taken at an end too. For the square loss L = 2 max |u − y| and c = max (u − y)².
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log, sqrt

import numpy as np

from gferm.losses import Loss

STEP = 1e-6  # of M + |y|: the constant comes out as much too large, relatively
ROUNDING = 1e-8  # of the quotient, which must not come out too small


@dataclass(frozen=True)
class LossOnBall:
    """What B needs to know of a loss and of a ball of functions.

    Attributes
    ----------
    lipschitz : float
        L.
    reach : float
        R κ, the largest |f|.
    spread : float
        c, the largest value of the loss minus the smallest.
    """

    lipschitz: float
    reach: float
    spread: float

    @classmethod
    def of(cls, loss: Loss, reach: float, y_range: tuple[float, float]) -> LossOnBall:
        """Bound the slope and the range of a loss; ``y_range`` is (−1, 1) for classes."""
        ends = np.meshgrid([-1.0, 1.0], np.array(y_range, dtype=float))
        side, y = (np.ravel(part) for part in ends)
        step = STEP * max(reach + float(np.abs(y).max()), 1e-100)
        at_end = loss.value(y, side * reach)
        outwards = (loss.value(y, side * (reach + step)) - at_end) / step
        steepest = np.abs(loss.slopes(y)).max()
        lipschitz = min(float(outwards.max()) * (1.0 + ROUNDING), float(steepest))
        return cls(lipschitz, reach, float(at_end.max()))

    def deviation(self, delta: float, n: int) -> float:
        """Return B(δ, n); infinite without rows."""
        if n == 0:
            return inf
        complexity = 2.0 * self.lipschitz * self.reach / sqrt(n)
        return complexity + self.spread * sqrt(log(2.0 / delta) / (2.0 * n))


def risk_of_middle(loss: Loss, y_range: tuple[float, float]) -> float:
    """Return the largest loss of the constant in the middle of the range, which needs no rows."""
    y = np.array(y_range, dtype=float)
    return float(loss.value(y, np.full(2, y.mean())).max())
