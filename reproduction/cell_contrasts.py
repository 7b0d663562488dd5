"""The fairness constraint of many training parts at once, from sums over their cells.

A contrast is a combination of cell indicators: C = V_t D with D = [1/n_kp, −1/n_kq] for neighbours
p, q among the populated groups of label bin k, as in comparison.py. So with the matrices of
nested.py, V_tᵀH'V_t = V_tᵀV_t − V_tᵀ(I − H')V_t,

    G = Dᵀ (V_tᵀH'V_t) D,    c₀ = Dᵀ V_tᵀH'y_t,    predictions = ŷ − V̂ D ν.

D has K (Q − 1) columns in every part; those of cells without rows are zero, and so is their ν.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from gferm.arrays import Array
from gferm.arrays.device import Device, open_device
from gferm.fairness.membership import Membership
from gferm.solver.two_groups import two_group_multipliers
from reproduction.nested import HeldOut, Rows

LABELS = 0  # the column of V with the labels


@dataclass(frozen=True)
class Bound:
    """A bound on the gaps: epsilon, of their mean or of their sum over ordered pairs."""

    epsilon: float
    scale: str = "mean"

    def of_total(self, n_pairs: Array) -> Array:
        """Return the bound on the sum over unordered pairs."""
        return self.epsilon * (n_pairs if self.scale == "mean" else 0.5 * np.ones_like(n_pairs))


@dataclass(frozen=True, eq=False)
class CellContrasts:
    """Contrasts of training parts.

    Attributes
    ----------
    columns : slice
        The cells among the columns of V, by label bin and then by group.
    counts : array of shape (n_parts, K·Q)
        Rows in each cell.
    weights : array of shape (n_parts, K·Q, K·(Q − 1))
        D.
    n_pairs : array of shape (n_parts,)
        Unordered pairs of populated cells.
    labels : array of shape (n_parts, K·Q)
        The sum of the labels in each cell.
    """

    columns: slice
    counts: Array
    weights: Array
    n_pairs: Array
    labels: Array

    @classmethod
    def of(cls, columns: slice, counts: npt.NDArray[np.intp], labels: Array) -> CellContrasts:
        """Compare all populated cells of a label bin; counts and labels are (n_parts, K, Q)."""
        populated = (counts > 0).sum(axis=-1)
        return cls(
            columns=columns,
            counts=counts.reshape(len(counts), -1).astype(float),
            weights=np.stack([_weights(part) for part in counts]),
            n_pairs=(populated * (populated - 1) // 2).sum(axis=-1).astype(float),
            labels=labels.reshape(len(counts), -1),
        )

    def reduce(self, device: Device, part: HeldOut) -> ReducedProblem:
        """Return the m-dimensional problem of every alpha and part."""
        xp, cells = device.xp, self.columns
        D = device.put(self.weights)
        Dt = xp.swapaxes(D, -1, -2)
        gram = Dt @ (device.put(_diagonals(self.counts)) - part.lost[..., cells, cells]) @ D
        start = device.put(self.labels) - part.lost[..., cells, LABELS]
        absent = device.put(_diagonals(1.0 * (np.abs(self.weights).max(axis=-2) == 0.0)))
        return ReducedProblem(
            device=device,
            gram=gram,
            start=(Dt @ start[..., None])[..., 0],
            absent=absent,
            n_pairs=self.n_pairs,
            plain=part.predictions[..., LABELS],
            effects=part.predictions[..., cells] @ D,
        )


@dataclass(frozen=True, eq=False)
class ReducedProblem:
    """G and c₀ of training parts, and what ν does to the predictions of their rows.

    Attributes
    ----------
    device : Device
    gram : array of shape (n_alphas, n_parts, m, m)
        G.
    start : array of shape (n_alphas, n_parts, m)
        c₀.
    absent : array of shape (n_parts, m, m)
        Ones on the diagonal for the contrasts that a part does not have.
    n_pairs : array of shape (n_parts,)
        Unordered pairs that are compared.
    plain : array of shape (n_alphas, n_parts, n_rows)
        ŷ.
    effects : array of shape (n_alphas, n_parts, n_rows, m)
        V̂ D.
    """

    device: Device
    gram: Any
    start: Any
    absent: Any
    n_pairs: Array
    plain: Any
    effects: Any

    def of_part(self, part: int, rows: Any) -> ReducedProblem:
        """Return the problem of one part, and of some of its rows."""
        return replace(
            self,
            gram=self.gram[:, part],
            start=self.start[:, part],
            absent=self.absent[part],
            n_pairs=self.n_pairs[part],
            plain=self.plain[:, part][:, rows],
            effects=self.effects[:, part][:, rows],
        )

    def on_host(self) -> ReducedProblem:
        """Return the same as NumPy arrays."""
        names = ("gram", "start", "absent", "plain", "effects")
        arrays = {name: self.device.get(getattr(self, name)) for name in names}
        return replace(self, device=open_device("cpu"), **arrays)

    def multipliers(self, bounds: Sequence[Bound | None]) -> Any:
        """Return ν for every bound, shape (..., n_bounds, m); None leaves the plain model.

        Positive bounds are for two groups.
        """
        xp = self.device.xp
        found = xp.stack([0.0 * self.start] * len(bounds), -2)
        exact = [j for j, bound in enumerate(bounds) if bound and bound.epsilon == 0.0]
        if exact:
            nu = xp.linalg.solve(self.gram + self.absent, self.start[..., None])[..., 0]
            found[..., exact, :] = nu[..., None, :]
        positive = {j: bound for j, bound in enumerate(bounds) if bound and bound.epsilon > 0.0}
        if positive:
            m = self.start.shape[-1]
            totals = np.stack([b.of_total(self.n_pairs) for b in positive.values()], axis=-1)
            totals = np.broadcast_to(totals, (*self.start.shape[:-1], len(positive)))
            nu = two_group_multipliers(
                self.device,
                self.gram.reshape(-1, m, m),
                self.start.reshape(-1, m),
                self.device.put(totals.reshape(-1, len(positive))),
            )
            found[..., list(positive), :] = nu.reshape(*totals.shape, m)
        return found

    def predictions(self, multipliers: Any) -> Any:
        """Return the fair predictions ŷ − (V̂ D) ν, shape (..., n_bounds, n_rows)."""
        return self.plain[..., None, :] - multipliers @ self.device.xp.swapaxes(
            self.effects, -1, -2
        )

    def at_rows(self, contrasts: CellContrasts, columns: Any) -> ReducedProblem:
        """Return the same problem with other rows to predict, by the values of V̂ there."""
        effects = columns[..., contrasts.columns] @ self.device.put(contrasts.weights)
        return replace(self, plain=columns[..., LABELS], effects=effects)


def contrasts_of(
    members: Membership, y: Array, place: slice, parts: Sequence[Rows]
) -> CellContrasts:
    """Return the contrasts of training parts; ``place`` are the columns of the cells."""
    partition = members.cells.partitions[0]
    shape, size = partition.counts.shape, partition.counts.size
    codes = [members.cell_codes[0][rows] for rows in parts]
    counts = [np.bincount(code, minlength=size).reshape(shape) for code in codes]
    sums = [
        np.bincount(code, y[rows], size).astype(float).reshape(shape)
        for code, rows in zip(codes, parts, strict=True)
    ]
    return CellContrasts.of(place, np.stack(counts), np.stack(sums))


def _weights(counts: npt.NDArray[np.intp]) -> Array:
    """Return D of one part, shape (K·Q, K·(Q − 1))."""
    n_labels, n_groups = counts.shape
    weights = np.zeros((n_labels, n_groups, n_labels, n_groups - 1))
    for k, row in enumerate(counts):
        for j, (p, q) in enumerate(pairwise(np.flatnonzero(row))):
            weights[k, p, k, j], weights[k, q, k, j] = 1.0 / row[p], -1.0 / row[q]
    return weights.reshape(n_labels * n_groups, -1)


def _diagonals(values: Array) -> Array:
    """Return matrices with the last axis on their diagonal."""
    return values[..., None] * np.eye(values.shape[-1])
