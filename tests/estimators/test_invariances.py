"""What must not change the model, or must change it in a known way."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gferm import FairRegressor

few = settings(max_examples=15, deadline=None)
kernels = st.sampled_from(["linear", "rbf"])
epsilons = st.sampled_from([0.0, 0.1])
factors = st.floats(1e-3, 1e3)


@pytest.fixture(scope="module")
def groups(problem):
    """Three groups that the features give away."""
    return problem.s + (problem.X[:, 2] > 1.0)


def predict(X, y, s, X_new, **options):
    model = FairRegressor(**{"y_bins": 2, "gamma": 0.2, "alpha": 0.5, **options})
    return model.fit(X, y, sensitive_features=s).predict(X_new)


def assert_close(actual, desired):
    np.testing.assert_allclose(actual, desired, rtol=0, atol=1e-8 * np.abs(desired).max())


@few
@given(order=st.permutations(range(70)), kernel=kernels, epsilon=epsilons)
def test_the_order_of_the_rows_does_not_matter(problem, groups, order, kernel, epsilon):
    X, y, _, X_new, _ = problem
    options = {"kernel": kernel, "epsilon": epsilon}
    expected = predict(X, y, groups, X_new, **options)
    assert_close(predict(X[order], y[order], groups[order], X_new, **options), expected)


letters = st.characters(codec="utf-8", exclude_characters="\0")  # NumPy drops a trailing NUL
three = {"min_size": 3, "max_size": 3, "unique": True}
names = st.one_of(
    st.lists(st.text(letters, max_size=6), **three),
    st.lists(st.integers(-(2**53), 2**53), **three),
    st.lists(st.dates(), **three),
)


@few
@given(names=names, kernel=kernels, epsilon=epsilons)
def test_the_names_of_the_groups_and_their_order_do_not_matter(
    problem, groups, names, kernel, epsilon
):
    X, y, _, X_new, _ = problem
    options = {"kernel": kernel, "epsilon": epsilon}
    renamed = [names[code] for code in groups]
    expected = predict(X, y, groups, X_new, **options)
    assert_close(predict(X, y, renamed, X_new, **options), expected)


@few
@given(factor=factors, kernel=kernels, epsilon=epsilons)
def test_scaling_y_and_epsilon_scales_the_predictions(problem, groups, factor, kernel, epsilon):
    X, y, _, X_new, _ = problem
    expected = factor * predict(X, y, groups, X_new, kernel=kernel, epsilon=epsilon)
    scaled = predict(X, factor * y, groups, X_new, kernel=kernel, epsilon=factor * epsilon)
    assert_close(scaled, expected)


@few
@given(shift=st.floats(-1e3, 1e3), kernel=kernels, epsilon=epsilons)
def test_shifting_y_shifts_the_predictions(problem, groups, shift, kernel, epsilon):
    X, y, _, X_new, _ = problem
    options = {"kernel": kernel, "epsilon": epsilon}
    expected = predict(X, y, groups, X_new, **options) + shift
    assert_close(predict(X, y + shift, groups, X_new, **options), expected)


@few
@given(
    extra=st.lists(st.floats(0.01, 0.49), min_size=1, max_size=3, unique=True),
    after=st.integers(0, 2),
    kernel=kernels,
    epsilon=epsilons,
)
def test_merging_an_empty_sensitive_bin_changes_nothing(
    problem, groups, extra, after, kernel, epsilon
):
    X, y, _, X_new, _ = problem
    edges = [-0.5, 0.5, 1.5, 2.5]  # the groups are 0, 1 and 2
    finer = sorted({*edges, *(after + np.array(extra))})  # rounding may make two of them one
    merged, split = (
        predict(X, y, groups, X_new, kernel=kernel, epsilon=epsilon, s_bins=bins)
        for bins in (edges, finer)
    )
    assert_close(split, merged)


@few
@given(
    factor=factors, power=st.sampled_from([("rbf", 2), ("laplacian", 1), ("poly", 2)]), eps=epsilons
)
def test_scaling_X_is_undone_by_gamma(problem, groups, factor, power, eps):
    X, y, _, X_new, _ = problem
    kernel, exponent = power
    expected = predict(X, y, groups, X_new, kernel=kernel, epsilon=eps, gamma=0.2)
    gamma = 0.2 / factor**exponent
    scaled = predict(factor * X, y, groups, factor * X_new, kernel=kernel, epsilon=eps, gamma=gamma)
    assert_close(scaled, expected)


@few
@given(shift=st.floats(-100, 100), kernel=kernels, epsilon=epsilons)
def test_moving_the_origin_of_X_does_not_matter(problem, groups, shift, kernel, epsilon):
    X, y, _, X_new, _ = problem
    options = {"kernel": kernel, "epsilon": epsilon}
    expected = predict(X, y, groups, X_new, **options)
    assert_close(predict(X + shift, y, groups, X_new + shift, **options), expected)
