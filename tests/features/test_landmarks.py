"""Landmarks: points that stand for all rows."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from gferm.features.kernel import Kernel
from gferm.features.landmarks import Landmarks, draw_rows, find_landmarks, leverages

N, D = 90, 3
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D))
RBF = Kernel("rbf", gamma=0.3)
KERNELS = {
    "rbf": RBF,
    "laplacian": Kernel("laplacian", gamma=0.3),
    "poly": Kernel("poly", gamma=0.5, degree=2),
    "cosine": Kernel("cosine"),
    "callable": Kernel(lambda a, b: float(np.exp(-np.abs(a - b).sum()))),
}
WAYS = ["uniform", "leverage", "kmeans"]


def find(way, n=10, rows=X, kernel=RBF, seed=0, alpha=1.0):
    return find_landmarks(rows, n, way, kernel, seed, alpha)


def by_scikit_learn(kernel, rows, points):
    if callable(kernel.metric):
        return np.array([[kernel.metric(a, b) for b in points] for a in rows])
    given = {"gamma": kernel.gamma, "degree": kernel.degree, "coef0": kernel.coef0}
    return pairwise_kernels(rows, points, kernel.metric, filter_params=True, **given)


@pytest.mark.parametrize("way", WAYS)
def test_the_same_random_state_gives_the_same_points_and_another_one_others(way):
    np.testing.assert_array_equal(find(way), find(way))
    assert find(way).shape == (10, D)
    assert not np.array_equal(find(way, seed=1), find(way))
    state = np.random.RandomState(0)
    first, second = find(way, seed=state), find(way, seed=state)
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("way", ["uniform", "leverage"])
def test_points_are_different_rows_in_their_order(way):
    places = [np.flatnonzero((point == X).all(axis=1)).item() for point in find(way, 30)]
    assert places == sorted(set(places))


def test_uniform_points_are_the_rows_that_are_drawn():
    np.testing.assert_array_equal(find("uniform", seed=3), X[draw_rows(N, 10, 3)])


def test_centres_of_clusters_are_the_means_of_clumps():
    clumps = np.repeat([[0.0, 0, 0], [10, 0, 0], [0, 10, 0]], 30, axis=0) + 0.1 * X
    centres = find("kmeans", 3, clumps)
    means = clumps.reshape(3, 30, D).mean(axis=1)
    distances = np.linalg.norm(centres[:, None] - means, axis=2)
    assert (distances.min(axis=0) < 0.1).all()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rows", [np.ones((40, 2)), np.repeat(X[:5], 8, axis=0)])
def test_rows_that_are_alike_give_points_all_the_same(way, rows):
    points = find(way, 12, rows)
    assert points.shape == (12, rows.shape[1])
    assert np.isfinite(Landmarks.at(points, RBF).basis).all()


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("alpha", [1e-3, 10.0])
def test_leverages_with_every_row_a_pilot_are_what_the_ridge_leaves(name, alpha):
    kernel = KERNELS[name]
    K = by_scikit_learn(kernel, X, X)
    left = np.diag(K) - np.diag(K @ np.linalg.solve(K + alpha * np.eye(N), K))
    found = leverages(X, kernel, np.random.default_rng(0), alpha)
    np.testing.assert_allclose(found, left / left.sum(), rtol=1e-3, atol=1e-6)


def test_a_row_far_from_the_others_has_the_largest_leverage():
    crowd = np.vstack([0.05 * X, [[9.0, 9.0, 9.0]]])
    shares = leverages(crowd, RBF, np.random.default_rng(0), 1.0)
    assert shares.argmax() == N
    assert shares[N] > 5 * shares[:N].max()
    drawn = [crowd[-1] in find("leverage", 5, crowd, seed=seed) for seed in range(20)]
    assert sum(drawn) > 10


@pytest.mark.parametrize("way", WAYS)
def test_more_points_than_rows_is_an_error_that_names_the_rows(way):
    with pytest.raises(ValueError, match="n_landmarks=91 is more than the 90 rows"):
        find(way, N + 1)


BAD = {
    "Input landmarks contains NaN": np.full((3, D), np.nan),
    "landmarks has 2 columns, but X has 3 features": X[:5, :2],
    "n_landmarks=10, but 5 landmarks are given": X[:5],
    "could not convert string to float": [["a", "b", "c"]],
    "Expected 2D array": X[0],
}


@pytest.mark.parametrize("message", BAD)
def test_points_that_cannot_be_are_refused(message):
    with pytest.raises(ValueError, match=message):
        find(BAD[message])


def test_clusters_of_sparse_rows_are_refused():
    with pytest.raises(ValueError, match="dense centres of sparse rows"):
        find("kmeans", rows=sparse.csr_array(X))


def test_sparse_points_for_a_kernel_of_dense_rows_are_refused():
    with pytest.raises(TypeError, match="Sparse data was passed for landmarks"):
        find_landmarks(np.abs(X), None, sparse.csr_array(np.abs(X)), Kernel("chi2"), 0, 1.0)


@pytest.mark.parametrize("way", ["uniform", "leverage"])
def test_a_kernel_that_is_not_semidefinite_is_refused(way):
    kernel = Kernel("sigmoid", gamma=2.0, coef0=-3.0)
    with pytest.raises(ValueError, match="not positive semi-definite"):
        Landmarks.at(find(way, kernel=kernel), kernel)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("way", ["uniform", "leverage"])
def test_a_kernel_that_overflows_is_refused(way):
    kernel = Kernel("poly", degree=9)
    with pytest.raises(ValueError, match="not finite on these data"):
        Landmarks.at(find(way, rows=1e40 * X, kernel=kernel), kernel)


def test_the_points_are_kept_from_later_changes():
    mine = X[:5].copy()
    points = find_landmarks(X, None, mine, RBF, 0, 1.0)
    mine[:] = 0.0
    np.testing.assert_array_equal(points, X[:5])
