"""Membership: which row is in which cell.

Row i lies in label bin k(i) and, for every partition, in group q(i); −1 stands for none. Membership
lives as long as rows are at hand, in a fit or an audit, and is never kept by what is fitted: that
keeps the table beside it (cells.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gferm.arrays import Array, Codes
from gferm.fairness.bins import NoBins, OneBin
from gferm.fairness.cells import Cells, CellScheme
from gferm.fairness.sensitive import SensitiveColumn


@dataclass(frozen=True, eq=False)
class Membership:
    """Rows sorted into the cells of a scheme.

    Attributes
    ----------
    scheme : CellScheme
    label_codes : array of shape (n_samples,)
        The label bin of each row, −1 for a label that is not compared.
    group_codes : tuple of arrays of shape (n_samples,)
        For each partition the group of each row, −1 for none.
    scores : tuple of arrays of shape (n_samples,)
        The continuous attributes, in standard deviations from their means.
    weight : array of shape (n_samples,) or None
    """

    scheme: CellScheme
    label_codes: Codes
    group_codes: tuple[Codes, ...]
    scores: tuple[Array, ...]
    weight: Array | None

    @property
    def n_samples(self) -> int:
        """Number of rows, in a cell or not."""
        return int(self.label_codes.size)

    @cached_property
    def cells(self) -> Cells:
        """The table of these cells, which knows no rows."""
        n_labels = self.scheme.n_labels
        sizes = [n_labels * len(groups) for groups in self.scheme.groups.values()]
        each = list(zip(self.cell_codes, sizes, strict=True))
        counts = [_count(codes, size) for codes, size in each]
        weights = squares = [one.astype(float) for one in counts]
        if self.weight is not None:
            weights = [_count(codes, size, self.weight) for codes, size in each]
            squares = [_count(codes, size, self.weight**2) for codes, size in each]
        return self.scheme.tabulate(
            counts,
            weights,
            squares,
            label_counts=_count(self.label_codes, n_labels),
            n_samples=self.label_codes.size,
            weighted=self.weight is not None,
        )

    @cached_property
    def cell_codes(self) -> tuple[Codes, ...]:
        """For each partition the cell k·Q + q of each row, −1 for none."""
        found = []
        for groups, codes in zip(self.scheme.groups.values(), self.group_codes, strict=True):
            cell = self.label_codes * len(groups)
            cell += codes  # in place: new memory costs more than the work
            cell[(codes < 0) | (self.label_codes < 0)] = -1
            found.append(cell)
        return tuple(found)

    @property
    def one_cell_each(self) -> bool:
        """Whether every row is in one cell, and no more: there is one partition, and no score."""
        one = len(self.group_codes) == 1 and not self.scores
        return one and bool((self.cell_codes[0] >= 0).all())

    @property
    def n_outside(self) -> int:
        """How many labels and groups lie in no bin; classes left out on purpose do not count."""
        found = int(sum((codes < 0).sum() for codes in self.group_codes))
        selective = self.scheme.label_bins.selective
        return found if selective else found + int((self.label_codes < 0).sum())

    def means(self, values: npt.ArrayLike) -> tuple[Array, ...]:
        """Average ``values`` over every cell, one table a partition, NaN where a cell is empty.

        One value for each row, or a stack of them, (..., n_samples), gives (..., K, Q).
        """
        return tuple(self.means_of(place, values) for place in range(len(self.group_codes)))

    def means_of(self, place: int, values: npt.ArrayLike) -> Array:
        """Average ``values`` over the cells of one partition."""
        cell_of, weights = self.cell_codes[place], self.cells.partitions[place].weights
        inside = np.flatnonzero(cell_of >= 0)
        x = np.asarray(values, dtype=float)
        share = np.ones(inside.size) if self.weight is None else self.weight[inside]
        into = sparse.csr_array((share, (inside, cell_of[inside])), (x.shape[-1], weights.size))
        sums = (x.reshape(-1, x.shape[-1]) @ into).reshape(*x.shape[:-1], *weights.shape)
        with np.errstate(invalid="ignore", divide="ignore"):
            means: Array = sums / weights
        return means

    def comparable(self, score: int, min_size: int) -> npt.NDArray[np.bool_]:
        """Return in which label bins rows differ in a continuous attribute, and are enough."""
        found = np.zeros(self.scheme.n_labels, dtype=bool)
        for k, rows in enumerate(self.rows_of_labels):
            found[k] = rows.size >= max(min_size, 2) and np.ptp(self.scores[score][rows]) > 0.0
        return found

    @cached_property
    def rows_of_labels(self) -> list[npt.NDArray[np.intp]]:
        """The rows of each label bin."""
        order = np.argsort(self.label_codes, kind="stable")
        ends = np.searchsorted(self.label_codes[order], range(self.scheme.n_labels + 1))
        return [order[start:stop] for start, stop in pairwise(ends)]

    def take(self, rows: npt.NDArray[np.intp]) -> Membership:
        """Return the membership of some of the rows, in the same bins."""
        return Membership(
            self.scheme,
            self.label_codes[rows],
            tuple(codes[rows] for codes in self.group_codes),
            tuple(score[rows] for score in self.scores),
            None if self.weight is None else self.weight[rows],
        )

    def pooled(self) -> Membership:
        """Return the membership in whole groups, whatever the labels."""
        return replace(
            self,
            scheme=replace(self.scheme, label_bins=OneBin()),
            label_codes=np.zeros(self.n_samples, dtype=np.intp),
        )


def sort_rows(
    scheme: CellScheme,
    y: npt.NDArray[Any],
    columns: Sequence[SensitiveColumn],
    weight: Array | None = None,
) -> Membership:
    """Sort rows into the cells of a scheme; values in no bin get code −1."""
    codes, scores = [], []
    for bins, column in zip(scheme.sensitive_bins, columns, strict=True):
        if isinstance(bins, NoBins):
            scores.append(bins.standardize(column.values))
        else:
            codes.append((bins.assign(column.values), bins.n_bins))
    groups = [_cross(codes)] if scheme.is_crossed else [own for own, _ in codes]
    return Membership(scheme, scheme.label_bins.assign(y), tuple(groups), tuple(scores), weight)


def require_every_row_in_a_bin(
    rows: Membership,
    y: npt.NDArray[Any],
    columns: Sequence[SensitiveColumn],
    *,
    all_bins_filled: bool = True,
) -> None:
    """Refuse rows outside of the bins, and given bins without rows if all are to be filled."""
    bins = rows.scheme.label_bins
    # Leaving classes out of y_bins is a choice (equal opportunity); leaving the edges is a slip.
    if not bins.selective:
        _complain_about_outside(y, rows.label_codes < 0, "y", "y_bins")
    counts = rows.cells.label_counts
    if all_bins_filled and bins.explicit and (counts == 0).any():
        empty = [bins.labels[k] for k in np.flatnonzero(counts == 0)]
        remedy = (
            f"The values of y are {np.unique(y).tolist()[:20]}."
            if bins.selective
            else "Merge each with a neighbour, or give y_bins as a number."
        )
        raise ValueError(f"y_bins has bins without any row: {empty}. {remedy}")
    if not rows.scores and all((codes >= 0).all() for codes in rows.group_codes):
        return  # which is to be told apart only if somebody is missing
    for column, sensitive_bins in zip(columns, rows.scheme.sensitive_bins, strict=True):
        outside = sensitive_bins.assign(column.values) < 0
        name = f"sensitive_features ({column.name})"
        _complain_about_outside(column.values, outside, name, "s_bins")


def _complain_about_outside(
    values: npt.NDArray[Any], outside: npt.NDArray[np.bool_], name: str, argument: str
) -> None:
    if outside.any():
        raise ValueError(
            f"{name} has {int(outside.sum())} of {outside.size} values in none of the {argument}, "
            f"for example {values[outside][0]!s} in row {int(np.argmax(outside))}; widen the outer "
            "edges (they may be infinite) or name the missing categories."
        )


def _cross(parts: Sequence[tuple[Codes, int]]) -> Codes:
    """Combine the groups of several attributes, numbered in row-major order."""
    crossed = np.zeros_like(parts[0][0])
    outside = np.zeros(crossed.shape, dtype=bool)
    for codes, n_groups in parts:
        crossed = crossed * n_groups + codes
        outside |= codes < 0
    crossed[outside] = -1
    return crossed


def _count(codes: Codes, size: int, weight: Array | None = None) -> npt.NDArray[Any]:
    """Count the rows of each code, or add up their weights; −1 does not count."""
    inside = codes >= 0
    if not inside.all():
        codes, weight = codes[inside], None if weight is None else weight[inside]
    return np.bincount(codes, weights=weight, minlength=size)
