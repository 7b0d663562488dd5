"""Holding rows out of the hat matrix is refitting without them, to the last digit there is."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import lu_factor, lu_solve

import gferm.solver.hat as hat_file
from gferm.features.expansion import center_and_scale
from gferm.solver.hat import HatMatrix
from gferm.solver.series import Series

EPS = np.finfo(float).eps
ALPHAS = 10.0 ** np.array([3, -6, 0, -3, 6, -1, 1, -2, 2, -5, 5, -4, 4])  # in no order


def gaussian(X, gamma):
    squares = ((X[:, None] - X) ** 2).sum(axis=2)
    return np.exp(-gamma * squares)


def products(X):
    return X @ X.T


def some_rows(n, rng):
    """One in each of n corners of a cube, hence far apart."""
    return rng.permutation(n)[:, None] // 2.0 ** np.arange(6) % 2 + 0.1 * rng.normal(size=(n, 6))


KERNELS = {
    "wide": lambda n, rng: gaussian(rng.normal(size=(n, 3)), 0.3),
    "smooth": lambda n, rng: gaussian(rng.normal(size=(n, 2)), 1e-3),
    "narrow": lambda n, rng: gaussian(some_rows(n, rng), 10.0),
    "almost the identity": lambda n, rng: gaussian(some_rows(n, rng), 200.0),
    "the identity": lambda n, rng: np.eye(n),
    "constant": lambda n, rng: np.ones((n, n)),
    "low rank": lambda n, rng: products(rng.normal(size=(n, 2))),
    "low rank and a diagonal": lambda n, rng: products(rng.normal(size=(n, 2))) + 2.0 * np.eye(n),
    "half the rank": lambda n, rng: products(rng.normal(size=(n, max(n // 2, 1)))),
    "rows three times": lambda n, rng: gaussian(rng.normal(size=(n, 2))[np.arange(n) // 3], 1.0),
    "large": lambda n, rng: 1e9 * gaussian(rng.normal(size=(n, 3)), 0.3),
    "tiny": lambda n, rng: 1e-9 * gaussian(rng.normal(size=(n, 3)), 0.3),
}


def hat_matrix(K, weight, *, fit_intercept):
    A = K.copy()
    _, null = center_and_scale(A, weight, fit_intercept=fit_intercept)
    return HatMatrix.of(A, null)


def refit(K, R, held, alpha, weight, *, fit_intercept):
    """Z and Q by solving the problem of the rows that are left, refined in long doubles.

    Columns of R are √w ∘ labels. min Σ w (y − f)² + alpha ‖·‖² over f = K a + b is the system
    (K + alpha/w) a + b = y, Σ a = 0.
    """
    left = np.setdiff1d(np.arange(len(K)), held)
    root = np.ones(len(K)) if weight is None else np.sqrt(weight)
    system = K[np.ix_(left, left)] + np.diag(alpha / root[left] ** 2)
    border = np.full((len(left), 1), float(fit_intercept))
    system = np.block([[system, border], [border.T, np.full((1, 1), not fit_intercept)]])
    target = np.vstack([R[left] / root[left, None], np.zeros((1, R.shape[1]))])
    factor, exact = lu_factor(system), system.astype(np.longdouble)
    found = np.zeros(target.shape, np.longdouble)
    for _ in range(20):
        found += lu_solve(factor, (target - exact @ found).astype(float))
    f = (K[:, left].astype(np.longdouble) @ found[:-1] + fit_intercept * found[-1]) * root[:, None]
    return f[held].astype(float), (R[left].T @ f[left]).astype(float)


def conditioning(K, weight, alphas):
    root = np.ones(len(K)) if weight is None else np.sqrt(weight)
    return np.linalg.norm(K * np.outer(root, root), 2) / alphas


def assert_refits(hat, K, R, held, alphas, weight, *, fit_intercept):
    """Every alpha: as near as rounding the kernel would move the solution, and no further."""
    Z, Q = hat.hold_out(held, hat.rotate(R), R.T @ R, alphas)
    assert Z.shape == (len(alphas), len(held), R.shape[1])
    assert Q.shape == (len(alphas), R.shape[1], R.shape[1])
    mass = np.ones(len(K)) if weight is None else weight
    slack = 1e-12 + 20 * EPS * conditioning(K, weight, alphas)
    slack *= mass.sum() / np.delete(mass, held).sum()  # what is left of an intercept
    for z, q, alpha, tolerance in zip(Z, Q, alphas, slack, strict=True):
        expected_z, expected_q = refit(K, R, held, alpha, weight, fit_intercept=fit_intercept)
        size = max(np.abs(R).max(), np.abs(expected_z).max())
        np.testing.assert_allclose(z, expected_z, rtol=0, atol=tolerance * size)
        np.testing.assert_allclose(q, expected_q, rtol=0, atol=tolerance * len(R) * size**2)
        # … beside the numbers themselves, however small a large alpha makes them
        if not fit_intercept:
            largest = np.abs(expected_q).max()
            np.testing.assert_allclose(q, expected_q, rtol=0, atol=10 * tolerance * largest)


def columns_without(held, n, rng, weight=None):
    """Labels, a contrast and noise, zero where rows are held out."""
    contrast = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    R = np.column_stack([rng.normal(size=n), contrast, rng.normal(size=n)])
    R[held] = 0.0
    R[:, 1] -= R[:, 1].sum() / (n - len(held))
    R[held] = 0.0
    return R if weight is None else R * np.sqrt(weight)[:, None]


@st.composite
def cases(draw):
    n = draw(st.one_of(st.integers(2, 5), st.integers(6, 40)))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    K = KERNELS[draw(st.sampled_from(sorted(KERNELS)))](n, rng)
    size = draw(st.sampled_from(["one row", "some", "half", "all but one"]))
    n_held = {"one row": 1, "some": max(n // 5, 1), "half": n // 2, "all but one": n - 1}[size]
    held = np.sort(rng.choice(n, n_held, replace=False))
    weight = draw(st.sampled_from([None, rng.uniform(0.5, 2, n), 10.0 ** rng.uniform(-3, 3, n)]))
    return K, columns_without(held, n, rng, weight), held, weight, draw(st.booleans())


@given(case=cases())
@settings(deadline=None, max_examples=150)
def test_holding_rows_out_is_refitting(case):
    K, R, held, weight, fit_intercept = case
    hat = hat_matrix(K, weight, fit_intercept=fit_intercept)
    alphas = ALPHAS[hat.smallest_alpha <= ALPHAS]
    assert_refits(hat, K, R, held, alphas, weight, fit_intercept=fit_intercept)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kernel", KERNELS)
def test_leaving_one_out_of_any_kernel(kernel, fit_intercept):
    rng = np.random.default_rng(3)
    n, options = 20, {"fit_intercept": fit_intercept}
    K = KERNELS[kernel](n, rng)
    hat = hat_matrix(K, None, **options)
    alphas = ALPHAS[hat.smallest_alpha <= ALPHAS]
    assert alphas.size
    for row in range(n):
        held = np.array([row])
        R = columns_without(held, n, rng)
        assert_refits(hat, K, R, held, alphas[::4], None, **options)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(
    ("kernel", "rest"),
    [("low rank", 0.0), ("constant", 0.0), ("the identity", 1.0), ("almost the identity", 1.0),
     ("low rank and a diagonal", 2.0), ("wide", None), ("narrow", None)],
)  # fmt: skip
def test_directions_of_one_eigenvalue_are_not_kept(kernel, rest, fit_intercept):
    n = 30
    K = KERNELS[kernel](n, np.random.default_rng(0))
    hat = hat_matrix(K, None, fit_intercept=fit_intercept)
    if rest is None:
        assert hat.rest is None
        assert len(hat.values) == n
    else:
        assert hat.rest == pytest.approx(rest, abs=1e-12)
        assert len(hat.values) <= 3
    assert (hat.values[-1] == np.inf if len(hat.values) else True) or not fit_intercept
    np.testing.assert_allclose(hat.vectors @ hat.vectors.T, np.eye(len(hat.values)), atol=1e-12)


WAYS = {
    "one by one": {"SMALL": 0, "HELD_OUT_AT_ONCE": 0.0, "RADIUS": 0.0},
    "two at a time": {"SMALL": 2 * 8 * 40, "HELD_OUT_AT_ONCE": 0.0},
    "all at once": {"SMALL": 2**30},
    "series": {"SMALL": 0, "HELD_OUT_AT_ONCE": 0.0},
}


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("way", WAYS)
def test_memory_and_speed_do_not_change_the_answer(way, fit_intercept, weighted, monkeypatch):
    for name, value in WAYS[way].items():
        monkeypatch.setattr(hat_file, name, value)
    calls = []
    original = Series.weighted_grams
    monkeypatch.setattr(
        Series, "weighted_grams", lambda *given: calls.append(1) or original(*given)
    )
    n, rng = 40, np.random.default_rng(1)
    held = rng.permutation(n)[:8]
    held.sort()
    weight = rng.uniform(0.5, 2.0, n) if weighted else None
    K, R = 1e-4 * gaussian(rng.normal(size=(n, 3)), 0.1), columns_without(held, n, rng, weight)
    hat = hat_matrix(K, weight, fit_intercept=fit_intercept)
    assert hat.rest is None
    sizes = {
        len(range(*some.indices(len(ALPHAS)))) if isinstance(some, slice) else 1
        for some, _ in hat._left(hat.vectors[:, held], *hat._shrinkage(ALPHAS[:, None])[1:], ALPHAS)
    }
    assert bool(calls) == (way == "series")
    most = {"one by one": 1, "two at a time": 2, "all at once": len(ALPHAS), "series": 1}[way]
    assert max(sizes) == most
    assert_refits(hat, K, R, held, ALPHAS, weight, fit_intercept=fit_intercept)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("blocks", [1, 7])
def test_products_are_taken_in_blocks(blocks, weighted, monkeypatch):
    original = hat_file.row_blocks
    monkeypatch.setattr(
        hat_file, "row_blocks", lambda n, columns, *_: original(n, columns, blocks * columns)
    )
    n, rng = 23, np.random.default_rng(2)
    held, weight = np.array([0, 3, 22]), rng.uniform(0.5, 2.0, n) if weighted else None
    K, R = KERNELS["wide"](n, rng), columns_without(np.array([0, 3, 22]), n, rng, weight)
    hat = hat_matrix(K, weight, fit_intercept=True)
    assert_refits(hat, K, R, held, ALPHAS, weight, fit_intercept=True)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_smallest_alpha_follows_the_kernel(kernel, fit_intercept):
    K = KERNELS[kernel](25, np.random.default_rng(0))
    small, large = (
        hat_matrix(c * K, None, fit_intercept=fit_intercept).smallest_alpha for c in (1.0, 1e4)
    )
    assert small > 0.0
    A = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean() if fit_intercept else K
    if np.linalg.norm(A) > 1e-12 * np.linalg.norm(K):
        assert large == pytest.approx(1e4 * small, rel=1e-6)
        assert small >= 25 * EPS * np.linalg.norm(A, 2)


@pytest.mark.parametrize("kernel", ["smooth", "rows three times", "half the rank"])
def test_at_the_smallest_alpha_there_is_still_an_answer(kernel):
    n, rng = 40, np.random.default_rng(5)
    K, held = KERNELS[kernel](n, rng), np.arange(0, n, 5)
    R = columns_without(held, n, rng)
    hat = hat_matrix(K, None, fit_intercept=True)
    alphas = hat.smallest_alpha * np.array([1.0, 10.0, 100.0])
    assert_refits(hat, K, R, held, alphas, None, fit_intercept=True)


def test_an_intercept_is_exact_however_large_the_kernel():
    n, held = 30, np.arange(6)
    for kernel in KERNELS:
        K = KERNELS[kernel](n, np.random.default_rng(0))
        hat = hat_matrix(K, None, fit_intercept=True)
        R = np.ones((n, 1))
        R[held] = 0.0
        alphas = ALPHAS[hat.smallest_alpha <= ALPHAS]
        Z, Q = hat.hold_out(held, hat.rotate(R), R.T @ R, alphas)
        slack = 1e-12 + 20 * EPS * conditioning(K, None, alphas)
        # a constant is predicted everywhere
        assert (np.abs(Z - 1.0).max(axis=(1, 2)) <= slack).all()
        assert (np.abs(Q[:, 0, 0] / (n - len(held)) - 1.0) <= slack).all()


@pytest.mark.parametrize("weighted", [True, False])
def test_a_constant_kernel_leaves_the_mean_whatever_the_number_of_rows(weighted):
    """Centring it leaves rounding, which must not be taken for a kernel or for the intercept."""
    for n in range(2, 60):
        rng = np.random.default_rng(n)
        weight = rng.uniform(0.5, 2.0, n) if weighted else np.ones(n)
        hat = hat_matrix(np.ones((n, n)), weight if weighted else None, fit_intercept=True)
        held = np.arange(n // 2)
        R = columns_without(held, n, rng, weight)
        Z, _ = hat.hold_out(held, hat.rotate(R), R.T @ R, np.array([1.0]))
        left, root = np.arange(n // 2, n), np.sqrt(weight)
        means = root[left] @ R[left] / weight[left].sum()
        np.testing.assert_allclose(Z[0], root[held, None] * means, rtol=0, atol=1e-12)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kernel", KERNELS)
def test_what_a_kernel_cannot_see_is_told_from_what_it_can(kernel, fit_intercept):
    n, rng = 30, np.random.default_rng(0)
    K = KERNELS[kernel](n, rng)
    K[1::2], K[:, 1::2] = K[::2], K[:, ::2]  # everybody has a double, side by side
    K[1::2, 1::2] = K[::2, ::2]
    K = (K + K.T) / 2
    hat = hat_matrix(K, None, fit_intercept=fit_intercept)
    doubles = np.tile([1.0, -1.0], n // 2)
    others = np.repeat(rng.normal(size=n // 2), 2)
    others -= others.mean()
    R = np.column_stack([doubles, others, 1e-9 * doubles, 1e-9 * others])
    seen = hat.sees(hat.rotate(R), (R**2).sum(axis=0), np.abs(K).max())
    constant = kernel == "constant"
    assert seen.tolist() == [False, not constant, False, not constant]
    identity = hat_matrix(2.0 * np.eye(n), None, fit_intercept=fit_intercept)
    assert identity.rest == pytest.approx(2.0)
    assert identity.sees(identity.rotate(R), (R**2).sum(axis=0), 2.0).all()
