"""Cells: counts, means and scores against histograms and loops over rows."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gferm import Bins
from gferm.fairness.cells import CellScheme
from gferm.fairness.membership import sort_rows
from gferm.fairness.sensitive import read_sensitive_features

RNG = np.random.default_rng(0)
N = 200
Y = RNG.normal(size=N)
SEX = RNG.choice(["f", "m"], N)
RACE = RNG.choice(["x", "y", "z"], N, p=[0.6, 0.35, 0.05])
AGE = RNG.uniform(18, 80, N)
WEIGHT = RNG.integers(1, 4, N).astype(float)
EDGES = [-4.0, -0.5, 0.5, 4.0]

rows = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from("abc"), st.integers(1, 3), st.integers(-9, 9)),
    min_size=2,
    max_size=30,
)
few = settings(max_examples=50, deadline=None)


def scheme_and_cells(y, features, *, y_bins=EDGES, s_bins="auto", intersectional=True, weight=None):
    columns = read_sensitive_features(features, len(y))
    scheme = CellScheme.resolve(
        y, columns, y_bins=y_bins, s_bins=s_bins, intersectional=intersectional, weight=weight
    )
    return scheme, sort_rows(scheme, y, columns, weight)


def sort(y, features, **options):
    return scheme_and_cells(y, features, **options)[1]


def label_bin(value, edges=EDGES):
    (k,) = (k for k in range(len(edges) - 1) if edges[k] <= value < edges[k + 1])
    return k


def by_loop(groups, of_row, values, weight):
    """Weight and weighted mean of ``values`` in every cell, one row after the other."""
    mass, total = np.zeros((2, len(EDGES) - 1, len(groups)))
    for y, group, value, w in zip(Y, of_row, values, weight, strict=True):
        mass[label_bin(y), groups.index(group)] += w
        total[label_bin(y), groups.index(group)] += w * value
    means = np.full(mass.shape, np.nan)
    np.divide(total, mass, out=means, where=mass > 0)
    return mass, means


def test_counts_of_numeric_bins_are_a_two_dimensional_histogram():
    y_edges, s_edges = [-1.0, -0.2, 0.0, 1.5], [18.0, 30.0, 31.0, 65.0]  # rows on all sides
    cells = sort(Y, {"age": AGE}, y_bins=y_edges, s_bins=s_edges).cells
    expected = np.histogram2d(Y, AGE, bins=[y_edges, s_edges])[0]
    np.testing.assert_array_equal(cells.counts["age"], expected)
    np.testing.assert_array_equal(cells.label_counts, np.histogram(Y, y_edges)[0])
    assert cells.n_samples == N > cells.label_counts.sum() > expected.sum()


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize(
    ("intersectional", "groups"),
    [
        (True, {"race × sex": [f"{r} × {s}" for r in "xyz" for s in "fm"]}),
        (False, {"race": list("xyz"), "sex": list("fm")}),
    ],
    ids=["intersectional", "marginal"],
)
def test_products_and_margins_of_two_attributes(intersectional, groups, weight):
    features = {"race": RACE, "sex": SEX}
    rows = sort(Y, features, intersectional=intersectional, weight=weight)
    cells = rows.cells
    both = [f"{RACE[i]} × {SEX[i]}" for i in range(N)]
    of_row = {"race": RACE, "sex": SEX, "race × sex": both}
    assert {p.name: list(p.groups) for p in cells.partitions} == groups
    for place, part in enumerate(cells.partitions):
        names = groups[part.name]
        counts, _ = by_loop(names, of_row[part.name], Y, np.ones(N))
        mass, means = by_loop(
            names, of_row[part.name], AGE, np.ones(N) if weight is None else weight
        )
        np.testing.assert_array_equal(part.counts, counts)
        np.testing.assert_allclose(part.weights, mass)
        np.testing.assert_allclose(rows.means_of(place, AGE), means)
        np.testing.assert_array_equal(rows.means_of(place, AGE), rows.means(AGE)[place])
        assert [part.groups[q] for q in rows.group_codes[place]] == list(of_row[part.name])
        squares, _ = by_loop(
            names, of_row[part.name], AGE, np.ones(N) if weight is None else weight**2
        )
        np.testing.assert_allclose(part.squares, squares)
        expected = np.divide(mass**2, squares, out=np.zeros(mass.shape), where=mass > 0)
        np.testing.assert_allclose(part.effective_rows, expected)


def test_the_mean_of_an_empty_cell_is_unknown():
    rows = sort(np.array([0.0, 1.0]), ["a", "b"], y_bins=[0, 0.5, 1])
    np.testing.assert_array_equal(rows.means_of(0, [7.0, 9.0]), [[7, np.nan], [np.nan, 9]])


@pytest.mark.parametrize(
    "s_bins",
    [
        {"age": [0, 40, 100], "sex": Bins.categories(["m", "f"])},
        {1: [0, 40, 100], 0: Bins.categories(["m", "f"])},
        {"age": [0, 40, 100], 0: Bins.categories(["m", "f"])},
    ],
    ids=["names", "positions", "both"],
)
def test_bins_go_to_the_attribute_that_is_named(s_bins):
    cells = sort(Y, {"sex": SEX, "age": AGE}, s_bins=s_bins, intersectional=False).cells
    assert [p.groups for p in cells.partitions] == [("m", "f"), ("[0, 40)", "[40, 100]")]


def test_attributes_without_bins_of_their_own_get_auto():
    cells = sort(Y, {"sex": SEX, "age": AGE}, s_bins={"age": 2}, intersectional=False).cells
    assert [len(p.groups) for p in cells.partitions] == [2, 2]
    assert cells.partitions[0].groups == ("f", "m")


@pytest.mark.parametrize("key", ["gender", 2, -1])
def test_bins_for_an_unknown_attribute_are_an_error(key):
    with pytest.raises(ValueError, match=rf"s_bins names \[{key!r}\].*\['sex', 'age'\].*positions"):
        sort(Y, {"sex": SEX, "age": AGE}, s_bins={key: 3})


def test_a_continuous_attribute_is_a_score_and_makes_no_groups():
    features, s_bins = {"sex": SEX, "age": AGE}, {"age": "continuous"}
    scheme, rows = scheme_and_cells(Y, features, s_bins=s_bins, weight=WEIGHT)
    cells = rows.cells
    repeated = np.repeat(AGE, WEIGHT.astype(int))
    assert [p.name for p in cells.partitions] == ["sex"]
    assert cells.scores == ("age",)
    np.testing.assert_allclose(rows.scores[0], (AGE - repeated.mean()) / repeated.std())
    # other rows are measured on the scale of the first ones
    other = sort_rows(
        scheme, Y[:2], read_sensitive_features({"sex": ["f", "m"], "age": [30, 50]}, 2)
    )
    expected = (np.array([30, 50]) - repeated.mean()) / repeated.std()
    np.testing.assert_allclose(other.scores[0], expected)


def test_other_rows_are_sorted_by_the_bins_of_the_first_ones():
    scheme, _ = scheme_and_cells(Y, {"sex": SEX, "race": RACE}, y_bins=[-4, 0, 4])
    others = read_sensitive_features({"sex": ["f", "m", "?", "m"], "race": ["z", "q", "x", "x"]}, 4)
    rows = sort_rows(scheme, np.array([1.0, -1.0, 1.0, 9.0]), others)
    (part,) = rows.cells.partitions
    assert rows.label_codes.tolist() == [1, 0, 1, -1]
    assert rows.group_codes[0].tolist() == [2, -1, -1, 3]  # f × z, unknown race, unknown sex, m × x
    assert rows.cell_codes[0].tolist() == [1 * 6 + 2, -1, -1, -1]
    assert part.counts.sum() == 1


def test_text_shows_every_count():
    cells = sort(Y, {"race": RACE, "age": AGE}, s_bins={"age": "continuous"}).cells
    title, header, *lines, last = str(cells).splitlines()
    assert title == "race: rows per cell"
    assert header.split()[-3:] == ["x", "y", "z"]
    assert [line.split("  ")[0] for line in lines] == ["[-4, -0.5)", "[-0.5, 0.5)", "[0.5, 4]"]
    shown = [[int(n) for n in re.split(r"\s{2,}", line)[1:]] for line in lines]
    assert shown == by_loop(list("xyz"), RACE, Y, np.ones(N))[0].tolist()
    assert last == "age: continuous, compared by covariance"


@pytest.mark.parametrize("size", [0, 1, 5, 1000])
def test_small_lists_every_cell_below_the_size(size):
    cells = sort(Y, {"race": RACE, "sex": SEX}, intersectional=False).cells
    labels = ["[-4, -0.5)", "[-0.5, 0.5)", "[0.5, 4]"]
    expected = [
        (name, labels[k], group, int(n))
        for name, groups, of_row in (("race", "xyz", RACE), ("sex", "fm", SEX))
        for k, line in enumerate(by_loop(list(groups), of_row, Y, np.ones(N))[0])
        for group, n in zip(groups, line, strict=True)
        if n < size
    ]
    assert cells.small(size) == expected


@few
@given(rows, st.randoms(use_true_random=False), st.permutations("uvw"))
def test_cells_do_not_depend_on_row_order_or_on_group_names(data, random, names):
    def tables(data, rename):
        k, s, w, f = (np.array(part) for part in zip(*data, strict=True))
        bins = Bins.categories([rename[g] for g in "abc"])
        rows = sort(
            k + 0.5, [rename[g] for g in s], y_bins=[0, 1, 2, 3], s_bins=bins, weight=w * 1.0
        )
        (part,) = rows.cells.partitions
        return part.counts, part.weights, rows.means_of(0, f)

    before = tables(data, {"a": "a", "b": "b", "c": "c"})
    after = tables(random.sample(data, len(data)), dict(zip("abc", names, strict=True)))
    for table, other in zip(before, after, strict=True):
        np.testing.assert_allclose(table, other, atol=1e-12)


def test_too_many_intersections_are_refused():
    features = {f"s{j}": RNG.integers(0, 10, 500) for j in range(5)}
    with pytest.raises(ValueError, match=r"100000 groups from 5 .*s_bins.*intersectional=False"):
        assert sort(RNG.normal(size=500), features, y_bins=1).cells
    rows = sort(RNG.normal(size=500), features, y_bins=1, intersectional=False)
    assert len(rows.cells.partitions) == 5


def test_the_label_cannot_be_continuous():
    with pytest.raises(ValueError, match=r"y_bins='continuous' does not exist"):
        sort(Y, SEX, y_bins="continuous")
