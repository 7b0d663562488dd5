"""Contrasts: the gaps they give against differences of cell means taken row by row."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gferm import Bins
from gferm.fairness.cells import CellScheme
from gferm.fairness.membership import sort_rows
from gferm.fairness.sensitive import read_sensitive_features
from tests.comparing import compare

K, GROUPS = 3, "abcd"
LARGEST = 4  # of the values of min_cell_size that are tried
LABELS = ("[0, 1)", "[1, 2)", "[2, 3]")
RNG = np.random.default_rng(0)
few = settings(max_examples=60, deadline=None)


@st.composite
def problems(draw):
    """(y, s, predictions, weight or None); y in [k, k + 1) lies in label bin k.

    One label bin holds two groups of `LARGEST` rows at least, so there is always a pair to compare.
    """
    values = st.integers(-40, 40), st.integers(1, 3)
    row = st.tuples(st.integers(0, 8 * K - 1), st.sampled_from(GROUPS), *values)
    rows = draw(st.lists(row, max_size=32))
    k, pair = draw(st.integers(0, K - 1)), draw(st.permutations(GROUPS))[:2]
    rows += [(8 * k + i, g, *draw(st.tuples(*values))) for g in pair for i in range(LARGEST)]
    y, s, f, w = zip(*rows, strict=True)
    weight = np.array(w, float) if draw(st.booleans()) else None
    return np.array(y) / 8, np.array(s), np.array(f) / 8, weight


def contrasts_of(
    y, features, *, y_bins=(0, 1, 2, 3), s_bins=None, weight=None, marginal=False, **options
):
    columns = read_sensitive_features(features, len(y))
    scheme = CellScheme.resolve(
        y,
        columns,
        y_bins=y_bins,
        s_bins=Bins.categories(GROUPS) if s_bins is None else s_bins,
        intersectional=not marginal,
        weight=weight,
    )
    return compare(sort_rows(scheme, y, columns, weight), y, **options)


def pairs_by_loop(y, s, f, weight=None, min_size=1):
    """((label bin, groups, counts) -> gap) of every pair, NaN where a cell is too small."""
    weight = np.ones(len(y)) if weight is None else weight
    gaps = {}
    for k in range(K):
        for p, q in combinations(GROUPS, 2):
            cells = [[i for i in range(len(y)) if k <= y[i] < k + 1 and s[i] == g] for g in (p, q)]
            sizes = tuple(len(cell) for cell in cells)
            gap = np.nan
            if min(sizes) >= min_size:
                means = [
                    sum(weight[i] * f[i] for i in c) / sum(weight[i] for i in c) for c in cells
                ]
                gap = means[0] - means[1]
            gaps[LABELS[k], (p, q), sizes] = gap
    return gaps


def split(gaps):
    """Compared and skipped pairs of a dict of gaps."""
    return ({c: g for c, g in gaps.items() if g == g}, [c for c, g in gaps.items() if g != g])


def names(comparisons):
    return [(c.label_bin, c.groups, c.counts) for c in comparisons]


@few
@given(problems(), st.integers(1, LARGEST))
def test_gaps_are_differences_of_cell_means_in_the_order_of_the_pairs(problem, min_size):
    y, s, f, weight = problem
    compared, skipped = split(pairs_by_loop(y, s, f, weight, min_size))
    contrasts = contrasts_of(y, {"s": s}, weight=weight, min_cell_size=min_size)
    assert names(contrasts.compared) == list(compared)
    assert names(contrasts.skipped) == skipped
    assert {c.attribute for c in contrasts.compared} == {"s"}
    np.testing.assert_allclose(contrasts.gaps(f), list(compared.values()), atol=1e-12)


@few
@given(problems())
def test_columns_are_independent_and_sum_to_zero_and_pairs_add_them_up(problem):
    y, s, f, weight = problem
    contrasts = contrasts_of(y, s, weight=weight, match="residual")
    C, m = contrasts.columns.toarray(), contrasts.n_contrasts
    assert C.shape == (len(y), m)
    assert np.linalg.matrix_rank(C) == m == sum(contrasts.sizes)
    np.testing.assert_allclose(C.sum(axis=0), 0, atol=1e-12)
    populated = Counter(k for k, _ in {(int(v), g) for v, g in zip(y, s, strict=True)})
    assert contrasts.sizes == tuple(n - 1 for _, n in sorted(populated.items()) if n > 1)
    compared, _ = split(pairs_by_loop(y, s, f - y, weight))
    np.testing.assert_allclose(
        contrasts.pairs @ (C.T @ f - contrasts.offset), list(compared.values()), atol=1e-12
    )


@few
@given(problems(), st.sampled_from(["prediction", "residual"]))
def test_both_scales_of_epsilon_are_the_literal_formulas(problem, match):
    y, s, f, weight = problem
    compared, _ = split(pairs_by_loop(y, s, f - y if match == "residual" else f, weight))
    literal = {
        "mean": sum(abs(gap) for gap in compared.values()) / len(compared),
        # Σ_k Σ_{p,q}: every pair once as (p, q) and once as (q, p)
        "sum": sum(abs(gap) for gap in compared.values() for _ in ("pq", "qp")),
    }
    for scale, expected in literal.items():
        contrasts = contrasts_of(y, s, weight=weight, match=match, epsilon_scale=scale)
        reached = contrasts.violation_of(contrasts.columns.T @ f)
        assert reached == pytest.approx(expected, abs=1e-12)


@few
@given(problems(), st.randoms(use_true_random=False), st.permutations(GROUPS))
def test_row_order_and_group_names_change_no_gap(problem, random, renamed):
    y, s, f, weight = problem
    order = random.sample(range(len(y)), len(y))
    other = np.array([renamed[GROUPS.index(g)] for g in s])[order]
    mixed = contrasts_of(y[order], other, weight=None if weight is None else weight[order])
    compared, _ = split(pairs_by_loop(y, s, f, weight))
    by_new_name = {
        (label, frozenset(renamed[GROUPS.index(g)] for g in pair)): abs(gap)
        for (label, pair, _), gap in compared.items()
    }
    found = {
        (c.label_bin, frozenset(c.groups)): abs(gap)
        for c, gap in zip(mixed.compared, mixed.gaps(f[order]), strict=True)
    }
    assert found == pytest.approx(by_new_name, abs=1e-12)


@few
@given(problems())
def test_weights_repeat_rows_and_empty_bins_add_nothing(problem):
    y, s, f, weight = problem
    times = np.ones(len(y), int) if weight is None else weight.astype(int)
    plain = contrasts_of(y, s, weight=weight)
    repeated = contrasts_of(np.repeat(y, times), np.repeat(s, times))
    np.testing.assert_allclose(repeated.gaps(np.repeat(f, times)), plain.gaps(f), atol=1e-12)
    more = contrasts_of(
        y,
        s,
        weight=weight,
        y_bins=(-1, 0, 1, 2, 3, 9),
        s_bins=Bins.categories([*"zab", "?", *"cd"]),
    )
    np.testing.assert_array_equal(more.columns.toarray(), plain.columns.toarray())
    assert more.scale == plain.scale


@pytest.mark.parametrize("weight", [None, RNG.integers(1, 4, 60) * 1.0], ids=["plain", "weighted"])
def test_a_continuous_attribute_is_compared_by_covariance_within_each_label_bin(weight):
    y, age, f = RNG.uniform(0, 3, 60), RNG.gamma(2.0, 10.0, 60), RNG.normal(size=60)
    contrasts = contrasts_of(y, {"age": age}, s_bins="continuous", weight=weight)
    times = np.ones(60, int) if weight is None else weight.astype(int)
    y, age, g = (np.repeat(v, times) for v in (y, age, f))
    expected = [
        np.cov(g[np.floor(y) == k], age[np.floor(y) == k], bias=True)[0, 1] / age.std()
        for k in range(K)
    ]
    np.testing.assert_allclose(contrasts.gaps(f), expected, atol=1e-12)
    assert contrasts.sizes == (1, 1, 1)
    assert [(c.attribute, c.label_bin) for c in contrasts.compared] == [("age", b) for b in LABELS]


def test_label_bins_without_two_ages_are_skipped():
    y = np.array([0.5, 0.5, 1.5, 1.5, 2.5])
    contrasts = contrasts_of(y, [30.0, 40.0, 35.0, 35.0, 20.0], s_bins="continuous")
    assert names(contrasts.compared) == [("[0, 1)", ("continuous", "continuous"), (2, 2))]
    assert [c.counts for c in contrasts.skipped] == [(2, 2), (1, 1)]


def test_margins_stack_the_gaps_of_each_attribute():
    y, f = RNG.uniform(0, 3, 80), RNG.normal(size=80)
    s, t, age = RNG.choice(list("ab"), 80), RNG.choice(list("cd"), 80), RNG.normal(size=80)
    s_bins = dict.fromkeys("st", Bins.categories(GROUPS)) | {"age": "continuous"}
    contrasts = contrasts_of(y, {"s": s, "age": age, "t": t}, s_bins=s_bins, marginal=True)
    assert [c.attribute for c in contrasts.compared] == [*"sss", *"ttt", *["age"] * 3]
    for rows, attribute in ((slice(0, 3), s), (slice(3, 6), t)):
        compared, _ = split(pairs_by_loop(y, attribute, f))
        np.testing.assert_allclose(contrasts.gaps(f)[rows], list(compared.values()), atol=1e-12)


@pytest.mark.parametrize(
    ("y", "features", "options", "message"),
    [
        ([0.5, 1.5], {"sex": ["a", "a"]}, {}, r"\(sex\) has a single group.*\['a'\].*epsilon=None"),
        (
            [0.5, 1.5],
            {"sex": ["a", "b"]},
            {},
            r"no pair .*3 label bins.*min_cell_size=1 .*fewer y_",
        ),
        (
            [0.5] * 4,
            list("aabb"),
            {"min_cell_size": 3},
            r"min_cell_size=3 rows.*smaller min_cell_s",
        ),
        ([0.5] * 2, {"s": [1.0, 2.0]}, {"s_bins": "continuous", "min_cell_size": 3}, "no pair of"),
        ([0.5] * 2, {j: ["a", "b"] for j in "uvw"}, {"marginal": True}, "3 contrasts for only 2"),
    ],
    ids=["one group", "no shared label bin", "small cells", "few ages", "more than rows"],
)
def test_nothing_to_compare_is_an_error_with_a_remedy(y, features, options, message):
    with pytest.raises(ValueError, match=message):
        contrasts_of(np.array(y), features, **options)


@few
@given(problems(), st.integers(1, LARGEST))
def test_gaps_of_rows_are_those_of_their_contrasts(problem, min_size):
    y, s, f, weight = problem
    contrasts = contrasts_of(y, {"s": s}, weight=weight, min_cell_size=min_size)
    found = contrasts.constraint.gaps(f, y, {"s": s}, weight)
    np.testing.assert_allclose(found, contrasts.gaps(f), atol=1e-12)


@pytest.mark.parametrize("weight", [None, RNG.uniform(0.5, 2, 80)], ids=["plain", "weighted"])
def test_gaps_of_margins_and_scores_are_those_of_their_contrasts(weight):
    y, f = RNG.uniform(0, 3, 80), RNG.normal(size=80)
    features = {"s": RNG.choice(list("ab"), 80), "age": RNG.normal(size=80)}
    s_bins = {"s": Bins.categories(GROUPS), "age": "continuous"}
    contrasts = contrasts_of(y, features, s_bins=s_bins, marginal=True, weight=weight)
    found = contrasts.constraint.gaps(f, y, features, weight)
    np.testing.assert_allclose(found, contrasts.gaps(f), atol=1e-12)


def test_gaps_of_rows_that_leave_a_cell_empty_are_unknown():
    y, s = np.array([0.5, 0.5, 1.5, 1.5]), np.array(list("abab"))
    constraint = contrasts_of(y, {"s": s}).constraint
    found = constraint.gaps([3.0, 1.0, 7.0], y[:3], {"s": s[:3]})
    np.testing.assert_array_equal(found, [2.0, np.nan])
