"""Which solver runs is decided in one place, and the estimator obeys."""

import numpy as np
import pytest

from gferm import FairClassifier, FairRegressor
from gferm.exceptions import UnreachableEpsilonError
from gferm.losses import Huber
from gferm.solver import SolverChoice, choose_solver
from tests.problems import make_problem


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"kernel": "rbf"}, SolverChoice("projection", "kernel", "cholesky")),
        ({"kernel": "linear"}, SolverChoice("projection", "linear", "cholesky")),
        ({"kernel": "linear", "n_features": 200}, SolverChoice("projection", "kernel", "cholesky")),
        ({"kernel": "rbf", "alpha": 0.0}, SolverChoice("projection", "kernel", "spectrum")),
        ({"kernel": "rbf", "solver": "spectrum"}, SolverChoice("projection", "kernel", "spectrum")),
        (
            {"kernel": "linear", "alpha": 0.0, "solver": "cholesky"},
            SolverChoice("projection", "linear", "cholesky"),
        ),
        ({"kernel": np.dot}, SolverChoice("projection", "kernel", "cholesky")),
        ({"kernel": "rbf", "loss": "huber"}, SolverChoice("splitting", "kernel", "cholesky")),
        ({"kernel": "rbf", "loss": Huber(2.0)}, SolverChoice("splitting", "kernel", "cholesky")),
        (
            {"kernel": "linear", "loss": "log_loss", "solver": "spectrum"},
            SolverChoice("splitting", "linear", "spectrum"),
        ),
        ({"kernel": "rbf", "loss": "hinge"}, SolverChoice("libsvm", "kernel", None)),
        (
            {"kernel": "rbf", "loss": "hinge", "epsilon": None},
            SolverChoice("libsvm", "kernel", None),
        ),
        (
            {"kernel": "rbf", "loss": "hinge", "solver": "cholesky"},
            SolverChoice("splitting", "kernel", "cholesky"),
        ),
        (
            {"kernel": "rbf", "loss": "hinge", "epsilon": 0.1},
            SolverChoice("splitting", "kernel", "cholesky"),
        ),
        (
            {"kernel": "rbf", "loss": "hinge", "fit_intercept": False},
            SolverChoice("splitting", "kernel", "cholesky"),
        ),
        (
            {"kernel": "rbf", "loss": "hinge", "match": "residual"},
            SolverChoice("splitting", "kernel", "cholesky"),
        ),
        ({"kernel": "linear", "loss": "hinge"}, SolverChoice("newton", "linear", "cholesky")),
        (
            {"kernel": "linear", "loss": "hinge", "n_features": 1001, "n_samples": 5000},
            SolverChoice("splitting", "linear", "cholesky"),
        ),
        (
            {"kernel": "linear", "loss": "quantile", "solver": "cholesky"},
            SolverChoice("splitting", "linear", "cholesky"),
        ),
        ({"kernel": "linear", "loss": "huber"}, SolverChoice("splitting", "linear", "cholesky")),
        (
            {"kernel": "linear", "loss": "hinge", "solver": "libsvm"},
            SolverChoice("libsvm", "kernel", None),
        ),
    ],
)
def test_the_choice(arguments, expected):
    assert (
        choose_solver(**({"n_samples": 100, "n_features": 5, "alpha": 1.0} | arguments)) == expected
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"loss": "log_loss"}, "it needs loss='hinge'"),
        ({"loss": "hinge", "epsilon": 0.1}, "epsilon=0.1; it needs epsilon=0"),
        ({"loss": "hinge", "match": "residual"}, "it needs match='prediction'"),
        ({"loss": "hinge", "fit_intercept": False}, "fit_intercept=False"),
    ],
)
def test_libsvm_refuses_what_it_cannot_do(arguments, message):
    with pytest.raises(ValueError, match=f"solver='libsvm' cannot solve .*{message}"):
        choose_solver(
            kernel="rbf", n_samples=9, n_features=2, alpha=1.0, solver="libsvm", **arguments
        )


def test_an_unknown_solver_is_named():
    with pytest.raises(ValueError, match="solver='newton' is not one of"):
        choose_solver(kernel="rbf", n_samples=9, n_features=2, alpha=1.0, solver="newton")


@pytest.mark.parametrize(
    ("kernel", "scale"),
    [({"kernel": "poly", "degree": 3}, 1e2), ({"kernel": "poly", "degree": 2}, 1e3)],
)
def test_libsvm_is_believed_only_as_far_as_the_kernel_that_predicts(kernel, scale):
    # One column out of scale: projecting the kernel costs the digits that fairness lives on.
    problem = make_problem(n=300, d=8, n_groups=2)
    X = problem.X.copy()
    X[:, 0] = scale * np.exp(np.random.default_rng(0).normal(size=300))
    model = FairClassifier("hinge", **kernel)
    with pytest.raises(UnreachableEpsilonError, match=r"badly conditioned\. Scale X"):
        model.fit(X, problem.y > np.median(problem.y), sensitive_features=problem.s)


def test_only_the_square_loss_does_without_regularisation():
    with pytest.raises(ValueError, match="alpha=0 is possible with loss='squared' only"):
        choose_solver(kernel="rbf", n_samples=9, n_features=2, alpha=0.0, loss="hinge")


@pytest.mark.parametrize("epsilon", [0.0, None])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_libsvm_and_splitting_find_the_same_machine(kernel, epsilon):
    problem = make_problem(n=120, n_groups=2)
    y = np.where(problem.y > np.median(problem.y), "high", "low")
    models = [
        FairClassifier(kernel=kernel, solver=solver, epsilon=epsilon, tol=1e-9).fit(
            problem.X, y, sensitive_features=problem.s
        )
        for solver in ("libsvm", "cholesky", "spectrum")
    ]
    assert [model.solver_.method for model in models] == ["libsvm", "splitting", "splitting"]
    for model in models[1:]:
        assert model.objective_ == pytest.approx(models[0].objective_, rel=1e-8)
        np.testing.assert_allclose(
            model.decision_function(problem.X), models[0].decision_function(problem.X), atol=1e-3
        )
        np.testing.assert_allclose(model.multipliers_, models[0].multipliers_, atol=1e-2)


@pytest.mark.parametrize("solver", ["cholesky", "spectrum"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_estimator_runs_what_the_choice_says_and_both_agree(kernel, solver):
    problem = make_problem(n=80)
    model = FairRegressor(kernel=kernel, y_bins=3, epsilon=0.05, solver=solver)
    model.fit(problem.X, problem.y, sensitive_features=problem.s)
    n, d = problem.X.shape
    assert model.solver_ == choose_solver(
        kernel=kernel, n_samples=n, n_features=d, alpha=1.0, solver=solver
    )
    auto = FairRegressor(kernel=kernel, y_bins=3, epsilon=0.05)
    auto.fit(problem.X, problem.y, sensitive_features=problem.s)
    np.testing.assert_allclose(model.predict(problem.X), auto.predict(problem.X), atol=1e-9)
