"""The only cubic work: factorising a symmetric positive semi-definite A, shifted by alpha.

Both classes solve (A + alpha I) x = r and multiply by A itself.

    Cholesky   p³/3 operations, one alpha. The factor replaces the lower triangle of A and the
               upper triangle keeps A, so one p×p array serves both.
    Spectrum   A = U diag(σ) Uᵀ, about ten times the work, every alpha afterwards in O(p). Works
               in the basis U, where A is diagonal; also the way for alpha = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy import linalg
from scipy.linalg import blas, lapack

from gferm.arrays import Array
from gferm.arrays.device import Placed, device_of


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
        """Multiply A x, for several columns."""

    def shrink(self, x: Array) -> Array:
        """Multiply A (A + alpha I)⁻¹ x, or give x itself: xᵀA (A + alpha I)⁻¹x ≤ xᵀx."""


class Cholesky:
    """A + alpha I = L Lᵀ, in the memory of A.

    Parameters
    ----------
    matrix : array of shape (p, p), C-contiguous, symmetric
        A; it is overwritten.
    alpha : float
    """

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
        """Multiply A x, from the triangle that the factor left alone."""
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
        """Copy the untouched upper triangle over the factor."""
        _restore(self._packed, self._diagonal)


@dataclass(frozen=True, eq=False)
class Spectrum:
    """A = U diag(values) Uᵀ with increasing eigenvalues."""

    values: Array
    vectors: Any

    @classmethod
    def of(cls, matrix: Any) -> Spectrum:
        """Decompose ``matrix``, overwriting it; two more arrays of its size live meanwhile.

        The vectors stay where the matrix is. Divide and conquer: where eigenvalues are close
        together, as those of a narrow Gaussian kernel are, LAPACK's default takes ten times as
        long.
        """
        device = device_of(matrix)
        if not device.is_cpu:
            values, vectors = device.xp.linalg.eigh(matrix)
            return cls(device.get(values), Placed(vectors, device))
        values, vectors = linalg.eigh(matrix.T, overwrite_a=True, check_finite=False, driver="evd")
        return cls(values, vectors)

    def shifted(self, alpha: float) -> Diagonal:
        """Factorise A + alpha I in the basis of the eigenvectors."""
        return Diagonal(np.maximum(self.values, 0.0), alpha)


@dataclass(frozen=True, eq=False)
class Diagonal:
    """A + alpha I where A is diagonal; directions with σ = alpha = 0 are left out."""

    values: Array
    alpha: float
    steps: ClassVar[int] = 1

    def shifted(self, alpha: float) -> Diagonal:
        """Take another shift."""
        return Diagonal(self.values, alpha)

    def solve(self, rhs: Array) -> Array:
        """Solve (A + alpha I) x = rhs, with the smallest x where it is singular."""
        shifted = self.values + self.alpha
        cutoff = len(shifted) * np.finfo(float).eps * shifted.max(initial=0.0)
        inverse = np.zeros_like(shifted)
        np.divide(1.0, shifted, out=inverse, where=shifted > cutoff)
        return inverse[:, None] * rhs

    def apply(self, x: Array) -> Array:
        """Multiply A x."""
        return self.values[:, None] * x

    def shrink(self, x: Array) -> Array:
        """Multiply A (A + alpha I)⁻¹ x."""
        return self.apply(self.solve(x))


def _restore(packed: Array, diagonal: Array) -> None:
    """Copy the untouched upper triangle over the factor, block by block."""
    p = len(packed)
    for start in range(0, p, 256):
        rows = slice(start, min(start + 256, p))
        block = packed[rows, : rows.stop]
        above = packed[: rows.stop, rows].T
        lower = np.tri(block.shape[0], block.shape[1], k=start - 1, dtype=bool)
        block[lower] = above[lower]
    packed[np.diag_indices(p)] = diagonal
