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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gferm.arrays import Array
from gferm.arrays.device import Device

Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Models of training parts, at the rows that were held out.

    The first axis is alpha, the second the training part.

    Attributes
    ----------
    predictions : array of shape (n_alphas, n_parts, n_rows, q)
        Of the columns V, at the rows held out.
    lost : array of shape (n_alphas, n_parts, q, q)
        V_tᵀ (I − H') V_t.
    """

    predictions: Any
    lost: Any


@dataclass(frozen=True, eq=False)
class NestedModels:
    """Models of outer folds, those of their inner folds, and fitted values.

    Attributes
    ----------
    outer, inner : HeldOut
        The inner folds of the first outer one come first.
    fitted : array of shape (n_alphas, n_outer, n_train, q)
        Of the columns V at the rows the outer models were trained on.
    """

    outer: HeldOut
    inner: HeldOut
    fitted: Any


class PaddedFolds:
    """Rows of several folds as an array, one fold a line, padded where a fold is a row short.

    Row n stands for one that is missing in an inner fold, row n + 1 for one in an outer fold: what
    is held out together has no row twice.

    Attributes
    ----------
    rows : array of shape (n_folds, n_rows)
    present : array of bool of shape (n_folds, n_rows)
    """

    def __init__(self, folds: Sequence[Rows], n: int, *, inner: bool) -> None:
        size = max(len(fold) for fold in folds)
        if min(len(fold) for fold in folds) < size - 1:
            raise ValueError("Folds must be of one size, or differ by one row.")
        self.rows = np.full((len(folds), size), n if inner else n + 1)
        for place, fold in zip(self.rows, folds, strict=True):
            place[: len(fold)] = fold
        self.present = self.rows < n


class NestedSolver:
    """Holds out folds of one kernel after another: L of all rows for every alpha, and L V.

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
        # two rows in place of those that are not there (PaddedFolds): alone, and without effect
        self.columns = device.put(np.vstack([columns, np.zeros((2, columns.shape[1]))]))
        self.left = device.empty(len(alphas), n + 2, n + 2)
        self.left[:, n:, :] = self.left[:, :, n:] = 0.0
        self.left[:, n, n] = self.left[:, n + 1, n + 1] = 1.0
        self.errors = device.empty(len(alphas), *self.columns.shape)
        self.errors[:, n:] = 0.0

    def decompose(self, kernel: Array) -> tuple[Any, Any]:
        """Return the eigenvalues and vectors of the centred kernel, the intercept's infinite."""
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
        self.errors[:, :n] = vectors @ shrunk
        self.lost = rotated.T @ shrunk

    def hold_out(self, test: Rows, train: Rows, inner: Rows) -> NestedModels:
        """Hold out each line of ``test`` and, within the rest, each of its inner folds besides.

        Parameters
        ----------
        test : array of shape (n_outer, n_test)
        train : array of shape (n_outer, n_train)
        inner : array of shape (n_outer, n_inner, n_rows)
        """
        xp, put = self.device.xp, self.device.put
        test, train, inner = put(test), put(train), put(inner)
        cross, errors = self.left[:, test], self.errors[:, test]
        size = cross.shape[-1]
        system = self.left[:, test[:, :, None], test[:, None, :]]
        solved = xp.linalg.solve(system, xp.concatenate([cross, errors], -1))
        solved, e = solved[..., :size], solved[..., size:]
        lost = self.lost[:, None] - _transposed(xp, errors) @ e
        outer = HeldOut(self.columns[test] - e, lost)
        # (L' V) of the rows that are left
        rest = self.errors[:, None] - _transposed(xp, cross) @ e
        within = [
            self._hold_out_within(cross[:, o], solved[:, o], rest[:, o], lost[:, o], inner[o])
            for o in range(len(inner))
        ]
        return NestedModels(
            outer=outer,
            inner=HeldOut(
                xp.concatenate([part.predictions for part in within], 1),
                xp.concatenate([part.lost for part in within], 1),
            ),
            fitted=xp.stack(
                [self.columns[rows] - rest[:, o][:, rows] for o, rows in enumerate(train)], 1
            ),
        )

    def _hold_out_within(self, cross: Any, solved: Any, rest: Any, lost: Any, rows: Any) -> HeldOut:
        """Hold out the inner folds of one outer fold."""
        xp = self.device.xp
        left = self.left[:, rows[:, :, None], rows[:, None, :]]
        to_inner = xp.swapaxes(cross[:, :, rows], 1, 2)  # (n_alphas, n_inner, n_test, n_rows)
        from_inner = xp.swapaxes(solved[:, :, rows], 1, 2)
        errors = rest[:, rows]
        e = xp.linalg.solve(left - _transposed(xp, to_inner) @ from_inner, errors)
        return HeldOut(self.columns[rows] - e, lost[:, None] - _transposed(xp, errors) @ e)


def join_models(device: Device, parts: Sequence[NestedModels]) -> NestedModels:
    """Put outer folds together that were held out apart."""

    def join(arrays: Iterable[Any]) -> Any:
        return device.xp.concatenate(list(arrays), 1)

    outer, inner = (
        HeldOut(join(part.predictions for part in some), join(part.lost for part in some))
        for some in ([part.outer for part in parts], [part.inner for part in parts])
    )
    return NestedModels(outer, inner, join(part.fitted for part in parts))


def _transposed(xp: Any, matrices: Any) -> Any:
    return xp.swapaxes(matrices, -1, -2)
