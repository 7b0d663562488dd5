"""Sums over any parts of the rows add up to those of all rows, and hold the constraint."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from gferm import Bins
from gferm.exceptions import NothingToCompareError
from gferm.fairness.cells import CellScheme
from gferm.fairness.comparison import Comparison
from gferm.fairness.contrasts import no_contrasts
from gferm.fairness.membership import sort_rows
from gferm.fairness.sensitive import SensitiveColumn
from gferm.features.moments import Moments, sum_over
from gferm.features.origin import Origin
from gferm.features.summary import constrain, summarize_rows, total
from tests.comparing import compare
from tests.systems import by_cholesky, linear_system

N, D = 60, 4
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D)) + 2.0
Y = RNG.normal(size=N) + 5.0
WEIGHT = RNG.uniform(0.1, 3.0, N)
COLUMNS = {
    "sex": SensitiveColumn("sex", np.array(["f", "m"])[RNG.integers(0, 2, N)]),
    "age": SensitiveColumn("age", RNG.uniform(20, 60, N) + 3.0 * Y),
    "pay": SensitiveColumn("pay", RNG.exponential(size=N) + 1e3),
    "place": SensitiveColumn("place", RNG.integers(0, 3, N)),
}
Y_BINS = [-np.inf, 4.5, 5.5, np.inf]
# name: columns, their bins, intersectional
SCHEMES = {
    "one attribute": (["sex"], "auto", True),
    "crossed": (["sex", "place"], "auto", True),
    "marginal": (["sex", "place"], "auto", False),
    "continuous": (["age"], "continuous", True),
    "two continuous": (["age", "pay"], "continuous", True),
    "mixed": (["sex", "age", "place", "pay"], {"age": "continuous", "pay": "continuous"}, False),
    "one of each": (["sex", "age"], {"age": "continuous"}, True),
    "an empty group": (["place"], Bins.categories([0, 1, 2, 3]), True),
    "an empty label bin": (["sex"], "auto", True),
}
OPTIONS = {
    "mean": {},
    "sum": {"epsilon_scale": "sum"},
    "residual": {"match": "residual"},
    "large cells": {"min_cell_size": 4},
}
few = settings(max_examples=25, deadline=None)


def scheme_of(name, weight=None, rows=slice(None)):
    names, s_bins, intersectional = SCHEMES[name]
    y_bins = [-np.inf, -5.0, 5.0, np.inf] if name == "an empty label bin" else Y_BINS
    columns = [COLUMNS[n] for n in names]
    columns = [SensitiveColumn(c.name, c.values[rows]) for c in columns]
    return CellScheme.resolve(
        Y[rows], columns, y_bins=y_bins, s_bins=s_bins, intersectional=intersectional,
        weight=None if weight is None else weight[rows],
    )  # fmt: skip


def cells_of(scheme, rows, weight):
    columns = [SensitiveColumn(n, COLUMNS[n].values[rows]) for n in scheme.names]
    return sort_rows(scheme, Y[rows], columns, None if weight is None else weight[rows])


def summarize(scheme, rows, weight, origin, kind=np.asarray):
    share = None if weight is None else weight[rows]
    cells = None if scheme is None else cells_of(scheme, rows, weight)
    return summarize_rows(kind(X[rows]), Y[rows, None], share, cells, origin)


def origin_of(weight=None, *, fit_intercept=True):
    return Origin.near_the_mean(X, Y[:, None], weight, fit_intercept=fit_intercept)


def assert_same(found, expected):
    for name in [name for name in Moments.__dataclass_fields__ if name != "origin"]:
        pair = getattr(found.moments, name), getattr(expected.moments, name)
        np.testing.assert_allclose(*pair, rtol=1e-10, atol=1e-10, err_msg=name)
    np.testing.assert_array_equal(found.counts, expected.counts)
    assert found.n_rows == expected.n_rows
    for name in ("members", "mass", "squares", "rise"):
        pair = getattr(found, name), getattr(expected, name)
        np.testing.assert_allclose(*pair, rtol=1e-10, atol=1e-10, err_msg=name)
    for one, other in zip(found.scores, expected.scores, strict=True):
        for name in one.__dataclass_fields__:
            pair = getattr(one, name), getattr(other, name)
            np.testing.assert_allclose(*pair, rtol=1e-10, atol=1e-10, err_msg=name)


@few
@given(
    part_of=st.lists(st.integers(0, 4), min_size=N, max_size=N),
    name=st.sampled_from(sorted(SCHEMES)),
    weighted=st.booleans(),
    fit_intercept=st.booleans(),
)
def test_the_sums_of_any_parts_add_up_to_those_of_all_rows(part_of, name, weighted, fit_intercept):
    weight = WEIGHT if weighted else None
    scheme, origin = scheme_of(name, weight), origin_of(weight, fit_intercept=fit_intercept)
    parts = [np.flatnonzero(np.array(part_of) == k) for k in set(part_of)]
    found = total([summarize(scheme, rows, weight, origin) for rows in parts])
    assert_same(found, summarize(scheme, np.arange(N), weight, origin))


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weights"])
@pytest.mark.parametrize("name", SCHEMES)
def test_the_constraint_is_that_of_the_rows(name, weight, options):
    """Also where continuous attributes were first put in units of some of the rows."""
    expected = compare(
        cells_of(scheme_of(name, weight), np.arange(N), weight), Y, **OPTIONS[options]
    )
    first = scheme_of(name, weight, slice(7, 30))
    summary = summarize(first, np.arange(N), weight, origin_of(weight))
    cells, found, probe = constrain(summary, first, Comparison(Y_BINS, **OPTIONS[options]))
    assert list(map(vars, found.blocks)) == list(map(vars, expected.blocks))
    assert found.compared == expected.compared
    assert found.skipped == expected.skipped
    assert found.scale == expected.scale
    np.testing.assert_allclose(found.offset, expected.offset, atol=1e-11)
    # the columns of C sum to zero: no origin matters
    np.testing.assert_allclose(probe, X.T @ expected.columns.toarray(), atol=1e-11)
    assert cells.n_samples == N
    assert cells.weighted == (weight is not None)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weights"])
@pytest.mark.parametrize("name", SCHEMES)
def test_cells_of_sums_are_those_of_the_rows(name, weight):
    scheme = scheme_of(name, weight)
    expected = cells_of(scheme, np.arange(N), weight).cells
    summary = summarize(scheme, np.arange(N), weight, origin_of(weight))
    cells, _, _ = constrain(summary, scheme, Comparison(Y_BINS))
    assert cells.label_bins == expected.label_bins
    for found, other in zip(cells.partitions, expected.partitions, strict=True):
        assert (found.name, found.groups) == (other.name, other.groups)
        np.testing.assert_array_equal(found.counts, other.counts)
        np.testing.assert_allclose(found.weights, other.weights)
        np.testing.assert_allclose(found.squares, other.squares)
    np.testing.assert_array_equal(cells.label_counts, expected.label_counts)
    assert cells.scores == expected.scores
    assert str(cells) == str(expected)


def test_bins_with_few_rows_have_no_covariance():
    size = np.sort(np.bincount(np.digitize(Y, Y_BINS[1:-1])))[1]
    scheme = scheme_of("two continuous")
    expected = compare(cells_of(scheme, np.arange(N), None), min_cell_size=size)
    summary = summarize(scheme, np.arange(N), None, origin_of())
    _, found, _ = constrain(summary, scheme, Comparison(Y_BINS, min_cell_size=size))
    assert found.skipped
    assert found.skipped == expected.skipped


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_solving_leaves_the_sums_as_they_are(fit_intercept):
    summary = summarize(None, np.arange(N), None, origin_of(fit_intercept=fit_intercept))
    before = summary.moments.scatter.copy()
    nothing = np.zeros((D, 0))
    system, _ = summary.moments.system(nothing, None, None, fit_intercept=fit_intercept)
    by_cholesky(system, 1.0)
    np.testing.assert_array_equal(summary.moments.scatter, before)


@pytest.mark.parametrize("name", ["continuous", "mixed"])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weights"])
def test_units_of_continuous_attributes_are_those_of_all_rows(name, weight):
    first = scheme_of(name, weight, slice(0, 9))
    summary = summarize(first, np.arange(N), weight, origin_of(weight))
    cells, _, _ = constrain(summary, first, Comparison(Y_BINS))
    expected = scheme_of(name, weight).sensitive_bins
    for found, bins in zip(cells.scheme.sensitive_bins, expected, strict=True):
        assert type(found) is type(bins)
        if bins.continuous:
            assert found.center == pytest.approx(bins.center, rel=1e-12)
            assert found.spread == pytest.approx(bins.spread, rel=1e-9)


@pytest.mark.parametrize("kind", [np.asarray, np.float32, sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weights"])
def test_the_system_is_that_of_the_rows(weight, fit_intercept, kind):
    scheme, rows = scheme_of("crossed", weight), kind(X)
    contrasts = compare(cells_of(scheme, np.arange(N), weight))
    expected = linear_system(rows, Y, contrasts.columns, weight=weight, fit_intercept=fit_intercept)
    origin = Origin.near_the_mean(X[:9], Y[:9, None], None, fit_intercept=fit_intercept)
    parts = [summarize(scheme, part, weight, origin, kind) for part in np.split(np.arange(N), 4)]
    _, _, probe = constrain(total(parts), scheme, Comparison(Y_BINS))
    found, _ = total(parts).moments.system(probe, None, None, fit_intercept=fit_intercept)
    for name in ("matrix", "probe", "steering", "anchor"):
        pair = getattr(found, name), getattr(expected, name)
        np.testing.assert_allclose(*pair, atol=1e-10, err_msg=name)
    np.testing.assert_allclose(found.target.vector, expected.target.vector, atol=1e-10)
    assert found.target.level == pytest.approx(expected.target.level)
    assert found.target.norm2 == pytest.approx(expected.target.norm2)


def test_without_a_scheme_there_are_only_moments():
    origin = origin_of()
    found = summarize(None, np.arange(N), None, origin)
    expected, _ = sum_over(X, Y[:, None], None, origin, no_contrasts(N))
    assert_same(found, replace(found, moments=expected))
    assert found.members.shape == (D, 0)
    assert found.counts.size == found.mass.size == found.rise.size == len(found.scores) == 0


@pytest.mark.parametrize("name", ["one attribute", "mixed"])
def test_rows_without_two_groups_leave_nothing_to_compare(name):
    scheme, rows = scheme_of(name), np.flatnonzero(COLUMNS["sex"].values == "f")
    comparison = Comparison(Y_BINS)
    with pytest.raises(NothingToCompareError, match="a single group with rows, \\['f'\\]"):
        constrain(summarize(scheme, rows, None, origin_of()), scheme, comparison)
    both = summarize(scheme, rows, None, origin_of())
    others = np.flatnonzero(COLUMNS["sex"].values == "m")
    both += summarize(scheme, others, None, origin_of())
    assert constrain(both, scheme, comparison)[1].n_contrasts > 0
