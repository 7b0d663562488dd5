"""A GPU for tests: one that is there, or else torch on the CPU, which runs the very same code."""

import pytest

from gferm.arrays.device import NumpyDevice, TorchDevice, open_device

ABSENT = "torch is not installed (make test-torch)"


def torch_device():
    """What stands for device="cuda"; the test is skipped without torch."""
    torch = pytest.importorskip("torch", reason=ABSENT)
    return open_device("cuda") if torch.cuda.is_available() else TorchDevice("cpu", torch)


def lend_gpu(monkeypatch):
    """Let device="cuda" be found, and give it."""
    device = torch_device()

    def find(name):
        return device if name == "cuda" else open_device(name)

    for module in ("device", "foreign"):
        monkeypatch.setattr(f"gferm.arrays.{module}.open_device", find)
    return device


def room(monkeypatch, on_gpu, in_memory):
    """Let both say that so many bytes are free."""
    monkeypatch.setattr(NumpyDevice, "free_bytes", in_memory)
    monkeypatch.setattr(TorchDevice, "free_bytes", on_gpu)
