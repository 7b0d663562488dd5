"""One mean for each cell, the interval it lies in, and what follows for gaps and their averages.

A quantity (a rate, a mean prediction, a mean residual) has for every partition the tables seen, low
and high of shape (K, Q), in its own unit, between ``span``. A cell without held-out rows may have
any mean: its interval is the whole span, and so it is in every pair that it takes part in.

With z_q in [l_q, u_q] for the Q cells of a label bin, the gap |z_p − z_q| of a pair lies in

    [ max(l_p − u_q, l_q − u_p, 0),  max(u_p − l_q, u_q − l_p) ].

An average of gaps is Σ a |z_p − z_q| with a ≥ 0 (metrics/cell_values.py). It is at least the sum of
the lower ends. It is convex in z, so its largest value lies in a corner of the box of all z: all
corners are visited for up to MOST_CORNERS groups, for more of them the upper ends are added up,
which is never less. With the box [0, 1] this is the largest value there is: gaps of three groups
cannot all be 1. Which pairs an average counts:

    "pairs", "weighted"     those with rows in both cells      (as in gferm.metrics)
    "definition", "sum"     all, also those without rows, which may be anything
    "compared"              those that a fair model was trained to make alike, weighed as "pairs"
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from gferm.arrays import Array
from gferm.bounds.concentration import LowHigh
from gferm.fairness.cells import Cells
from gferm.metrics.cell_values import (
    AVERAGES,
    Mask,
    harmonic_counts,
    n_ordered_pairs,
    pairs_of,
    populated_pairs,
)

Pairs: TypeAlias = tuple[Mask, ...]  # (K, n_pairs) of each partition
MOST_CORNERS = 12  # groups; 2¹¹ corners then
OF_ALL_PAIRS = ("definition", "sum")


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


@dataclass(frozen=True, eq=False)
class CellIntervals:
    """Simultaneous intervals for one quantity.

    Attributes
    ----------
    name : str
        "rate", "prediction" or "residual".
    of : str
        The class, where there is a quantity for each; else empty.
    cells : Cells
        Of the held-out rows.
    span : tuple of float
        The least and the largest value there can be.
    seen, low, high : tuples of arrays of shape (K, Q)
        One table for each partition; seen is NaN in an empty cell.
    method : str
        Where low and high come from.
    beside : dict
        Other methods' (low, high) at the same δ, to compare; no number rests on them.
    """

    name: str
    of: str
    cells: Cells
    span: tuple[float, float]
    seen: tuple[Array, ...]
    low: tuple[Array, ...]
    high: tuple[Array, ...]
    method: str
    beside: dict[str, tuple[LowHigh, ...]]

    @property
    def width(self) -> float:
        """The largest gap that two cells can have."""
        return self.span[1] - self.span[0]

    @property
    def title(self) -> str:
        """The quantity, with its class if it has one."""
        return f"{self.name} ({self.of})" if self.of else self.name

    def pairs(self) -> Iterator[tuple[str, str, tuple[str, str], Interval]]:
        """List attribute, label bin, groups and interval of |gap|, for all pairs."""
        labels = self.cells.label_bins.labels
        for part, seen, low, high in zip(
            self.cells.partitions, self.seen, self.low, self.high, strict=True
        ):
            p, q = pairs_of(len(part.groups))
            gaps = np.abs(seen[:, p] - seen[:, q])
            lowest, highest = gap_intervals(low, high)
            for k, j in np.ndindex(gaps.shape):
                interval = Interval(
                    float(gaps[k, j]), float(lowest[k, j]), float(highest[k, j]), self.width
                )
                yield part.name, labels[k], (part.groups[p[j]], part.groups[q[j]]), interval

    def average(self, average: str, compared: Pairs | None = None) -> Interval:
        """Return the interval of an average of |gap|; ``compared`` are the pairs of "compared"."""
        populated = tuple(populated_pairs(part.counts) for part in self.cells.partitions)
        counted = compared if average == "compared" and compared is not None else populated
        nothing = not any(mask.any() for mask in counted)
        if average in OF_ALL_PAIRS:
            counted = tuple(np.full_like(mask, True) for mask in populated)
        elif nothing:
            return Interval(np.nan, 0.0, self.width, self.width)
        weights = self._weights("pairs" if average == "compared" else average, counted)
        seen, low, high, largest = np.sum(
            [self._sum(part, weight) for part, weight in enumerate(weights)], axis=0
        ).tolist()
        if nothing:
            seen = np.nan
        if average == "compared":  # pairs without rows show no gap, which is not a gap of zero
            share = sum(float(w[mask].sum()) for w, mask in zip(weights, populated, strict=True))
            seen = seen / share if share else np.nan
        return Interval(seen, low, high, largest)

    def _weights(self, average: str, counted: Pairs) -> list[Array]:
        """Return the weight of every pair, (K, n_pairs) of each partition; 0 if not counted."""
        harmonic = [harmonic_counts(part.counts) for part in self.cells.partitions]
        in_average = [table[mask] for table, mask in zip(harmonic, counted, strict=True)]
        weights, divisor = AVERAGES[average](np.concatenate(in_average), n_ordered_pairs(self.seen))
        each = np.broadcast_to(weights / divisor, sum(one.size for one in in_average))
        ends = np.cumsum([one.size for one in in_average])
        tables = [np.zeros(mask.shape) for mask in counted]
        for table, mask, own in zip(tables, counted, np.split(each, ends[:-1]), strict=True):
            table[mask] = own
        return tables

    def _sum(self, part: int, weight: Array) -> tuple[float, float, float, float]:
        """Return Σ weight |gap| of a partition: seen, at least, at most, and the most possible."""
        seen, low, high = self.seen[part], self.low[part], self.high[part]
        p, q = pairs_of(seen.shape[1])
        least, most = np.full(low.shape, self.span[0]), np.full(low.shape, self.span[1])
        return (
            float(np.nansum(np.abs(seen[:, p] - seen[:, q]) * weight)),
            float((gap_intervals(low, high)[0] * weight).sum()),
            largest_sum(low, high, weight),
            largest_sum(least, most, weight),
        )


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
