"""Nyström's features carry the geometry of the kernel, and their sums lose no digits."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn.metrics.pairwise import pairwise_kernels

from gferm.arrays.blocks import row_blocks
from gferm.arrays.device import CPU
from gferm.features.kernel import Kernel
from gferm.features.landmarks import Landmarks
from gferm.features.nystroem import (
    FeatureRows,
    KernelRows,
    amplification,
    count_to_solve,
    factorize_points,
)

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


def by_scikit_learn(kernel, rows, points):
    if callable(kernel.metric):
        return np.array([[kernel.metric(a, b) for b in points] for a in rows])
    given = {"gamma": kernel.gamma, "degree": kernel.degree, "coef0": kernel.coef0}
    return pairwise_kernels(rows, points, kernel.metric, filter_params=True, **given)


def phi(landmarks, rows):
    """All features, from those that are summed."""
    return landmarks.finish(landmarks.features(rows)[:].T).T


@pytest.mark.parametrize("name", KERNELS)
def test_features_have_the_inner_products_of_the_kernel(name):
    """On the landmarks exactly; elsewhere those of the Nyström approximation."""
    kernel, points = KERNELS[name], X[:20]
    landmarks = Landmarks.at(points, kernel)
    within = by_scikit_learn(kernel, points, points)
    across = by_scikit_learn(kernel, X, points)
    own = phi(landmarks, points)
    np.testing.assert_allclose(own @ own.T, within, atol=1e-8)
    all_rows = phi(landmarks, X)
    assert all_rows.shape == landmarks.features(X).shape
    nystroem = across @ np.linalg.pinv(within, rcond=1e-13, hermitian=True) @ across.T
    np.testing.assert_allclose(all_rows @ all_rows.T, nystroem, atol=1e-7)
    values = landmarks.values(X)[:]
    np.testing.assert_allclose(values, by_scikit_learn(kernel, X, landmarks.points), atol=1e-12)
    np.testing.assert_allclose(values @ landmarks.basis, all_rows, atol=1e-8)


@pytest.mark.parametrize("times", [1, 2, 5])
def test_points_that_are_there_several_times_are_kept_once(times):
    factor, kept = factorize_points(RBF, np.tile(X[:8], (times, 1)))
    assert sorted(kept % 8) == list(range(8))
    K = by_scikit_learn(RBF, X[kept % 8], X[kept % 8])
    np.testing.assert_allclose(factor @ factor.T, K, atol=1e-14)


@pytest.mark.parametrize(("gamma", "rank"), [(0.0, 1), (1e-300, 1), (1e12, 20)])
def test_a_kernel_of_no_or_infinite_width_keeps_what_it_tells_apart(gamma, rank):
    landmarks = Landmarks.at(X[:20], Kernel("rbf", gamma=gamma))
    assert landmarks.points.shape == (rank, D)
    assert np.isfinite(landmarks.basis).all()


WIDTHS = [3.0, 0.3, 0.03, 0.003]
ROWS = RNG.normal(size=(5000, D))


def sums_by(landmarks):
    psi = landmarks.features(ROWS)[:]
    return landmarks.finish(landmarks.finish(psi.T @ psi).T)


@pytest.mark.parametrize("gamma", WIDTHS)
def test_sums_that_are_finished_have_the_digits_of_sums_of_features(gamma):
    landmarks = Landmarks.at(ROWS[:300], Kernel("rbf", gamma=gamma))
    all_rows = phi(landmarks, ROWS)
    expected = all_rows.T @ all_rows
    off = np.linalg.norm(sums_by(landmarks) - expected, 2)
    assert off < 1e-12 * np.linalg.norm(expected, 2)


def test_sums_of_raw_values_would_lose_them_with_a_wide_kernel():
    """What the test above would see, were no pivot solved for row by row."""
    landmarks = Landmarks.at(ROWS[:300], Kernel("rbf", gamma=0.03))
    all_rows = phi(landmarks, ROWS)
    expected = all_rows.T @ all_rows
    raw = replace(landmarks, solved=0)
    off = np.linalg.norm(sums_by(raw) - expected, 2)
    assert off > 1e-8 * np.linalg.norm(expected, 2)


@pytest.mark.parametrize(("gamma", "least", "most"), [(30.0, 0, 0), (0.3, 1, 299)])
def test_no_more_pivots_are_solved_for_than_digits_ask_for(gamma, least, most):
    factor, _ = factorize_points(Kernel("rbf", gamma=gamma), ROWS[:300])
    assert least <= count_to_solve(factor) <= most


@pytest.mark.parametrize("gamma", WIDTHS)
def test_amplification_is_what_rounding_becomes(gamma):
    """Against the matrix it estimates."""
    factor = factorize_points(Kernel("rbf", gamma=gamma), ROWS[:200])[0]
    tail = factor[20:, 20:]
    d = np.sqrt(((tail @ tail.T) ** 2).sum(axis=1))
    exact = np.linalg.norm(linalg.solve_triangular(tail, np.diag(d), lower=True), 2) ** 2
    assert amplification(tail) == pytest.approx(exact, rel=0.7)


def test_steps_solve_for_many_pivots_as_one_would(monkeypatch):
    landmarks = replace(Landmarks.at(X[:60], RBF), solved=50)
    expected = landmarks.features(X)[:]
    monkeypatch.setattr("gferm.features.nystroem.STEP", 7)
    monkeypatch.setattr("gferm.features.nystroem.ROWS", 600)
    np.testing.assert_allclose(landmarks.features(X)[:], expected, atol=1e-9)
    direct = linalg.solve_triangular(landmarks.factor, landmarks.values(X)[:].T, lower=True).T
    np.testing.assert_allclose(expected[:, :50], direct[:, :50], atol=1e-9)


def test_rows_far_from_the_origin_have_the_features_of_rows_near_it():
    """The same numbers, exactly, so that only rounding inside the kernel can differ."""
    near = (X * 2.0**10).round() / 2.0**10
    far = near + 2.0**24
    inside, outside = (phi(Landmarks.at(rows[:15], RBF), rows) for rows in (near, far))
    np.testing.assert_allclose(outside @ outside.T, inside @ inside.T, atol=1e-9)


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_array])
def test_sparse_rows_and_points_have_the_values_of_dense_ones(container):
    thin = np.where(np.abs(X) > 0.5, X, 0.0)
    expected = Landmarks.at(thin[:10], RBF).values(thin)[:]
    points = sparse.csr_array(thin[:10])
    for found in (
        Landmarks.at(points, RBF).values(container(thin)),
        Landmarks.at(thin[:10], RBF).values(container(thin)),
    ):
        np.testing.assert_allclose(found[:], expected, atol=1e-12)
        np.testing.assert_allclose(found[np.array([3, 1])], expected[[3, 1]], atol=1e-12)


def test_only_the_rows_that_are_asked_for_are_evaluated():
    seen = []

    class Spy(Kernel):
        def fill(self, out, X, Y, product=None):
            seen.append(len(X))
            out[:] = 1.0

    for rows in (
        KernelRows(X, X[:4], Spy("rbf"), CPU),
        FeatureRows(X, X[:4], Spy("rbf"), CPU, np.eye(4), 4),
    ):
        seen.clear()
        assert rows.shape == (N, 4)
        for part in row_blocks(N, 4, 40):
            rows[part]
        assert seen == [10] * 9


@pytest.mark.parametrize(
    "kernel", [Kernel("sigmoid", gamma=1.0, coef0=-1.0), Kernel(lambda a, b: -float(a @ b))]
)
def test_a_kernel_that_is_not_semidefinite_is_refused(kernel):
    with pytest.raises(ValueError, match="not positive semi-definite"):
        Landmarks.at(X[:20], kernel)


@pytest.mark.parametrize("free", [0.9, 1.0])
def test_kernel_values_are_remembered_where_they_take_a_quarter_of_free_memory(free, monkeypatch):
    rows = Landmarks.at(X[:7], RBF).values(X)
    needed = 4 * 8 * N * rows.shape[1]
    monkeypatch.setattr("gferm.arrays.device.NumpyDevice.free_bytes", int(free * needed))
    remembered = rows.remembered()
    assert (remembered is rows) == (free < 1.0)
    np.testing.assert_array_equal(remembered[10:20], rows[10:20])


def test_landmarks_that_the_kernel_maps_to_zero_are_refused():
    with pytest.raises(ValueError, match="is zero between all landmarks"):
        Landmarks.at(np.zeros((3, 2)), Kernel("cosine"))
