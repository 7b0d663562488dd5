"""From intervals of cells to intervals of their differences and of averages of these.

With z_q in [l_q, u_q] for the Q cells of a label bin, the gap |z_p − z_q| of a pair lies in

    [ max(l_p − u_q, l_q − u_p, 0),  max(u_p − l_q, u_q − l_p) ].

An average of gaps is Σ a_pq |z_p − z_q| with a ≥ 0. It is at least the sum of the lower ends. It is
convex in z, so its largest value lies in a corner of the box of all z: all corners are visited for
up to MOST_CORNERS groups, for more of them the upper ends are added up, which is never less. With
the box [0, 1] this is the largest value there is: gaps of three groups cannot all be 1.

Tables have the shape (K, Q); pairs (K, Q(Q−1)/2), in the order of numpy.triu_indices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gferm.arrays import Array, Codes
from gferm.bounds.concentration import LowHigh

MOST_CORNERS = 12  # groups; 2¹¹ corners then


@dataclass(frozen=True)
class Interval:
    """What was seen of a number, and where it lies for certain but for δ.

    Attributes
    ----------
    seen : float
        NaN if no row says anything.
    low, high : float
    largest : float
        The largest value that is possible at all.
    """

    seen: float
    low: float
    high: float
    largest: float

    @property
    def vacuous(self) -> bool:
        """Whether it excludes nothing: from 0 up to all that is possible."""
        return self.low <= 0.0 and self.high >= self.largest * (1.0 - 1e-12)

    def __str__(self) -> str:
        empty = ", which excludes nothing (vacuous)" if self.vacuous else ""
        return f"[{self.low:.3g}, {self.high:.3g}], seen {self.seen:.3g}{empty}"


def pairs_of(n_groups: int) -> tuple[Codes, Codes]:
    """List the unordered pairs."""
    return np.triu_indices(n_groups, k=1)


def gap_intervals(low: Array, high: Array) -> LowHigh:
    """Return the interval of |z_p − z_q| for every pair."""
    p, q = pairs_of(low.shape[-1])
    apart = np.maximum(low[..., p] - high[..., q], low[..., q] - high[..., p])
    return np.maximum(apart, 0.0), np.maximum(
        high[..., p] - low[..., q], high[..., q] - low[..., p]
    )


def largest_sum(low: Array, high: Array, weight: Array) -> float:
    """Return the largest Σ weight |z_p − z_q| over the box, summed over label bins.

    Parameters
    ----------
    low, high : arrays of shape (K, Q)
    weight : array of shape (K, n_pairs)
        0 for a pair that does not count.
    """
    return sum(_largest_of_bin(*rows) for rows in zip(low, high, weight, strict=True))


def _largest_of_bin(low: Array, high: Array, weight: Array) -> float:
    p, q = pairs_of(low.size)
    counted = weight > 0
    p, q, weight = p[counted], q[counted], weight[counted]
    groups, place = np.unique(np.concatenate([p, q]), return_inverse=True)
    if groups.size > MOST_CORNERS:
        return float(gap_intervals(low, high)[1][counted] @ weight)
    first, second = place[: p.size], place[p.size :]
    corners = np.arange(2**groups.size)[:, None] >> np.arange(groups.size) & 1
    z = np.where(corners, high[groups], low[groups])
    return float((np.abs(z[:, first] - z[:, second]) @ weight).max(initial=0.0))
