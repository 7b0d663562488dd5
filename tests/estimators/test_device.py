"""Where a model is computed changes nothing about it: device="cuda" is device="cpu".

The same rows, weights and parameters once with NumPy and once with torch.
"""

import sys
from typing import NamedTuple

import joblib
import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import LinAlgWarning
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gferm import FairClassifier, FairClassifierCV, FairRegressor, FairRegressorCV, frontier
from gferm.arrays.device import TorchDevice, open_device
from gferm.features.kernel import Kernel
from gferm.losses import CLASSIFICATION_LOSSES
from tests.estimators.models import ROBUST_LOSSES
from tests.gpu import lend_gpu

CLOSED, ITERATED = 1e-9, 1e-6  # digits of a closed form, and of what stops at tol=1e-8


@pytest.fixture(autouse=True)
def torch_gpu(monkeypatch):
    return lend_gpu(monkeypatch)


class Rows(NamedTuple):
    """What a fit and a predict take."""

    X: object
    y: np.ndarray
    s: np.ndarray
    X_new: object
    weight: np.ndarray


def overlap(a, b):
    """A kernel that scikit-learn does not know."""
    return float(np.exp(-np.abs(a - b).sum() / 4))


def fit(model, rows, weighted=False):
    options = {"sample_weight": rows.weight} if weighted else {}
    return model.fit(rows.X, rows.y, sensitive_features=rows.s, **options)


def values(model, X):
    return np.asarray(getattr(model, "decision_function", model.predict)(X))


def assert_same(found, expected, rows, digits):
    """The same numbers, beside the size of what they are."""
    ours, theirs = values(found, rows.X_new), values(expected, rows.X_new)
    np.testing.assert_allclose(ours, theirs, atol=digits * np.abs(theirs).max())
    nu = np.asarray(expected.multipliers_)
    np.testing.assert_allclose(
        found.multipliers_, nu, atol=100 * digits * np.abs(nu).max(initial=1)
    )
    for name in ("violation_", "duality_gap_"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), abs=digits), name
    assert found.active_ == expected.active_


REGRESSORS = {
    "rbf": {},
    "rbf without intercept": {"fit_intercept": False},
    "rbf by spectrum": {"solver": "spectrum"},
    "rbf without regularisation": {"alpha": 0.0, "gamma": 2.0},
    "rbf refined": {"solver": "refined"},
    "rbf of residuals": {"match": "residual"},
    "polynomial": {"kernel": "poly", "degree": 2, "gamma": 0.1},
    "laplacian": {"kernel": "laplacian"},
    "callable": {"kernel": overlap, "gamma": None},
    "linear": {"kernel": "linear"},
    "linear without intercept": {"kernel": "linear", "fit_intercept": False},
    "linear refined": {"kernel": "linear", "solver": "refined"},
    "uniform landmarks": {"n_landmarks": 15},
    "leverage landmarks": {"n_landmarks": 15, "landmarks": "leverage"},
    "kmeans landmarks": {"n_landmarks": 15, "landmarks": "kmeans"},
    "landmarks without intercept": {"n_landmarks": 15, "fit_intercept": False},
    "landmarks of another kernel": {"n_landmarks": 15, "kernel": "laplacian"},
    "plain": {"epsilon": None},
    "plain landmarks": {"epsilon": None, "n_landmarks": 15},
    "active epsilon": {"epsilon": 0.05},
    "active epsilon, linear": {"epsilon": 0.05, "kernel": "linear"},
    "sum of gaps": {"epsilon": 0.1, "epsilon_scale": "sum"},
}
DEFAULTS = {"gamma": 0.1, "alpha": 0.3, "y_bins": 3, "random_state": 0}


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("name", REGRESSORS)
def test_torch_learns_the_same_regressor(name, weighted, problem):
    model = FairRegressor(**DEFAULTS | REGRESSORS[name])
    expected = fit(clone(model).set_params(device="cpu"), problem, weighted)
    found = fit(model.set_params(device="cuda"), problem, weighted)
    assert found.solver_ == expected.solver_
    assert_same(found, expected, problem, CLOSED)


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_torch_takes_a_matrix_that_is_given(weighted, problem):
    K = rbf_kernel(problem.X, gamma=0.1)
    K_new = rbf_kernel(problem.X_new, problem.X, gamma=0.1)
    for given in (K, K.astype(np.float32)):
        given.setflags(write=False)
        rows = Rows(given, problem.y, problem.s, K_new, problem.weight)
        kept = given.copy()
        models = [
            FairRegressor(kernel="precomputed", alpha=0.3, y_bins=3, device=device)
            for device in ("cuda", "cpu")
        ]
        found, expected = (fit(model, rows, weighted) for model in models)
        assert_same(found, expected, rows, CLOSED)
        np.testing.assert_array_equal(given, kept)


def test_torch_takes_a_kernel_that_centring_makes_semidefinite(problem):
    rows = problem._replace(X=np.abs(problem.X), X_new=np.abs(problem.X_new))
    model = FairRegressor(kernel="additive_chi2", alpha=0.3, y_bins=3)
    expected = fit(clone(model), rows)
    assert_same(fit(model.set_params(device="cuda"), rows), expected, rows, CLOSED)


@pytest.mark.parametrize("n_landmarks", [None, 20])
def test_torch_refuses_a_kernel_that_is_not_semidefinite(n_landmarks, problem):
    model = FairRegressor(kernel="sigmoid", coef0=-1.0, n_landmarks=n_landmarks, device="cuda")
    with pytest.raises(ValueError, match="not positive semi-definite"):
        fit(model, problem)


def test_torch_warns_where_cholesky_breaks_down(problem):
    """And the spectrum takes over, of the matrix that the breakdown gave back."""
    vectors = np.linalg.qr(np.random.default_rng(0).normal(size=(70, 70)))[0]
    sizes = np.geomspace(0.1, 10.0, 70)
    sizes[0] = -8.0 * np.finfo(float).eps * sizes.sum()  # as rounding may leave it
    K = (vectors * sizes) @ vectors.T
    rows = problem._replace(X=(K + K.T) / 2, X_new=K[:20])
    model = FairRegressor(kernel="precomputed", alpha=1e-18, fit_intercept=False, y_bins=2)
    found, expected = clone(model).set_params(device="cuda"), model
    for one in (found, expected):
        with pytest.warns(LinAlgWarning, match="solved with solver='spectrum'"):
            fit(one, rows)
    assert found.solver_.factorization == "spectrum"
    assert_same(found, expected, rows, 1e-6)
    with pytest.raises(ValueError, match="use solver='spectrum' or a larger alpha"):
        fit(found.set_params(solver="cholesky"), rows)


def test_torch_refuses_an_alpha_that_is_too_small_for_float32(problem):
    model = FairRegressor(gamma=0.001, alpha=1e-9, solver="refined", device="cuda", y_bins=2)
    with pytest.raises(ValueError, match=r"too small beside the kernel matrix.*larger alpha"):
        fit(model, problem)


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("name", ["rbf", "linear", "uniform landmarks", "polynomial"])
def test_torch_takes_sparse_rows(name, container, problem):
    thin, new = (container(np.where(np.abs(X) > 0.5, X, 0.0)) for X in (problem.X, problem.X_new))
    rows = problem._replace(X=thin, X_new=new)
    model = FairRegressor(**DEFAULTS | REGRESSORS[name])
    expected = fit(clone(model).set_params(device="cpu"), rows)
    assert_same(fit(model.set_params(device="cuda"), rows), expected, rows, CLOSED)


def test_torch_takes_float32_rows_of_a_linear_model(problem):
    rows = problem._replace(X=problem.X.astype(np.float32), X_new=problem.X_new.astype(np.float32))
    model = FairRegressor(kernel="linear", y_bins=3)
    expected = fit(clone(model), rows)
    assert_same(fit(model.set_params(device="cuda"), rows), expected, rows, CLOSED)


def test_torch_takes_more_features_than_rows(problem):
    wide = np.random.default_rng(0).normal(size=(90, 120)) + 3.0
    rows = problem._replace(X=wide[:70], X_new=wide[70:])
    for intercept in (True, False):
        model = FairRegressor(kernel="linear", y_bins=3, fit_intercept=intercept)
        expected = fit(clone(model), rows)
        assert_same(fit(model.set_params(device="cuda"), rows), expected, rows, CLOSED)


@pytest.mark.parametrize("options", [{"metric": "poly", "degree": 2}, {"metric": "cosine"}, {}])
@pytest.mark.parametrize("gamma", [None, 0.3, 1e9])
def test_torch_evaluates_kernels_as_scikit_learn_does(options, gamma, problem, torch_gpu):
    options = {"metric": "rbf"} | options
    K = torch_gpu.get(Kernel(gamma=gamma, **options).training_matrix(problem.X, torch_gpu))
    expected = pairwise_kernels(problem.X, gamma=gamma, filter_params=True, **options)
    np.testing.assert_allclose(K, expected, rtol=1e-12, atol=1e-12)
    if options["metric"] == "rbf":
        np.testing.assert_array_equal(K.diagonal(), 1.0)


FORMS = {
    "kernel": {},
    "linear": {"kernel": "linear"},
    "landmarks": {"n_landmarks": 20},
}
SETTINGS = {"fair": {"epsilon": 0.0}, "nearly fair": {"epsilon": 0.02}, "plain": {"epsilon": None}}


def same_loss(kind, loss, form, setting, rows):
    """A loss without a closed form; libsvm, which a GPU has not, steps aside on the CPU, too."""
    options = {"loss": loss, "gamma": 0.1, "alpha": 0.3, "tol": 1e-8, "random_state": 0}
    model = kind(**options | FORMS[form] | SETTINGS[setting])
    if kind is FairRegressor:
        model.set_params(y_bins=2)
    on_cpu = clone(model)
    if loss == "hinge" and form == "kernel":
        on_cpu.set_params(solver="cholesky")
    expected, found = fit(on_cpu, rows), fit(model.set_params(device="cuda"), rows)
    assert found.solver_.method == expected.solver_.method != "libsvm"
    assert_same(found, expected, rows, ITERATED)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", ROBUST_LOSSES)
def test_torch_learns_the_same_with_losses_of_numbers(loss, form, setting, problem):
    same_loss(FairRegressor, loss, form, setting, problem)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", CLASSIFICATION_LOSSES)
def test_torch_learns_the_same_with_losses_of_classes(loss, form, setting, binary):
    same_loss(FairClassifier, loss, form, setting, binary)


@pytest.mark.parametrize("loss", CLASSIFICATION_LOSSES)
def test_torch_learns_the_same_three_classes(loss, ternary):
    same_loss(FairClassifier, loss, "kernel", "fair", ternary)
    same_loss(FairClassifier, loss, "landmarks", "nearly fair", ternary)


@pytest.mark.parametrize("form", ["linear", "landmarks"])
def test_torch_learns_chunk_by_chunk(form, problem):
    options = {"gamma": 0.1, "y_bins": [-20, 0, 20], "s_bins": "auto", "random_state": 0}
    models = [FairRegressor(**options | FORMS[form], device=device) for device in ("cuda", "cpu")]
    for model in models:
        for rows in (slice(0, 40), slice(40, 70)):
            model.partial_fit(
                problem.X[rows],
                problem.y[rows],
                sensitive_features=problem.s[rows],
                sample_weight=problem.weight[rows],
            )
    assert_same(*models, problem, CLOSED)


@pytest.mark.parametrize("form", FORMS)
def test_torch_traces_the_same_frontier(form, problem):
    options = {"gamma": 0.1, "y_bins": 3, "random_state": 0} | FORMS[form]
    found, expected = (
        frontier(problem.X, problem.y, sensitive_features=problem.s, device=device, **options)
        for device in ("cuda", "cpu")
    )
    np.testing.assert_allclose(found.epsilons, expected.epsilons, atol=1e-10)
    np.testing.assert_allclose(found.nu, expected.nu, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(found.objectives, expected.objectives, rtol=1e-10)
    np.testing.assert_allclose(
        found.predict(problem.X_new), expected.predict(problem.X_new), atol=1e-9
    )
    epsilon = float(found.epsilons[0]) / 2
    assert_same(found.at(epsilon), expected.at(epsilon), problem, CLOSED)


GRID = {"alphas": [0.01, 1.0], "epsilons": [0.0, 0.02], "cv": 3, "random_state": 0}
SEARCHES = {
    "kernel": (FairRegressorCV, {"gammas": [0.05, 0.3], "y_bins": 2}),
    "kernel without intercept": (FairRegressorCV, {"fit_intercept": False, "y_bins": 2}),
    "kernel that may be indefinite": (FairRegressorCV, {"kernel": "poly", "y_bins": 2}),
    "linear": (FairRegressorCV, {"kernel": "linear", "y_bins": 2}),
    "landmarks": (FairRegressorCV, {"n_landmarks": 12, "y_bins": 2}),
    "small training parts": (FairRegressorCV, {"cv": "few", "y_bins": 2}),
    "absolute loss": (FairRegressorCV, {"loss": "absolute", "y_bins": 2, "tol": 1e-8}),
    "absolute loss, landmarks": (
        FairRegressorCV,
        {"loss": "absolute", "y_bins": 2, "n_landmarks": 12, "tol": 1e-8},
    ),
    "classes": (FairClassifierCV, {"loss": "squared", "gammas": [0.1]}),
    "logistic loss": (FairClassifierCV, {"loss": "log_loss", "gammas": [0.1], "tol": 1e-8}),
    "hinge": (FairClassifierCV, {"loss": "hinge", "kernel": "linear", "tol": 1e-8}),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_torch_searches_the_same(name, problem, binary):
    kind, options = SEARCHES[name]
    rows = problem if kind is FairRegressorCV else binary
    if options.get("cv") == "few":  # parts that the hat matrix of all rows does not serve
        order = np.random.default_rng(0).permutation(70)
        options = options | {"cv": [(order[:30], order[30:]), (order[40:], order[:40])]}
    search = kind(**GRID | options)
    expected = fit(clone(search).set_params(device="cpu"), rows, weighted=True)
    found = fit(search.set_params(device="cuda"), rows, weighted=True)
    digits = ITERATED if "tol" in options else CLOSED
    assert found.cv_results_.keys() == expected.cv_results_.keys()
    for key, column in expected.cv_results_.items():
        if np.asarray(column).dtype.kind == "f":
            ours, theirs = found.cv_results_[key], column
            np.testing.assert_allclose(ours, theirs, rtol=digits, atol=digits, err_msg=key)
    assert found.best_params_ == expected.best_params_
    assert found.best_estimator_.device == "cuda"
    np.testing.assert_allclose(
        values(found, rows.X_new), values(expected, rows.X_new), atol=10 * digits
    )


MODELS = {
    "kernel": FairRegressor(y_bins=2, gamma=0.1),
    "linear": FairRegressor(y_bins=2, kernel="linear"),
    "landmarks": FairRegressor(y_bins=2, gamma=0.1, n_landmarks=10, random_state=0),
    "search": FairRegressorCV(y_bins=2, alphas=[1.0], gammas=[0.1], cv=3),
    "pipeline": make_pipeline(StandardScaler(), FairRegressor(y_bins=2, gamma=0.1)),
}


@pytest.fixture(params=MODELS)
def model(request):
    """Unfitted, to be computed on the GPU."""
    model = clone(MODELS[request.param])
    getattr(model, "steps", [(None, model)])[-1][1].set_params(device="cuda")
    return model


def fit_any(model, rows):
    last = getattr(model, "steps", None)
    name = "sensitive_features" if last is None else f"{last[-1][0]}__sensitive_features"
    return model.fit(rows.X, rows.y, **{name: rows.s})


def test_torch_leaves_the_parameters_alone_and_can_be_cloned(model, problem):
    """repr: of the steps of a pipeline, too, without what they learned."""
    before = repr(model)
    assert "device='cuda'" in before
    assert repr(fit_any(model, problem)) == before
    copy = clone(model)
    assert repr(copy) == before
    with pytest.raises(NotFittedError):
        copy.predict(problem.X)


def stored(model, tmp_path):
    path = tmp_path / "model.joblib"
    joblib.dump(model, path)
    return path


def test_what_torch_learned_is_plain_data(model, problem, tmp_path):
    """Nothing of torch, or of the GPU, is in the file."""
    fitted = fit_any(model, problem)
    path = stored(fitted, tmp_path)
    assert b"torch" not in path.read_bytes()
    again = joblib.load(path)
    np.testing.assert_array_equal(again.predict(problem.X_new), fitted.predict(problem.X_new))


def test_a_model_learned_by_torch_serves_without_a_gpu(model, problem, tmp_path, monkeypatch):
    fitted = fit_any(model, problem)
    expected = fitted.predict(problem.X_new)
    again = joblib.load(stored(fitted, tmp_path))
    monkeypatch.setattr("gferm.arrays.foreign.open_device", open_device)  # the real one …
    monkeypatch.setitem(sys.modules, "torch", None)  # … on a machine without torch
    last = getattr(again, "steps", [(None, again)])[-1][1]
    if last.get_params().get("kernel") != "linear":  # which needs no device to predict
        with pytest.raises(
            ValueError, match=r"device='cuda' needs torch.*set_params\(device=None\)"
        ):
            again.predict(problem.X_new)
    for device in ("cpu", None):
        last.set_params(device=device)
        np.testing.assert_allclose(again.predict(problem.X_new), expected, atol=1e-10)


def test_a_search_that_has_not_chosen_takes_a_device_without_torch():
    assert FairRegressorCV(device="cuda").set_params(device=None, alphas=[1.0]).device is None


def test_torch_is_not_asked_for_rows_of_numpy(problem, monkeypatch):
    """device=None: where X is."""
    monkeypatch.setattr("gferm.arrays.foreign.open_device", lambda name: pytest.fail(name))
    fit(FairRegressor(y_bins=2), problem).predict(problem.X_new)


def test_torch_gets_the_training_rows_once_for_many_predictions(problem, monkeypatch):
    model = fit(FairRegressor(gamma=0.1, y_bins=2, device="cuda"), problem)
    expected = model.predict(problem.X_new)
    brought, put = [], TorchDevice.put

    def count(device, array):
        if type(array) is np.ndarray:
            brought.append(array.shape)
        return put(device, array)

    monkeypatch.setattr(TorchDevice, "put", count)
    monkeypatch.setattr(
        TorchDevice, "at_once", lambda device, on_cpu=0: 4 * 70
    )  # four rows at a time
    np.testing.assert_allclose(model.predict(problem.X_new), expected, rtol=1e-12)
    assert brought.count((4, 5)) == 5
    assert brought.count((70, 5)) == 1


@pytest.mark.parametrize(
    ("known", "new"), [(np.array, sparse.csr_array), (sparse.csr_array, np.array)]
)
def test_torch_predicts_sparse_rows_from_dense_ones_and_dense_from_sparse(known, new, problem):
    rows = problem._replace(X=known(problem.X), X_new=new(problem.X_new))
    model = FairRegressor(gamma=0.1, y_bins=2)
    expected = fit(clone(model), rows)
    assert_same(fit(model.set_params(device="cuda"), rows), expected, rows, CLOSED)
