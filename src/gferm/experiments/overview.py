"""What reproduces, in a few lines: how many values of each table lie near the paper's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

import numpy as np

from gferm.experiments.claims import PAPERS_DATA
from gferm.experiments.paper import TABLES, Method, Table
from gferm.experiments.summary import Summary
from gferm.experiments.tables import DATA_NAMES, DIGITS, MEASURES, in_deviations, is_far
from gferm.printed.table import MISSING, Column, Section, number, signed
from gferm.printed.table import PrintedTable as Sheet

NEAR = (
    "within 1 sd: no further from the paper's value than one of its standard deviations (those of "
    "its first table where another has none). diff: ours less the paper's, mean of the rows."
)
DELTA = "Δ̂: ours is {low} to {high} times the paper's, as an average over pairs of groups."
WHY = "docs/reproduction.md in the source explains each deviation."


def build_overview(summaries: Mapping[str, Summary]) -> Sheet:
    """Count, for every table and kind of method, the values that reproduce.

    Parameters
    ----------
    summaries : dict of Summary
        By study, of the paper's data.
    """
    sections = tuple(
        Section(table.title, tuple(_rows(table, summaries[table.study])))
        for table in TABLES.values()
        if len(table.columns) == len(MEASURES)
    )
    columns = [Column("", "methods"), Column("", "rows")]
    for measure in MEASURES:
        columns += [Column(measure, "within 1 sd"), Column(measure, "diff")]
    return Sheet(
        name="overview",
        title=f"What reproduces: {DATA_NAMES[PAPERS_DATA]}",
        columns=tuple(columns),
        sections=sections,
        notes=(NEAR, *_delta(summaries), WHY),
    )


def _rows(table: Table, summary: Summary) -> Iterator[tuple[str, ...]]:
    def kind(method: Method) -> str:
        return method.name.removesuffix(method.learner).strip()

    ordered = sorted(
        table.rows, key=lambda row: (row.method.epsilon is not None, not row.method.naive)
    )
    for name, group in groupby(ordered, key=lambda row: kind(row.method)):
        rows = [row for row in group if row.method.key in summary.methods]
        cells = [name, str(len(rows))]
        for place, (measure, read) in enumerate(MEASURES.items()):
            ours = [read(summary.methods[row.method.key]) for row in rows]
            near = [
                not is_far(in_deviations(row, place, value))
                for row, value in zip(rows, ours, strict=True)
            ]
            gaps = [
                value.mean - row.crime[place].mean for row, value in zip(rows, ours, strict=True)
            ]
            mean = signed(float(np.mean(gaps)), DIGITS[measure]) if gaps else MISSING
            cells += [f"{sum(near)} of {len(near)}", mean]
        yield tuple(cells)


def _delta(summaries: Mapping[str, Summary]) -> Iterator[str]:
    """Return how far Δ̂ is from the paper's."""
    table = TABLES["table-delta"]
    methods = summaries[table.study].methods
    ratios = [
        methods[row.method.key].delta["train_pairs"].mean / row.crime[0].mean
        for row in table.rows
        if row.method.key in methods
    ]
    if ratios:
        yield DELTA.format(low=number(min(ratios), 1), high=number(max(ratios), 1))
