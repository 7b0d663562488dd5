"""Intervals of the mean of n rows: Wilson's for a share, Student's for numbers.

    share p     (p + z²/2n ± z √(p(1 − p)/n + z²/4n²)) / (1 + z²/n)
    mean m      m ± t_{n−1} √(v/n),   v the variance with denominator n − 1

Weighted rows count as n = (Σw)²/Σw² of equal weight. No rows, and one row of numbers, have no
interval: NaN.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

from gferm.arrays import Array

LEVEL = 0.95


def wilson(share: Array, n: Array) -> tuple[Array, Array]:
    """Return the interval of a share seen in n rows."""
    z2 = stats.norm.ppf(0.5 + LEVEL / 2) ** 2
    n = np.where(n > 0, n, np.nan)
    center = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = np.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n**2))) / (1 + z2 / n)
    return np.clip(center - half, 0.0, 1.0), np.clip(center + half, 0.0, 1.0)


def student(mean: Array, squares: Array, n: Array) -> tuple[Array, Array]:
    """Return the interval of a mean, ``squares`` being the mean squared deviation from it."""
    n = np.where(n > 1, n, np.nan)
    half = stats.t.ppf(0.5 + LEVEL / 2, n - 1) * np.sqrt(squares / (n - 1))
    return mean - half, mean + half
