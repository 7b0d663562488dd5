"""The closed forms of make_fair_classification against large samples and against optimality."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from gferm.datasets import make_fair_classification
from gferm.metrics import equalized_odds_difference

SETTINGS = [
    pytest.param({}, id="defaults"),
    pytest.param({"n_groups": 4, "bias": -0.9, "n_features": 1}, id="four groups"),
    pytest.param({"n_classes": 3, "n_groups": 3, "separation": 3.0}, id="three classes"),
    pytest.param({"n_classes": 4, "n_features": 3, "proxy_noise": 1.0}, id="four classes"),
    pytest.param({"proxy_noise": 0.0, "separation": 1.0}, id="proxy reveals s"),
]


@pytest.fixture(params=SETTINGS, scope="module")
def large(request):
    return make_fair_classification(400_000, random_state=0, **request.param)


def least_squares(X, T):
    """Coefficients, one row for each column of T, and intercepts of the best linear fit."""
    A = np.column_stack([X, np.ones(len(X))])
    w = np.linalg.lstsq(A, T, rcond=None)[0].T
    return w[:, :-1], w[:, -1]


def signs(made):
    """1 where y is the class and -1 elsewhere, for each class that has a score."""
    classes = np.arange(made.base_rates.shape[1])
    scored = classes[1:] if len(classes) == 2 else classes
    return np.where(made.target[:, None] == scored, 1.0, -1.0)


def predicted(made, kind):
    scores = made.data @ made[f"coef_{kind}"].T + made[f"intercept_{kind}"]
    return (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)


def test_plain_optimum_is_what_least_squares_finds(large):
    coef, intercept = least_squares(large.data, signs(large))
    np.testing.assert_allclose(coef, large.coef_plain, atol=0.01)
    np.testing.assert_allclose(intercept, large.intercept_plain, atol=0.01)


def test_fair_optimum_is_what_constrained_least_squares_finds(large):
    # Equal mean scores of all groups within each class. The mean of X given y and s is linear in s
    # with the same slope for all classes, so one constraint says it: d'w = 0 with d the covariance
    # of X and s within classes. Fit in a basis N of the null space of d'.
    X, y, s = large.data, large.target, large.sensitive_features
    d = sum((s[y == k] - s[y == k].mean()) @ X[y == k] for k in np.unique(y)) / len(y)
    N = np.linalg.svd(d[None, :])[2][1:].T
    reduced, intercept = least_squares(X @ N, signs(large))
    np.testing.assert_allclose(reduced @ N.T, large.coef_fair, atol=0.01)
    np.testing.assert_allclose(intercept, large.intercept_fair, atol=0.01)
    assert not large.coef_fair[:, -1].any()


def test_gap_is_the_mean_over_scores_and_pairs_of_groups(large):
    y, s = large.target, large.sensitive_features
    scores = large.data @ large.coef_plain.T
    groups = range(s.max() + 1)
    for k in np.unique(y):
        means = [scores[(y == k) & (s == q)].mean(axis=0) for q in groups]
        gap = np.mean([np.abs(a - b) for a, b in combinations(means, 2)])
        assert gap == pytest.approx(large.gap_plain, abs=0.02)


def test_fair_classes_keep_equalized_odds_and_plain_ones_do_not(large):
    y, s = large.target, large.sensitive_features
    plain, fair = predicted(large, "plain"), predicted(large, "fair")
    assert equalized_odds_difference(y, fair, sensitive_features=s) < 0.015  # 5 standard errors
    odds = equalized_odds_difference(y, plain, sensitive_features=s)
    assert odds > 0.05
    assert (plain == y).mean() > (fair == y).mean()
    if large.base_rates.shape[1] > 2:
        assert large.odds_plain is large.accuracy_plain is large.accuracy_fair is None
    else:
        assert odds == pytest.approx(large.odds_plain, abs=0.02)
        assert (plain == y).mean() == pytest.approx(large.accuracy_plain, abs=0.005)
        assert (fair == y).mean() == pytest.approx(large.accuracy_fair, abs=0.005)


def test_parts_are_distributed_as_stated(large):
    y, s = large.target, large.sensitive_features
    n_groups, n_classes = large.base_rates.shape
    Z, proxy = large.data[:, :-1], large.data[:, -1]
    assert (y.dtype.kind, s.dtype.kind) == ("i", "i")
    np.testing.assert_allclose(np.bincount(s) / len(s), 1 / n_groups, atol=0.005)
    for q in range(n_groups):
        shares = np.bincount(y[s == q], minlength=n_classes) / (s == q).sum()
        np.testing.assert_allclose(shares, large.base_rates[q], atol=0.01)
    centers = np.array([Z[y == k].mean(axis=0) for k in range(n_classes)])
    for k in range(n_classes):
        np.testing.assert_allclose(np.cov(Z[y == k].T), np.eye(Z.shape[1]), atol=0.03)
        for q in range(n_groups):
            cell = (y == k) & (s == q)
            np.testing.assert_allclose(Z[cell].mean(axis=0), centers[k], atol=0.05)
            assert (proxy[cell] - q).mean() == pytest.approx(0, abs=0.03)


@pytest.mark.parametrize(("n_classes", "n_features"), [(2, 1), (3, 2), (3, 6), (5, 4)])
def test_class_means_are_equally_far_apart_around_zero(n_classes, n_features):
    made = make_fair_classification(
        10, n_features, n_classes=n_classes, separation=3.0, random_state=2
    )
    # coef_fair is 2 μ_k / (K + d²/2), for two classes that of class 1 alone, and μ_0 = -μ_1
    means = made.coef_fair[:, :-1] * (n_classes + 4.5) / 2
    means = np.vstack([-means, means]) if n_classes == 2 else means
    np.testing.assert_allclose(means.sum(axis=0), 0, atol=1e-12)
    for a, b in combinations(means, 2):
        assert np.linalg.norm(a - b) == pytest.approx(3)


def test_base_rates_are_those_of_the_documentation():
    made = make_fair_classification(bias=0.6, random_state=0)
    np.testing.assert_allclose(made.base_rates, [[0.8, 0.2], [0.2, 0.8]])
    extreme = make_fair_classification(n_classes=3, n_groups=3, bias=1.0, random_state=0)
    np.testing.assert_allclose(extreme.base_rates * 3, [[2, 1, 0], [1, 1, 1], [0, 1, 2]])


def test_an_ordinary_classifier_violates_equalized_odds_visibly():
    X, y, s = make_fair_classification(4000, random_state=0, return_X_y=True)
    train, test = slice(0, 2000), slice(2000, None)

    def difference(columns):
        model = LogisticRegression().fit(X[train, columns], y[train])
        return equalized_odds_difference(
            y[test], model.predict(X[test, columns]), sensitive_features=s[test]
        )

    assert difference(slice(None)) > 0.12
    assert difference(slice(0, -1)) < 0.06  # without the proxy


def test_no_bias_needs_no_correction():
    made = make_fair_classification(bias=0.0, random_state=0)
    np.testing.assert_allclose(made.coef_plain, made.coef_fair, atol=1e-15)
    assert made.gap_plain == made.odds_plain == 0
    assert made.accuracy_plain == pytest.approx(made.accuracy_fair)


def test_a_proxy_that_is_the_label_leaves_nothing_to_chance():
    made = make_fair_classification(bias=1.0, proxy_noise=0.0, random_state=0)
    np.testing.assert_array_equal(made.target, made.sensitive_features)
    assert made.accuracy_plain == made.odds_plain == 1


def test_random_state_fixes_the_draw_and_the_optima_do_not_depend_on_the_size():
    small, again = (make_fair_classification(50, random_state=3) for _ in range(2))
    for name in ("data", "target", "sensitive_features", "coef_plain"):
        np.testing.assert_array_equal(small[name], again[name])
    longer = make_fair_classification(70, random_state=3)
    np.testing.assert_array_equal(small.coef_fair, longer.coef_fair)
    other = make_fair_classification(50, random_state=4)
    assert not np.array_equal(small.coef_fair, other.coef_fair)
    assert not np.array_equal(small.data, other.data)


def test_return_X_y_gives_the_same_three():
    options = {"n_samples": 30, "n_features": 2, "n_groups": 3, "n_classes": 3, "random_state": 1}
    made = make_fair_classification(**options)
    X, y, s = make_fair_classification(**options, return_X_y=True)
    np.testing.assert_array_equal(X, made.data)
    np.testing.assert_array_equal(y, made.target)
    np.testing.assert_array_equal(s, made.sensitive_features)
    assert X.shape == (30, 3)
    assert made.feature_names == ["z0", "z1", "proxy"]
    assert set(y) == set(s) == {0, 1, 2}
    assert (made.y_bins, made.s_bins) == ("auto", (-0.5, 0.5, 1.5, 2.5))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_samples", 0),
        ("n_features", 0),
        ("n_classes", 1),
        ("n_groups", 1),
        ("bias", 1.1),
        ("bias", -1.1),
        ("bias", float("nan")),
        ("separation", 0.0),
        ("separation", float("inf")),
        ("proxy_noise", -1.0),
    ],
)
def test_bad_values_are_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"{name} == {value}, must be"):
        make_fair_classification(**{name: value})


def test_too_few_features_for_the_classes_are_refused_with_the_remedy():
    with pytest.raises(ValueError, match=r"n_features == 2, must be >= n_classes - 1 == 3.*Raise"):
        make_fair_classification(n_features=2, n_classes=4)


@pytest.mark.parametrize(("name", "value"), [("n_classes", 2.5), ("n_samples", "9"), ("bias", "b")])
def test_bad_types_are_refused_by_name(name, value):
    with pytest.raises(TypeError, match=f"{name} must be an instance of"):
        make_fair_classification(**{name: value})
