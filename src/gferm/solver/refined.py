"""A float32 factor, refined to float64: half of the time and memory of a factor, all its digits.

(A + alpha I) x = r is solved by conjugate gradients in doubles, with L Lᵀ ≈ A + alpha I in float32
as preconditioner. That takes a few products with A where float32 tells A + alpha I from a singular
matrix, that is for alpha above some 1e-6 of the largest eigenvalue; where it does not, that is an
error and not a model with fewer digits.

A device that is too small for A may hold the factor: then it factorises and solves, and A, in
memory, is multiplied there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import lapack

from gferm.arrays import Array
from gferm.arrays.device import Device, Placed, device_of
from gferm.solver.cholesky import BlockedCholesky, NotPositiveDefiniteError, panel_size

TARGET = 1e-14  # ‖residual‖ beside ‖r‖, where steps end …
PATIENCE = 3  # … as they do after so many without progress
MOST_STEPS = 60
ENOUGH = 1e-10  # what a column must reach: the certificate says what it did reach


class Refined:
    """A + alpha I with a factor in float32 beside A.

    Parameters
    ----------
    matrix : array of shape (p, p), symmetric
        A, on the device or NumPy's.
    alpha : float
    device : Device, optional
        Where to factorise; where A is, by default.

    Attributes
    ----------
    steps : int
        Most steps of conjugate gradients that a solve has needed.
    """

    matrices = 1.5  # A, and half of that for the factor

    def __init__(self, matrix: Any, alpha: float, device: Device | None = None) -> None:
        home = device_of(matrix)
        self.device = device = device or home
        self.alpha, self.steps = alpha, 1
        self._matrix = Placed(matrix, home)
        single = _rounded_on(matrix, device, home)
        if device.is_cpu:
            single.flat[:: len(single) + 1] += np.float32(alpha)
            self._factor, info = lapack.spotrf(single.T, lower=1, overwrite_a=1, clean=0)
            if info != 0:
                raise NotPositiveDefiniteError(f"leading minor {info} is not positive definite")
        else:
            self._factor = BlockedCholesky(single, alpha, device)

    def shifted(self, alpha: float) -> Refined:
        """Factorise with another shift; A was never changed."""
        self._factor = None  # its memory goes to the next one
        return Refined(self._matrix.matrix, alpha, self.device)

    def solve(self, rhs: Array) -> Array:
        """Solve (A + alpha I) x = rhs, one column as precisely as the others."""
        size = np.maximum(np.linalg.norm(rhs, axis=0), np.finfo(float).tiny)
        residual = rhs / size
        x, best, waited = np.zeros_like(residual), np.ones(rhs.shape[1]), 0
        found, direction, before = x.copy(), np.zeros_like(x), np.ones(rhs.shape[1])
        for step in range(1, MOST_STEPS + 1):
            corrected = self._precondition(residual)
            product = np.einsum("ij,ij->j", residual, corrected)
            direction = corrected + direction * (product / before)
            before = np.where(product > 0.0, product, 1.0)
            image = self.apply(direction) + self.alpha * direction
            curvature = np.einsum("ij,ij->j", direction, image)
            length = np.zeros_like(curvature)
            np.divide(product, curvature, out=length, where=curvature > 0.0)
            x, residual = x + length * direction, residual - length * image
            left = np.linalg.norm(residual, axis=0)
            better = left < best
            found[:, better] = x[:, better]
            waited = 0 if (left < 0.5 * best).any() else waited + 1
            best = np.minimum(best, left)
            self.steps = max(self.steps, step)
            if best.max(initial=0.0) <= TARGET or waited >= PATIENCE:
                break
        if not best.max(initial=0.0) <= ENOUGH:  # NaN is not, either
            raise ValueError(
                f"solver='refined' cannot reach float64: after {step} steps the residual is "
                f"{best.max():.1e} of the right-hand side, because alpha is too small beside the "
                "kernel matrix for a factor in float32. Use solver='cholesky', or a larger alpha."
            )
        return np.asarray(found * size)

    def apply(self, x: Array) -> Array:
        """Compute A x."""
        product: Array = self._matrix @ x
        return product

    def shrink(self, x: Array) -> Array:
        """Return the bound, as Cholesky does."""
        return x

    def _precondition(self, residual: Array) -> Array:
        if isinstance(self._factor, BlockedCholesky):
            return np.asarray(self._factor.solve(residual), dtype=np.float64)
        x, _ = lapack.spotrs(self._factor, residual.astype(np.float32), lower=1)
        return np.asarray(x, dtype=np.float64)


def _rounded_on(matrix: Any, device: Device, home: Device) -> Any:
    """Copy A to float32, on the device if that has room for it and for the blocks of the work."""
    n = len(matrix)
    if home == device or 4 * (n * n + panel_size(n)) > device.free_bytes:
        return _rounded(matrix, home)
    try:
        return _rounded(matrix, device)
    except device.out_of_memory:  # it was less free than it said
        return _rounded(matrix, home)


def _rounded(matrix: Any, place: Device) -> Any:
    """Copy A to a place in float32."""
    n = len(matrix)
    single = place.empty(n, n, dtype="float32")
    for rows in place.row_blocks(n, n):
        single[rows] = place.put(matrix[rows])
    return single
