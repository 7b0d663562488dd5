"""Bins: every way to give them, against loops over the definition."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from gferm import Bins, FairRegressor
from gferm.fairness.bins import as_bins

INF = float("inf")
QUARTERS = [0, 0.25, 0.5, 0.75, 1]
WAYS_TO_GIVE_QUARTERS = {
    "number": 4,
    "NumPy number": np.int64(4),
    "list": QUARTERS,
    "tuple": tuple(QUARTERS),
    "array": np.array(QUARTERS),
    "Bins.uniform": Bins.uniform(0, 1, 4),
    "Bins.edges": Bins.edges(QUARTERS),
    "Bins.quantile": Bins.quantile(4),
}
FROM_DATA = {"quantile": Bins.quantile(3), "auto": "auto", "continuous": "continuous"}
MAKERS = {
    "edges": lambda: Bins.edges([0, 1, 2]),
    "other edges": lambda: Bins.edges([0, 1, 3]),
    "categories": lambda: Bins.categories(["a", "b"]),
    "other categories": lambda: Bins.categories(["b", "a"]),
    "quantile": lambda: Bins.quantile(3),
    "more quantiles": lambda: Bins.quantile(4),
    "range": lambda: as_bins(3, "y_bins"),
    "auto": lambda: as_bins("auto", "s_bins"),
    "continuous": lambda: as_bins("continuous", "s_bins"),
}
BAD = {
    "an integer of at least 1": [0, -2, True],
    r"n bins have n \+ 1 edges": [[], [3.0]],
    "sort them and remove duplicates": [[1, 0], [0, 1, 1], [0, float("nan")]],
    "use a number of bins, increasing edges, .* or a gferm.Bins": [
        *(2.5, None, "quantiles", ["a", "b"], [[0, 1], [1, 2]], {"a": 3}, object())
    ],
}

numbers = st.floats(-1e6, 1e6) | st.sampled_from([INF, -INF, 0.0])
increasing = st.lists(numbers, min_size=2, max_size=6, unique=True).map(sorted)
few = settings(max_examples=60, deadline=None)


def each(table):
    return pytest.mark.parametrize("case", table.values(), ids=list(table))


def resolved(spec, values, weight=None):
    return as_bins(spec, "s_bins").resolve(np.asarray(values), weight, "sensitive_features (age)")


def bin_of(value, edges):
    """Half-open bins, the last one closed, by a loop."""
    for k, (low, high) in enumerate(pairwise(edges)):
        if low <= value < high or (k == len(edges) - 2 and value == high):
            return k
    return -1


@few
@given(edges=increasing, others=st.lists(numbers | st.just(float("nan")), max_size=8))
def test_bins_are_half_open_and_the_last_one_is_closed(edges, others):
    values = [*edges, *others]
    codes = Bins.edges(edges).assign(values)
    assert codes.tolist() == [bin_of(value, edges) for value in values]


@each(WAYS_TO_GIVE_QUARTERS)
def test_every_way_to_give_the_same_bins_sorts_alike(case):
    values = np.arange(0, 1.001, 0.125)[[8, 0, 3, 1, 7, 2, 5, 4, 6]]
    bins = resolved(case, np.r_[values, 0, 0.25, 0.5, 0.75])  # equal counts: quantiles, too
    assert bins.assign(values).tolist() == [bin_of(value, QUARTERS) for value in values]
    assert bins.n_bins == 4


@few
@given(st.integers(-30, 30), st.integers(2, 40), st.integers(0, 3))
def test_uniform_edges_are_the_nearest_decimals_and_open_their_bin(low, n_bins, digits):
    written = [(low + k) / 10**digits for k in range(n_bins + 1)]
    for bins in (Bins.uniform(written[0], written[-1], n_bins), resolved(n_bins, written)):
        assert list(bins.boundaries) == written
        assert bins.assign(written).tolist() == [*range(n_bins), n_bins - 1]


@pytest.mark.parametrize("values", [[3.0, 3.0], [-1e9, 0.5, 1e9]])
def test_one_bin_holds_everybody_even_of_a_constant(values):
    bins = resolved(1, values)
    assert bins.labels == ("all",)
    assert bins.assign([*values, -1e300, 1e300]).tolist() == [0] * (len(values) + 2)


@few
@given(st.lists(st.integers(0, 12), min_size=1, max_size=30), st.integers(1, 6))
def test_quantile_cuts_are_as_near_to_equal_shares_as_ties_allow(values, n):
    def distance(cut, k):
        return abs(Fraction(sum(v < cut for v in values), len(values)) - Fraction(k, n))

    low, *cuts, high = resolved(Bins.quantile(n), values).boundaries
    assert (low, high) == (-INF, INF)
    possible = sorted(set(values))[1:]
    nearest = {k: min(distance(c, k) for c in possible) for k in range(1, n) if possible}
    assert set(cuts) <= set(possible)
    assert all(any(distance(cut, k) == best for cut in cuts) for k, best in nearest.items())
    assert all(any(distance(cut, k) == best for k, best in nearest.items()) for cut in cuts)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_quantile_bins_of_distinct_values_hold_equal_numbers_of_rows(n):
    values = np.random.default_rng(n).permutation(7 * n) ** 2
    codes = resolved(Bins.quantile(n), values).assign(values)
    assert np.bincount(codes).tolist() == [7] * n


@pytest.mark.parametrize("values", [[0] * 9 + [3, 7], [-2] + [5] * 20], ids=["bottom", "top"])
def test_quantile_bins_set_a_value_that_most_rows_share_apart(values):
    codes = resolved(Bins.quantile(5), values).assign(values)
    assert len({c for c, v in zip(codes, values, strict=True) if v in (0, 5)}) == 1
    assert codes.max() >= 1


@each(FROM_DATA)
@few
@given(st.lists(st.tuples(st.integers(-20, 20), st.integers(1, 3)), min_size=12, max_size=40))
def test_a_weight_of_two_is_a_repeated_row(case, rows):
    values, weight = np.array([*rows, (30, 1)], dtype=float).T
    repeated = np.repeat(values, weight.astype(int))
    weighted, plain = resolved(case, values, weight), resolved(case, repeated)
    assert weighted.labels == plain.labels
    assert weighted.assign(values).tolist() == plain.assign(values).tolist()
    if plain.continuous:
        z = (values - repeated.mean()) / repeated.std()
        np.testing.assert_allclose(weighted.standardize(values), z, atol=1e-12)
        np.testing.assert_allclose(plain.standardize(values), z, atol=1e-12)


@pytest.mark.parametrize("kind", [str, float, bool])
def test_auto_gives_few_values_or_words_a_bin_each(kind):
    values = np.array([kind(v) for v in (3, 0, 1, 3, 1)])
    bins = resolved("auto", values)
    levels = sorted(set(values.tolist()))
    assert bins.labels == tuple(str(level).removesuffix(".0") for level in levels)
    assert bins.assign(values).tolist() == [levels.index(v) for v in values.tolist()]


def test_auto_changes_to_five_quantile_bins_at_the_eleventh_number():
    assert resolved("auto", np.arange(10)).labels == tuple("0123456789")
    eleven = np.r_[np.arange(11), 1, 3, 5, 7]
    assert np.bincount(resolved("auto", eleven).assign(eleven)).tolist() == [3] * 5


def test_auto_takes_many_words_but_not_identifiers():
    words = np.array([f"town {i:02}" for i in range(12)])
    assert resolved("auto", np.repeat(words, 2)).labels == tuple(words)
    with pytest.raises(ValueError, match=r"\(age\) has 12 .* 23 rows.*identifier.*Bins.categories"):
        resolved("auto", [*words, *words[:11]])


@pytest.mark.parametrize(
    ("edges", "labels"),
    [
        ([0, 0.5, 1], ("[0, 0.5)", "[0.5, 1]")),
        ([-INF, 0.1, 2, INF], ("< 0.1", "[0.1, 2)", "≥ 2")),
        ([-INF, 7], ("< 7",)),
        ([-INF, INF], ("all",)),
        ([1_600_000_000, 1_600_000_001], ("[1600000000, 1600000001]",)),
    ],
)
def test_labels_say_which_values_a_bin_holds(edges, labels):
    assert Bins.edges(edges).labels == labels


@few
@given(increasing)
def test_no_two_bins_have_the_same_label(edges):
    assert len(set(Bins.edges(edges).labels)) == len(edges) - 1 == Bins.edges(edges).n_bins


def test_categories_keep_their_order_and_leave_others_out():
    assert Bins.categories(["b", "a"]).labels == ("b", "a")
    assert Bins.categories(["b", "a"]).assign(["a", "b", "c"]).tolist() == [1, 0, -1]
    assert Bins.categories([2, 0]).assign([0.0, 2.0, 1.0]).tolist() == [1, 0, -1]


@pytest.mark.parametrize("name", ["y_bins", "s_bins"])
@pytest.mark.parametrize(("remedy", "spec"), [(r, spec) for r in BAD for spec in BAD[r]])
def test_a_bad_specification_names_the_argument_and_a_remedy(remedy, spec, name):
    with pytest.raises(ValueError, match=rf"^{name}\b.*{remedy}"):
        as_bins(spec, name)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Bins.uniform(1, 1, 3), "finite lo < hi"),
        (lambda: Bins.uniform(0, INF, 3), "finite lo < hi"),
        (lambda: Bins.uniform(0, 1, 2.5), "Bins.uniform.*at least 1, got 2.5"),
        (lambda: Bins.quantile(0), "Bins.quantile.*at least 1, got 0"),
        (lambda: Bins.categories([]), "at least one level"),
        (lambda: Bins.categories(["a", "b", "a"]), "a level twice"),
    ],
)
def test_constructors_refuse_bins_that_cannot_be(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("spec", [3, [0, 1], Bins.quantile(2), "continuous"], ids=str)
def test_words_cannot_be_put_on_a_scale(spec):
    with pytest.raises(ValueError, match=r"\(age\) is not numeric.*Bins\.categories"):
        resolved(spec, ["a", "b"])


@pytest.mark.parametrize("spec", [3, "continuous"])
@pytest.mark.parametrize("value", [0.1, 0.0, 1e9])
def test_a_constant_has_no_range(spec, value):
    with pytest.raises(ValueError, match=r"\(age\) is constant"):
        resolved(spec, [value] * 7)


def test_a_small_unit_is_not_a_constant():
    z = resolved("continuous", [1e-15, 3e-15]).standardize([1e-15, 3e-15])
    np.testing.assert_allclose(z, [-1, 1])


@pytest.mark.parametrize("rule", [3, "auto", Bins.quantile(2)], ids=str)
def test_a_rule_assigns_nothing_before_it_has_seen_data(rule):
    with pytest.raises(TypeError, match="resolve it first"):
        as_bins(rule, "s_bins").assign([1.0])


@each(MAKERS)
def test_bins_are_equal_and_hash_alike_when_they_are_the_same_bins(case):
    bins = case()
    assert bins == case()
    assert len({bins, case()}) == 1
    assert [bins == other() for other in MAKERS.values()].count(True) == 1


@each(MAKERS)
def test_bins_survive_cloning_as_a_parameter(case):
    model = clone(FairRegressor(y_bins=case(), s_bins={"age": case()}))
    assert model.y_bins == case()
    assert model.s_bins == {"age": case()}
