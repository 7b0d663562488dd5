"""The pair norm and its dual: brute force over pairs, and a linear program."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from gferm.fairness.pair_norm import PairNorm

block_sizes = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)
few = settings(max_examples=60, deadline=None)


@st.composite
def sizes_and_vectors(draw, n_vectors):
    sizes = draw(block_sizes)
    vector = st.lists(st.integers(-16, 16), min_size=sum(sizes), max_size=sum(sizes))
    return sizes, *(np.array(draw(vector)) / 4 for _ in range(n_vectors))


def pair_matrix(sizes):
    """B: the gap of cells p < q of a block adds up the contrasts of the neighbours between them."""
    rows, start = [], 0
    for size in sizes:
        for p, q in combinations(range(size + 1), 2):
            rows.append([float(start + p <= j < start + q) for j in range(sum(sizes))])
        start += size
    return np.array(rows)


@few
@given(sizes_and_vectors(1))
def test_the_norm_is_the_sum_of_all_absolute_gaps(case):
    sizes, c = case
    gaps = pair_matrix(sizes) @ c
    np.testing.assert_allclose(PairNorm(sizes).gaps(c), gaps, atol=1e-12)
    assert PairNorm(sizes).value(c) == pytest.approx(np.abs(gaps).sum(), abs=1e-12)


@few
@given(sizes_and_vectors(1))
def test_the_dual_norm_is_the_optimum_of_the_linear_program(case):
    # min t subject to Bᵀv = ν and −t ≤ v ≤ t: the smallest multipliers of the pairs that make ν
    sizes, nu = case
    B = pair_matrix(sizes)
    n_pairs, m = B.shape
    box = np.block(
        [[np.eye(n_pairs), -np.ones((n_pairs, 1))], [-np.eye(n_pairs), -np.ones((n_pairs, 1))]]
    )
    program = linprog(
        np.r_[np.zeros(n_pairs), 1.0],
        A_ub=box,
        b_ub=np.zeros(2 * n_pairs),
        A_eq=np.c_[B.T, np.zeros(m)],
        b_eq=nu,
        bounds=(None, None),
    )
    assert PairNorm(sizes).dual(nu) == pytest.approx(program.fun, abs=1e-8)


@few
@given(sizes_and_vectors(2))
def test_hoelder_bounds_every_inner_product(case):
    sizes, nu, c = case
    norm = PairNorm(sizes)
    assert nu @ c <= norm.dual(nu) * norm.value(c) + 1e-9
    # … and B'sign(Bc) is a subgradient: there the bound is reached, with dual norm 1
    gaps = pair_matrix(sizes) @ c
    subgradient = pair_matrix(sizes).T @ np.sign(gaps)
    assert subgradient @ c == pytest.approx(norm.value(c))
    assert norm.dual(subgradient) <= 1 + 1e-12
    if c.any():
        assert norm.dual(subgradient) == pytest.approx(1)


@given(block_sizes)
def test_going_from_contrasts_to_cells_and_back_changes_nothing(sizes):
    norm = PairNorm(sizes)
    D, A = norm.contrasts_from_cells, norm.cells_from_contrasts
    assert D.shape == A.T.shape == (sum(sizes), norm.n_cells)
    np.testing.assert_array_equal(D @ A, np.eye(sum(sizes)))
    np.testing.assert_array_equal(D @ np.ones(norm.n_cells), 0)  # a shared shift is no contrast
    assert norm.n_cells == sum(size + 1 for size in sizes)
    assert norm.block_of_cell.tolist() == [b for b, s in enumerate(sizes) for _ in range(s + 1)]


@few
@given(sizes_and_vectors(1), st.integers(-8, 8))
def test_both_norms_scale_and_see_no_sign(case, factor):
    sizes, c = case
    for measure in (PairNorm(sizes).value, PairNorm(sizes).dual):
        assert measure(factor * c) == pytest.approx(abs(factor) * measure(c))
        assert (measure(c) == 0) == (not c.any())
