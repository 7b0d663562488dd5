"""Nyström's features: a kernel machine whose functions live on m points, whatever n is.

f = Σ_j β_j k(z_j, ·) + b on landmarks z_1 … z_m instead of all n rows. With K_mm = L Lᵀ and
k_m(x) = (k(z_1, x), …, k(z_m, x)), the features

    φ(x) = L⁻¹ k_m(x)

make a linear problem of it: ‖w‖ is the norm of f in the kernel's own space, and β = L⁻ᵀ w. L is a
Cholesky factor with pivots: points that the others explain, but for rounding, are left out.

What is summed are not φ(x) but features that cost less, with only the first h pivots solved for,

    ψ(x) = ( L₁₁⁻¹ k_h(x),  k_rest(x) − L₂₁ L₁₁⁻¹ k_h(x) ),      φ = (I ⊕ L₂₂⁻¹) ψ,

and sums of ψ become sums of φ at the end. With h = 0 a row costs one product instead of two.
But the rounding of Σ ψψᵀ is multiplied by L₂₂⁻¹ twice: h is as large as it must be for the digits
that sums of φ would have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import blas, lapack

from gferm.arrays import Array
from gferm.arrays.device import UNKNOWN, Device, Placed, row_blocks
from gferm.features.kernel import Kernel, not_semidefinite_error, require_finite

SMALLEST = 1e-13  # pivot of K_mm that is kept, beside its norm: less is mostly rounding
AMPLIFIED = 16.0  # rounding of sums, at most, beside that of sums of φ
STEP = 256  # pivots solved for at once
NEGATIVE = 1e-9  # what a matrix may have below zero, beside its norm
ROWS = 2**20  # doubles of rows solved for at once
PROBES, ITERATIONS = 8, 10  # of a norm that is estimated


@dataclass(frozen=True, eq=False)
class KernelRows:
    """The matrix k_m(x), a row for each row of X, evaluated only where somebody looks.

    Attributes
    ----------
    X : array or sparse matrix of shape (n, d)
    points : array or sparse matrix of shape (m, d)
    kernel : Kernel
    device : Device
    """

    X: Any
    points: Any
    kernel: Kernel
    device: Device

    @property
    def shape(self) -> tuple[int, int]:
        """(n, m)."""
        return self.X.shape[0], self.points.shape[0]

    def evaluate(self, rows: Any) -> Any:
        """Evaluate some of the rows on the device."""
        some = self.X[rows]
        values = self.device.empty(some.shape[0], self.points.shape[0])
        self.kernel.fill(values, some, self.points, self.device)
        return values

    def __getitem__(self, rows: Any) -> Any:
        """Evaluate some of the rows, to be multiplied with NumPy's arrays."""
        values = self.evaluate(rows)
        return values if self.device.is_cpu else Placed(values, self.device)

    @property
    def at_once(self) -> int:
        """Numbers to evaluate in one go."""
        return self.device.at_once()

    def remembered(self) -> Any:
        """Evaluate all rows once and for all, if that takes a quarter of free memory at most."""
        n, m = self.shape
        if not 4 * 8 * n * m <= self.device.free_bytes < UNKNOWN:
            return self
        try:
            return self[:]
        except self.device.out_of_memory:  # it was less free than it said
            return self


@dataclass(frozen=True, eq=False)
class FeatureRows(KernelRows):
    """The matrix ψ(x); its rows stay on the device, where they are summed.

    Attributes
    ----------
    factor : array of shape (m, m)
        L.
    solved : int
        h.
    """

    factor: Array
    solved: int

    def __getitem__(self, rows: Any) -> Any:
        """Evaluate some of the rows."""
        values = self.evaluate(rows)
        for part in row_blocks(len(values), values.shape[1], self.device.at_once(ROWS)):
            block = values[part]
            for step, inverse, below in self._steps:
                block[:, step] = block[:, step] @ inverse
                block[:, step.stop :] -= block[:, step] @ below
        return values

    @cached_property
    def _steps(self) -> list[tuple[slice, Any, Any]]:
        """For some pivots at a time: their L⁻ᵀ, and what they take from all later ones."""
        steps = [slice(at, min(at + STEP, self.solved)) for at in range(0, self.solved, STEP)]
        put = self.device.put
        return [
            (
                step,
                put(inverse_of_lower(self.factor[step, step]).T),
                put(self.factor[step.stop :, step].T),
            )
            for step in steps
        ]


def factorize_points(kernel: Kernel, points: Any) -> tuple[Array, npt.NDArray[np.intp]]:
    """Return L, and the numbers of the points that it is about, the least explained first."""
    matrix = kernel.training_matrix(points)
    require_finite(matrix, kernel)
    size = float(np.linalg.norm(matrix))
    if size == 0.0:
        raise ValueError(
            f"kernel={kernel.metric!r} is zero between all landmarks, so nothing can be learned on "
            "them; give other points, or another kernel."
        )
    given = None if kernel.is_semidefinite else matrix.copy()
    packed, pivots, rank, _ = lapack.dpstrf(
        matrix.T, tol=max(SMALLEST * size, np.finfo(float).tiny), lower=1, overwrite_a=1
    )
    factor, order = np.tril(packed[:, :rank]), pivots - 1
    if given is not None:  # it stops where nothing is left, or where something negative is
        left = given[np.ix_(order, order)] - factor @ factor.T
        if float(np.abs(left).max(initial=0.0)) > NEGATIVE * size:
            raise not_semidefinite_error(kernel, fit_intercept=True)
    return np.ascontiguousarray(factor[:rank]), order[:rank]


def count_to_solve(factor: Array) -> int:
    """Return h, the least of 0, m/64, m/32, …, m with which sums of ψ keep enough digits."""
    m = len(factor)
    enough = AMPLIFIED * _norm2(lambda v: factor @ (factor.T @ v), m)
    counts = [0, *(m >> shift for shift in range(6, 0, -1))]
    return next((h for h in counts if amplification(factor[h:, h:]) <= enough), m)


def amplification(tail: Array) -> float:
    """Estimate the rounding of Σ φφᵀ over the landmarks themselves, in units of float64's.

    Entry ij of Σ ψψᵀ, which is S² with S = L₂₂L₂₂ᵀ, is off by its share of dᵢdⱼ, d² = diag(S²):
    what becomes of that is ‖L₂₂⁻¹ diag(d)‖². It takes m² work, with products of random vectors
    for the diagonal.
    """
    probes = np.random.default_rng(0).standard_normal((len(tail), PROBES))
    d = np.sqrt(np.mean((tail @ (tail.T @ probes)) ** 2, axis=1))
    upper = np.ascontiguousarray(tail).T  # in BLAS's own order: a solve makes no copy

    def solve(v: Array, transposed: bool) -> Array:
        solved: Array = blas.dtrsv(upper, v, lower=0, trans=int(not transposed))
        return solved

    return _norm2(lambda v: d * solve(solve(d * v, transposed=False), transposed=True), len(tail))


def _norm2(multiply: Callable[[Array], Array], size: int) -> float:
    """Estimate the largest eigenvalue of a positive semi-definite matrix, from below."""
    v, norm = np.random.default_rng(1).standard_normal(size), 0.0
    for _ in range(ITERATIONS):
        v = multiply(v / np.linalg.norm(v))
        norm = float(np.linalg.norm(v))
    return norm


def inverse_of_lower(factor: Array) -> Array:
    """Invert a lower triangle."""
    inverse, _ = lapack.dtrtri(factor, lower=1)
    return np.ascontiguousarray(inverse)
