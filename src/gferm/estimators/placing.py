"""Where the n×n matrix of a kernel goes: on the device, into memory, or nowhere, said in time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from gferm.arrays.device import CPU, Device, gigabytes
from gferm.solver.cholesky import PANELS, WIDTH

Result = TypeVar("Result")
MATRICES = {"cholesky": 1.0, "refined": 1.5, "spectrum": 4.0}
"""The n×n arrays of doubles that each factorisation holds, the matrix itself among them."""


def with_room_for(
    n: int, device: Device, work: Callable[[Device], Result], *, matrices: float = 1.0
) -> Result:
    """Do work with an n×n matrix on the device, or, if that is too small, in memory (out of core).

    ``work`` is given the place for the matrix; it takes as many as ``matrices`` there.

    Raises
    ------
    MemoryError
        If it fits nowhere; with what is needed, what there is, and what would fit.
    """
    if not device.is_cpu and _fits(n, device, device, matrices):
        try:
            return work(device)
        except device.out_of_memory:
            pass  # it was less free than it said
    if not device.is_cpu and not _fits(n, CPU, device, matrices):
        raise _too_large(n, device, matrices)
    try:
        return work(CPU)
    except (MemoryError, device.out_of_memory):
        raise _too_large(n, device, matrices) from None


@contextmanager
def in_words(device: Device) -> Iterator[None]:
    """Say it in words where a GPU runs out of memory with nothing left to take less of."""
    try:
        yield
    except device.out_of_memory:
        if device.is_cpu:  # NumPy says how much it asked for
            raise
        raise MemoryError(
            f"There is no room on the device: {device.room}. End what else runs there, use "
            "device='cpu', or fewer rows or landmarks."
        ) from None


def _fits(n: int, home: Device, device: Device, matrices: float) -> bool:
    needed, panels = matrices * 8 * n * n, 8 * n * PANELS * min(n, WIDTH)
    if home == device:
        return needed + panels <= device.free_bytes
    return needed <= home.free_bytes and panels <= device.free_bytes


def _too_large(n: int, device: Device, matrices: float) -> MemoryError:
    places = [CPU] if device.is_cpu else [CPU, device]
    there = " and ".join(place.room for place in places)
    rows = 9 * n // 10
    while rows > 1 and not any(_fits(rows, home, device, matrices) for home in places):
        rows = 9 * rows // 10
    more = f", and {gigabytes(matrices * 8 * n * n)} to be decomposed" if matrices > 1.0 else ""
    return MemoryError(
        f"A kernel on all {n} rows takes {gigabytes(8 * n * n)}{more}, but {there}. Set "
        f"n_landmarks, such as n_landmarks=2000, or fit on {rows} rows at most."
    )
