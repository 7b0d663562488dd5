"""The fair kernel: no contrast sees it, it is a kernel, and its functions are the original's."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from gferm.features.fair_kernel import FairKernel, project_kernel

KERNELS = {
    "rbf": {"metric": "rbf", "gamma": 0.2},
    "smooth rbf": {"metric": "rbf", "gamma": 1e-3},
    "polynomial": {"metric": "polynomial", "degree": 3, "gamma": 1.0},
    "laplacian": {"metric": "laplacian", "gamma": 0.2},
    "linear": {"metric": "linear"},
}


def neighbours(label, s):
    """Contrasts of neighbouring populated groups, bin by bin."""
    columns = []
    for k in np.unique(label):
        groups = [q for q in np.unique(s) if ((label == k) & (s == q)).any()]
        for p, q in pairwise(groups):
            first, second = (label == k) & (s == p), (label == k) & (s == q)
            columns.append(first / first.sum() - second / second.sum())
    return sparse.csr_array(np.array(columns).T)


def rows(shift=1.0, n=120, d=3, n_groups=3, n_bins=4, seed=0):
    """The same people in every group, ``shift`` apart, and contrasts between the groups."""
    base = np.random.default_rng(seed).standard_normal((n // n_groups, d))
    X = np.concatenate([base + shift * q for q in range(n_groups)])
    place = np.argsort(np.argsort(base[:, 0])) * n_bins // len(base)
    return X, neighbours(np.tile(place, n_groups), np.repeat(np.arange(n_groups), len(base)))


def kernel_between(Z, X, name):
    return np.ascontiguousarray(pairwise_kernels(Z, X, **KERNELS[name]))


@pytest.fixture(params=KERNELS)
def kernel(request):
    return request.param


@pytest.mark.parametrize("shift", [1.0, 1e-3, 1e-5, 1e-6, 1e-7, 1e-8, 0.0])
@pytest.mark.parametrize(("d", "n_bins"), [(3, 4), (1, 10), (2, 30)])
def test_no_contrast_sees_it_and_it_is_a_kernel_however_close_the_groups(kernel, shift, d, n_bins):
    X, C = rows(shift, d=d, n_bins=n_bins)
    K = kernel_between(X, X, kernel)
    K_fair, again = K.copy(), K.copy()
    fair = project_kernel(K_fair, C)
    size = np.abs(K).max()
    np.testing.assert_array_equal(K_fair, K_fair.T)
    assert np.abs(C.T @ K_fair).max() <= 1e-12 * size
    assert np.linalg.eigvalsh(K_fair)[0] >= -1e-13 * np.linalg.norm(K, 2)
    fair.project_rows(again)
    # A contrast below √eps cannot be told from rounding by the entries of K.
    assert np.abs(C.T @ again).max() <= (1e-12 if kernel == "laplacian" else 3e-8) * size
    np.testing.assert_allclose(again, K_fair, atol=1e-7 * size)


def test_it_is_the_formula(kernel):
    X, C = rows(n_bins=2)
    Z = np.random.default_rng(1).standard_normal((7, 3))
    K, K_new = kernel_between(X, X, kernel), kernel_between(Z, X, kernel)
    inverse = np.linalg.pinv(C.T @ K @ C, rcond=1e-11, hermitian=True)
    fair = FairKernel.of(K, C)
    diagonal = fair.diagonal(kernel_between(Z, Z, kernel).diagonal(), K_new)
    expected = kernel_between(Z, Z, kernel) - K_new @ C @ inverse @ C.T @ K_new.T
    tight = {"rtol": 1e-6, "atol": 1e-7 * np.abs(K).max()}
    np.testing.assert_allclose(diagonal, expected.diagonal(), **tight)
    expected_rows = K_new - K_new @ C @ inverse @ C.T @ K
    fair.project_rows(K_new)
    np.testing.assert_allclose(K_new, expected_rows, **tight)
    expected_matrix = K - K @ C @ inverse @ C.T @ K
    fair.project_training(K)
    np.testing.assert_allclose(K, expected_matrix, **tight)


def test_the_linear_kernel_is_that_of_projected_rows():
    X, C = rows()
    K_fair = kernel_between(X, X, "linear")
    project_kernel(K_fair, C)
    left, values, _ = np.linalg.svd(X.T @ C, full_matrices=False)
    Q = left[:, values > 1e-10]
    np.testing.assert_allclose(K_fair, (X - X @ Q @ Q.T) @ X.T, atol=1e-12)


@pytest.mark.parametrize("models", [(), (4,)])
def test_its_functions_are_functions_of_the_original_kernel(kernel, models):
    X, C = rows()
    Z = np.random.default_rng(1).standard_normal((7, 3))
    K, K_new = kernel_between(X, X, kernel), kernel_between(Z, X, kernel)
    fair = FairKernel.of(K, C)
    beta = np.random.default_rng(2).standard_normal((*models, len(X)))
    alpha, mu = fair.to_original(beta), fair.multipliers(beta)
    np.testing.assert_allclose(alpha, beta - mu @ C.T.toarray(), rtol=1e-12, atol=1e-12)
    expected = alpha @ K_new.T
    fair.project_rows(K_new)
    np.testing.assert_allclose(
        beta @ K_new.T, expected, rtol=1e-7, atol=1e-7 * np.abs(K).max() * len(X)
    )


def test_projecting_twice_changes_nothing(kernel):
    X, C = rows()
    K = kernel_between(X, X, kernel)
    once = K.copy()
    project_kernel(once, C)
    twice = once.copy()
    project_kernel(twice, C)
    np.testing.assert_allclose(twice, once, atol=1e-12 * np.abs(K).max())


def test_groups_that_are_identical_leave_the_kernel_alone(kernel):
    X, C = rows(shift=0.0)
    K = kernel_between(X, X, kernel)
    K = (K + K.T) / 2
    K_fair = K.copy()
    fair = project_kernel(K_fair, C)
    np.testing.assert_array_equal(K_fair, K)
    beta = np.ones(len(K))
    np.testing.assert_array_equal(fair.to_original(beta), beta)


@pytest.mark.parametrize("repeat", ["columns", "sums"])
def test_dependent_contrasts_change_nothing(kernel, repeat):
    X, C = rows()
    more = C if repeat == "columns" else 100.0 * C @ np.ones((C.shape[1], 1))
    one, two = (kernel_between(X, X, kernel) for _ in range(2))
    project_kernel(one, C)
    project_kernel(two, sparse.csr_array(sparse.hstack([C, sparse.csr_array(more)])))
    np.testing.assert_allclose(one, two, atol=1e-8 * np.abs(one).max() + 1e-9)


@pytest.mark.parametrize("name", ["laplacian", "rbf", "linear"])
def test_as_many_contrasts_as_rows_but_one_leave_constants(name):
    X = np.random.default_rng(0).standard_normal((40, 3))
    C = sparse.csr_array(np.eye(40)[:, :-1] - np.eye(40)[:, 1:])
    K_fair = kernel_between(X, X, name)
    fair = project_kernel(K_fair, C)
    assert fair.root.shape[1] == (3 if name == "linear" else 39)
    np.testing.assert_allclose(K_fair, K_fair[0, 0], atol=1e-12)


def test_the_scale_of_a_contrast_or_of_other_rows_does_not_matter():
    X, C = rows()
    K = kernel_between(X, X, "rbf")
    expected, scaled = K.copy(), K.copy()
    project_kernel(expected, C)
    project_kernel(scaled, C @ sparse.diags_array(10.0 ** np.linspace(-9, 9, C.shape[1])))
    np.testing.assert_allclose(scaled, expected, atol=1e-12)
    far = np.zeros((len(K) + 1, len(K) + 1))  # one more row, compared with nobody and huge
    far[:-1, :-1], far[-1, -1] = K, 1e20
    project_kernel(far, sparse.csr_array(sparse.vstack([C, sparse.csr_array((1, C.shape[1]))])))
    np.testing.assert_allclose(far[:-1, :-1], expected, atol=1e-12)


def test_it_works_in_the_memory_of_the_matrix():
    X, C = rows()
    K = kernel_between(X, X, "rbf")
    before = K.copy()
    FairKernel.of(K, C)
    np.testing.assert_array_equal(K, before)
    view = K[:]
    project_kernel(K, C)
    assert np.abs(view - before).max() > 1e-3
