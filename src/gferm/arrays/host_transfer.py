"""Copies of blocks between NumPy's memory and a GPU, by way of a buffer that is used again.

Allocating memory for each copy takes longer than the copy itself. The buffer is page-locked
(pinned), so that the GPU reads and writes it directly; all cores fill and empty it.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gferm.arrays.device import Device, row_blocks
from gferm.arrays.threads import for_each

BUFFER_SIZE = 2**25  # numbers
COPY_SIZE = 2**20  # numbers that one core copies at a time


class HostTransfer:
    """Copies blocks of numbers to a device and back.

    Parameters
    ----------
    device : Device
        Torch's.
    dtype : dtype
        Of all blocks.
    """

    def __init__(self, device: Device, dtype: npt.DTypeLike) -> None:
        self._device, self._dtype = device, np.dtype(dtype)

    def to_device(self, block: npt.NDArray[Any]) -> Any:
        """Return a copy of the block on the device."""
        copied = self._device.empty(*block.shape, dtype=self._dtype.name)
        for rows in row_blocks(len(block), block.shape[1], BUFFER_SIZE):
            buffer = self._buffer_for(block[rows])
            _copy(block[rows], out=buffer.numpy())
            copied[rows].copy_(buffer)
        return copied

    def to_host(self, block: Any, out: npt.NDArray[Any]) -> None:
        """Copy a block of the device into ``out``."""
        for rows in row_blocks(len(out), out.shape[1], BUFFER_SIZE):
            buffer = self._buffer_for(out[rows])
            buffer.copy_(block[rows])
            _copy(buffer.numpy(), out=out[rows])

    def _buffer_for(self, block: npt.NDArray[Any]) -> Any:
        """Return the part of the buffer that a block fills, in its shape."""
        return self._buffer[: block.size].reshape(block.shape)

    @cached_property
    def _buffer(self) -> Any:
        xp, pinned = self._device.xp, self._device.name.startswith("cuda")
        return xp.empty(BUFFER_SIZE, dtype=getattr(xp, self._dtype.name), pin_memory=pinned)


def _copy(block: npt.NDArray[Any], *, out: npt.NDArray[Any]) -> None:
    def copy(rows: slice) -> None:
        out[rows] = block[rows]

    for_each(copy, row_blocks(len(block), block.shape[1], COPY_SIZE))
