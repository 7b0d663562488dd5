"""Blocks of rows: a pass over a large array stays in a core's cache, or in a GPU's memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from gferm.arrays import Array
from gferm.arrays.device import Device, device_of

Result = TypeVar("Result")


def row_blocks(n_rows: int, n_columns: int, doubles: int = 2**18) -> list[slice]:
    """Return slices that cut ``n_rows`` rows into blocks of about ``doubles`` numbers each."""
    step = max(doubles // max(n_columns, 1), 1)
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


def dense(block: Any) -> Array:
    """Return rows, sparse or not, as a dense array of NumPy's doubles."""
    rows = block.toarray() if hasattr(block, "toarray") else device_of(block).get(block)
    return np.asarray(rows, dtype=np.float64)


def halve_until_it_fits(
    work: Callable[[int], Result], doubles: int, shape: tuple[int, int], device: Device
) -> Result:
    """Return ``work(doubles)``, with half as many doubles each time that memory runs out.

    Parameters
    ----------
    work : callable
        A pass over rows that takes so many numbers at once. It may be started again.
    doubles : int
        What to begin with.
    shape : tuple of int
        The number of all rows, and the numbers in each.
    device : Device
        Where memory may run out.

    Raises
    ------
    MemoryError
        If there is no room for one row.
    """
    n_rows, n_columns = shape
    doubles = min(doubles, n_rows * n_columns)
    while True:
        try:
            return work(doubles)
        except device.out_of_memory:
            if doubles <= n_columns:
                break
        doubles //= 2
    elsewhere = "" if device.is_cpu else ", or device='cpu'"
    raise MemoryError(
        f"A pass over {n_rows} rows of {n_columns} numbers ran out of memory even with one row at "
        f"a time; {device.room}. Use fewer landmarks or features{elsewhere}."
    )
