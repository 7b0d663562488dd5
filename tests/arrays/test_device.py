"""Devices: NumPy here, torch there, and never one in place of the other."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from gferm.arrays.device import CPU, DEVICES, UNKNOWN, Placed, TorchDevice, device_of, open_device
from tests.gpu import torch_device


def test_the_cpu_is_numpy():
    device = open_device("cpu")
    x = np.arange(6.0).reshape(2, 3)
    assert device.xp is np
    assert device.put(x) is x
    assert device.get(x) is x
    assert device.empty(2, 3).shape == (2, 3)
    assert device.description == "CPU"
    assert device.kind == "cpu"


def test_an_unknown_device_is_named_with_those_that_exist():
    with pytest.raises(ValueError, match="'tpu' is unknown") as error:
        open_device("tpu")
    assert all(name in str(error.value) for name in DEVICES)


def test_cuda_without_torch_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ValueError, match=r"needs torch.*pip install 'gferm\[gpu\]'.*device='cpu'"):
        open_device("cuda")


def test_cuda_without_a_gpu_is_an_error(monkeypatch):
    class NoCuda:
        class cuda:
            is_available = staticmethod(lambda: False)

    monkeypatch.setitem(sys.modules, "torch", NoCuda)
    with pytest.raises(ValueError, match=r"torch finds none.*device='cpu'"):
        open_device("cuda")


def test_cuda_is_called_as_its_tensors_call_it(monkeypatch):
    """Two names for one GPU would look like two places."""

    class Cuda:
        class cuda:
            is_available = staticmethod(lambda: True)
            current_device = staticmethod(lambda: 1)

    monkeypatch.setitem(sys.modules, "torch", Cuda)
    device = open_device("cuda")
    assert device == TorchDevice("cuda:1", Cuda)
    assert device.kind == "cuda"
    assert not device.is_cpu

    class Tensor:
        device = "cuda:1"

    Tensor.__module__ = "torch"
    assert device_of(Tensor()) == device


def test_memory_that_is_free_is_a_number_of_bytes_of_this_machine():
    if Path("/proc/meminfo").exists():
        assert 2**20 < CPU.free_bytes < 2**50


@pytest.mark.parametrize("text", ["", "MemTotal: 5 kB\n"])
def test_a_system_may_not_tell_what_is_free(text, monkeypatch):
    monkeypatch.setattr(Path, "read_text", lambda path, encoding: text)
    assert CPU.free_bytes == UNKNOWN
    assert "does not say" in CPU.room

    def refuse(path, encoding):
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", refuse)
    assert CPU.free_bytes == UNKNOWN


def test_what_is_free_is_read_in_kilobytes(monkeypatch):
    text = "MemTotal:  99 kB\nMemAvailable:   2000000 kB\nBuffers: 1 kB\n"
    monkeypatch.setattr(Path, "read_text", lambda path, encoding: text)
    assert CPU.free_bytes == 2_048_000_000
    assert CPU.room == "this machine has 2.05 GB free"


LAYOUTS = {
    "plain": lambda x: x,
    "turned": lambda x: x[:, ::-1],
    "every other": lambda x: x[::2, 1:],
    "Fortran's": np.asfortranarray,
    "transposed": lambda x: x.T,
    "empty": lambda x: x[:0],
    "float32": lambda x: x.astype(np.float32),
    "int": lambda x: x.astype(np.int64),
    "int32": lambda x: x.astype(np.int32),
    "bool": lambda x: x > 3.0,
}


@pytest.fixture(params=["numpy", "torch"])
def device(request):
    return CPU if request.param == "numpy" else torch_device()


@pytest.mark.parametrize("frozen", [False, True], ids=["", "read-only"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_arrays_go_there_and_back(layout, frozen, device):
    x = LAYOUTS[layout](np.arange(12.0).reshape(4, 3))
    kept = x.copy()
    x.setflags(write=not frozen)
    there = device.put(x)
    assert device.put(there) is there
    assert tuple(there.shape) == x.shape
    back = device.get(there)
    assert back.dtype == x.dtype
    np.testing.assert_array_equal(back, kept)
    if not device.is_cpu and frozen:
        there[...] = 0  # what must not be written is not shared
        np.testing.assert_array_equal(x, kept)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_memory_is_taken_there(dtype, device):
    taken = device.empty(2, 3, dtype=dtype)
    assert str(taken.dtype).endswith(dtype)
    assert tuple(taken.shape) == (2, 3)
    assert device_of(taken) == device
    np.testing.assert_array_equal(device.get(device.zeros(2, 3)), np.zeros((2, 3)))
    assert str(device.zeros(2).dtype).endswith("float64")


def test_triangles_are_solved_whatever_is_above_them(device):
    rng = np.random.default_rng(0)
    L = np.tril(rng.normal(size=(5, 5))) + 5.0 * np.eye(5)
    rhs = rng.normal(size=(5, 2))
    given = device.put(L + np.triu(np.full((5, 5), 7.0), 1)), device.put(rhs)
    for transposed, matrix in ((False, L), (True, L.T)):
        x = device.get(device.solve_lower(*given, transposed=transposed))
        np.testing.assert_allclose(matrix @ x, rhs, atol=1e-12)


def test_cholesky_is_the_lower_factor_or_an_error(device):
    A = np.array([[4.0, 2.0], [2.0, 5.0]])
    np.testing.assert_allclose(device.get(device.cholesky(device.put(A))), [[2, 0], [1, 2]])
    with pytest.raises(np.linalg.LinAlgError):
        device.cholesky(device.put(-A))


@pytest.mark.parametrize("n_columns", [0, 1, 4])
def test_sparse_columns_are_multiplied(n_columns, device):
    rng = np.random.default_rng(0)
    matrix, columns = rng.normal(size=(6, 3)), rng.normal(size=(6, n_columns))
    columns[rng.random(columns.shape) < 0.5] = 0.0
    found = device.get(
        device.times_columns(device.put(matrix), device.put_columns(sparse.csr_array(columns)))
    )
    np.testing.assert_allclose(found, matrix.T @ columns, atol=1e-14)


def test_a_placed_matrix_multiplies_arrays_of_numpy(device):
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(4, 3))
    placed = Placed(device.put(matrix.copy()), device)
    assert placed.shape == (4, 3)
    assert placed.T.shape == (3, 4)
    assert len(placed) == 4
    for right in (rng.normal(size=3), rng.normal(size=(3, 2)), np.empty((3, 0))):
        right.setflags(write=False)
        found = placed @ right
        assert type(found) is np.ndarray
        np.testing.assert_allclose(found, matrix @ right, atol=1e-14)
        np.testing.assert_allclose(right.T @ placed.T, right.T @ matrix.T, atol=1e-14)
    left = rng.normal(size=(2, 5, 4))
    found = left @ placed
    assert type(found) is np.ndarray
    np.testing.assert_allclose(found, left @ matrix, atol=1e-14)


def test_devices_are_stored_by_name(device):
    again = pickle.loads(pickle.dumps(device))
    assert again == device
    assert again.xp is device.xp


def test_torch_says_that_it_is_out_of_memory():
    """By a name that every torch has since 1.13."""
    torch = torch_device().xp
    assert torch_device().out_of_memory is torch.cuda.OutOfMemoryError
    assert CPU.out_of_memory is MemoryError


def test_a_fit_never_imports_torch():
    code = """
import sys
import numpy as np
from gferm import FairClassifier, FairRegressor, FairRegressorCV, audit, frontier
rng = np.random.default_rng(0)
X, y, s = rng.normal(size=(40, 3)), rng.normal(size=40), rng.integers(0, 2, 40)
for options in ({}, {"kernel": "linear"}, {"n_landmarks": 9}, {"solver": "refined"}):
    model = FairRegressor(y_bins=2, device="cpu", **options).fit(X, y, sensitive_features=s)
    audit(y, model.predict(X), sensitive_features=s, y_bins=2)
FairClassifier("log_loss").fit(X, y > 0, sensitive_features=s).predict(X)
FairRegressorCV(y_bins=2, cv=2, alphas=[1.0]).fit(X, y, sensitive_features=s).predict(X)
frontier(X, y, sensitive_features=s, y_bins=2).predict(X)
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("limit", "used", "free"),
    [("3000", "1000", 2000), ("1000", "3000", 0), ("max", "1000", 10240), ("", "", 10240)],
)
def test_a_container_has_no_more_than_its_limit(limit, used, free, monkeypatch):
    told = {
        "/proc/meminfo": "MemAvailable:  10 kB",
        "/sys/fs/cgroup/memory.max": f"{limit}\n",
        "/sys/fs/cgroup/memory.current": f"{used}\n",
    }
    monkeypatch.setattr("gferm.arrays.device._read", told.__getitem__)
    assert CPU.free_bytes == free
