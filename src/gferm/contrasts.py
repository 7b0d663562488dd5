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

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gferm.arrays import Array, Codes
from gferm.cells import Cells, Partition, Score
from gferm.exceptions import NothingToCompareError
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
class Block:
    """The cells of one label bin and one attribute; those that are ``kept`` are compared.

    Pairs are many (Q²), so they are listed only when somebody asks.
    """

    attribute: str
    label_bin: str
    groups: tuple[str, ...]
    counts: tuple[int, ...]
    kept: tuple[int, ...]

    @property
    def size(self) -> int:
        """Independent contrasts between the cells that are kept."""
        return max(len(self.kept) - 1, 0)

    def pairs(self, *, compared: bool) -> Iterator[Comparison]:
        """List the pairs that are compared, or those that are not."""
        kept = set(self.kept)
        candidates = self.kept if compared else range(len(self.groups))
        for p, q in combinations(candidates, 2):
            if compared or not {p, q} <= kept:
                yield Comparison(
                    self.attribute,
                    self.label_bin,
                    (self.groups[p], self.groups[q]),
                    (self.counts[p], self.counts[q]),
                )


@dataclass(frozen=True, eq=False)
class Contrasts:
    """The fairness constraint ‖B (Cᵀf − o)‖₁ ≤ scale·ε.

    Attributes
    ----------
    columns : sparse array of shape (n_samples, m)
        C, the independent contrasts.
    blocks : tuple of Block
        One for each attribute and label bin, in the order of the columns.
    offset : array of shape (m,)
        o, what the contrasts are compared with.
    scale : float
        The bound on the sum over unordered pairs is scale·epsilon.
    """

    columns: sparse.csr_array
    blocks: tuple[Block, ...]
    offset: Array
    scale: float

    @cached_property
    def compared(self) -> tuple[Comparison, ...]:
        """The pairs in the constraint, in the order of `gaps`."""
        return tuple(pair for block in self.blocks for pair in block.pairs(compared=True))

    @cached_property
    def skipped(self) -> tuple[Comparison, ...]:
        """The pairs left out because a cell holds fewer than ``min_cell_size`` rows."""
        return tuple(pair for block in self.blocks for pair in block.pairs(compared=False))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Columns in each block that has any; they sum to m."""
        return tuple(block.size for block in self.blocks if block.size)

    @property
    def n_contrasts(self) -> int:
        """m, the number of independent contrasts."""
        return int(self.offset.size)

    @cached_property
    def pairs(self) -> Array:
        """B, shape (n_pairs, m): which neighbouring contrasts add up to which pair."""
        spans = list(self._pair_spans())
        rows = np.zeros((len(spans), self.n_contrasts))
        for row, (start, stop) in zip(rows, spans, strict=True):
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
    y: Array | None = None,
    *,
    match: str = "prediction",
    min_cell_size: int = 1,
    epsilon_scale: str = "mean",
) -> Contrasts:
    """Compare every pair of populated cells within each label bin.

    ``y`` are the numbers that predictions are compared with for match="residual"; else not needed.

    Raises
    ------
    ValueError
        If nothing can be compared: a single group, or no label bin with two populated cells.
    """
    builder = _Builder(cells, max(min_cell_size, 1))
    for partition in cells.partitions:
        _require_two_groups(partition)
        builder.add_partition(partition)
    for score in cells.scores:
        builder.add_score(score)
    m = builder.n_columns
    if m == 0:
        raise NothingToCompareError(
            f"sensitive_features and y leave no pair of cells to compare: in each of the "
            f"{cells.label_bins.n_bins} label bins at most one group has min_cell_size="
            f"{min_cell_size} rows or more. Use fewer y_bins or s_bins, or a smaller min_cell_size."
        )
    if m > cells.n_samples:
        raise NothingToCompareError(
            f"There are {m} contrasts for only {cells.n_samples} samples. Use fewer y_bins or "
            "s_bins, or a larger min_cell_size."
        )
    columns = builder.matrix()
    n_pairs = sum(block.size * (block.size + 1) // 2 for block in builder.blocks)
    return Contrasts(
        columns=columns,
        blocks=tuple(builder.blocks),
        offset=_offset(columns, y) if match == "residual" else np.zeros(m),
        scale=float(n_pairs) if epsilon_scale == "mean" else 0.5,
    )


def _offset(columns: sparse.csr_array, y: Array | None) -> Array:
    if y is None:
        raise ValueError("match='residual' compares predictions with y, which is missing.")
    return np.asarray(columns.T @ y)


class _Builder:
    """Collects the blocks and the entries of C."""

    def __init__(self, cells: Cells, min_size: int) -> None:
        self.cells, self.min_size = cells, min_size
        self.blocks: list[Block] = []
        self.n_columns = 0
        self.entries: list[tuple[Codes, Codes, Array]] = []

    def matrix(self) -> sparse.csr_array:
        rows, columns, values = (np.concatenate(part) for part in zip(*self.entries, strict=True))
        shape = (self.cells.n_samples, self.n_columns)
        return sparse.csr_array((values, (rows, columns)), shape=shape)

    def add_block(self, block: Block) -> int:
        """Append a block and give the number of its first column."""
        first = self.n_columns
        self.blocks.append(block)
        self.n_columns += block.size
        return first

    def add_partition(self, partition: Partition) -> None:
        """Append one block for each label bin, then all their entries at once."""
        plus = np.full(partition.counts.shape, -1)  # column where a cell's mean enters with +1 …
        minus = np.full(partition.counts.shape, -1)  # … and with −1
        for k, label in enumerate(self.cells.label_bins.labels):
            counts = partition.counts[k]
            kept = np.flatnonzero(counts >= self.min_size)
            block = Block(
                partition.name,
                label,
                partition.groups,
                tuple(counts.tolist()),
                tuple(kept.tolist()),
            )
            first = self.add_block(block)
            plus[k, kept[:-1]] = minus[k, kept[1:]] = first + np.arange(block.size)
        rows = np.flatnonzero(partition.cell_of >= 0)
        cell = partition.cell_of[rows]
        share = 1.0 if self.cells.weight is None else self.cells.weight[rows]
        share = share / partition.weights.ravel()[cell]
        for place, sign in ((plus, 1.0), (minus, -1.0)):
            column = place.ravel()[cell]
            used = column >= 0
            self.entries.append((rows[used], column[used], sign * share[used]))

    def add_score(self, score: Score) -> None:
        """Append the column (s − s̄)/n_k of each label bin."""
        for k, label in enumerate(self.cells.label_bins.labels):
            rows = np.flatnonzero(self.cells.label_codes == k)
            s = score.values[rows]
            comparable = rows.size >= max(self.min_size, 2) and np.ptp(s) > 0.0
            names, kept = ("continuous", "continuous"), (0, 1) if comparable else ()
            first = self.add_block(Block(score.name, label, names, (rows.size, rows.size), kept))
            if comparable:
                weight = (
                    np.ones(rows.size) if self.cells.weight is None else self.cells.weight[rows]
                )
                centred = weight * (s - np.average(s, weights=weight)) / weight.sum()
                self.entries.append((rows, np.full(rows.size, first), centred))


def _require_two_groups(partition: Partition) -> None:
    populated = [
        g for g, n in zip(partition.groups, partition.counts.sum(axis=0), strict=True) if n
    ]
    if len(populated) < 2:
        raise NothingToCompareError(
            f"sensitive_features ({partition.name}) has a single group with rows, {populated}: "
            "there is nobody to compare it with. Check the column and s_bins, or drop the "
            "constraint with epsilon=None."
        )
