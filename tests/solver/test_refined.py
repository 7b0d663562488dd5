"""A factor in float32 that is refined solves what a factor in float64 solves, or says it cannot."""

import numpy as np
import pytest

from gferm.arrays.device import CPU, Placed
from gferm.solver.cholesky import Cholesky, NotPositiveDefiniteError
from gferm.solver.refined import Refined
from tests.gpu import room, torch_device

N = 40


def by_numpy():
    return CPU, CPU


def by_torch():
    return torch_device(), torch_device()


def by_torch_out_of_core():
    return CPU, torch_device()


@pytest.fixture(params=[by_numpy, by_torch, by_torch_out_of_core], ids=lambda way: way.__name__)
def places(request):
    """Where A lives, and where its factor is made."""
    return request.param()


@pytest.fixture(autouse=True)
def narrow_blocks(monkeypatch):
    monkeypatch.setattr("gferm.solver.cholesky.WIDTH", 16)


def with_spectrum(values, seed=0):
    U = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(values), len(values))))[0]
    A = (U * values) @ U.T
    return np.ascontiguousarray((A + A.T) / 2)


WELL = with_spectrum(np.geomspace(1e-3, 1.0, N))
RHS = np.random.default_rng(1).normal(size=(N, 4)) * [1.0, 1e-8, 1e8, 0.0]


def close(found, expected, rtol):
    """Each column beside its own size."""
    off = np.linalg.norm(found - expected, axis=0)
    return bool((off <= rtol * np.linalg.norm(expected, axis=0)).all())


@pytest.mark.parametrize("alpha", [10.0, 0.1, 1e-3])
def test_it_solves_as_a_factor_in_doubles_does(alpha, places):
    home, device = places
    refined = Refined(home.put(WELL.copy()), alpha, device)
    expected = Cholesky(WELL.copy(), alpha).solve(RHS)
    assert close(refined.solve(RHS), expected, 1e-10)
    assert close(refined.apply(RHS), WELL @ RHS, 1e-12)
    assert refined.shrink(RHS) is RHS


def test_float32_alone_would_not(places):
    """What the test above would see without the refinement."""
    home, device = places
    refined = Refined(home.put(WELL.copy()), 1e-3, device)
    expected = Cholesky(WELL.copy(), 1e-3).solve(RHS[:, :1])
    assert not close(refined._precondition(RHS[:, :1]), expected, 1e-6)


def test_steps_are_counted_and_grow_as_alpha_shrinks(places):
    home, device = places
    A, taken = with_spectrum(np.geomspace(1e-9, 1.0, N)), []
    for alpha in (100.0, 1e-3, 1e-5):
        refined = Refined(home.put(A.copy()), alpha, device)
        assert refined.steps == 1
        refined.solve(RHS)
        taken.append(refined.steps)
    assert 1 < taken[0] < taken[-1]
    assert taken == sorted(taken)


def test_another_alpha_starts_from_the_same_matrix(places):
    home, device = places
    matrix = home.put(WELL.copy())
    shifted = Refined(matrix, 5.0, device).shifted(0.5)
    assert shifted.alpha == 0.5
    assert close(shifted.solve(RHS), Cholesky(WELL.copy(), 0.5).solve(RHS), 1e-10)
    np.testing.assert_array_equal(home.get(matrix), WELL)


def test_no_columns_are_no_steps(places):
    home, device = places
    assert Refined(home.put(WELL.copy()), 1.0, device).solve(np.empty((N, 0))).shape == (N, 0)


def test_what_float32_sees_as_singular_is_an_error(places):
    home, device = places
    A = with_spectrum(np.r_[np.zeros(N // 2), np.ones(N // 2)])
    with pytest.raises(NotPositiveDefiniteError):
        Refined(home.put(A - 1e-3 * np.eye(N)), 1e-12, device)


def test_too_small_an_alpha_is_an_error_with_the_remedy(places):
    """Where float32 finds a factor, but one that is good for nothing."""
    home, device = places
    refined = Refined(home.put(WELL.copy()), 1e-3, device)
    refined._matrix = Placed(home.put(with_spectrum(np.geomspace(1e-9, 1e3, N))), home)
    with pytest.raises(ValueError, match=r"after \d+ steps .*alpha is too small") as error:
        refined.solve(RHS)
    assert "solver='cholesky', or a larger alpha" in str(error.value)


@pytest.mark.parametrize("has_room", [True, False])
def test_torch_holds_the_factor_of_a_matrix_in_memory_if_it_has_room(has_room, monkeypatch):
    device = torch_device()
    room(monkeypatch, on_gpu=10**9 if has_room else 10, in_memory=10**9)
    refined = Refined(WELL.copy(), 0.1, device)
    assert refined._matrix.device is CPU
    assert refined._factor._home == (device if has_room else CPU)
    assert refined._factor.device == device
    assert close(refined.solve(RHS), Cholesky(WELL.copy(), 0.1).solve(RHS), 1e-10)


def test_numbers_beyond_float32_are_an_error_and_no_model():
    A = 1e42 * np.eye(5)
    with pytest.raises((ValueError, np.linalg.LinAlgError)), np.errstate(all="ignore"):
        Refined(A, 1e30).solve(np.ones((5, 1)))
