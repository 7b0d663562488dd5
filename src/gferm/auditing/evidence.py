"""Evidence: the means of cells and groups in the sample, in rows drawn again, in groups shuffled.

    rows → terms (outcome.py) → sums over strata (draws.py) → means

A mean is Σ own · place / Σ weight over the strata that make up a cell, a group or a label bin.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from gferm.arrays import Array, Codes
from gferm.auditing.draws import MASS, Strata, StratumSums, sum_draws, sum_rows, sum_shuffles
from gferm.auditing.outcome import Outcome, moments_with, terms_of
from gferm.auditing.records import AuditParameters
from gferm.fairness.cells import Cells, Partition
from gferm.metrics.cell_values import CellValues
from gferm.metrics.reading import PredictedRows

WITHIN_BINS, EVERYBODY = "within label bins", "among everybody"
OF_GROUPS = ("prediction", "error")  # the quantities that whole groups are compared by


@dataclass(frozen=True, eq=False)
class Means:
    """The means of one sample, or of a stack of n_draws of them.

    Attributes
    ----------
    outcome : Outcome
    min_cell_size : int
    cells : dict of CellValues
        The mean of each quantity in each cell, (n_draws, K, Q) for each partition.
    groups : dict of CellValues
        The same of whole groups, (n_draws, 1, Q).
    error : array of shape (n_draws,)
        The mean error of all rows.
    covariances : array of shape (n_draws, n_compared) or None
        Of the predictions with each continuous attribute, in each label bin that can be compared.
    correlations : array of shape (n_draws, n_numeric) or None
        Of the predictions with each attribute that is a number, over all rows.
    """

    outcome: Outcome
    min_cell_size: int
    cells: dict[str, CellValues]
    groups: dict[str, CellValues]
    error: Array
    covariances: Array | None
    correlations: Array | None


@dataclass(frozen=True, eq=False)
class Evidence:
    """What figures are read from.

    Attributes
    ----------
    rows : PredictedRows
    outcome : Outcome
    parameters : AuditParameters
    seen : Means
        One draw: the sample itself.
    drawn : Means or None
    shuffled : dict of Means
        By which shuffle.
    sizes : dict of float
        The largest |value| of each quantity, as a yardstick for rounding.
    """

    rows: PredictedRows
    outcome: Outcome
    parameters: AuditParameters
    seen: Means
    drawn: Means | None
    shuffled: dict[str, Means]
    sizes: dict[str, float]


def gather_evidence(rows: PredictedRows, outcome: Outcome, parameters: AuditParameters) -> Evidence:
    """Sum over the rows, over rows that are drawn again, and over shuffles, and average."""
    rng, strata = parameters.begin_random_numbers(), Strata.of(rows.membership)
    terms, spread = terms_of(rows, outcome)
    means = StratumMeans(rows, outcome, strata, spread, parameters.min_cell_size)
    drawn, shuffled = None, {}
    if parameters.n_permutations:
        pooled = {MASS, *OF_GROUPS}.union(*map(moments_with, outcome.numeric))
        of_groups = {name: term for name, term in terms.items() if name in pooled}
        n = parameters.n_permutations
        within = sum_shuffles(strata, terms, n, rng)
        everybody = sum_shuffles(strata, of_groups, n, rng, everybody=True)
        shuffled = {WITHIN_BINS: means.of(within), EVERYBODY: means.of(everybody)}
    if parameters.n_boot:
        drawn = means.of(sum_draws(strata, terms, parameters.n_boot, rng))
    sizes = {name: float(np.abs(one).max()) for name, one in outcome.quantities.items()}
    seen = means.of(sum_rows(strata, terms))
    return Evidence(rows, outcome, parameters, seen, drawn, shuffled, sizes)


class StratumMeans:
    """Averages sums over strata; which strata make up which cell is settled once."""

    def __init__(
        self, rows: PredictedRows, outcome: Outcome, strata: Strata, spread: float, least: int
    ) -> None:
        self.outcome, self.spread, self.least = outcome, spread, least
        self.mass = strata.sizes[None].astype(float)  # without weights; shuffles keep it
        labels, self.cells = strata.label_codes, rows.cells
        self.into_labels = _indicator(labels, rows.cells.label_counts.size)
        self.into_cells, self.into_groups, self.into_rated = [], [], []
        for part, codes in zip(self.cells.partitions, strata.groups, strict=True):
            n_groups, outside = len(part.groups), (labels < 0) | (codes < 0)
            cell = np.where(outside, -1, labels * n_groups + codes)
            self.into_cells.append(_indicator(cell, part.counts.size))
            self.into_groups.append(_indicator(codes, n_groups))
            self.into_rated.append(_indicator(np.where(outside, -1, codes), n_groups))
        self.groups = rows.membership.pooled().cells
        self.rated = replace(  # a label in no bin has no bin to be predicted into
            self.groups,
            partitions=tuple(map(_sum_over_labels, self.cells.partitions)),
        )
        self.compared = [
            rows.membership.comparable(j, least) for j in range(len(rows.cells.scores))
        ]

    def of(self, sums: StratumSums) -> Means:
        """Return the means of the terms that were summed."""
        mass = sums.get(MASS, self.mass)
        names = [name for name in self.outcome.quantities if name in sums]
        if not self.cells.partitions:
            names = []
        cells = {name: _average(self.cells, sums[name], mass, self.into_cells) for name in names}
        groups = {name: _average(self.groups, sums[name], mass, self.into_groups) for name in names}
        if "rate" in names:
            groups["rate"] = _average(self.rated, sums["rate"], mass, self.into_rated)
        return Means(
            outcome=self.outcome,
            min_cell_size=self.least,
            cells=cells,
            groups=groups,
            error=sums["error"].sum(axis=1) / mass.sum(axis=1),
            covariances=self._covariances(sums, mass),
            correlations=self._correlations(sums, mass),
        )

    def _covariances(self, sums: StratumSums, mass: Array) -> Array | None:
        if not self.compared or not self.outcome.numeric:
            return None
        found, into = [], self.into_labels
        for name, compared in zip(self.cells.scores, self.compared, strict=True):
            f, s, fs = (_mean(sums[one] @ into, mass @ into) for one in moments_with(name)[:3])
            found.append(self.spread * (fs - f * s)[:, compared])
        return np.concatenate(found, axis=1)

    def _correlations(self, sums: StratumSums, mass: Array) -> Array | None:
        found, total = [], mass.sum(axis=1)
        for name in self.outcome.numeric:
            f, s, fs, ff, ss = (sums[one].sum(axis=1) / total for one in moments_with(name))
            spread_f, spread_s = ff - f**2, ss - s**2
            # both are standardised: what rounding leaves of a constant is nothing beside 1
            known = np.minimum(spread_f, spread_s) > 1e-12
            scale = np.sqrt(np.where(known, spread_f * spread_s, 1.0))
            found.append(np.where(known, (fs - f * s) / scale, np.nan))
        return np.array(found).T if found else None


def _sum_over_labels(part: Partition) -> Partition:
    sums: dict[str, Any] = {
        name: getattr(part, name).sum(axis=0, keepdims=True)
        for name in ("counts", "weights", "squares")
    }
    return replace(part, **sums)


def _average(cells: Cells, sums: Array, mass: Array, into: list[sparse.csr_array]) -> CellValues:
    parts = zip(cells.partitions, into, strict=True)
    tables = (_mean(sums @ one, mass @ one).reshape(-1, *part.counts.shape) for part, one in parts)
    return CellValues(cells, tuple(tables))


def _indicator(codes: Codes, size: int) -> sparse.csr_array:
    """Return the matrix (n_strata, size) that adds strata up by code; −1 adds to nothing."""
    inside = np.flatnonzero(codes >= 0)
    ones = np.ones(inside.size)
    return sparse.csr_array((ones, (inside, codes[inside])), shape=(codes.size, size))


def _mean(sums: Array, mass: Array) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums / mass)
