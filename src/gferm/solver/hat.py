"""The hat matrix of all rows: one eigendecomposition for every alpha and every fold.

Fitted values are linear in the labels, f = H y. With A = U diag(σ) Uᵀ, the (centred, weighted)
kernel of all n rows,

    H = U diag(kept) Uᵀ,    kept = σ/(σ + alpha),    lost = 1 − kept = alpha/(σ + alpha).

An unpenalised intercept is one more direction, that nothing shrinks: σ = ∞, kept = 1. Directions
with one and the same σ (zero where the kernel has a low rank, one where it is nearly the
identity) need no vectors: U Uᵀ = I, so they are what the others leave.

Models of fewer rows need no other decomposition. Let h be the rows that are held out and R any
columns that are zero there. Training on the rest and predicting h gives

    Z = (I − H_hh)⁻¹ H_h· R            the predictions at h,
    Q = Rᵀ H R + (H_h· R)ᵀ Z           Rᵀ H' R for the hat matrix H' of the rows that are left,

sums of positive terms, without a difference that could lose digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import blas

from gferm.arrays import Array
from gferm.arrays.device import device_of, row_blocks
from gferm.features.geometry import ROUNDING
from gferm.solver.series import RADIUS, Series
from gferm.solver.spectrum import Spectrum

PRECISION, SMALLEST = float(np.finfo(float).eps), float(np.finfo(float).tiny)
WORTH_IT = 0.25  # share of directions with one eigenvalue from which on they are left out
HELD_OUT_AT_ONCE = 0.125  # of n² doubles, for the work on several alphas at a time …
SMALL = 2**18  # … or this many, if they are more
_one_fold_at_a_time = Lock()  # on a device, which has no cores to share but memory
FEW_TIMES = 4  # rows held out go this often into all rows, at least, for work that needs memory


@dataclass(frozen=True, eq=False)
class HatMatrix:
    """H for every alpha.

    Attributes
    ----------
    values : array of shape (r,)
        σ, increasing; the last one is infinite if there is an intercept.
    vectors : array of shape (r, n)
        An eigenvector in each row, a sample in each column.
    rest : float or None
        The σ of all directions that are not in ``vectors``; None if there are none.
    """

    values: Array
    vectors: Any
    rest: float | None

    @classmethod
    def of(cls, matrix: Any, null: Array | None) -> HatMatrix:
        """Decompose A, overwriting it; ``null`` is the direction of the intercept, if any."""
        if null is not None:
            _raise_above_all(matrix, null)
        device, spectrum = device_of(matrix), Spectrum.of(matrix)
        values, vectors = np.maximum(spectrum.values, 0.0), spectrum.vectors.T
        middle = float(values[_middle(values)])
        same = np.abs(values - middle) <= len(values) * PRECISION * values[-1]
        if null is not None:
            values[-1], same[-1] = np.inf, False
        if not device.is_cpu:
            return PlacedHatMatrix(values, vectors, None)
        if same.sum() < WORTH_IT * len(values):
            return cls(values, vectors, None)
        return cls(values[~same], vectors[~same], middle)

    @property
    def smallest_alpha(self) -> float:
        """The alpha below which the eigenvalues are not known well enough."""
        n = self.vectors.shape[1]
        return max(float(64.0 * n * PRECISION * self._largest), SMALLEST)

    @property
    def _largest(self) -> float:
        return float(self.values[np.isfinite(self.values)].max(initial=self.rest or 0.0))

    def rotate(self, columns: Array) -> Array:
        """Return the coordinates of columns R along the vectors."""
        return np.ascontiguousarray(blas.dgemm(1.0, self.vectors.T, columns, trans_a=1))

    def sees(self, rotated: Array, norms2: Array, size: float) -> npt.NDArray[np.bool_]:
        """Return for each column c, of which ‖c‖² is given, whether A c is more than rounding.

        ``size`` is that of the entries of A before it was centred.
        """
        squares = np.where(np.isfinite(self.values), self.values, 0.0) ** 2 @ rotated**2
        if self.rest:
            squares += self.rest**2 * np.maximum(norms2 - (rotated**2).sum(axis=0), 0.0)
        return np.asarray(squares > (ROUNDING * max(self._largest, size)) ** 2 * norms2)

    def hold_out(
        self, rows: npt.NDArray[np.intp], rotated: Array, gram: Array, alphas: Array
    ) -> tuple[Array, Array]:
        """Return Z and Q for every alpha, shapes (n_alphas, n_rows, q) and (n_alphas, q, q).

        ``rotated`` and ``gram`` are those of columns R that are zero at ``rows``: their
        coordinates, and RᵀR.
        """
        held = np.take(self.vectors, rows, axis=1)
        kept, lost = self._shrinkage(alphas[:, None])
        small = kept
        if self.rest is None:
            # R vanishes at h, so Σ u_h (Uᵀ R) = 0 and any constant may be taken from the weights
            small = np.where(kept.mean(axis=1, keepdims=True) > 0.5, -lost, kept)
        effects = _weighted_products(held, small, rotated)
        predictions = np.empty_like(effects)
        for some, left in self._left(held, lost, alphas):
            predictions[some] = np.linalg.solve(left, effects[some])
        forms = _weighted_products(rotated, kept, rotated)
        forms += np.swapaxes(effects, 1, 2) @ predictions
        if self.rest:
            forms += (self.rest / (alphas + self.rest))[:, None, None] * gram
        return predictions, forms

    def _left(self, held: Array, lost: Array, alphas: Array) -> Iterator[tuple[Any, Array]]:
        """Return I − H_hh, for one alpha after another or for some at a time."""
        center = float(self.values[_middle(self.values)]) if self.rest is None else self.rest
        roomy = FEW_TIMES * held.shape[1] <= self.vectors.shape[1]  # for the sums of a series
        series = Series.around(center, self.values, alphas, RADIUS if roomy else 0.0)
        if self.rest is not None or (series.pays and held.size > SMALL):
            yield from series.weighted_grams(held)
            return
        room = max(HELD_OUT_AT_ONCE * self.vectors.shape[1] ** 2, SMALL)
        at_once = max(1, int(room / max(held.size, held.shape[1] ** 2)))
        at_once = min(at_once, len(alphas))
        # once: fresh memory costs as much as its use
        scratch, grams = (np.empty((at_once, rows, held.shape[1])) for rows in held.shape)
        for start in range(0, len(alphas), at_once):
            some = slice(start, min(start + at_once, len(alphas)))
            roots = np.sqrt(lost[some, :, None])
            scaled = np.multiply(roots, held, out=scratch[: len(roots)])
            yield some, np.matmul(np.swapaxes(scaled, 1, 2), scaled, out=grams[: len(roots)])

    def _shrinkage(self, alphas: Array) -> tuple[Array, Array]:
        """Return kept and lost, as they differ from those of the rest if there is one."""
        with np.errstate(divide="ignore"):
            if self.rest is None:
                kept: Array = 1.0 / (1.0 + alphas / self.values)
                return kept, np.asarray(alphas / (self.values + alphas))
            shift = self.rest + alphas
            more: Array = alphas / shift / (1.0 + shift / (self.values - self.rest))
        return more, -more


@dataclass(frozen=True, eq=False)
class PlacedHatMatrix(HatMatrix):
    """H whose vectors are on a device, one alpha after another."""

    def rotate(self, columns: Array) -> Array:
        """Return the coordinates of columns R along the vectors."""
        rotated: Array = self.vectors @ columns
        return rotated

    def hold_out(
        self, rows: npt.NDArray[np.intp], rotated: Array, gram: Array, alphas: Array
    ) -> tuple[Array, Array]:
        """Return Z and Q for every alpha."""
        device = self.vectors.device
        xp, put = device.xp, device.put
        predictions, forms = [], []
        with _one_fold_at_a_time:
            held, there = self.vectors.matrix[:, put(rows)], put(rotated)
            for alpha in alphas:
                kept, lost = (put(share)[:, None] for share in self._shrinkage(alpha))
                roots = lost**0.5 * held
                effects = held.T @ ((kept if kept.mean() < 0.5 else -lost) * there)
                found = xp.linalg.solve(roots.T @ roots, effects)
                predictions.append(device.get(found))
                forms.append(device.get(there.T @ (kept * there) + effects.T @ found))
        return np.array(predictions), np.array(forms)


def _middle(values: Array) -> int:
    """Return the place of the median, never that of the intercept beside others."""
    return (len(values) - 1) // 2


def _raise_above_all(matrix: Any, null: Array) -> None:
    """Return the null vector the largest eigenvalue: alone there, it is computed exactly.

    What centring a large kernel left of it as rounding, and a small one would notice, goes first.
    """
    device = device_of(matrix)
    blocks, there = device.row_blocks(len(matrix), len(matrix)), device.put(null)
    norm = max(float(device.xp.abs(matrix[rows]).sum(1).max()) for rows in blocks)
    size = 1.5 * norm if norm > 0.0 else 1.0
    left = matrix @ there
    left -= 0.5 * (size + float(there @ left)) * there
    for rows in blocks:
        matrix[rows] -= left[rows, None] * there
        matrix[rows] -= there[rows, None] * left


def _weighted_products(left: Array, weights: Array, right: Array) -> Array:
    """Return leftᵀ diag(w) right for each row w of the weights, block by block of directions."""
    n_alphas, (n, q) = len(weights), right.shape
    blocks = row_blocks(n, n_alphas * q, 2**16)
    stacked = np.empty((blocks[0].stop if blocks else 0, n_alphas, q))
    total, part = np.zeros((2, left.shape[1], n_alphas * q))
    for rows in blocks:
        some = stacked[: rows.stop - rows.start]
        np.multiply(weights.T[rows, :, None], right[rows, None, :], out=some)
        total += np.matmul(left[rows].T, some.reshape(len(some), -1), out=part)
    return np.ascontiguousarray(total.reshape(-1, n_alphas, q).transpose(1, 0, 2))
