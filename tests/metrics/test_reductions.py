"""The paper's remark: with the right bins and loss, LGF is a notion that is known already."""

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

from gferm import Bins
from gferm.fairness.comparison import Comparison
from gferm.fairness.sensitive import read_sensitive_features
from gferm.metrics import (
    dgf,
    equal_opportunity_difference,
    general_fairness,
    loss_general_fairness,
    mean_distance,
    sensitive_correlation,
)

INF = float("inf")
SIGNS = {"y_bins": [-1.5, 0, 1.5], "s_bins": [-0.5, 0.5, 1.5]}  # Y_K and S_Q of the remark


@pytest.fixture(params=range(3))
def people(request):
    """(labels ±1, scores, s in {0, 1})."""
    rng = np.random.default_rng(request.param)
    y, s = rng.choice([-1, 1], 80), rng.integers(0, 2, 80)
    return y, y * 0.4 + 0.3 * s + rng.normal(size=80), s


def error_rates(y, scores):
    """False positive and false negative rate."""
    table = confusion_matrix(y, np.where(scores > 0, 1, -1), labels=[-1, 1], normalize="true")
    return table[0, 1], table[1, 0]


def test_the_zero_one_loss_gives_equalized_odds(people):
    y, scores, s = people
    groups = [error_rates(y[s == g], scores[s == g]) for g in (0, 1)]
    differences = [abs(a - b) for a, b in zip(*groups, strict=True)]
    shared = {"sensitive_features": s, "loss": "zero_one", **SIGNS}
    # K = Q = 2 and each difference is counted as (0, 1) and as (1, 0)
    assert loss_general_fairness(y, scores, **shared) == pytest.approx(2 * sum(differences) / 8)
    assert loss_general_fairness(y, scores, average="pairs", **shared) == pytest.approx(
        np.mean(differences)
    )


def test_equal_odds_are_a_zero_and_nothing_else_is():
    y = np.array([1, 1, -1, -1] * 2)
    s = np.repeat([0, 1], 4)
    equal = np.array([1, -1, -1, -1, -1, 1, -1, -1])  # half the positives, none of the negatives
    shared = {"sensitive_features": s, "loss": "zero_one", **SIGNS}
    assert loss_general_fairness(y, equal, **shared) == 0
    for i in range(8):
        other = equal.copy()
        other[i] *= -1
        assert loss_general_fairness(y, other, **shared) > 0


def test_half_the_margin_gives_half_the_difference_of_mean_scores(people):
    # (1 − yŷ)/2 within one class is (1 ∓ ŷ)/2: the gap is half the gap of the mean scores
    y, scores, s = people
    gaps = [
        abs(scores[(y == k) & (s == 0)].mean() - scores[(y == k) & (s == 1)].mean()) / 2
        for k in (-1, 1)
    ]
    value = loss_general_fairness(y, scores, sensitive_features=s, loss="half_margin", **SIGNS)
    assert value == pytest.approx(2 * sum(gaps) / 8)


def test_half_the_margin_of_predicted_signs_is_the_zero_one_loss(people):
    y, scores, s = people
    half, zero_one = (
        loss_general_fairness(y, np.sign(scores), sensitive_features=s, loss=loss, **SIGNS)
        for loss in ("half_margin", "zero_one")
    )
    assert half == pytest.approx(zero_one)


def test_one_class_gives_equal_opportunity(people):
    y, scores, s = people
    predicted = np.where(scores > 0, 1, -1)
    true_positive = [1 - error_rates(y[s == g], scores[s == g])[1] for g in (0, 1)]
    expected = abs(true_positive[0] - true_positive[1])
    positives = dgf(y, predicted, sensitive_features=s, y_bins=Bins.categories([1]))
    assert positives == pytest.approx(expected)
    assert equal_opportunity_difference(y, predicted, sensitive_features=s) == pytest.approx(
        expected
    )


def test_gf_is_lgf_with_the_loss_of_missing_the_label_bin(people):
    _, scores, s = people
    y, edges = np.abs(scores[::-1]) % 3, np.array([0, 0.7, 1.1, 3])

    def missed(y_pred, y_true):
        return np.digitize(y_pred, edges) != np.digitize(y_true, edges)

    shared = {"sensitive_features": s, "y_bins": edges}
    assert general_fairness(y, scores, **shared) == pytest.approx(
        loss_general_fairness(y, scores, loss=missed, **shared)
    )
    assert general_fairness(y, scores, **shared) > 0


def test_one_label_bin_gives_mean_distance(people):
    y, scores, s = people
    expected = abs(scores[s == 0].mean() - scores[s == 1].mean())
    assert mean_distance(y, scores, sensitive_features=s) == pytest.approx(expected)
    assert mean_distance(None, scores, sensitive_features=s) == pytest.approx(expected)
    lgf = loss_general_fairness(
        y,
        scores,
        sensitive_features=s,
        loss="prediction",
        y_bins=[-INF, INF],
        s_bins=SIGNS["s_bins"],
    )
    assert lgf == pytest.approx(2 * expected / 4)  # K = 1, Q = 2


def test_mean_distance_of_many_groups_averages_over_their_pairs():
    s = list("aabbbc")  # with means 1, 4 and −2
    predictions = np.array([1.5, 0.5, 5, 4, 3, -2])
    assert mean_distance(None, predictions, sensitive_features=s) == pytest.approx((3 + 3 + 6) / 3)
    weight = [1, 3, 1, 1, 1, 2]  # moves the mean of a to 0.75
    assert mean_distance(
        None, predictions, sensitive_features=s, sample_weight=weight
    ) == pytest.approx((3.25 + 2.75 + 6) / 3)


@pytest.mark.parametrize("weighted", [False, True])
def test_one_label_bin_and_no_groups_give_correlation(people, weighted):
    y, scores, _ = people
    rng = np.random.default_rng(9)
    age, w = rng.gamma(2, 10, 80) + 3 * scores, rng.integers(1, 4, 80)
    weight = w.astype(float) if weighted else None
    columns = read_sensitive_features({"age": age}, 80)
    comparison = Comparison(y_bins=1, s_bins="continuous")
    constraint, _ = comparison.constrain(comparison.sort(y, columns, weight))
    f, a = (np.repeat(v, w if weighted else 1) for v in (scores, age))
    correlation = abs(np.corrcoef(f, a)[0, 1])
    (gap,) = constraint.gaps(scores, y, {"age": age}, weight)
    assert abs(gap) == pytest.approx(correlation * f.std())
    assert sensitive_correlation(
        y, scores, sensitive_features=age, sample_weight=weight
    ) == pytest.approx(correlation)
