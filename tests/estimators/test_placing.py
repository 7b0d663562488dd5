"""The kernel matrix goes where there is room; where there is none, that is said in words, in time.

Sizes are told by a device that does not exist, and by torch's whose memory is made small.
"""

import re
from math import prod

import numpy as np
import pytest
from sklearn.base import clone

from gferm import FairClassifier, FairRegressor, FairRegressorCV
from gferm.arrays.device import CPU, UNKNOWN, Device
from gferm.estimators.placing import MATRICES, in_words, with_room_for
from gferm.features.kernel import Kernel
from gferm.features.nystroem import KernelRows
from gferm.solver.cholesky import PANELS
from gferm.solver.hat import PlacedHatMatrix
from tests.gpu import lend_gpu, room


class Library:
    """What a device needs of torch to be asked for its memory."""

    class cuda:
        class OutOfMemoryError(RuntimeError):
            pass

        get_device_name = staticmethod(lambda name: "NVIDIA Small")


GPU = Device("cuda:0", Library)
FULL = Library.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 74.51 GiB.")
N = 10_000
MATRIX, BLOCKS = 8 * N * N, 8 * N * PANELS * 2048  # bytes


class Work:
    """Says where it was done, unless there is no room."""

    def __init__(self, **errors):
        self.errors, self.homes = errors, []

    def __call__(self, home):
        self.homes.append(home.kind)
        if home.kind in self.errors:
            raise self.errors[home.kind]
        return home.kind


def test_what_fits_is_done_on_the_device(monkeypatch):
    room(monkeypatch, on_gpu=MATRIX + BLOCKS, in_memory=0)
    work = Work()
    assert with_room_for(N, GPU, work) == "cuda"
    assert work.homes == ["cuda"]


@pytest.mark.parametrize("free", [MATRIX + BLOCKS - 1, BLOCKS])
def test_what_does_not_is_done_out_of_core_without_trying(free, monkeypatch):
    room(monkeypatch, on_gpu=free, in_memory=MATRIX)
    work = Work()
    assert with_room_for(N, GPU, work) == "cpu"
    assert work.homes == ["cpu"]


def test_a_device_that_said_it_had_room_is_forgiven(monkeypatch):
    room(monkeypatch, on_gpu=10 * MATRIX, in_memory=MATRIX)
    work = Work(cuda=FULL)
    assert with_room_for(N, GPU, work) == "cpu"
    assert work.homes == ["cuda", "cpu"]


@pytest.mark.parametrize("matrices", sorted(set(MATRICES.values())))
def test_work_says_how_many_matrices_it_takes(matrices, monkeypatch):
    needed = int(matrices * MATRIX)
    room(monkeypatch, on_gpu=needed + BLOCKS, in_memory=0)
    assert with_room_for(N, GPU, Work(), matrices=matrices) == "cuda"
    room(monkeypatch, on_gpu=needed + BLOCKS - 1, in_memory=needed)
    assert with_room_for(N, GPU, Work(), matrices=matrices) == "cpu"
    room(monkeypatch, on_gpu=needed + BLOCKS - 1, in_memory=needed - 1)
    with pytest.raises(MemoryError):
        with_room_for(N, GPU, Work(), matrices=matrices)


@pytest.mark.parametrize(
    ("on_gpu", "in_memory", "errors", "homes"),
    [
        (BLOCKS, MATRIX - 1, {}, []),  # said in time: nothing was tried
        (BLOCKS - 1, 9 * MATRIX, {}, []),  # not even the blocks
        (9 * MATRIX, MATRIX - 1, {"cuda": FULL}, ["cuda"]),
        (9 * MATRIX, MATRIX, {"cuda": FULL, "cpu": FULL}, ["cuda", "cpu"]),
        (9 * MATRIX, MATRIX, {"cuda": FULL, "cpu": MemoryError()}, ["cuda", "cpu"]),
    ],
)
def test_what_fits_nowhere_is_said_in_words(on_gpu, in_memory, errors, homes, monkeypatch):
    room(monkeypatch, on_gpu=on_gpu, in_memory=in_memory)
    work = Work(**errors)
    with pytest.raises(MemoryError) as error:
        with_room_for(N, GPU, work)
    assert work.homes == homes
    assert error.value.__suppress_context__ or error.value.__context__ is None  # nothing of torch
    message = str(error.value)
    assert "A kernel on all 10000 rows takes 0.8 GB" in message
    assert f"this machine has {in_memory / 1e9:.3g} GB free" in message
    assert f"NVIDIA Small has {on_gpu / 1e9:.3g} GB free" in message
    assert "Set n_landmarks" in message


@pytest.mark.parametrize("matrices", [1.0, 4.0])
@pytest.mark.parametrize("device", [CPU, GPU], ids=lambda device: device.kind)
def test_as_many_rows_as_it_names_would_fit(device, matrices, monkeypatch):
    room(monkeypatch, on_gpu=10**9, in_memory=5 * 10**9)
    n = 60_000
    with pytest.raises(MemoryError) as error:
        with_room_for(n, device, Work(cpu=MemoryError()), matrices=matrices)
    rows = int(re.search(r"fit on (\d+) rows at most", str(error.value)).group(1))
    assert matrices * 8 * rows**2 < 5e9
    assert ("to be decomposed" in str(error.value)) == (matrices > 1)
    assert with_room_for(rows, device, Work(), matrices=matrices) == "cpu"
    with pytest.raises(MemoryError):  # and not many more
        with_room_for(5 * rows // 4, GPU, Work(), matrices=matrices)


def test_fewer_rows_are_fewer_than_there_are(monkeypatch):
    """Where a system does not say what it has free, or had more than it could give."""
    room(monkeypatch, on_gpu=UNKNOWN, in_memory=UNKNOWN)
    with pytest.raises(MemoryError, match=r"does not say what is free.*fit on 90 rows at most"):
        with_room_for(100, CPU, Work(cpu=MemoryError()))


def test_mistakes_pass_as_they_are(monkeypatch):
    room(monkeypatch, on_gpu=9 * MATRIX, in_memory=9 * MATRIX)
    for device in (CPU, GPU):
        with pytest.raises(ValueError, match="not positive"):
            with_room_for(N, device, Work(**{device.kind: ValueError("not positive")}))


def test_what_is_left_over_is_said_in_words_too(monkeypatch):
    room(monkeypatch, on_gpu=2 * 10**9, in_memory=0)
    told = pytest.raises(MemoryError, match=r"NVIDIA Small has 2 GB free.*device='cpu'")
    with told as error, in_words(GPU):
        raise FULL
    assert error.value.__suppress_context__
    with pytest.raises(MemoryError, match="as NumPy said it"), in_words(CPU):
        raise MemoryError("as NumPy said it")
    with pytest.raises(MemoryError, match="in words already"), in_words(GPU):
        raise MemoryError("in words already")


# ---- models on torch, whose memory is small


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
        empty, put = Device.empty, Device.put

        def take(device, shape):
            if not device.is_cpu:
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

        monkeypatch.setattr(Device, "empty", limited_empty)
        monkeypatch.setattr(Device, "put", limited_put)


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
    for module in ("solver.cholesky", "solver.refined", "estimators.placing"):
        monkeypatch.setattr(f"gferm.{module}.WIDTH", 16)
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
    data, *_ = model._read(problem.X, problem.y, problem.s, None)
    expected = model._landmark_features(data)
    memory = Memory(monkeypatch, most=300)
    np.testing.assert_allclose(model._landmark_features(data), expected, atol=1e-12)
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

    monkeypatch.setattr("gferm.estimators.base.learn", full)
    with pytest.raises(MemoryError, match="There is no room on the device"):
        fit(FairRegressor(gamma=0.1, device="cuda", y_bins=2), problem)
