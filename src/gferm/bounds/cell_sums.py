"""Sums of a bound over pairs of training cells, and the largest sum of gaps there can be.

For the cells that are compared, those with ``least`` rows in a label bin where there are two such:

    triple          Σ_k Σ_{q,q'} Σ_{p ∈ {q,q'}} bound(n_{k,p})        q = q' is one cell
    off_diagonal    the same without q = q', whose gap is zero
    largest         max Σ_k Σ_{p,q} |z_p − z_q|  for z in [0, gap]
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gferm.arrays import Array
from gferm.bounds.cell_intervals import populated_pairs
from gferm.bounds.pair_gaps import largest_sum
from gferm.fairness.cells import Cells


class CellSums:
    """The counts of the training cells that take part in a pair."""

    def __init__(self, cells: Cells, least: int) -> None:
        self.cells, self.least = cells, max(least, 1)
        kept = [row[row >= self.least].tolist() for part in cells.partitions for row in part.counts]
        self.counts: list[list[int]] = [row for row in kept if len(row) > 1]

    @property
    def n_cells(self) -> int:
        """K Q, with those that take part in no pair: which these are, depends on the rows."""
        return sum(part.counts.size for part in self.cells.partitions)

    @property
    def n_pairs(self) -> int:
        """How many unordered pairs there are."""
        return sum(len(row) * (len(row) - 1) // 2 for row in self.counts)

    @property
    def n_ordered(self) -> int:
        """K Q², over all cells, summed over partitions."""
        return sum(p.counts.shape[0] * p.counts.shape[1] ** 2 for p in self.cells.partitions)

    def triple(self, bound: Callable[[int], float]) -> float:
        """Sum over ordered pairs, each group with itself too."""
        return sum((2 * len(row) - 1) * sum(map(bound, row)) for row in self.counts)

    def off_diagonal(self, bound: Callable[[int], float]) -> float:
        """Sum over ordered pairs of two groups."""
        return sum((2 * len(row) - 2) * sum(map(bound, row)) for row in self.counts)

    def largest(self, gap: float) -> float:
        """Return the largest sum over ordered pairs, if no single gap exceeds ``gap``."""
        total = 0.0
        for part in self.cells.partitions:
            low = np.zeros(part.counts.shape)
            weight: Array = 2.0 * populated_pairs(part.counts, self.least).astype(float)
            total += largest_sum(low, low + gap, weight)
        return total
