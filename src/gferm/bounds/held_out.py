"""What rows the model never saw prove about its fairness, whatever the distribution.

Given which cell a held-out row lies in, its prediction is one draw from that cell's distribution,
because neither the model nor the bins depend on it. So the mean of a cell has an interval that
needs nothing but the range of its values. With M = (quantities) × (cells with rows) intervals, each
at δ/M, all of them hold at once with probability 1 − δ, and with them everything that is computed
from them: every gap of a pair, and every average of gaps. Several attributes that are compared each
on its own have equal parts of δ: their cells are given one attribute at a time, so that how many
cells another one fills is still left to chance.

    rate         P^{k,q}: the prediction falls into the bin of the label       Clopper–Pearson
    prediction   mean of f, clipped to a range                 Hoeffding ∩ empirical Bernstein
    residual     mean of f − y, f clipped and y in that range                       likewise

A mean without a range has no distribution-free interval; clipping gives it one. How many
predictions were clipped is said; where none is, the interval is about f itself in all but name.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gferm.arrays import Array
from gferm.bounds import concentration
from gferm.bounds.cell_intervals import CellIntervals, Interval, Pairs
from gferm.bounds.held_out_rows import HeldOutRows
from gferm.bounds.span import CLASSES
from gferm.fairness.membership import Membership
from gferm.metrics.cell_values import AVERAGES, populated_pairs

RATE, PREDICTION, RESIDUAL = "rate", "prediction", "residual"


@dataclass(frozen=True, eq=False)
class HeldOutBounds:
    """Intervals that hold at once with probability 1 − δ over the draw of the held-out rows.

    Attributes
    ----------
    n_rows : int
        Rows in a cell.
    outside : int
        Rows in no cell, left out.
    n_intervals : int
        M: δ/M is the level of each, on average over attributes.
    quantities : tuple of CellIntervals
        "rate", then "prediction" and "residual" of each model.
    averages : dict of Interval
        Of the gaps of rates: "pairs", "definition", "sum" and "weighted", as `gferm.metrics.dgf`.
    gaps : dict of Interval
        Mean |gap| of "prediction" and "residual" over the pairs that are compared, of the worst
        model: what epsilon bounds with epsilon_scale="mean".
    clipped : int
        Predictions that lay outside the range.
    empty : tuple of str
        Cells without a held-out row: their interval is everything.
    """

    n_rows: int
    outside: int
    n_intervals: int
    quantities: tuple[CellIntervals, ...]
    averages: dict[str, Interval]
    gaps: dict[str, Interval]
    clipped: int
    empty: tuple[str, ...]


def bound_held_out(rows: HeldOutRows, delta: float) -> HeldOutBounds:
    """Compute all intervals at total level ``delta``."""
    low, high, targets = rows.span.low, rows.span.high, rows.targets
    clipped = np.empty((0, rows.y.size)) if rows.values is None else np.clip(rows.values, low, high)
    names = rows.model_names
    drawn = [_Drawn(RATE, label, hit, (0.0, 1.0)) for label, hit in rows.hits]
    drawn += [
        _Drawn(PREDICTION, name, f, (low, high)) for name, f in zip(names, clipped, strict=True)
    ]
    if targets is not None:
        ends = (low, high) if rows.classes is None else (CLASSES.low, CLASSES.high)
        drawn += [
            _Drawn(RESIDUAL, name, f - y, (low - ends[1], high - ends[0]))
            for name, f, y in zip(names, clipped, targets, strict=True)
        ]
    parts = rows.cells.partitions
    populated = [int((part.counts > 0).sum()) for part in parts]
    levels = [delta / max(len(parts) * len(drawn) * cells, 1) for cells in populated]
    quantities = tuple(_intervals(rows.membership, one, levels) for one in drawn)
    compared = _compared(rows)
    by_name = {
        name: [one for one in quantities if one.name == name]
        for name in dict.fromkeys(one.name for one in quantities)
    }
    labels = rows.cells.label_bins.labels
    return HeldOutBounds(
        n_rows=int(np.any([codes >= 0 for codes in rows.membership.cell_codes], axis=0).sum()),
        outside=rows.outside,
        n_intervals=len(drawn) * sum(populated),
        quantities=quantities,
        averages={
            average: _worst([one.average(average) for one in by_name[RATE]])
            for average in AVERAGES
            if RATE in by_name
        },
        gaps={
            name: _worst([one.average("compared", compared) for one in by_name[name]])
            for name in (PREDICTION, RESIDUAL)
            if name in by_name
        },
        clipped=0 if rows.values is None else int((clipped != rows.values).any(axis=0).sum()),
        empty=tuple(
            f"{part.name}: {labels[k]}, {part.groups[q]}"
            for part in parts
            for k, q in np.argwhere(part.counts == 0)
        ),
    )


@dataclass(frozen=True, eq=False)
class _Drawn:
    """A quantity of every row: name, class, values and their range."""

    name: str
    of: str
    values: Array
    span: tuple[float, float]


def _intervals(rows: Membership, drawn: _Drawn, levels: list[float]) -> CellIntervals:
    """Bound the mean of every cell, on values moved to [0, 1]; a level for each partition."""
    start, width = drawn.span[0], drawn.span[1] - drawn.span[0]
    unit = (drawn.values - start) / width
    exact = drawn.name == RATE
    tables: list[tuple[Array, Array, Array]] = []
    beside: dict[str, list[concentration.LowHigh]] = {}
    parts = zip(rows.cells.partitions, rows.cell_codes, levels, strict=True)
    for place, (part, cell_of, delta) in enumerate(parts):
        n, mean = part.counts, rows.means_of(place, unit)
        deviation = (unit - mean.ravel()[cell_of]) ** 2  # rows in no cell count nowhere
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = rows.means_of(place, deviation) * (n / (n - 1.0))
        found = {
            "Hoeffding": concentration.hoeffding(mean, n, delta),
            "empirical Bernstein": concentration.empirical_bernstein(mean, variance, n, delta),
        }
        if exact:
            hits = np.rint(np.nan_to_num(mean) * n)
            low, high = concentration.clopper_pearson(hits, n, delta)
        else:
            low, high = concentration.of_means(mean, variance, n, delta)
        tables.append((start + width * mean, start + width * low, start + width * high))
        for method, bounds in found.items():
            scaled = (start + width * bounds[0], start + width * bounds[1])
            beside.setdefault(method, []).append(scaled)
    seen, lows, highs = zip(*tables, strict=True)
    return CellIntervals(
        name=drawn.name,
        of=drawn.of,
        cells=rows.cells,
        span=drawn.span,
        seen=seen,
        low=lows,
        high=highs,
        method="Clopper–Pearson" if exact else "Hoeffding ∩ empirical Bernstein, δ/2 each",
        beside={method: tuple(bounds) for method, bounds in beside.items()},
    )


def _compared(rows: HeldOutRows) -> Pairs | None:
    """Return the pairs that the model was trained to make alike; None: those with held-out rows."""
    trained = None if rows.model is None else rows.model.cells_
    if trained is None or rows.model is None:
        return None
    least = rows.model.min_cell_size
    return tuple(populated_pairs(part.counts, least) for part in trained.partitions)


def _worst(intervals: list[Interval]) -> Interval:
    """Return the interval of the largest of several numbers: it lies between the largest ends."""
    seen, low, high, largest = np.max(
        [(one.seen, one.low, one.high, one.largest) for one in intervals], axis=0
    ).tolist()
    return Interval(seen, low, high, largest)
