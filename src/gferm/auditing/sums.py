"""Rows become sums: all that an audit needs to know of n rows, for one sample or a thousand.

The rows are sorted into strata, the crossings of label bin and group (of every partition). Every
figure of an audit is a function of sums over strata of a few products per row, a ``Term``:

    Σ own_i · place_i

``own`` belongs to the prediction (a hit, a residual, …), ``place`` to the attribute and the sample
weight, which often depends on it. Drawing the rows again weighs both; shuffling the groups moves
one against the other. This file knows which sums
there are, `resampling` draws them, `Tables` turns them into cell means.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from gferm.arrays import Array, Codes
from gferm.fairness.cells import Cells
from gferm.fairness.membership import Membership
from gferm.metrics.cell_values import CellValues

MASS = "weight"
STANDARD, SQUARED = "standardised prediction", "its square"


def moments_with(attribute: str) -> tuple[str, str, str]:
    """Name the terms f, s and f·s of a numeric attribute, both standardised."""
    return STANDARD, f"{attribute}: s", f"{attribute}: f s"


def squared(attribute: str) -> str:
    """Name the term s² of a numeric attribute."""
    return f"{attribute}: s s"


@dataclass(frozen=True, eq=False)
class Term:
    """What is summed: ``own`` moves with a prediction, ``place`` (or 1) stays with the group."""

    own: Array
    place: Array | None = None

    @property
    def product(self) -> Array:
        """The term as it is in the rows."""
        return self.own if self.place is None else self.own * self.place

    def take(self, rows: Codes) -> Term:
        """Return the term with its rows in another order."""
        return Term(self.own[rows], None if self.place is None else self.place[rows])


Terms = Mapping[str, Term]
Sums = Mapping[str, Array]  # (n_draws, n_strata) of each term


@dataclass(frozen=True, eq=False)
class Strata:
    """The rows in the order of their strata; the strata of one label bin are neighbours.

    Attributes
    ----------
    order : array of shape (n_samples,)
        The rows, sorted.
    starts : array of int
        Where a stratum begins in this order.
    label_codes : array of shape (n_strata,)
    groups : array of shape (n_partitions, n_strata)
        The group of each stratum in every partition, −1 for none.
    """

    order: Codes
    starts: Codes
    label_codes: Codes
    groups: Codes

    @classmethod
    def of(cls, rows: Membership) -> Strata:
        """Cross the label bins with the groups of all partitions."""
        codes = [rows.label_codes, *rows.group_codes]
        key = np.zeros(rows.n_samples, dtype=np.intp)
        for code in codes:  # numbered anew each time, so that many partitions cannot overflow
            _, key = np.unique(key * (code.max() + 2) + code + 1, return_inverse=True)
        order = np.argsort(key, kind="stable")
        starts = np.searchsorted(key[order], np.arange(key.max() + 1))
        first = order[starts]
        groups = np.array([codes[first] for codes in rows.group_codes], dtype=np.intp)
        return cls(order, starts, rows.label_codes[first], groups.reshape(-1, first.size))

    @property
    def sizes(self) -> Codes:
        """Rows of each stratum."""
        return np.diff(self.starts, append=self.order.size)

    def exchangeable(self, *, everybody: bool) -> list[Codes]:
        """Return the places whose rows a shuffle may exchange, of one label bin or of everybody.

        Rows that are in no group of an attribute stay apart: they are not compared, and would
        bring their predictions into the groups that are.
        """
        key = np.zeros_like(self.label_codes) if everybody else self.label_codes
        for codes in self.groups:
            _, key = np.unique(2 * key + (codes < 0), return_inverse=True)
        of_rows = np.repeat(key, self.sizes)
        return [np.flatnonzero(of_rows == one) for one in np.unique(key)]


@dataclass(frozen=True, eq=False)
class Tables:
    """Cell means, group means and covariances of one sample, or of a stack of them.

    Attributes
    ----------
    rows : Membership
    strata : Strata
    sums : dict of arrays of shape (n_draws, n_strata)
        Of each term that was summed.
    spread : float
        The standard deviation of the predictions, the unit of their standardised terms.
    """

    rows: Membership
    strata: Strata
    sums: Sums
    spread: float

    @property
    def cells(self) -> Cells:
        """The cells, of label bins and groups."""
        return self.rows.cells

    @cached_property
    def pooled(self) -> Cells:
        """The whole groups, whatever the labels."""
        return self.rows.pooled().cells

    def of(self, quantity: str) -> CellValues:
        """Return the mean of a quantity in each cell, (n_draws, K, Q) for each partition."""
        pairs = zip(self.cells.partitions, self._cell_sums(quantity), self._mass, strict=True)
        return CellValues(
            self.cells,
            tuple(_mean(s, m).reshape(-1, *part.counts.shape) for part, s, m in pairs),
        )

    def groups(self, quantity: str) -> CellValues:
        """Return the mean of a quantity in each whole group, (n_draws, 1, Q) for each partition."""
        tables = []
        for part, codes in zip(self.pooled.partitions, self.strata.groups, strict=True):
            if quantity == "rate":  # a label in no bin has no bin to be predicted into
                codes = np.where(self.strata.label_codes < 0, -1, codes)
            into = _member(codes, len(part.groups))
            tables.append(_mean(self.sums[quantity] @ into, self._stratum_mass @ into)[:, None])
        return CellValues(self.pooled, tuple(tables))

    def total(self, quantity: str) -> Array:
        """Return the mean of a quantity over all rows, (n_draws,)."""
        return _mean(self._sums_of(quantity).sum(axis=1), self._sums_of(MASS).sum(axis=1))

    def covariances(self, attribute: str) -> Array:
        """Return the covariance of predictions and attribute in each label bin, (n_draws, K)."""
        into = _member(self.strata.label_codes, self.cells.label_bins.n_bins)
        f, s, fs = (self._sums_of(name) @ into for name in moments_with(attribute))
        mass = self._sums_of(MASS) @ into
        return self.spread * (_mean(fs, mass) - _mean(f, mass) * _mean(s, mass))

    def correlations(self, attribute: str) -> Array:
        """Return the correlation of predictions and attribute over all rows, (n_draws,)."""
        f, s, fs = map(self.total, moments_with(attribute))
        spread_f = self.total(SQUARED) - f**2
        spread_s = self.total(squared(attribute)) - s**2
        # both are standardised: what rounding leaves of a constant is nothing beside 1
        known = np.minimum(spread_f, spread_s) > 1e-12
        scale = np.sqrt(np.where(known, spread_f * spread_s, 1.0))
        return np.where(known, (fs - f * s) / scale, np.nan)

    def _sums_of(self, name: str) -> Array:
        return self._stratum_mass if name == MASS else self.sums[name]

    @cached_property
    def _stratum_mass(self) -> Array:
        """The weight of each stratum; without weights, that of its rows, which shuffles keep."""
        return self.sums.get(MASS, self.strata.sizes[None].astype(float))

    @cached_property
    def _mass(self) -> list[Array]:
        return [self._stratum_mass @ into for into in self._into_cells]

    def _cell_sums(self, quantity: str) -> list[Array]:
        return [self.sums[quantity] @ into for into in self._into_cells]

    @cached_property
    def _into_cells(self) -> list[sparse.csr_array]:
        """One matrix (n_strata, K·Q) a partition: which strata make up which cell."""
        return [
            _member(self._cell_of(codes, len(part.groups)), part.counts.size)
            for part, codes in zip(self.cells.partitions, self.strata.groups, strict=True)
        ]

    def _cell_of(self, codes: Codes, n_groups: int) -> Codes:
        labels = self.strata.label_codes
        return np.where((labels < 0) | (codes < 0), -1, labels * n_groups + codes)


def _member(codes: Codes, size: int) -> sparse.csr_array:
    inside = np.flatnonzero(codes >= 0)
    ones = np.ones(inside.size)
    return sparse.csr_array((ones, (inside, codes[inside])), shape=(codes.size, size))


def _mean(sums: Array, mass: Array) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums / mass)
