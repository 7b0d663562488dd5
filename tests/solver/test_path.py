"""The exact path: every point of it carries its own proof of optimality."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, lsq_linear
from sklearn.linear_model import lars_path_gram

from gferm.fairness.pair_norm import PairNorm
from gferm.solver.path import trace_path

block_sizes = st.lists(st.integers(1, 5), min_size=1, max_size=5).map(tuple)


def pair_matrix(sizes):
    """B, written out: one row for each pair of cells of each block."""
    rows, start = [], 0
    for size in sizes:
        for p, q in combinations(range(size + 1), 2):
            row = np.zeros(sum(sizes))
            row[start + p : start + q] = 1.0
            rows.append(row)
        start += size
    return np.array(rows)


def random_problem(sizes, seed, rank=None):
    """A positive semi-definite G and a c₀ in its range."""
    rng = np.random.default_rng(seed)
    m = sum(sizes)
    factor = rng.normal(size=(rank or m + 3, m)) * rng.lognormal(size=m)
    return factor.T @ factor, factor.T @ rng.normal(size=len(factor))


def assert_optimal_everywhere(path, gram, start, sizes, tolerance=1e-10):
    """Feasible and without a duality gap, at every breakpoint and half-way between."""
    B, norm = pair_matrix(sizes), PairNorm(sizes)
    scale = np.abs(B @ start).sum() * max(norm.dual(path.multipliers[-1]), 1e-300)
    points = [*path.multipliers, *(path.multipliers[1:] + path.multipliers[:-1]) / 2]
    for nu in points:
        c = start - gram @ nu
        gap = norm.dual(nu) * np.abs(B @ c).sum() - nu @ c
        assert abs(gap) <= tolerance * scale


@given(sizes=block_sizes, seed=st.integers(0, 10_000))
@settings(deadline=None, max_examples=60)
def test_every_point_is_optimal(sizes, seed):
    gram, start = random_problem(sizes, seed)
    path = trace_path(gram, start, PairNorm(sizes))
    assert_optimal_everywhere(path, gram, start, sizes)
    end = start - gram @ path.multipliers[-1]
    assert np.abs(end).max() <= 1e-9 * np.abs(start).max()
    assert (np.diff(path.prices) >= 0).all()
    assert (np.diff(path.totals) <= 1e-9 * path.totals[0]).all()


@given(sizes=block_sizes, seed=st.integers(0, 10_000))
@settings(deadline=None, max_examples=40)
def test_a_singular_gram_is_no_obstacle(sizes, seed):
    gram, start = random_problem(sizes, seed, rank=max(1, sum(sizes) // 2))
    path = trace_path(gram, start, PairNorm(sizes))
    assert_optimal_everywhere(path, gram, start, sizes, tolerance=1e-8)
    end = start - gram @ path.multipliers[-1]
    assert np.abs(end).max() <= 1e-8 * np.abs(start).max()


@given(
    sizes=block_sizes,
    start=st.lists(st.integers(-2, 2), min_size=25, max_size=25),
    diagonal=st.booleans(),
)
@settings(deadline=None, max_examples=80)
def test_ties_do_not_stall_the_walk(sizes, start, diagonal):
    m = sum(sizes)
    start = np.array(start[:m], dtype=float)
    norm = PairNorm(sizes)
    # equal cells that move alike: the most events at one price that there can be
    gram = np.eye(m) if diagonal else norm.contrasts_from_cells @ norm.contrasts_from_cells.T
    path = trace_path(gram, start, norm)
    assert_optimal_everywhere(path, gram, start, sizes, tolerance=1e-7)
    assert np.abs(start - gram @ path.multipliers[-1]).max() <= 1e-7


@pytest.mark.parametrize("seed", range(5))
def test_two_groups_give_the_lasso_path(seed):
    m = 8
    gram, start = random_problem((1,) * m, seed)
    path = trace_path(gram, start, PairNorm((1,) * m))
    W = np.linalg.inv(gram)
    alphas, _, coefficients = lars_path_gram(
        Xy=W @ start, Gram=W, n_samples=1, method="lasso", alpha_min=0
    )
    for alpha, lasso in zip(alphas, coefficients.T, strict=True):
        nu = np.array([np.interp(alpha, path.prices, column) for column in path.multipliers.T])
        np.testing.assert_allclose(start - gram @ nu, lasso, atol=1e-8 * np.abs(start).max())


@pytest.mark.parametrize("sizes", [(2, 3), (4,), (1, 1, 3)])
def test_a_price_in_between_solves_the_bounded_dual_over_pairs(sizes):
    gram, start = random_problem(sizes, seed=7)
    path = trace_path(gram, start, PairNorm(sizes))
    B, root = pair_matrix(sizes), np.linalg.cholesky(gram)
    for share in (0.1, 0.4, 0.8):
        price = share * path.prices[-1]
        # min_v ½ vᵀB G Bᵀv − (B c₀)ᵀv over |v| ≤ τ, as bounded least squares
        matrix, target = root.T @ B.T, np.linalg.solve(root, start)
        v = lsq_linear(matrix, target, bounds=(-price, price), method="bvls", tol=1e-14).x
        nu = np.array([np.interp(price, path.prices, column) for column in path.multipliers.T])
        np.testing.assert_allclose(
            start - gram @ nu, start - gram @ (B.T @ v), atol=1e-6 * np.abs(start).max()
        )


@pytest.mark.parametrize("share", [0.9, 0.5, 0.01])
def test_the_walk_stops_exactly_where_it_is_told(share):
    sizes = (3, 2, 4)
    gram, start = random_problem(sizes, seed=3)
    total = np.abs(pair_matrix(sizes) @ start).sum()
    path = trace_path(gram, start, PairNorm(sizes), stop=share * total)
    reached = np.abs(pair_matrix(sizes) @ (start - gram @ path.multipliers[-1])).sum()
    assert reached == pytest.approx(share * total, rel=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_where_fairness_is_out_of_reach_the_walk_ends_at_the_smallest_total(seed):
    sizes = (2, 1, 3)
    gram, _ = random_problem(sizes, seed, rank=2)
    start = np.random.default_rng(seed).normal(size=6)  # not in the range of G
    path = trace_path(gram, start, PairNorm(sizes))
    # min Σ t  s.t. −t ≤ B (c₀ − G ν) ≤ t
    B = pair_matrix(sizes)
    basis = np.linalg.svd(gram)[0][:, :2]
    pairs, k = len(B), basis.shape[1]
    step = B @ basis
    program = linprog(
        np.r_[np.zeros(k), np.ones(pairs)],
        A_ub=np.block([[-step, -np.eye(pairs)], [step, -np.eye(pairs)]]),
        b_ub=np.r_[-B @ start, B @ start],
        bounds=[(None, None)] * k + [(0, None)] * pairs,
    )
    reached = np.abs(B @ (start - gram @ path.multipliers[-1])).sum()
    assert reached == pytest.approx(program.fun, rel=1e-7)


def test_a_fair_start_is_its_own_path():
    path = trace_path(np.eye(3), np.zeros(3), PairNorm((1, 2)))
    assert path.totals.tolist() == [0.0]
    assert not path.multipliers.any()
