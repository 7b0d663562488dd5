"""Where the n×n matrix of a kernel goes: on the device, into memory, or nowhere, said in time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from gferm.device import CPU, Device
from gferm.solver.blocked import WIDTH

Result = TypeVar("Result")
PANELS = 4  # blocks of columns that a factorisation holds beside the matrix


def with_room_for(
    n: int, device: Device, work: Callable[[Device], Result], *, matrices: int = 1
) -> Result:
    """Do work with an n×n matrix on the device, or, if that is too small, in memory (out of core).

    ``work`` is given the place for the matrix; on a device it takes as many as ``matrices``.

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
    if not device.is_cpu and not _fits(n, CPU, device, 1):
        raise _too_large(n, device)
    try:
        return work(CPU)
    except (MemoryError, device.out_of_memory):
        raise _too_large(n, device) from None


def _fits(n: int, home: Device, device: Device, matrices: int) -> bool:
    matrix, panels = 8 * n * n, 8 * n * PANELS * min(n, WIDTH)
    if home == device:
        return matrices * matrix + panels <= device.free_bytes
    return matrix <= home.free_bytes and panels <= device.free_bytes


def _too_large(n: int, device: Device) -> MemoryError:
    free = {"this machine": CPU.free_bytes}
    if not device.is_cpu:
        free[device.description] = device.free_bytes
    there = " and ".join(f"{name} has {_gigabytes(size)} free" for name, size in free.items())
    rows = int((0.9 * max(free.values()) / 8) ** 0.5)
    return MemoryError(
        f"A kernel on all {n} rows takes {_gigabytes(8 * n * n)}, but {there}. Set n_landmarks, "
        f"such as n_landmarks=2000, or fit on {rows} rows at most."
    )


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.3g} GB"
