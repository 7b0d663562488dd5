"""The splits: partitions within partitions, and everything random follows from two numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reproduction.cell_contrasts import contrasts_of
from reproduction.folds import FoldSet, outer_folds
from reproduction.paper import FOLDS

from tests.reproduction.toy import make_toy


@settings(max_examples=25, deadline=None)
@given(n=st.integers(100, 400), repeat=st.integers(0, 29))
def test_folds_are_partitions(n, repeat):
    folds = outer_folds(n, repeat)
    assert [(fold.repeat, fold.number) for fold in folds] == [(repeat, k) for k in range(FOLDS)]
    np.testing.assert_array_equal(np.sort(np.concatenate([fold.test for fold in folds])), range(n))
    for fold in folds:
        np.testing.assert_array_equal(np.sort([*fold.train, *fold.test]), range(n))
        assert len(fold.inner_train) == len(fold.inner_test) == FOLDS
        together = np.sort(np.concatenate(fold.inner_test))
        np.testing.assert_array_equal(together, np.sort(fold.train))
        for train, test in zip(fold.inner_train, fold.inner_test, strict=True):
            np.testing.assert_array_equal(np.sort([*train, *test]), np.sort(fold.train))


def flat(folds):
    """Return all that is random about some folds, as tuples of numbers."""
    return [
        tuple(tuple(rows.tolist()) for rows in (fold.test, fold.train, *fold.inner_test))
        for fold in folds
    ]


def test_the_same_repeat_gives_the_same_folds_and_another_gives_others():
    repeats = [flat(outer_folds(150, repeat)) for repeat in (0, 0, 1, 2)]
    assert repeats[0] == repeats[1]
    tests = {tuple(fold[0] for fold in folds) for folds in repeats}
    assert len(tests) == 3


def test_every_inner_split_has_a_seed_of_its_own():
    seeds = [fold.inner_seed for repeat in range(30) for fold in outer_folds(120, repeat)]
    assert len(set(seeds)) == len(seeds) == 300
    first, second = outer_folds(100, 0)[:2]  # as many training rows, so only the seed differs
    places = [
        [np.searchsorted(fold.train, rows).tolist() for rows in fold.inner_test]
        for fold in (first, second)
    ]
    assert places[0] != places[1]


@pytest.mark.parametrize("n", [150, 153, 158, 1994, 2287])
def test_a_set_of_folds_holds_every_row_in_its_place(n):
    """Rows of inner folds differ by one at most, whatever n is: PaddedFolds takes them."""
    folds = outer_folds(n, 3)
    together = FoldSet(folds, n)
    assert len(together) == FOLDS
    shape = (FOLDS, FOLDS, -1)
    inner, there = together.inner_rows, together.inner.present.reshape(shape)
    for o, fold in enumerate(folds):
        np.testing.assert_array_equal(together.test.rows[o][together.test.present[o]], fold.test)
        np.testing.assert_array_equal(together.train.rows[o][together.train.present[o]], fold.train)
        np.testing.assert_array_equal(together.outer_train[o], fold.train)
        for i, rows in enumerate(fold.inner_test):
            np.testing.assert_array_equal(inner[o, i][there[o, i]], rows)
            np.testing.assert_array_equal(together.inner_train[FOLDS * o + i], fold.inner_train[i])


def test_contrasts_are_counted_on_the_training_rows():
    problem = make_toy()
    members, y = problem.members("continuous", 10), problem.y
    parts = [fold.train for fold in outer_folds(len(y), 0)]
    found = contrasts_of(members, y, slice(4, 54), parts)
    assert found.columns == slice(4, 54)
    for part, rows in enumerate(parts):
        part_of = members.take(rows)
        (partition,) = part_of.cells.partitions
        np.testing.assert_array_equal(found.counts[part], partition.counts.ravel())
        sums = [y[rows][part_of.cell_codes[0] == cell].sum() for cell in range(50)]
        np.testing.assert_allclose(found.labels[part], sums)
        populated = (partition.counts > 0).sum(axis=1)
        assert found.n_pairs[part] == sum(m * (m - 1) // 2 for m in populated)
