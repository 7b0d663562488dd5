"""Intervals: closed forms, what they hold, and how often they hold the truth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import binomtest

from gferm.auditing.findings import newcombe, wilson
from tests.auditing.cases import CASES, EDGES, Case, letters

few = settings(max_examples=60, deadline=None)
levels = st.floats(0.001, 0.999)
counts = st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@few
@given(counts, st.floats(0.5, 0.999))
def test_wilson_is_that_of_scipy(count, confidence):
    k, n = count
    expected = binomtest(k, n).proportion_ci(confidence, method="wilson")
    tail = (1 - confidence) / 2
    found = [wilson(k / n, float(n), level) for level in (tail, 1 - tail)]
    np.testing.assert_allclose(found, [expected.low, expected.high], atol=1e-12)


@few
@given(counts, levels)
def test_wilson_is_the_share_whose_score_test_just_accepts(count, level):
    k, n = count
    found = wilson(k / n, float(n), level)
    assert -1e-12 <= found <= 1 + 1e-12
    assert n * (k / n - found) ** 2 == pytest.approx(
        ndtri(level) ** 2 * found * (1 - found), abs=1e-9
    )


@few
@given(counts, counts, levels)
def test_newcombe_combines_the_distances_of_wilson(first, second, level):
    (p, n), (q, m) = ((k / n, float(n)) for k, n in (first, second))
    found = newcombe(p, q, n, m, level)
    far, near = wilson(p, n, level) - p, wilson(q, m, 1 - level) - q
    assert (found - (p - q)) ** 2 == pytest.approx(far**2 + near**2)
    assert found == pytest.approx(-newcombe(q, p, m, n, 1 - level))
    assert (found >= p - q) == (level >= 0.5) or found == pytest.approx(p - q)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_intervals_of_shares_do_not_collapse_where_nobody_differs(share):
    for n in (1, 3, 50):
        low, high = (wilson(share, n, level) for level in (0.025, 0.975))
        assert high - low > 1 / (n + 4)
        low, high = (newcombe(share, share, n, n, level) for level in (0.025, 0.975))
        assert low < -1 / (n + 4) < 1 / (n + 4) < high


def test_shares_of_nobody_are_unknown():
    assert np.isnan(wilson(np.array(np.nan), np.array(0.0), 0.9))


def test_cells_in_which_all_are_right_are_not_certain():
    y, s = np.linspace(0, 3, 120), letters(np.arange(120) % 2)
    found = Case(y, y, s, bins={"y_bins": EDGES}).audit()
    assert {cell.rate for cell in found.cells} == {1.0}
    assert all(cell.rate_interval[0] < 0.95 for cell in found.cells)
    assert all(gap.low < -0.05 < 0.05 < gap.high for gap in found.gaps("rate"))


@pytest.mark.parametrize("case", CASES)
def test_every_figure_lies_in_its_interval(case):
    found = CASES[case]().audit(ci_quantiles=(0.05, 0.5, 0.95))
    for figure in found.figures.values():
        low, middle, high = figure.interval
        assert low - 1e-12 <= figure.value <= high + 1e-12, figure.name
        assert low <= middle <= high, figure.name


@pytest.mark.parametrize("seed", range(3))
def test_noise_does_not_leave_a_figure_above_its_interval(seed):
    # cells of two rows: the draws lie far above the figure, and their mirror image far below
    rng = np.random.default_rng(seed)
    y, s = np.tile([0.5, 1.5, 2.5], 20), letters(np.repeat(np.arange(5), 12) % 5)
    found = Case(y, rng.normal(0, 1, 60), s, bins={"y_bins": EDGES}).audit(n_boot=100)
    for figure in found.figures.values():
        assert figure.interval[0] <= figure.value <= figure.interval[-1]


def test_an_interval_begins_at_zero_where_chance_explains_the_figure():
    y, s = np.tile([0.5, 1.5, 2.5], 40), letters(np.arange(120) // 3 % 2)
    f = y + np.random.default_rng(0).normal(0, 1, 120)
    for gap, starts_at_zero in ((0.0, True), (3.0, False)):
        figure = Case(y, f + gap * (s == "a"), s, bins={"y_bins": EDGES}).audit(n_permutations=100)
        figure = figure.figures["mean_gap"]
        assert (figure.chance.p > 0.025) == starts_at_zero == (figure.interval[0] == 0)


def test_a_single_row_has_no_interval_of_its_mean():
    y, s = np.linspace(0, 1, 11), np.array(["a"] * 10 + ["b"])
    found = Case(y, y**2, s, bins={"y_bins": 1}).audit()
    assert [cell.prediction_interval is None for cell in found.cells] == [False, True]
    (gap,) = found.gaps("prediction")
    assert np.isnan([gap.low, gap.high]).all()
    assert not np.isnan([gap.null_low, gap.null_high]).any()


def rows_with_gap(seed, n, n_groups=2, n_attributes=1, gap=0.3):
    """Groups p and q of every attribute differ by gap · |p − q| at equal labels."""
    rng = np.random.default_rng(seed)
    y, s = rng.uniform(0, 3, n), rng.integers(0, n_groups, (n, n_attributes))
    columns = {f"s{j}": letters(one) for j, one in enumerate(s.T)}
    f = y + gap * s.sum(axis=1) + rng.normal(0, 1, n)
    return Case(y, f, columns, bins={"y_bins": EDGES, "intersectional": False})


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mean_gap", "mean_distance"])
@pytest.mark.parametrize(
    ("shape", "truth"),
    [
        ({"n": 500, "gap": 0.1}, 0.1),  # near the noise
        ({"n": 500, "gap": 0.6}, 0.6),  # far from it
        ({"n": 500, "n_groups": 3, "n_attributes": 6}, 0.4),  # a row for each crossing
        ({"n": 400, "n_groups": 4, "gap": 0.2}, 1 / 3),
    ],
)
def test_intervals_of_figures_hold_the_truth_as_often_as_they_say(shape, truth, name):
    n_seeds, misses = 200, np.zeros(2)
    for seed in range(n_seeds):
        found = rows_with_gap(seed, **shape).audit(n_boot=200, n_permutations=100)
        low, high = found.figures[name].interval
        misses += truth < low, truth > high
    allowed = 0.025 + 3 * np.sqrt(0.025 * 0.975 / n_seeds)
    assert misses[1] / n_seeds <= allowed  # what they cannot exclude must not be more
    assert misses[0] / n_seeds <= allowed + 0.03  # the bias of |gaps| is corrected to first order


@pytest.mark.slow
def test_intervals_of_gaps_hold_the_truth_as_often_as_they_say():
    n_seeds, inside = 300, {"rate": 0, "prediction": 0}
    truth = {"rate": -0.2, "prediction": -0.5}
    for seed in range(n_seeds):
        rng = np.random.default_rng(seed)
        s = np.arange(120) % 2
        y = np.full(120, 0.5)
        right = rng.random(120) < 0.7 + 0.2 * s
        shifted, bins = rng.normal(0, 1, 120) + 0.5 * s, {"y_bins": [0, 1, 2]}
        for kind, values in (("rate", np.where(right, 0.5, 1.5)), ("prediction", shifted)):
            (gap,) = (
                Case(y, values, letters(s), bins=bins)
                .audit(n_boot=200, n_permutations=0)
                .gaps(kind)
            )
            inside[kind] += gap.low <= truth[kind] <= gap.high
    for kind, n in inside.items():
        assert n / n_seeds == pytest.approx(0.95, abs=0.04), kind
