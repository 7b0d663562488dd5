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
    def around(cls, center: float, values: Array, alphas: Array) -> Series:
        """Expand around ``center``; directions that have this σ need not be among ``values``."""
        deviations, radius = values - center, RADIUS * (center + alphas)
        first = np.searchsorted(deviations, -radius, side="left")
        last = np.searchsorted(deviations, radius, side="right")
        return cls(alphas, deviations, center, first, last)

    @property
    def pays(self) -> bool:
        """Whether it saves work beside summing over all directions for each alpha."""
        covered = self.last - self.first
        return bool(covered.sum() > (TERMS + 1) * covered.max(initial=0))

    def weighted_grams(self, vectors: Array) -> Iterator[tuple[int, Array]]:
        """Give Σ lost_i u_i u_iᵀ for each alpha, with its place: from the smallest alpha up.

        ``vectors`` has a direction in each row.
        """
        scratch, size = np.empty_like(vectors), vectors.shape[1]
        sums = np.zeros((TERMS, size, size))
        first = last = int(np.searchsorted(self.deviations, 0.0))
        for i in np.argsort(self.alphas):
            for rows in (slice(self.first[i], first), slice(last, self.last[i])):
                for p in range(TERMS):
                    sums[p] += _gram(vectors[rows], self.deviations[rows] ** (p + 1), scratch)
            first, last = self.first[i], self.last[i]
            shift = self.center + self.alphas[i]
            share = self.alphas[i] / shift
            gram = share * np.eye(size)
            for p in range(TERMS):
                gram += share * (-1.0 / shift) ** (p + 1) * sums[p]
            for rows in (slice(0, first), slice(last, None)):
                weights = share * (shift / (shift + self.deviations[rows]) - 1.0)
                gram += _gram(vectors[rows], weights, scratch)
            yield int(i), gram


def _gram(vectors: Array, weights: Array, scratch: Array) -> Array:
    """Give Σ w u uᵀ for weights of one sign."""
    if not len(vectors):
        return np.zeros((vectors.shape[1], vectors.shape[1]))
    roots = np.sqrt(np.abs(weights))
    scaled = np.multiply(roots[:, None], vectors, out=scratch[: len(vectors)])
    gram: Array = scaled.T @ scaled
    return gram if weights[0] + weights[-1] >= 0.0 else -gram
