"""The kernel form and the linear form are the same problem."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge

import gferm.features.moments as moments
from gferm import FairRegressor
from gferm.arrays.blocks import row_blocks
from gferm.features.kernel import Kernel
from tests.comparing import compared_by
from tests.problems import make_problem
from tests.systems import by_cholesky, by_spectrum, kernel_system, linear_system


@pytest.fixture
def problem():
    return make_problem(n=90, d=12)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("alpha", [0.1, 10.0])
def test_both_forms_reduce_to_the_same_numbers(problem, fit_intercept, weighted, alpha):
    X, y = problem.X, problem.y
    model = FairRegressor(kernel="linear", y_bins=3).fit(X, y, sensitive_features=problem.s)
    weight = None
    if weighted:  # contrasts must be weighted means too: scale each row by its weight
        weight = np.random.default_rng(0).uniform(0.5, 2, y.size)
        model.fit(X, y, sensitive_features=problem.s, sample_weight=weight)
    columns = compared_by(model, y, problem.s, weight).columns
    options = {"weight": weight, "fit_intercept": fit_intercept}
    features = by_cholesky(linear_system(X, y, columns, **options), alpha).reduce()
    kernel = by_cholesky(kernel_system(X @ X.T, y, columns, **options), alpha).reduce()
    spectrum = by_spectrum(kernel_system(X @ X.T, y, columns, **options), alpha).reduce()
    nu = np.random.default_rng(1).normal(size=columns.shape[1]) / 10
    for other in (kernel, spectrum):
        np.testing.assert_allclose(features.gram, other.gram, atol=1e-10)
        np.testing.assert_allclose(features.contrasts, other.contrasts, atol=1e-10)
        assert features.objective(nu) == pytest.approx(other.objective(nu))
        assert features.risk(nu) == pytest.approx(other.risk(nu))
        x = other.coefficients(nu)
        weights = other.restore(x) @ X
        np.testing.assert_allclose(features.coefficients(nu), weights, atol=1e-9)
        assert features.intercepts(features.coefficients(nu)) == pytest.approx(other.intercepts(x))


def test_a_spectrum_gives_every_alpha_what_its_own_cholesky_gives(problem):
    model = FairRegressor(gamma=0.2, y_bins=3)
    model.fit(problem.X, problem.y, sensitive_features=problem.s)
    kernel = Kernel.of(model)
    columns = compared_by(model, problem.y, problem.s).columns
    spectral = by_spectrum(kernel_system(kernel(problem.X), problem.y, columns), 1.0)
    for alpha in 10.0 ** np.arange(-3, 4):
        direct = by_cholesky(kernel_system(kernel(problem.X), problem.y, columns), alpha).reduce()
        reduced = spectral.shifted(alpha).reduce()
        np.testing.assert_allclose(reduced.gram, direct.gram, atol=1e-9)
        np.testing.assert_allclose(reduced.contrasts, direct.contrasts, atol=1e-9)
        np.testing.assert_allclose(reduced.restore(reduced.plain), direct.plain, atol=1e-7)


@pytest.mark.parametrize("rows_per_block", [1, 7, 1000])
@pytest.mark.parametrize(
    "kind", [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_array]
)
def test_blocks_do_not_change_a_linear_fit(problem, monkeypatch, rows_per_block, kind):
    expected = FairRegressor(kernel="linear", y_bins=3, epsilon=0.1)
    expected.fit(problem.X, problem.y, sensitive_features=problem.s)
    monkeypatch.setattr(
        moments, "row_blocks", lambda n, d, _: row_blocks(n, d, doubles=rows_per_block * d)
    )
    model = FairRegressor(kernel="linear", y_bins=3, epsilon=0.1)
    model.fit(kind(problem.X), problem.y, sensitive_features=problem.s)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-10)


def test_features_far_from_zero_keep_their_digits(problem):
    shift = 1e6 * np.arange(1, problem.X.shape[1] + 1)
    near = Ridge(alpha=1.0).fit(problem.X, problem.y)
    far = FairRegressor(kernel="linear", epsilon=None).fit(problem.X + shift, problem.y)
    np.testing.assert_allclose(far.coef_, near.coef_, rtol=1e-7)


def test_a_linear_fit_makes_no_matrix_of_rows_by_rows(monkeypatch):
    n = 200_000  # one n×n array would be 320 GB: the fit would fail, not just be slow
    rng = np.random.default_rng(0)
    X, s = rng.normal(size=(n, 3)), rng.integers(0, 2, n)
    y = X[:, 0] + s
    model = FairRegressor(kernel="linear", epsilon=0.01).fit(X, y, sensitive_features=s)
    assert model.solver_.form == "linear"
    assert model.violation_ == pytest.approx(0.01)
