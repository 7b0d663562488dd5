"""Models on landmarks: all rows as landmarks are the exact model; fewer are Ridge on features."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge

from gferm import FairClassifier, FairRegressor, FairRegressorCV, frontier
from gferm.features import kernel as kernel_file
from gferm.features.nystroem import KernelRows
from gferm.features.space import FunctionSpace
from gferm.solver import choose_solver
from tests.estimators.models import LEARNERS, labels_for, learner, values
from tests.problems import cell_mean_gaps

KERNELS = {
    "rbf": {"gamma": 0.2},
    "laplacian": {"kernel": "laplacian", "gamma": 0.2},
    "cosine": {"kernel": "cosine"},
    "poly": {"kernel": "poly", "degree": 2, "gamma": 0.5},
    "callable": {"kernel": lambda a, b: float(np.exp(-0.2 * np.abs(a - b).sum()))},
}
EDGES = [-20.0, 0.0, 20.0]
VARIANTS = {
    "epsilon": {"epsilon": 0.05},
    "plain": {"epsilon": None},
    "sum": {"epsilon": 0.05, "epsilon_scale": "sum"},
    "residual": {"match": "residual"},
    "residual, some": {"match": "residual", "epsilon": 0.3},
    "no intercept": {"fit_intercept": False},
    "continuous": {"s_bins": "continuous"},
    "spectrum": {"solver": "spectrum"},
    "no penalty": {"alpha": 0.0},
    "small cells": {"min_cell_size": 6, "y_bins": 5},
}


def fit(problem, X=None, weight=None, y=None, **options):
    model = FairRegressor(**{"y_bins": EDGES, "alpha": 0.5, "gamma": 0.2} | options)
    X, y = problem.X if X is None else X, problem.y if y is None else y
    return model.fit(X, y, sensitive_features=problem.s, sample_weight=weight)


def assert_same_model(found, expected, X, digits=1e-8):
    scale = np.ptp(expected.predict(X))
    np.testing.assert_allclose(found.predict(X), expected.predict(X), rtol=0, atol=digits * scale)
    assert found.objective_ == pytest.approx(expected.objective_, rel=digits)
    assert found.violation_ == pytest.approx(expected.violation_, abs=digits)
    assert found.active_ == expected.active_


@pytest.mark.parametrize("epsilon", [None, 0.0, 0.05])
@pytest.mark.parametrize("name", KERNELS)
def test_all_rows_as_landmarks_are_the_exact_model(name, epsilon, problem):
    options = KERNELS[name] | {"epsilon": epsilon}
    exact, found = fit(problem, **options), fit(problem, n_landmarks=70, **options)
    assert found.solver_.form == "landmarks"
    assert_same_model(found, exact, problem.X_new)


@pytest.mark.parametrize("gamma", [0.01, 0.05])
def test_a_wide_kernel_keeps_the_directions_that_matter(gamma, problem):
    options = {"gamma": gamma, "alpha": 1e-4}
    exact, found = fit(problem, **options), fit(problem, n_landmarks=70, **options)
    assert_same_model(found, exact, problem.X_new, 1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", VARIANTS)
def test_every_argument_means_what_it_means_to_the_exact_model(name, weighted, problem):
    weight = np.where(problem.weight > 0.5, problem.weight, 0.0) if weighted else None
    exact = fit(problem, weight=weight, **VARIANTS[name])
    # landmarks of weight zero change nothing: the optimum lies in the span of the others
    found = fit(problem, weight=weight, landmarks=problem.X, **VARIANTS[name])
    # with alpha=0 the exact model is that of smallest norm among those that fit every row
    assert_same_model(found, exact, problem.X_new, 1e-8 if found.alpha else 1e-5)
    if name != "no penalty":
        np.testing.assert_allclose(found.multipliers_, exact.multipliers_, rtol=1e-6, atol=1e-8)
    assert 0.0 <= found.duality_gap_ < 1e-9


@pytest.mark.parametrize("solver", ["cholesky", "spectrum"])
@pytest.mark.parametrize("epsilon", [None, 0.0, 0.02])
@pytest.mark.parametrize("name", LEARNERS)
def test_every_loss_learns_the_exact_model_on_all_rows(name, epsilon, solver, problem):
    y, models = labels_for(name, problem), []
    for landmarks in ("uniform", problem.X):
        options = {"gamma": 0.2, "tol": 1e-10, "solver": solver}
        model = learner(name, epsilon=epsilon, landmarks=landmarks, **options)
        models.append(model.fit(problem.X, y, sensitive_features=problem.s))
    exact, found = models
    assert found.solver_.form == "landmarks"
    assert found.duality_gap_ < 1e-9
    assert found.objective_ == pytest.approx(exact.objective_, rel=1e-8)
    expected = values(exact, problem.X_new)
    np.testing.assert_allclose(
        values(found, problem.X_new), expected, rtol=0, atol=1e-4 * np.ptp(expected)
    )


@pytest.mark.parametrize("loss", ["hinge", "log_loss", "squared"])
def test_several_classes_are_several_exact_models(loss, ternary):
    data = {"sensitive_features": ternary.s, "sample_weight": ternary.weight}
    options = {"loss": loss, "gamma": 0.1, "alpha": 0.5, "tol": 1e-9}
    exact = FairClassifier(**options).fit(ternary.X, ternary.y, **data)
    found = FairClassifier(**options, landmarks=ternary.X).fit(ternary.X, ternary.y, **data)
    assert found.dual_coef_.shape == (3, 100)
    np.testing.assert_allclose(
        values(found, ternary.X_new), values(exact, ternary.X_new), atol=1e-3
    )
    assert found.objective_ == pytest.approx(exact.objective_, rel=1e-7)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["rbf", "laplacian", "poly"])
def test_without_a_constraint_it_is_ridge_on_nystroem_features(
    name, weighted, fit_intercept, problem
):
    options, weight = KERNELS[name], problem.weight if weighted else None
    features = Nystroem(**{"kernel": "rbf", "coef0": 1, **options}, n_components=9)
    features.set_params(degree=options.get("degree")).fit(problem.X[:9])
    expected = Ridge(alpha=0.5, fit_intercept=fit_intercept)
    expected.fit(features.transform(problem.X), problem.y, sample_weight=weight)
    model = FairRegressor(
        **options, alpha=0.5, epsilon=None, landmarks=problem.X[:9], fit_intercept=fit_intercept
    ).fit(problem.X, problem.y, sample_weight=weight)
    np.testing.assert_allclose(
        model.predict(problem.X_new), expected.predict(features.transform(problem.X_new)), atol=1e-8
    )


@pytest.mark.parametrize("landmarks", ["uniform", "leverage", "kmeans"])
@pytest.mark.parametrize("epsilon", [0.0, 0.05])
@pytest.mark.parametrize("match", ["prediction", "residual"])
def test_the_constraint_is_met_on_all_training_rows(match, epsilon, landmarks, problem):
    model = fit(
        problem, n_landmarks=15, landmarks=landmarks, epsilon=epsilon, match=match,
        weight=problem.weight, random_state=0,
    )  # fmt: skip
    f = model.predict(problem.X) - (problem.y if match == "residual" else 0.0)
    gaps = cell_mean_gaps(f, problem.y, problem.s, EDGES, problem.weight)
    assert np.abs(gaps).mean() == pytest.approx(epsilon, abs=1e-9)
    assert 0.0 <= model.duality_gap_ < 1e-9
    assert model.X_fit_.shape == (15, 5)


@settings(max_examples=15, deadline=None)
@given(order=st.permutations(range(20)), epsilon=st.sampled_from([None, 0.0, 0.05]))
def test_the_order_of_the_landmarks_does_not_matter(problem, order, epsilon):
    points = problem.X[:20]
    expected = fit(problem, landmarks=points, epsilon=epsilon)
    found = fit(problem, landmarks=points[order], epsilon=epsilon)
    assert_same_model(found, expected, problem.X_new)
    by_point = [
        dict(zip(map(tuple, model.X_fit_), model.dual_coef_, strict=True))
        for model in (found, expected)
    ]
    assert by_point[0] == pytest.approx(by_point[1], abs=1e-6)


def test_landmarks_that_come_twice_change_nothing(problem):
    points = problem.X[:10]
    twice = np.vstack([points, points[::-1]])
    found, expected = (fit(problem, landmarks=rows) for rows in (twice, points))
    assert_same_model(found, expected, problem.X_new)
    assert found.X_fit_.shape == (10, 5)  # what others explain is left out


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("name", ["squared", "hinge of classes"])
def test_sparse_rows_give_the_model_of_dense_rows(name, container, problem):
    X = np.where(problem.X > 0.5, problem.X, 0.0)
    kind = FairRegressor if name == "squared" else FairClassifier
    y = problem.y if name == "squared" else labels_for(name, problem)
    model = kind(gamma=0.2, n_landmarks=12, random_state=0)
    dense = clone(model).set_params(s_bins="auto").fit(X, y, sensitive_features=problem.s)
    thin = model.fit(container(X), y, sensitive_features=problem.s)
    assert sparse.issparse(thin.X_fit_)
    np.testing.assert_allclose(values(thin, container(X)), values(dense, X), atol=1e-6)


@pytest.mark.parametrize("way", ["uniform", "leverage", "kmeans"])
def test_the_random_state_chooses_the_landmarks_and_nothing_else(way, problem):
    options = {"n_landmarks": 12, "landmarks": way}
    one, again, other = (fit(problem, random_state=seed, **options) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.predict(problem.X_new), again.predict(problem.X_new))
    assert np.abs(one.predict(problem.X_new) - other.predict(problem.X_new)).max() > 1e-6
    given = fit(problem, landmarks=one.X_fit_)
    assert_same_model(given, one, problem.X_new, 1e-10)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_to_sklearn_predicts_the_same(fit_intercept, problem, binary):
    model = fit(problem, n_landmarks=12, fit_intercept=fit_intercept)
    plain = model.to_sklearn().predict(problem.X_new)
    np.testing.assert_allclose(plain, model.predict(problem.X_new), atol=1e-12)
    model = FairClassifier(n_landmarks=12, fit_intercept=fit_intercept)
    model.fit(binary.X, binary.y, sensitive_features=binary.s)
    plain = model.to_sklearn()
    np.testing.assert_array_equal(plain.predict(binary.X_new), model.predict(binary.X_new))
    np.testing.assert_allclose(
        plain.decision_function(binary.X_new), model.decision_function(binary.X_new), atol=1e-12
    )


def test_a_frontier_on_landmarks_holds_the_fits_on_them(problem):
    options = {"y_bins": EDGES, "gamma": 0.2, "n_landmarks": 20, "random_state": 0}
    path = frontier(problem.X, problem.y, sensitive_features=problem.s, **options)
    for share in (0.0, 0.3, 0.9):
        epsilon = share * path.epsilons[0]
        alone = FairRegressor(epsilon=epsilon, **options)
        alone.fit(problem.X, problem.y, sensitive_features=problem.s)
        assert_same_model(path.at(epsilon), alone, problem.X_new)
        np.testing.assert_allclose(
            path.predict(problem.X_new, [epsilon])[0], alone.predict(problem.X_new), atol=1e-9
        )


def test_predicting_holds_few_rows_of_the_kernel_at_once(problem, monkeypatch):
    model, sizes = fit(problem, n_landmarks=10), []
    monkeypatch.setattr(kernel_file, "PRODUCT_BLOCK", 70)
    original = kernel_file.Kernel.fill
    monkeypatch.setattr(
        kernel_file.Kernel,
        "fill",
        lambda self, out, *rest: sizes.append(out.shape) or original(self, out, *rest),
    )
    expected = model.to_sklearn().predict(problem.X_new)
    np.testing.assert_allclose(model.predict(problem.X_new), expected, atol=1e-12)
    assert sizes == [(7, 10), (7, 10), (6, 10)]


def test_wide_kernels_lose_no_digits_in_sums_over_many_rows():
    """Against the same features and a least-squares solver that squares no condition number."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 4))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=4000)
    model = FairRegressor(gamma=0.02, alpha=1e-3, epsilon=None, landmarks=X[:200]).fit(X, y)
    landmarks = FunctionSpace.of(model).find_landmarks(X)
    phi = landmarks.finish(landmarks.features(X)[:].T).T
    centred, level = phi - phi.mean(axis=0), y.mean()
    stacked = np.vstack([centred, np.sqrt(model.alpha) * np.eye(phi.shape[1])])
    weights = np.linalg.lstsq(stacked, np.r_[y - level, np.zeros(phi.shape[1])], rcond=None)[0]
    np.testing.assert_allclose(model.predict(X), centred @ weights + level, atol=1e-7)


@pytest.mark.parametrize("kernel", ["linear", "precomputed"])
@pytest.mark.parametrize("given", [{"n_landmarks": 3}, {"landmarks": np.ones((3, 70))}])
def test_kernels_without_landmarks_refuse_them(kernel, given, problem):
    X = problem.X @ problem.X.T
    with pytest.raises(ValueError, match=f"kernel='{kernel}' cannot have any"):
        fit(problem, X, kernel=kernel, **given)
    search = FairRegressorCV(alphas=[1.0], kernel=kernel, **given)
    with pytest.raises(ValueError, match=f"kernel='{kernel}' cannot have any"):
        search.fit(X, problem.y, sensitive_features=problem.s)


def test_libsvm_knows_no_landmarks():
    with pytest.raises(ValueError, match="solver='libsvm' knows no landmarks"):
        choose_solver(
            kernel="rbf", n_samples=9, n_features=2, n_landmarks=3, alpha=1.0, solver="libsvm",
            loss="hinge",
        )  # fmt: skip


def test_a_search_with_the_square_loss_never_holds_the_features_of_all_rows(monkeypatch):
    largest, original = [], KernelRows.evaluate

    def watched(rows, which):
        values = original(rows, which)
        largest.append(len(values))
        return values

    monkeypatch.setattr(KernelRows, "evaluate", watched)
    monkeypatch.setattr("gferm.features.moments.BLOCK", 2**14)
    rng, n = np.random.default_rng(0), 40_000
    rows, s = rng.normal(size=(n, 3)), rng.integers(0, 2, n)
    y = np.sin(rows[:, 0]) + 0.3 * s
    search = FairRegressorCV(gammas=[0.5], alphas=[0.1, 1.0], n_landmarks=8, y_bins=2, cv=3)
    search.fit(rows, y, sensitive_features=s)
    assert sum(largest) > n
    assert max(largest) < n
