"""Rows become sums: of the sample itself, of rows drawn again, and of groups shuffled.

The rows are sorted into strata, the crossings of label bin and group (of every partition). Every
figure of an audit is a function of sums over strata of a few products per row, a ``Term``:

    Σ own_i · place_i        (n_draws, n_strata) of each term

``own`` belongs to the prediction (a hit, a residual, …), ``place`` to the attribute and the sample
weight, which often depends on it. Drawing rows again weighs both; shuffling groups moves one
against the other.

draws       the Bayesian bootstrap (Rubin 1981): a draw weighs every row by an exponential number.
            The rows of a cell then have Dirichlet weights, which act like rows drawn again from
            this cell, but no cell ever runs empty, and one table of weights W (n_draws × n) serves
            the cells of all attributes, however few rows their strata have. The sums are W · terms
shuffles    the groups are shuffled within each label bin (or among everybody), so every draw keeps
            the counts and weights and has no unfairness but chance. Rows in no group are shuffled
            among themselves

Draws come in blocks that fit a core's cache, each with a random stream of its own: the result does
not depend on how many threads there are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from gferm.arrays import Array, Codes
from gferm.arrays.threads import for_each
from gferm.fairness.membership import Membership

MASS = "weight"
BLOCK = 2**19  # drawn rows held at once by a thread


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
StratumSums = Mapping[str, Array]
DrawBlock = Callable[[int, np.random.Generator], Array]


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
        key = np.zeros(rows.label_codes.size, dtype=np.intp)
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


def sum_rows(strata: Strata, terms: Terms) -> StratumSums:
    """Return the sums of the sample itself: one draw."""
    return {
        name: np.add.reduceat(term.product[strata.order], strata.starts)[None]
        for name, term in terms.items()
    }


def sum_draws(strata: Strata, terms: Terms, n_draws: int, rng: np.random.Generator) -> StratumSums:
    """Return the sums of rows with random weights; their mass is one of them."""
    n, starts, sizes = strata.order.size, strata.starts, strata.sizes
    terms = {MASS: Term(np.ones(n)), **terms}
    values = np.column_stack([term.product[strata.order] for term in terms.values()])

    def draw(n_block: int, rng: np.random.Generator) -> Array:
        weights = rng.standard_exponential((n_block, n))
        sums = np.empty((starts.size, n_block, values.shape[1]))
        for stratum, (start, size) in enumerate(zip(starts, sizes, strict=True)):
            rows_of = slice(start, start + size)
            np.matmul(weights[:, rows_of], values[rows_of], out=sums[stratum])
        return sums.transpose(2, 1, 0)

    return _in_blocks(draw, strata, terms, n_draws, rng)


def sum_shuffles(
    strata: Strata, terms: Terms, n_draws: int, rng: np.random.Generator, *, everybody: bool = False
) -> StratumSums:
    """Return the sums with predictions shuffled against groups, within label bins or altogether."""
    n = strata.order.size
    sorted_terms = [term.take(strata.order) for term in terms.values()]
    exchangeable = strata.exchangeable(everybody=everybody)

    def draw(n_block: int, rng: np.random.Generator) -> Array:
        rows = np.broadcast_to(np.arange(n, dtype=np.int32), (n_block, n)).copy()
        for places in exchangeable:
            rows[:, places] = rng.permuted(rows[:, places], axis=1)
        sums = np.empty((len(sorted_terms), n_block, strata.starts.size))
        for term, out in zip(sorted_terms, sums, strict=True):
            moved = term.own[rows]
            if term.place is not None:
                moved *= term.place
            np.add.reduceat(moved, strata.starts, axis=1, out=out)
        return sums

    return _in_blocks(draw, strata, terms, n_draws, rng)


def _in_blocks(
    draw: DrawBlock, strata: Strata, terms: Terms, n_draws: int, rng: np.random.Generator
) -> StratumSums:
    step = max(BLOCK // strata.order.size, 1)
    blocks = [slice(start, min(start + step, n_draws)) for start in range(0, n_draws, step)]
    sums = np.empty((len(terms), n_draws, strata.starts.size))

    def fill(block: tuple[slice, np.random.Generator]) -> None:
        place, stream = block
        sums[:, place] = draw(place.stop - place.start, stream)

    for_each(fill, list(zip(blocks, rng.spawn(len(blocks)), strict=True)))
    return dict(zip(terms, sums, strict=True))
