"""Many alphas at the price of few: a power series for eigenvalues that an alpha hardly tells apart.

Sums of the form Σ_i lost_i u_i u_iᵀ, lost = alpha/(σ + alpha), are the costly part of holding rows
out. With σ = c + δ and x = δ/(c + alpha),

    lost = lost_c · (1 − x + x² − …)

so directions with |x| ≤ 1e-3 need only S_p = Σ δᵖ u uᵀ, p = 1 … 4, for all alphas, to the last
digit. They are the bulk where most eigenvalues are far below alpha, as those of smooth kernels are.
The u_i of all directions are the rows of an orthogonal matrix, cut to the rows held out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gferm.arrays import Array

RADIUS, TERMS = 1e-3, 4  # RADIUS**(TERMS + 1) is rounding


@dataclass(frozen=True, eq=False)
class Series:
    """Which eigenvalues the series covers, for every alpha.

    Attributes
    ----------
    alphas : array of shape (n_alphas,)
    deviations : array of shape (n,)
        δ, increasing.
    center : float
        c.
    first, last : arrays of shape (n_alphas,)
        The range of directions within the radius.
    """

    alphas: Array
    deviations: Array
    center: float
    first: npt.NDArray[np.intp]
    last: npt.NDArray[np.intp]

    @classmethod
    def around(cls, center: float, values: Array, alphas: Array, radius: float = RADIUS) -> Series:
        """Expand around ``center``; directions that have this σ need not be among ``values``."""
        deviations, reach = values - center, radius * (center + alphas)
        first = np.searchsorted(deviations, -reach, side="left")
        last = np.searchsorted(deviations, reach, side="right")
        return cls(alphas, deviations, center, first, last)

    @property
    def pays(self) -> bool:
        """Whether it saves a tenth of summing over all directions for each alpha."""
        covered = self.last - self.first
        saved = covered.sum() - (TERMS + 1) * covered.max(initial=0)
        return bool(saved > 0.1 * len(self.alphas) * len(self.deviations))

    def weighted_grams(self, vectors: Array) -> Iterator[tuple[int, Array]]:
        """Return Σ lost_i u_i u_iᵀ for each alpha, with its place: from the smallest alpha up.

        ``vectors`` has a direction in each row. The array that is given is the same each time.
        """
        size, adder = vectors.shape[1], _Adder(vectors)
        sums, gram = np.zeros((TERMS, size, size)), np.zeros((size, size))
        first = last = int(np.searchsorted(self.deviations, 0.0))
        for i in np.argsort(self.alphas):
            for rows in (slice(self.first[i], first), slice(last, self.last[i])):
                for p in range(TERMS):
                    adder.add(sums[p], self.deviations[rows] ** (p + 1), rows)
            first, last = int(self.first[i]), int(self.last[i])
            shift = self.center + self.alphas[i]
            share = self.alphas[i] / shift
            if first < last:
                powers = share * (-1.0 / shift) ** np.arange(1, TERMS + 1)
                np.matmul(powers, sums.reshape(TERMS, -1), out=gram.reshape(-1))
            else:
                gram[:] = 0.0
            gram.flat[:: size + 1] += share
            for rows in (slice(0, first), slice(last, None)):
                adder.add(gram, share * (shift / (shift + self.deviations[rows]) - 1.0), rows)
            yield int(i), gram


class _Adder:
    """Adds Σ w u uᵀ over some directions, in memory of its own: fresh memory costs as much."""

    def __init__(self, vectors: Array) -> None:
        self.vectors, self.scaled = vectors, np.empty_like(vectors)
        self.product = np.empty((vectors.shape[1], vectors.shape[1]))

    def add(self, total: Array, weights: Array, rows: slice) -> None:
        """Add to ``total``; the weights have one sign."""
        if not len(weights):
            return
        roots = np.sqrt(np.abs(weights))
        scaled = np.multiply(roots[:, None], self.vectors[rows], out=self.scaled[: len(roots)])
        np.matmul(scaled.T, scaled, out=self.product)
        if weights[0] + weights[-1] >= 0.0:
            total += self.product
        else:
            total -= self.product
