"""No feasible change of the coefficients lowers the objective: optimality without the solver."""

from itertools import combinations, product

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from gferm import FairRegressor

ALPHA, GAMMA, EPSILON = 0.5, 0.2, 0.1
SIZES = (1e-4, 1e-2, 1.0)


class Statement:
    """The learning problem in coefficients θ: f = Φθ + b, ‖w‖² = θᵀPθ, gaps = Aθ."""

    def __init__(self, kernel, problem, weight):
        X, self.y, self.s = problem.X, problem.y, problem.s
        self.weight = np.ones(len(X)) if weight is None else weight
        self.features = X if kernel == "linear" else rbf_kernel(X, gamma=GAMMA)
        self.penalty = np.eye(X.shape[1]) if kernel == "linear" else self.features
        self.gaps = np.array([self._gaps(column) for column in self.features.T]).T

    def _gaps(self, f):
        labels = np.digitize(self.y, np.linspace(self.y.min(), self.y.max(), 4)[1:-1])
        cells = [[(labels == k) & (self.s == q) for q in (0, 1)] for k in range(3)]
        return [
            np.average(f[a], weights=self.weight[a]) - np.average(f[b], weights=self.weight[b])
            for row in cells
            for a, b in combinations(row, 2)
        ]

    def unfairness(self, theta):
        return np.abs(self.gaps @ theta).mean()

    def objective(self, theta, intercept=None):
        """With the best intercept, or the one given."""
        error = self.y - self.features @ theta
        if intercept is None:
            intercept = np.average(error, weights=self.weight)
        return self.weight @ (error - intercept) ** 2 + ALPHA * theta @ self.penalty @ theta

    def best_with_gaps(self, gaps):
        """Minimise the objective subject to Aθ = gaps, by its optimality conditions."""
        share = self.weight / self.weight.sum()
        centred = self.features - share @ self.features
        hessian = centred.T @ (self.weight[:, None] * centred) + ALPHA * self.penalty
        m = len(self.gaps)
        system = np.block([[hessian, self.gaps.T], [self.gaps, np.zeros((m, m))]])
        return np.linalg.solve(system, np.r_[centred.T @ (self.weight * self.y), gaps])[:-m]

    def feasible_neighbours(self, theta, epsilon):
        """Random steps from a feasible θ towards other feasible points, short and long."""
        rng = np.random.default_rng(0)
        scale = np.abs(theta).mean()
        to_gaps = np.linalg.pinv(self.gaps)
        for size, kind in product(SIZES, 40 * [(1, 0), (0, 1), (1, 1)]):
            free = scale * rng.standard_normal(theta.size)  # a change that leaves the gaps alone …
            free -= to_gaps @ (self.gaps @ free)
            target = rng.laplace(size=len(self.gaps))  # … and one to other gaps of the same size
            target *= epsilon / np.abs(target).mean()
            step = kind[0] * free + kind[1] * (to_gaps @ (target - self.gaps @ theta))
            yield theta + size * step


@pytest.fixture(params=["plain rows", "weighted rows"])
def weight(request, problem):
    return None if request.param == "plain rows" else problem.weight


def fit(kernel, problem, weight, **options):
    model = FairRegressor(kernel=kernel, gamma=GAMMA, y_bins=3, **{"alpha": ALPHA, **options})
    model.fit(problem.X, problem.y, sensitive_features=problem.s, sample_weight=weight)
    return model, model.coef_ if kernel == "linear" else model.dual_coef_


@pytest.mark.parametrize("epsilon", [0.0, EPSILON])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_no_feasible_neighbour_is_better(kernel, epsilon, weight, problem):
    statement = Statement(kernel, problem, weight)
    model, theta = fit(kernel, problem, weight, epsilon=epsilon)
    assert statement.unfairness(theta) == pytest.approx(epsilon, abs=1e-9)
    reached = statement.objective(theta, model.intercept_)
    assert model.objective_ == pytest.approx(reached, rel=1e-9)
    for other in statement.feasible_neighbours(theta, epsilon):
        assert statement.objective(other) >= reached * (1 - 1e-11)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_neighbours_do_beat_a_model_that_is_slightly_off(kernel, problem):
    # so the test above can fail: too much alpha, and the right size of gaps in the wrong places
    statement = Statement(kernel, problem, None)
    _, plain = fit(kernel, problem, None, epsilon=None)
    gaps = statement.gaps @ plain
    for epsilon, theta in (
        (0.0, fit(kernel, problem, None, epsilon=0.0, alpha=1.02 * ALPHA)[1]),
        (EPSILON, fit(kernel, problem, None, epsilon=EPSILON, alpha=1.02 * ALPHA)[1]),
        (EPSILON, statement.best_with_gaps(gaps * EPSILON / np.abs(gaps).mean())),
    ):
        others = [statement.objective(o) for o in statement.feasible_neighbours(theta, epsilon)]
        assert min(others) < statement.objective(theta) * (1 - 1e-8)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_epsilon_zero_solves_the_optimality_conditions(kernel, weight, problem):
    statement = Statement(kernel, problem, weight)
    model, _ = fit(kernel, problem, weight, epsilon=0.0)
    theta = statement.best_with_gaps(np.zeros(len(statement.gaps)))
    f = statement.features @ theta
    intercept = np.average(problem.y - f, weights=weight)
    np.testing.assert_allclose(model.predict(problem.X), f + intercept, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_objective_grows_as_epsilon_falls_and_the_gap_certifies_it(kernel, problem):
    plain, _ = fit(kernel, problem, None, epsilon=None)
    models = [
        fit(kernel, problem, None, epsilon=share * plain.violation_)[0]
        for share in (0.99, 0.75, 0.5, 0.25, 0.0)
    ]
    objectives = [plain.objective_, *(model.objective_ for model in models)]
    assert np.all(np.diff(objectives) > 0)
    assert all(0 <= model.duality_gap_ < 1e-9 for model in [plain, *models])
