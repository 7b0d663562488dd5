"""Intervals of shares that few rows give: Wilson's score, and Newcombe's for a difference.

A cell in which 3 of 3 rows are hits says little, but drawing its rows again would always give 3 of
3: a bootstrap interval without width. Wilson's quantiles at level τ, z = Φ⁻¹(τ),

    (p + z²/2n + z √(p(1−p)/n + z²/4n²)) / (1 + z²/n)

do not collapse, and Newcombe (1998) combines those of two cells into one of their difference. With
weights, n is Kish's effective number of rows (Σw)²/Σw².
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from gferm.arrays import Array


def wilson(share: Array, n: Array, level: float) -> Array:
    """Return the quantile of shares of ``n`` rows; NaN where there is no row."""
    z = ndtri(level)
    with np.errstate(invalid="ignore", divide="ignore"):
        # rounding may leave a share of weighted rows a little beyond 0 or 1
        root = np.sqrt(np.maximum(share * (1.0 - share), 0.0) / n + z**2 / (4.0 * n**2))
        found: Array = (share + z**2 / (2.0 * n) + z * root) / (1.0 + z**2 / n)
    return found


def newcombe(first: Array, second: Array, n_first: Array, n_second: Array, level: float) -> Array:
    """Return the quantile of the difference of two independent shares."""
    from_first = wilson(first, n_first, level) - first
    from_second = second - wilson(second, n_second, 1.0 - level)
    found: Array = first - second + np.copysign(np.hypot(from_first, from_second), level - 0.5)
    return found
