"""Nested cross-validation without refitting: one decomposition of all rows serves every fold.

With the hat matrix H of all rows (hat.py) let L = I − H = U diag(lost) Uᵀ; an unpenalised intercept
is a direction with lost = 0. Train on t, hold out h: for any columns V over all rows

    e = L_hh⁻¹ (L V)_h = V_h − V̂_h              the errors at h of models trained on V_t,
    V_tᵀ L' V_t = Vᵀ L V − (L V)_hᵀ e            L' = I − H' of the rows that are left,

whatever V is at h. An inner fold i of an outer one o is h = o ∪ i. By blocks, o is eliminated once,

    L'_ii = L_ii − L_io L_oo⁻¹ L_oi,        (L' V)_i = (L V)_i − L_io L_oo⁻¹ (L V)_o,

and each inner fold costs a system of its own size. V holds the labels and the indicators of all
cells: contrasts of any training part are combinations of their columns (cell_contrasts.py).

All alphas, and all inner folds, are one stack; the file runs on any `Device`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gferm.arrays import Array
from gferm.device import Device

Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Part:
    """Models of one training part, for every alpha (first axis) and every inner fold, if several.

    Attributes
    ----------
    predictions : array of shape (n_alphas, [n_folds,] n_rows, q)
        Of the columns V, at the rows held out.
    lost : array of shape (n_alphas, [n_folds,] q, q)
        V_tᵀ (I − H') V_t.
    """

    predictions: Any
    lost: Any


@dataclass(frozen=True, eq=False)
class NestedParts:
    """What an outer fold gives: its own models, those of its inner folds, and the fitted values.

    Attributes
    ----------
    outer, inner : Part
    fitted : array of shape (n_alphas, n_train, q)
        Of the columns V at the rows the outer models were trained on.
    """

    outer: Part
    inner: Part
    fitted: Any


class InnerFolds:
    """The test rows of inner folds as one rectangle; a row that is not there is row n.

    Attributes
    ----------
    rows : array of shape (n_folds, n_rows)
    there : array of bool of shape (n_folds, n_rows)
    """

    def __init__(self, folds: Sequence[Rows], n: int) -> None:
        size = max(len(fold) for fold in folds)
        if min(len(fold) for fold in folds) < size - 1:
            raise ValueError("Inner folds must be of one size, or differ by one row.")
        self.rows = np.full((len(folds), size), n)
        for place, fold in zip(self.rows, folds, strict=True):
            place[: len(fold)] = fold
        self.there = self.rows < n


class AllRows:
    """L of all rows for every alpha, and what it makes of the columns V.

    Parameters
    ----------
    device : Device
    columns : array of shape (n, q)
        V.
    alphas : sequence of float
    """

    def __init__(self, device: Device, columns: Array, alphas: Sequence[float]) -> None:
        n = len(columns)
        self.device = device
        self.alphas = device.put(np.asarray(alphas, dtype=float))
        # row n is the place of rows that are not there: alone, and without effect
        self.columns = device.put(np.vstack([columns, np.zeros(columns.shape[1])]))
        self.left = device.empty(len(alphas), n + 1, n + 1)
        self.left[:, n, :] = self.left[:, :, n] = 0.0
        self.left[:, n, n] = 1.0

    def decompose(self, kernel: Array) -> tuple[Any, Any]:
        """Give the eigenvalues and vectors of the centred kernel, the intercept's infinite."""
        xp, matrix = self.device.xp, self.device.put(kernel)
        means = xp.mean(matrix, 0)
        matrix = matrix - means - means[:, None] + xp.mean(means)
        # a constant larger than any eigenvalue puts the intercept last, exactly (cf. hat.py)
        norm = xp.amax(xp.sum(xp.abs(matrix), 1), 0)
        values, vectors = xp.linalg.eigh(matrix + (1.5 * norm + 1e-300) / len(matrix))
        values = xp.where(values > 0.0, values, 0.0)
        values[-1] = np.inf
        return values, vectors

    def load(self, values: Any, vectors: Any) -> None:
        """Fill in L and L V for a decomposition."""
        xp, n = self.device.xp, len(values)
        lost = self.alphas[:, None] / (values + self.alphas[:, None])
        for i in range(len(lost)):
            scaled = vectors * xp.sqrt(lost[i])
            self.left[i, :n, :n] = scaled @ scaled.T
        rotated = vectors.T @ self.columns[:n]
        shrunk = lost[:, :, None] * rotated
        self.errors = 0.0 * self.left[:, :, :1] * self.columns[:1]
        self.errors[:, :n] = vectors @ shrunk
        self.lost = rotated.T @ shrunk

    def hold_out(self, test: Rows, train: Rows, inner: InnerFolds) -> NestedParts:
        """Hold out ``test``, and within ``train``, the rest, each inner fold besides."""
        xp, put = self.device.xp, self.device.put
        outer_rows, rows = put(test), put(inner.rows)
        cross = self.left[:, outer_rows]
        errors = self.errors[:, outer_rows]
        solved = xp.linalg.solve(cross[:, :, outer_rows], xp.concatenate([cross, errors], -1))
        size = cross.shape[-1]
        solved, e = solved[..., :size], solved[..., size:]
        outer = Part(self.columns[outer_rows] - e, self.lost - xp.swapaxes(errors, -1, -2) @ e)
        rest = self.errors - xp.swapaxes(cross, -1, -2) @ e  # (L' V) of the rows that are left
        left = self.left[:, rows[:, :, None], rows[:, None, :]]
        to_inner = xp.swapaxes(cross[:, :, rows], 1, 2)  # (n_alphas, n_folds, n_test, n_rows)
        from_inner = xp.swapaxes(solved[:, :, rows], 1, 2)
        left = left - xp.swapaxes(to_inner, -1, -2) @ from_inner
        errors = rest[:, rows]
        e = xp.linalg.solve(left, errors)
        lost = outer.lost[:, None] - xp.swapaxes(errors, -1, -2) @ e
        left_over = put(train)
        return NestedParts(
            outer=outer,
            inner=Part(self.columns[rows] - e, lost),
            fitted=self.columns[left_over] - rest[:, left_over],
        )
