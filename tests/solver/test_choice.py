"""Which solver runs is decided in one place, and the estimator obeys."""

import numpy as np
import pytest

from gferm import FairRegressor
from gferm.solver import SolverChoice, choose_solver
from tests.problems import make_problem


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"kernel": "rbf"}, SolverChoice("kernel", "cholesky")),
        ({"kernel": "linear"}, SolverChoice("linear", "cholesky")),
        ({"kernel": "linear", "n_features": 200}, SolverChoice("kernel", "cholesky")),
        ({"kernel": "rbf", "alpha": 0.0}, SolverChoice("kernel", "spectrum")),
        ({"kernel": "rbf", "solver": "spectrum"}, SolverChoice("kernel", "spectrum")),
        (
            {"kernel": "linear", "alpha": 0.0, "solver": "cholesky"},
            SolverChoice("linear", "cholesky"),
        ),
        ({"kernel": np.dot}, SolverChoice("kernel", "cholesky")),
    ],
)
def test_the_choice(arguments, expected):
    assert (
        choose_solver(**({"n_samples": 100, "n_features": 5, "alpha": 1.0} | arguments)) == expected
    )


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
