"""One decomposition solves for every alpha, and where the matrix is singular."""

import numpy as np
import pytest

from gferm.solver.spectrum import Spectrum


def random_psd(p, rank=None, seed=0):
    factor = np.random.default_rng(seed).normal(size=(p, rank or p))
    return np.ascontiguousarray(factor @ factor.T)


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
