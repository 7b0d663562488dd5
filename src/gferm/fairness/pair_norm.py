"""The norm of the fairness constraint, Ω(c) = Σ over all pairs |gap|, and its dual norm.

The m contrasts c come in blocks; a block of m_b contrasts is the list of differences between
neighbours among Q = m_b + 1 cells, c_j = z_j − z_{j+1}. All pairs of a block are compared:

    Ω(c) = Σ_blocks Σ_{p<q} |z_p − z_q| = Σ_blocks Σ_j (Q + 1 − 2j) z_(j),   z_(1) ≥ z_(2) ≥ …

so Ω costs a sort, not Q² terms. Its unit dual ball is a product of permutohedra: with h = Dᵀν
(ν moved from contrasts to cells) and h_(1) ≥ h_(2) ≥ …,

    Ω°(ν) = max over blocks and j < Q of (h_(1) + … + h_(j)) / (j (Q − j)),

the largest mean pull of any j cells against the other Q − j. Hölder: νᵀc ≤ Ω°(ν) Ω(c).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from gferm.arrays import Array


@dataclass(frozen=True)
class PairNorm:
    """Ω for blocks of ``sizes`` contrasts."""

    sizes: tuple[int, ...]

    @property
    def n_cells(self) -> int:
        """Cells of all blocks together."""
        return sum(self.sizes) + len(self.sizes)

    @cached_property
    def block_of_cell(self) -> npt.NDArray[np.intp]:
        """The block of each cell."""
        return np.repeat(np.arange(len(self.sizes)), np.asarray(self.sizes) + 1)

    @cached_property
    def cells_from_contrasts(self) -> Array:
        """A, shape (n_cells, m): z = A c with the last cell of each block at zero."""
        lift = np.zeros((self.n_cells, sum(self.sizes)))
        row = column = 0
        for size in self.sizes:
            lift[row : row + size, column : column + size] = np.triu(np.ones((size, size)))
            row, column = row + size + 1, column + size
        return lift

    @cached_property
    def contrasts_from_cells(self) -> Array:
        """D, shape (m, n_cells): c = D z, differences of neighbours; D A = I."""
        n = self.n_cells
        differences = np.eye(n - 1, n) - np.eye(n - 1, n, k=1)
        within = self.block_of_cell[1:] == self.block_of_cell[:-1]
        return np.asarray(differences[within])

    def gaps(self, contrasts: Array) -> Array:
        """Return z_p − z_q for all pairs p < q of all blocks."""
        z = self.cells_from_contrasts @ contrasts
        parts = []
        for cells in self._split(z):
            p, q = np.triu_indices(cells.size, k=1)
            parts.append(cells[p] - cells[q])
        return np.concatenate(parts)

    def value(self, contrasts: Array) -> float:
        """Return Ω(c)."""
        return float(self.values(contrasts))

    def values(self, contrasts: Array) -> Array:
        """Return Ω of every row of a stack of contrasts, shape (..., m)."""
        cells = contrasts @ self.cells_from_contrasts.T
        total = np.zeros(cells.shape[:-1])
        for block in self._cells_of_blocks:
            size = block.stop - block.start
            rank = np.arange(1 - size, size, 2)
            total += np.sort(cells[..., block], axis=-1) @ rank
        return total

    def dual(self, multipliers: Array) -> float:
        """Return Ω°(ν)."""
        largest = 0.0
        for pull in self._split(self.contrasts_from_cells.T @ multipliers):
            j = np.arange(1, pull.size)
            prefix = np.cumsum(np.sort(pull)[::-1])[:-1]
            largest = max(largest, float(np.max(prefix / (j * (pull.size - j)))))
        return largest

    def _split(self, per_cell: Array) -> list[Array]:
        return [per_cell[cells] for cells in self._cells_of_blocks]

    @cached_property
    def _cells_of_blocks(self) -> tuple[slice, ...]:
        ends = np.cumsum(np.asarray(self.sizes) + 1).tolist()
        return tuple(slice(start, end) for start, end in pairwise([0, *ends]))
