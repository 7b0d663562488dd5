"""Intervals of a mean: against SciPy, loops, and exact coverage."""

from math import log, sqrt

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from gferm.bounds.concentration import clopper_pearson, empirical_bernstein, hoeffding, of_means

DELTAS = [0.2, 0.05, 1e-3]
COUNTS = [1, 2, 7, 60]


def table(n):
    return np.arange(n + 1), np.full(n + 1, n)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("n", COUNTS)
def test_clopper_pearson_is_scipys_exact_interval(n, delta):
    hits, counts = table(n)
    low, high = clopper_pearson(hits, counts, delta)
    for h in hits:
        expected = binomtest(int(h), n).proportion_ci(1 - delta, method="exact")
        assert low[h] == pytest.approx(expected.low, abs=1e-10)
        assert high[h] == pytest.approx(expected.high, abs=1e-10)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("n", COUNTS)
def test_clopper_pearson_covers_every_rate(n, delta):
    hits, counts = table(n)
    low, high = clopper_pearson(hits, counts, delta)
    for p in np.linspace(0, 1, 101):
        inside = (low <= p) & (p <= high)
        assert binom.pmf(hits, n, p) @ inside >= 1 - delta - 1e-12


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("n", COUNTS)
def test_clopper_pearson_is_never_wider_than_hoeffding(n, delta):
    hits, counts = table(n)
    low, high = clopper_pearson(hits, counts, delta)
    other = hoeffding(hits / n, counts, delta)
    assert (low >= other[0] - 1e-12).all()
    assert (high <= other[1] + 1e-12).all()


def test_formulas_by_hand():
    x = np.array([0.1, 0.4, 0.4, 0.7, 0.5] * 40)
    n, m = len(x), x.mean()
    v = sum((a - b) ** 2 for i, a in enumerate(x) for b in x[:i]) / (n * (n - 1))
    mean, variance, count = np.array([m]), np.array([x.var(ddof=1)]), np.array([n])
    by_range = sqrt(log(2 / 0.05) / (2 * n))
    by_variance = sqrt(2 * v * log(4 / 0.05) / n) + 7 * log(4 / 0.05) / (3 * (n - 1))
    np.testing.assert_allclose(np.ravel(hoeffding(mean, count, 0.05)), [m - by_range, m + by_range])
    np.testing.assert_allclose(
        np.ravel(empirical_bernstein(mean, variance, count, 0.05)),
        [m - by_variance, m + by_variance],
    )


@pytest.mark.parametrize("variance", [1e-4, 0.25])
def test_the_intersection_splits_delta(variance):
    mean, spread, n = np.array([0.5]), np.array([variance]), np.array([500])
    low, high = of_means(mean, spread, n, 0.1)
    parts = hoeffding(mean, n, 0.05), empirical_bernstein(mean, spread, n, 0.05)
    assert low == max(part[0] for part in parts)
    assert high == min(part[1] for part in parts)
    tighter = parts[1] if variance < 0.01 else parts[0]  # each wins once
    assert (low, high) == tighter


METHODS = {
    "Clopper–Pearson": lambda n, delta: clopper_pearson(n // 3, n, delta),
    "Hoeffding": lambda n, delta: hoeffding(np.full(n.shape, 1 / 3), n, delta),
    "empirical Bernstein": lambda n, delta: empirical_bernstein(
        np.full(n.shape, 1 / 3), np.full(n.shape, 0.2), n, delta
    ),
    "both": lambda n, delta: of_means(np.full(n.shape, 1 / 3), np.full(n.shape, 0.2), n, delta),
}


@pytest.mark.parametrize("method", METHODS)
def test_limits(method):
    n = np.array([3, 300, 30_000, 3_000_000_000])
    low, high = METHODS[method](n, 0.05)
    wide_low, wide_high = METHODS[method](n, 1e-6)
    assert (np.diff(high - low)[1:] < 0).all()
    assert (high - low)[-1] < 1e-4
    assert (wide_high - wide_low >= high - low).all()
    assert (wide_high - wide_low > high - low)[1:].all()


@pytest.mark.parametrize("method", METHODS)
def test_no_row_excludes_nothing(method):
    low, high = METHODS[method](np.array([0, 0]), 0.05)
    assert (low == 0).all()
    assert (high == 1).all()


def test_an_empty_mean_is_not_read():
    nothing, none = np.array([np.nan]), np.array([0])
    for low, high in (hoeffding(nothing, none, 0.1), of_means(nothing, nothing, none, 0.1)):
        assert (low, high) == (0, 1)


def test_one_value_has_no_variance():
    one, n = np.array([0.3]), np.array([1])
    assert empirical_bernstein(one, np.array([np.nan]), n, 0.05) == (0, 1)


@pytest.mark.slow
@pytest.mark.parametrize("a", [0.05, 0.5, 5.0])
def test_the_mean_of_a_beta_variable_is_covered(a):
    rng, draws, n, delta = np.random.default_rng(0), 4000, 80, 0.1
    x = rng.beta(a, 2 * a, size=(draws, n))
    counts = np.full(draws, n)
    low, high = of_means(x.mean(axis=1), x.var(axis=1, ddof=1), counts, delta)
    inside = np.count_nonzero((low <= 1 / 3) & (high >= 1 / 3))
    assert inside >= binom.ppf(1e-4, draws, 1 - delta)
