"""The closed forms of make_fair_regression against large samples and against optimality."""

from itertools import combinations

import numpy as np
import pytest

from gferm.datasets import make_fair_regression

SETTINGS = [
    pytest.param({"n_groups": 2}, id="two groups"),
    pytest.param({"n_groups": 5, "bias": -0.7}, id="five groups"),
    pytest.param({"continuous": True, "bias": 3.0, "proxy_noise": 0.3}, id="continuous"),
    pytest.param({"n_groups": 3, "n_features": 0}, id="proxy only"),
    pytest.param({"n_groups": 2, "proxy_noise": 0.0}, id="proxy reveals s"),
]


@pytest.fixture(params=SETTINGS, scope="module")
def large(request):
    options = {"n_features": 4, "bias": 2.0, "proxy_noise": 0.7, "noise": 0.3} | request.param
    return make_fair_regression(400_000, random_state=0, **options)


def least_squares(X, y):
    """Coefficients and intercept of the best linear fit, and its mean squared error."""
    A = np.column_stack([X, np.ones(len(X))])
    w = np.linalg.lstsq(A, y, rcond=None)[0]
    return w[:-1], w[-1], np.mean((y - A @ w) ** 2)


def test_plain_optimum_is_what_least_squares_finds(large):
    coef, intercept, mse = least_squares(large.data, large.target)
    np.testing.assert_allclose(coef, large.coef_plain, atol=0.01)
    assert intercept == pytest.approx(large.intercept_plain, abs=0.01)
    assert mse == pytest.approx(large.mse_plain, rel=0.01)


def test_fair_optimum_is_what_constrained_least_squares_finds(large):
    # min |y - Xw - c| subject to d'w = 0, d = cov(X, s): fit in a basis N of the null space of d'.
    # The mean of X given s is linear in s, so this one constraint equalises all group means.
    X, y, s = large.data, large.target, large.sensitive_features
    d = (s - s.mean()) @ X / len(s)
    N = np.linalg.svd(d[None, :])[2][1:].T
    reduced, intercept, mse = least_squares(X @ N, y)
    np.testing.assert_allclose(N @ reduced, large.coef_fair, atol=0.02)
    assert intercept == pytest.approx(large.intercept_fair, abs=0.02)
    assert mse == pytest.approx(large.mse_fair, rel=0.01)


def test_gap_is_the_mean_over_pairs_of_groups(large):
    s = large.sensitive_features
    predicted = large.data @ large.coef_plain + large.intercept_plain
    fair = large.data @ large.coef_fair + large.intercept_fair
    if s.dtype.kind == "f":
        # the mean prediction given s is linear in s: |slope| times E|s - s'| of independent draws
        slope = np.polyfit(s, predicted, 1)[0]
        gap = abs(slope) * np.abs(s[::2] - s[1::2]).mean()
        assert np.polyfit(s, fair, 1)[0] == pytest.approx(0, abs=0.03)
    else:
        groups = range(s.max() + 1)
        means = [predicted[s == q].mean() for q in groups]
        gap = np.mean([abs(a - b) for a, b in combinations(means, 2)])
        np.testing.assert_allclose([fair[s == q].mean() for q in groups], fair.mean(), atol=0.03)
    assert gap == pytest.approx(large.gap_plain, abs=0.02)


def test_parts_are_distributed_as_stated(large):
    s = large.sensitive_features
    proxy = large.data[:, -1]
    n_groups = len(large.s_bins) - 1
    counts, _ = np.histogram(s, large.s_bins)
    np.testing.assert_allclose(counts / len(s), 1 / n_groups, atol=0.005)
    for z in large.data[:, :-1].T:
        assert z.mean() == pytest.approx(0, abs=0.01)
        assert z.std() == pytest.approx(1, abs=0.01)
        assert np.corrcoef(z, s)[0, 1] == pytest.approx(0, abs=0.01)
    assert (proxy - s).mean() == pytest.approx(0, abs=0.01)
    assert np.cov(proxy - s, s)[0, 1] == pytest.approx(0, abs=0.01)


def test_no_bias_needs_no_correction():
    made = make_fair_regression(bias=0.0, random_state=0)
    np.testing.assert_array_equal(made.coef_plain, made.coef_fair)
    assert made.intercept_plain == made.intercept_fair == made.gap_plain == 0
    assert made.mse_plain == made.mse_fair == pytest.approx(0.1**2)


@pytest.mark.parametrize("bias", [0.5, 1.0, -2.0])
def test_fairness_costs_exactly_what_the_proxy_explains(bias):
    made = make_fair_regression(bias=bias, proxy_noise=0.5, random_state=0)
    # two groups: v = 1/4 = proxy_noise², so half of the variance bias²/4 of the bias is explained
    assert made.mse_fair - made.mse_plain == pytest.approx(bias**2 / 8)
    assert made.gap_plain == pytest.approx(abs(bias) / 2)


def test_random_state_fixes_the_draw_and_beta_does_not_depend_on_the_size():
    small, again = (make_fair_regression(50, random_state=3) for _ in range(2))
    for name in ("data", "target", "sensitive_features", "coef_plain"):
        np.testing.assert_array_equal(small[name], again[name])
    longer = make_fair_regression(70, random_state=3)
    np.testing.assert_array_equal(small.coef_fair, longer.coef_fair)
    other = make_fair_regression(50, random_state=4)
    assert not np.array_equal(small.coef_fair, other.coef_fair)


def test_return_X_y_gives_the_same_three():
    made = make_fair_regression(30, 2, n_groups=3, random_state=1)
    X, y, s = make_fair_regression(30, 2, n_groups=3, random_state=1, return_X_y=True)
    np.testing.assert_array_equal(X, made.data)
    np.testing.assert_array_equal(y, made.target)
    np.testing.assert_array_equal(s, made.sensitive_features)
    assert X.shape == (30, 3)
    assert made.feature_names == ["z0", "z1", "proxy"]
    assert set(s) <= {0, 1, 2}
    assert made.s_bins == (-0.5, 0.5, 1.5, 2.5)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_samples", 0),
        ("n_features", -1),
        ("n_groups", 1),
        ("noise", -0.1),
        ("proxy_noise", -1.0),
        ("noise", float("nan")),
        ("bias", float("inf")),
    ],
)
def test_bad_values_are_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"{name} == {value}, must be"):
        make_fair_regression(**{name: value})


@pytest.mark.parametrize(("name", "value"), [("n_groups", 2.5), ("n_samples", "9"), ("bias", "b")])
def test_bad_types_are_refused_by_name(name, value):
    with pytest.raises(TypeError, match=f"{name} must be an instance of"):
        make_fair_regression(**{name: value})
