"""The power series gives the sums it stands for, and says truly when it is the shorter way."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gferm.solver.series as series_file
from gferm.solver.series import RADIUS, TERMS, Series

N, HELD = 30, 6


def decaying(rng):
    return 10.0 ** np.sort(rng.uniform(-16, 0, N))


def clustered(rng):
    """Half of them around 1, as near as the radius of small alphas and much nearer."""
    spread = RADIUS * 10.0 ** -rng.uniform(0, 12, N // 2)
    values = 1.0 + rng.choice([-0.99, 0.99], N // 2) * spread
    return np.sort(np.r_[values, 10.0 ** rng.uniform(-8, 4, N - N // 2)])


SPECTRA = {
    "decaying": (decaying, lambda values: values[N // 2]),
    "decaying, around the largest": (decaying, lambda values: values[-1]),
    "decaying, around the smallest": (decaying, lambda values: values[0]),
    "clustered": (clustered, lambda values: 1.0),
    "one value": (lambda rng: np.full(N, 2.0), lambda values: 2.0),
    "zeros and few": (lambda rng: np.r_[np.zeros(N - 4), 1e-3, 0.1, 1.0, 50.0], lambda values: 0.0),
    "ones and few": (lambda rng: np.r_[0.0, 0.5, np.ones(N - 4), 30.0, 1e6], lambda values: 1.0),
}
alphas_in_no_order = st.lists(st.floats(-14, 6), min_size=1, max_size=20).map(
    lambda powers: 10.0 ** np.array(powers)
)


def directions(rng):
    """The rows of an orthogonal matrix, cut to a few columns."""
    return np.linalg.qr(rng.normal(size=(N, N)))[0][:, :HELD].copy()


def direct_sum(values, vectors, alpha):
    lost = (alpha / (values + alpha)).astype(np.longdouble)
    exact = vectors.astype(np.longdouble)
    return (exact.T @ (lost[:, None] * exact)).astype(float), float(lost.max())


@given(
    name=st.sampled_from(sorted(SPECTRA)),
    alphas=alphas_in_no_order,
    seed=st.integers(0, 1000),
    intercept=st.booleans(),
    left_out=st.booleans(),
    radius=st.sampled_from([RADIUS, RADIUS, 0.0]),
)
@settings(deadline=None, max_examples=150)
def test_it_is_the_direct_sum(name, alphas, seed, intercept, left_out, radius):
    rng = np.random.default_rng(seed)
    make, center_of = SPECTRA[name]
    values, vectors = make(rng), directions(rng)
    center = float(center_of(values))
    if intercept:
        values[-1] = np.inf
    kept = values != center if left_out else np.full(N, True)
    series = Series.around(center, values[kept], alphas, radius)
    found = {i: gram.copy() for i, gram in series.weighted_grams(vectors[kept])}
    assert sorted(found) == list(range(len(alphas)))
    for i, alpha in enumerate(alphas):
        expected, size = direct_sum(values, vectors, alpha)
        # σ is told from the centre to the precision of the centre
        rounding = 1e-14 + 4 * np.finfo(float).eps * center / (values.min() + alpha)
        atol = 2 * rounding * max(size, alpha / (center + alpha))
        np.testing.assert_allclose(found[i], expected, rtol=0, atol=atol)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_it_is_exact_up_to_its_radius(side):
    vectors = directions(np.random.default_rng(0))
    alphas = np.array([1.0, 10.0])
    values = np.full(N, 1.0 + 0.999 * side * RADIUS * 2.0)
    series = Series.around(1.0, values, alphas)
    assert (series.last - series.first == N).all()
    for i, gram in series.weighted_grams(vectors):
        expected, _ = direct_sum(values, vectors, alphas[i])
        np.testing.assert_allclose(gram, expected, rtol=0, atol=1e-14)


def test_beyond_its_radius_nothing_is_expanded():
    values = np.r_[0.9, 0.998, 0.9981, 1.0, 1.0019, 1.002, 1.1, np.inf]
    series = Series.around(1.0, values, np.array([1.0, 1e-9, 1e9]))
    covered = [values[first:last] for first, last in zip(series.first, series.last, strict=True)]
    for alpha, some in zip(series.alphas, covered, strict=True):
        near = np.abs(values - 1.0) <= RADIUS * (1.0 + alpha)
        np.testing.assert_array_equal(some, values[near])
    nothing = Series.around(1.0, values, np.array([1.0, 1e9]), radius=0.0)
    assert (nothing.last - nothing.first == 1).all()


def test_without_directions_only_the_rest_is_left():
    alphas = np.array([3.0, 1.0])
    grams = {
        i: gram.copy()
        for i, gram in Series.around(1.0, np.empty(0), alphas).weighted_grams(np.empty((0, HELD)))
    }
    for i, alpha in enumerate(alphas):
        np.testing.assert_allclose(grams[i], np.eye(HELD) * alpha / (1.0 + alpha))


def test_it_goes_from_small_alphas_to_large_in_one_memory():
    rng = np.random.default_rng(0)
    alphas = np.array([1.0, 1e-3, 10.0, 1e-3])
    given_out = list(Series.around(0.1, decaying(rng), alphas).weighted_grams(directions(rng)))
    assert sorted(alphas) == [alphas[i] for i, _ in given_out]
    assert all(gram is given_out[0][1] for _, gram in given_out)


class Counter(series_file._Adder):
    """Counts the directions that are summed over."""

    work = 0

    def add(self, total, weights, rows):
        Counter.work += len(weights)
        super().add(total, weights, rows)


@given(
    name=st.sampled_from(sorted(SPECTRA)),
    alphas=alphas_in_no_order,
    seed=st.integers(0, 1000),
)
@settings(deadline=None, max_examples=100)
def test_where_it_pays_a_tenth_of_the_work_is_saved(name, alphas, seed):
    rng = np.random.default_rng(seed)
    make, center_of = SPECTRA[name]
    values = make(rng)
    series = Series.around(float(center_of(values)), values, alphas)
    Counter.work, original = 0, series_file._Adder
    series_file._Adder = Counter
    try:
        for _ in series.weighted_grams(directions(rng)):
            pass
    finally:
        series_file._Adder = original
    covered = series.last - series.first
    assert Counter.work == np.sum(N - covered) + TERMS * covered.max()
    direct = N * len(alphas)
    if series.pays:
        assert Counter.work + covered.max() < 0.9 * direct  # a sum to put together for each alpha
    else:
        assert Counter.work + covered.max() >= 0.9 * direct


def test_it_pays_for_many_large_alphas_and_never_for_few_or_small():
    values = decaying(np.random.default_rng(0))
    large, small = 10.0 ** np.arange(0, 17), 10.0 ** np.arange(-40.0, -20.0)
    assert Series.around(values[N // 2], values, large).pays
    assert not Series.around(values[N // 2], values, large[:TERMS]).pays
    assert not Series.around(values[N // 2], values, small).pays
    assert not Series.around(values[N // 2], values, large, radius=0.0).pays
