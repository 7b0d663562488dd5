"""Gaps of numbers in intervals: against numbers drawn from the intervals."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gferm.bounds import cell_intervals
from gferm.bounds.cell_intervals import Interval, gap_intervals, largest_sum

PAIRS = list(combinations(range(4), 2))


def boxes(seed, n_bins=3, n_groups=4):
    ends = np.random.default_rng(seed).uniform(size=(2, n_bins, n_groups))
    return ends.min(axis=0), ends.max(axis=0)


@pytest.mark.parametrize("seed", range(5))
def test_no_gap_lies_outside_and_the_ends_are_reached(seed):
    low, high = boxes(seed)
    lowest, highest = gap_intervals(low, high)
    for k in range(3):
        for j, (p, q) in enumerate(PAIRS):
            grid = [np.linspace(low[k, i], high[k, i], 400) for i in (p, q)]
            gaps = np.abs(grid[0][:, None] - grid[1])
            assert gaps.max() == pytest.approx(highest[k, j])
            assert gaps.min() == pytest.approx(lowest[k, j], abs=0.01)
            assert gaps.min() >= lowest[k, j] - 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_the_largest_sum_is_that_of_a_corner(seed):
    rng = np.random.default_rng(seed)
    low, high = boxes(seed)
    weight = rng.uniform(size=(3, 6)) * (rng.random((3, 6)) < 0.7)
    expected = 0.0
    for k in range(3):
        corners = np.stack(np.meshgrid(*zip(low[k], high[k], strict=True)), -1).reshape(-1, 4)
        sums = sum(
            weight[k, j] * np.abs(corners[:, p] - corners[:, q]) for j, (p, q) in enumerate(PAIRS)
        )
        expected += sums.max()
        inside = rng.uniform(low[k], high[k], size=(500, 4))
        assert all(
            sum(weight[k, j] * abs(z[p] - z[q]) for j, (p, q) in enumerate(PAIRS)) <= sums.max()
            for z in inside
        )
    assert largest_sum(low, high, weight) == pytest.approx(expected)


@given(st.integers(2, 9))
@settings(max_examples=20, deadline=None)
def test_half_the_groups_at_each_end(n_groups):
    n_pairs = n_groups * (n_groups - 1) // 2
    box = np.zeros((1, n_groups))
    found = largest_sum(box, box + 1, np.ones((1, n_pairs)))
    assert found == n_groups // 2 * (n_groups - n_groups // 2)


def test_many_groups_are_bounded_from_above(monkeypatch):
    low, high = boxes(0)
    weight = np.ones((3, 6))
    exact = largest_sum(low, high, weight)
    monkeypatch.setattr(cell_intervals, "MOST_CORNERS", 3)
    above = largest_sum(low, high, weight)
    assert above == pytest.approx(gap_intervals(low, high)[1].sum())
    assert above > exact


@pytest.mark.parametrize(
    ("interval", "vacuous"),
    [((0, 1), True), ((0, 0.99), False), ((0.01, 1), False), ((0, 1.2), True)],
)
def test_vacuous_is_everything_that_is_possible(interval, vacuous):
    found = Interval(0.5, *interval, 1.0)
    assert found.vacuous is vacuous
    assert ("vacuous" in str(found)) is vacuous
