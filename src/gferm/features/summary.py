"""A part of the rows as sums that hold everything a fair model needs: they add over parts.

    moments    n, Σ w x, Σ w x xᵀ, Σ w x y, …              what ridge regression needs
    members    Σ w x, Σ w y and n of every cell            what its contrasts need

and for an attribute s taken as continuous Σ w s, Σ w s x, … of every label bin. Sums over chunks,
threads, processes or machines give the same model, whatever the parts are, as long as they agree on
bins and on landmarks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gferm.arrays import Array
from gferm.arrays.device import CPU, Device
from gferm.exceptions import NothingToCompareError
from gferm.fairness.bins import NoBins
from gferm.fairness.cells import Cells, CellScheme
from gferm.fairness.comparison import Comparison
from gferm.fairness.constraint import Constraint
from gferm.fairness.contrasts import combine_cells, no_contrasts, one_entry_a_row
from gferm.fairness.membership import Membership
from gferm.features.moments import Finish, Moments, sum_with_columns
from gferm.features.origin import Origin


@dataclass(frozen=True, eq=False)
class ScoreSums:
    """What a continuous attribute adds up to, in the units that the scheme gave it first.

    Attributes
    ----------
    mass, first, second : float
        Σ w, Σ w s and Σ w s² of all rows.
    low, high : arrays of shape (K,)
        Of each label bin.
    """

    mass: float
    first: float
    second: float
    low: Array
    high: Array

    def __add__(self, other: ScoreSums) -> ScoreSums:
        return ScoreSums(
            self.mass + other.mass,
            self.first + other.first,
            self.second + other.second,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )

    @property
    def spread(self) -> float:
        """The standard deviation, in the first units."""
        mean = self.first / self.mass
        return float(np.sqrt(max(self.second / self.mass - mean**2, 0.0)))


@dataclass(frozen=True, eq=False)
class Summary:
    """Sums over some rows.

    Attributes
    ----------
    moments : Moments
    n_rows : int
    members : array of shape (d, r)
        Σ w x of each cell of each partition; then, for each score, Σ w x and Σ w s x of each label
        bin.
    counts, mass, squares : arrays of shape (r,)
        Rows, Σ w or Σ w s, and Σ w² of the cells.
    rise : array of shape (r,)
        Σ w y or Σ w s y, of the first target.
    scores : tuple of ScoreSums
    weighted : bool
    """

    moments: Moments
    n_rows: int
    members: Array
    counts: npt.NDArray[np.intp]
    mass: Array
    squares: Array
    rise: Array
    scores: tuple[ScoreSums, ...]
    weighted: bool

    def __add__(self, other: Summary) -> Summary:
        if not self.moments.origin.is_at(other.moments.origin):
            common = self.moments.origin_with(other.moments)
            return self.counted_from(common) + other.counted_from(common)
        return Summary(
            self.moments + other.moments,
            self.n_rows + other.n_rows,
            self.members + other.members,
            self.counts + other.counts,
            self.mass + other.mass,
            self.squares + other.squares,
            self.rise + other.rise,
            tuple(map(add, self.scores, other.scores)),
            self.weighted or other.weighted,
        )

    def counted_from(self, origin: Origin) -> Summary:
        """Return the same sums about another point."""
        x, y = self.moments.origin.x - origin.x, self.moments.origin.y - origin.y
        return replace(
            self,
            moments=self.moments.counted_from(origin),
            members=self.members + np.outer(x, self.mass),
            rise=self.rise + y[0] * self.mass,
        )

    def finished(self, finish: Finish) -> Summary:
        """Return the sums of other features, linear in these."""
        moments = self.moments.finished(finish)
        return replace(self, moments=moments, members=finish(self.members))


def summarize_rows(
    X: Any,
    targets: Array,
    weight: Array | None,
    members: Membership | None,
    origin: Origin,
    device: Device = CPU,
) -> Summary:
    """Take all sums over the rows, in one pass over blocks."""
    columns = no_contrasts(X.shape[0]) if members is None else _indicators(members)
    moments, seen = sum_with_columns(X, targets, weight, origin, columns, device=device)
    d, counts, squares = len(moments.shift), [], [np.zeros(0)]
    scores: tuple[ScoreSums, ...] = ()
    if members is not None:
        cells = members.cells
        counts = [part.counts.ravel() for part in cells.partitions]
        counts += [cells.label_counts] * (2 * len(cells.scores))  # of Σ w and Σ w s
        squares += [part.squares.ravel() for part in cells.partitions]
        scores = tuple(_sums_of(score, members) for score in members.scores)
    return Summary(
        moments=moments,
        n_rows=X.shape[0],
        members=seen[:d].copy(),
        counts=np.concatenate([np.zeros(0, dtype=np.intp), *counts]),
        mass=seen[-1].copy(),
        squares=np.concatenate(squares),
        rise=seen[d].copy(),
        scores=scores,
        weighted=weight is not None,
    )


def constrain(
    summary: Summary, scheme: CellScheme, comparison: Comparison
) -> tuple[Cells, Constraint, Array]:
    """Return the cells, the constraint, and how contrasts are read: XᵀC.

    Raises
    ------
    NothingToCompareError
        If no label bin has rows of two groups yet.
    """
    cells = _cells_of(summary, scheme)
    comparable, share = [], np.zeros(summary.squares.size)
    mass = summary.mass[: share.size]
    np.divide(1.0, mass, out=share, where=mass > 0.0)
    of_x, of_y = [summary.members[:, : share.size] * share], [summary.rise[: share.size] * share]
    for sums, (plain, weighted) in zip(summary.scores, _score_columns(summary, cells), strict=True):
        counts, mass = summary.counts[plain], summary.mass[plain]
        enough = counts >= max(comparison.min_cell_size, 2)
        comparable.append(enough & (sums.high > sums.low))
        share, level = np.zeros(mass.size), np.zeros(mass.size)
        np.divide(1.0, mass * sums.spread, out=share, where=comparable[-1])
        np.divide(summary.mass[weighted], mass, out=level, where=mass > 0)
        of_x.append((summary.members[:, weighted] - level * summary.members[:, plain]) * share)
        of_y.append((summary.rise[weighted] - level * summary.rise[plain]) * share)
    if any(sums.spread == 0.0 for sums in summary.scores):
        raise NothingToCompareError("The continuous sensitive attribute is constant so far.")
    combination = combine_cells(cells, comparable, comparison.min_cell_size)
    means_of_x = np.concatenate(of_x, axis=1)
    means_of_y = np.concatenate(of_y) if comparison.match == "residual" else None
    constraint = combination.constraint(means_of_y, comparison.epsilon_scale)
    return cells, constraint, np.asarray((combination.weights.T @ means_of_x.T).T)


def total(summaries: Sequence[Summary]) -> Summary:
    """Add up."""
    return reduce(add, summaries)


def _indicators(rows: Membership) -> sparse.csr_array:
    """Return which row adds to which sums, and how much, (n_samples, r)."""
    n, n_labels = rows.n_samples, rows.scheme.label_bins.n_bins
    weight = np.ones(n) if rows.weight is None else rows.weight
    tables = zip(rows.cell_codes, rows.cells.partitions, strict=True)
    if rows.one_cell_each:
        ((cell_of, part),) = tables
        return one_entry_a_row(cell_of, weight, part.counts.size)
    entries, first = [(np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0))], 0
    for cell_of, part in tables:
        inside = np.flatnonzero(cell_of >= 0)
        entries.append((inside, first + cell_of[inside], weight[inside]))
        first += part.counts.size
    inside = np.flatnonzero(rows.label_codes >= 0)
    for score in rows.scores:
        for share in (weight, weight * score):
            entries.append((inside, first + rows.label_codes[inside], share[inside]))
            first += n_labels
    places, columns, values = map(np.concatenate, zip(*entries, strict=True))
    return sparse.csr_array((values, (places, columns)), shape=(n, first))


def _sums_of(score: Array, rows: Membership) -> ScoreSums:
    weight = np.ones(score.size) if rows.weight is None else rows.weight
    low, high = (np.full(rows.scheme.label_bins.n_bins, end) for end in (np.inf, -np.inf))
    inside = rows.label_codes >= 0
    np.minimum.at(low, rows.label_codes[inside], score[inside])
    np.maximum.at(high, rows.label_codes[inside], score[inside])
    return ScoreSums(
        float(weight.sum()), float(weight @ score), float(weight @ score**2), low=low, high=high
    )


def _cells_of(summary: Summary, scheme: CellScheme) -> Cells:
    """Return the table of cells; continuous attributes in units of all rows so far."""
    sums = iter(summary.scores)
    settled = tuple(
        _in_units_of(bins, next(sums)) if isinstance(bins, NoBins) else bins
        for bins in scheme.sensitive_bins
    )
    n_labels, n_cells = scheme.label_bins.n_bins, summary.squares.size
    sizes = [n_labels * len(groups) for groups in scheme.groups.values()]

    def each(sums: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        return np.split(sums[:n_cells], np.cumsum(sizes)[:-1]) if sizes else []

    counts = each(summary.counts)
    return replace(scheme, sensitive_bins=settled).tabulate(
        counts,
        each(summary.mass),
        each(summary.squares),
        label_counts=(
            counts[0].reshape(n_labels, -1).sum(axis=1) if counts else summary.counts[:n_labels]
        ),
        n_samples=summary.n_rows,
        weighted=summary.weighted,
    )


def _in_units_of(bins: NoBins, sums: ScoreSums) -> NoBins:
    return NoBins(
        center=bins.center + bins.spread * sums.first / sums.mass,
        spread=bins.spread * (sums.spread or 1.0),
    )


def _score_columns(summary: Summary, cells: Cells) -> list[tuple[slice, slice]]:
    """Return for each score where Σ w and Σ w s of the label bins are."""
    n_labels, first = cells.label_bins.n_bins, summary.squares.size
    starts = range(first, first + 2 * n_labels * len(cells.scores), 2 * n_labels)
    return [(slice(at, at + n_labels), slice(at + n_labels, at + 2 * n_labels)) for at in starts]
