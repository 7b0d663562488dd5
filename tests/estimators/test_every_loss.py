"""Rows in any form, and weights, give every loss the model of the same numbers."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from gferm import FairClassifier, FairRegressor
from gferm.losses import Huber, Quantile
from gferm.solver import choose_solver
from tests.estimators.models import LEARNERS, labels_for, learner, values

KERNELS = ["linear", "rbf", "poly", "laplacian", "cosine"]
every_epsilon = pytest.mark.parametrize("epsilon", [None, 0.0, 0.02])


@pytest.fixture(params=LEARNERS)
def name(request):
    return request.param


def fit(name, problem, X=None, weight=None, **options):
    """To a precision at which solutions can be told apart."""
    model = learner(name, **{"epsilon": 0.0, "tol": 1e-10} | options)
    y, X = labels_for(name, problem), problem.X if X is None else X
    return model.fit(X, y, sensitive_features=problem.s, sample_weight=weight)


def assert_same(actual, desired, tolerance=1e-4):
    assert np.ptp(desired) > 0.1
    np.testing.assert_allclose(actual, desired, rtol=0, atol=tolerance * np.abs(desired).max())


@every_epsilon
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_an_integer_weight_is_a_repeated_row_and_zero_is_none(name, kernel, epsilon, problem):
    times = np.random.default_rng(6).integers(0, 4, 70)
    times[[problem.y.argmin(), problem.y.argmax()]] = 1  # the same bins for all
    rows = np.repeat(np.arange(70), times)
    y, options = labels_for(name, problem), {"kernel": kernel, "epsilon": epsilon, "tol": 1e-10}
    weighted = fit(name, problem, weight=times, **options)
    repeated = learner(name, **options)
    repeated.fit(problem.X[rows], y[rows], sensitive_features=problem.s[rows])
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-9)
    assert_same(values(weighted, problem.X), values(repeated, problem.X))
    unweighted = fit(name, problem, **options)
    assert np.abs(values(unweighted, problem.X) - values(weighted, problem.X)).max() > 0.01


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix])
@pytest.mark.parametrize("kernel", ["linear", "wide linear", "rbf", "poly"])
def test_sparse_rows_give_the_model_of_dense_rows(name, kernel, container, problem):
    X = np.where(problem.X > 0.5, problem.X, 0.0)
    X = np.hstack([X, np.eye(len(X), 100)]) if kernel.startswith("wide") else X
    options = {"kernel": kernel.removeprefix("wide "), "weight": problem.weight}
    dense, thin = (fit(name, problem, rows, **options) for rows in (X, container(X)))
    for rows in (X, container(X)):
        assert_same(values(thin, rows), values(dense, X))


ROWS = {
    "float32": lambda X: X.astype(np.float32),
    "int16": lambda X: (X * 2.0**11).astype(np.int16),
}


@pytest.mark.parametrize("dtype", ROWS)
@pytest.mark.parametrize("kernel", ["linear", "wide linear", "rbf"])
def test_every_dtype_gives_the_model_of_the_same_numbers_as_float64(name, kernel, dtype, problem):
    X = ROWS[dtype](np.tile(problem.X, 20) if kernel.startswith("wide") else problem.X)
    spread = float(X.astype(float).std())
    options = {"alpha": 0.3 * spread**2} if "linear" in kernel else {"gamma": 0.2 * spread**-2}
    options["kernel"] = kernel.removeprefix("wide ")
    narrow, double = (fit(name, problem, rows, **options) for rows in (X, X.astype(np.float64)))
    assert_same(values(narrow, X), values(double, X.astype(np.float64)))


def dot(a, b):
    return a @ b


FORMULAS = {
    "linear": dot,
    "rbf": lambda a, b: np.exp(-0.1 * np.sum((a - b) ** 2)),
    "poly": lambda a, b: (0.1 * (a @ b) + 1.0) ** 3,
    "laplacian": lambda a, b: np.exp(-0.1 * np.sum(np.abs(a - b))),
    "cosine": lambda a, b: a @ b / np.sqrt((a @ a) * (b @ b)),
}


@pytest.mark.parametrize("epsilon", [None, 0.0, 0.01])
@pytest.mark.parametrize("kernel", KERNELS)
def test_precomputed_and_callable_give_the_model_of_the_named_kernel(
    name, kernel, epsilon, problem
):
    matrix = {"metric": kernel, "filter_params": True, "gamma": 0.1, "degree": 3, "coef0": 1}
    K, K_new = (pairwise_kernels(rows, problem.X, **matrix) for rows in (problem.X, problem.X_new))
    untouched = K.copy()
    options = {
        "weight": np.where(problem.weight > 0.5, problem.weight, 0.0),  # rows left out, too
        "epsilon": epsilon,
    }
    named = fit(name, problem, kernel=kernel, **options)
    precomputed = fit(name, problem, K, kernel="precomputed", **options)
    by_hand = fit(name, problem, kernel=FORMULAS[kernel], **options)
    expected = values(named, problem.X_new)
    assert_same(values(precomputed, K_new), expected)
    assert_same(values(by_hand, problem.X_new), expected)
    np.testing.assert_array_equal(K, untouched)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_data_frames_keep_their_names_and_give_the_model_of_arrays(name, kernel, frame, problem):
    columns = ["age", "income", "rooms", "distance", "noise"]
    X, X_new = (frame(dict(zip(columns, rows.T, strict=True))) for rows in problem[::3])
    array, framed = (fit(name, problem, rows, kernel=kernel) for rows in (problem.X, X))
    assert list(framed.feature_names_in_) == columns
    assert not hasattr(array, "feature_names_in_")
    assert_same(values(framed, X_new), values(array, problem.X_new))
    with pytest.raises(ValueError, match="names should match"):
        framed.predict(X_new[columns[::-1]])


@pytest.mark.parametrize("container", [pd.Series, pl.Series, list])
def test_labels_and_groups_of_any_container_give_the_model_of_arrays(name, container, problem):
    y, s = labels_for(name, problem), np.where(problem.s == 1, "b", "a")
    model = learner(name, tol=1e-10)
    model.fit(problem.X, container(y.tolist()), sensitive_features=container(s.tolist()))
    assert_same(values(model, problem.X), values(fit(name, problem), problem.X), 1e-12)


@pytest.mark.parametrize("epsilon", [None, 0.0, 0.01])
def test_more_features_than_rows_are_solved_in_the_rows(name, epsilon, problem):
    X = np.hstack([problem.X, np.random.default_rng(2).standard_normal((70, 150)) / 10])
    wide = fit(name, problem, X, kernel="linear", epsilon=epsilon)
    assert wide.solver_.form == "kernel"
    assert wide.coef_.shape[-1] == 155
    by_rows = fit(name, problem, X @ X.T, kernel="precomputed", epsilon=epsilon)
    assert_same(values(wide, X), values(by_rows, X @ X.T))


@every_epsilon
@pytest.mark.parametrize("solver", ["auto", "cholesky", "spectrum"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_solver_is_the_one_asked_for_and_all_find_the_same(
    name, kernel, solver, epsilon, problem
):
    kind, loss = LEARNERS[name]
    model = fit(name, problem, kernel=kernel, solver=solver, epsilon=epsilon)
    told = choose_solver(
        kernel=kernel, n_samples=70, n_features=5, alpha=0.3, solver=solver, loss=loss,
        epsilon=epsilon,
    )  # fmt: skip
    assert model.solver_ == told
    assert solver == "auto" or told.factorization == solver
    if kind is FairClassifier and loss == "hinge" and not epsilon:
        svm = fit(name, problem, kernel=kernel, solver="libsvm", epsilon=epsilon)
        assert svm.solver_.method == "libsvm"
        assert_same(values(model, problem.X), values(svm, problem.X))
    auto = fit(name, problem, kernel=kernel, epsilon=epsilon)
    assert_same(values(model, problem.X), values(auto, problem.X))


@pytest.mark.parametrize("loss", [Huber(0.5), Quantile(0.9)], ids=repr)
def test_a_loss_with_parameters_is_not_the_one_of_its_name(loss, problem):
    name = f"{type(loss).__name__.lower()} of numbers"
    own, default = fit(name, problem, loss=loss), fit(name, problem)
    assert np.abs(values(own, problem.X) - values(default, problem.X)).max() > 0.1


@pytest.mark.parametrize("loss", ["squared", "hinge", "log_loss", "huber"])
def test_wide_rows_far_from_zero_are_as_fair_as_those_near_it(loss):
    # Products of such rows are 1e10 times their differences: the mean must go before.
    rng = np.random.default_rng(0)
    s = rng.integers(0, 2, 60)
    X = rng.normal(size=(60, 150)) + 0.5 * s[:, None]
    z = X[:, :5].sum(axis=1) + s + rng.normal(size=60)
    make = FairRegressor if loss in ("squared", "huber") else FairClassifier
    y = z if make is FairRegressor else z > np.median(z)
    options = {"kernel": "linear", "y_bins": 1, "epsilon": 0.01}
    near = make(loss, **options).fit(X, y, sensitive_features=s)
    far = make(loss, **options).fit(X + 1e5, y, sensitive_features=s)
    f = np.ravel((X + 1e5) @ np.ravel(far.coef_) + far.intercept_)
    assert np.abs(far.contrasts_.gaps(f, y, s)).mean() <= 0.01 + 1e-8
    np.testing.assert_allclose(np.ravel(far.coef_), np.ravel(near.coef_), atol=1e-4)
