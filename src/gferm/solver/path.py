"""The exact path of the fair solution, from the plain model to the fully fair one.

For a price τ ≥ 0 of unfairness the m contrasts c minimise

    ½ (c − c₀)ᵀ G⁺ (c − c₀) + τ Ω(c),        c = c₀ − G ν,   ν ∈ τ ∂Ω(c).

Ω is the sum over all pairs of cells of a block (pair_norm.py), so the solution is described by a
pattern: in every block the cells, sorted by their value z, are fused into clusters of equal
value. While the pattern stands, c and ν are straight lines in τ. It changes in two ways:

    merge   two neighbouring clusters meet: z_upper(τ) = z_lower(τ);
    split   a cluster comes apart. Its inner pulls h(τ) must lie in τ times a permutohedron: for
            each j, the j largest sum to at most τ j (s − j). The first subset to reach its bound
            leaves upwards.

Two groups (blocks of two cells) make it the lasso path; more groups make it a generalised-lasso
path, walked over cells rather than pairs so that redundant pairs cannot make it degenerate.
Each step costs O(m³) at most, whatever the number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import linalg

from gferm.arrays import Array
from gferm.pair_norm import PairNorm

Cluster = npt.NDArray[np.intp]

FINISHED = 1e-12  # Ω below this share of Ω(c₀) is zero
ROUNDING = 1e-13  # a slope below this share of its terms is zero
SLACK = 1e-10  # a subset is past its bound by more than this share of τ
STEPS_PER_CONTRAST = 60  # far more than any path seen; beyond it the walk has stalled


@dataclass(frozen=True, eq=False)
class Path:
    """Breakpoints of the solution; between two of them everything is linear.

    Attributes
    ----------
    prices : array of shape (n_breakpoints,)
        τ, increasing from 0.
    multipliers : array of shape (n_breakpoints, m)
        ν.
    totals : array of shape (n_breakpoints,)
        Ω(c), decreasing.
    """

    prices: Array
    multipliers: Array
    totals: Array


def trace_path(gram: Array, contrasts: Array, norm: PairNorm, *, stop: float = 0.0) -> Path:
    """Walk from the plain model (τ = 0) until Ω ≤ ``stop``.

    The last breakpoint has Ω = ``stop``, or the smallest Ω that exists if that is larger.
    """
    scale = float(np.abs(contrasts).max(initial=0.0))
    rng = np.random.default_rng(0)
    for jitter in (0.0, 1e-13, 1e-11, 1e-9):
        # Ties (several events at one τ) can stall the walk; a tiny shift of c₀ breaks them.
        shifted = contrasts + jitter * scale * rng.standard_normal(contrasts.size)
        path = _Walk(gram, shifted, norm, stop).run()
        if path is not None:
            return path
    raise RuntimeError(
        "The frontier could not be traced: the fairness constraints are numerically degenerate. "
        "Use fewer y_bins or s_bins, a larger min_cell_size, or a larger alpha."
    )


class _Walk:
    """State of the walk: the current pattern and the straight lines that belong to it."""

    def __init__(self, gram: Array, contrasts: Array, norm: PairNorm, stop: float) -> None:
        self.gram, self.start, self.stop = gram, contrasts, stop
        self.lift = norm.cells_from_contrasts
        self.block_of = norm.block_of_cell
        order = np.lexsort((-(self.lift @ contrasts), self.block_of))
        self.clusters: list[Cluster] = [np.array([cell]) for cell in order]
        self.noise = ROUNDING * float(np.abs(gram).max(initial=0.0))
        self.finished = max(stop, FINISHED * norm.value(contrasts))

    def run(self) -> Path | None:
        """Follow the events; None when they do not end."""
        price = 0.0
        prices, multipliers = [0.0], [np.zeros_like(self.start)]
        totals: list[float] = []
        for _ in range(STEPS_PER_CONTRAST * (self.start.size + 1)):
            self._draw_lines()
            if not totals:
                totals.append(self.total0)
                if self.total0 <= self.finished:
                    break
            merge_price, merge_at = self._next_merge(price)
            price_next, split = self._next_split(merge_price)
            reached = self._price_of_total(self.stop)
            if price_next >= reached:
                price_next = reached
            if not np.isfinite(price_next):
                break  # nothing changes any more: this is the smallest Ω there is
            price = max(price, price_next)
            self._append(prices, multipliers, totals, price)
            if totals[-1] <= self.finished or price_next == reached:
                break
            if split is not None:
                self._split(*split)
            else:
                self._merge(merge_at)
        else:
            return None
        return Path(np.array(prices), np.array(multipliers), np.array(totals))

    def _append(
        self, prices: list[float], multipliers: list[Array], totals: list[float], price: float
    ) -> None:
        if price == prices[-1] and len(prices) > 1:  # a tie: one breakpoint, its last pattern
            prices.pop(), multipliers.pop(), totals.pop()
        prices.append(price)
        multipliers.append(self.nu0 + price * self.nu1)
        totals.append(max(self.total0 + price * self.total1, 0.0))

    def _draw_lines(self) -> None:
        """Solve for ν(τ) = ν₀ + τ ν₁ and all that follows from it, for the current pattern."""
        heads = np.array([cluster[0] for cluster in self.clusters])
        sizes = np.array([cluster.size for cluster in self.clusters])
        block = self.block_of[heads]
        # slope of Ω in z: cells in lower clusters of the block minus cells in higher ones
        above = np.cumsum(sizes) - sizes
        first = np.searchsorted(block, block, side="left")
        cells_in_block = np.bincount(block, weights=sizes)[block]
        above = above - above[first]
        slope = cells_in_block - sizes - 2 * above
        pull = np.zeros(self.block_of.size)
        pull[np.concatenate(self.clusters)] = np.repeat(slope, sizes)
        pull_contrasts = self.lift.T @ pull

        self.tied = [i for i, cluster in enumerate(self.clusters) if cluster.size > 1]
        if self.tied:
            upper = np.concatenate([np.full(c.size - 1, c[0]) for c in self._tied_clusters()])
            lower = np.concatenate([c[1:] for c in self._tied_clusters()])
            ties = self.lift[upper] - self.lift[lower]
            gram_ties = self.gram @ ties.T
            rhs = np.column_stack([ties @ self.start, gram_ties.T @ pull_contrasts])
            mu = _solve_symmetric(ties @ gram_ties, rhs)
            self.nu0 = ties.T @ mu[:, 0]
            self.nu1 = pull_contrasts - ties.T @ mu[:, 1]
            # the inner pulls of each cluster, h(τ) = h₀ + τ h₁, cell by cell
            inner = np.zeros((self.block_of.size, 2))
            np.add.at(inner, upper, mu)
            inner[lower] -= mu
            inner[:, 1] *= -1.0
            self.inner = inner
        else:
            self.nu0, self.nu1 = np.zeros_like(self.start), pull_contrasts
        z0 = self.lift @ (self.start - self.gram @ self.nu0)
        z1 = -(self.lift @ (self.gram @ self.nu1))
        z1[np.abs(z1) <= self.noise * np.abs(self.nu1).sum()] = 0.0
        self.total0, self.total1 = float(pull @ z0), float(pull @ z1)
        same_block = block[1:] == block[:-1]
        self.gap0 = np.where(same_block, z0[heads[:-1]] - z0[heads[1:]], np.inf)
        self.gap1 = np.where(same_block, z1[heads[:-1]] - z1[heads[1:]], 0.0)

    def _tied_clusters(self) -> list[Cluster]:
        return [self.clusters[i] for i in self.tied]

    def _price_of_total(self, total: float) -> float:
        return (total - self.total0) / self.total1 if self.total1 < 0.0 else np.inf

    def _next_merge(self, price: float) -> tuple[float, int]:
        closing = self.gap1 < 0.0
        if not closing.any():
            return np.inf, -1
        with np.errstate(divide="ignore", invalid="ignore"):
            meet = np.where(closing, -self.gap0 / self.gap1, np.inf)
        at = int(np.argmin(meet))
        return max(float(meet[at]), price), at

    def _next_split(self, limit: float) -> tuple[float, tuple[int, Cluster, Cluster] | None]:
        """Find the first subset to reach its bound before the price ``limit``."""
        found = None
        for i in self.tied:
            cluster = self.clusters[i]
            price, top = _first_exit(self.inner[cluster], limit)
            if top is not None:
                limit, found = price, (i, cluster[top], np.delete(cluster, top))
        return limit, found

    def _merge(self, at: int) -> None:
        self.clusters[at : at + 2] = [np.concatenate(self.clusters[at : at + 2])]

    def _split(self, at: int, upper: Cluster, lower: Cluster) -> None:
        self.clusters[at : at + 1] = [upper, lower]


def _first_exit(pulls: Array, limit: float) -> tuple[float, Cluster | None]:
    """Find where the lines h₀ + τ h₁ leave τ·(permutohedron) before τ = ``limit``.

    The excess of the worst subset is a convex, piecewise linear function of τ, so Newton's
    method from the right reaches its last root; a root at the present τ, where the cluster was
    just formed, is never met.
    """
    size = len(pulls)
    j = np.arange(1, size)
    bound = j * (size - j)
    price, exit_set = limit, None
    for _ in range(4 * size + 10):
        direction = pulls[:, 1] if np.isinf(price) else pulls[:, 0] + price * pulls[:, 1]
        order = np.argsort(-direction, kind="stable")
        prefix = np.cumsum(pulls[order], axis=0)[:-1]
        rates = prefix[:, 1] - bound
        excess = rates if np.isinf(price) else prefix[:, 0] + price * rates
        worst = int(np.argmax(excess / bound))
        tolerance = SLACK * (1.0 if np.isinf(price) else price) * bound[worst]
        if excess[worst] <= tolerance or rates[worst] <= 0.0:
            break
        price = -prefix[worst, 0] / rates[worst]
        exit_set = order[: worst + 1]
    return price, exit_set


def _solve_symmetric(matrix: Array, rhs: Array) -> Array:
    """Solve a positive semi-definite system, by least squares where it is singular."""
    try:
        factor = linalg.cho_factor(matrix, check_finite=False)
        diagonal = np.abs(np.diagonal(factor[0]))
        if diagonal.min() > 1e-8 * diagonal.max():
            return np.asarray(linalg.cho_solve(factor, rhs, check_finite=False))
    except linalg.LinAlgError:
        pass
    return np.asarray(linalg.lstsq(matrix, rhs, cond=1e-14, check_finite=False)[0])
