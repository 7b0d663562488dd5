"""A ferry: how blocks of a matrix in memory travel to a GPU and back.

Copying them by way of new memory costs more than the way itself. The ferry is memory that is there
already and that the GPU reaches by itself (pinned); all cores load it.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gferm.arrays.blocks import row_blocks
from gferm.arrays.device import Device
from gferm.arrays.threads import for_each

LOAD = 2**25  # numbers on board
SHARE = 2**20  # numbers that one core copies at a time


class Ferry:
    """Carries blocks of numbers between NumPy and a device.

    Parameters
    ----------
    device : Device
        Not the CPU's.
    dtype : dtype
    """

    def __init__(self, device: Device, dtype: npt.DTypeLike) -> None:
        self._device, self._dtype = device, np.dtype(dtype)

    def bring(self, block: npt.NDArray[Any]) -> Any:
        """Return a copy of the block on the device."""
        there = self._device.empty(*block.shape, dtype=self._dtype.name)
        for rows in row_blocks(len(block), block.shape[1], LOAD):
            load = self._on_board(block[rows])
            _copy(load.numpy(), block[rows])
            there[rows].copy_(load)
        return there

    def take_back(self, block: Any, out: npt.NDArray[Any]) -> None:
        """Write a block from the device into ``out``."""
        for rows in row_blocks(len(out), out.shape[1], LOAD):
            load = self._on_board(out[rows])
            load.copy_(block[rows])
            _copy(out[rows], load.numpy())

    def _on_board(self, block: npt.NDArray[Any]) -> Any:
        return self._hold[: block.size].reshape(block.shape)

    @cached_property
    def _hold(self) -> Any:
        xp, pinned = self._device.xp, self._device.name.startswith("cuda")
        return xp.empty(LOAD, dtype=getattr(xp, self._dtype.name), pin_memory=pinned)


def _copy(out: npt.NDArray[Any], block: npt.NDArray[Any]) -> None:
    def copy(rows: slice) -> None:
        out[rows] = block[rows]

    for_each(copy, row_blocks(len(block), block.shape[1], SHARE))
