"""Cholesky factorisations of a symmetric positive semi-definite A, shifted by alpha.

    A + alpha I = L Lᵀ,        p³/3 operations, one alpha.

L replaces the lower triangle of A and the upper triangle keeps A, so one p×p array serves both.
`Cholesky` is LAPACK's. `BlockedCholesky` works on a device that may be too small for the matrix.
For each block J of columns, from left to right,

    A_:J − Σ_{K<J} L_:K L_JKᵀ  =  L_:J L_JJᵀ,

with the rows from J on. Where the array lives on the device, blocks are views of it. Where it is
NumPy's and the device is not (out of core), they are copied to the device and back, two blocks of
columns at a time.

`Factorization` is what the rest of the solver needs of these, of refined.py and of spectrum.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.linalg import blas, lapack

from gferm.arrays import Array
from gferm.arrays.device import Device, device_of
from gferm.arrays.host_transfer import HostTransfer

WIDTH = 2048  # columns of a block
PANELS = 4  # blocks of columns that a factorisation holds beside the matrix


def panel_size(n: int) -> int:
    """Return how many numbers the blocks of columns take on the device, beside the matrix."""
    return n * PANELS * min(n, WIDTH)


class NotPositiveDefiniteError(np.linalg.LinAlgError):
    """The matrix has an eigenvalue at or below zero."""


class Factorization(Protocol):
    """What the rest of the solver needs of a factorised A + alpha I."""

    @property
    def alpha(self) -> float:
        """The shift."""

    @property
    def steps(self) -> int:
        """Most iterations that a solve has needed; 1 for a closed form."""

    def shifted(self, alpha: float) -> Factorization:
        """Factorise the same A with another shift, in the memory of this one."""

    def solve(self, rhs: Array) -> Array:
        """Solve (A + alpha I) x = rhs."""

    def apply(self, x: Array) -> Array:
        """Compute A x, for several columns."""

    def shrink(self, x: Array) -> Array:
        """Return A (A + alpha I)⁻¹ x, or x itself, as xᵀA (A + alpha I)⁻¹x ≤ xᵀx."""


class Cholesky:
    """A + alpha I = L Lᵀ, in the memory of A.

    Parameters
    ----------
    matrix : array of shape (p, p), C-contiguous, symmetric
        A; it is overwritten.
    alpha : float
    """

    matrices = 1.0  # p×p arrays of doubles that it holds, A itself included
    steps = 1

    def __init__(self, matrix: Array, alpha: float) -> None:
        self.alpha = alpha
        self._diagonal = matrix.diagonal().copy()
        matrix.flat[:: len(matrix) + 1] += alpha
        # The transpose of a C-ordered symmetric matrix is itself in Fortran order: no copy.
        self._packed, info = lapack.dpotrf(matrix.T, lower=1, overwrite_a=1, clean=0)
        if info != 0:
            self.restore()
            raise NotPositiveDefiniteError(f"leading minor {info} is not positive definite")

    def shifted(self, alpha: float) -> Cholesky:
        """Put A back and factorise it again."""
        self.restore()
        return Cholesky(self._packed.T, alpha)

    def solve(self, rhs: Array) -> Array:
        """Solve (A + alpha I) x = rhs."""
        if rhs.shape[1] == 1:  # LAPACK is several times slower than BLAS for a single column
            half = blas.dtrsv(self._packed, rhs[:, 0], lower=1)
            return np.asarray(blas.dtrsv(self._packed, half, lower=1, trans=1)[:, None])
        x, _ = lapack.dpotrs(self._packed, rhs, lower=1)
        return np.ascontiguousarray(x)

    def apply(self, x: Array) -> Array:
        """Compute A x, from the triangle that the factor left alone."""
        if x.shape[1] == 1:
            product = blas.dsymv(1.0, self._packed, x[:, 0], lower=0)[:, None]
        else:
            product = blas.dsymm(1.0, self._packed, x, lower=0)
        correction = self._diagonal - self._packed.diagonal()
        return np.asarray(product + correction[:, None] * x)

    def shrink(self, x: Array) -> Array:
        """Return the bound, which costs nothing and is tight enough for alpha > 0."""
        return x

    def restore(self) -> None:
        """Copy the untouched upper triangle over the factor, block by block."""
        packed, p = self._packed, len(self._packed)
        for start in range(0, p, 256):
            rows = slice(start, min(start + 256, p))
            block = packed[rows, : rows.stop]
            above = packed[: rows.stop, rows].T
            lower = np.tri(block.shape[0], block.shape[1], k=start - 1, dtype=bool)
            block[lower] = above[lower]
        packed[np.diag_indices(p)] = self._diagonal


class BlockedCholesky:
    """A + alpha I = L Lᵀ, in the memory of A.

    Parameters
    ----------
    matrix : array of shape (p, p), symmetric
        A, on the device or NumPy's; it is overwritten.
    alpha : float
    device : Device
        Where to compute.
    """

    matrices = 1.0
    steps = 1

    def __init__(self, matrix: Any, alpha: float, device: Device) -> None:
        self.alpha, self.device = alpha, device
        self._packed, self._home = matrix, device_of(matrix)
        self._diagonal = np.array(self._home.get(matrix.diagonal()), dtype=np.float64)
        self._width = WIDTH if self._home == device else self._as_wide_as_fits()
        self._transfer = HostTransfer(device, self._dtype)
        while not self._factorized():
            self._width = max(self._width // 2, WIDTH)
            self.restore()

    def _factorized(self) -> bool:
        """Factorise; False where blocks turned out to be wider than the device has room for."""
        for columns in self._blocks():
            try:
                self._factorize(columns)
            except np.linalg.LinAlgError:
                self.restore()
                problem = f"a leading minor up to {columns.stop} is not positive definite"
                raise NotPositiveDefiniteError(problem) from None
            except self.device.out_of_memory:
                if self._width == WIDTH:
                    raise
                return False
        return True

    def shifted(self, alpha: float) -> BlockedCholesky:
        """Put A back and factorise it again."""
        self.restore()
        return type(self)(self._packed, alpha, self.device)

    def solve(self, rhs: Array) -> Array:
        """Solve (A + alpha I) x = rhs."""
        x = self.device.put(rhs.astype(self._dtype))
        for rows in self._blocks():
            for before in self._blocks(rows.start):
                x[rows] -= self._fetch(rows, before) @ x[before]
            x[rows] = self.device.solve_lower(self._fetch(rows, rows), x[rows])
        for rows in reversed([*self._blocks()]):
            below = slice(rows.stop, None)
            if rows.stop < len(x):
                x[rows] -= self._fetch(below, rows).T @ x[below]
            x[rows] = self.device.solve_lower(self._fetch(rows, rows), x[rows], transposed=True)
        return np.ascontiguousarray(self.device.get(x))

    def apply(self, x: Array) -> Array:
        """Compute A x, from the triangle that the factor left alone."""
        given, product = self.device.put(x), self.device.zeros(*x.shape)
        for rows in self._blocks():
            product[rows] += self._own(rows, self.device) @ given[rows]
            for after in self._blocks():
                if after.start >= rows.stop:
                    above = self._fetch(rows, after)
                    product[rows] += above @ given[after]
                    product[after] += above.T @ given[rows]
        return np.ascontiguousarray(self.device.get(product))

    def shrink(self, x: Array) -> Array:
        """Return the bound, as Cholesky does."""
        return x

    def restore(self) -> None:
        """Copy the untouched upper triangle over the factor."""
        for rows in self._blocks():
            self._packed[rows, rows] = self._own(rows, self._home)
            for after in self._blocks():
                if after.start >= rows.stop:
                    self._packed[after, rows] = self._packed[rows, after].T

    def _factorize(self, columns: slice) -> None:
        width = columns.stop - columns.start
        below, rest = slice(columns.start, None), slice(columns.stop, None)
        panel, own = self._fetch(below, columns), self._own(columns, self.device)
        panel[:width] = own
        self._shift(panel)
        for before in self._before(columns):
            left = self._fetch(below, before)
            panel -= left @ left[:width].T
        xp = self.device.xp
        try:
            factor = self.device.cholesky(panel[:width])
        except np.linalg.LinAlgError:
            self._store(columns, columns, own)
            raise
        self._store(columns, columns, xp.tril(factor) + xp.triu(own, 1))
        if columns.stop < len(self._packed):
            lower = self.device.solve_lower(factor, panel[width:].T).T
            self._store(rest, columns, lower)

    def _shift(self, panel: Any) -> None:
        width = panel.shape[1]
        diagonal = self.device.xp.arange(width)
        panel[diagonal, diagonal] += self.alpha

    def _own(self, rows: slice, place: Device) -> Any:
        """Return a block of A on the diagonal, from above it."""
        xp, diagonal = place.xp, self._diagonal[rows].astype(self._dtype)
        above = xp.triu(place.put(self._packed[rows, rows]), 1)
        return above + above.T + xp.diag(place.put(diagonal))

    def _blocks(self, end: int | None = None) -> Iterator[slice]:
        size = len(self._packed) if end is None else end
        return (slice(at, min(at + self._width, size)) for at in range(0, size, self._width))

    def _as_wide_as_fits(self) -> int:
        """Return the width of blocks that are copied: the wider, the fewer copies."""
        size = len(self._packed)
        column = size * np.dtype(self._dtype).itemsize
        return max(WIDTH, min(self.device.free_bytes // (PANELS * column), size))

    def _before(self, columns: slice) -> Iterator[slice]:
        """Return the columns to the left: in one go where they are, else as they fit."""
        if self._home == self.device:
            return iter([slice(0, columns.start)] if columns.start else [])
        return self._blocks(columns.start)

    def _fetch(self, rows: slice, columns: slice) -> Any:
        """Return a part of the array on the device: a view if it lives there."""
        part = self._packed[rows, columns]
        return part if self._home == self.device else self._transfer.to_device(part)

    def _store(self, rows: slice, columns: slice, part: Any) -> None:
        if self._home == self.device:
            self._packed[rows, columns] = part
        else:
            self._transfer.to_host(part, self._packed[rows, columns])

    @property
    def _dtype(self) -> npt.DTypeLike:
        """The type of the array's numbers, as NumPy names it."""
        return np.dtype(str(self._packed.dtype).removeprefix("torch."))


def cholesky(matrix: Any, alpha: float, device: Device) -> Cholesky | BlockedCholesky:
    """Return A + alpha I, factorised in the memory of A: by LAPACK, or by blocks on a device."""
    return Cholesky(matrix, alpha) if device.is_cpu else BlockedCholesky(matrix, alpha, device)


def is_positive_semidefinite(matrix: Any, precision: float) -> bool:
    """Return whether no eigenvalue is negative beyond rounding; ``matrix`` is left as it was.

    ``precision`` is that of the numbers from which the matrix was made.
    """
    device = device_of(matrix)
    xp = device.xp
    size = max(float(xp.abs(matrix.diagonal()).sum()), float(matrix.max()), -float(matrix.min()))
    shift = max(16 * precision * size, float(np.finfo(float).tiny))  # zero is semi-definite, too
    try:
        factor = cholesky(matrix, shift, device)
    except NotPositiveDefiniteError:
        return False
    factor.restore()
    return True
