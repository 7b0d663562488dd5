"""Comparison: who is compared with whom, and how, as linear functionals of the predictions.

    parameters + rows ──resolve──> bins ──sort──> membership ──constrain──> constraint, columns C

For predictions f ∈ Rⁿ the gap between groups p and q in label bin k is the difference of two cell
means, and a difference of means is an inner product. With

    C (n×m)       independent columns, 1_{k,q}/n_{k,q} − 1_{k,q'}/n_{k,q'} for neighbours q, q' in
                  the list of populated groups of label bin k,
    B (pairs×m)   every unordered pair as a sum of neighbouring contrasts (entries 0 and 1),
    o = Cᵀy       for match="residual", else 0,

the gaps of all compared pairs are B (Cᵀf − o). Every column sums to zero, so an intercept never
touches the constraint. A continuous attribute gives one column a label bin, (s − s̄)/n_k with s in
standard deviations: its gap is a covariance, in units of y.

C = (averages over cells)·D, where D (n_means×m) holds +1 and −1. Who is compared, D, follows from
the counts alone: `combine_cells` needs no rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gferm.arrays import Array
from gferm.exceptions import NothingToCompareError
from gferm.fairness.bins import BinsLike
from gferm.fairness.cells import Cells, CellScheme, Partition, SensitiveBins
from gferm.fairness.constraint import Block, Constraint
from gferm.fairness.membership import Membership, sort_rows
from gferm.fairness.sensitive import SensitiveColumn

EPSILON_SCALES = ("mean", "sum")
MATCHES = ("prediction", "residual")


@dataclass(frozen=True)
class Comparison:
    """What a user asks for; see `FairRegressor` for the parameters."""

    y_bins: BinsLike
    s_bins: SensitiveBins = "auto"
    intersectional: bool = True
    match: str = "prediction"
    min_cell_size: int = 1
    epsilon_scale: str = "mean"

    @classmethod
    def of(cls, parameters: Any, **others: Any) -> Comparison:
        """Read the attributes of an estimator that bear these names; ``others`` replace them."""
        names = {field.name for field in fields(cls)} - set(others)
        own = {name: getattr(parameters, name) for name in names if hasattr(parameters, name)}
        return cls(**own, **others)

    def resolve(
        self, y: npt.NDArray[Any], columns: Sequence[SensitiveColumn], weight: Array | None = None
    ) -> CellScheme:
        """Settle the bins on these rows."""
        return CellScheme.resolve(
            y,
            columns,
            y_bins=self.y_bins,
            s_bins=self.s_bins,
            intersectional=self.intersectional,
            weight=weight,
        )

    def sort(
        self, y: npt.NDArray[Any], columns: Sequence[SensitiveColumn], weight: Array | None = None
    ) -> Membership:
        """Settle the bins on these rows, and sort the rows into them."""
        return sort_rows(self.resolve(y, columns, weight), y, columns, weight)

    def constrain(
        self, rows: Membership, target: Array | None = None
    ) -> tuple[Constraint, sparse.csr_array]:
        """Compare every pair of populated cells within each label bin.

        ``target`` are the numbers that predictions are compared with for match="residual".

        Returns
        -------
        constraint : Constraint
        columns : sparse array of shape (n_samples, m)
            C, its contrasts.

        Raises
        ------
        NothingToCompareError
            If there is a single group, or no label bin with two populated cells.
        """
        comparable = [rows.comparable(j, self.min_cell_size) for j in range(len(rows.scores))]
        averages = average_rows(rows, comparable)
        combination = combine_cells(rows.cells, comparable, self.min_cell_size)
        means = None
        if self.match == "residual":
            if target is None:
                raise ValueError("match='residual' compares predictions with y, which is missing.")
            means = np.asarray(averages.T @ target)
        columns = (averages @ combination.weights).tocsr()
        return combination.constraint(means, self.epsilon_scale), columns


def no_contrasts(n_samples: int) -> sparse.csr_array:
    """Return C without a column: the plain problem."""
    return sparse.csr_array((n_samples, 0))


@dataclass(frozen=True, eq=False)
class Combination:
    """Who is compared: contrasts as sums of cell means.

    Attributes
    ----------
    scheme : CellScheme
    blocks : tuple of Block
    weights : sparse array of shape (n_means, m)
        D: +1 and −1 for two neighbouring cells; 1 for a covariance. The means are those of every
        cell of every partition, (K, Q) row by row, then the covariance in each label bin with every
        score.
    """

    scheme: CellScheme
    blocks: tuple[Block, ...]
    weights: sparse.csr_array

    def constraint(self, means_of_y: Array | None, epsilon_scale: str) -> Constraint:
        """Return the constraint; gaps are those of residuals if the means of y are given."""
        m, n_pairs = self.weights.shape[1], sum(b.size * (b.size + 1) // 2 for b in self.blocks)
        offset = np.zeros(m) if means_of_y is None else np.asarray(self.weights.T @ means_of_y)
        scale = float(n_pairs) if epsilon_scale == "mean" else 0.5
        match = "prediction" if means_of_y is None else "residual"
        return Constraint(self.scheme, self.blocks, offset, scale, match)


def combine_cells(
    cells: Cells, comparable: Sequence[npt.NDArray[np.bool_]], min_cell_size: int
) -> Combination:
    """Compare populated cells, each with the next.

    ``comparable`` tells for each score in which label bins it can be compared.

    Raises
    ------
    NothingToCompareError
        If there is a single group, or no label bin with two populated cells.
    """
    builder = _Builder(cells.label_bins.labels, max(min_cell_size, 1))
    for partition in cells.partitions:
        _require_two_groups(partition)
        builder.add_partition(partition)
    for name, there in zip(cells.scores, comparable, strict=True):
        builder.add_covariances(name, cells.label_counts, there)
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
    return Combination(cells.scheme, tuple(builder.blocks), builder.matrix())


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

    def add_covariances(
        self, name: str, counts: npt.NDArray[np.intp], comparable: npt.NDArray[np.bool_]
    ) -> None:
        """Append one block for each label bin: the covariance itself."""
        names = ("continuous", "continuous")
        for label, count, there in zip(
            self.labels, counts.tolist(), comparable.tolist(), strict=True
        ):
            kept = (0, 1) if there else ()
            self.blocks.append(Block(name, label, names, (count, count), kept))
            if there:
                self.entries.append((self.n_means, self.n_columns, 1.0))
                self.n_columns += 1
            self.n_means += 1


def average_rows(rows: Membership, comparable: Sequence[npt.NDArray[np.bool_]]) -> sparse.csr_array:
    """Return a matrix (n_samples, n_means) whose columns average over cells or give covariances."""
    n, entries, first = rows.n_samples, [], 0
    weight = np.ones(n) if rows.weight is None else rows.weight
    tables = zip(rows.cell_codes, rows.cells.partitions, strict=True)
    if rows.one_cell_each:
        ((cell_of, part),) = tables
        return one_entry_a_row(cell_of, weight / part.weights.ravel()[cell_of], part.counts.size)
    for cell_of, part in tables:
        inside = np.flatnonzero(cell_of >= 0)
        cell = cell_of[inside]
        entries.append((inside, first + cell, weight[inside] / part.weights.ravel()[cell]))
        first += part.counts.size
    for score, there in zip(rows.scores, comparable, strict=True):
        for k in np.flatnonzero(there):
            inside = rows.rows_of_labels[k]
            s, w = score[inside], weight[inside]
            centred = w * (s - np.average(s, weights=w)) / w.sum()
            entries.append((inside, np.full(inside.size, first + k), centred))
        first += there.size
    averages = sparse.csr_array((n, first))
    if entries:
        places, columns, values = map(np.concatenate, zip(*entries, strict=True))
        averages = sparse.csr_array((values, (places, columns)), shape=(n, first))
    return averages


def one_entry_a_row(
    columns: npt.NDArray[np.intp], values: Array, n_columns: int
) -> sparse.csr_array:
    """Return a sparse matrix as it is stored, which is faster than from triples."""
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
