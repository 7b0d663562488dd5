"""Draws: the sums of the sample itself, of rows drawn again, and of groups shuffled.

bootstrap   the Bayesian one (Rubin 1981): a draw weighs every row by an exponential number. The
            rows of a cell then have Dirichlet weights, which act like rows drawn again from this
            cell, but no cell ever runs empty, and one table of weights W (n_draws × n) serves the
            cells of all attributes, however few rows their crossings (the strata) have. The sums
            are W · terms: products of matrices, stratum by stratum
shuffles    the groups are shuffled within each label bin (or among everybody), so every draw keeps
            the counts and weights and has no unfairness but chance: the predictions move, the
            places stand.
            Rows in no group are shuffled among themselves

Draws come in blocks that fit a core's cache, each with a random stream of its own: the result does
not depend on how many threads there are.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gferm.arrays import Array
from gferm.arrays.threads import for_each
from gferm.auditing.sums import MASS, Strata, Sums, Term, Terms

BLOCK = 2**19  # drawn rows held at once by a thread

DrawBlock = Callable[[int, np.random.Generator], Array]


def observed(strata: Strata, terms: Terms) -> Sums:
    """Return the sums of the sample itself: one draw."""
    return {
        name: np.add.reduceat(term.product[strata.order], strata.starts)[None]
        for name, term in terms.items()
    }


def bootstrap(strata: Strata, terms: Terms, n_draws: int, rng: np.random.Generator) -> Sums:
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


def shuffles(
    strata: Strata, terms: Terms, n_draws: int, rng: np.random.Generator, *, everybody: bool = False
) -> Sums:
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
) -> Sums:
    step = max(BLOCK // strata.order.size, 1)
    blocks = [slice(start, min(start + step, n_draws)) for start in range(0, n_draws, step)]
    sums = np.empty((len(terms), n_draws, strata.starts.size))

    def fill(block: tuple[slice, np.random.Generator]) -> None:
        place, stream = block
        sums[:, place] = draw(place.stop - place.start, stream)

    for_each(fill, list(zip(blocks, rng.spawn(len(blocks)), strict=True)))
    return dict(zip(terms, sums, strict=True))
