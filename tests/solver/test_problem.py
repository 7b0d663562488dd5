"""A learning problem may change its constraint after it was factorised."""

import numpy as np
import pytest

from gferm import FairClassifier, FairRegressor
from gferm.arrays.device import CPU
from gferm.estimators.posing import pose_rows
from gferm.fairness.cells import CellScheme
from gferm.fairness.membership import sort_rows
from gferm.fairness.sensitive import read_sensitive_features
from gferm.features.kernel import Kernel
from gferm.features.space import FunctionSpace
from gferm.losses import LOSSES
from gferm.solver.choice import Settings
from gferm.solver.problem import LearningProblem
from tests.comparing import compare
from tests.problems import make_problem

P = make_problem(n=90, d=6)
WEIGHT = np.random.default_rng(1).uniform(0.3, 2.0, 90)
SPACES = {
    "rbf": {"kernel": "rbf", "gamma": 0.2},
    "linear": {"kernel": "linear"},
    "far linear": {"kernel": "linear"},
    "landmarks": {"kernel": "rbf", "gamma": 0.2, "n_landmarks": 12, "random_state": 0},
    "wide": {"kernel": "linear"},
}
ROWS = {"far linear": P.X + 1e5, "wide": np.random.default_rng(0).normal(size=(90, 200))}


def compared(y_bins, **options):
    columns = read_sensitive_features(P.s, len(P.y))
    scheme = CellScheme.resolve(P.y, columns, y_bins=y_bins, s_bins="auto", intersectional=True)
    return compare(sort_rows(scheme, P.y, columns, options.pop("weight", None)), P.y, **options)


def pose(space, constraint, *, loss="squared", solver="auto", epsilon=0.05, weight=None):
    X = ROWS.get(space, P.X)
    model = FairRegressor(**SPACES[space])
    functions = FunctionSpace.of(model)
    landmarks = functions.find_landmarks(X)
    features = functions.features(X, weight, landmarks=landmarks)
    settings = Settings(LOSSES[loss], 0.5, epsilon, solver, tol=1e-9, max_iter=20_000)
    return LearningProblem(features, [P.y], constraint.constraint, constraint.columns, settings)


def assert_same(found, expected, digits):
    for name in ("coefficients", "intercept", "multipliers", "violation", "objective"):
        value = getattr(expected, name)
        size = max(float(np.abs(value).max()), 1e-3)
        np.testing.assert_allclose(getattr(found, name), value, rtol=0, atol=digits * size)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weights"])
@pytest.mark.parametrize("epsilon", [0.0, 0.05, None])
@pytest.mark.parametrize("solver", ["cholesky", "spectrum", "refined"])
@pytest.mark.parametrize("space", SPACES)
def test_another_constraint_is_that_of_a_problem_posed_with_it(space, solver, epsilon, weight):
    first, other = (compared(bins, weight=weight) for bins in (2, 4))
    options = {"solver": solver, "epsilon": epsilon, "weight": weight}
    moved = pose(space, first, **options)
    moved.solve()
    factor = moved.factorized.factorization
    moved = moved.with_constraint(other.constraint, other.columns)
    assert moved.factorized.factorization is factor  # and so no second one
    (found,), (expected,) = moved.solve(), pose(space, other, **options).solve()
    assert_same(found, expected, 1e-7)


@pytest.mark.parametrize("space", SPACES)
def test_the_frontier_of_another_constraint(space):
    first, other = compared(1), compared(3, match="residual")
    traced = pose(space, first)
    traced.trace()
    found = traced.with_constraint(other.constraint, other.columns).trace()
    expected = pose(space, other).trace()
    np.testing.assert_allclose(found.epsilons, expected.epsilons, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(found.multipliers, expected.multipliers, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("loss", ["huber", "absolute"])
@pytest.mark.parametrize("space", ["rbf", "linear"])
def test_iterations_go_on_under_another_constraint(space, loss):
    first, other = compared(2), compared(3)
    options = {"loss": loss, "solver": "cholesky"}
    problem = pose(space, first, **options)
    learner = problem.learner()
    learner.learn([P.y], problem.settings)
    learner.constrain(other.constraint, other.columns)
    (found,) = learner.learn([P.y], problem.settings)
    (expected,) = pose(space, other, **options).solve()
    assert found.objective == pytest.approx(expected.objective, rel=1e-7)
    assert found.violation == pytest.approx(expected.violation, abs=1e-6)


def test_contrasts_that_are_rounding_stay_cleared_after_the_move():
    """Groups that agree exactly in every feature: their noise must not be inverted."""
    s, X = np.repeat([0, 1], 45), np.tile(P.X[:45], (2, 1)) + 1e4
    model = FairRegressor(kernel="linear", y_bins=1, epsilon=0.0)
    posed = pose_rows(model, X, np.tile(P.y[:45], 2), s, None)
    expected = posed.problem.solve()[0]
    moved = posed.problem.with_constraint(posed.problem.constraint, posed.problem.columns)
    assert not moved.factorized.system.probe.any()
    assert_same(moved.solve()[0], expected, 1e-9)


def test_a_fit_is_its_problem_solved():
    for model, y in ((FairRegressor(y_bins=3), P.y), (FairClassifier("squared"), P.s)):
        labels = P.X[:, 1] > 0
        posed = pose_rows(model, P.X, y, labels, WEIGHT)
        fitted = model.fit(P.X, y, sensitive_features=labels, sample_weight=WEIGHT)
        objective = sum(one.objective for one in posed.problem.solve())
        assert objective == pytest.approx(fitted.objective_, rel=1e-12)
        assert posed.problem.choice == fitted.solver_


def test_rows_tell_k_of_x_and_x():
    rows = FunctionSpace(Kernel("polynomial", gamma=0.3)).features(P.X, device=CPU)
    np.testing.assert_allclose(rows.kernel.diagonal(P.X), Kernel("polynomial", 0.3)(P.X).diagonal())
