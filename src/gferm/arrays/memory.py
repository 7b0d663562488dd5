"""Memory: where n×n matrices go, and passes over rows that do with less.

A matrix lives on the device, else in memory, else there is an error before any work is done. The
caller says how much is needed: how many n×n arrays, and the workspace beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from gferm.arrays.device import CPU, Device, gigabytes

Result = TypeVar("Result")
BYTES = 8  # of a double


def with_room_for(
    n: int,
    device: Device,
    work: Callable[[Device], Result],
    *,
    matrices: float = 1.0,
    workspace: Callable[[int], int],
) -> Result:
    """Return ``work(home)``, where home is the device, or the CPU if the device is too small.

    Parameters
    ----------
    n : int
        Rows and columns of the matrix.
    device : Device
        Where to compute. A matrix that lives in memory is sent there in parts.
    work : callable
        Is given the home of the matrix.
    matrices : float
        The n×n arrays of doubles that ``work`` holds there.
    workspace : callable
        Return how many doubles it takes on the device besides, given n.

    Raises
    ------
    MemoryError
        If there is no room anywhere. It says what is needed, what is free, and what would fit.
    """

    def fits(n: int, home: Device) -> bool:
        matrix, beside = matrices * BYTES * n * n, BYTES * workspace(n)
        if home == device:
            return matrix + beside <= device.free_bytes
        return matrix <= home.free_bytes and beside <= device.free_bytes

    if not device.is_cpu and fits(n, device):
        try:
            return work(device)
        except device.out_of_memory:
            pass  # less was free than it said
    if not device.is_cpu and not fits(n, CPU):
        raise _too_large(n, device, matrices, fits)
    try:
        return work(CPU)
    except (MemoryError, device.out_of_memory):
        raise _too_large(n, device, matrices, fits) from None


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


@contextmanager
def explain_out_of_memory(device: Device) -> Iterator[None]:
    """Raise a MemoryError with remedies where a GPU runs out of memory."""
    try:
        yield
    except device.out_of_memory:
        if device.is_cpu:  # NumPy says how much it asked for
            raise
        raise MemoryError(
            f"There is no room on the device: {device.room}. End what else runs there, use "
            "device='cpu', or fewer rows or landmarks."
        ) from None


def _too_large(
    n: int, device: Device, matrices: float, fits: Callable[[int, Device], bool]
) -> MemoryError:
    """Return the error for n rows, which names a number of rows that would fit."""
    homes = [CPU] if device.is_cpu else [CPU, device]
    free = " and ".join(home.room for home in homes)
    rows = 9 * n // 10
    while rows > 1 and not any(fits(rows, home) for home in homes):
        rows = 9 * rows // 10
    one, all_ = gigabytes(BYTES * n * n), gigabytes(matrices * BYTES * n * n)
    more = f", and {all_} to be decomposed" if matrices > 1.0 else ""
    return MemoryError(
        f"A kernel on all {n} rows takes {one}{more}, but {free}. Set "
        f"n_landmarks, such as n_landmarks=2000, or fit on {rows} rows at most."
    )
