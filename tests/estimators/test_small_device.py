"""Models on torch with little memory learn the same, or say in words what is short."""

from math import prod

import numpy as np
import pytest
from sklearn.base import clone

from gferm import FairClassifier, FairRegressor, FairRegressorCV
from gferm.arrays.device import UNKNOWN, TorchDevice
from gferm.features.kernel import Kernel
from gferm.features.nystroem import KernelRows
from gferm.features.space import FunctionSpace
from gferm.solver.cholesky import PANELS
from gferm.solver.hat import PlacedHatMatrix
from tests.gpu import lend_gpu, room


def fit(model, rows):
    return model.fit(rows.X, rows.y, sensitive_features=rows.s, sample_weight=rows.weight)


def same(found, expected, rows):
    theirs = expected.predict(rows.X_new)
    np.testing.assert_allclose(found.predict(rows.X_new), theirs, atol=1e-9 * np.abs(theirs).max())


@pytest.fixture
def torch_gpu(monkeypatch):
    return lend_gpu(monkeypatch)


class Memory:
    """Lets no array of more than some doubles be made on a device, and remembers what was."""

    def __init__(self, monkeypatch, most):
        self.most, self.made, self.refused = most, [], 0
        empty, put = TorchDevice.empty, TorchDevice.put

        def take(device, shape):
            if prod(shape) > self.most:
                self.refused += 1
                raise device.out_of_memory("CUDA out of memory. Tried to allocate 9 GiB.")
            self.made.append(prod(shape))

        def limited_empty(device, *shape, dtype="float64"):
            take(device, shape)
            return empty(device, *shape, dtype=dtype)

        def limited_put(device, array):
            if type(array) is np.ndarray:
                take(device, array.shape)
            return put(device, array)

        monkeypatch.setattr(TorchDevice, "empty", limited_empty)
        monkeypatch.setattr(TorchDevice, "put", limited_put)


EXACT = {
    "cholesky": {},
    "refined": {"solver": "refined"},
    "spectrum": {"solver": "spectrum"},
    "without intercept": {"fit_intercept": False},
    "callable": {"kernel": lambda a, b: float(np.exp(-np.abs(a - b).sum() / 4))},
    "another loss": {"loss": "huber", "tol": 1e-8},
    "nearly fair": {"epsilon": 0.02},
}


@pytest.mark.parametrize("told", [True, False], ids=["told", "not told"])
@pytest.mark.parametrize("name", EXACT)
def test_out_of_core_torch_learns_the_same(name, told, problem, torch_gpu, monkeypatch):
    """The matrix in memory, the work on the device, whether that says it is too small or not."""
    monkeypatch.setattr("gferm.solver.cholesky.WIDTH", 16)
    model = FairRegressor(**{"gamma": 0.1, "alpha": 0.3, "y_bins": 2} | EXACT[name])
    expected = fit(clone(model), problem)
    enough = 8 * 70 * PANELS * 16
    room(monkeypatch, on_gpu=enough if told else 10**12, in_memory=10**12)
    memory = Memory(monkeypatch, most=70 * 70 - 1)
    found = fit(model.set_params(device="cuda"), problem)
    assert (memory.refused == 0) == told
    assert (name == "spectrum") == (not memory.made)  # which a device does alone, if at all
    monkeypatch.undo()
    digits = 1e-6 if "loss" in EXACT[name] else 1e-9
    np.testing.assert_allclose(
        found.dual_coef_, expected.dual_coef_, atol=digits * np.abs(expected.dual_coef_).max()
    )


def test_torch_and_memory_too_small_are_an_error_before_any_work(problem, torch_gpu, monkeypatch):
    room(monkeypatch, on_gpu=10, in_memory=10)
    model = FairRegressor(device="cuda", gamma=0.1)
    with pytest.raises(MemoryError, match=r"A kernel on all 70 rows takes .*Set n_landmarks"):
        fit(model, problem)
    assert not hasattr(model, "dual_coef_")


@pytest.mark.parametrize("loss", ["squared", "huber"])
@pytest.mark.parametrize("cv", ["thirds", "few"])
def test_a_search_goes_out_of_core_of_torch(loss, cv, problem, torch_gpu, monkeypatch):
    order = np.random.default_rng(0).permutation(70)
    folds = 3 if cv == "thirds" else [(order[:30], order[30:]), (order[40:], order[:40])]
    search = FairRegressorCV(
        loss=loss, alphas=[0.1, 1.0], gammas=[0.1], cv=folds, y_bins=2, tol=1e-8
    )
    expected = fit(clone(search), problem)
    monkeypatch.setattr("gferm.solver.cholesky.WIDTH", 8)
    Memory(monkeypatch, most=25 * 25)
    found = fit(search.set_params(device="cuda"), problem)
    for key in ("mean_test_error", f"mean_test_{expected.unfairness_}"):
        np.testing.assert_allclose(found.cv_results_[key], expected.cv_results_[key], rtol=1e-6)
    same(found, expected, problem)


def test_a_search_that_runs_out_of_torch_memory_while_it_predicts(problem, torch_gpu, monkeypatch):
    def full(*arguments):
        raise torch_gpu.out_of_memory("CUDA out of memory")

    search = FairRegressorCV(alphas=[0.1, 1.0], gammas=[0.1], cv=3, y_bins=2)
    expected = fit(clone(search), problem)
    monkeypatch.setattr(PlacedHatMatrix, "hold_out", full)
    found = fit(search.set_params(device="cuda"), problem)
    np.testing.assert_allclose(
        found.cv_results_["mean_test_error"], expected.cv_results_["mean_test_error"], rtol=1e-9
    )


# 70 rows of 15 kernel values are 1050; with the label and a one, as they are summed, 1190
SUMS = {
    "landmarks": (FairRegressor, {"n_landmarks": 15}),
    "all pivots solved": (FairRegressor, {"n_landmarks": 15, "kernel": "laplacian"}),
    "linear": (FairRegressor, {"kernel": "linear"}),
    "another loss": (FairRegressor, {"n_landmarks": 15, "loss": "huber", "tol": 1e-8}),
    "classes": (FairClassifier, {"n_landmarks": 15, "loss": "squared"}),
}


@pytest.mark.parametrize("name", SUMS)
def test_torch_sums_fewer_rows_at_once_if_it_must(name, problem, torch_gpu, monkeypatch):
    kind, options = SUMS[name]
    rows = problem if kind is FairRegressor else problem._replace(y=problem.y > 0)
    bins = {"y_bins": 2} if kind is FairRegressor else {}
    model = kind(**{"gamma": 0.1, "alpha": 0.3, "random_state": 0} | bins | options)
    expected = fit(clone(model), rows)
    memory = Memory(monkeypatch, most=400 if name == "linear" else 1100)
    found = fit(model.set_params(device="cuda"), rows)
    assert memory.refused > 0
    coefficients = "coef_" if name == "linear" else "dual_coef_"
    theirs = getattr(expected, coefficients)
    digits = 1e-6 if "tol" in options else 1e-8
    np.testing.assert_allclose(
        getattr(found, coefficients), theirs, atol=digits * np.abs(theirs).max()
    )


@pytest.mark.parametrize("name", ["landmarks", "linear"])
def test_torch_without_room_for_one_row_of_sums_is_an_error(name, problem, torch_gpu, monkeypatch):
    Memory(monkeypatch, most=6)
    model = FairRegressor(gamma=0.1, y_bins=2, device="cuda", **SUMS[name][1])
    with pytest.raises(MemoryError, match=r"(?=.*device='cpu')(?=.*landmarks)"):
        fit(model, problem)


@pytest.mark.parametrize(("n_landmarks", "points"), [(None, 70 * 5), (15, 15 * 5)])
def test_torch_predicts_fewer_rows_at_once_if_it_must(
    n_landmarks, points, problem, torch_gpu, monkeypatch
):
    model = FairRegressor(gamma=0.1, n_landmarks=n_landmarks, random_state=0, y_bins=2)
    expected = fit(clone(model), problem).predict(problem.X)
    found = fit(model.set_params(device="cuda"), problem)
    memory = Memory(monkeypatch, most=500)
    np.testing.assert_allclose(found.predict(problem.X), expected, atol=1e-9)
    assert memory.refused > 0
    Memory(monkeypatch, most=points)  # there is no room for what is made of them
    with pytest.raises(MemoryError, match=r"one row at a time.*device='cpu'"):
        found.predict(problem.X)
    np.testing.assert_allclose(
        found.set_params(device=None).predict(problem.X), expected, atol=1e-9
    )


def test_a_search_on_landmarks_takes_fewer_rows_of_torch(problem, torch_gpu, monkeypatch):
    search = FairRegressorCV(
        alphas=[0.1, 1.0], gammas=[0.1], cv=3, y_bins=2, n_landmarks=12, random_state=0
    )
    expected = fit(clone(search), problem)
    memory = Memory(monkeypatch, most=900)  # 70 rows of 12 values, but not with label and one
    found = fit(search.set_params(device="cuda"), problem)
    assert memory.refused > 0
    np.testing.assert_allclose(
        found.cv_results_["mean_test_error"], expected.cv_results_["mean_test_error"], rtol=1e-8
    )


def test_torch_makes_features_of_fewer_rows(problem, torch_gpu, monkeypatch):
    model = FairRegressor(gamma=0.1, y_bins=2, n_landmarks=12, random_state=0, device="cuda")
    space, X = FunctionSpace.of(model), problem.X
    features = space.features(X, landmarks=space.find_landmarks(X), device=torch_gpu)
    expected = features.evaluated().X
    memory = Memory(monkeypatch, most=300)
    np.testing.assert_allclose(features.evaluated().X, expected, atol=1e-12)
    assert memory.refused > 0


@pytest.mark.parametrize(
    ("free", "most", "remembered"),
    [
        (4 * 8 * 70 * 9, 10**6, True),
        (4 * 8 * 70 * 9 - 1, 10**6, False),
        (10**9, 70 * 9 - 1, False),
        (UNKNOWN, 10**6, False),
    ],
)
def test_torch_remembers_kernel_values_if_it_has_room(
    free, most, remembered, problem, torch_gpu, monkeypatch
):
    rows = KernelRows(problem.X, problem.X[:9], Kernel("rbf", gamma=0.1), torch_gpu)
    expected = rows[:] @ np.ones(9)
    room(monkeypatch, on_gpu=free, in_memory=0)
    Memory(monkeypatch, most)
    found = rows.remembered()
    assert (found is not rows) == remembered
    monkeypatch.undo()
    np.testing.assert_allclose(found[:] @ np.ones(9), expected, rtol=1e-14)


def test_torch_may_run_out_where_nothing_can_be_halved(problem, torch_gpu, monkeypatch):
    """In words then, too."""

    def full(*arguments, **options):
        raise torch_gpu.out_of_memory("CUDA out of memory")

    monkeypatch.setattr("gferm.solver.problem.project", full)
    with pytest.raises(MemoryError, match="There is no room on the device"):
        fit(FairRegressor(gamma=0.1, device="cuda", y_bins=2), problem)
