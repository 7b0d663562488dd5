"""Where arrays live and who computes with them: NumPy on the CPU, or torch on a GPU.

Code for both calls ``device.xp``, the module itself, with names that NumPy and torch share and axes
by position: ``xp.sum(x, -1)``, ``xp.linalg.solve(a, b)``, ``xp.where``, ``@``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

DEVICES = ("cpu", "cuda")


@dataclass(frozen=True)
class Device:
    """An array library and the place it computes at; make one with `open_device`."""

    name: str
    xp: Any

    def put(self, array: npt.ArrayLike) -> Any:
        """Bring an array here."""
        if self.xp is np:
            return np.asarray(array)
        return self.xp.as_tensor(np.ascontiguousarray(array), device=self.name)

    def empty(self, *shape: int) -> Any:
        """Take memory for float64 numbers."""
        if self.xp is np:
            return np.empty(shape)
        return self.xp.empty(shape, dtype=self.xp.float64, device=self.name)

    def get(self, array: Any) -> npt.NDArray[Any]:
        """Bring an array to NumPy."""
        return np.asarray(array if self.xp is np else array.cpu())

    @property
    def description(self) -> str:
        """The device in words, for results."""
        if self.name != "cuda":
            return "CPU"
        return str(self.xp.cuda.get_device_name())


def open_device(name: str) -> Device:
    """Give the device called ``name``; never another one in its place.

    Raises
    ------
    ValueError
        If the name is unknown, or there is no such device.
    """
    if name not in DEVICES:
        raise ValueError(f"device={name!r} is unknown; use one of {list(DEVICES)}.")
    if name == "cpu":
        return Device("cpu", np)
    try:
        import torch
    except ImportError as error:
        raise ValueError(
            "device='cuda' needs torch, which is not installed: pip install 'gferm[gpu]', or use "
            "device='cpu'."
        ) from error
    if not torch.cuda.is_available():
        raise ValueError(
            "device='cuda' needs a CUDA GPU, and torch finds none (torch.cuda.is_available() is "
            "False). Check the driver and that torch was built for CUDA, or use device='cpu'."
        )
    return Device("cuda", torch)
