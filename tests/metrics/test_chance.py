"""What chance produces is what shuffling rows produces."""

from itertools import product
from math import comb

import numpy as np
import pytest

from gferm.fairness.bins import Bins
from gferm.metrics import AVERAGES, dgf
from gferm.metrics.chance import NullDistribution, chance_of_dgf, dgf_of_counts, shuffle_hits

EVERY = [*AVERAGES, "all_bins"]


def make_rows(n=240, n_groups=2, n_bins=5, seed=0):
    """Make rows with a bin of one group and an empty bin, and count them by cell."""
    rng = np.random.default_rng(seed)
    y = rng.uniform(0, 0.8, n)  # the last bin stays empty
    s = rng.integers(0, n_groups, n)
    s[y > 0.7] = 0
    f = np.clip(y + rng.normal(0, 0.08 + 0.05 * s, n), 0, 1)
    bins = Bins.uniform(0, 1, n_bins)
    label, hit = bins.assign(y), bins.assign(f) == bins.assign(y)
    hits, counts = np.zeros((2, n_bins, n_groups), dtype=int)
    np.add.at(counts, (label, s), 1)
    np.add.at(hits, (label[hit], s[hit]), 1)
    return y, f, s, bins, hits, counts


@pytest.mark.parametrize("n_groups", [2, 4])
@pytest.mark.parametrize("average", AVERAGES)
def test_the_dgf_needs_counts_alone(average, n_groups):
    y, f, s, bins, hits, counts = make_rows(n_groups=n_groups)
    s_bins = Bins.categories(range(n_groups))
    expected = dgf(y, f, sensitive_features=s, y_bins=bins, s_bins=s_bins, average=average)
    assert dgf_of_counts(hits, counts, average) == pytest.approx(expected)
    stack = np.stack([hits, np.zeros_like(hits)])
    np.testing.assert_allclose(dgf_of_counts(stack, counts, average), [expected, 0], atol=1e-15)


def test_all_bins_counts_unpopulated_pairs_as_zero():
    hits, counts = [[1, 0], [1, 0]], [[2, 4], [2, 0]]
    assert dgf_of_counts(hits, counts, "pairs") == 0.5
    assert dgf_of_counts(hits, counts, "all_bins") == 0.25
    assert dgf_of_counts(hits, counts, "sum") == 1.0


@pytest.mark.parametrize(("average", "n_groups"), [("pairs", 2), ("weighted", 3)])
def test_the_distribution_is_that_of_shuffled_rows(average, n_groups):
    y, f, s, bins, hits, counts = make_rows(n_groups=n_groups)
    label, hit = bins.assign(y), bins.assign(f) == bins.assign(y)
    rng, values = np.random.default_rng(1), []
    for _ in range(2000):
        order = np.lexsort((rng.random(y.size), label))
        shuffled = np.empty_like(s)
        shuffled[np.argsort(label, kind="stable")] = s[order]
        table = np.zeros_like(hits)
        np.add.at(table, (label[hit], shuffled[hit]), 1)
        values.append(dgf_of_counts(table, counts, average))
    chance = chance_of_dgf(hits, counts, n_permutations=20000, average=average, rng=rng)
    spread = np.std(values)
    assert chance.mean == pytest.approx(np.mean(values), abs=4 * spread / np.sqrt(2000))
    assert chance.values.std() == pytest.approx(spread, rel=0.1)
    assert np.mean(np.array(values) <= chance.high) == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize("average", EVERY)
def test_the_distribution_is_the_exact_one(average):
    hits, counts = np.array([[2, 0, 1], [1, 1, 0]]), np.array([[2, 3, 1], [2, 1, 2]])
    exact, tables = 0.0, 0.0
    seen = dgf_of_counts(hits, counts, average)
    p = 0.0
    for cells in product(*(range(n + 1) for n in counts.ravel())):
        table = np.array(cells).reshape(counts.shape)
        if (table.sum(axis=1) != hits.sum(axis=1)).any():
            continue
        ways = np.prod([comb(n, h) for n, h in zip(counts.ravel(), cells, strict=True)])
        value = dgf_of_counts(table, counts, average)
        exact, tables, p = exact + ways * value, tables + ways, p + ways * (value >= seen - 1e-12)
    chance = chance_of_dgf(
        hits, counts, n_permutations=40000, average=average, rng=np.random.default_rng(2)
    )
    deviation = chance.values.std() / np.sqrt(40000)
    assert chance.mean == pytest.approx(exact / tables, abs=4 * deviation)
    assert chance.p == pytest.approx(p / tables, abs=0.01)


def test_shuffles_keep_bins_and_cells():
    _, _, _, _, hits, counts = make_rows(n_groups=4)
    drawn = shuffle_hits(hits, counts, 200, np.random.default_rng(0))
    assert (drawn.sum(axis=2) == hits.sum(axis=1)).all()
    assert (drawn <= counts).all()
    assert (drawn >= 0).all()


def test_p_counts_the_dgf_seen_among_the_shuffles():
    values = np.array([0.1, 0.2, 0.3])
    assert NullDistribution(0.2, values).p == 3 / 4
    assert NullDistribution(0.2 + 1e-15, values).p == 3 / 4
    assert NullDistribution(0.5, values).p == 1 / 4


def test_where_nothing_is_comparable_there_is_no_chance():
    chance = chance_of_dgf([[1, 0]], [[3, 0]], rng=np.random.default_rng(0))
    assert np.isnan([chance.seen, chance.mean, chance.high, chance.p]).all()


@pytest.mark.parametrize(
    ("hits", "counts", "message"),
    [
        ([[2, 0]], [[1, 1]], "no more hits than rows"),
        ([[-1, 0]], [[1, 1]], "between 0"),
        ([[0, 0]], [[1, 1], [1, 1]], "not tables"),
        ([0, 0], [1, 1], "not tables"),
    ],
)
def test_impossible_tables_are_refused(hits, counts, message):
    with pytest.raises(ValueError, match=message):
        chance_of_dgf(hits, counts, rng=np.random.default_rng(0))


def test_unknown_averages_are_refused():
    with pytest.raises(ValueError, match=r"'mean' is unknown; use one of.*all_bins"):
        dgf_of_counts([[1, 0]], [[1, 1]], "mean")
