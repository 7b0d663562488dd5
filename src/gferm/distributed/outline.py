"""What bins need to know of all rows, told by a few rows that stand in for them.

    rows of a partition ──rule──> rows that stand in for them
    those of 8 partitions, one after the other ──rule──> rows that stand in for all of them
    … up to one set, on which Bins.resolve gives the bins of all rows

The rule is the bins': nothing for edges and categories; the two ends for a number of bins; mean ±
standard deviation for "continuous"; and levels with their weight for quantiles and "auto".

Of more than MOST_LEVELS numbers a table of levels keeps that many, at equal steps of weight, each
with the weight up to the next. A step displaces a quantile by no more than 1/MOST_LEVELS of the
rows, and there are as many steps as the tree has floors: with 4096 partitions, less than 10⁻⁴.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
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
Rule = Callable[[Values, Array], tuple[Values, Array]]


def nothing(values: Values, weight: Array) -> tuple[Values, Array]:
    """Keep no row: bins that are given need only know numbers from words."""
    return values[:0], weight[:0]


def ends(values: Values, weight: Array) -> tuple[Values, Array]:
    """Keep the least and the largest value."""
    return np.array([values.min(), values.max()]), np.ones(2)


def spread(values: Values, weight: Array) -> tuple[Values, Array]:
    """Keep mean and standard deviation: two rows have the same, and so do rows joined of such."""
    x = values.astype(np.float64)
    mean = np.average(x, weights=weight)
    deviation = np.sqrt(np.average((x - mean) ** 2, weights=weight))
    return np.array([mean - deviation, mean + deviation]), np.full(2, weight.sum() / 2.0)


def names(values: Values, weight: Array) -> tuple[Values, Array]:
    """Keep every level once, with its weight."""
    levels, place = np.unique(values, return_inverse=True)
    if levels.size > MOST_LEVELS:
        raise ValueError(
            f"there are more than {MOST_LEVELS} different values: it looks like an identifier, or "
            "numbers stored as text. Convert it to numbers, or name the groups with "
            "Bins.categories([...])."
        )
    return levels, np.bincount(place, weights=weight).astype(np.float64)


def levels(values: Values, weight: Array) -> tuple[Values, Array]:
    """Keep every number once, with its weight, or as many as are enough for quantiles."""
    found, place = np.unique(values, return_inverse=True)
    mass = np.bincount(place, weights=weight).astype(np.float64)
    if found.size <= MOST_LEVELS:
        return found, mass
    below = np.cumsum(mass) - mass
    step = np.floor(below / mass.sum() * MOST_LEVELS)
    first = np.flatnonzero(np.diff(step, prepend=-1.0))
    return found[first], np.add.reduceat(mass, first)


RULES: Mapping[type[Bins], Rule] = {
    EdgeBins: nothing,
    DerivedEdgeBins: nothing,
    CategoryBins: nothing,
    OneBin: nothing,
    RangeBins: ends,
    NoBins: spread,
}  # any others: levels


@dataclass(frozen=True, eq=False)
class Outline:
    """Rows that stand in for all rows of the label or of an attribute."""

    name: str
    values: Values
    weight: Array
    rule: Rule
    nominal: bool = False

    @classmethod
    def of(cls, column: SensitiveColumn, weight: Array | None, bins: Bins) -> Outline:
        """Tell what these bins need of the rows."""
        rule = RULES.get(type(bins), levels)
        if column.nominal or not _are_numbers(column.values):
            rule = names if rule is levels else nothing  # words have no ends
        share = np.ones(column.values.size) if weight is None else weight
        rows = cls(column.name, column.values, share, rule, column.nominal)
        return join([rows])

    def padded(self, n_rows: int) -> tuple[Values, Array]:
        """Return the rows, with rows of weight zero: so many that half of them is half of all rows.

        `AutoBins` takes words for identifiers if there are more than half as many as rows.
        """
        size = min(n_rows, 2 * self.values.size + 2) if self.values.size else 0
        values = np.resize(self.values, size)
        return values, np.pad(self.weight, (0, size - self.weight.size))


@dataclass(frozen=True, eq=False)
class Survey:
    """What is known of some partitions before their features are read.

    Attributes
    ----------
    rows : tuple of int
        The rows of each partition that count.
    sizes : tuple of int
        All of its rows, those of weight zero among them.
    label : Outline or None
        None as long as there is no row.
    attributes : dict of Outline
    """

    rows: tuple[int, ...]
    sizes: tuple[int, ...]
    label: Outline | None
    attributes: Mapping[str, Outline]


def join(outlines: Sequence[Outline]) -> Outline:
    """Let one set of rows stand in for all."""
    first = outlines[0]
    if len({_are_numbers(outline.values) for outline in outlines}) > 1:
        raise ValueError(
            f"{first.name} holds numbers in some partitions and words in others; convert it, "
            "for example with astype(str)."
        )
    values = np.concatenate([outline.values for outline in outlines])
    weight = np.concatenate([outline.weight for outline in outlines])
    if values.size:
        try:
            values, weight = first.rule(values, weight)
        except ValueError as error:
            raise ValueError(f"{first.name}: {error}") from error
    return replace(first, values=values, weight=weight)


def join_surveys(surveys: Sequence[Survey]) -> Survey:
    """Let one survey tell of the partitions of all."""
    labels = [survey.label for survey in surveys if survey.label is not None]
    outlines: dict[str, list[Outline]] = {}
    for survey in surveys:
        for name, outline in survey.attributes.items():
            outlines.setdefault(name, []).append(outline)
    return Survey(
        rows=tuple(n for survey in surveys for n in survey.rows),
        sizes=tuple(n for survey in surveys for n in survey.sizes),
        label=join(labels) if labels else None,
        attributes={name: join(found) for name, found in outlines.items()},
    )


def survey_rows(
    y: Values,
    columns: Sequence[SensitiveColumn],
    weight: Array | None,
    *,
    y_bins: Any,
    s_bins: SensitiveBins,
) -> Survey:
    """Look at the labels and attributes of one partition, all of whose rows count."""
    # declared categories are kept as such in the outline, not turned into bins of this partition
    specs = spec_of_each_column(s_bins, [replace(column, nominal=False) for column in columns])
    return Survey(
        rows=(y.size,),
        sizes=(y.size,),
        label=Outline.of(SensitiveColumn("y", y), weight, as_bins(y_bins, "y_bins")),
        attributes={
            column.name: Outline.of(column, weight, as_bins(spec, "s_bins"))
            for column, spec in zip(columns, specs, strict=True)
        },
    )


def depends_on_rows(spec: Any, name: str) -> bool:
    """Return whether bins have to be settled on the rows."""
    bins = as_bins(spec, name)
    one = type(bins) is RangeBins and bins.n_bins == 1
    return RULES.get(type(bins), levels) is not nothing and not one


def resolve(
    survey: Survey, *, y_bins: Any, s_bins: SensitiveBins, intersectional: bool
) -> CellScheme:
    """Settle the bins as on all rows."""
    assert survey.label is not None
    n_rows, outlines = sum(survey.rows), list(survey.attributes.values())
    specs = spec_of_each_column(
        s_bins, [SensitiveColumn(one.name, one.values, one.nominal) for one in outlines]
    )
    y, weight = survey.label.padded(n_rows)
    nobody = CellScheme.resolve(
        y, (), y_bins=y_bins, s_bins={}, intersectional=intersectional, weight=weight
    )
    return replace(
        nobody,
        names=tuple(survey.attributes),
        sensitive_bins=tuple(
            as_bins(spec, "s_bins").resolve(*one.padded(n_rows), f"sensitive_features ({one.name})")
            for spec, one in zip(specs, outlines, strict=True)
        ),
    )


def _are_numbers(values: Values) -> bool:
    return values.dtype.kind in "biuf"
