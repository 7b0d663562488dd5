"""Fairness as a representation: whatever machine comes after it, the cell means agree."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.linalg import solve_triangular
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import PairwiseKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels, rbf_kernel
from sklearn.svm import SVC, SVR, LinearSVC

from gferm import Bins, FairKernelProjection, FairProjection, FairRegressor
from gferm.exceptions import ConstantModelWarning
from tests.comparing import compared_by

LINEAR = {
    "ridge": Ridge(),
    "ridge through the origin": Ridge(fit_intercept=False),
    "lasso": Lasso(alpha=0.01),
    "logistic regression": LogisticRegression(),
    "linear SVC": LinearSVC(),
}
KERNEL = {
    "kernel ridge": KernelRidge(kernel="precomputed"),
    "SVR": SVR(kernel="precomputed"),
    "SVC": SVC(kernel="precomputed"),
    "Gaussian process": GaussianProcessRegressor(
        PairwiseKernel(metric="precomputed") + WhiteKernel(0.1), optimizer=None
    ),
}
BOTH = [FairProjection, FairKernelProjection]
both = pytest.mark.parametrize("transformer", BOTH)

rng = np.random.default_rng(5)
N = 120
CODE = rng.integers(0, 3, N)
AGE = rng.gamma(3.0, 10.0, N) + 5 * CODE
REGION = np.array(["north", "south", "west"])[CODE]
MEMBER = rng.random(N) < 0.3 + 0.2 * CODE
X = rng.standard_normal((N, 30)) / 5 + np.c_[CODE, AGE / 15, MEMBER, np.ones((N, 27))]
Y = X[:, :6] @ [0.5, 0.4, 0.8, 1.0, -1.0, 0.5] + 0.5 * CODE + 0.3 * rng.standard_normal(N)
WEIGHT = rng.uniform(0.2, 3.0, N)
GRADE = np.where(np.median(Y) < Y, "pass", "fail")
TWO = pd.DataFrame({"region": REGION, "member": MEMBER})

# name: sensitive_features, arguments
CASES = {
    "two groups": (MEMBER, {}),
    "three names": (REGION, {}),
    "quantiles": (AGE, {}),
    "covariance": (AGE, {"s_bins": "continuous"}),
    "intersections": (TWO, {}),
    "margins": (TWO, {"intersectional": False}),
    "groups and covariance": (
        {"region": REGION, "age": AGE},
        {"s_bins": {"age": "continuous"}},
    ),
    "large cells only": (REGION, {"min_cell_size": 15}),
}


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


def outputs(machine, Z, y):
    """What a linear or kernel machine computes before it decides."""
    classify = hasattr(machine, "decision_function")
    machine = clone(machine).fit(Z, y > np.median(y) if classify else y)
    return machine.decision_function if classify else machine.predict


def largest_gap(projection, f, s, weight):
    return np.abs(projection.contrasts_.gaps(f, Y, s, weight)).max()


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain rows", "weighted rows"])
@pytest.mark.parametrize("machine", LINEAR)
def test_every_linear_machine_is_fair_after_it(case, machine, weight):
    s, options = case
    projection = FairProjection(y_bins=3, **options)
    plain = outputs(LINEAR[machine], X, Y)(X)
    Z = projection.fit_transform(X, Y, sensitive_features=s, sample_weight=weight)
    f = outputs(LINEAR[machine], Z, Y)(Z)
    assert largest_gap(projection, f, s, weight) <= 1e-9
    assert largest_gap(projection, plain, s, weight) > 1e-3


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain rows", "weighted rows"])
@pytest.mark.parametrize("machine", KERNEL)
def test_every_kernel_machine_is_fair_after_it(case, machine, weight):
    s, options = case
    projection = FairKernelProjection(gamma=0.1, y_bins=3, **options)
    K = rbf_kernel(X, gamma=0.1)
    plain = outputs(KERNEL[machine], K, Y)(K)
    Z = projection.fit_transform(X, Y, sensitive_features=s, sample_weight=weight)
    f = outputs(KERNEL[machine], Z, Y)
    assert largest_gap(projection, f(Z), s, weight) <= 1e-9
    assert largest_gap(projection, f(projection.transform(X)), s, weight) <= 1e-9
    assert largest_gap(projection, plain, s, weight) > 1e-3


def test_means_measured_by_loops_agree_too():
    Z = FairProjection().fit_transform(X, GRADE, sensitive_features=REGION)
    f = Ridge().fit(Z, Y).predict(Z)
    for grade in ("pass", "fail"):
        means = [f[(grade == GRADE) & (region == REGION)].mean() for region in np.unique(REGION)]
        assert np.ptp(means) <= 1e-12


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_ridge_after_it_is_the_fair_regressor(problem, fit_intercept, weighted):
    weight = problem.weight if weighted else None
    fitted = {"sensitive_features": problem.s, "sample_weight": weight}
    options = {"alpha": 0.7, "fit_intercept": fit_intercept}
    ours = FairRegressor(kernel="linear", y_bins=3, **options).fit(problem.X, problem.y, **fitted)
    projection = FairProjection(y_bins=3).fit(problem.X, problem.y, **fitted)
    ridge = Ridge(**options)
    ridge.fit(projection.transform(problem.X), problem.y, sample_weight=weight)
    for rows in (problem.X, problem.X_new):
        np.testing.assert_allclose(
            ridge.predict(projection.transform(rows)), ours.predict(rows), rtol=1e-9, atol=1e-9
        )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", ["rbf", "polynomial", "laplacian", "precomputed"])
def test_kernel_ridge_after_it_is_the_fair_regressor(problem, kernel, weighted):
    weight = problem.weight if weighted else None
    fitted = {"sensitive_features": problem.s, "sample_weight": weight}
    rows, new = problem.X, problem.X_new
    if kernel == "precomputed":
        rows, new = rbf_kernel(rows), rbf_kernel(new, rows)
    ours = FairRegressor(kernel=kernel, y_bins=3, fit_intercept=False, alpha=0.7)
    ours.fit(rows, problem.y, **fitted)
    projection = FairKernelProjection(kernel, y_bins=3)
    K_fair = projection.fit_transform(rows, problem.y, **fitted)
    ridge = KernelRidge(kernel="precomputed", alpha=0.7)
    ridge.fit(K_fair, problem.y, sample_weight=weight)
    tight = {"rtol": 1e-8, "atol": 1e-8}
    np.testing.assert_allclose(ridge.predict(K_fair), ours.predict(rows), **tight)
    np.testing.assert_allclose(ridge.predict(projection.transform(new)), ours.predict(new), **tight)
    original = projection.fair_kernel_.to_original(ridge.dual_coef_)
    plain = KernelRidge(kernel=kernel).fit(rows, problem.y)
    plain.dual_coef_ = original
    np.testing.assert_allclose(plain.predict(new), ours.predict(new), **tight)


def test_the_linear_kernel_gives_products_of_projected_features(problem):
    fitted = {"sensitive_features": problem.s}
    features = FairProjection(y_bins=3).fit(problem.X, problem.y, **fitted)
    kernel = FairKernelProjection("linear", y_bins=3)
    Z, Z_new = (features.transform(rows) for rows in (problem.X, problem.X_new))
    K_fair = kernel.fit_transform(problem.X, problem.y, **fitted)
    np.testing.assert_allclose(K_fair, Z @ Z.T, atol=1e-12)
    np.testing.assert_allclose(kernel.transform(problem.X_new), Z_new @ Z.T, atol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(problem.X_new), (Z_new**2).sum(axis=1), atol=1e-12)


def test_directions_are_orthonormal_and_projecting_twice_changes_nothing(problem):
    projection = FairProjection(y_bins=3)
    Z = projection.fit_transform(problem.X, problem.y, sensitive_features=problem.s)
    Q = projection.directions_
    np.testing.assert_allclose(Q.T @ Q, np.eye(Q.shape[1]), atol=1e-14)
    np.testing.assert_allclose(projection.transform(Z), Z, atol=1e-14)
    again = FairProjection(y_bins=3).fit(Z, problem.y, sensitive_features=problem.s)
    assert again.directions_.shape[1] == 0


@pytest.mark.parametrize("kernel", [k for k in PAIRWISE_KERNEL_FUNCTIONS if "additive" not in k])
def test_every_kernel_gives_a_symmetric_semidefinite_matrix_once_evaluated(problem, kernel):
    rows = np.abs(problem.X) if "chi2" in kernel else problem.X / 10
    projection = FairKernelProjection(kernel, y_bins=2, coef0=0.0 if kernel == "sigmoid" else 1.0)
    if kernel == "sigmoid":  # many features and small values: close to a linear kernel
        rows = np.random.default_rng(1).standard_normal((len(rows), 600)) / 35
    fitted = {"sensitive_features": problem.s}
    K_fair = projection.fit_transform(rows, problem.y, **fitted)
    np.testing.assert_array_equal(K_fair, K_fair.T)
    assert np.linalg.eigvalsh(K_fair)[0] > -1e-12 * np.linalg.norm(K_fair, 2)
    separate = clone(projection).fit(rows, problem.y, **fitted).transform(rows)
    np.testing.assert_allclose(K_fair, separate, atol=1e-9)


def test_fit_transform_evaluates_the_kernel_once(problem):
    calls = []

    def product(a, b):
        calls.append(1)
        return a @ b

    projection = FairKernelProjection(product, y_bins=1)
    projection.fit_transform(problem.X, problem.y, sensitive_features=problem.s)
    n = len(problem.y)
    assert len(calls) <= n * (n + 1) / 2 + 64  # one triangle, and a look at the other


def test_precomputed_and_callable_give_the_named_kernel(problem):
    fitted = {"sensitive_features": problem.s, "sample_weight": np.round(problem.weight)}
    K, K_new = (rbf_kernel(rows, problem.X, gamma=0.3) for rows in (problem.X, problem.X_new))
    named = FairKernelProjection(gamma=0.3, y_bins=2)
    given = FairKernelProjection("precomputed", y_bins=2)
    called = FairKernelProjection(
        lambda a, b, g: np.exp(-g * ((a - b) ** 2).sum()), kernel_params={"g": 0.3}, y_bins=2
    )
    untouched = K.copy()
    expected = named.fit_transform(problem.X, problem.y, **fitted)
    np.testing.assert_allclose(given.fit_transform(K, problem.y, **fitted), expected, atol=1e-12)
    np.testing.assert_array_equal(K, untouched)
    np.testing.assert_allclose(
        called.fit_transform(problem.X, problem.y, **fitted), expected, atol=1e-12
    )
    new = named.transform(problem.X_new)
    np.testing.assert_allclose(given.transform(K_new), new, atol=1e-12)
    np.testing.assert_allclose(called.transform(problem.X_new), new, atol=1e-12)


@both
@pytest.mark.parametrize("s", [REGION, AGE], ids=["groups", "quantiles"])
def test_an_integer_weight_is_a_repeated_row_and_zero_is_none(transformer, s):
    times = np.random.default_rng(6).integers(0, 4, N)
    times[[np.argmin(Y), np.argmax(Y)]] = 0  # the bins are those of the rows that count
    rows = np.repeat(np.arange(N), times)
    weighted, repeated = (transformer(y_bins=3) for _ in range(2))
    Z = weighted.fit_transform(X, Y, sensitive_features=s, sample_weight=times)
    again = repeated.fit_transform(X[rows], Y[rows], sensitive_features=s[rows])
    assert Z.shape[0] == N
    if transformer is FairProjection:
        np.testing.assert_allclose(Z[rows], again, atol=1e-9)
    else:
        np.testing.assert_allclose(Z[np.ix_(rows, rows)], again, atol=1e-9)
    unweighted = transformer(y_bins=3).fit_transform(X, Y, sensitive_features=s)
    assert np.abs(unweighted - Z).max() > 1e-3


@both
def test_auto_bins_of_the_label_are_its_classes_or_ten_uniform_bins(transformer):
    def bins(y, **options):
        fitted = transformer(**options).fit(X, y, sensitive_features=MEMBER)
        return fitted.cells_.label_bins.labels

    few, digits = np.round(2 * Y), np.array([3, 1, 2])[CODE]
    assert bins(GRADE) == bins(pd.Series(GRADE, dtype="category")) == ("fail", "pass")
    assert bins(GRADE.astype(object)) == ("fail", "pass")
    assert bins(digits) == bins(digits.astype(str)) == ("1", "2", "3")
    assert bins(GRADE == "pass") == ("False", "True")
    assert np.unique(few).size > 10
    assert bins(few) == bins(few, y_bins=10) == bins(few.astype(object))
    assert bins(GRADE, y_bins=1) == bins(Y, y_bins=1) == ("all",)
    assert bins(GRADE, y_bins=Bins.categories(["pass"])) == ("pass",)


def group_centred():
    s = np.random.default_rng(0).integers(0, 3, 400)
    rows = np.random.default_rng(1).normal(size=(400, 5)) + s[:, None]
    for group in range(3):
        rows[s == group] -= rows[s == group].mean(axis=0)
    return rows, s


@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_groups_that_agree_already_lose_nothing(shift):
    rows, s = group_centred()
    projection = FairProjection(y_bins=1)
    Z = projection.fit_transform(rows + shift, rows[:, 0], sensitive_features=s)
    assert projection.directions_.shape == (5, 0)
    np.testing.assert_array_equal(Z, rows + shift)


def test_a_small_real_difference_is_not_rounding():
    rows, s = group_centred()
    rows[:, 0] += 1e-9 * s
    projection = FairProjection(y_bins=1)
    Z = projection.fit_transform(rows, rows[:, 0], sensitive_features=s)
    assert projection.directions_.shape == (5, 1)
    C = compared_by(projection, rows[:, 0], s).columns
    assert np.abs(C.T @ Z).max() < 1e-14
    assert np.abs(C.T @ rows).max() > 5e-10


def test_rows_far_from_the_origin_lose_no_digits():
    rows, s = group_centred()
    rows[:, 0] += 1e-8 * s
    projection = FairProjection(y_bins=1)
    Z = projection.fit_transform(rows + 1e6, rows[:, 0], sensitive_features=s)
    C = compared_by(projection, rows[:, 0], s).columns
    assert np.abs(C.T @ (rows + 1e6)).max() > 5e-9
    assert np.abs(C.T @ (Z - Z[0])).max() < 1e-10  # of 1e6


def test_identical_groups_keep_their_kernel(problem):
    rows, y = np.tile(problem.X, (2, 1)), np.tile(problem.y, 2)
    s = np.repeat([0, 1], len(problem.y))
    K_fair = FairKernelProjection(y_bins=3).fit_transform(rows, y, sensitive_features=s)
    np.testing.assert_allclose(K_fair, rbf_kernel(rows), atol=1e-14)


def test_features_in_other_units_are_told_apart_from_rounding():
    rows, units = X[:, :6], 10.0 ** np.arange(-9, 9, 3)
    plain, scaled = (FairProjection(y_bins=2) for _ in range(2))
    plain.fit(rows, Y, sensitive_features=REGION)
    scaled.fit(rows * units, Y, sensitive_features=REGION)
    assert plain.directions_.shape == scaled.directions_.shape == (6, 4)


@both
def test_contrasts_that_use_everything_up_say_so_and_leave_no_noise(problem, transformer):
    rows, y = problem.X[:, :2], problem.y
    options = {} if transformer is FairProjection else {"kernel": "linear"}
    projection = transformer(y_bins=4, **options)
    with pytest.warns(ConstantModelWarning, match="use up the (features|kernel)") as caught:
        Z = projection.fit_transform(rows, y, sensitive_features=problem.s)
    assert len(caught) == 1
    np.testing.assert_allclose(Z, 0.0, atol=0.0 if transformer is FairProjection else 1e-11)


def test_a_scaler_after_it_finds_no_noise_to_blow_up():
    rows, s = group_centred()
    rows = np.c_[rows, s == 1, s == 2]
    Z = FairProjection(y_bins=1).fit_transform(rows, rows[:, 0], sensitive_features=s)
    assert not Z[:, 5:].any()
    np.testing.assert_allclose(Z[:, :5], rows[:, :5], atol=1e-12)


SPARSE = [sparse.csr_array, sparse.csc_array, sparse.csr_matrix]


@both
@pytest.mark.parametrize("container", SPARSE)
def test_sparse_rows_give_the_dense_result_of_dense_rows(problem, transformer, container):
    rows = np.where(problem.X > 0.5, problem.X, 0.0)
    dense, sparse_ = (
        transformer(y_bins=2).fit(given, problem.y, sensitive_features=problem.s)
        for given in (rows, container(rows))
    )
    Z = sparse_.transform(container(rows))
    assert isinstance(Z, np.ndarray)
    np.testing.assert_allclose(Z, dense.transform(rows), atol=1e-12)


def test_float32_stays_and_is_computed_in_float64(problem):
    rows = problem.X.astype(np.float32)
    projection = FairProjection(y_bins=2)
    Z = projection.fit_transform(rows, problem.y, sensitive_features=problem.s)
    wide = projection.transform(rows.astype(np.float64))
    assert (Z.dtype, wide.dtype) == (np.float32, np.float64)
    np.testing.assert_array_equal(Z, wide.astype(np.float32))


def test_a_gaussian_process_and_its_variance_by_the_recipe(problem):
    projection = FairKernelProjection(gamma=0.3, y_bins=3)
    K_fair = projection.fit_transform(problem.X, problem.y, sensitive_features=problem.s)
    K_new = projection.transform(problem.X_new)
    kernel = PairwiseKernel(metric="precomputed") + WhiteKernel(0.1)
    process = GaussianProcessRegressor(kernel, optimizer=None).fit(K_fair, problem.y)
    prior = projection.diagonal(problem.X_new)
    variance = prior - (solve_triangular(process.L_, K_new.T, lower=True) ** 2).sum(axis=0)
    noisy = K_fair + 0.1 * np.eye(len(K_fair))
    np.testing.assert_allclose(process.predict(K_new), K_new @ np.linalg.solve(noisy, problem.y))
    a = projection.fair_kernel_.locate(rbf_kernel(problem.X_new, problem.X, gamma=0.3))
    full = rbf_kernel(problem.X_new, gamma=0.3) - a @ a.T
    expected = (full - K_new @ np.linalg.solve(noisy, K_new.T)).diagonal()
    np.testing.assert_allclose(variance, expected, rtol=1e-7)
    assert (variance > 0.0).all()
    known = projection.transform(problem.X).diagonal()
    np.testing.assert_allclose(projection.diagonal(problem.X), known, atol=1e-12)


def test_the_diagonal_of_a_precomputed_kernel_is_for_the_user_to_know(problem):
    K = rbf_kernel(problem.X)
    given = FairKernelProjection("precomputed", y_bins=2)
    given.fit(K, problem.y, sensitive_features=problem.s)
    with pytest.raises(ValueError, match=r"does not tell κ\(z, z\).*fair_kernel_\.diagonal"):
        given.diagonal(K)
    named = FairKernelProjection(y_bins=2).fit(problem.X, problem.y, sensitive_features=problem.s)
    np.testing.assert_allclose(
        given.fair_kernel_.diagonal(np.ones(len(K)), K), named.diagonal(problem.X), atol=1e-12
    )


def test_it_is_four_lines_of_dense_algebra(problem):
    projection = FairKernelProjection("polynomial", degree=2, gamma=0.5, coef0=2.0, y_bins=2)
    K_fair = projection.fit_transform(problem.X, problem.y, sensitive_features=problem.s)
    C = compared_by(projection, problem.y, problem.s).columns.toarray()
    K = pairwise_kernels(problem.X, metric="polynomial", degree=2, gamma=0.5, coef0=2.0)
    expected = K - K @ C @ np.linalg.pinv(C.T @ K @ C) @ C.T @ K
    np.testing.assert_allclose(K_fair, expected, atol=1e-10 * np.abs(K).max())
