"""Many lasso paths at once: they end where the general walk ends, and where optimality says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gferm.arrays.device import TorchDevice, open_device
from gferm.fairness.pair_norm import PairNorm
from gferm.solver import two_groups
from gferm.solver.path import trace_path
from gferm.solver.two_groups import two_group_multipliers

CPU = open_device("cpu")
SHARES = np.array([1.2, 0.7, 0.3, 0.01, 1e-6])


def problems(n, m, seed, spread=3):
    rng = np.random.default_rng(seed)
    roots = rng.standard_normal((n, m, m + spread))
    start = rng.standard_normal((n, m))
    totals = np.abs(start).sum(axis=1, keepdims=True)
    return roots @ roots.swapaxes(1, 2), start, totals * SHARES


def by_general_walk(gram, start, bounds):
    path = trace_path(gram, start, PairNorm((1,) * len(start)), stop=float(bounds.min()))
    nu = [np.interp(bounds, path.totals[::-1], one[::-1]) for one in path.multipliers.T]
    return np.array(nu).T


@given(
    m=st.integers(1, 12), seed=st.integers(0, 2**32 - 1), scale=st.sampled_from([1e-8, 1.0, 1e8])
)
def test_equals_the_general_walk(m, seed, scale):
    grams, start, bounds = problems(4, m, seed)
    found = two_group_multipliers(CPU, scale * grams, start, bounds)
    for i in range(len(grams)):
        expected = by_general_walk(scale * grams[i], start[i], bounds[i])
        np.testing.assert_allclose(found[i], expected, atol=1e-8 * np.abs(expected).max())


@given(m=st.integers(1, 12), seed=st.integers(0, 2**32 - 1))
def test_meets_its_bound_at_an_optimum(m, seed):
    """ν is optimal if c reaches the bound and ν is τ·sign(c) where c is not zero, |ν| ≤ τ else."""
    grams, start, bounds = problems(5, m, seed)
    found = two_group_multipliers(CPU, grams, start, bounds)
    left = start[:, None] - np.einsum("nij,nbj->nbi", grams, found)
    totals = np.abs(left).sum(axis=-1)
    plain = np.abs(start).sum(axis=1)[:, None]
    np.testing.assert_allclose(totals, np.minimum(bounds, plain), atol=1e-10 * plain.max())
    price = np.abs(found).max(axis=-1, keepdims=True)
    apart = np.abs(left) > 1e-8 * np.abs(start).max()
    np.testing.assert_allclose((found - price * np.sign(left))[apart], 0.0, atol=1e-7 * price.max())


def test_a_bound_that_is_met_needs_no_multiplier():
    grams, start, bounds = problems(3, 4, 0)
    assert not two_group_multipliers(CPU, grams, start, bounds)[:, 0].any()


@pytest.mark.parametrize("tiny", [1e-18, 1e-210, 5e-324])
@pytest.mark.parametrize("m", [1, 7])
def test_a_bound_below_rounding_is_met_as_nearly_as_it_can_be(m, tiny):
    grams, start, bounds = problems(6, m, 5)
    found = two_group_multipliers(CPU, grams, start, np.hstack([bounds, 0 * bounds[:, :1] + tiny]))
    exact = np.linalg.solve(grams, start[..., None])[..., 0]
    np.testing.assert_allclose(found[:, -1], exact, atol=1e-10 * np.abs(exact).max())
    np.testing.assert_array_equal(found[:, :-1], two_group_multipliers(CPU, grams, start, bounds))


def test_a_contrast_that_is_not_there_has_no_multiplier_and_changes_nothing():
    grams, start, bounds = problems(6, 5, 1)
    found = two_group_multipliers(CPU, grams, start, bounds)
    place = [0, 1, 3, 4, 5]
    wider, longer = np.zeros((6, 6, 6)), np.zeros((6, 6))
    wider[np.ix_(range(6), place, place)], longer[:, place] = grams, start
    padded = two_group_multipliers(CPU, wider, longer, bounds)
    assert not padded[..., 2].any()
    np.testing.assert_allclose(padded[..., place], found, atol=1e-12)


def test_the_stack_does_not_matter():
    grams, start, bounds = problems(9, 6, 2)
    together = two_group_multipliers(CPU, grams, start, bounds)
    apart = [
        two_group_multipliers(CPU, *(x[i : i + 1] for x in (grams, start, bounds)))
        for i in range(9)
    ]
    np.testing.assert_array_equal(together, np.concatenate(apart))


def test_what_the_walk_does_not_finish_is_left_to_the_general_one(monkeypatch):
    grams, start, bounds = problems(5, 6, 3)
    expected = two_group_multipliers(CPU, grams, start, bounds)
    monkeypatch.setattr(two_groups, "STEPS_PER_CONTRAST", 0)
    np.testing.assert_allclose(
        two_group_multipliers(CPU, grams, start, bounds), expected, atol=1e-10
    )


def test_ties_end():
    """Equal problems in every coordinate: all events come at once."""
    grams, start = np.eye(4)[None], np.ones((1, 4))
    found = two_group_multipliers(CPU, grams, start, np.array([[2.0, 0.4]]))
    np.testing.assert_allclose(found[0], [[0.5] * 4, [0.9] * 4])


def test_torch_gives_the_same():
    torch = pytest.importorskip("torch", reason="torch is not installed (make test-torch)")
    arrays = problems(20, 8, 4)
    found = two_group_multipliers(TorchDevice("cpu", torch), *(torch.as_tensor(x) for x in arrays))
    np.testing.assert_allclose(found.numpy(), two_group_multipliers(CPU, *arrays), atol=1e-10)
