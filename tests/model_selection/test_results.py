"""The table of a search: means over the folds that can tell, ranks as in GridSearchCV."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import ParameterGrid

from gferm.model_selection.results import tabulate

measured = st.one_of(st.integers(0, 8).map(float), st.just(np.nan))
FOLDS = [SimpleNamespace(dropped=k) for k in range(3)]


def table(errors, unfairness, params=None):
    errors, unfairness = np.array(errors, float), np.array(unfairness, float)
    figures = np.stack([errors, unfairness, np.isfinite(errors)], axis=1)
    params = [{"alpha": float(i)} for i in range(errors.shape[1])] if params is None else params
    return tabulate(params, figures, FOLDS, "dgf")


@given(st.lists(st.lists(measured, min_size=6, max_size=6), min_size=4, max_size=4))
def test_an_error_needs_all_folds_and_an_unfairness_one(columns):
    errors, unfairness = (np.transpose([column[k : k + 3] for column in columns]) for k in (0, 3))
    results = table(errors, unfairness)
    for i in range(4):
        known = unfairness[np.isfinite(unfairness[:, i]), i]
        assert results["n_test_dgf"][i] == known.size
        expected = [known.mean(), known.std()] if known.size else [np.nan, np.nan]
        found = [results["mean_test_dgf"][i], results["std_test_dgf"][i]]
        np.testing.assert_allclose(found, expected, atol=1e-12)
        found = [results["mean_test_error"][i], results["std_test_error"][i]]
        np.testing.assert_allclose(found, [errors[:, i].mean(), errors[:, i].std()], atol=1e-12)


def test_ranks_start_from_the_smallest_and_end_with_failures():
    results = table([[2, 1, np.nan, 1, 3]] * 3, [[0, 0, 0, np.nan, 1]] * 3)
    assert results["rank_test_error"].tolist() == [3, 1, 5, 1, 4]
    assert results["rank_test_dgf"].tolist() == [1, 1, 1, 5, 4]
    assert results["rank_test_error"].dtype == np.int32


def test_every_fold_has_its_columns():
    results = table(np.arange(6).reshape(3, 2), 10 + np.arange(6).reshape(3, 2))
    for k in range(3):
        assert results[f"split{k}_test_error"].tolist() == [2 * k, 2 * k + 1]
        assert results[f"split{k}_test_dgf"].tolist() == [10 + 2 * k, 11 + 2 * k]
        assert results[f"split{k}_dropped_pairs"].tolist() == [k, k]
    assert pd.DataFrame(results).shape == (2, len(results))


@pytest.mark.parametrize(
    ("values", "dtype"),
    [([1.0, 2.0], float), ([2, 3], int), ([None, 0.1], object), (["rbf", "linear"], object),
     ([{"a": 1}, {"b": 2}], object), ([True, False], bool), ([(1, 2), (3, 4)], object)],
)  # fmt: skip
def test_parameters_that_are_numbers_make_columns_of_numbers(values, dtype):
    params = list(ParameterGrid([{"x": values}, {"y": [1.5]}]))
    column = table(np.zeros((3, 3)), np.zeros((3, 3)), params)["param_x"]
    assert column.dtype == dtype
    assert column.mask.tolist() == [False, False, True]
    assert list(column[:2]) == values
