"""Sketches of labels and attributes: a few rows that give the bins of all rows.

    rows of a partition ──rule──> ColumnSketch: rows that stand in for them
    those of 8 partitions, one after the other ──rule──> rows that stand in for all of them
    … up to one sketch, on which Bins.resolve gives the bins of all rows

The rule is the bins': nothing for edges and categories; the two ends for a number of bins; mean ±
standard deviation for "continuous"; and levels with their weight for quantiles and "auto".

Of more than MOST_LEVELS numbers a sketch keeps that many, at equal steps of weight, each with the
weight up to the next. A step displaces a quantile by no more than 1/MOST_LEVELS of the rows, and
there are as many steps as the tree has floors: with 4096 partitions, less than 10⁻⁴.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gferm.arrays import Array
from gferm.fairness.bins import (
    Bins,
    CategoryBins,
    DerivedEdgeBins,
    EdgeBins,
    NoBins,
    OneBin,
    RangeBins,
    as_bins,
)
from gferm.fairness.cells import CellScheme, SensitiveBins, spec_of_each_column
from gferm.fairness.sensitive import SensitiveColumn

MOST_LEVELS = 100_000

Values = npt.NDArray[Any]
KeepRule = Callable[[Values, Array], tuple[Values, Array]]


def keep_nothing(values: Values, weight: Array) -> tuple[Values, Array]:
    """Keep no row: bins that are given need only know numbers from words."""
    return values[:0], weight[:0]


def keep_ends(values: Values, weight: Array) -> tuple[Values, Array]:
    """Keep the least and the largest value."""
    return np.array([values.min(), values.max()]), np.ones(2)


def keep_spread(values: Values, weight: Array) -> tuple[Values, Array]:
    """Keep mean and standard deviation: two rows have the same, and so do rows joined of such."""
    x = values.astype(np.float64)
    mean = np.average(x, weights=weight)
    deviation = np.sqrt(np.average((x - mean) ** 2, weights=weight))
    return np.array([mean - deviation, mean + deviation]), np.full(2, weight.sum() / 2.0)


def keep_words(values: Values, weight: Array) -> tuple[Values, Array]:
    """Keep every level once, with its weight."""
    levels, place = np.unique(values, return_inverse=True)
    if levels.size > MOST_LEVELS:
        raise ValueError(
            f"there are more than {MOST_LEVELS} different values: it looks like an identifier, or "
            "numbers stored as text. Convert it to numbers, or name the groups with "
            "Bins.categories([...])."
        )
    return levels, np.bincount(place, weights=weight).astype(np.float64)


def keep_numbers(values: Values, weight: Array) -> tuple[Values, Array]:
    """Keep every number once, with its weight, or as many as are enough for quantiles."""
    found, place = np.unique(values, return_inverse=True)
    mass = np.bincount(place, weights=weight).astype(np.float64)
    if found.size <= MOST_LEVELS:
        return found, mass
    below = np.cumsum(mass) - mass
    step = np.floor(below / mass.sum() * MOST_LEVELS)
    first = np.flatnonzero(np.diff(step, prepend=-1.0))
    return found[first], np.add.reduceat(mass, first)


RULES: Mapping[type[Bins], KeepRule] = {
    EdgeBins: keep_nothing,
    DerivedEdgeBins: keep_nothing,
    CategoryBins: keep_nothing,
    OneBin: keep_nothing,
    RangeBins: keep_ends,
    NoBins: keep_spread,
}  # any others: keep_numbers


@dataclass(frozen=True, eq=False)
class ColumnSketch:
    """Rows that stand in for all rows of the label or of an attribute."""

    name: str
    values: Values
    weight: Array
    rule: KeepRule
    nominal: bool = False

    def padded(self, n_rows: int) -> tuple[Values, Array]:
        """Return the rows, with rows of weight zero: so many that half of them is half of all rows.

        `AutoBins` takes words for identifiers if there are more than half as many as rows.
        """
        size = min(n_rows, 2 * self.values.size + 2) if self.values.size else 0
        values = np.resize(self.values, size)
        return values, np.pad(self.weight, (0, size - self.weight.size))


@dataclass(frozen=True, eq=False)
class BinSketch:
    """What is known of some partitions before their features are read.

    Attributes
    ----------
    counts : tuple of int
        The rows of each partition that count.
    sizes : tuple of int
        All of its rows, those of weight zero among them.
    label : ColumnSketch or None
        None as long as there is no row, or nobody to compare.
    attributes : dict of ColumnSketch
    """

    counts: tuple[int, ...]
    sizes: tuple[int, ...]
    label: ColumnSketch | None = None
    attributes: Mapping[str, ColumnSketch] = field(default_factory=dict)


def sketch_rows(
    y: Values,
    columns: Sequence[SensitiveColumn],
    weight: Array | None,
    *,
    n_rows: int,
    y_bins: Any,
    s_bins: SensitiveBins,
) -> BinSketch:
    """Sketch labels and attributes of the rows that count among the ``n_rows`` of a partition."""
    # declared categories are kept as such in the sketch, not turned into bins of this partition
    specs = spec_of_each_column(s_bins, [replace(column, nominal=False) for column in columns])
    return BinSketch(
        counts=(y.size,),
        sizes=(n_rows,),
        label=sketch_column(SensitiveColumn("y", y), weight, as_bins(y_bins, "y_bins")),
        attributes={
            column.name: sketch_column(column, weight, as_bins(spec, "s_bins"))
            for column, spec in zip(columns, specs, strict=True)
        },
    )


def sketch_column(column: SensitiveColumn, weight: Array | None, bins: Bins) -> ColumnSketch:
    """Keep what these bins need of a column."""
    rule = RULES.get(type(bins), keep_numbers)
    if column.nominal or not _are_numbers(column.values):
        rule = keep_words if rule is keep_numbers else keep_nothing  # words have no ends
    share = np.ones(column.values.size) if weight is None else weight
    return _join_columns([ColumnSketch(column.name, column.values, share, rule, column.nominal)])


def join_sketches(sketches: Sequence[BinSketch]) -> BinSketch:
    """Return one sketch for the partitions of all."""
    labels = [sketch.label for sketch in sketches if sketch.label is not None]
    attributes: dict[str, list[ColumnSketch]] = {}
    for sketch in sketches:
        for name, column in sketch.attributes.items():
            attributes.setdefault(name, []).append(column)
    return BinSketch(
        counts=tuple(n for sketch in sketches for n in sketch.counts),
        sizes=tuple(n for sketch in sketches for n in sketch.sizes),
        label=_join_columns(labels) if labels else None,
        attributes={name: _join_columns(columns) for name, columns in attributes.items()},
    )


def _join_columns(columns: Sequence[ColumnSketch]) -> ColumnSketch:
    """Return one sketch that stands in for all rows of a column."""
    first = columns[0]
    if len({_are_numbers(column.values) for column in columns}) > 1:
        raise ValueError(
            f"{first.name} holds numbers in some partitions and words in others; convert it, "
            "for example with astype(str)."
        )
    values = np.concatenate([column.values for column in columns])
    weight = np.concatenate([column.weight for column in columns])
    if values.size:
        try:
            values, weight = first.rule(values, weight)
        except ValueError as error:
            raise ValueError(f"{first.name}: {error}") from error
    return replace(first, values=values, weight=weight)


def depends_on_rows(spec: Any, name: str) -> bool:
    """Return whether bins have to be settled on the rows."""
    bins = as_bins(spec, name)
    one = type(bins) is RangeBins and bins.n_bins == 1
    return RULES.get(type(bins), keep_numbers) is not keep_nothing and not one


def resolve_bins(
    sketch: BinSketch, *, y_bins: Any, s_bins: SensitiveBins, intersectional: bool
) -> CellScheme:
    """Settle the bins as on all rows."""
    assert sketch.label is not None
    n_rows, columns = sum(sketch.counts), list(sketch.attributes.values())
    specs = spec_of_each_column(
        s_bins, [SensitiveColumn(one.name, one.values, one.nominal) for one in columns]
    )
    y, weight = sketch.label.padded(n_rows)
    nobody = CellScheme.resolve(
        y, (), y_bins=y_bins, s_bins={}, intersectional=intersectional, weight=weight
    )
    return replace(
        nobody,
        names=tuple(sketch.attributes),
        sensitive_bins=tuple(
            as_bins(spec, "s_bins").resolve(*one.padded(n_rows), f"sensitive_features ({one.name})")
            for spec, one in zip(specs, columns, strict=True)
        ),
    )


def _are_numbers(values: Values) -> bool:
    return values.dtype.kind in "biuf"
