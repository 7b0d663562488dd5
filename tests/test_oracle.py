"""Every way to pose the problem has the optimum that CVXPY finds."""

import numpy as np
import pytest

from gferm import FairRegressor
from gferm.features.kernel import Kernel
from tests.comparing import compared_by
from tests.oracle import solve_reference
from tests.problems import make_problem

KERNELS = {
    "linear": {"kernel": "linear"},
    "rbf": {"kernel": "rbf", "gamma": 0.2},
    "poly": {"kernel": "poly", "degree": 2, "gamma": 0.1},
}
VARIANTS = {
    "default": {},
    "no intercept": {"fit_intercept": False},
    "residuals": {"match": "residual", "y_bins": 2},
    "paper's sum": {"epsilon_scale": "sum"},
    "parity": {"y_bins": 1},
    "continuous": {"s_bins": "continuous"},
    "large cells only": {"min_cell_size": 8},
}


def assert_same_optimum(model, problem, weight=None, s=None):
    X, y = problem.X, problem.y
    space = (
        {"features": X}
        if model.kernel == "linear"
        else {"kernel_matrix": Kernel(model.kernel, model.gamma, model.degree, model.coef0)(X)}
    )
    reference = solve_reference(
        y,
        compared_by(model, y, problem.s if s is None else s, weight),
        model.epsilon,
        model.alpha,
        weight=weight,
        fit_intercept=model.fit_intercept,
        **space,
    )
    assert model.objective_ == pytest.approx(reference.objective, rel=1e-6)
    np.testing.assert_allclose(model.predict(X), reference.predictions, atol=1e-3 * np.ptp(y))


def plain_gap(params, problem, weight=None):
    plain = FairRegressor(**params, epsilon=None)
    return plain.fit(
        problem.X, problem.y, sensitive_features=problem.s, sample_weight=weight
    ).violation_


@pytest.mark.parametrize("share", [0.0, 0.3, 0.8])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_optimum_is_that_of_cvxpy(kernel, variant, share):
    problem = make_problem(d=12)
    params = {"alpha": 0.7, "y_bins": 4} | KERNELS[kernel] | VARIANTS[variant]
    epsilon = share * plain_gap(params, problem)
    model = FairRegressor(**params, epsilon=epsilon)
    model.fit(problem.X, problem.y, sensitive_features=problem.s)
    assert model.active_
    assert model.violation_ == pytest.approx(epsilon, abs=1e-9)
    assert model.duality_gap_ < 1e-9
    assert_same_optimum(model, problem)


@pytest.mark.parametrize("share", [0.0, 0.3])
@pytest.mark.parametrize("kernel", KERNELS)
def test_weights_weigh_the_risk_and_the_cell_means(kernel, share):
    problem = make_problem(n_groups=2)
    weight = np.random.default_rng(1).uniform(0.2, 3.0, problem.y.size)
    params = {"alpha": 0.7, "y_bins": 3} | KERNELS[kernel]
    epsilon = share * plain_gap(params, problem, weight)
    model = FairRegressor(**params, epsilon=epsilon).fit(
        problem.X, problem.y, sensitive_features=problem.s, sample_weight=weight
    )
    assert_same_optimum(model, problem, weight)


@pytest.mark.parametrize("intersectional", [True, False])
def test_several_attributes_have_the_optimum_of_cvxpy(intersectional):
    problem = make_problem(n=150, n_groups=2)
    second = np.where(np.random.default_rng(2).random(150) < 0.5, "a", "b")
    s = {"first": problem.s, "second": second, "x": problem.X[:, 1]}
    params = {"y_bins": 2, "s_bins": {"x": "continuous"}, "intersectional": intersectional}
    plain = FairRegressor(gamma=0.2, epsilon=None, **params)
    gap = plain.fit(problem.X, problem.y, sensitive_features=s).violation_
    model = FairRegressor(gamma=0.2, epsilon=gap / 4, **params)
    model.fit(problem.X, problem.y, sensitive_features=s)
    assert_same_optimum(model, problem, s=s)
