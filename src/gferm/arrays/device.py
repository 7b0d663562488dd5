"""Where arrays live and who computes with them: NumPy on the CPU, or torch on a GPU.

Code for both calls ``device.xp``, the module itself, with names that NumPy and torch share and axes
by position: ``xp.sum(x, -1)``, ``xp.linalg.solve(a, b)``, ``xp.where``, ``@``. What only one of
them has is a method here.

Large matrices live on a device. What has few columns is NumPy's everywhere: it goes to the matrix
and comes back as a product (`Placed`), and nothing but the matrix notices where that is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse

from gferm.arrays import Array

DEVICES = ("cpu", "cuda")
UNKNOWN = 2**63  # bytes that are free where the system does not tell


@dataclass(frozen=True)
class Device:
    """An array library and the place it computes at; make one with `open_device`."""

    name: str
    xp: Any

    def __reduce__(self) -> Any:  # a module cannot be pickled; its name can
        return _device_at, (self.name, self.xp.__name__)

    @property
    def is_cpu(self) -> bool:
        """Whether this is NumPy."""
        return self.xp is np

    @property
    def kind(self) -> str:
        """What a user calls it: one of `DEVICES`, without the number of a GPU."""
        return "cpu" if self.is_cpu else "cuda"

    def at_once(self, on_cpu: int = 2**18) -> int:
        """Numbers to work on at once: ``on_cpu``, such as fit a cache, or what keeps a GPU busy."""
        return on_cpu if self.is_cpu else 2**26

    def put(self, array: Any) -> Any:
        """Bring an array here; one that is here already stays as it is."""
        if self.is_cpu:
            return np.asarray(array)
        if isinstance(array, np.ndarray) and not array.flags.writeable:
            array = array.copy()  # torch knows no array that must not be written
        if not isinstance(array, self.xp.Tensor):
            array = np.ascontiguousarray(array)
        return self.xp.as_tensor(array, device=self.name)

    def empty(self, *shape: int, dtype: str = "float64") -> Any:
        """Take memory for numbers."""
        if self.is_cpu:
            return np.empty(shape, dtype)
        return self.xp.empty(shape, dtype=getattr(self.xp, dtype), device=self.name)

    def zeros(self, *shape: int) -> Any:
        """Take memory for float64 numbers that are zero."""
        zeros = self.empty(*shape)
        zeros[...] = 0.0
        return zeros

    def get(self, array: Any) -> npt.NDArray[Any]:
        """Bring an array to NumPy."""
        return np.asarray(array if self.is_cpu else array.cpu())

    def cholesky(self, matrix: Any) -> Any:
        """Return the lower factor; a matrix that is not positive definite is a LinAlgError."""
        if self.is_cpu:
            return np.linalg.cholesky(matrix)
        factor, info = self.xp.linalg.cholesky_ex(matrix)
        if int(info) != 0:
            raise np.linalg.LinAlgError("Matrix is not positive definite")
        return factor

    def solve_lower(self, factor: Any, rhs: Any, *, transposed: bool = False) -> Any:
        """Solve L x = rhs, or Lᵀ x = rhs; what is above the diagonal is not looked at."""
        if self.is_cpu:
            return linalg.solve_triangular(
                factor, rhs, lower=True, trans=int(transposed), check_finite=False
            )
        triangle = factor.mT if transposed else factor
        return self.xp.linalg.solve_triangular(triangle, rhs, upper=transposed)

    def put_columns(self, columns: sparse.csr_array) -> Any:
        """Bring a few sparse columns here; a GPU has them dense."""
        if self.is_cpu:
            return columns
        entries, dense = columns.tocoo(), self.zeros(*columns.shape)
        places = self.put(entries.row.astype(np.intp)), self.put(entries.col.astype(np.intp))
        dense[places] = self.put(entries.data)
        return dense

    def times_columns(self, matrix: Any, columns: Any) -> Any:
        """Multiply a matrix that is here, transposed, with such columns: matrixᵀ·columns."""
        return np.asarray(columns.T @ matrix).T if self.is_cpu else matrix.T @ columns

    @property
    def free_bytes(self) -> int:
        """Memory that may be taken now."""
        if self.name.startswith("cuda"):
            self.xp.cuda.empty_cache()  # what torch keeps for itself is free, too
            return int(self.xp.cuda.mem_get_info(self.name)[0])
        available = _read("/proc/meminfo").partition("MemAvailable:")[2].split()
        free = int(available[0]) * 1024 if available else UNKNOWN
        limit, used = (_read(f"/sys/fs/cgroup/memory.{name}") for name in ("max", "current"))
        if limit.strip().isdigit() and used.strip().isdigit():  # a container has less
            free = min(free, max(int(limit) - int(used), 0))
        return free

    @property
    def room(self) -> str:
        """What is free, in words."""
        name, size = "this machine" if self.is_cpu else self.description, self.free_bytes
        told = f"has {gigabytes(size)} free" if size < UNKNOWN else "does not say what is free"
        return f"{name} {told}"

    @property
    def out_of_memory(self) -> type[Exception]:
        """What it raises when there is no memory left."""
        if self.is_cpu:
            return MemoryError
        error: type[Exception] = self.xp.cuda.OutOfMemoryError
        return error

    @property
    def description(self) -> str:
        """The device in words, for results."""
        if not self.name.startswith("cuda"):
            return "CPU"
        return str(self.xp.cuda.get_device_name(self.name))


CPU = Device("cpu", np)


def _device_at(name: str, library: str) -> Device:
    return Device(name, import_module(library))


@dataclass(frozen=True, eq=False)
class Placed:
    """A matrix on a device that multiplies NumPy's arrays: they travel, and it stays."""

    matrix: Any
    device: Device

    __array_ufunc__ = None  # NumPy leaves ``array @ placed`` to __rmatmul__

    @property
    def shape(self) -> tuple[int, int]:
        """That of the matrix."""
        rows, columns = self.matrix.shape
        return int(rows), int(columns)

    @cached_property
    def T(self) -> Placed:
        """The transpose, in the same memory."""
        return Placed(self.matrix.T, self.device)

    @property
    def dtype(self) -> npt.DTypeLike:
        """That of the products."""
        return np.dtype(np.float64)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> Placed:
        return Placed(self.matrix[rows], self.device)

    def __matmul__(self, right: Array) -> Array:
        return self.device.get(self.matrix @ self.device.put(right))

    def __rmatmul__(self, left: Array) -> Array:
        return self.device.get(self.device.put(left) @ self.matrix)


def _read(path: str) -> str:
    """Read what the system tells, or nothing where it does not."""
    try:
        return Path(path).read_text(encoding="ascii")
    except OSError:
        return ""


def gigabytes(size: float) -> str:
    """Write a number of bytes."""
    return f"{size / 1e9:.3g} GB"


def device_of(array: Any) -> Device:
    """Return where an array lives; what is neither NumPy's nor torch's counts as NumPy's."""
    if not is_tensor(array):
        return CPU
    import torch

    return Device(str(array.device), torch)


def is_tensor(array: Any) -> bool:
    """Return whether this is torch's, or of a class made of torch's, without importing it."""
    return any(base.__module__.partition(".")[0] == "torch" for base in type(array).__mro__)


ELSEWHERE = "; a model that was fitted on a GPU serves without one after set_params(device=None)."


def open_device(name: str) -> Device:
    """Return the device called ``name``; never another one in its place.

    Raises
    ------
    ValueError
        If the name is unknown, or there is no such device.
    """
    if name not in DEVICES:
        raise ValueError(f"device={name!r} is unknown; use one of {list(DEVICES)}.")
    if name == "cpu":
        return CPU
    try:
        import torch
    except ImportError as error:
        raise ValueError(
            "device='cuda' needs torch, which is not installed: pip install 'gferm[gpu]', or use "
            f"device='cpu'{ELSEWHERE}"
        ) from error
    if not torch.cuda.is_available():
        raise ValueError(
            "device='cuda' needs a CUDA GPU, and torch finds none (torch.cuda.is_available() is "
            "False). Check the driver and that torch was built for CUDA, or use device='cpu'"
            f"{ELSEWHERE}"
        )
    return Device(f"cuda:{torch.cuda.current_device()}", torch)  # as its tensors say it
