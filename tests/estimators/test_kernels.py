"""Every kernel of KernelRidge: without the constraint the model is scikit-learn's own."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels
from sklearn.preprocessing import KernelCenterer

from gferm import FairRegressor

KERNELS = sorted(PAIRWISE_KERNEL_FUNCTIONS)
GAMMA, DEGREE, COEF0, ALPHA = 0.3, 2, 0.7, 0.4
SETTINGS = {"gamma": GAMMA, "degree": DEGREE, "coef0": COEF0, "alpha": ALPHA}

# The same kernels, written out for two rows.
FORMULAS = {
    "linear": lambda a, b: a @ b,
    "cosine": lambda a, b: a @ b / np.sqrt((a @ a) * (b @ b)),
    "rbf": lambda a, b: np.exp(-GAMMA * np.sum((a - b) ** 2)),
    "laplacian": lambda a, b: np.exp(-GAMMA * np.sum(np.abs(a - b))),
    "poly": lambda a, b: (GAMMA * (a @ b) + COEF0) ** DEGREE,
    "polynomial": lambda a, b: (GAMMA * (a @ b) + COEF0) ** DEGREE,
    "sigmoid": lambda a, b: np.tanh(GAMMA * (a @ b) + COEF0),
    "chi2": lambda a, b: np.exp(-GAMMA * np.sum((a - b) ** 2 / (a + b))),
    "additive_chi2": lambda a, b: -np.sum((a - b) ** 2 / (a + b)),
}


def rows_for(kernel, problem):
    """Training and new rows on which the kernel is admissible."""
    X, X_new = problem.X, problem.X_new
    if "chi2" in kernel:
        return np.abs(X), np.abs(X_new)
    if kernel == "sigmoid":  # many features and small values: close to a linear kernel
        wide = np.random.default_rng(1).standard_normal((len(X) + len(X_new), 600)) / 35
        return wide[: len(X)], wide[len(X) :]
    return X, X_new


def matrices(kernel, X, X_new):
    """The kernel among X and between X_new and X, by scikit-learn."""
    options = {"metric": kernel, "filter_params": True}
    parameters = {"gamma": GAMMA, "degree": DEGREE, "coef0": COEF0}
    return tuple(pairwise_kernels(Z, X, **options, **parameters) for Z in (X, X_new))


def regressor(kernel, **options):
    return FairRegressor(kernel=kernel, **{"epsilon": None, **SETTINGS, **options})


def assert_same(actual, desired, rtol=1e-9):
    np.testing.assert_allclose(actual, desired, rtol=rtol, atol=rtol * np.abs(desired).max())


def test_every_kernel_has_its_formula_here():
    assert FORMULAS.keys() == set(KERNELS)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", [k for k in KERNELS if k != "additive_chi2"])
def test_without_intercept_the_plain_model_is_kernel_ridge(kernel, weighted, problem):
    X, X_new = rows_for(kernel, problem)
    weight = problem.weight if weighted else None
    theirs = KernelRidge(kernel=kernel, **SETTINGS).fit(X, problem.y, sample_weight=weight)
    ours = regressor(kernel, fit_intercept=False).fit(X, problem.y, sample_weight=weight)
    assert_same(ours.predict(X_new), theirs.predict(X_new))
    assert ours.intercept_ == 0.0


@pytest.mark.parametrize("kernel", KERNELS)
def test_with_intercept_the_plain_model_is_kernel_ridge_on_the_centred_kernel(kernel, problem):
    X, X_new = rows_for(kernel, problem)
    K, K_new = matrices(kernel, X, X_new)
    centerer = KernelCenterer().fit(K)
    level = problem.y.mean()
    theirs = KernelRidge(kernel="precomputed", alpha=ALPHA)
    theirs.fit(centerer.transform(K), problem.y - level)
    expected = theirs.predict(centerer.transform(K_new)) + level
    ours = regressor(kernel).fit(X, problem.y)
    assert_same(ours.predict(X_new), expected)


@pytest.mark.parametrize("epsilon", [None, 0.0])
@pytest.mark.parametrize("kernel", KERNELS)
def test_precomputed_and_callable_give_the_model_of_the_named_kernel(kernel, epsilon, problem):
    X, X_new = rows_for(kernel, problem)
    K, K_new = matrices(kernel, X, X_new)
    untouched = K.copy()
    weight = np.where(problem.weight > 0.8, problem.weight, 0.0)  # rows left out, too
    named, precomputed, callable_ = (
        regressor(k, epsilon=epsilon, y_bins=2).fit(
            rows, problem.y, sensitive_features=problem.s, sample_weight=weight
        )
        for k, rows in ((kernel, X), ("precomputed", K), (FORMULAS[kernel], X))
    )
    assert_same(precomputed.predict(K_new), named.predict(X_new))
    assert_same(callable_.predict(X_new), named.predict(X_new))
    np.testing.assert_array_equal(K, untouched)


@pytest.mark.parametrize(("kernel", "default"), [("rbf", 1 / 5), ("laplacian", 1 / 5), ("chi2", 1)])
def test_no_gamma_means_the_kernel_s_own_default(kernel, default, problem):
    X, X_new = rows_for(kernel, problem)
    unset, named = (regressor(kernel, gamma=gamma).fit(X, problem.y) for gamma in (None, default))
    assert_same(unset.predict(X_new), named.predict(X_new))


def test_kernel_params_reach_a_callable(problem):
    def scaled(a, b, scale):
        return scale * (a @ b)

    ours = regressor(scaled, kernel_params={"scale": 3.0}).fit(problem.X, problem.y)
    theirs = Ridge(alpha=ALPHA).fit(np.sqrt(3.0) * problem.X, problem.y)
    assert_same(ours.predict(problem.X_new), theirs.predict(np.sqrt(3.0) * problem.X_new))


def test_a_kernel_far_from_the_origin_is_still_semi_definite(problem):
    # Centring cancels nine digits here; what is left of rounding must not count as indefinite.
    X = problem.X + 3e4
    ours = regressor("precomputed").fit(X @ X.T, problem.y)
    theirs = Ridge(alpha=ALPHA).fit(problem.X, problem.y)
    assert_same(ours.predict(X @ X.T), theirs.predict(problem.X), rtol=1e-5)


def test_linear_rows_far_from_the_origin_lose_no_digits(problem):
    ours = regressor("linear").fit(problem.X + 1e6, problem.y)
    theirs = Ridge(alpha=ALPHA).fit(problem.X, problem.y)
    assert_same(ours.coef_, theirs.coef_, rtol=1e-8)


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        ({"kernel": "additive_chi2", "fit_intercept": False}, "set fit_intercept=True"),
        ({"kernel": "sigmoid"}, "another kernel, or other gamma, degree and coef0"),
        ({"kernel": "poly", "coef0": -3.0}, "another kernel, or other gamma, degree and coef0"),
        ({"kernel": lambda a, b: -a @ b}, "another kernel"),
    ],
)
def test_a_kernel_that_is_not_semi_definite_is_refused_with_a_remedy(options, remedy, problem):
    with pytest.raises(ValueError, match=rf"kernel=.* is not positive semi-definite.*{remedy}"):
        regressor(**options).fit(np.abs(problem.X), problem.y)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("solver", ["cholesky", "spectrum"])
@pytest.mark.parametrize("shape", ["tall", "wide"])
def test_linear_is_ridge(shape, solver, fit_intercept, weighted, problem):
    rng = np.random.default_rng(2)
    X = problem.X if shape == "tall" else rng.standard_normal((len(problem.y), 150)) + 1.0
    weight = problem.weight if weighted else None
    theirs = Ridge(alpha=ALPHA, fit_intercept=fit_intercept, solver="svd")
    theirs.fit(X, problem.y, sample_weight=weight)
    ours = regressor("linear", solver=solver, fit_intercept=fit_intercept)
    ours.fit(X, problem.y, sample_weight=weight)
    assert_same(ours.coef_, theirs.coef_)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, rel=1e-9, abs=1e-12)
    assert_same(ours.predict(X), theirs.predict(X))


SPARSE = [sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix]


@pytest.mark.parametrize("container", SPARSE)
@pytest.mark.parametrize("kernel", ["linear", "wide linear", "rbf", "poly", "laplacian", "cosine"])
def test_sparse_rows_give_the_model_of_dense_rows(kernel, container, problem):
    X = np.where(problem.X > 0.5, problem.X, 0.0)
    X = np.hstack([X, np.eye(len(X), 100)]) if kernel.startswith("wide") else X
    models = [
        regressor(kernel.removeprefix("wide "), epsilon=0.0, y_bins=2).fit(
            rows, problem.y, sensitive_features=problem.s, sample_weight=problem.weight
        )
        for rows in (X, container(X))
    ]
    for rows in (X, container(X)):
        assert_same(models[1].predict(rows), models[0].predict(X))


@pytest.mark.parametrize("kernel", ["chi2", "additive_chi2", "precomputed"])
def test_kernels_that_need_dense_rows_say_so(kernel, problem):
    with pytest.raises(TypeError, match=r"dense data is required.*toarray"):
        regressor(kernel).fit(sparse.csr_array(np.abs(problem.X)), problem.y)


ROWS = {
    "float32": lambda X: X.astype(np.float32),
    "uint8": lambda X: (255 * (X - X.min()) / np.ptp(X)).astype(np.uint8),
    "int64": lambda X: (X * 2.0**40).astype(np.int64),  # whose products overflow
}


@pytest.mark.parametrize("dtype", list(ROWS))
@pytest.mark.parametrize("kernel", ["linear", "wide linear", "rbf", "poly", "callable"])
def test_every_dtype_gives_the_model_of_the_same_numbers_as_float64(kernel, dtype, problem):
    X = ROWS[dtype](np.tile(problem.X, 20) if kernel.startswith("wide") else problem.X)
    spread = float(X.astype(float).std())
    options = {"alpha": ALPHA * spread**2} if "linear" in kernel else {"gamma": spread**-2}
    name = (lambda a, b: (a @ b) / spread**2) if kernel == "callable" else kernel.split()[-1]
    models = [
        regressor(name, epsilon=0.0, y_bins=2, **options).fit(
            rows, problem.y, sensitive_features=problem.s
        )
        for rows in (X, X.astype(np.float64))
    ]
    expected = models[1].predict(X.astype(np.float64))
    assert np.ptp(expected) > 0.1
    assert_same(models[0].predict(X), expected, rtol=1e-11)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_data_frames_keep_their_names_and_give_the_model_of_arrays(kernel, frame, problem):
    names = ["age", "income", "rooms", "distance", "noise"]
    X, X_new = (frame(dict(zip(names, rows.T, strict=True))) for rows in problem[::3])
    array, framed = (
        regressor(kernel, epsilon=0.0, y_bins=2).fit(rows, problem.y, sensitive_features=problem.s)
        for rows in (problem.X, X)
    )
    assert list(framed.feature_names_in_) == names
    assert not hasattr(array, "feature_names_in_")
    assert_same(framed.predict(X_new), array.predict(problem.X_new), rtol=1e-12)
    with pytest.raises(ValueError, match="names should match"):
        framed.predict(X_new[names[::-1]])


def test_a_precomputed_kernel_is_judged_by_its_own_precision(problem):
    X = problem.X.astype(np.float32)
    rounded = X @ X.T  # of rank five: the other eigenvalues are float32 noise around zero
    assert np.linalg.eigvalsh(rounded.astype(np.float64))[0] < -1e-7
    model = FairRegressor(kernel="precomputed", epsilon=None, fit_intercept=False)
    expected = KernelRidge(kernel="linear").fit(problem.X, problem.y).predict(problem.X)
    actual = model.fit(rounded, problem.y).predict(rounded)
    np.testing.assert_allclose(actual, expected, atol=1e-4)
    with pytest.raises(ValueError, match="not positive semi-definite"):
        model.fit(rounded.astype(np.float64), problem.y)


def test_a_callable_that_depends_on_the_order_of_its_arguments_is_refused(problem):
    model = FairRegressor(kernel=lambda a, b: float(a @ b + a[0]), epsilon=None)
    with pytest.raises(ValueError, match="not symmetric"):
        model.fit(problem.X, problem.y)
