"""Predictions of some rows in, sums over their cells out: hits, errors and DGF.

A hit is a prediction that falls into the label bin of its row, by the rule of `Bins.assign`:
half-open bins, the last one closed. Runs on any `Device`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gferm.arrays import Array
from gferm.arrays.device import Device
from gferm.fairness.membership import Membership
from reproduction.nested import PaddedFolds


class FoldJudge:
    """Measures predictions of the rows of several folds, by their labels and cells.

    Parameters
    ----------
    device : Device
    members : Membership
        Of all rows.
    y : array of shape (n,)
    folds : PaddedFolds
        Which rows, one fold a line.
    """

    def __init__(self, device: Device, members: Membership, y: Array, folds: PaddedFolds) -> None:
        partition, present = members.cells.partitions[0], folds.present
        rows = np.where(present, folds.rows, 0)
        edges = np.asarray(members.scheme.label_bins.boundaries)  # type: ignore[attr-defined]
        label = members.label_codes[rows]
        member = np.eye(partition.counts.size)[members.cell_codes[0][rows]] * present[..., None]
        self.shape = partition.counts.shape
        self.counts = member.sum(axis=1).reshape(-1, *self.shape)
        self.device = device
        self._member = device.put(member)
        # a line of predictions is (..., fold, variant, row)
        self._low, self._high, self._y, self._share, self._last = (
            device.put(values[:, None, :])
            for values in (
                edges[label],
                edges[label + 1],
                y[rows],
                present / present.sum(axis=1, keepdims=True),
                label == len(edges) - 2,
            )
        )

    def errors(self, predictions: Any) -> Array:
        """Return mean absolute errors of each fold, (..., fold, variant, row) → (..., variant)."""
        xp = self.device.xp
        return self.device.get((xp.abs(predictions - self._y) * self._share).sum(-1))

    def hits(self, predictions: Any) -> Array:
        """Count the hits of every cell, → (..., fold, variant, K, Q)."""
        low, high = predictions >= self._low, predictions < self._high
        inside = low & (high | (self._last & (predictions == self._high)))
        return self.sums(self.device.xp.where(inside, 1.0, 0.0 * predictions))

    def sums(self, values: Any) -> Array:
        """Add values over every cell, → (..., fold, variant, K, Q)."""
        sums = self.device.get(values @ self._member)
        return sums.reshape(*sums.shape[:-1], *self.shape)

    def dgf(self, predictions: Any) -> Array:
        """Return the mean gap of the rates over all bins and pairs, → (..., fold, variant).

        That is the average which is reported, too (paper.COMPARED). NaN where there is no pair.
        """
        return mean_gap(self.hits(predictions), self.counts[:, None], all_bins=True)


def mean_gap(sums: npt.NDArray[Any], counts: npt.NDArray[Any], *, all_bins: bool = False) -> Array:
    """Return the mean |difference of cell means| over populated pairs, (..., K, Q) → (...).

    With ``all_bins`` over all pairs, the others counting 0. NaN where there is no populated pair.
    ``gferm.metrics`` has the same averages for the cells of one sample; here each fold of a stack
    has counts, and so pairs, of its own.
    """
    means = sums / np.maximum(counts, 1)
    p, q = np.triu_indices(sums.shape[-1], k=1)
    populated = (counts[..., p] > 0) & (counts[..., q] > 0)
    gaps = np.abs(means[..., p] - means[..., q]) * populated
    n_pairs = populated.sum(axis=(-1, -2))
    number = p.size * sums.shape[-2] if all_bins else np.maximum(n_pairs, 1)
    found: Array = np.where(n_pairs > 0, gaps.sum(axis=(-1, -2)), np.nan) / number
    return found
