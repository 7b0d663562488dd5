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
from gferm.fairness.pair_norm import PairNorm

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

    def at(self, totals: Array) -> Array:
        """Return ν where Ω has each of these values, those of the ends beyond them."""
        increasing = self.totals[::-1]
        return np.array([np.interp(totals, increasing, nu[::-1]) for nu in self.multipliers.T]).T


def trace_path(gram: Array, contrasts: Array, norm: PairNorm, *, stop: float = 0.0) -> Path:
    """Walk from the plain model (τ = 0) until Ω ≤ ``stop``.

    The last breakpoint has Ω = ``stop``, or the smallest Ω that exists if that is larger.
    """
    path = _Walk(gram, contrasts, norm, stop).run()
    if path is not None:
        return path
    # Ties (several events at one τ) can stall the walk; a tiny shift of c₀ breaks them.
    scale = float(np.abs(contrasts).max(initial=0.0))
    rng = np.random.default_rng(0)
    for jitter in (1e-13, 1e-11, 1e-9):
        shifted = contrasts + jitter * scale * rng.standard_normal(contrasts.size)
        path = _Walk(gram, shifted, norm, stop).run()
        if path is not None:
            return path
    raise RuntimeError(
        "The frontier could not be traced: the fairness constraints are numerically degenerate. "
        "Use fewer y_bins or s_bins, a larger min_cell_size, or a larger alpha."
    )


@dataclass(frozen=True, eq=False)
class _Lines:
    """What one pattern makes of the price: everything is [0] + τ·[1] along the last axis.

    Attributes
    ----------
    multipliers : array of shape (m, 2)
    total : array of shape (2,)
        Ω.
    gaps : array of shape (n_clusters − 1, 2)
        Between neighbouring clusters; infinite across blocks.
    inner : array of shape (n_cells, 2)
        The pulls h that hold each cluster together, cell by cell.
    """

    multipliers: Array
    total: Array
    gaps: Array
    inner: Array


class _Walk:
    """The pattern as it stands: clusters of cells, by block and from the highest value down."""

    def __init__(self, gram: Array, contrasts: Array, norm: PairNorm, stop: float) -> None:
        self.gram, self.start, self.stop = gram, contrasts, stop
        self.lift = norm.cells_from_contrasts
        self.block_of = norm.block_of_cell
        order = np.lexsort((-(self.lift @ contrasts), self.block_of))
        self.clusters: list[Cluster] = [np.array([cell]) for cell in order]
        self.noise = ROUNDING * float(np.abs(gram).max(initial=0.0))
        self.total = norm.value(contrasts)
        self.finished = max(stop, FINISHED * self.total)

    def run(self) -> Path | None:
        """Follow the events; None when they do not end."""
        prices, multipliers, totals = [0.0], [np.zeros_like(self.start)], [self.total]
        for _ in range(STEPS_PER_CONTRAST * (self.start.size + 1)):
            if totals[-1] <= self.finished:
                break
            lines = self._draw_lines()
            merge_price, merge_at = _next_merge(lines.gaps, prices[-1])
            event_price, split = self._next_split(lines.inner, merge_price)
            stop_price = _price_of(self.stop, lines.total)
            price = max(min(event_price, stop_price), prices[-1])
            if np.isinf(price):
                break  # nothing changes any more: this is the smallest Ω there is
            if price == prices[-1] and len(prices) > 1:  # a tie: one breakpoint, its last pattern
                prices.pop(), multipliers.pop(), totals.pop()
            prices.append(price)
            multipliers.append(lines.multipliers @ [1.0, price])
            totals.append(max(float(lines.total @ [1.0, price]), 0.0))
            if stop_price <= event_price:
                break
            if split is not None:
                at, upper, lower = split
                self.clusters[at : at + 1] = [upper, lower]
            else:
                self.clusters[merge_at : merge_at + 2] = [
                    np.concatenate(self.clusters[merge_at : merge_at + 2])
                ]
        else:
            return None
        return Path(np.array(prices), np.array(multipliers), np.array(totals))

    def _draw_lines(self) -> _Lines:
        """Solve for ν(τ), and all that follows from it, while the pattern stands.

        ν = τ Aᵀa + Tᵀμ, where a is the slope of Ω in the cells and the rows of T are the ties
        inside clusters; T c = 0 gives T G Tᵀ μ = T c₀ − τ T G Aᵀa.
        """
        heads = np.array([cluster[0] for cluster in self.clusters])
        slope = self._slope_of_total()
        lines = np.zeros((self.start.size, 2))
        lines[:, 1] = self.lift.T @ slope
        inner = np.zeros((self.block_of.size, 2))
        tied = [cluster for cluster in self.clusters if cluster.size > 1]
        if tied:
            upper = np.concatenate([np.full(c.size - 1, c[0]) for c in tied])
            lower = np.concatenate([c[1:] for c in tied])
            ties = self.lift[upper] - self.lift[lower]
            gram_ties = self.gram @ ties.T
            rhs = np.column_stack([ties @ self.start, -gram_ties.T @ lines[:, 1]])
            mu = _solve_symmetric(ties @ gram_ties, rhs)
            lines += ties.T @ mu
            np.add.at(inner, upper, mu)
            inner[lower] -= mu
        contrasts = -self.gram @ lines
        contrasts[:, 0] += self.start
        cells = self.lift @ contrasts
        cells[np.abs(cells[:, 1]) <= self.noise * np.abs(lines[:, 1]).sum(), 1] = 0.0
        gaps = cells[heads[:-1]] - cells[heads[1:]]
        gaps[self.block_of[heads[1:]] != self.block_of[heads[:-1]]] = (np.inf, 0.0)
        return _Lines(multipliers=lines, total=slope @ cells, gaps=gaps, inner=inner)

    def _slope_of_total(self) -> Array:
        """∂Ω/∂z of each cell: cells in lower clusters of its block minus those in higher ones."""
        sizes = np.array([cluster.size for cluster in self.clusters])
        block = self.block_of[[cluster[0] for cluster in self.clusters]]
        above = np.cumsum(sizes) - sizes
        above -= above[np.searchsorted(block, block, side="left")]
        in_block = np.bincount(block, weights=sizes)[block]
        slope = np.zeros(self.block_of.size)
        slope[np.concatenate(self.clusters)] = np.repeat(in_block - sizes - 2 * above, sizes)
        return slope

    def _next_split(
        self, inner: Array, limit: float
    ) -> tuple[float, tuple[int, Cluster, Cluster] | None]:
        """Find the first subset to reach its bound before the price ``limit``."""
        found = None
        for i, cluster in enumerate(self.clusters):
            if cluster.size > 1:
                price, top = _first_exit(inner[cluster], limit)
                if top is not None:
                    limit, found = price, (i, cluster[top], np.delete(cluster, top))
        return limit, found


def _next_merge(gaps: Array, price: float) -> tuple[float, int]:
    """Find the first two neighbours to meet from ``price`` on."""
    closing = np.flatnonzero(gaps[:, 1] < 0.0)
    if closing.size == 0:
        return np.inf, -1
    meet = -gaps[closing, 0] / gaps[closing, 1]
    first = int(np.argmin(meet))
    return max(float(meet[first]), price), int(closing[first])


def _price_of(total: float, line: Array) -> float:
    """Return the price at which a falling line reaches ``total``."""
    return float((total - line[0]) / line[1]) if line[1] < 0.0 else np.inf


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
