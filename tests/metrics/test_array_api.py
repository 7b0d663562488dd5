"""Metrics and audits of arrays of other libraries are those of the same numbers in NumPy."""

import numpy as np
import pytest
from sklearn import config_context
from tests.array_libraries import LIBRARIES

from gferm import audit, metrics

RNG = np.random.default_rng(0)
S = RNG.integers(0, 2, 80)
Y = RNG.normal(size=80) + 0.5 * S
F = Y + 0.5 * S + 0.3 * RNG.normal(size=80)
WEIGHT = RNG.uniform(0.5, 2.0, 80)
CLASSES, PREDICTED = (Y > 0).astype(int), F > 0.2

BINS = {"y_bins": 2}
OF_NUMBERS = {
    "dgf": BINS,
    "general_fairness": BINS,
    "delta_hat": BINS,
    "cell_rates": BINS,
    "mean_distance": {},
    "sensitive_correlation": {},
}
OF_CLASSES = {"equalized_odds_difference": {}, "equal_opportunity_difference": {}}


@pytest.fixture(params=LIBRARIES)
def library(request):
    return LIBRARIES[request.param]


@pytest.fixture(params=[False, True], ids=["", "dispatch"], autouse=True)
def dispatch(request, monkeypatch):
    """scikit-learn's own support of these arrays, which must change nothing."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    with config_context(array_api_dispatch=request.param):
        yield


def rates(result):
    """A number, or the numbers of a table."""
    return getattr(result, "values", result)


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_measures_of_numbers(name, library):
    measure, options = getattr(metrics, name), OF_NUMBERS[name]
    expected = measure(Y, F, sensitive_features=S, sample_weight=WEIGHT, **options)
    given = {"sensitive_features": library(S), "sample_weight": library(WEIGHT)}
    found = measure(library(Y), library(F), **given, **options)
    np.testing.assert_array_equal(rates(found), rates(expected))


@pytest.mark.parametrize("name", OF_CLASSES)
def test_measures_of_classes(name, library):
    measure = getattr(metrics, name)
    expected = measure(CLASSES, PREDICTED, sensitive_features=S)
    found = measure(library(CLASSES), library(PREDICTED), sensitive_features=library(S))
    assert found == expected
    assert measure(library(CLASSES), PREDICTED, sensitive_features=S) == expected


def test_the_error_needs_no_groups(library):
    expected = metrics.normalized_mae(Y, F, sample_weight=WEIGHT)
    assert metrics.normalized_mae(library(Y), library(F), sample_weight=library(WEIGHT)) == expected


def test_an_audit(library):
    options = {"y_bins": 2, "n_boot": 20, "random_state": 0}
    expected = audit(Y, F, sensitive_features=S, sample_weight=WEIGHT, **options)
    given = {"sensitive_features": library(S), "sample_weight": library(WEIGHT)}
    found = audit(library(Y), library(F), **given, **options)
    assert found.to_dict() == expected.to_dict()


def test_mistakes_are_named_as_with_numpy(library):
    with pytest.raises(ValueError, match="y_true has 80 values but y_pred has 79"):
        metrics.dgf(library(Y), library(F[:79]), sensitive_features=library(S))
    with pytest.raises(ValueError, match="sample_weight must be 80 numbers"):
        metrics.dgf(library(Y), F, sensitive_features=S, sample_weight=library(-WEIGHT))
    with pytest.raises(ValueError, match="y_pred must be one-dimensional"):
        metrics.dgf(Y, library(F[:, None] * [1.0, 2.0]), sensitive_features=S)
