"""Both factorisations solve the same systems, and the matrix survives where it must."""

import numpy as np
import pytest

from gferm.solver.blocked import is_positive_semidefinite
from gferm.solver.factorization import (
    Cholesky,
    NotPositiveDefiniteError,
    Spectrum,
)


def random_psd(p, rank=None, seed=0):
    factor = np.random.default_rng(seed).normal(size=(p, rank or p))
    return np.ascontiguousarray(factor @ factor.T)


@pytest.mark.parametrize("p", [1, 7, 300, 600])  # 256 is the size of a block
def test_cholesky_solves_and_still_multiplies_by_the_matrix(p):
    A = random_psd(p)
    rhs = np.random.default_rng(1).normal(size=(p, 3))
    factor = Cholesky(A.copy(), 0.5)
    expected = np.linalg.solve(A + 0.5 * np.eye(p), rhs)
    np.testing.assert_allclose(factor.solve(rhs), expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(factor.apply(rhs), A @ rhs, rtol=1e-10, atol=1e-9)


def test_cholesky_works_in_the_memory_of_the_matrix():
    A = random_psd(50)
    factor = Cholesky(A, 1.0)
    assert np.shares_memory(A, factor._packed)


@pytest.mark.parametrize("p", [5, 300])
def test_a_failed_cholesky_gives_the_matrix_back(p):
    A = random_psd(p)
    A -= (np.linalg.eigvalsh(A)[0] + 3.0) * np.eye(p)
    kept = A.copy()
    with pytest.raises(NotPositiveDefiniteError):
        Cholesky(A, 1.0)
    np.testing.assert_array_equal(A, kept)


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 1e3])
def test_one_spectrum_serves_every_alpha(alpha):
    A = random_psd(40)
    rhs = np.random.default_rng(1).normal(size=(40, 2))
    spectrum = Spectrum.of(A.copy())
    diagonal = spectrum.shifted(alpha)
    rotated = spectrum.vectors.T @ rhs
    expected = np.linalg.solve(A + alpha * np.eye(40), rhs)
    np.testing.assert_allclose(spectrum.vectors @ diagonal.solve(rotated), expected, rtol=1e-7)
    np.testing.assert_allclose(spectrum.vectors @ diagonal.apply(rotated), A @ rhs, atol=1e-9)


def test_without_regularisation_a_singular_system_gets_its_smallest_solution():
    A = random_psd(30, rank=10)
    rhs = A @ np.random.default_rng(1).normal(size=(30, 2))
    spectrum = Spectrum.of(A.copy())
    x = spectrum.vectors @ spectrum.shifted(0.0).solve(spectrum.vectors.T @ rhs)
    np.testing.assert_allclose(x, np.linalg.pinv(A) @ rhs, atol=1e-9)


@pytest.mark.parametrize(
    ("smallest", "expected"),
    [(1.0, True), (0.0, True), (-1e-14, True), (-1e-6, False), (-1, False)],
)
def test_semidefiniteness_is_judged_beyond_rounding_and_costs_nothing(smallest, expected):
    rng = np.random.default_rng(0)
    U = np.linalg.qr(rng.normal(size=(300, 300)))[0]
    values = np.r_[smallest, np.linspace(0.1, 5, 299)]
    A = (U * values) @ U.T
    A = np.ascontiguousarray((A + A.T) / 2)
    kept = A.copy()
    assert is_positive_semidefinite(A, np.finfo(float).eps) is expected
    np.testing.assert_array_equal(A, kept)
