"""Cells: which people are compared with which, as a table that knows no rows.

Label bin k and, for every partition of the people into groups, group q make the cell D_{k,q} of the
paper. A `CellScheme` holds the resolved bins, into which membership.py sorts rows: the training
rows, and later any others. `Cells` is what is left of them, names, counts and masses, and all that
a fitted model keeps.

Several sensitive attributes make one partition, by their combinations (intersectional), or one
partition each (marginal). An attribute taken as continuous makes no partition: it is a score, to be
compared by covariance (comparison.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from gferm.arrays import Array
from gferm.fairness.bins import Bins, BinsLike, as_bins
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
    counts : array of shape (K, Q)
        Rows in each cell.
    weights, squares : arrays of shape (K, Q)
        Their total sample weight Σw, and Σw².
    """

    name: str
    groups: tuple[str, ...]
    counts: npt.NDArray[np.intp]
    weights: Array
    squares: Array

    @property
    def effective_rows(self) -> Array:
        """Kish's (Σw)²/Σw² of each cell: unweighted, its rows; 0 where it is empty."""
        found = np.zeros(self.weights.shape)
        np.divide(self.weights**2, self.squares, out=found, where=self.squares > 0.0)
        return found


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells that rows were sorted into, with every count public.

    Attributes
    ----------
    scheme : CellScheme
        The bins that sorted the rows; they sort any others into the same cells.
    partitions : tuple of Partition
    label_counts : array of shape (K,)
        Rows in each label bin, in a group or not.
    n_samples : int
        All rows, in a cell or not.
    weighted : bool
        Whether rows had sample weights.
    """

    scheme: CellScheme
    partitions: tuple[Partition, ...]
    label_counts: npt.NDArray[np.intp]
    n_samples: int
    weighted: bool

    @property
    def label_bins(self) -> Bins:
        """The bins of the label."""
        return self.scheme.label_bins

    @property
    def scores(self) -> tuple[str, ...]:
        """The attributes that are taken as continuous and make no groups."""
        return self.scheme.scores

    @property
    def shares(self) -> tuple[Array, ...]:
        """The shares of the label bins, and of the groups of each partition, in all rows."""
        sums = [part.counts.sum(axis=1) for part in self.partitions[:1]]
        sums += [part.counts.sum(axis=0) for part in self.partitions]
        return tuple(one / max(one.sum(), 1) for one in sums)

    @property
    def counts(self) -> dict[str, npt.NDArray[np.intp]]:
        """Rows in each cell, one (K, Q) table per partition."""
        return {partition.name: partition.counts for partition in self.partitions}

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
        lines += [f"{name}: continuous, compared by covariance" for name in self.scores]
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

    @cached_property
    def scores(self) -> tuple[str, ...]:
        """The attributes that are taken as continuous."""
        pairs = zip(self.names, self.sensitive_bins, strict=True)
        return tuple(name for name, bins in pairs if bins.continuous)

    @cached_property
    def is_crossed(self) -> bool:
        """Whether the groups are combinations of several attributes."""
        return self.intersectional and len(self.names) - len(self.scores) > 1

    @cached_property
    def n_labels(self) -> int:
        """K, how many bins the label has."""
        return self.label_bins.n_bins

    @cached_property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """The groups of each partition, by its name; combinations in row-major order."""
        of_each = {
            name: bins.labels
            for name, bins in zip(self.names, self.sensitive_bins, strict=True)
            if not bins.continuous
        }
        if not self.is_crossed:
            return of_each
        n_groups = prod(len(groups) for groups in of_each.values())
        if n_groups > MAX_GROUPS:
            raise ValueError(
                f"intersectional=True makes {n_groups} groups from {len(of_each)} sensitive "
                "attributes; use fewer bins (s_bins), or compare each attribute on its own: "
                "intersectional=False."
            )
        return {" × ".join(of_each): tuple(" × ".join(one) for one in product(*of_each.values()))}

    def tabulate(
        self,
        counts: Sequence[npt.NDArray[np.intp]],
        weights: Sequence[Array],
        squares: Sequence[Array],
        **others: Any,
    ) -> Cells:
        """Return the table of these sums over rows, K·Q numbers of each partition."""
        parts = zip(self.groups.items(), counts, weights, squares, strict=True)
        return Cells(
            scheme=self,
            partitions=tuple(
                Partition(name, groups, n.reshape(shape), w.reshape(shape), w2.reshape(shape))
                for (name, groups), n, w, w2 in parts
                for shape in [(self.n_labels, len(groups))]
            ),
            **others,
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
