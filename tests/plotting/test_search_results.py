"""Words and bars of a picture."""

import numpy as np
import pytest
from sklearn.svm import SVR

from gferm.plotting.search_results import describe_settings, measure_name, standard_errors


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("mean_test_error", "error"),
        ("mean_test_neg_mean_absolute_error", "mean absolute error"),
        ("mean_test_mean_distance", "mean distance"),
    ],
)
def test_columns_become_words(column, words):
    assert measure_name(column) == words
    assert measure_name(column, from_one=True) == f"1 − {words}"


def test_settings_are_told_by_what_differs_between_them():
    params = [
        {"fair__alpha": np.float64(1e-4), "fair__kernel": "rbf", "fair__gamma": 0.5},
        {"fair__alpha": 1 / 3, "fair__kernel": "rbf", "fair__gamma": None},
        {"fair__alpha": 10, "fair__kernel": "rbf"},  # one of a list of grids
    ]
    assert describe_settings({"params": params}) == [
        "alpha = 0.0001, gamma = 0.5",
        "alpha = 0.333, gamma = None",
        "alpha = 10",
    ]


def test_names_keep_their_step_where_they_would_clash():
    params = [{"a__n": 1, "b__n": 2}, {"a__n": 2, "b__n": 1}]
    assert describe_settings({"params": params})[0] == "a__n = 1, b__n = 2"


def test_estimators_and_long_values_are_shortened():
    params = [{"step": SVR(C=3)}, {"step": "words " * 30}]
    estimator, long = describe_settings({"params": params})
    assert estimator == "step = SVR"
    assert len(long) < 40


def test_what_a_search_does_not_tell_is_none():
    assert describe_settings({"mean_test_error": [1.0]}) is None
    assert standard_errors({"mean_test_error": [1.0]}, "mean_test_error") is None


def test_a_standard_error_counts_the_folds_of_its_measure_that_have_a_value():
    results = {
        "std_test_error": np.array([3.0, 3.0]),
        **{f"split{k}_test_error": np.array([1.0, np.nan if k < 5 else 1.0]) for k in range(9)},
        "split0_test_other_error": np.array([1.0, 1.0]),
    }
    np.testing.assert_allclose(standard_errors(results, "mean_test_error"), [1.0, 1.5])
