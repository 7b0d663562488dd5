"""Cholesky solves and keeps the matrix: by LAPACK, or by blocks, wherever the matrix lives.

The oracle is dense linear algebra by NumPy. Blocks are seven columns wide here.
"""

import numpy as np
import pytest

from gferm.arrays.device import CPU, TorchDevice
from gferm.solver.cholesky import (
    PANELS,
    BlockedCholesky,
    Cholesky,
    NotPositiveDefiniteError,
    cholesky,
    is_positive_semidefinite,
)
from tests.gpu import room, torch_device

WIDTH = 7
SIZES = [1, 6, 7, 8, 14, 20, 50]  # one block, a full one, one more row, several
EPS = float(np.finfo(float).eps)


@pytest.fixture(autouse=True)
def narrow_blocks(monkeypatch):
    monkeypatch.setattr("gferm.solver.cholesky.WIDTH", WIDTH)
    room(monkeypatch, on_gpu=0, in_memory=0)  # blocks that travel are no wider then


def by_numpy():
    return CPU, CPU


def by_torch():
    return torch_device(), torch_device()


def by_torch_out_of_core():
    return CPU, torch_device()


@pytest.fixture(params=[by_numpy, by_torch, by_torch_out_of_core], ids=lambda way: way.__name__)
def places(request):
    """Where the matrix lives, and where it is worked on."""
    return request.param()


def random_psd(n, seed=0):
    factor = np.random.default_rng(seed).normal(size=(n, n))
    return factor @ factor.T + np.eye(n)


def columns(n, k, seed=1):
    return np.random.default_rng(seed).normal(size=(n, k))


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


@pytest.mark.parametrize("k", [0, 1, 5])
@pytest.mark.parametrize("n", SIZES)
def test_it_solves_and_still_multiplies_by_the_matrix(n, k, places):
    home, device = places
    A, rhs = random_psd(n), columns(n, k)
    factor = BlockedCholesky(home.put(A.copy()), 0.5, device)
    expected = np.linalg.solve(A + 0.5 * np.eye(n), rhs)
    np.testing.assert_allclose(factor.solve(rhs), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(factor.apply(rhs), A @ rhs, rtol=1e-12, atol=1e-10)
    assert factor.steps == 1
    assert factor.shrink(rhs) is rhs


@pytest.mark.parametrize("n", SIZES)
def test_the_factor_has_the_place_below_and_the_matrix_that_above(n, places):
    home, device = places
    A = random_psd(n)
    matrix = home.put(A.copy())
    BlockedCholesky(matrix, 0.5, device)
    inside = home.get(matrix)
    expected = np.linalg.cholesky(A + 0.5 * np.eye(n))
    np.testing.assert_allclose(np.tril(inside), expected, atol=1e-12)
    np.testing.assert_array_equal(np.triu(inside, 1), np.triu(A, 1))


@pytest.mark.parametrize("n", SIZES)
def test_another_alpha_takes_the_same_memory(n, places):
    home, device = places
    A, rhs = random_psd(n), columns(n, 3)
    matrix = home.put(A.copy())
    factor = BlockedCholesky(matrix, 100.0, device).shifted(0.25).shifted(2.0)
    assert factor._packed is matrix
    assert factor.alpha == 2.0
    expected = np.linalg.solve(A + 2.0 * np.eye(n), rhs)
    np.testing.assert_allclose(factor.solve(rhs), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(factor.apply(rhs), A @ rhs, atol=1e-10)


@pytest.mark.parametrize("n", SIZES)
def test_restoring_gives_the_matrix_back_bit_for_bit(n, places):
    home, device = places
    A = random_psd(n)
    matrix = home.put(A.copy())
    BlockedCholesky(matrix, 3.0, device).restore()
    np.testing.assert_array_equal(home.get(matrix), A)


@pytest.mark.parametrize("bad", [0, 6, 7, 13, 19])
def test_a_matrix_that_is_not_positive_definite_comes_back_bit_for_bit(bad, places):
    """Wherever it breaks down: in the first block, at an edge, in the last."""
    home, device = places
    A = random_psd(20)
    A[bad, bad] = -5.0
    matrix = home.put(A.copy())
    stop = min((bad // WIDTH + 1) * WIDTH, 20)
    with pytest.raises(NotPositiveDefiniteError, match=f"up to {stop} is not positive"):
        BlockedCholesky(matrix, 1.0, device)
    np.testing.assert_array_equal(home.get(matrix), A)


def test_a_shift_that_breaks_down_can_be_taken_back(places):
    """As splitting does when it has asked for too small an alpha."""
    home, device = places
    A, rhs = random_psd(20) - 3.0 * np.eye(20), columns(20, 2)
    factor = BlockedCholesky(home.put(A.copy()), 50.0, device)
    with pytest.raises(NotPositiveDefiniteError):
        factor.shifted(0.0)
    expected = np.linalg.solve(A + 50.0 * np.eye(20), rhs)
    np.testing.assert_allclose(factor.shifted(50.0).solve(rhs), expected, rtol=1e-10)


@pytest.mark.parametrize("n", [6, 20])
def test_in_single_precision_it_solves_to_single_precision(n, places):
    home, device = places
    A, rhs = random_psd(n), columns(n, 3)
    matrix = home.empty(n, n, dtype="float32")
    matrix[...] = home.put(A)
    factor = BlockedCholesky(matrix, 10.0, device)
    expected = np.linalg.solve(A + 10.0 * np.eye(n), rhs)
    np.testing.assert_allclose(factor.solve(rhs), expected, rtol=1e-4, atol=1e-6)


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


@pytest.mark.parametrize("n", [1, 7, 20])
@pytest.mark.parametrize(
    ("smallest", "expected"), [(0.5, True), (0.0, True), (-1e-14, True), (-1e-6, False)]
)
def test_torch_judges_semidefiniteness_and_leaves_the_matrix(n, smallest, expected):
    device, rng = torch_device(), np.random.default_rng(0)
    U = np.linalg.qr(rng.normal(size=(n, n)))[0]
    A = (U * np.r_[smallest, np.linspace(1, 5, n - 1)]) @ U.T
    A = (A + A.T) / 2
    matrix = device.put(A.copy())
    if n == 1:  # alone, a number is judged beside itself
        expected = smallest >= 0.0
    assert is_positive_semidefinite(matrix, EPS) is expected
    np.testing.assert_array_equal(device.get(matrix), A)


def test_on_the_cpu_lapack_does_it():
    assert isinstance(cholesky(random_psd(9), 1.0, CPU), Cholesky)


def test_torch_does_it_by_blocks():
    device = torch_device()
    factor = cholesky(device.put(random_psd(9)), 1.0, device)
    assert isinstance(factor, BlockedCholesky)
    np.testing.assert_allclose(
        factor.solve(np.eye(9)), np.linalg.inv(random_psd(9) + np.eye(9)), atol=1e-12
    )


@pytest.mark.parametrize("wide", [0, 7, 8, 19, 100])
def test_blocks_that_travel_to_torch_are_as_wide_as_fits(wide, monkeypatch):
    A, rhs = random_psd(50), columns(50, 3)
    room(monkeypatch, on_gpu=PANELS * 8 * 50 * wide, in_memory=0)
    factor = BlockedCholesky(A.copy(), 0.5, torch_device())
    assert next(factor._blocks()).stop == min(max(wide, WIDTH), 50)
    expected = np.linalg.solve(A + 0.5 * np.eye(50), rhs)
    np.testing.assert_allclose(factor.solve(rhs), expected, rtol=1e-10, atol=1e-12)
    factor.restore()
    np.testing.assert_array_equal(factor._packed, A)


@pytest.mark.parametrize("fits", [7, 12, 30])
def test_they_become_narrower_where_torch_has_less_room_than_it_says(fits, monkeypatch):
    A, rhs, empty, device = random_psd(50), columns(50, 3), TorchDevice.empty, torch_device()

    def tight(self, *shape, **options):
        if np.prod(shape) > 50 * fits:
            raise self.out_of_memory("CUDA out of memory")
        return empty(self, *shape, **options)

    monkeypatch.setattr(TorchDevice, "empty", tight)
    room(monkeypatch, on_gpu=10**9, in_memory=0)
    factor = BlockedCholesky(A.copy(), 0.5, device)
    assert WIDTH <= next(factor._blocks()).stop <= fits
    expected = np.linalg.solve(A + 0.5 * np.eye(50), rhs)
    np.testing.assert_allclose(factor.solve(rhs), expected, rtol=1e-10, atol=1e-12)
