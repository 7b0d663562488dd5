"""The frontier of sums is the frontier of the rows, and each point a fit of its own."""

import numpy as np
import pytest
from sklearn.base import clone

from gferm import Bins, FairRegressor, Frontier, frontier
from gferm.exceptions import NothingToCompareError
from tests.problems import make_problem

PROBLEM = make_problem(n=150, d=6, n_groups=3)
X, Y, S = PROBLEM.X, PROBLEM.y, PROBLEM.s
N = Y.size
WEIGHT = np.random.default_rng(1).integers(0, 3, N).astype(float)
EDGES = [-np.inf, float(np.median(Y)), np.inf]
SETTINGS = {
    "linear": {"kernel": "linear", "y_bins": EDGES},
    "parity": {"kernel": "linear", "y_bins": 1},
    "landmarks": {"gamma": 0.2, "landmarks": X[:25], "y_bins": EDGES},
    "sum": {"kernel": "linear", "y_bins": EDGES, "epsilon_scale": "sum"},
    "residual": {"kernel": "linear", "y_bins": EDGES, "match": "residual"},
    "no intercept": {"kernel": "linear", "y_bins": EDGES, "fit_intercept": False},
    "few rows": {"kernel": "linear", "y_bins": EDGES, "min_cell_size": 12},
    "spectrum": {"kernel": "linear", "y_bins": EDGES, "solver": "spectrum"},
    "continuous": {"kernel": "linear", "y_bins": EDGES, "s_bins": "continuous"},
}


def learn(weight=None, s=S, **params):
    model = FairRegressor(**{"epsilon": None, "s_bins": Bins.categories([0, 1, 2]), **params})
    for rows in np.array_split(np.arange(N), 4):
        share = None if weight is None else weight[rows]
        given = {"sensitive_features": None if s is None else s[rows], "sample_weight": share}
        model.partial_fit(X[rows], Y[rows], **given)
    return model


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weights"])
@pytest.mark.parametrize("name", SETTINGS)
def test_sums_have_the_frontier_of_their_rows(name, weight):
    params = SETTINGS[name]
    path = Frontier.of(learn(weight, **params))
    given = {"sensitive_features": S, "sample_weight": weight}
    expected = frontier(X, Y, **given, **params)
    assert len(path) == len(expected) > 2
    scale = expected.epsilons[0]
    np.testing.assert_allclose(path.epsilons, expected.epsilons, atol=1e-9 * scale)
    for figure in ("mean_squared_errors", "objectives"):
        np.testing.assert_allclose(getattr(path, figure), getattr(expected, figure), rtol=1e-9)
    np.testing.assert_allclose(path.gaps, expected.gaps, atol=1e-9 * scale)
    epsilons = np.array([0.0, 0.3, 0.7]) * scale
    np.testing.assert_allclose(
        path.predict(X, epsilons), expected.predict(X, epsilons), atol=1e-8 * np.ptp(Y)
    )
    for epsilon in epsilons:
        model, alone = path.at(epsilon), FairRegressor(epsilon=epsilon, **params).fit(X, Y, **given)
        np.testing.assert_allclose(model.predict(X), alone.predict(X), atol=1e-7 * np.ptp(Y))
        assert model.violation_ == pytest.approx(epsilon, abs=1e-9)
        assert model.duality_gap_ < 1e-9


def test_the_error_is_that_of_the_rows():
    path = Frontier.of(learn(WEIGHT, **SETTINGS["linear"]))
    squares = (path.predict(X) - Y) ** 2
    expected = np.average(squares, axis=1, weights=WEIGHT)
    np.testing.assert_allclose(path.mean_squared_errors, expected, rtol=1e-9)


def test_a_model_may_go_on_learning_and_its_frontier_stays():
    model = learn(**SETTINGS["linear"])
    path = Frontier.of(model)
    before = path.at(0.1).predict(X)
    model.partial_fit(2 * X, Y, sensitive_features=S).set_params(alpha=100.0)
    np.testing.assert_array_equal(path.at(0.1).predict(X), before)
    assert path.at(0.1).alpha == 1.0
    assert Frontier.of(model).epsilons[0] != pytest.approx(path.epsilons[0], rel=1e-3)


def test_the_models_epsilon_does_not_matter():
    plain, fair = (learn(**{**SETTINGS["linear"], "epsilon": epsilon}) for epsilon in (None, 0.0))
    np.testing.assert_allclose(Frontier.of(plain).epsilons, Frontier.of(fair).epsilons)


def test_what_has_no_frontier():
    with pytest.raises(ValueError, match="sensitive_features is missing"):
        Frontier.of(learn(s=None, **SETTINGS["linear"]))
    fitted = clone(learn(**SETTINGS["linear"])).fit(X, Y, sensitive_features=S)
    with pytest.raises(ValueError, match=r"model=FairRegressor.* keeps no sums"):
        Frontier.of(fitted)
    with pytest.raises(NothingToCompareError):
        Frontier.of(learn(s=np.zeros_like(S), **SETTINGS["linear"]))


@pytest.mark.parametrize(
    "changes",
    [{"fit_intercept": False}, {"gamma": 3.0}, {"y_bins": 2}, {"loss": "absolute"}],
    ids=str,
)
def test_parameters_that_the_sums_do_not_have_are_refused(changes):
    rng = np.random.default_rng(0)
    rows, s = rng.normal(size=(80, 3)), rng.integers(0, 2, 80)
    model = FairRegressor(gamma=0.1, landmarks=rows[:10], y_bins=1)
    model.partial_fit(rows, rows[:, 0] + s, sensitive_features=s)
    model.set_params(**changes)
    with pytest.raises(ValueError, match=r"changed|only the square loss"):
        Frontier.of(model)
