"""Equalized odds and equal opportunity against rates counted row by row."""

from itertools import combinations
from math import isnan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning

from gferm.metrics import equal_opportunity_difference, equalized_odds_difference

METRICS = {"odds": equalized_odds_difference, "opportunity": equal_opportunity_difference}
each_metric = pytest.mark.parametrize("metric", METRICS.values(), ids=list(METRICS))
each_number_of_groups = pytest.mark.parametrize("groups", ["ab", "abc"])


def some_rows(groups, classes=(0, 1), n=90):
    rng = np.random.default_rng(len(groups))
    y, s = rng.choice(classes, n), rng.choice(list(groups), n)
    return y, np.where(rng.random(n) < 0.6 + 0.1 * (s == "a"), y, rng.choice(classes, n)), s


def rate(predicted, actual, y, p, s, group):
    """P(ŷ = predicted | y = actual, s = group), by counting."""
    rows = [i for i in range(len(y)) if y[i] == actual and s[i] == group]
    return sum(p[i] == predicted for i in rows) / len(rows)


def largest_difference(groups, rate_of_group):
    return max(abs(rate_of_group(a) - rate_of_group(b)) for a, b in combinations(groups, 2))


@each_number_of_groups
def test_two_classes_give_the_larger_difference_of_both_positive_rates(groups):
    y, p, s = some_rows(groups)
    true_positive, false_positive = (
        largest_difference(groups, lambda g, k=actual: rate(1, k, y, p, s, g)) for actual in (1, 0)
    )
    assert true_positive != false_positive
    shared = {"sensitive_features": s}
    worst, mean = max(true_positive, false_positive), (true_positive + false_positive) / 2
    assert equalized_odds_difference(y, p, **shared) == pytest.approx(worst)
    assert equalized_odds_difference(y, p, agg="mean", **shared) == pytest.approx(mean)
    assert equal_opportunity_difference(y, p, **shared) == pytest.approx(true_positive)
    negative = equal_opportunity_difference(y, p, pos_label=0, **shared)
    assert negative == pytest.approx(false_positive)  # |ΔTNR| = |ΔFPR|


@each_number_of_groups
@pytest.mark.parametrize(
    "classes",
    [[3, 5, 8], list("xyz"), np.array(list("xyz"), dtype=object)],
    ids=["numbers", "words", "objects"],
)
def test_many_classes_give_the_largest_difference_of_a_recall(groups, classes):
    y, p, s = some_rows(groups, classes)
    recalls = [largest_difference(groups, lambda g, k=k: rate(k, k, y, p, s, g)) for k in classes]
    assert equalized_odds_difference(y, p, sensitive_features=s) == pytest.approx(max(recalls))
    assert equal_opportunity_difference(
        y, p, sensitive_features=s, pos_label=classes[1]
    ) == pytest.approx(recalls[1])


def test_margins_report_the_attribute_that_differs_most():
    y, p, s = some_rows("ab")
    t = np.random.default_rng(5).choice(list("xy"), len(y))
    s_differs, t_differs = (
        max(largest_difference(groups, lambda g, k=k, a=a: rate(k, k, y, p, a, g)) for k in (0, 1))
        for a, groups in ((s, "ab"), (t, "xy"))
    )
    for features in ({"s": s, "t": t}, {"t": t, "s": s}):
        both = equalized_odds_difference(y, p, sensitive_features=features, intersectional=False)
        assert both == pytest.approx(max(s_differs, t_differs))


@each_metric
@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.booleans(), st.booleans(), st.sampled_from("abc"), st.integers(0, 3)),
        max_size=30,
    ),
    st.randoms(use_true_random=False),
)
def test_weights_repeat_rows_whose_order_does_not_matter(metric, rows, random):
    rows = [*rows, (True, True, "a", 1), (True, False, "b", 2), (False, True, "a", 1)]
    y, p, s, w = (np.array(part) for part in zip(*random.sample(rows, len(rows)), strict=True))
    times = np.array([row[3] for row in rows])
    repeated = [np.repeat(np.array([row[j] for row in rows]), times) for j in range(3)]
    weighted = metric(y.astype(int), p.astype(int), sensitive_features=s, sample_weight=w)
    plain = metric(*(v.astype(int) for v in repeated[:2]), sensitive_features=repeated[2])
    assert weighted == pytest.approx(plain, abs=1e-12)


def test_a_group_without_a_class_is_left_out_of_that_class_only():
    y, p, s = [1, 1, 0, 0, 1, 1], [1, 0, 0, 1, 1, 1], list("aaaabb")  # b has no row of class 0
    assert equalized_odds_difference(y, p, sensitive_features=s) == 0.5
    assert equalized_odds_difference(y, p, sensitive_features=s, agg="mean") == 0.5


@each_metric
def test_a_single_group_is_nan_and_said_aloud(metric):
    with pytest.warns(UndefinedMetricWarning, match="nothing to compare"):
        assert isnan(metric([0, 1], [0, 1], sensitive_features=["a", "a"]))


@each_metric
@pytest.mark.parametrize(
    ("y_true", "y_pred", "message"),
    [
        ([0.5, 1.7, 2.1], [0, 1, 1], "y_true is continuous.*gferm.metrics.dgf"),
        ([0, 1, 1], [0.2, 0.9, 0.7], "y_pred is continuous.*apply a threshold first"),
        (["no", "yes", "yes"], [0, 1, 1], "Mix of label input types"),
        ([0, 1, 1], [0, 1], "y_true has 3 values but y_pred has 2"),
    ],
)
def test_what_has_no_classes_is_refused(metric, y_true, y_pred, message):
    with pytest.raises(ValueError, match=message):
        metric(y_true, y_pred, sensitive_features=["a", "b", "a"])


def test_unknown_options_are_refused():
    with pytest.raises(ValueError, match="pos_label=2 is not among the labels"):
        equal_opportunity_difference([0, 1], [0, 1], sensitive_features=["a", "b"], pos_label=2)
    with pytest.raises(ValueError, match="agg='max' is unknown; use 'worst_case' or 'mean'"):
        equalized_odds_difference([0, 1], [0, 1], sensitive_features=["a", "b"], agg="max")
