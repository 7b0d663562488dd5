"""One mean for each cell, the interval it lies in, and what follows for pairs and averages.

A quantity (a rate, a mean prediction, a mean residual) has for every partition the tables seen, low
and high of shape (K, Q), in its own unit, between ``span``. A cell without held-out rows may have
any mean: its interval is the whole span, and so it is in every pair that it takes part in.

An average over pairs counts a pair by its weight:

    "pairs"       1/n over the n pairs with rows in both cells       (as in gferm.metrics)
    "weighted"    the harmonic mean of the two counts, of the same pairs
    "definition"  2/(K Q²) over all pairs, also those without rows, which may be anything
    "sum"         2 over all pairs, likewise
    "compared"    1/n over the n pairs that a fair model was trained to make alike
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gferm.arrays import Array
from gferm.bounds.concentration import LowHigh
from gferm.bounds.pair_gaps import Interval, gap_intervals, largest_sum, pairs_of
from gferm.fairness.cells import Cells

Mask: TypeAlias = npt.NDArray[np.bool_]
Pairs: TypeAlias = tuple[Mask, ...]  # (K, n_pairs) of each partition


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
        populated = [populated_pairs(part.counts, 1) for part in self.cells.partitions]
        if average == "compared":
            of_mean = populated if compared is None else compared
        else:
            of_mean = populated
        n_pairs = sum(int(mask.sum()) for mask in of_mean)
        of_all = average in ("definition", "sum")
        if not n_pairs and not of_all:
            return Interval(np.nan, 0.0, self.width, self.width)
        weights = self._weights(average, of_mean, n_pairs)
        seen, low, high, largest = np.sum(
            [self._sum(part, weight) for part, weight in enumerate(weights)], axis=0
        ).tolist()
        if of_all and not n_pairs:
            seen = np.nan
        if average == "compared":  # pairs without rows show no gap, which is not a gap of zero
            share = sum(float(w[mask].sum()) for w, mask in zip(weights, populated, strict=True))
            seen = seen / share if share else np.nan
        return Interval(seen, low, high, largest)

    def _weights(self, average: str, of_mean: Sequence[Mask], n_pairs: int) -> list[Array]:
        """The weight of every pair, (K, n_pairs) of each partition."""
        if average == "weighted":
            harmonic = [
                _harmonic(part.counts) * mask
                for part, mask in zip(self.cells.partitions, of_mean, strict=True)
            ]
            return [table / sum(float(one.sum()) for one in harmonic) for table in harmonic]
        if average in ("pairs", "compared"):
            return [mask / n_pairs for mask in of_mean]
        ordered = sum(table.shape[0] * table.shape[1] ** 2 for table in self.seen)
        each = {"definition": 2.0 / ordered, "sum": 2.0}[average]
        return [np.full(mask.shape, each) for mask in of_mean]

    def _sum(self, part: int, weight: Array) -> tuple[float, float, float, float]:
        """Σ weight |gap| in one partition: seen, at least, at most, and the most there can be."""
        seen, low, high = self.seen[part], self.low[part], self.high[part]
        p, q = pairs_of(seen.shape[1])
        least, most = np.full(low.shape, self.span[0]), np.full(low.shape, self.span[1])
        return (
            float(np.nansum(np.abs(seen[:, p] - seen[:, q]) * weight)),
            float((gap_intervals(low, high)[0] * weight).sum()),
            largest_sum(low, high, weight),
            largest_sum(least, most, weight),
        )


def populated_pairs(counts: npt.NDArray[np.intp], least: int) -> Mask:
    """Say of every pair whether both cells hold ``least`` rows, shape (K, n_pairs)."""
    p, q = pairs_of(counts.shape[1])
    both: Mask = np.minimum(counts[:, p], counts[:, q]) >= max(least, 1)
    return both


def _harmonic(counts: npt.NDArray[np.intp]) -> Array:
    """Harmonic mean of the two counts of every pair, 0 where one is empty."""
    p, q = pairs_of(counts.shape[1])
    mean: Array = 2.0 * counts[:, p] * counts[:, q] / np.maximum(counts[:, p] + counts[:, q], 1)
    return mean
