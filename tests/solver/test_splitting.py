"""Every loss, linear and kernel, has the optimum that CVXPY finds, and says how near it is."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import HuberRegressor, LogisticRegression, QuantileRegressor
from sklearn.svm import SVC, SVR, LinearSVC

from gferm import FairClassifier, FairRegressor
from gferm.exceptions import InactiveConstraintWarning
from gferm.fairness.contrasts import no_contrasts
from gferm.features.kernel import Kernel
from gferm.losses import LOSSES, EpsilonInsensitive, Hinge, Huber, LogLoss, Quantile
from gferm.solver.certificate import balance, certify_fit
from gferm.solver.choice import Settings
from gferm.solver.fair_ridge import FairRidge
from gferm.solver.splitting import solve_by_splitting
from tests.comparing import compared_by
from tests.oracle import solve_reference
from tests.problems import make_problem
from tests.systems import FACTORIZE, by_cholesky, kernel_system, linear_system

KERNELS = {
    "linear": {"kernel": "linear"},  # piecewise linear losses by Newton's method …
    "split": {"kernel": "linear", "solver": "cholesky"},  # … and by splitting
    "rbf": {"kernel": "rbf", "gamma": 0.2},
}
every_loss = pytest.mark.parametrize("loss", LOSSES)
every_kernel = pytest.mark.parametrize("kernel", KERNELS)


def problem_for(loss, **size):
    """Numbers or signs to learn; signs from the same numbers, cut at their median."""
    problem = make_problem(**size)
    y = problem.y - np.median(problem.y)
    y = np.sign(y) if LOSSES[loss].takes_classes else y
    return problem.X, y, problem.s


def model_for(loss, **params):
    if LOSSES[loss].takes_classes:
        return FairClassifier(loss, **params)
    return FairRegressor(loss, **{"y_bins": 3} | params)


def values(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


# A hundred times finer than what is compared; with its own 1e-8 Clarabel stalls on some processors.
ORACLE = dict.fromkeys(["tol_gap_abs", "tol_gap_rel", "tol_feas"], 1e-7)


def reference_of(model, loss, X, y, s, weight=None):
    matrix = {"features": X}
    if model.kernel != "linear":
        matrix = {"kernel_matrix": Kernel(model.kernel, model.gamma)(X)}
    return solve_reference(
        y,
        compared_by(model, y, s, weight),
        model.epsilon,
        model.alpha,
        weight=weight,
        fit_intercept=model.fit_intercept,
        loss=loss,
        **matrix,
        **ORACLE,
    )


def objective_of(model, loss, X, y, weight=None):
    """The objective as anybody can compute it from a fitted model."""
    f = values(model, X)
    if model.kernel == "linear":
        norm2 = np.sum(model.coef_**2)
    else:
        a = np.ravel(model.dual_coef_)
        norm2 = a @ Kernel(model.kernel, model.gamma)(X) @ a
    weight = np.ones_like(y) if weight is None else weight
    return weight @ LOSSES[loss].value(y, f) + model.alpha * norm2


@pytest.mark.filterwarnings("ignore::gferm.exceptions.InactiveConstraintWarning")
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")  # says Clarabel of log_loss
@pytest.mark.parametrize("share", [0.0, 0.3, 2.0], ids=["zero", "active", "inactive"])
@every_kernel
@every_loss
def test_the_optimum_is_that_of_cvxpy(loss, kernel, share):
    X, y, s = problem_for(loss, n=300, n_groups=2)
    params = KERNELS[kernel] | {"alpha": 0.7}
    plain = model_for(loss, epsilon=None, **params).fit(X, y, sensitive_features=s)
    epsilon = share * plain.violation_
    model = model_for(loss, epsilon=epsilon, **params).fit(X, y, sensitive_features=s)
    reference = reference_of(model, loss, X, y, s)
    assert model.objective_ == pytest.approx(reference.objective, rel=1e-5)
    assert model.objective_ == pytest.approx(objective_of(model, loss, X, y), rel=1e-9)
    assert model.duality_gap_ <= model.tol
    gaps = np.abs(model.contrasts_.gaps(values(model, X), y, s))
    assert gaps.mean() <= epsilon + 1e-7
    assert model.active_ == (share < 1)


VARIANTS = {
    "three groups": {"groups": 3},
    "no intercept": {"fit_intercept": False},
    "residuals": {"match": "residual", "y_bins": 1},
    "paper's sum": {"epsilon_scale": "sum"},
    "parity": {"y_bins": 1},
    "continuous": {"s_bins": "continuous"},
    "spectrum": {"solver": "spectrum"},
    "weights": {},
}


@pytest.mark.parametrize("share", [0.0, 0.4])
@pytest.mark.parametrize("variant", VARIANTS)
@every_kernel
@pytest.mark.parametrize("loss", ["hinge", "log_loss", "huber", "quantile"])
def test_variants_have_the_optimum_of_cvxpy(loss, kernel, variant, share):
    params = {"alpha": 0.5} | KERNELS[kernel] | VARIANTS[variant]
    X, y, s = problem_for(loss, n=90, d=8, n_groups=params.pop("groups", 2))
    weight = np.random.default_rng(1).uniform(0.2, 3.0, 90) if variant == "weights" else None
    fit = {"sensitive_features": s, "sample_weight": weight}
    plain = model_for(loss, epsilon=None, **params).fit(X, y, **fit)
    model = model_for(loss, epsilon=share * plain.violation_, **params).fit(X, y, **fit)
    reference = reference_of(model, loss, X, y, s, weight)
    assert model.active_
    assert model.objective_ == pytest.approx(reference.objective, rel=1e-5)
    assert model.duality_gap_ <= model.tol
    compared = compared_by(model, y, s, weight)
    assert compared.violation_of(compared.columns.T @ values(model, X)) == pytest.approx(
        model.epsilon, abs=1e-7
    )


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 1e3])
@every_kernel
@every_loss
def test_any_strength_of_regularisation_converges(loss, kernel, alpha):
    X, y, s = problem_for(loss, n=150, n_groups=2)
    model = model_for(loss, alpha=alpha, **KERNELS[kernel]).fit(X, y, sensitive_features=s)
    assert model.duality_gap_ <= model.tol
    assert model.violation_ <= 1e-9


@pytest.mark.parametrize("size", [1e-6, 1e6])
@pytest.mark.parametrize("loss", ["absolute", "quantile"])
def test_units_of_y_do_not_matter(loss, size):
    # ℓ is homogeneous: y, epsilon and 1/alpha in other units give the same model in those units.
    X, y, s = problem_for(loss, n=120, n_groups=2)
    one = model_for(loss, alpha=0.5, **KERNELS["rbf"]).fit(X, y + 3.0, sensitive_features=s)
    other = model_for(loss, alpha=0.5 / size, **KERNELS["rbf"])
    other.fit(X, size * (y + 3.0), sensitive_features=s)
    assert other.objective_ / size == pytest.approx(one.objective_, rel=1e-5)
    assert other.duality_gap_ <= other.tol


@every_kernel
@pytest.mark.parametrize("loss", ["hinge", "log_loss", "absolute", "squared"])
def test_weights_are_repetitions_of_rows(loss, kernel):
    X, y, s = problem_for(loss, n=80, n_groups=2)
    times = np.random.default_rng(3).integers(0, 4, 80)
    params = {"alpha": 0.5, "epsilon": 0.05, "y_bins": 1, "tol": 1e-8} | KERNELS[kernel]
    weighted = model_for(loss, **params)
    weighted.fit(X, y, sensitive_features=s, sample_weight=times.astype(float))
    rows = np.repeat(np.arange(80), times)
    repeated = model_for(loss, **params).fit(X[rows], y[rows], sensitive_features=s[rows])
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-7)
    np.testing.assert_allclose(values(weighted, X), values(repeated, X), atol=1e-3)


def core_of(X, y, kernel, solver="cholesky"):
    if kernel != "rbf":
        system = linear_system(X, y, no_contrasts(y.size))
    else:
        system = kernel_system(Kernel("rbf", 0.2)(X), y, no_contrasts(y.size))
    return FairRidge(FACTORIZE[solver](system, 1.0), None, None)


@pytest.mark.parametrize("solver", ["cholesky", "spectrum"])
@pytest.mark.parametrize("kernel", ["split", "rbf"])
@every_loss
def test_a_warm_start_is_at_the_end_at_once(loss, kernel, solver):
    X, y, _ = problem_for(loss, n=150)
    settings_ = Settings(LOSSES[loss], 0.5, None, tol=1e-6, max_iter=5000)
    cold, state = solve_by_splitting(core_of(X, y, kernel, solver), settings_, y)
    warm, _ = solve_by_splitting(core_of(X, y, kernel, solver), settings_, y, start=state)
    assert warm.n_iter == 1 <= cold.n_iter
    assert warm.objective == pytest.approx(cold.objective, rel=2e-6)
    # … and near the end of a neighbouring problem.
    near = Settings(LOSSES[loss], 0.52, None, tol=1e-6, max_iter=5000)
    from_state, _ = solve_by_splitting(core_of(X, y, kernel, solver), near, y, start=state)
    from_scratch, _ = solve_by_splitting(core_of(X, y, kernel, solver), near, y)
    assert from_state.objective == pytest.approx(from_scratch.objective, rel=2e-6)


def plain_peers():
    X, y, _ = problem_for("hinge", n=200)
    numbers = problem_for("huber", n=200)[1]
    rbf = {"kernel": "rbf", "gamma": 0.2}
    yield "SVC", Hinge(), rbf, SVC(C=1.0, gamma=0.2, tol=1e-8), X, y
    yield "logistic", LogLoss(), {"kernel": "linear"}, LogisticRegression(C=1.0, tol=1e-10), X, y
    yield "SVR", "epsilon_insensitive", rbf, SVR(C=1.0, gamma=0.2, tol=1e-8), X, numbers
    no_intercept = {"kernel": "linear", "fit_intercept": False}
    svm = LinearSVC(C=0.5, fit_intercept=False, loss="squared_hinge", tol=1e-10, max_iter=10**6)
    yield "LinearSVC", "squared_hinge", no_intercept | {"alpha": 1.0}, svm, X, y


@pytest.mark.parametrize("peer", list(plain_peers()), ids=lambda peer: peer[0])
def test_without_the_constraint_it_is_the_model_of_scikit_learn(peer):
    _, loss, params, plain, X, y = peer
    params = {"alpha": 0.5, "epsilon": None, "tol": 1e-10} | params
    classifies = hasattr(plain, "classes_") or set(np.unique(y)) == {-1.0, 1.0}
    model = (FairClassifier if classifies else FairRegressor)(loss, **params).fit(X, y)
    plain.fit(X, y)
    expected = plain.decision_function(X) if classifies else plain.predict(X)
    np.testing.assert_allclose(values(model, X), expected, atol=2e-4)


def test_quantile_leaves_its_share_below():
    X, y, _ = problem_for("quantile", n=400)
    for level in (0.1, 0.5, 0.9):
        model = FairRegressor(Quantile(level), kernel="linear", epsilon=None).fit(X, y)
        assert np.mean(y <= model.predict(X)) == pytest.approx(level, abs=0.03)
    sklearn = QuantileRegressor(quantile=0.9, alpha=0.0).fit(X, y).predict(X)
    near = FairRegressor(Quantile(0.9), kernel="linear", epsilon=None, alpha=1e-4).fit(X, y)
    assert np.mean(np.abs(near.predict(X) - sklearn)) < 0.02 * np.std(y)


def test_huber_resists_outliers_and_stays_fair():
    X, y, s = problem_for("huber", n=300, n_groups=2)
    spoiled = y.copy()
    spoiled[:15] += 100.0
    params = {"kernel": "linear", "y_bins": 1}
    clean = FairRegressor(**params).fit(X, y, sensitive_features=s)
    errors = {}
    for loss in ("squared", "huber"):
        model = FairRegressor(loss, **params).fit(X, spoiled, sensitive_features=s)
        errors[loss] = np.abs(model.predict(X) - clean.predict(X)).mean()
        assert model.violation_ < 1e-9
    assert errors["huber"] < errors["squared"] / 5
    free = HuberRegressor(alpha=1e-8, epsilon=1.35).fit(X, spoiled).predict(X)
    ours = FairRegressor(Huber(1.35), kernel="linear", epsilon=None, alpha=1e-6).fit(X, spoiled)
    assert np.corrcoef(free, ours.predict(X))[0, 1] > 0.999


def test_multipliers_are_the_slope_of_the_objective():
    # In the offset o of the contrasts: d objective / d o = −multipliers.
    X, y, s = problem_for("huber", n=100, n_groups=2)
    for loss in ("squared", "huber"):
        params = {"kernel": "linear", "y_bins": 2, "match": "residual", "tol": 1e-12}
        model = FairRegressor(loss, **params).fit(X, y, sensitive_features=s)
        for column in range(model.contrasts_.n_contrasts):
            h, objectives = 1e-4, []
            for sign in (1, -1):
                moved = model.contrasts_.offset.copy()
                moved[column] += sign * h
                objectives.append(objective_with_offset(loss, X, y, s, model, moved))
            slope = (objectives[0] - objectives[1]) / (2 * h)
            assert slope == pytest.approx(-model.multipliers_[column], rel=1e-4, abs=1e-6)


def objective_with_offset(loss, X, y, s, model, offset):
    contrasts = compared_by(model, y, s).with_offset(offset)
    system = by_cholesky(linear_system(X, y, contrasts.columns), 1.0)
    settings_ = Settings(LOSSES[loss], model.alpha, 0.0, tol=1e-12, max_iter=20000)
    return solve_by_splitting(FairRidge(system, contrasts, 0.0), settings_, y)[0].objective


@given(
    st.lists(st.floats(-1, 1), min_size=2, max_size=30),
    st.floats(0.01, 0.99),
    st.integers(0, 2**31),
)
def test_balanced_slopes_stay_in_their_bounds_and_sum_to_zero(g, level, seed):
    g, rng = np.array(g), np.random.default_rng(seed)
    low, high = np.full(g.size, -level), np.full(g.size, 1 - level)
    weight = rng.uniform(0.1, 3.0, g.size)
    out = balance(np.clip(g, low, high), low, high, weight)
    assert (low <= out).all()
    assert (out <= high).all()
    assert abs(weight @ out) <= 1e-9


@every_loss
@pytest.mark.parametrize("kernel", ["split", "rbf"])
def test_the_certificate_is_never_below_the_true_distance(loss, kernel):
    # Stopped early, the reported gap still bounds how far the objective is from the optimum.
    X, y, _ = problem_for(loss, n=100)
    best = Settings(LOSSES[loss], 0.5, None, tol=1e-10, max_iter=20000)
    optimum = solve_by_splitting(core_of(X, y, kernel), best, y)[0].objective
    for max_iter in (1, 3, 10, 30):
        settings_ = Settings(LOSSES[loss], 0.5, None, tol=1e-12, max_iter=max_iter)
        early = solve_by_splitting(core_of(X, y, kernel), settings_, y)[0]
        assert early.objective - early.duality_gap <= optimum * (1 + 1e-9)
        assert early.objective >= optimum * (1 - 1e-9)


@pytest.mark.parametrize("solver", ["auto", "cholesky"])
def test_running_out_of_iterations_is_said_with_the_gap_and_a_remedy(solver):
    X, y, s = problem_for("hinge", n=200, n_groups=2)
    model = FairClassifier(kernel="linear", alpha=1e-3, max_iter=7, solver=solver)
    with pytest.warns(ConvergenceWarning, match=r"gap is .*max_iter=7.*larger max_iter"):
        model.fit(X, y, sensitive_features=s)
    assert model.n_iter_ == 7
    assert model.duality_gap_ > model.tol
    assert model.violation_ < 1e-9  # fair all the same


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_perfect_fit_has_no_gap(kernel):
    X, y, s = problem_for("epsilon_insensitive", n=100, n_groups=2)
    wide = EpsilonInsensitive(2.0 * np.ptp(y))  # any constant within the tube costs nothing
    model = FairRegressor(wide, kernel=kernel, epsilon=None).fit(X, y, sensitive_features=s)
    assert model.duality_gap_ <= model.tol
    assert model.objective_ <= 1e-9
    assert model.n_iter_ < 1000


def test_every_class_finds_its_own_stiffness():
    # One class's rho, handed on to the next, once kept this from converging.
    X, _, s = problem_for("hinge", n=120, n_groups=2)
    y = np.digitize(X[:, 0], [-0.5, 0.7])
    model = FairClassifier(alpha=100.0, solver="cholesky", y_bins=1, epsilon=0.001)
    model.fit(X, y, sensitive_features=s)
    assert model.duality_gap_ <= model.tol
    assert model.n_iter_ < 1000


def test_a_model_that_breaks_the_constraint_has_no_certificate():
    X, y, s = problem_for("hinge", n=100, n_groups=2)
    contrasts = compared_by(FairClassifier().fit(X, y, sensitive_features=s), y, s)
    core = FairRidge(by_cholesky(linear_system(X, y, contrasts.columns), 1.0), contrasts, 0.0)
    settings_ = Settings(Hinge(), 0.5, 0.0, tol=1e-6, max_iter=1)
    fair = core.fit(y)
    slopes = -0.5 * y
    assert np.isfinite(certify_fit(core, settings_, y, fair, slopes, 1.0).duality_gap)
    unfair = replace(fair, x=fair.x + core.system.probe[:, 0])
    assert np.isinf(certify_fit(core, settings_, y, unfair, slopes, 1.0).duality_gap)


def test_an_inactive_constraint_is_said():
    X, y, s = problem_for("log_loss", n=100, n_groups=2)
    with pytest.warns(InactiveConstraintWarning, match="epsilon=100"):
        FairClassifier("log_loss", epsilon=100.0).fit(X, y, sensitive_features=s)
