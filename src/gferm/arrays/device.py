"""Devices: where arrays live and which library computes there, NumPy on the CPU or torch on a GPU.

Code for both calls ``device.xp``, the library itself, with names that NumPy and torch share and
axes by position: ``xp.sum(x, -1)``, ``xp.linalg.solve(a, b)``, ``xp.where``, ``@``. What the two
call differently is a method of `Device`, which `NumpyDevice` and `TorchDevice` implement.

Large matrices live on a device. Arrays of few columns are NumPy's everywhere: `Placed` takes them
to the matrix and brings the product back, so that other code does not see where the matrix is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse

from gferm.arrays import Array

DEVICES = ("cpu", "cuda")
UNKNOWN = 2**63  # bytes that are free where the system does not tell


@dataclass(frozen=True)
class Device(ABC):
    """An array library and the place where it computes.

    `open_device` returns the device that a user names, `device_of` that of an array.

    Parameters
    ----------
    name : str
        The place, as the library calls it: "cpu", "cuda:0".
    xp : module
        The library.
    """

    name: str
    xp: Any

    is_cpu: ClassVar[bool]
    """Whether the library is NumPy."""
    kind: ClassVar[str]
    """One of `DEVICES`, as a user calls it, without the number of a GPU."""

    def __reduce__(self) -> Any:  # a module cannot be pickled; its name can
        return _device_at, (type(self), self.name, self.xp.__name__)

    def row_blocks(self, n_rows: int, n_columns: int) -> list[slice]:
        """Cut rows into blocks of as many numbers as are worked on at once here."""
        return row_blocks(n_rows, n_columns, self.at_once())

    @abstractmethod
    def at_once(self, on_cpu: int = 2**18) -> int:
        """Return how many numbers to work on at once: ``on_cpu``, or enough to keep a GPU busy."""

    @abstractmethod
    def put(self, array: Any) -> Any:
        """Return the array on this device; one that is here already is returned as it is."""

    @abstractmethod
    def get(self, array: Any) -> npt.NDArray[Any]:
        """Return an array of this device as NumPy's."""

    @abstractmethod
    def empty(self, *shape: int, dtype: str = "float64") -> Any:
        """Return a new array whose entries are not set."""

    def zeros(self, *shape: int) -> Any:
        """Return a new float64 array of zeros."""
        zeros = self.empty(*shape)
        zeros[...] = 0.0
        return zeros

    @abstractmethod
    def cholesky(self, matrix: Any) -> Any:
        """Return the lower Cholesky factor.

        Raises
        ------
        numpy.linalg.LinAlgError
            If the matrix is not positive definite.
        """

    @abstractmethod
    def solve_lower(self, factor: Any, rhs: Any, *, transposed: bool = False) -> Any:
        """Solve L x = rhs, or Lᵀ x = rhs. Entries of L above the diagonal are not read."""

    @abstractmethod
    def put_columns(self, columns: sparse.csr_array) -> Any:
        """Return a few sparse columns on this device, for `times_columns`; dense on a GPU."""

    @abstractmethod
    def times_columns(self, matrix: Any, columns: Any) -> Any:
        """Compute matrixᵀ·columns, for a matrix on this device and what `put_columns` returned."""

    @property
    def free_bytes(self) -> int:
        """The memory that can be allocated now, or `UNKNOWN`."""
        available = _read("/proc/meminfo").partition("MemAvailable:")[2].split()
        free = int(available[0]) * 1024 if available else UNKNOWN
        limit, used = (_read(f"/sys/fs/cgroup/memory.{name}") for name in ("max", "current"))
        if limit.strip().isdigit() and used.strip().isdigit():  # a container has less
            free = min(free, max(int(limit) - int(used), 0))
        return free

    @property
    @abstractmethod
    def room(self) -> str:
        """A clause for messages: "this machine has 2 GB free"."""

    @property
    @abstractmethod
    def out_of_memory(self) -> type[Exception]:
        """The exception that the library raises when memory runs out."""

    @property
    def description(self) -> str:
        """The name of the hardware, for results."""
        return "CPU"


class NumpyDevice(Device):
    """NumPy on the CPU."""

    is_cpu = True
    kind = "cpu"
    out_of_memory = MemoryError

    def at_once(self, on_cpu: int = 2**18) -> int:
        return on_cpu

    def put(self, array: Any) -> Any:
        return np.asarray(array)

    def get(self, array: Any) -> npt.NDArray[Any]:
        return np.asarray(array)

    def empty(self, *shape: int, dtype: str = "float64") -> Any:
        return np.empty(shape, dtype)

    def cholesky(self, matrix: Any) -> Any:
        return np.linalg.cholesky(matrix)

    def solve_lower(self, factor: Any, rhs: Any, *, transposed: bool = False) -> Any:
        return linalg.solve_triangular(
            factor, rhs, lower=True, trans=int(transposed), check_finite=False
        )

    def put_columns(self, columns: sparse.csr_array) -> Any:
        return columns

    def times_columns(self, matrix: Any, columns: Any) -> Any:
        return np.asarray(columns.T @ matrix).T

    @property
    def room(self) -> str:
        return f"this machine {_has_free(self.free_bytes)}"


class TorchDevice(Device):
    """Torch on a GPU; or on the CPU, for tests and for tensors that users have there."""

    is_cpu = False
    kind = "cuda"

    def at_once(self, on_cpu: int = 2**18) -> int:
        return 2**26

    def put(self, array: Any) -> Any:
        if isinstance(array, np.ndarray) and not array.flags.writeable:
            array = array.copy()  # torch knows no array that must not be written
        if not isinstance(array, self.xp.Tensor):
            array = np.ascontiguousarray(array)
        return self.xp.as_tensor(array, device=self.name)

    def get(self, array: Any) -> npt.NDArray[Any]:
        return np.asarray(array.cpu())

    def empty(self, *shape: int, dtype: str = "float64") -> Any:
        return self.xp.empty(shape, dtype=getattr(self.xp, dtype), device=self.name)

    def cholesky(self, matrix: Any) -> Any:
        factor, info = self.xp.linalg.cholesky_ex(matrix)
        if int(info) != 0:
            raise np.linalg.LinAlgError("Matrix is not positive definite")
        return factor

    def solve_lower(self, factor: Any, rhs: Any, *, transposed: bool = False) -> Any:
        triangle = factor.mT if transposed else factor
        return self.xp.linalg.solve_triangular(triangle, rhs, upper=transposed)

    def put_columns(self, columns: sparse.csr_array) -> Any:
        entries, dense = columns.tocoo(), self.zeros(*columns.shape)
        places = self.put(entries.row.astype(np.intp)), self.put(entries.col.astype(np.intp))
        dense[places] = self.put(entries.data)
        return dense

    def times_columns(self, matrix: Any, columns: Any) -> Any:
        return matrix.T @ columns

    @property
    def free_bytes(self) -> int:
        if not self._on_gpu:
            return super().free_bytes
        self.xp.cuda.empty_cache()  # what torch keeps for itself is free, too
        return int(self.xp.cuda.mem_get_info(self.name)[0])

    @property
    def room(self) -> str:
        return f"{self.description} {_has_free(self.free_bytes)}"

    @property
    def out_of_memory(self) -> type[Exception]:
        error: type[Exception] = self.xp.cuda.OutOfMemoryError
        return error

    @property
    def description(self) -> str:
        return str(self.xp.cuda.get_device_name(self.name)) if self._on_gpu else super().description

    @property
    def _on_gpu(self) -> bool:
        return self.name.startswith("cuda")


CPU = NumpyDevice("cpu", np)


def _device_at(kind: type[Device], name: str, library: str) -> Device:
    return kind(name, import_module(library))


@dataclass(frozen=True, eq=False)
class Placed:
    """A matrix that stays on a device, and takes and returns NumPy's arrays in products."""

    matrix: Any
    device: Device

    __array_ufunc__ = None  # NumPy leaves ``array @ placed`` to __rmatmul__

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the matrix."""
        rows, columns = self.matrix.shape
        return int(rows), int(columns)

    @cached_property
    def T(self) -> Placed:
        """The transpose, in the same memory."""
        return Placed(self.matrix.T, self.device)

    @property
    def dtype(self) -> npt.DTypeLike:
        """The type of the products."""
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
    """Return the text of a file of the system, or nothing where there is no such file."""
    try:
        return Path(path).read_text(encoding="ascii")
    except OSError:
        return ""


def _has_free(size: int) -> str:
    return f"has {gigabytes(size)} free" if size < UNKNOWN else "does not say what is free"


def gigabytes(size: float) -> str:
    """Return a number of bytes in words: "2.05 GB"."""
    return f"{size / 1e9:.3g} GB"


def device_of(array: Any) -> Device:
    """Return where an array lives; what is neither NumPy's nor torch's counts as NumPy's."""
    if isinstance(array, np.ndarray) or not is_tensor(array):
        return CPU
    import torch

    return TorchDevice(str(array.device), torch)


def is_tensor(array: Any) -> bool:
    """Return whether this is a tensor of torch, or of a subclass, without importing torch."""
    return any(base.__module__.partition(".")[0] == "torch" for base in type(array).__mro__)


ELSEWHERE = "; a model that was fitted on a GPU serves without one after set_params(device=None)."


def open_device(name: str) -> Device:
    """Return the device that a user calls ``name``; never another one in its place.

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
    return TorchDevice(f"cuda:{torch.cuda.current_device()}", torch)  # as its tensors say it


def row_blocks(n_rows: int, n_columns: int, doubles: int = 2**18) -> list[slice]:
    """Return slices that cut ``n_rows`` rows into blocks of about ``doubles`` numbers each."""
    step = max(doubles // max(n_columns, 1), 1)
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


def dense(block: Any) -> Array:
    """Return rows, sparse or not, as a dense array of NumPy's doubles."""
    rows = block.toarray() if hasattr(block, "toarray") else device_of(block).get(block)
    return np.asarray(rows, dtype=np.float64)
