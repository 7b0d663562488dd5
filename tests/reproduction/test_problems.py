"""The data of the experiments: shapes, ranges, groups, and cells by plain counting."""

from dataclasses import replace

import numpy as np
import pytest
from reproduction.paper import BINARY, CONTINUOUS, LABEL_BINS
from reproduction.problems import PROBLEMS

from gferm.datasets import load_crime, load_pupils
from gferm.fairness.bins import uniform_edges

SHAPES = {"crime": (1994, 99), "pupils": (2287, 23)}


@pytest.fixture(params=sorted(PROBLEMS))
def problem(request):
    return PROBLEMS[request.param]()


def test_features_and_labels_fill_the_unit_range(problem):
    n, d = SHAPES[problem.name]
    assert problem.y.shape == (n,)
    assert (problem.y.min(), problem.y.max()) == (0.0, 1.0)
    for study in problem.studies.values():
        assert study.values.shape == (n,)
        assert study.features(False).shape == (n, d)
        assert study.features(True).shape == (n, d + 1)
        for with_s in (False, True):
            X = study.features(with_s)
            assert np.isfinite(X).all()
            np.testing.assert_array_equal(X.min(axis=0), 0.0)
            np.testing.assert_array_equal(X.max(axis=0), 1.0)


def test_with_the_attribute_means_one_more_column(problem):
    """It is the attribute itself, moved to the unit range; the others stay."""
    for study in problem.studies.values():
        s = study.values.astype(float)
        s = (s - s.min()) / np.ptp(s)
        assert not (study.without_s == s[:, None]).all(axis=0).any()
        (place,) = np.flatnonzero((study.with_s == s[:, None]).all(axis=0))
        np.testing.assert_array_equal(np.delete(study.with_s, place, axis=1), study.without_s)


def test_studies_have_the_groups_of_the_paper():
    binary, continuous = (PROBLEMS["crime"]().studies[kind] for kind in (BINARY, CONTINUOUS))
    assert np.bincount(binary.values).tolist() == [1024, 970]
    assert continuous.bins == (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    np.testing.assert_array_equal(binary.values, continuous.values > 0.06)
    pupils = PROBLEMS["pupils"]().studies
    assert np.bincount(pupils[BINARY].values).tolist() == [1194, 1093]
    assert pupils[CONTINUOUS].bins == (10.0, 18.0, 26.0, 34.0, 42.0, 50.0)


def test_scaling_moves_no_order():
    """Labels and features are those of the dataset, up to a line."""
    np.testing.assert_array_equal(PROBLEMS["crime"]().y, load_crime().target)
    np.testing.assert_allclose(
        PROBLEMS["crime"]().studies[BINARY].without_s, load_crime().data, atol=1e-15
    )
    raw, y = load_pupils().target, PROBLEMS["pupils"]().y
    np.testing.assert_allclose(y * np.ptp(raw) + raw.min(), raw)


def test_cells_are_those_of_plain_counting(problem):
    for kind, study in problem.studies.items():
        for K in LABEL_BINS if kind == BINARY else (10,):
            rows = problem.members(kind, K)
            edges = np.array(uniform_edges(0, 1, K))
            np.testing.assert_array_equal(edges, np.arange(K + 1) / K)
            label = np.minimum(np.searchsorted(edges, problem.y, side="right") - 1, K - 1)
            group = study.values.astype(int)
            if kind == CONTINUOUS:
                bounds = np.array(study.bins)
                group = np.searchsorted(bounds, study.values, side="right") - 1
                group = np.minimum(group, len(bounds) - 2)
            n_groups = 2 if kind == BINARY else 5
            counts = np.zeros((K, n_groups), dtype=int)
            np.add.at(counts, (label, group), 1)
            (partition,) = rows.cells.partitions
            np.testing.assert_array_equal(partition.counts, counts)
            np.testing.assert_array_equal(rows.cell_codes[0], label * n_groups + group)
            np.testing.assert_array_equal(rows.label_codes, label)


def test_label_bins_do_not_depend_on_the_labels(problem):
    """Folds, and samples of a problem, have the bins of [0, 1] whatever labels they hold."""
    middle = replace(problem, y=0.25 + 0.4 * problem.y)  # up to 0.65
    counts = middle.members(BINARY, 10).cells.label_counts
    np.testing.assert_array_equal(np.flatnonzero(counts), [2, 3, 4, 5, 6])


def test_problems_are_loaded_once(problem):
    assert PROBLEMS[problem.name]() is problem
