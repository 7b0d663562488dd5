"""Contrasts: cells become linear functionals of the predictions.

For predictions f ∈ Rⁿ the gap between groups p and q in label bin k is the difference of two cell
means, and a difference of means is an inner product. With

    C (n×m)       independent columns, 1_{k,q}/n_{k,q} − 1_{k,q'}/n_{k,q'} for neighbours q, q' in
                  the list of populated groups of label bin k,
    B (pairs×m)   every unordered pair as a sum of neighbouring contrasts (entries 0 and 1),
    o = Cᵀy       for match="residual", else 0,

the gaps of all compared pairs are B (Cᵀf − o) and the constraint of the paper is
‖B (Cᵀf − o)‖₁ ≤ ε. Every column sums to zero, so an intercept never touches the constraint.

The columns come in blocks, one for each (attribute, label bin): a block of m_b columns compares
m_b + 1 cells, all with all. A continuous attribute gives one column a label bin, (s − s̄)/n_k with
s in standard deviations: its gap is a covariance, in units of y.

This file builds the constraint; it solves nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gferm.arrays import Array
from gferm.cells import Cells, Partition
from gferm.pair_norm import PairNorm

EPSILON_SCALES = ("mean", "sum")
MATCHES = ("prediction", "residual")


@dataclass(frozen=True)
class Comparison:
    """Two cells of one label bin: which attribute, which bin, which groups, how many rows."""

    attribute: str
    label_bin: str
    groups: tuple[str, str]
    counts: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Contrasts:
    """The fairness constraint ‖B (Cᵀf − o)‖₁ ≤ scale·ε.

    Attributes
    ----------
    columns : sparse array of shape (n_samples, m)
        C, the independent contrasts.
    sizes : tuple of int
        Columns in each block; they sum to m.
    offset : array of shape (m,)
        o, what the contrasts are compared with.
    compared, skipped : tuple of Comparison
        The pairs in the constraint, in the order of `gaps`, and those left out because a cell
        holds fewer than ``min_cell_size`` rows.
    scale : float
        The bound on the sum over unordered pairs is scale·epsilon.
    """

    columns: sparse.csr_array
    sizes: tuple[int, ...]
    offset: Array
    compared: tuple[Comparison, ...]
    skipped: tuple[Comparison, ...]
    scale: float

    @property
    def n_contrasts(self) -> int:
        """m, the number of independent contrasts."""
        return int(self.offset.size)

    @cached_property
    def pairs(self) -> Array:
        """B, shape (n_pairs, m): which neighbouring contrasts add up to which pair."""
        rows = np.zeros((len(self.compared), self.n_contrasts))
        for row, (start, stop) in zip(rows, self._pair_spans(), strict=True):
            row[start:stop] = 1.0
        return rows

    def gaps(self, predictions: npt.ArrayLike) -> Array:
        """Give the signed gap of every compared pair, in the order of ``compared``."""
        contrasts = self.columns.T @ np.asarray(predictions, dtype=float)
        return self.gaps_of(contrasts)

    @cached_property
    def norm(self) -> PairNorm:
        """Ω, the sum of |gap| over the compared pairs as a function of the contrasts."""
        return PairNorm(self.sizes)

    def gaps_of(self, contrasts: Array) -> Array:
        """Give the gaps from the m values Cᵀf."""
        return self.norm.gaps(contrasts - self.offset)

    def violation_of(self, contrasts: Array) -> float:
        """Give the left-hand side of the constraint in the units of epsilon."""
        return self.norm.value(contrasts - self.offset) / self.scale

    def _pair_spans(self) -> Iterator[tuple[int, int]]:
        start = 0
        for size in self.sizes:
            yield from ((start + p, start + q) for p, q in combinations(range(size + 1), 2))
            start += size


def no_contrasts(n_samples: int) -> sparse.csr_array:
    """C with no column: the plain problem."""
    return sparse.csr_array((n_samples, 0))


def build_contrasts(
    cells: Cells,
    y: Array,
    *,
    match: str = "prediction",
    min_cell_size: int = 1,
    epsilon_scale: str = "mean",
) -> Contrasts:
    """Compare every pair of populated cells within each label bin.

    Raises
    ------
    ValueError
        If nothing can be compared: a single group, or no label bin with two populated cells.
    """
    blocks = _Blocks(cells.n_samples)
    for partition in cells.partitions:
        _require_two_groups(partition)
        _add_partition(blocks, cells, partition, max(min_cell_size, 1))
    for score in cells.scores:
        for k, label in enumerate(cells.label_bins.labels):
            rows = np.flatnonzero(cells.label_codes == k)
            _add_covariance(blocks, cells, score.values, rows, (score.name, label), min_cell_size)
    if not blocks.compared:
        raise ValueError(
            f"sensitive_features and y leave no pair of cells to compare: in each of the "
            f"{cells.label_bins.n_bins} label bins at most one group has min_cell_size="
            f"{min_cell_size} rows or more. Use fewer y_bins or s_bins, or a smaller min_cell_size."
        )
    columns = blocks.matrix()
    if columns.shape[1] > cells.n_samples:
        raise ValueError(
            f"There are {columns.shape[1]} contrasts for only {cells.n_samples} samples. Use fewer "
            "y_bins or s_bins, or a larger min_cell_size."
        )
    return Contrasts(
        columns=columns,
        sizes=tuple(blocks.sizes),
        offset=columns.T @ y if match == "residual" else np.zeros(columns.shape[1]),
        compared=tuple(blocks.compared),
        skipped=tuple(blocks.skipped),
        scale=float(len(blocks.compared)) if epsilon_scale == "mean" else 0.5,
    )


class _Blocks:
    """Collects the columns of C, block by block."""

    def __init__(self, n_samples: int) -> None:
        self.n_samples = n_samples
        self.sizes: list[int] = []
        self.compared: list[Comparison] = []
        self.skipped: list[Comparison] = []
        self.entries: list[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], Array]] = []

    @property
    def n_columns(self) -> int:
        return sum(self.sizes)

    def matrix(self) -> sparse.csr_array:
        rows, columns, values = (np.concatenate(part) for part in zip(*self.entries, strict=True))
        return sparse.csr_array((values, (rows, columns)), shape=(self.n_samples, self.n_columns))


def _add_partition(blocks: _Blocks, cells: Cells, partition: Partition, min_size: int) -> None:
    """Append one block for each label bin, then all their entries at once."""
    n_labels, n_groups = partition.counts.shape
    plus = np.full((n_labels, n_groups), -1)  # column where a cell's mean enters with +1 …
    minus = np.full((n_labels, n_groups), -1)  # … and with −1
    for k in range(n_labels):
        populated = np.flatnonzero(partition.counts[k] >= min_size)
        kept = set(populated.tolist())
        for p, q in combinations(range(n_groups), 2):
            comparison = _comparison(cells, partition, k, p, q)
            (blocks.compared if {p, q} <= kept else blocks.skipped).append(comparison)
        if populated.size >= 2:
            first = blocks.n_columns
            blocks.sizes.append(populated.size - 1)
            plus[k, populated[:-1]] = minus[k, populated[1:]] = first + np.arange(
                populated.size - 1
            )
    rows = np.flatnonzero(partition.cell_of >= 0)
    cell = partition.cell_of[rows]
    share = 1.0 if cells.weight is None else cells.weight[rows]
    share = share / partition.weights.ravel()[cell]
    for place, sign in ((plus, 1.0), (minus, -1.0)):
        column = place.ravel()[cell]
        used = column >= 0
        blocks.entries.append((rows[used], column[used], sign * share[used]))


def _comparison(cells: Cells, partition: Partition, k: int, p: int, q: int) -> Comparison:
    return Comparison(
        partition.name,
        cells.label_bins.labels[k],
        (partition.groups[p], partition.groups[q]),
        (int(partition.counts[k, p]), int(partition.counts[k, q])),
    )


def _add_covariance(
    blocks: _Blocks,
    cells: Cells,
    score: Array,
    rows: npt.NDArray[np.intp],
    names: Sequence[str],
    min_size: int,
) -> None:
    """Append the column (s − s̄)/n_k of one label bin."""
    comparison = Comparison(
        names[0], names[1], ("continuous", "continuous"), (rows.size, rows.size)
    )
    weight = np.ones(rows.size) if cells.weight is None else cells.weight[rows]
    if rows.size < max(min_size, 2) or np.ptp(score[rows]) == 0.0:
        blocks.skipped.append(comparison)
        return
    centred = score[rows] - np.average(score[rows], weights=weight)
    column = np.full(rows.size, blocks.n_columns)
    blocks.entries.append((rows, column, weight * centred / weight.sum()))
    blocks.sizes.append(1)
    blocks.compared.append(comparison)


def _require_two_groups(partition: Partition) -> None:
    populated = [
        g for g, n in zip(partition.groups, partition.counts.sum(axis=0), strict=True) if n
    ]
    if len(populated) < 2:
        raise ValueError(
            f"sensitive_features ({partition.name}) has a single group with rows, {populated}: "
            "there is nobody to compare it with. Check the column and s_bins, or drop the "
            "constraint with epsilon=None."
        )
