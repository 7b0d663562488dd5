"""Devices: NumPy here, torch there, and never one in place of the other."""

import sys

import numpy as np
import pytest

from gferm.device import DEVICES, Device, open_device


def test_the_cpu_is_numpy():
    device = open_device("cpu")
    x = np.arange(6.0).reshape(2, 3)
    assert device.xp is np
    assert device.put(x) is x
    assert device.get(x) is x
    assert device.empty(2, 3).shape == (2, 3)
    assert device.description == "CPU"


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


def test_torch_arrays_go_there_and_back():
    torch = pytest.importorskip("torch", reason="torch is not installed (make test-torch)")
    device = Device("cpu", torch)
    x = np.arange(6.0).reshape(2, 3)[:, ::-1]  # not contiguous
    np.testing.assert_array_equal(device.get(device.put(x)), x)
    assert device.empty(2, 3).dtype == torch.float64
