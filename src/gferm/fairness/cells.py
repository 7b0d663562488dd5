"""Cells: which rows are compared with which.

Row i lies in label bin k(i) and, for every partition of the people into groups, in group q(i). The
rows of one label bin and one group are the cell D_{k,q} of the paper. A `CellScheme` holds the
resolved bins; its ``assign`` turns rows into `Cells`, on the training data and later on any other.

Several sensitive attributes make one partition, by their combinations (intersectional), or one
partition each (marginal). An attribute taken as continuous makes no partition: it is kept as a
`Score`, to be compared by covariance (contrasts.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gferm.arrays import Array, Codes
from gferm.fairness.bins import Bins, BinsLike, OneBin, as_bins
from gferm.fairness.sensitive import SensitiveColumn

SensitiveBins = BinsLike | Mapping[str | int, BinsLike]

MAX_GROUPS = 10_000


@dataclass(frozen=True, eq=False)
class Partition:
    """One way to split the people into groups, crossed with the label bins.

    Attributes
    ----------
    name : str
        The attribute, or the attributes joined by " × ".
    groups : tuple of str
        The Q groups.
    codes : array of shape (n_samples,)
        The group of each row, −1 for none.
    cell_of : array of shape (n_samples,)
        The cell k·Q + q of each row, −1 for none.
    counts : array of shape (K, Q)
        Rows in each cell.
    weights : array of shape (K, Q)
        Their total sample weight.
    """

    name: str
    groups: tuple[str, ...]
    codes: Codes
    cell_of: Codes
    counts: npt.NDArray[np.intp]
    weights: Array

    def means(self, values: npt.ArrayLike, weight: Array | None = None) -> Array:
        """Average ``values`` over every cell, NaN where a cell is empty.

        One value for each row, or a stack of them, (..., n_samples), gives (..., K, Q).
        """
        inside = np.flatnonzero(self.cell_of >= 0)
        x = np.asarray(values, dtype=float)
        share = np.ones(inside.size) if weight is None else weight[inside]
        member = sparse.csr_array(
            (share, (inside, self.cell_of[inside])), shape=(x.shape[-1], self.weights.size)
        )
        sums = (x.reshape(-1, x.shape[-1]) @ member).reshape(*x.shape[:-1], *self.weights.shape)
        with np.errstate(invalid="ignore", divide="ignore"):
            means: Array = sums / self.weights
        return means


@dataclass(frozen=True, eq=False)
class Score:
    """A continuous attribute, in standard deviations from its mean."""

    name: str
    values: Array


@dataclass(frozen=True, eq=False)
class Cells:
    """Rows sorted into cells, with every count public.

    Attributes
    ----------
    label_bins : Bins
    label_codes : array of shape (n_samples,)
        The label bin of each row, −1 for a label that is not compared.
    partitions : tuple of Partition
    scores : tuple of Score
    weight : array of shape (n_samples,) or None
    scheme : CellScheme
        The bins that sorted these rows; it sorts any others into the same cells.
    """

    label_bins: Bins
    label_codes: Codes
    partitions: tuple[Partition, ...]
    scores: tuple[Score, ...]
    weight: Array | None
    scheme: CellScheme

    @property
    def n_samples(self) -> int:
        """Number of rows, in a cell or not."""
        return int(self.label_codes.size)

    @property
    def label_counts(self) -> npt.NDArray[np.intp]:
        """Rows in each label bin, shape (K,)."""
        return _count(self.label_codes, self.label_bins.n_bins)

    @property
    def shares(self) -> tuple[Array, ...]:
        """Return the shares of the label bins, and of the groups of each partition, in all rows."""
        sums = [part.counts.sum(axis=1) for part in self.partitions[:1]]
        sums += [part.counts.sum(axis=0) for part in self.partitions]
        return tuple(one / max(one.sum(), 1) for one in sums)

    @property
    def sort_every_row(self) -> bool:
        """Whether every row is in one cell, and no more: there is one partition, and no score."""
        one = len(self.partitions) == 1 and not self.scores
        return one and bool((self.partitions[0].cell_of >= 0).all())

    @property
    def counts(self) -> dict[str, npt.NDArray[np.intp]]:
        """Rows in each cell, one (K, Q) table per partition."""
        return {partition.name: partition.counts for partition in self.partitions}

    def take(self, rows: npt.NDArray[np.intp]) -> Cells:
        """Return the cells of some of the rows, in the same bins."""
        weight = None if self.weight is None else self.weight[rows]
        labels, n_labels = self.label_codes[rows], self.label_bins.n_bins
        return Cells(
            label_bins=self.label_bins,
            label_codes=labels,
            partitions=tuple(
                _partition(part.name, part.groups, part.codes[rows], labels, n_labels, weight)
                for part in self.partitions
            ),
            scores=tuple(Score(score.name, score.values[rows]) for score in self.scores),
            weight=weight,
            scheme=self.scheme,
        )

    def pooled(self) -> Cells:
        """Return the cells of whole groups, whatever the labels."""
        everybody = OneBin()
        labels = np.zeros(self.n_samples, dtype=np.intp)
        return Cells(
            label_bins=everybody,
            label_codes=labels,
            partitions=tuple(
                _partition(part.name, part.groups, part.codes, labels, 1, self.weight)
                for part in self.partitions
            ),
            scores=self.scores,
            weight=self.weight,
            scheme=replace(self.scheme, label_bins=everybody),
        )

    def small(self, size: int) -> list[tuple[str, str, str, int]]:
        """List the cells with fewer than ``size`` rows as (partition, label bin, group, rows)."""
        return [
            (part.name, self.label_bins.labels[k], part.groups[q], int(part.counts[k, q]))
            for part in self.partitions
            for k, q in np.argwhere(part.counts < size)
        ]

    def __str__(self) -> str:
        lines = []
        for part in self.partitions:
            header = ["label bin", *part.groups]
            rows = [
                [label, *map(str, part.counts[k])] for k, label in enumerate(self.label_bins.labels)
            ]
            widths = [max(len(row[j]) for row in [header, *rows]) for j in range(len(header))]
            lines.append(f"{part.name}: rows per cell")
            lines += [
                "  ".join(
                    f"{cell:<{w}}" if j == 0 else f"{cell:>{w}}"
                    for j, (cell, w) in enumerate(zip(row, widths, strict=True))
                )
                for row in [header, *rows]
            ]
        lines += [f"{score.name}: continuous, compared by covariance" for score in self.scores]
        return "\n".join(lines)


@dataclass(frozen=True)
class CellScheme:
    """Resolved bins of the label and of every sensitive attribute."""

    label_bins: Bins
    names: tuple[str, ...]
    sensitive_bins: tuple[Bins, ...]
    intersectional: bool

    @classmethod
    def resolve(
        cls,
        y: npt.NDArray[Any],
        columns: Sequence[SensitiveColumn],
        *,
        y_bins: BinsLike,
        s_bins: SensitiveBins,
        intersectional: bool,
        weight: Array | None = None,
    ) -> CellScheme:
        """Settle all bins on these rows."""
        specs = spec_of_each_column(s_bins, columns)
        scheme = cls(
            label_bins=as_bins(y_bins, "y_bins").resolve(y, weight, "y"),
            names=tuple(column.name for column in columns),
            sensitive_bins=tuple(
                as_bins(spec, "s_bins").resolve(
                    column.values, weight, f"sensitive_features ({column.name})"
                )
                for spec, column in zip(specs, columns, strict=True)
            ),
            intersectional=intersectional,
        )
        if scheme.label_bins.continuous:
            raise ValueError("y_bins='continuous' does not exist; it is a choice for s_bins.")
        return scheme

    def assign(
        self, y: npt.NDArray[Any], columns: Sequence[SensitiveColumn], weight: Array | None = None
    ) -> Cells:
        """Sort rows into cells; values in no bin get code −1."""
        label_codes = self.label_bins.assign(y)
        binned = [
            (name, bins.labels, bins.assign(column.values))
            for name, bins, column in zip(self.names, self.sensitive_bins, columns, strict=True)
            if not bins.continuous
        ]
        if self.intersectional and len(binned) > 1:
            binned = [_cross(binned)]
        return Cells(
            label_bins=self.label_bins,
            label_codes=label_codes,
            partitions=tuple(
                _partition(name, groups, codes, label_codes, self.label_bins.n_bins, weight)
                for name, groups, codes in binned
            ),
            scores=tuple(
                Score(name, bins.standardize(column.values))  # type: ignore[attr-defined]
                for name, bins, column in zip(self.names, self.sensitive_bins, columns, strict=True)
                if bins.continuous
            ),
            weight=weight,
            scheme=self,
        )

    def without_rows(self) -> Cells:
        """Return the cells of no rows at all."""
        nobody = tuple(
            SensitiveColumn(name, np.empty(0, dtype=object if bins.selective else float))
            for name, bins in zip(self.names, self.sensitive_bins, strict=True)
        )
        return self.assign(
            np.empty(0, dtype=object if self.label_bins.selective else float), nobody
        )


def spec_of_each_column(
    s_bins: SensitiveBins, columns: Sequence[SensitiveColumn]
) -> list[BinsLike]:
    """Return the way to make bins of each attribute: one for all, or by name or position."""
    if not isinstance(s_bins, Mapping):
        s_bins = {column.name: s_bins for column in columns}
    known = {column.name for column in columns} | set(range(len(columns)))
    unknown = [key for key in s_bins if key not in known]
    if unknown:
        raise ValueError(
            f"s_bins names {unknown}, but the sensitive attributes are "
            f"{[column.name for column in columns]}; use these names or their positions."
        )
    specs = [s_bins.get(c.name, s_bins.get(j, "auto")) for j, c in enumerate(columns)]
    return [
        Bins.categories(np.unique(column.values).tolist())
        if column.nominal and isinstance(spec, str) and spec == "auto"
        else spec
        for spec, column in zip(specs, columns, strict=True)
    ]


def _cross(
    parts: Sequence[tuple[str, tuple[str, ...], Codes]],
) -> tuple[str, tuple[str, ...], Codes]:
    """Combine attributes: the groups of the product, numbered in row-major order."""
    n_groups = prod(len(groups) for _, groups, _ in parts)
    if n_groups > MAX_GROUPS:
        raise ValueError(
            f"intersectional=True makes {n_groups} groups from {len(parts)} sensitive attributes; "
            "use fewer bins (s_bins), or compare each attribute on its own: intersectional=False."
        )
    crossed = np.zeros_like(parts[0][2])
    outside = np.zeros(crossed.shape, dtype=bool)
    for _, groups, codes in parts:
        crossed = crossed * len(groups) + codes
        outside |= codes < 0
    crossed[outside] = -1
    name = " × ".join(name for name, _, _ in parts)
    return name, tuple(" × ".join(g) for g in product(*(groups for _, groups, _ in parts))), crossed


def _partition(
    name: str,
    groups: tuple[str, ...],
    codes: Codes,
    label_codes: Codes,
    n_labels: int,
    weight: Array | None,
) -> Partition:
    n_groups = len(groups)
    cell_of = label_codes * n_groups
    cell_of += codes
    cell_of[(codes < 0) | (label_codes < 0)] = -1
    shape, size = (n_labels, n_groups), n_labels * n_groups
    counts = _count(cell_of, size).reshape(shape)
    weights = counts.astype(float) if weight is None else _count(cell_of, size, weight)
    return Partition(name, groups, codes, cell_of, counts, weights.reshape(shape))


def _count(codes: Codes, size: int, weight: Array | None = None) -> npt.NDArray[Any]:
    """Count the rows of each code, or add up their weights; −1 does not count."""
    inside = codes >= 0
    if not inside.all():
        codes, weight = codes[inside], None if weight is None else weight[inside]
    return np.bincount(codes, weights=weight, minlength=size)
