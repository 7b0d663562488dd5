"""The spectrum of a symmetric positive semi-definite A: one factorisation for every alpha.

    A = U diag(σ) Uᵀ,        about ten times the work of Cholesky, then O(p) for each alpha.

Works in the basis U, where A is diagonal. It is also the way for alpha = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import linalg

from gferm.arrays import Array
from gferm.arrays.device import Placed, device_of


@dataclass(frozen=True, eq=False)
class Spectrum:
    """A = U diag(values) Uᵀ with increasing eigenvalues."""

    values: Array
    vectors: Any
    matrices: ClassVar[float] = 4.0  # with what LAPACK takes meanwhile

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
        """Compute A x."""
        return self.values[:, None] * x

    def shrink(self, x: Array) -> Array:
        """Compute A (A + alpha I)⁻¹ x."""
        return self.apply(self.solve(x))
