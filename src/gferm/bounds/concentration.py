"""Intervals for the mean of independent values in [0, 1], whatever their distribution.

With n values of mean m and variance v (over n − 1), each of these holds with probability 1 − δ:

    Hoeffding             m ± √(ln(2/δ) / (2n))
    empirical Bernstein   m ± √(2 v ln(4/δ) / n) + 7 ln(4/δ) / (3 (n − 1))      Maurer, Pontil 2009
    Clopper–Pearson       the quantiles of Beta(h, n − h + 1) and Beta(h + 1, n − h) at δ/2 and
                          1 − δ/2; values that are 0 or 1 only, h of them 1: exact

Clopper–Pearson inverts the tail that Hoeffding's inequality bounds, so it is never the wider one
and nothing is split between the two. Of Hoeffding and Bernstein neither wins always: `of_means`
takes the intersection of both, each at δ/2.

Everything works on arrays of cells; a cell without values may lie anywhere, [0, 1].
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import betainccinv, betaincinv

from gferm.arrays import Array

Counts: TypeAlias = npt.NDArray[Any]
LowHigh: TypeAlias = tuple[Array, Array]


def hoeffding(mean: Array, count: Counts, delta: float) -> LowHigh:
    """Bound by the range alone."""
    with np.errstate(divide="ignore"):
        width = np.sqrt(np.log(2.0 / delta) / (2.0 * count))
    return _within_unit(mean, count, width)


def empirical_bernstein(mean: Array, variance: Array, count: Counts, delta: float) -> LowHigh:
    """Bound by the variance that was seen; one value has none and says nothing."""
    log = np.log(4.0 / delta)
    with np.errstate(divide="ignore", invalid="ignore"):
        width = np.sqrt(2.0 * variance * log / count) + 7.0 * log / (3.0 * (count - 1.0))
    return _within_unit(mean, count, np.where(count > 1, width, np.inf))


def clopper_pearson(hits: Counts, count: Counts, delta: float) -> LowHigh:
    """Invert the binomial distribution: exact for values that are 0 or 1."""
    misses = count - hits
    with np.errstate(invalid="ignore"):  # a parameter of 0, replaced below
        low = np.where(hits > 0, betaincinv(hits, misses + 1.0, delta / 2.0), 0.0)
        high = np.where(misses > 0, betainccinv(hits + 1.0, misses, delta / 2.0), 1.0)
    return low, high


def of_means(mean: Array, variance: Array, count: Counts, delta: float) -> LowHigh:
    """Intersect Hoeffding's interval with Bernstein's, each at δ/2; both contain the mean seen."""
    by_range = hoeffding(mean, count, delta / 2.0)
    by_variance = empirical_bernstein(mean, variance, count, delta / 2.0)
    return np.maximum(by_range[0], by_variance[0]), np.minimum(by_range[1], by_variance[1])


def _within_unit(mean: Array, count: Counts, width: Array) -> LowHigh:
    some = count > 0
    middle = np.where(some, mean, 0.5)
    low = np.where(some, np.maximum(middle - width, 0.0), 0.0)
    return low, np.where(some, np.minimum(middle + width, 1.0), 1.0)
