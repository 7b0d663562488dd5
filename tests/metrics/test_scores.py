"""Correlation and normalised error, and every metric as a scikit-learn scorer."""

from math import isnan

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import KFold, cross_validate

from gferm import metrics
from gferm.metrics import normalized_mae, sensitive_correlation

RNG = np.random.default_rng(0)
F, S, W = RNG.normal(size=50), RNG.gamma(2.0, size=50), RNG.integers(0, 4, 50)
slopes = st.sampled_from([-3.0, -0.5, 0.25, 7.0])
shifts = st.integers(-100, 100)


def rates_differ(y, f, s, edges):
    """Mean over label bins of |difference of hit rates| between groups 0 and 1."""
    code = lambda v: np.digitize(v, edges[1:-1])  # noqa: E731
    hit = code(f) == code(y)
    cells = [[hit[(code(y) == k) & (s == g)] for g in (0, 1)] for k in range(len(edges) - 1)]
    return np.mean([abs(a.mean() - b.mean()) for a, b in cells if a.size and b.size])


EDGES = np.array([-np.inf, -1, 0, 1, np.inf])
SCORERS = {
    "dgf": (metrics.dgf, {"y_bins": EDGES}, lambda y, f, s: rates_differ(y, f, s, EDGES)),
    "mean_distance": (
        metrics.mean_distance,
        {},
        lambda y, f, s: abs(f[s == 0].mean() - f[s == 1].mean()),
    ),
    "sensitive_correlation": (
        sensitive_correlation,
        {},
        lambda y, f, s: abs(np.corrcoef(f, s)[0, 1]),
    ),
}


@pytest.mark.parametrize(("metric", "options", "by_hand"), SCORERS.values(), ids=list(SCORERS))
def test_a_metric_is_a_scorer_whose_groups_are_routed(metric, options, by_hand):
    rng = np.random.default_rng(1)
    X, s = rng.normal(size=(120, 3)), rng.integers(0, 2, 120)
    y = X @ [1, -1, 0.5] + 0.7 * s + rng.normal(size=120)
    folds = KFold(3)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = make_scorer(metric, greater_is_better=False, **options)
        scorer = scorer.set_score_request(sensitive_features=True)
        scores = cross_validate(
            LinearRegression(), X, y, cv=folds, scoring=scorer, params={"sensitive_features": s}
        )["test_score"]
    expected = []
    for train, test in folds.split(X):
        f = LinearRegression().fit(X[train], y[train]).predict(X[test])
        expected.append(-by_hand(y[test], f, s[test]))
    np.testing.assert_allclose(scores, expected)
    assert (scores < 0).all()


def test_correlation_is_the_absolute_pearson_coefficient():
    assert sensitive_correlation(None, F, sensitive_features=S) == pytest.approx(
        abs(np.corrcoef(F, S)[0, 1])
    )
    repeated = np.corrcoef(np.repeat(F, W), np.repeat(S, W))[0, 1]
    weighted = sensitive_correlation(None, F, sensitive_features=S, sample_weight=W)
    assert weighted == pytest.approx(abs(repeated))


def test_several_attributes_give_the_largest_correlation():
    several = {"noise": RNG.normal(size=50), "half": F + RNG.normal(size=50), "s": S}
    largest = max(abs(np.corrcoef(F, column)[0, 1]) for column in several.values())
    assert sensitive_correlation(None, F, sensitive_features=several) == pytest.approx(largest)


@settings(max_examples=30, deadline=None)
@given(slopes, shifts, slopes, shifts, st.permutations(range(50)))
def test_correlation_knows_no_units_origins_or_row_order(a, b, c, d, order):
    changed = sensitive_correlation(None, a * F[order] + b, sensitive_features=c * S[order] + d)
    assert changed == pytest.approx(abs(np.corrcoef(F, S)[0, 1]))
    exact = sensitive_correlation(None, a * S + b, sensitive_features=S)
    assert exact == pytest.approx(1)


@pytest.mark.parametrize("value", [0.0, 0.1, 0.7, 1e9])
@pytest.mark.parametrize("n", [1, 3, 6, 50])
def test_a_constant_has_no_correlation(value, n):
    assert isnan(sensitive_correlation(None, [value] * n, sensitive_features=S[:n]))
    assert isnan(sensitive_correlation(None, F[:n], sensitive_features=[value] * n))


def test_a_constant_among_the_rows_that_count_has_no_correlation():
    assert isnan(
        sensitive_correlation(
            None, [1, 1, 5], sensitive_features=[1, 2, 3], sample_weight=[1, 1, 0]
        )
    )


def test_words_have_no_correlation():
    with pytest.raises(ValueError, match=r"\(sex\) is not numeric.*mean_distance or dgf"):
        sensitive_correlation(None, [1.0, 2.0], sensitive_features={"sex": ["f", "m"]})


@pytest.mark.parametrize("metric", [metrics.dgf, metrics.mean_distance, sensitive_correlation])
def test_rows_of_another_index_are_not_trusted(metric):
    f = pd.Series(F)
    with pytest.raises(ValueError, match="different indexes"):
        metric(f, f, sensitive_features=pd.Series(S, index=f.index[::-1]))


def test_normalized_mae_is_the_mean_error_in_percent_of_the_range():
    y, f = [2.0, 4.0, 10.0], [3.0, 4.0, 7.0]
    assert normalized_mae(y, f) == pytest.approx(100 * (1 + 0 + 3) / 3 / 8)
    assert normalized_mae(y, f, y_range=(0, 20)) == pytest.approx(100 * (1 + 0 + 3) / 3 / 20)
    assert normalized_mae(y, f, sample_weight=[3, 1, 0]) == pytest.approx(100 * 3 / 4 / 8)


@settings(max_examples=30, deadline=None)
@given(slopes, shifts, st.permutations(range(50)))
def test_normalized_mae_knows_no_units_origin_or_row_order(a, b, order):
    changed = normalized_mae(a * S[order] + b, a * F[order] + b)
    assert changed == pytest.approx(100 * np.mean(np.abs(S - F)) / (S.max() - S.min()))


@pytest.mark.parametrize("y_range", [None, (3, 3), (5, 2)])
def test_a_range_without_length_is_refused(y_range):
    with pytest.raises(ValueError, match=r"has no length; pass y_range=\(low, high\)"):
        normalized_mae([3.0, 3.0], [1.0, 2.0], y_range=y_range)
