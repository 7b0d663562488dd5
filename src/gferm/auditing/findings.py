"""Findings: what the tables of `Evidence` say, as figures, cells, groups and gaps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gferm.arrays import Array
from gferm.auditing.evidence import Evidence
from gferm.auditing.measures import MEASURES, WITHIN_BINS, Measure
from gferm.auditing.result import Cell, Chance, Figure, Gap
from gferm.auditing.shares import newcombe, wilson
from gferm.auditing.sums import Tables
from gferm.fairness.cells import Partition
from gferm.metrics import chance
from gferm.metrics.cell_values import CellValues

GAP_KINDS = ("rate", "prediction", "residual", "error")
MEANS = ("label", "prediction", "residual", "error", "loss", "rate")
NULL_LEVELS = (0.025, 0.975)
LEAST_ROWS = 2  # nobody knows how well the mean of fewer is known

Reader = Callable[[Tables, str], CellValues]


def find_figures(evidence: Evidence) -> Iterator[Figure]:
    """Return every figure that applies."""
    for measure in MEASURES:
        seen = measure.value(evidence.seen, evidence.question)
        if seen is not None:
            yield _figure(measure, float(seen[0]), evidence)


def _figure(measure: Measure, seen: float, evidence: Evidence) -> Figure:
    interval, null = None, None
    if measure.shuffled in evidence.shuffled and not np.isnan(seen):
        values = measure.value(evidence.shuffled[measure.shuffled], evidence.question)
        found, size = chance.Chance(seen, np.asarray(values)), evidence.sizes.get(measure.quantity)
        p = chance.Chance(seen / (size or 1.0), found.values / (size or 1.0)).p  # rounds by size
        null = Chance(found.mean, found.high, float(p), measure.shuffled)
    if evidence.drawn is not None and not np.isnan(seen):
        draws = np.asarray(measure.value(evidence.drawn, evidence.question))
        interval = covering_interval(measure, seen, draws, null, evidence.levels)
    name, title, meaning, unit = measure.name, measure.title, measure.meaning, measure.unit
    return Figure(name, title, meaning, unit, seen, interval, null)


def covering_interval(
    measure: Measure, seen: float, draws: Array, null: Chance | None, levels: tuple[float, ...]
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
    if null is not None:
        found[(tau < 0.5) & (null.p > tau)] = measure.least
    return tuple(np.clip(found, measure.least, measure.largest).tolist())


def find_cells(evidence: Evidence) -> Iterator[Cell]:
    """Return every cell, the empty ones too."""
    return _describe(evidence, Tables.of)


def find_groups(evidence: Evidence) -> Iterator[Cell]:
    """Return every whole group, whatever the labels."""
    return _describe(evidence, Tables.groups)


def _describe(evidence: Evidence, read: Reader) -> Iterator[Cell]:
    names = [name for name in MEANS if name in evidence.question.quantities]
    means = {name: read(evidence.seen, name) for name in names}
    cells = means["error"].cells
    pooled = cells is not evidence.rows.cells
    draws = None
    if evidence.drawn is not None and "prediction" in names:
        draws = read(evidence.drawn, "prediction")
    for place, part in enumerate(cells.partitions):
        rates = predictions = None
        if "rate" in names:
            n, share = _rows_of_rates(part, place, evidence), means["rate"].tables[place][0]
            rates = np.array([wilson(share, n, level) for level in evidence.levels])
        if draws is not None:
            predictions = np.quantile(draws.tables[place], evidence.levels, axis=0)
            predictions[:, part.counts < LEAST_ROWS] = np.nan
        for k, q in np.ndindex(part.counts.shape):
            count = int(part.counts[k, q])
            yield Cell(
                attribute=part.name,
                label_bin=None if pooled else cells.label_bins.labels[k],
                group=part.groups[q],
                count=count,
                note="empty" if count == 0 else "small" if count < evidence.small else "",
                **{name: _known(means[name].tables[place][0, k, q]) for name in names},
                rate_interval=_quantiles(rates, k, q),
                prediction_interval=_quantiles(predictions, k, q),
            )


def _rows_of_rates(part: Partition, place: int, evidence: Evidence) -> Array:
    """Return the effective rows with a label bin of each cell, or of each whole group."""
    own = evidence.rows.cells.partitions[place]
    if part.counts.shape == own.counts.shape:
        return own.effective_rows
    mass, squares = own.weights.sum(axis=0), own.squares.sum(axis=0)
    with np.errstate(invalid="ignore"):
        return np.asarray(mass**2 / squares)[None]


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _quantiles(table: Array | None, k: int, q: int) -> tuple[float, ...] | None:
    if table is None or np.isnan(table[:, k, q]).any():
        return None
    return tuple(table[:, k, q].tolist())


def find_gaps(evidence: Evidence, kind: str) -> Iterator[Gap]:
    """Return the differences of every compared pair of cells."""
    least = evidence.question.min_cell_size
    values = evidence.seen.of(kind)
    pairs = values.compared(least)
    if not pairs:
        return
    low, high = (_rate_interval if kind == "rate" else _drawn_interval)(evidence, kind, pairs)
    null = np.full((2, len(pairs)), np.nan)
    if WITHIN_BINS in evidence.shuffled:
        shuffled = evidence.shuffled[WITHIN_BINS].of(kind).signed_gaps(least)
        rounding = chance.ROUNDING * evidence.sizes[kind]
        null = np.quantile(shuffled, NULL_LEVELS, axis=0) + np.array([[-rounding], [rounding]])
    labels = evidence.rows.cells.label_bins.labels
    for i, ((part, k, p, q), value) in enumerate(
        zip(pairs, values.signed_gaps(least)[0].tolist(), strict=True)
    ):
        counts = (int(part.counts[k, p]), int(part.counts[k, q]))
        yield Gap(
            kind=kind,
            attribute=part.name,
            label_bin=labels[k],
            groups=(part.groups[p], part.groups[q]),
            counts=counts,
            value=value,
            low=float(low[i]),
            high=float(high[i]),
            null_low=float(null[0, i]),
            null_high=float(null[1, i]),
            small=min(counts) < evidence.small,
        )


def _rate_interval(evidence: Evidence, kind: str, pairs: list[Any]) -> tuple[Array, Array]:
    """Compare shares: Newcombe's interval, which does not collapse where rows are few."""
    parts, found = evidence.rows.cells.partitions, evidence.seen.of(kind).tables
    tables = {part.name: table[0] for part, table in zip(parts, found, strict=True)}
    rows = {part.name: part.effective_rows for part in parts}
    first, second = np.array([tables[part.name][k, [p, q]] for part, k, p, q in pairs]).T
    n_first, n_second = np.array([rows[part.name][k, [p, q]] for part, k, p, q in pairs]).T
    low, high = (
        newcombe(first, second, n_first, n_second, evidence.levels[end]) for end in (0, -1)
    )
    return low, high


def _drawn_interval(evidence: Evidence, kind: str, pairs: list[Any]) -> tuple[Array, Array]:
    unknown = np.full(len(pairs), np.nan)
    if evidence.drawn is None:
        return unknown, unknown
    draws = evidence.drawn.of(kind).signed_gaps(evidence.question.min_cell_size)
    low, high = np.quantile(draws, (evidence.levels[0], evidence.levels[-1]), axis=0)
    few = np.array([min(part.counts[k, [p, q]]) < LEAST_ROWS for part, k, p, q in pairs])
    return np.where(few, np.nan, low), np.where(few, np.nan, high)
