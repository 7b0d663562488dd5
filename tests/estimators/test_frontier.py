"""The frontier holds every fitted model: each point equals a fit of its own."""

from itertools import pairwise

import numpy as np
import pytest

from gferm import FairRegressor, frontier
from gferm.exceptions import InactiveConstraintWarning, UnreachableEpsilonError
from tests.problems import make_problem

SETTINGS = {
    "two groups": ({"gamma": 0.2, "y_bins": 5}, 2),
    "four groups": ({"gamma": 0.2, "y_bins": 3}, 4),
    "linear": ({"kernel": "linear", "y_bins": 2}, 3),
    "parity": ({"gamma": 0.2, "y_bins": 1}, 4),
    "sum": ({"gamma": 0.2, "y_bins": 3, "epsilon_scale": "sum"}, 3),
    "residual": ({"gamma": 0.2, "y_bins": 3, "match": "residual"}, 3),
    "continuous": ({"gamma": 0.2, "y_bins": 4, "s_bins": "continuous"}, 5),
    "spectrum": ({"gamma": 0.2, "y_bins": 3, "solver": "spectrum"}, 3),
    "more features than rows": ({"kernel": "linear", "y_bins": 2}, 2),
}


def pose(name):
    params, n_groups = SETTINGS[name]
    d = 200 if name == "more features than rows" else 5
    return make_problem(n=140, d=d, n_groups=n_groups), params


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", SETTINGS)
def test_every_point_equals_a_fit_of_its_own(name, weighted):
    problem, params = pose(name)
    weight = np.random.default_rng(5).uniform(0.0, 2.0, problem.y.size) if weighted else None
    data = {"sensitive_features": problem.s, "sample_weight": weight}
    path = frontier(problem.X, problem.y, **data, **params)
    between = (path.epsilons[1:] + path.epsilons[:-1]) / 2
    for epsilon in [0.0, *path.epsilons[1:-1:2], *between[:-1:3]]:
        model = path.at(epsilon)
        alone = FairRegressor(epsilon=epsilon, **params).fit(problem.X, problem.y, **data)
        np.testing.assert_allclose(
            model.predict(problem.X), alone.predict(problem.X), atol=1e-7 * np.ptp(problem.y)
        )
        assert model.violation_ == pytest.approx(epsilon, abs=1e-9)
        assert model.objective_ == pytest.approx(alone.objective_, rel=1e-9)
        assert model.duality_gap_ < 1e-9


@pytest.mark.parametrize("name", SETTINGS)
def test_predicting_with_many_epsilons_equals_one_model_each(name):
    problem, params = pose(name)
    path = frontier(problem.X, problem.y, sensitive_features=problem.s, **params)
    new = problem.X[:20] + 0.1
    epsilons = np.array([0.0, 0.3, 0.7]) * path.epsilons[0]
    expected = [path.at(epsilon).predict(new) for epsilon in epsilons]
    np.testing.assert_allclose(path.predict(new, epsilons), expected, atol=1e-9)
    assert path.predict(new).shape == (len(path), 20)


@pytest.mark.parametrize("name", SETTINGS)
def test_the_price_of_fairness_is_convex_and_monotone(name):
    problem, params = pose(name)
    path = frontier(problem.X, problem.y, sensitive_features=problem.s, **params)
    grid = np.linspace(0, path.epsilons[0], 60)
    price = path.objectives_at(grid)
    scale = np.ptp(price)
    assert (np.diff(price) <= 1e-9 * scale).all()
    assert (np.diff(price, 2) >= -1e-7 * scale).all()
    assert (np.diff(path.epsilons) <= 0).all()
    assert path.epsilons[-1] == 0.0


def test_the_ends_are_the_plain_and_the_fair_model():
    problem, params = pose("four groups")
    path = frontier(problem.X, problem.y, sensitive_features=problem.s, **params)
    plain = FairRegressor(**params, epsilon=None).fit(problem.X, problem.y)
    with pytest.warns(InactiveConstraintWarning):
        above = path.at(2 * path.epsilons[0])
    np.testing.assert_array_equal(  # the plain model's own gap: no warning
        path.at(path.epsilons[0]).predict(problem.X), above.predict(problem.X)
    )
    np.testing.assert_allclose(above.predict(problem.X), plain.predict(problem.X), atol=1e-10)
    assert not above.active_
    assert np.abs(path.gaps[-1]).max() < 1e-9
    np.testing.assert_allclose(np.abs(path.gaps).mean(axis=1), path.epsilons, atol=1e-9)
    residual = problem.y - plain.predict(problem.X)
    assert path.mean_squared_errors[0] == pytest.approx(np.mean(residual**2))


def test_a_frontier_does_not_keep_the_kernel_matrix():
    problem, params = pose("two groups")
    path = frontier(problem.X, problem.y, sensitive_features=problem.s, **params)
    n = problem.y.size
    held = [value for value in vars(path.reduction).values() if isinstance(value, np.ndarray)]
    held += [v for v in vars(path.reduction.system).values() if isinstance(v, np.ndarray)]
    assert held
    assert all(array.size < n * n / 2 for array in held)


def test_what_cannot_be_is_an_error_with_a_remedy():
    problem, params = pose("two groups")
    data = {"sensitive_features": problem.s}
    with pytest.raises(ValueError, match="leave the argument out"):
        frontier(problem.X, problem.y, **data, epsilon=0.1)
    path = frontier(problem.X, problem.y, **data, **params)
    for wrong in (-0.1, np.nan, None, "0.1"):
        with pytest.raises(ValueError, match="epsilon must be a number of 0 or larger"):
            path.at(wrong)
    with pytest.raises(ValueError, match="epsilon must be a number of 0 or larger"):
        path.predict(problem.X, [])
    with pytest.raises(ValueError, match="sensitive_features is missing"):
        frontier(problem.X, problem.y, sensitive_features=None, **params)
    stiff = frontier(
        problem.X[:, :1], problem.y, **data, kernel="linear", y_bins=4, match="residual"
    )
    assert stiff.epsilons[-1] > 0
    with pytest.raises(UnreachableEpsilonError, match="ends at"):
        stiff.at(0.0)


def test_a_frontier_refuses_what_a_fit_refuses():
    problem = make_problem(n=60, d=3, n_groups=3)
    params = {"kernel": "poly", "y_bins": 3}
    data = {"sensitive_features": problem.s}
    X = 100 * problem.X  # beside the entries of this kernel alpha = 1 is next to nothing
    path = frontier(X, problem.y, **data, **params)
    with pytest.raises(UnreachableEpsilonError, match="badly conditioned"):
        path.at(path.epsilons[-1])
    with pytest.raises(UnreachableEpsilonError, match="badly conditioned"):
        FairRegressor(**params).fit(X, problem.y, **data)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("d", "y_bins", "n_groups"), [(3, 4, 3), (2, 3, 4), (4, 1, 6)])
def test_fewer_features_than_contrasts_keep_their_certificate(d, y_bins, n_groups, seed):
    problem = make_problem(n=150, d=d, n_groups=n_groups, seed=seed)
    params = {"kernel": "linear", "y_bins": y_bins}
    path = frontier(problem.X, problem.y, sensitive_features=problem.s, **params)
    for before, after in pairwise(path.epsilons):
        for share in (0.1, 0.5, 0.9):
            assert path.at((1 - share) * before + share * after).duality_gap_ < 1e-9
