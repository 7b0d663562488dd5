"""The DGF that chance alone produces: groups shuffled within each label bin.

A shuffle keeps the rows n_{k,q} of every cell and the hits h_k of every bin (rows predicted into
their own bin), and changes only how these hits fall on the groups. So (h_{k,1}, …, h_{k,Q}) is
multivariate hypergeometric with n_{k,·} and h_k, independently over k, and no row is needed:

    P̂^{k,q} = h_{k,q} / n_{k,q}        hits and counts, shape (K, Q)

A DGF within this noise says nothing about the predictor. Bins with a handful of rows weigh as much
as the largest under "pairs", so the noise is large.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gferm.arrays import Array
from gferm.metrics.cell_values import (
    AVERAGES,
    average_pairs,
    differences,
    harmonic_counts,
    n_ordered_pairs,
    populated_pairs,
)

Integers = npt.NDArray[np.int64]

ALL_BINS = "all_bins"  # Σ over unordered pairs / number of all such pairs, empty ones counting 0
LEVEL = 0.95
ROUNDING = 1e-12  # two shuffles with the same figure may differ by this much


@dataclass(frozen=True, eq=False)
class NullDistribution:
    """A figure among those that chance alone produces.

    Attributes
    ----------
    seen : float
        The figure itself; NaN if nothing could be compared.
    values : array of shape (n_permutations,)
        The same figure of shuffled groups.
    """

    seen: float
    values: Array

    @property
    def mean(self) -> float:
        """The mean of shuffled groups: the noise floor."""
        return float(self.values.mean())

    @property
    def high(self) -> float:
        """What 95 % of the shuffles stay below."""
        return float(np.quantile(self.values, LEVEL))

    @property
    def p(self) -> float:
        """The share of shuffles that reach what was seen, which is one of them itself."""
        if np.isnan(self.seen):
            return float("nan")
        reached = np.count_nonzero(self.values >= self.seen - ROUNDING)
        return float((1 + reached) / (1 + self.values.size))


def chance_of_dgf(
    hits: npt.ArrayLike, counts: npt.ArrayLike, *, average: str = "pairs", **options: Any
) -> NullDistribution:
    """Compare a DGF with those of shuffled groups.

    Parameters
    ----------
    hits : array of int, shape (K, Q)
        Rows of each cell that are predicted into their own label bin.
    counts : array of int, shape (K, Q)
        Rows of each cell.
    average : {"pairs", "all_bins", "definition", "sum", "weighted"}, default="pairs"
    **options
        n_permutations and rng, as in `chances_of_dgf`.
    """
    return chances_of_dgf(hits, counts, (average,), **options)[average]


def chances_of_dgf(
    hits: npt.ArrayLike,
    counts: npt.ArrayLike,
    averages: Sequence[str],
    *,
    n_permutations: int = 1000,
    rng: np.random.Generator,
) -> dict[str, NullDistribution]:
    """Compare several averages of a DGF with those of the same shuffles.

    Parameters
    ----------
    hits, counts : arrays of int, shape (K, Q)
        As in `chance_of_dgf`.
    averages : sequence of str
    n_permutations : int, default=1000
    rng : numpy Generator

    Returns
    -------
    dict of NullDistribution
        By average.
    """
    shuffled = shuffle_hits(hits, counts, n_permutations, rng)
    return {
        average: NullDistribution(
            float(dgf_of_counts(hits, counts, average)), dgf_of_counts(shuffled, counts, average)
        )
        for average in averages
    }


def shuffle_hits(
    hits: npt.ArrayLike, counts: npt.ArrayLike, n_permutations: int, rng: np.random.Generator
) -> Integers:
    """Draw the hits of shuffled groups, shape (n_permutations, K, Q).

    Group after group: given those before it, its share of what is left is hypergeometric.
    """
    hits, counts = _check(hits, counts)
    drawn = np.empty((n_permutations, *hits.shape), dtype=np.int64)
    left = np.broadcast_to(hits.sum(axis=1), drawn.shape[:2])
    rows = counts.sum(axis=1)
    for q in range(hits.shape[1] - 1):
        rows = rows - counts[:, q]
        drawn[..., q] = rng.hypergeometric(counts[:, q], rows, left)
        left = left - drawn[..., q]
    drawn[..., -1] = left
    return drawn


def dgf_of_counts(hits: npt.ArrayLike, counts: npt.ArrayLike, average: str = "pairs") -> Array:
    """Return the DGF of each table of hits, (..., K, Q); NaN if no bin holds two groups."""
    hits, counts = _check(hits, counts)
    if average not in (*AVERAGES, ALL_BINS):
        raise ValueError(
            f"average={average!r} is unknown; use one of {sorted([*AVERAGES, ALL_BINS])}."
        )
    populated = populated_pairs(counts)
    if not populated.any():
        return np.full(hits.shape[:-2], np.nan)
    gaps = np.abs(differences(hits / np.maximum(counts, 1), populated))
    if average == ALL_BINS:
        all_bins: Array = gaps.sum(axis=-1) / populated.size
        return all_bins
    harmonic = harmonic_counts(counts)[populated]
    return average_pairs(gaps, harmonic, n_ordered_pairs([counts]), average)


def _check(hits: npt.ArrayLike, counts: npt.ArrayLike) -> tuple[Integers, Integers]:
    hits, counts = np.asarray(hits, dtype=np.int64), np.asarray(counts, dtype=np.int64)
    if counts.ndim != 2 or hits.shape[-2:] != counts.shape:
        raise ValueError(f"hits {hits.shape} and counts {counts.shape} are not tables (K, Q).")
    if (hits < 0).any() or (hits > counts).any():
        raise ValueError("hits must lie between 0 and counts: a cell has no more hits than rows.")
    return hits, counts
