"""The fair kernel: epsilon = 0 as a change of kernel, for any kernel machine.

Equal cell means, Cᵀf = 0 for f = Σ βᵢ κ(·, xᵢ), say that f is orthogonal to m functions of the
space of the kernel. Projecting them out leaves a kernel whose every function is fair:

    κ_fair(z, z') = κ(z, z') − a(z)ᵀ (CᵀKC)⁺ a(z'),      a(z) = Cᵀ k(z).

With (CᵀKC)⁺ = R Rᵀ, the r numbers Rᵀa(z) are the coordinates of z along orthonormal directions,
and D = K C R (n×r) are those of the training rows. That is all there is to keep:

    K_fair = K − D Dᵀ              the training matrix
    k_fair(z) = k(z) − D Rᵀa(z)    a new row
    K_fair β = K (β − C μ)         the same function on the original kernel, μ = R Dᵀβ

Rounding. A contrast that shrinks to √eps of its terms has a squared norm below what the entries of
K resolve, and dividing by too small a norm would leave an indefinite kernel. So norms are taken a
few eps too large (ROUNDING), which keeps K_fair semi-definite and leaves, in the worst case, a gap
of some 1e-9 of the function's norm; contrasts that are all rounding are left alone.

This file knows neither estimators nor losses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg import blas

from gferm.arrays import Array
from gferm.arrays.device import row_blocks

ROUNDING = 4 * np.finfo(float).eps  # of CᵀKC, each contrast scaled to the length of its terms
TIGHT = 1e-13  # a gap of the training matrix, on the same scale, that needs no second pass


@dataclass(frozen=True, eq=False)
class FairKernel:
    """What projecting a kernel takes: directions in its space, and where the training rows lie.

    Attributes
    ----------
    columns : sparse array of shape (n_samples, m)
        C, the contrasts.
    root : array of shape (m, r)
        R, the directions as combinations of the contrasts; r is the rank of CᵀKC.
    coordinates : array of shape (n_samples, r)
        D, the training rows along the directions.
    """

    columns: sparse.csr_array
    root: Array
    coordinates: Array

    @classmethod
    def of(cls, matrix: Array, columns: sparse.csr_array) -> FairKernel:
        """Find the directions; ``matrix`` (n×n, semi-definite) stays as it is."""
        lengths = _lengths(columns, np.sqrt(np.maximum(matrix.diagonal(), 0.0)))
        scaled = (columns @ sparse.diags_array(1.0 / lengths)).tocsr()
        probe = _product(matrix, scaled)
        gram = np.asarray(scaled.T @ probe)
        values, vectors = np.linalg.eigh((gram + gram.T) / 2)
        rounding = ROUNDING * max(1.0, float(values.max(initial=0.0)))
        kept = values > rounding
        inverse_root = vectors[:, kept] / np.sqrt(values[kept] + rounding)
        return cls(columns, inverse_root / lengths[:, None], probe @ inverse_root)

    def locate(self, rows: Array) -> Array:
        """Return the coordinates of new points from their kernel with the training rows."""
        return np.asarray(rows @ self.columns) @ self.root

    def project_rows(self, rows: Array) -> None:
        """Turn k(z), one row for each new point, into k_fair(z), in place."""
        for part in row_blocks(*rows.shape):
            rows[part] -= self.locate(rows[part]) @ self.coordinates.T

    def project_training(self, matrix: Array) -> None:
        """Turn K (C order) into K_fair, in place, exactly symmetric and exactly fair."""
        size = np.sqrt(np.maximum(matrix.diagonal(), 0.0))
        # The transpose of a C-ordered matrix is in Fortran order: BLAS works in its memory.
        if self.root.size:
            blas.dsyrk(-1.0, self.coordinates, beta=1.0, c=matrix.T, overwrite_c=1)
        _mirror(matrix)
        gaps = _product(matrix, self.columns)
        bound = np.outer(size, _lengths(self.columns, size))
        if (np.abs(gaps) > TIGHT * bound).any():
            self._second_pass(matrix, gaps)

    def diagonal(self, values: Array, rows: Array) -> Array:
        """Turn κ(z, z) into κ_fair(z, z); ``rows`` is the kernel with the training rows."""
        along = self.locate(rows)
        return np.asarray(np.maximum(values - np.einsum("ij,ij->i", along, along), 0.0))

    def multipliers(self, coefficients: Array) -> Array:
        """Return μ of a function Σ βᵢ κ_fair(·, xᵢ), or one row for each row of β."""
        return np.asarray(coefficients @ self.coordinates @ self.root.T)

    def to_original(self, coefficients: Array) -> Array:
        """Write Σ βᵢ κ_fair(·, xᵢ) as Σ αᵢ κ(·, xᵢ), for one β or for each row."""
        return np.asarray(coefficients - (self.columns @ self.multipliers(coefficients).T).T)

    def _second_pass(self, matrix: Array, gaps: Array) -> None:
        """Clear what the contrasts still see of K_fair by Π K_fair Π, Π = I − C (CᵀC)⁺Cᵀ.

        It keeps the matrix semi-definite and moves it no further than the gaps that are left.
        """
        lengths = np.sqrt(np.asarray(self.columns.power(2).sum(axis=0)))
        scaled = (self.columns @ sparse.diags_array(1.0 / lengths)).tocsr()
        values, vectors = np.linalg.eigh((scaled.T @ scaled).toarray())
        kept = values > len(values) * np.finfo(float).eps * values[-1]
        into = vectors[:, kept] / np.sqrt(values[kept])
        basis = scaled @ into
        seen = (gaps / lengths) @ into
        seen -= 0.5 * basis @ (basis.T @ seen)
        blas.dsyr2k(-1.0, basis, seen, beta=1.0, c=matrix.T, overwrite_c=1)
        _mirror(matrix)


def project_kernel(matrix: Array, columns: sparse.csr_array) -> FairKernel:
    """Turn K into K_fair, in place and without a second n×n array.

    Parameters
    ----------
    matrix : array of shape (n_samples, n_samples), float64, C-contiguous
        A positive semi-definite kernel matrix; it is overwritten.
    columns : sparse array of shape (n_samples, m)
        The contrasts, of any rank.

    Returns
    -------
    FairKernel
        The way for new rows, and the way back to the original kernel.
    """
    fair = FairKernel.of(matrix, columns)
    fair.project_training(matrix)
    return fair


def _product(matrix: Array, columns: sparse.csr_array) -> Array:
    """Multiply K C, whose C has few entries."""
    return np.asarray(columns.T @ matrix).T


def _lengths(columns: sparse.csr_array, size: Array) -> Array:
    """Bound the norm of each contrast by the norms of its terms, Σ |cᵢ| √κ(xᵢ, xᵢ)."""
    lengths = np.asarray(abs(columns).T @ size)
    return np.where(lengths > 0.0, lengths, 1.0)


def _mirror(matrix: Array) -> None:
    """Copy the lower triangle, where BLAS wrote the transpose's upper one, over the upper."""
    for part in row_blocks(len(matrix), len(matrix)):
        below = slice(part.start, len(matrix))
        block, transposed = matrix[part, below], matrix[below, part].T
        np.copyto(block, transposed, where=np.tri(*block.shape) == 0.0)
