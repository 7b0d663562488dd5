"""One number for each cell, and four ways to average the differences between cells.

"pairs"       mean over populated unordered pairs, the default
"definition"  1/(K Q²) Σ over ordered pairs, empty ones counting 0
"sum"         Σ over ordered pairs, the literal formula
"weighted"    mean over unordered pairs, weighted by the harmonic mean of the two cells' counts
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import UndefinedMetricWarning

from gferm.arrays import Array, Codes
from gferm.exceptions import warn_user
from gferm.fairness.cells import Cells, Partition


@dataclass(frozen=True, eq=False)
class CellValues:
    """One number for each cell, with the counts it rests on.

    Attributes
    ----------
    cells : Cells
    tables : tuple of arrays of shape (K, Q)
        One for each partition; NaN where a cell is empty. Of several predictors at once, a stack
        of tables, (..., K, Q).
    """

    cells: Cells
    tables: tuple[Array, ...]

    @property
    def values(self) -> Array:
        """The table of the only partition, shape (K, Q)."""
        return self.tables[self._only()]

    @property
    def counts(self) -> npt.NDArray[np.intp]:
        """Rows in each cell of the only partition, shape (K, Q)."""
        return self.cells.partitions[self._only()].counts

    def _only(self) -> int:
        if len(self.tables) > 1:
            names = [partition.name for partition in self.cells.partitions]
            raise ValueError(f"There is one table for each of {names}; use tables or to_frame().")
        return 0

    def to_frame(self) -> Any:
        """Return a tidy pandas DataFrame: attribute, label_bin, group, value, count."""
        import pandas as pd

        rows = [
            (part.name, label, group, table[k, q], part.counts[k, q])
            for part, table in zip(self.cells.partitions, self.tables, strict=True)
            for k, label in enumerate(self.cells.label_bins.labels)
            for q, group in enumerate(part.groups)
        ]
        return pd.DataFrame(rows, columns=["attribute", "label_bin", "group", "value", "count"])

    def gaps(self, min_cell_size: int = 1) -> tuple[Array, Array]:
        """Return |difference| of every populated unordered pair, and its harmonic count."""
        weights = []
        for partition, (p, q), populated in self._pairs(min_cell_size):
            mass = partition.weights
            with np.errstate(invalid="ignore", divide="ignore"):
                harmonic = 2.0 / (1.0 / mass[:, p] + 1.0 / mass[:, q])
            weights.append(harmonic[populated])
        return np.abs(self.signed_gaps(min_cell_size)), np.concatenate(weights)

    def signed_gaps(self, min_cell_size: int = 1) -> Array:
        """Return the differences themselves, the first group's value minus the second's."""
        gaps = [
            (table[..., p] - table[..., q])[..., populated]
            for (_, (p, q), populated), table in zip(
                self._pairs(min_cell_size), self.tables, strict=True
            )
        ]
        return np.concatenate(gaps, axis=-1)

    def compared(self, min_cell_size: int = 1) -> list[tuple[Partition, int, int, int]]:
        """List the populated pairs as (partition, label bin, group, group), as gaps has them."""
        return [
            (partition, int(k), int(p[pair]), int(q[pair]))
            for partition, (p, q), populated in self._pairs(min_cell_size)
            for k, pair in np.argwhere(populated)
        ]

    def _pairs(
        self, min_cell_size: int
    ) -> Iterator[tuple[Partition, tuple[Codes, Codes], npt.NDArray[np.bool_]]]:
        """Return the unordered pairs of groups, and in which label bins both have enough rows."""
        for partition in self.cells.partitions:
            p, q = np.triu_indices(len(partition.groups), k=1)
            smaller = np.minimum(partition.counts[:, p], partition.counts[:, q])
            yield partition, (p, q), smaller >= max(min_cell_size, 1)

    @property
    def n_ordered_pairs(self) -> int:
        """K Q², summed over partitions."""
        return sum(table.shape[-2] * table.shape[-1] ** 2 for table in self.tables)


Average = Callable[[Array, Array, int], Array]

AVERAGES: dict[str, Average] = {
    "pairs": lambda gaps, weights, n_ordered: gaps.mean(axis=-1),
    "definition": lambda gaps, weights, n_ordered: 2.0 * gaps.sum(axis=-1) / n_ordered,
    "sum": lambda gaps, weights, n_ordered: 2.0 * gaps.sum(axis=-1),
    "weighted": lambda gaps, weights, n_ordered: gaps @ weights / weights.sum(),
}


def average_gap(values: CellValues, average: str, min_cell_size: int) -> float:
    """Average the differences between cells; NaN, with a warning, if there are none."""
    if average not in AVERAGES:
        raise ValueError(f"average={average!r} is unknown; use one of {sorted(AVERAGES)}.")
    found = average_gaps(values, average, min_cell_size)
    return nothing_to_compare() if found is None else float(found)


def average_gaps(values: CellValues, average: str, min_cell_size: int = 1) -> Array | None:
    """Average the differences between cells for each predictor; None if there are none."""
    gaps, weights = values.gaps(min_cell_size)
    return AVERAGES[average](gaps, weights, values.n_ordered_pairs) if weights.size else None


def nothing_to_compare() -> float:
    """Return NaN with a warning: no gap is not a gap of zero."""
    warn_user(
        "No label bin holds two populated groups, so there is nothing to compare: the fairness "
        "measure is NaN. Use fewer bins or a smaller min_cell_size.",
        UndefinedMetricWarning,
    )
    return float("nan")
