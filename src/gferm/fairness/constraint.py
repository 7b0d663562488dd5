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
from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gferm.arrays import Array
from gferm.exceptions import NothingToCompareError
from gferm.fairness.cells import Cells, Partition
from gferm.fairness.pair_norm import PairNorm

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
        """Return the signed gap of every compared pair, in the order of ``compared``."""
        if self.columns.shape[1] != self.n_contrasts:
            raise ValueError(
                "These contrasts come from sums over chunks and know no rows. The gaps that were "
                "reached make up violation_; for the gaps of other rows use gferm.audit."
            )
        contrasts = self.columns.T @ np.asarray(predictions, dtype=float)
        return self.gaps_of(contrasts)

    @cached_property
    def norm(self) -> PairNorm:
        """Ω, the sum of |gap| over the compared pairs as a function of the contrasts."""
        return PairNorm(self.sizes)

    def gaps_of(self, contrasts: Array) -> Array:
        """Return the gaps from the m values Cᵀf."""
        return self.norm.gaps(contrasts - self.offset)

    def violation_of(self, contrasts: Array) -> float:
        """Return the left-hand side of the constraint in the units of epsilon."""
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
    averages, covariances = average_rows(cells, max(min_cell_size, 1))
    combination = combine_cells(
        cells, covariances, min_cell_size=min_cell_size, n_samples=cells.n_samples
    )
    columns = (averages @ combination.weights).tocsr()
    return combination.contrasts(
        columns=columns,
        offset=_offset(columns, y) if match == "residual" else None,
        epsilon_scale=epsilon_scale,
    )


def _offset(columns: sparse.csr_array, y: Array | None) -> Array:
    if y is None:
        raise ValueError("match='residual' compares predictions with y, which is missing.")
    return np.asarray(columns.T @ y)


@dataclass(frozen=True, eq=False)
class Covariances:
    """In which label bins a continuous attribute can be compared, and on how many rows."""

    name: str
    counts: npt.NDArray[np.intp]
    comparable: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Combination:
    """Who is compared: contrasts as sums of cell means, which needs no rows but their counts.

    Attributes
    ----------
    blocks : tuple of Block
    weights : sparse array of shape (n_means, m)
        D: +1 and −1 for two neighbouring cells; 1 for a covariance. The means are those of every
        cell of every partition, (K, Q) row by row, then the covariance in each label bin with every
        score.
    """

    blocks: tuple[Block, ...]
    weights: sparse.csr_array

    def contrasts(
        self, *, columns: sparse.csr_array, offset: Array | None, epsilon_scale: str
    ) -> Contrasts:
        """Return the constraint; ``offset`` is zero if it is None."""
        n_pairs = sum(block.size * (block.size + 1) // 2 for block in self.blocks)
        return Contrasts(
            columns=columns,
            blocks=self.blocks,
            offset=np.zeros(self.weights.shape[1]) if offset is None else offset,
            scale=float(n_pairs) if epsilon_scale == "mean" else 0.5,
        )


def combine_cells(
    cells: Cells, covariances: Sequence[Covariances], *, min_cell_size: int, n_samples: int
) -> Combination:
    """Compare populated cells, each with the next; ``cells`` need not know its rows.

    Raises
    ------
    NothingToCompareError
        If there is a single group, or no label bin with two populated cells.
    """
    builder = _Builder(cells.label_bins.labels, max(min_cell_size, 1))
    for partition in cells.partitions:
        _require_two_groups(partition)
        builder.add_partition(partition)
    for covariance in covariances:
        builder.add_covariances(covariance)
    m = builder.n_columns
    if m == 0:
        raise NothingToCompareError(
            f"sensitive_features and y leave no pair of cells to compare: in each of the "
            f"{cells.label_bins.n_bins} label bins at most one group has min_cell_size="
            f"{min_cell_size} rows or more. Use fewer y_bins or s_bins, or a smaller min_cell_size."
        )
    if m > n_samples:
        raise NothingToCompareError(
            f"There are {m} contrasts for only {n_samples} samples. Use fewer y_bins or s_bins, or "
            "a larger min_cell_size."
        )
    return Combination(tuple(builder.blocks), builder.matrix())


class _Builder:
    """Collects the blocks and the entries of D."""

    def __init__(self, labels: tuple[str, ...], min_size: int) -> None:
        self.labels, self.min_size = labels, min_size
        self.blocks: list[Block] = []
        self.n_means = self.n_columns = 0
        self.entries: list[tuple[int, int, float]] = []

    def matrix(self) -> sparse.csr_array:
        means, columns, values = zip(*self.entries, strict=True)
        return sparse.csr_array((values, (means, columns)), shape=(self.n_means, self.n_columns))

    def add_partition(self, partition: Partition) -> None:
        """Append one block for each label bin: neighbours among the cells that are kept."""
        for label, counts in zip(self.labels, partition.counts, strict=True):
            kept = np.flatnonzero(counts >= self.min_size).tolist()
            self.blocks.append(
                Block(partition.name, label, partition.groups, tuple(counts.tolist()), tuple(kept))
            )
            for first, second in pairwise(kept):
                self.entries.append((self.n_means + first, self.n_columns, 1.0))
                self.entries.append((self.n_means + second, self.n_columns, -1.0))
                self.n_columns += 1
            self.n_means += len(counts)

    def add_covariances(self, found: Covariances) -> None:
        """Append one block for each label bin: the covariance itself."""
        names = ("continuous", "continuous")
        for label, count, comparable in zip(
            self.labels, found.counts.tolist(), found.comparable.tolist(), strict=True
        ):
            kept = (0, 1) if comparable else ()
            self.blocks.append(Block(found.name, label, names, (count, count), kept))
            if comparable:
                self.entries.append((self.n_means, self.n_columns, 1.0))
                self.n_columns += 1
            self.n_means += 1


def average_rows(cells: Cells, min_size: int) -> tuple[sparse.csr_array, list[Covariances]]:
    """Return a matrix (n_samples, n_means) whose columns average over cells or give covariances."""
    n, entries, first = cells.n_samples, [], 0
    weight = np.ones(n) if cells.weight is None else cells.weight
    if cells.sort_every_row:
        part = cells.partitions[0]
        share = weight / part.weights.ravel()[part.cell_of]
        return one_entry_a_row(part.cell_of, share, part.counts.size), []
    for partition in cells.partitions:
        rows = np.flatnonzero(partition.cell_of >= 0)
        cell = partition.cell_of[rows]
        entries.append((rows, first + cell, weight[rows] / partition.weights.ravel()[cell]))
        first += partition.counts.size
    covariances = []
    for score in cells.scores:
        counts = np.zeros(cells.label_bins.n_bins, dtype=np.intp)
        comparable = np.zeros(counts.size, dtype=bool)
        for k in range(counts.size):
            rows = np.flatnonzero(cells.label_codes == k)
            s, w = score.values[rows], weight[rows]
            counts[k] = rows.size
            comparable[k] = rows.size >= max(min_size, 2) and np.ptp(s) > 0.0
            if comparable[k]:
                centred = w * (s - np.average(s, weights=w)) / w.sum()
                entries.append((rows, np.full(rows.size, first + k), centred))
        covariances.append(Covariances(score.name, counts, comparable))
        first += counts.size
    averages = sparse.csr_array((n, first))
    if entries:
        rows, columns, values = map(np.concatenate, zip(*entries, strict=True))
        averages = sparse.csr_array((values, (rows, columns)), shape=(n, first))
    return averages, covariances


def one_entry_a_row(
    columns: npt.NDArray[np.intp], values: Array, n_columns: int
) -> sparse.csr_array:
    """Make a sparse matrix as it is stored, which is faster than from triples."""
    n = columns.size
    return sparse.csr_array((values, columns, np.arange(n + 1)), shape=(n, n_columns))


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
