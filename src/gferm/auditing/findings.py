"""Findings: what the evidence says, as figures, cells, groups and gaps, with their intervals.

means       quantiles of the draws; none of a single row
figures     the same, mirrored where noise makes them too large (`covering_interval`)
shares p    Wilson's score: (p + z²/2n + z √(p(1−p)/n + z²/4n²)) / (1 + z²/n), z = Φ⁻¹(level)
their gaps  Newcombe's (1998), of the Wilson quantiles of two cells

A cell in which 3 of 3 rows are hits says little, but drawing its rows again would always give 3 of
3: an interval without width. Wilson's does not collapse. With weights, n is Kish's effective number
of rows (Σw)²/Σw².
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import ndtri

from gferm.arrays import Array
from gferm.auditing.evidence import WITHIN_BINS, Evidence
from gferm.auditing.measures import MEASURES, Measure
from gferm.auditing.records import Cell, Chance, Figure, Gap
from gferm.metrics.cell_values import CellValues, populated_pairs, sides_of_pairs
from gferm.metrics.chance import ROUNDING, NullDistribution

GAP_KINDS = ("rate", "prediction", "residual", "error")
MEANS = ("label", "prediction", "residual", "error", "loss", "rate")
NULL_LEVELS = (0.025, 0.975)
LEAST_ROWS = 2  # nobody knows how well the mean of fewer is known


def wilson(share: Array, n: Array, level: float) -> Array:
    """Return the quantile of shares of ``n`` rows; NaN where there is no row."""
    z = ndtri(level)
    with np.errstate(invalid="ignore", divide="ignore"):
        # rounding may leave a share of weighted rows a little beyond 0 or 1
        root = np.sqrt(np.maximum(share * (1.0 - share), 0.0) / n + z**2 / (4.0 * n**2))
        found: Array = (share + z**2 / (2.0 * n) + z * root) / (1.0 + z**2 / n)
    return found


def newcombe(first: Array, second: Array, n_first: Array, n_second: Array, level: float) -> Array:
    """Return the quantile of the difference of two independent shares."""
    from_first = wilson(first, n_first, level) - first
    from_second = second - wilson(second, n_second, 1.0 - level)
    found: Array = first - second + np.copysign(np.hypot(from_first, from_second), level - 0.5)
    return found


def find_figures(evidence: Evidence) -> Iterator[Figure]:
    """Return every figure that applies."""
    for measure in MEASURES:
        found = measure.value(evidence.seen)
        if found is None:
            continue
        seen, interval, chance = float(found[0]), None, None
        if not np.isnan(seen):
            shuffled = draws = None
            if measure.shuffled in evidence.shuffled:
                shuffled = measure.value(evidence.shuffled[measure.shuffled])
            if evidence.drawn is not None:
                draws = measure.value(evidence.drawn)
            if shuffled is not None and measure.shuffled is not None:
                size = evidence.sizes.get(measure.quantity) or 1.0
                null = NullDistribution(seen, shuffled)
                p = NullDistribution(seen / size, shuffled / size).p  # rounds by size
                chance = Chance(null.mean, null.high, p, measure.shuffled)
            if draws is not None:
                levels = evidence.parameters.ci_quantiles
                interval = covering_interval(measure, seen, draws, chance, levels)
        name, title, meaning, unit = measure.name, measure.title, measure.meaning, measure.unit
        yield Figure(name, title, meaning, unit, seen, interval, chance)


def covering_interval(
    measure: Measure, seen: float, draws: Array, chance: Chance | None, levels: tuple[float, ...]
) -> tuple[float, ...]:
    """Return quantiles of what a figure may really be: those of the draws, or their mirror image.

    Noise makes a mean of |gaps| larger, and drawing again adds noise once more: the draws lie too
    high by as much as the figure itself does, so the lower end is that of their mirror image at the
    figure, 2 · seen − draws. Where the figure came out small by luck, the mirror image ends too
    soon: the upper end is the larger of both, for it says what these rows cannot exclude. Whichever
    lies further out, the figure is between them. Where chance alone explains the figure, it may be
    nothing at all, and the interval begins there.
    """
    tau = np.array(levels)
    drawn, mirrored = np.quantile(draws, tau), 2.0 * seen - np.quantile(draws, 1.0 - tau)
    further = np.where(tau < 0.5, np.minimum(drawn, mirrored), np.maximum(drawn, mirrored))
    found = np.where(tau == 0.5, mirrored, further)
    if chance is not None:
        found[(tau < 0.5) & (chance.p > tau)] = measure.least
    return tuple(np.clip(found, measure.least, measure.largest).tolist())


def find_cells(evidence: Evidence) -> Iterator[Cell]:
    """Return every cell, the empty ones too."""
    drawn = evidence.drawn
    labels = evidence.rows.cells.label_bins.labels
    return _describe(evidence, evidence.seen.cells, drawn.cells if drawn else {}, labels)


def find_groups(evidence: Evidence) -> Iterator[Cell]:
    """Return every whole group, whatever the labels."""
    drawn = evidence.drawn
    return _describe(evidence, evidence.seen.groups, drawn.groups if drawn else {}, (None,))


def _describe(
    evidence: Evidence,
    seen: dict[str, CellValues],
    drawn: dict[str, CellValues],
    labels: tuple[str | None, ...],
) -> Iterator[Cell]:
    """Describe each cell by its means and their intervals."""
    names, levels = [name for name in MEANS if name in seen], evidence.parameters.ci_quantiles
    for place, part in enumerate(seen["error"].cells.partitions if seen else ()):
        rates = predictions = None
        if "rate" in seen:
            n = seen["rate"].cells.partitions[place].effective_rows
            share = seen["rate"].tables[place][0]
            rates = np.array([wilson(share, n, level) for level in levels])
        if "prediction" in drawn:
            predictions = np.quantile(drawn["prediction"].tables[place], levels, axis=0)
            predictions[:, part.counts < LEAST_ROWS] = np.nan
        for k, q in np.ndindex(part.counts.shape):
            count, small = int(part.counts[k, q]), evidence.parameters.small_cell_size
            yield Cell(
                attribute=part.name,
                label_bin=labels[k],
                group=part.groups[q],
                count=count,
                note="empty" if count == 0 else "small" if count < small else "",
                **{name: _known(seen[name].tables[place][0, k, q]) for name in names},
                rate_interval=_quantiles(rates, k, q),
                prediction_interval=_quantiles(predictions, k, q),
            )


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _quantiles(table: Array | None, k: int, q: int) -> tuple[float, ...] | None:
    if table is None or np.isnan(table[:, k, q]).any():
        return None
    return tuple(table[:, k, q].tolist())


def find_gaps(evidence: Evidence, kind: str) -> Iterator[Gap]:
    """Return the differences of every compared pair of cells."""
    least, seen = evidence.parameters.min_cell_size, evidence.seen.cells[kind]
    pairs, values = list(seen.compared(least)), seen.signed_gaps(least)[0].tolist()
    if not pairs:
        return
    counts = [(int(part.counts[k, p]), int(part.counts[k, q])) for part, k, p, q in pairs]
    levels = evidence.parameters.ci_quantiles
    ends = np.full((2, len(pairs)), np.nan)
    if kind == "rate":
        ends = _rate_intervals(seen, least, levels)
    elif evidence.drawn is not None:
        draws = evidence.drawn.cells[kind].signed_gaps(least)
        ends = np.quantile(draws, (levels[0], levels[-1]), axis=0)
        ends[:, np.min(counts, axis=1) < LEAST_ROWS] = np.nan
    null = np.full((2, len(pairs)), np.nan)
    if WITHIN_BINS in evidence.shuffled:
        shuffled = evidence.shuffled[WITHIN_BINS].cells[kind].signed_gaps(least)
        rounding = ROUNDING * evidence.sizes[kind]
        null = np.quantile(shuffled, NULL_LEVELS, axis=0) + np.array([[-rounding], [rounding]])
    labels = evidence.rows.cells.label_bins.labels
    for i, (part, k, p, q) in enumerate(pairs):
        yield Gap(
            kind=kind,
            attribute=part.name,
            label_bin=labels[k],
            groups=(part.groups[p], part.groups[q]),
            counts=counts[i],
            value=values[i],
            low=float(ends[0, i]),
            high=float(ends[1, i]),
            null_low=float(null[0, i]),
            null_high=float(null[1, i]),
            small=min(counts[i]) < evidence.parameters.small_cell_size,
        )


def _rate_intervals(rates: CellValues, least: int, levels: tuple[float, ...]) -> Array:
    """Return Newcombe's interval of every gap of rates, (2, n_pairs)."""
    shares, rows = [], []
    for part, table in zip(rates.cells.partitions, rates.tables, strict=True):
        kept = populated_pairs(part.counts, least)
        shares.append(sides_of_pairs(table[0], kept))
        rows.append(sides_of_pairs(part.effective_rows, kept))
    (first, second), (n, m) = np.concatenate(shares, axis=1), np.concatenate(rows, axis=1)
    return np.array([newcombe(first, second, n, m, level) for level in (levels[0], levels[-1])])
