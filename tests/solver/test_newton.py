"""Newton's method on piecewise linear losses: the same optimum, few steps, any units."""

import numpy as np
import pytest
from scipy import sparse

from gferm import FairClassifier, FairRegressor
from gferm.fairness.contrasts import no_contrasts
from gferm.losses import LOSSES
from gferm.solver.choice import Settings
from gferm.solver.fair_ridge import FairRidge
from gferm.solver.newton import solve_by_newton
from gferm.solver.splitting import solve_by_splitting
from tests.problems import make_problem
from tests.systems import by_cholesky, linear_system

STRAIGHT = [name for name, loss in LOSSES.items() if loss.is_piecewise_linear]
every_straight_loss = pytest.mark.parametrize("loss", STRAIGHT)


def problem_for(loss, **size):
    problem = make_problem(n_groups=2, **size)
    y = problem.y - np.median(problem.y)
    return problem.X, np.sign(y) if LOSSES[loss].takes_classes else y, problem.s


def model_for(loss, **params):
    if LOSSES[loss].takes_classes:
        return FairClassifier(loss, kernel="linear", **params)
    return FairRegressor(loss, kernel="linear", **{"y_bins": 2} | params)


@pytest.mark.parametrize("epsilon", [0.0, 0.02, None])
@every_straight_loss
def test_far_fewer_steps_than_splitting_to_the_same_optimum(loss, epsilon):
    X, y, s = problem_for(loss, n=600)
    models = {
        solver: model_for(loss, solver=solver, epsilon=epsilon, alpha=0.01)
        for solver in ("auto", "cholesky")
    }
    for model in models.values():
        model.fit(X, y, sensitive_features=s)
        assert model.duality_gap_ <= model.tol
    newton, splitting = models["auto"], models["cholesky"]
    assert (newton.solver_.method, splitting.solver_.method) == ("newton", "splitting")
    assert newton.objective_ == pytest.approx(splitting.objective_, rel=2e-6)
    assert newton.n_iter_ < splitting.n_iter_ / 2


@pytest.mark.parametrize("epsilon", [0.0, 0.02])
@every_straight_loss
def test_features_in_wildly_different_units(loss, epsilon):
    X, y, s = problem_for(loss, n=300)
    units = 10.0 ** np.array([-2, 5, 0, 3, 1])
    model = model_for(loss, epsilon=epsilon).fit(X * units, y, sensitive_features=s)
    assert model.solver_.method == "newton"
    assert model.duality_gap_ <= model.tol
    assert model.n_iter_ < 1000  # twenty-five are usual; rounding may hand over to splitting
    assert np.abs(model.contrasts_.gaps(np.ravel(X * units @ model.coef_.T), y, s)).mean() <= (
        epsilon + 1e-7
    )


@pytest.mark.parametrize("solver", ["auto", "cholesky"])
@pytest.mark.parametrize("loss", ["absolute", "quantile", "huber", "epsilon_insensitive"])
def test_numbers_far_from_zero_are_learned_as_well_as_those_near_it(loss, solver):
    X, y, s = problem_for(loss, n=200)
    y = np.round(y, 6)
    near = model_for(loss, solver=solver, tol=1e-8).fit(X, y, sensitive_features=s)
    far = model_for(loss, solver=solver, tol=1e-8).fit(X, y + 2.0**20, sensitive_features=s)
    assert far.duality_gap_ <= far.tol
    assert far.objective_ == pytest.approx(near.objective_, rel=1e-6)
    np.testing.assert_allclose(far.predict(X) - 2.0**20, near.predict(X), atol=1e-3)


@every_straight_loss
def test_sparse_and_single_precision_rows(loss):
    X, y, s = problem_for(loss, n=200)
    X = np.where(np.abs(X) > 0.7, X, 0.0).astype(np.float32)
    dense = model_for(loss, epsilon=0.02).fit(X.astype(float), y, sensitive_features=s)
    for rows in (X, sparse.csr_array(X), sparse.csc_array(X.astype(float))):
        model = model_for(loss, epsilon=0.02).fit(rows, y, sensitive_features=s)
        assert model.objective_ == pytest.approx(dense.objective_, rel=2e-6)


@every_straight_loss
def test_the_certificate_holds_wherever_it_stops(loss):
    X, y, _ = problem_for(loss, n=150)

    def core():
        return FairRidge(by_cholesky(linear_system(X, y, no_contrasts(y.size)), 1.0), None, None)

    optimum, _ = solve_by_splitting(
        core(), Settings(LOSSES[loss], 0.1, None, tol=1e-10, max_iter=50_000), y
    )
    for max_iter in (1, 3, 10, 30, 1000):
        settings_ = Settings(LOSSES[loss], 0.1, None, tol=1e-12, max_iter=max_iter)
        early, _ = solve_by_newton(core(), settings_, y)
        assert early.n_iter <= max_iter
        assert early.objective - early.duality_gap <= optimum.objective * (1 + 1e-9)
        assert early.objective >= optimum.objective * (1 - 1e-9)
    assert early.duality_gap <= 1e-10 * early.objective


def test_splitting_takes_over_where_rounding_stops_newton():
    # Two contrasts of three features, and next to no regularisation: ρ would have to grow for ever.
    rng = np.random.default_rng(0)
    X, s = rng.normal(size=(400, 3)), rng.integers(0, 2, 400)
    y = X[:, 0] > 0
    model = FairClassifier(kernel="linear", alpha=1e-8).fit(X, y, sensitive_features=s)
    assert model.solver_.method == "newton"
    assert model.duality_gap_ <= model.tol


@pytest.mark.filterwarnings("ignore::gferm.exceptions.ConstantModelWarning")
@pytest.mark.parametrize("alpha", [1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize("epsilon", [0.0, 1e-4])
@every_straight_loss
def test_many_contrasts_and_few_features_stay_fair_to_the_last_digit(loss, epsilon, alpha):
    # The contrasts leave next to no freedom, where multipliers are hard to find in doubles.
    X, y, _ = problem_for(loss, n=300, d=8)
    s = np.random.default_rng(1).integers(0, 6, 300)
    model = model_for(loss, epsilon=epsilon, alpha=alpha).fit(X, y, sensitive_features=s)
    f = np.ravel(X @ np.ravel(model.coef_))
    assert np.abs(model.contrasts_.gaps(f, y, s)).mean() <= epsilon + 1e-7
    assert model.duality_gap_ <= model.tol
    reference = model_for(loss, epsilon=epsilon, alpha=alpha, solver="cholesky")
    reference.fit(X, y, sensitive_features=s)
    assert model.objective_ == pytest.approx(reference.objective_, rel=2e-6)


def test_rows_that_are_all_alike_have_the_constant_model():
    _, y, s = problem_for("hinge", n=100)
    model = FairClassifier(kernel="linear").fit(np.ones((100, 2)), y, sensitive_features=s)
    assert model.duality_gap_ <= model.tol
    assert not model.coef_.any()
