"""A part of the rows as sums that hold everything a fair model needs: they add over parts.

    moments    n, Σ w x, Σ w x xᵀ, Σ w x y, …              what ridge regression needs
    members    Σ w x, Σ w y and n of every cell            what its contrasts need

and for an attribute s taken as continuous Σ w s, Σ w s x, … of every label bin. Sums over chunks,
threads, processes or machines give the same model, whatever the parts are, as long as they agree on
bins and on landmarks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from gferm.fairness.cells import Cells, CellScheme, Score
from gferm.fairness.constraint import (
    Contrasts,
    Covariances,
    combine_cells,
    no_contrasts,
    one_entry_a_row,
)
from gferm.solver.moments import Finish, Moments, sum_with_columns
from gferm.solver.origin import Origin
from gferm.solver.system import System


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
    counts, mass : arrays of shape (r,)
        Rows, and Σ w or Σ w s.
    rise : array of shape (r,)
        Σ w y or Σ w s y, of the first target.
    scores : tuple of ScoreSums
    """

    moments: Moments
    n_rows: int
    members: Array
    counts: npt.NDArray[np.intp]
    mass: Array
    rise: Array
    scores: tuple[ScoreSums, ...]

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
            self.rise + other.rise,
            tuple(map(add, self.scores, other.scores)),
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

    def system(self, probe: Array, *, fit_intercept: bool) -> System:
        """Write the learning problem in the features; there are no rows to go back to."""
        return self.moments.system(probe, None, None, fit_intercept=fit_intercept)[0]


def summarize_rows(
    X: Any,
    targets: Array,
    weight: Array | None,
    cells: Cells | None,
    origin: Origin,
    device: Device = CPU,
) -> Summary:
    """Take all sums over the rows, in one pass over blocks."""
    membership = no_contrasts(X.shape[0]) if cells is None else _membership(cells)
    moments, seen = sum_with_columns(X, targets, weight, origin, membership, device=device)
    d = len(moments.shift)
    counts = [] if cells is None else [part.counts.ravel() for part in cells.partitions]
    if cells is not None:  # Σ w and Σ w s of each label bin
        counts += [cells.label_counts] * (2 * len(cells.scores))
    return Summary(
        moments=moments,
        n_rows=X.shape[0],
        members=seen[:d].copy(),
        counts=np.concatenate([np.zeros(0, dtype=np.intp), *counts]),
        mass=seen[-1].copy(),
        rise=seen[d].copy(),
        scores=() if cells is None else tuple(_sums_of(score, cells) for score in cells.scores),
    )


def constrain(
    summary: Summary,
    scheme: CellScheme,
    *,
    match: str,
    min_cell_size: int,
    epsilon_scale: str,
) -> tuple[Cells, Contrasts, Array]:
    """Return the cells, which know no rows, the constraint, and how contrasts are read: XᵀC.

    Raises
    ------
    NothingToCompareError
        If no label bin has rows of two groups yet.
    """
    cells = _cells_without_rows(summary, scheme)
    means_of_x, means_of_y, covariances = _means(summary, cells, max(min_cell_size, 1))
    combination = combine_cells(
        cells, covariances, min_cell_size=min_cell_size, n_samples=summary.n_rows
    )
    offset = np.asarray(combination.weights.T @ means_of_y) if match == "residual" else None
    contrasts = combination.contrasts(
        columns=no_contrasts(0), offset=offset, epsilon_scale=epsilon_scale
    )
    return cells, contrasts, np.asarray((combination.weights.T @ means_of_x.T).T)


def total(summaries: Sequence[Summary]) -> Summary:
    """Add up."""
    return reduce(add, summaries)


def _membership(cells: Cells) -> sparse.csr_array:
    """Which row adds to which sums, and how much."""
    n, n_labels = cells.n_samples, cells.label_bins.n_bins
    weight = np.ones(n) if cells.weight is None else cells.weight
    if cells.sort_every_row:
        part = cells.partitions[0]
        return one_entry_a_row(part.cell_of, weight, part.counts.size)
    entries, first = [(np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0))], 0
    for part in cells.partitions:
        rows = np.flatnonzero(part.cell_of >= 0)
        entries.append((rows, first + part.cell_of[rows], weight[rows]))
        first += part.counts.size
    inside = np.flatnonzero(cells.label_codes >= 0)
    for score in cells.scores:
        for share in (weight, weight * score.values):
            entries.append((inside, first + cells.label_codes[inside], share[inside]))
            first += n_labels
    rows, columns, values = map(np.concatenate, zip(*entries, strict=True))
    return sparse.csr_array((values, (rows, columns)), shape=(n, first))


def _sums_of(score: Score, cells: Cells) -> ScoreSums:
    s = score.values
    weight = np.ones(s.size) if cells.weight is None else cells.weight
    low, high = (np.full(cells.label_bins.n_bins, end) for end in (np.inf, -np.inf))
    inside = cells.label_codes >= 0
    np.minimum.at(low, cells.label_codes[inside], s[inside])
    np.maximum.at(high, cells.label_codes[inside], s[inside])
    return ScoreSums(
        float(weight.sum()), float(weight @ s), float(weight @ s**2), low=low, high=high
    )


def _cells_without_rows(summary: Summary, scheme: CellScheme) -> Cells:
    """Return the cells with their counts; continuous attributes in units of all rows so far."""
    nobody = np.zeros(0, dtype=np.intp)
    empty = scheme.without_rows()
    partitions, first = [], 0
    for part in empty.partitions:
        own = slice(first, first + part.counts.size)
        partitions.append(
            replace(
                part,
                counts=summary.counts[own].reshape(part.counts.shape),
                weights=summary.mass[own].reshape(part.counts.shape),
            )
        )
        first = own.stop
    sums = iter(summary.scores)
    settled = tuple(
        _in_units_of(bins, next(sums)) if isinstance(bins, NoBins) else bins
        for bins in scheme.sensitive_bins
    )
    return replace(
        empty,
        label_codes=nobody,
        partitions=tuple(partitions),
        scheme=replace(scheme, sensitive_bins=settled),
    )


def _in_units_of(bins: NoBins, sums: ScoreSums) -> NoBins:
    return NoBins(
        center=bins.center + bins.spread * sums.first / sums.mass,
        spread=bins.spread * (sums.spread or 1.0),
    )


def _means(summary: Summary, cells: Cells, min_size: int) -> tuple[Array, Array, list[Covariances]]:
    """Return means of x, (d, n_means), and of y, (n_means,), as `combine_cells` orders them."""
    n_cells = sum(part.counts.size for part in cells.partitions)
    own, mass = slice(n_cells), summary.mass[:n_cells]
    share = np.zeros(n_cells)
    np.divide(1.0, mass, out=share, where=mass > 0.0)
    of_x, of_y = [summary.members[:, own] * share], [summary.rise[own] * share]
    covariances: list[Covariances] = []
    for score, at, weighted in _score_columns(cells, n_cells):
        sums = summary.scores[len(covariances)]
        counts, mass, spread = summary.counts[at], summary.mass[at], sums.spread
        comparable = (counts >= max(min_size, 2)) & (sums.high > sums.low)
        share = np.zeros(mass.size)
        np.divide(1.0, mass * spread, out=share, where=comparable)
        mean = summary.mass[weighted] * np.divide(
            1.0, mass, out=np.zeros(mass.size), where=mass > 0
        )
        of_x.append((summary.members[:, weighted] - mean * summary.members[:, at]) * share)
        of_y.append((summary.rise[weighted] - mean * summary.rise[at]) * share)
        covariances.append(Covariances(score.name, counts, comparable))
    if any(sums.spread == 0.0 for sums in summary.scores):
        raise NothingToCompareError("The continuous sensitive attribute is constant so far.")
    return np.concatenate(of_x, axis=1), np.concatenate(of_y), covariances


def _score_columns(cells: Cells, first: int) -> Iterator[tuple[Score, slice, slice]]:
    n_labels = cells.label_bins.n_bins
    for score in cells.scores:
        yield score, slice(first, first + n_labels), slice(first + n_labels, first + 2 * n_labels)
        first += 2 * n_labels
