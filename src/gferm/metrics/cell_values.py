"""One number z for each cell, and four ways to average the gaps |z_p − z_q| between cells.

A pair is two groups p, q of one label bin. An average is Σ a |z_p − z_q| / d, with weights a and a
divisor d that depend on the cells' counts alone:

"pairs"       mean over populated unordered pairs, the default
"definition"  1/(K Q²) Σ over ordered pairs, empty ones counting 0
"sum"         Σ over ordered pairs, the literal formula
"weighted"    mean over unordered pairs, weighted by the harmonic mean of the two cells' counts

Tables have the shape (K, Q), tables of pairs (K, Q(Q−1)/2) in the order of `pairs_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import UndefinedMetricWarning

from gferm.arrays import Array, Codes
from gferm.exceptions import warn_user
from gferm.fairness.cells import Cells, Partition

Mask = npt.NDArray[np.bool_]
PairWeights = Callable[[Array, int], tuple[Array | float, float]]

# (harmonic counts of the pairs that count, K Q²) → weights a, divisor d
AVERAGES: dict[str, PairWeights] = {
    "pairs": lambda harmonic, n_ordered: (1.0, harmonic.size),
    "definition": lambda harmonic, n_ordered: (2.0, n_ordered),
    "sum": lambda harmonic, n_ordered: (2.0, 1.0),
    "weighted": lambda harmonic, n_ordered: (harmonic, float(harmonic.sum())),
}


def pairs_of(n_groups: int) -> tuple[Codes, Codes]:
    """Return the first and the second group of every unordered pair."""
    return np.triu_indices(n_groups, k=1)


def populated_pairs(counts: npt.NDArray[Any], least: int = 1) -> Mask:
    """Return for which pairs both cells hold ``least`` rows, shape (K, n_pairs)."""
    p, q = pairs_of(counts.shape[1])
    both: Mask = np.minimum(counts[:, p], counts[:, q]) >= max(least, 1)
    return both


def harmonic_counts(counts: npt.NDArray[Any]) -> Array:
    """Return the harmonic mean of the two counts of every pair, 0 where both are empty."""
    p, q = pairs_of(counts.shape[1])
    both = (counts[:, p] + counts[:, q]).astype(float)
    mean: Array = 2.0 * counts[:, p] * counts[:, q] / np.where(both > 0.0, both, 1.0)
    return mean


def sides_of_pairs(table: Array, kept: Mask) -> tuple[Array, Array]:
    """Return z_p and z_q of the pairs that are kept, of each table of a stack (..., K, Q)."""
    p, q = pairs_of(table.shape[-1])
    return table[..., p][..., kept], table[..., q][..., kept]


def differences(table: Array, kept: Mask) -> Array:
    """Return z_p − z_q of the pairs that are kept, of each table of a stack (..., K, Q)."""
    first, second = sides_of_pairs(table, kept)
    return first - second


def n_ordered_pairs(tables: Iterable[npt.NDArray[Any]]) -> int:
    """Return K Q², summed over the tables of several partitions."""
    return sum(table.shape[-2] * table.shape[-1] ** 2 for table in tables)


def average_pairs(gaps: Array, harmonic: Array, n_ordered: int, average: str) -> Array:
    """Average gaps of shape (..., n_pairs), whose pairs have these harmonic counts."""
    weights, divisor = AVERAGES[average](harmonic, n_ordered)
    averaged: Array = (gaps * weights).sum(axis=-1) / divisor
    return averaged


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

    def signed_gaps(self, min_cell_size: int = 1) -> Array:
        """Return z_p − z_q of every populated unordered pair, (..., n_pairs)."""
        parts = zip(self.cells.partitions, self.tables, strict=True)
        gaps = [differences(t, populated_pairs(part.counts, min_cell_size)) for part, t in parts]
        return np.concatenate(gaps, axis=-1)

    def compared(self, min_cell_size: int = 1) -> Iterator[tuple[Partition, int, int, int]]:
        """List those pairs as (partition, label bin, group, group), in the same order."""
        for part in self.cells.partitions:
            p, q = pairs_of(len(part.groups))
            for k, pair in np.argwhere(populated_pairs(part.counts, min_cell_size)):
                yield part, int(k), int(p[pair]), int(q[pair])


def average_gap(values: CellValues, average: str, min_cell_size: int) -> float:
    """Average the gaps between cells; NaN, with a warning, if there are none."""
    if average not in AVERAGES:
        raise ValueError(f"average={average!r} is unknown; use one of {sorted(AVERAGES)}.")
    found = average_gaps(values, average, min_cell_size)
    return warn_of_nothing_to_compare() if found is None else float(found)


def average_gaps(values: CellValues, average: str, min_cell_size: int = 1) -> Array | None:
    """Average the gaps between cells for each predictor; None if there are none."""
    gaps = np.abs(values.signed_gaps(min_cell_size))
    if not gaps.shape[-1]:
        return None
    harmonic = [
        harmonic_counts(part.weights)[populated_pairs(part.counts, min_cell_size)]
        for part in values.cells.partitions
    ]
    n_ordered = n_ordered_pairs(values.tables)
    return average_pairs(gaps, np.concatenate(harmonic), n_ordered, average)


def warn_of_nothing_to_compare() -> float:
    """Return NaN with a warning: no gap is not a gap of zero."""
    warn_user(
        "No label bin holds two populated groups, so there is nothing to compare: the fairness "
        "measure is NaN. Use fewer bins or a smaller min_cell_size.",
        UndefinedMetricWarning,
    )
    return float("nan")
