"""The tables of the paper, its numbers and ours side by side, and an overview of what reproduces.

Where the paper's data are public (CRIME) each measure has the paper's value, ours and the
difference, also in the paper's standard deviations: those of its first table where another has
none. Beside the mean over folds stands the DGF pooled over all rows, with what chance alone gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeAlias

import numpy as np

from gferm.printed.table import FAR, MISSING, Column, PrintedTable, Section, number, signed
from reproduction.claims import DGF, ERROR
from reproduction.paper import COMPARED, DATA_NAMES, PAPERS_DATA, TABLES, Method, Row, Table, Value
from reproduction.summary import MethodSummary, Pooled, Spread, Summary

AVERAGE_NAMES = {"pairs": "pairs", "all_bins": "all bins"}
OTHER = "pairs"
DIGITS = {ERROR: 2, DGF: 3}
INCLUDED = {
    False: "Sensitive feature not included in the model's functional form.",
    True: "Sensitive feature included in the model's functional form.",
}

STAND_IN = (
    "The UNIGE data of the paper are private. School pupils stands in for them, so nothing here "
    "is compared with the paper."
)
PAPER = (
    "paper: as published (its “MAPE” is read as 100·MAE, its DGF as an average). diff: ours less "
    "the paper's{more}."
)
IN_SD = "; in sd: in its standard deviations{whose}, {far} more than one ({n} of {of} values)"
OF_THE_FIRST = ", taken from its first table"
POOLED = (
    "pooled: all rows of a repeat at once, each predicted by a model that did not see it; mean "
    "over repeats. chance: the mean DGF when groups are shuffled within label bins, of a test fold "
    "or of all rows; p: the share of shuffles that reach the DGF seen, median over repeats."
)
DGF_NOTES = {
    "pairs": "mean over the pairs of groups that share a label bin",
    "all_bins": "mean over all label bins and pairs of groups, those without rows counting 0",
}
SUM_READING = (
    "ε̂ bounds the mean gap of a pair of groups; “sum” bounds the literal sum over all bins and "
    "ordered pairs, and is not compared."
)
OWN_BINS = (
    "DGF is measured with the K label bins of the constraint. With more bins, more of them are "
    "empty and fewer predictions hit the narrower ones: that lowers the DGF of any model, and more "
    "of it is chance. “at K = 10” measures all alike."
)
DELTA = (
    "Δ̂ = Σ |ΔP| − |ΔL| of the training rows, as the proposition has it, and of the test rows: "
    "“average” is the mean over pairs of groups that share a label bin, which is compared; “sum” "
    "is the literal formula, over ordered pairs."
)
NEAR = (
    "within 1 sd: no further from the paper's value than one of its standard deviations (those of "
    "its first table where another has none). diff: ours less the paper's, mean of the rows."
)
RATIOS = "Δ̂: ours is {low} to {high} times the paper's, as an average over pairs of groups."
WHY = "docs/reproduction.md in the source explains each deviation."

Cells: TypeAlias = tuple[str, ...]
Measure: TypeAlias = Callable[[MethodSummary], Spread]

DEVIATIONS = {  # of the fair learners, in the only table of theirs that has any
    (row.method.learner, row.method.with_s): tuple(value.std for value in row.crime)
    for row in TABLES["table-results"].rows
    if row.method.epsilon == 0.0
}

MEASURES: dict[str, Measure] = {  # what is compared with the paper, in the order of its columns
    ERROR: lambda found: found.error,
    DGF: lambda found: found.dgf[COMPARED],
}


@dataclass(frozen=True)
class _Block:
    """Neighbouring columns, and the cells of a row in them."""

    columns: tuple[Column, ...]
    cells: Callable[[Row, MethodSummary | None], Cells]


def build_tables(summary: Summary) -> list[PrintedTable]:
    """Build every table of the paper that belongs to a study."""
    return [build_table(t.target, summary) for t in TABLES.values() if t.study == summary.study]


def build_table(target: str, summary: Summary) -> PrintedTable:
    """Build one table of the paper.

    Parameters
    ----------
    target : str
        A key of ``paper.TABLES``.
    summary : Summary
        Of the table's study. What it does not hold is shown as a dash.
    """
    table = TABLES[target]
    compare = summary.data == PAPERS_DATA
    blocks = [_Block((Column("", "method"),), lambda row, _: (row.method.name,)), *_varied(table)]
    blocks += _delta_blocks(compare) if target == "table-delta" else _blocks(table, compare)
    return PrintedTable(
        name=target,
        title=f"{table.title}: {DATA_NAMES.get(summary.data, summary.data)}",
        columns=tuple(column for block in blocks for column in block.columns),
        sections=tuple(_sections(_rows(table, summary), blocks, summary)),
        notes=tuple(_notes(table, summary)),
    )


def _rows(table: Table, summary: Summary) -> list[Row]:
    """Return the rows of the paper, and after each the other reading of its epsilon."""
    rows = []
    for row in table.rows:
        rows.append(row)
        other = replace(row.method, epsilon_scale="sum")
        if row.method.epsilon and other.key in summary.methods:
            rows.append(Row(other, (), ()))
    return rows


def _sections(rows: list[Row], blocks: list[_Block], summary: Summary) -> list[Section]:
    sections, titled = [], set()
    for (with_s, _), group in groupby(rows, lambda row: (row.method.with_s, row.method.learner)):
        cells = tuple(
            sum((block.cells(row, summary.methods.get(row.method.key)) for block in blocks), ())
            for row in group
        )
        sections.append(Section("" if with_s in titled else INCLUDED[with_s], cells))
        titled.add(with_s)
    return sections


def _varied(table: Table) -> list[_Block]:
    """Return the column of the parameter that a table varies."""
    if len({row.method.n_bins for row in table.rows}) > 1:
        return [_Block((Column("", "K"),), lambda row, _: (str(row.method.n_bins),))]
    if len({row.method.epsilon for row in table.rows} - {None}) > 1:
        return [_Block((Column("", "ε̂"),), lambda row, _: (_epsilon(row.method),))]
    return []


def _epsilon(method: Method) -> str:
    return f"{method.epsilon:g}" + " sum" * (method.epsilon_scale == "sum")


def _blocks(table: Table, compare: bool) -> list[_Block]:
    usual = _ours(DGF, "at K = 10", lambda found: _mean(found.usual_dgf.get(COMPARED)))
    return [
        *(
            _compared(name, place, measure, compare)
            for place, (name, measure) in enumerate(MEASURES.items())
        ),
        _ours(DGF, "chance", lambda found: _mean(found.chance), optional=1),
        _ours(DGF, AVERAGE_NAMES[OTHER], lambda found: _mean(found.dgf[OTHER]), optional=4),
        *([usual] if table.target == "table-bins" else []),
        _pooled("DGF", lambda pooled: _mean(pooled.dgf[COMPARED]), optional=2),
        _pooled("chance", lambda pooled: number(pooled.chance, DIGITS[DGF]), optional=3),
        _pooled("p", lambda pooled: number(pooled.p, 3)),
    ]


def _delta_blocks(compare: bool) -> list[_Block]:
    return [
        _compared("Δ̂", 0, lambda found: found.delta["train_pairs"], compare, "average"),
        _ours("Δ̂", "sum", lambda found: show_spread(found.delta.get("train_sum"), 2)),
        _ours("test rows", "average", lambda found: show_spread(found.delta.get("pairs"), 3)),
        _ours("test rows", "sum", lambda found: show_spread(found.delta.get("sum"), 2)),
    ]


def _compared(
    group: str,
    place: int,
    measure: Measure,
    compare: bool,
    name: str = "ours",
) -> _Block:
    """Return the columns of one measure: the paper's value, ours and how they differ."""
    digits, deviations = DIGITS.get(group, 3), group in DIGITS
    if not compare:
        return _ours(group, name, lambda found: show_spread(measure(found), digits))
    columns = [Column(group, "paper"), Column(group, name), Column(group, "diff", 5 * deviations)]
    if deviations:
        columns.append(Column(group, "in sd"))

    def cells(row: Row, found: MethodSummary | None) -> Cells:
        ours = None if found is None else measure(found)
        paper = row.crime[place] if row.crime else None
        gap = None if ours is None or paper is None else ours.mean - paper.mean
        shown = (_published(paper, digits - 1), show_spread(ours, digits), signed(gap, digits))
        if not deviations:
            return shown
        gap = in_deviations(row, place, ours)
        return *shown, signed(gap, 1) + FAR * is_far(gap)

    return _Block(tuple(columns), cells)


def in_deviations(row: Row, place: int, ours: Spread | None) -> float | None:
    """Return ours less the paper's in the paper's standard deviations; None if it has no value."""
    if ours is None or not row.crime:
        return None
    paper = row.crime[place]
    std = paper.std or DEVIATIONS[row.method.learner, row.method.with_s][place]
    return None if std is None else (ours.mean - paper.mean) / std


def is_far(deviations: float | None) -> bool:
    """Return whether a value is further than one standard deviation from the paper's."""
    return deviations is not None and abs(deviations) > 1.0


def _ours(
    group: str, name: str, show: Callable[[MethodSummary], str], *, optional: int = 0
) -> _Block:
    return _Block(
        (Column(group, name, optional),),
        lambda _, found: (MISSING if found is None else show(found),),
    )


def _pooled(name: str, show: Callable[[Pooled], str], *, optional: int = 0) -> _Block:
    return _ours(
        "pooled",
        name,
        lambda found: show(found.pooled) if found.pooled else MISSING,
        optional=optional,
    )


def _mean(value: Spread | None) -> str:
    """Write a mean DGF without its deviation, where there is one column too many already."""
    return MISSING if value is None else number(value.mean, DIGITS[DGF])


def show_spread(value: Spread | None, digits: int) -> str:
    """Write a mean and, where there is one, its standard deviation."""
    if value is None:
        return MISSING
    mean, std = number(value.mean, digits), number(value.std, digits)
    return mean if std == MISSING else f"{mean}±{std}"


def _published(value: Value | None, digits: int) -> str:
    if value is None:
        return MISSING
    return show_spread(
        Spread(value.mean, float("nan") if value.std is None else value.std, 0), digits
    )


def _notes(table: Table, summary: Summary) -> Iterator[str]:
    yield _beside_the_paper(table, summary) if summary.data == PAPERS_DATA else STAND_IN
    yield (
        f"Ours: mean±standard deviation over {summary.n_folds} outer folds; whole repeats of the "
        f"cross-validation: {summary.n_repeats}."
    )
    if table.target == "table-delta":
        yield DELTA
        return
    yield (
        f"error: 100·MAE with labels in [0, 1]. DGF: {DGF_NOTES[COMPARED]}; "
        f"{AVERAGE_NAMES[OTHER]}: {DGF_NOTES[OTHER]}."
    )
    yield POOLED
    if table.target == "table-bins":
        yield OWN_BINS
    rows = _rows(table, summary)
    if len(rows) > len(table.rows):
        yield SUM_READING
    found = [summary.methods[row.method.key] for row in rows if row.method.key in summary.methods]
    missing = max((method.dgf[COMPARED].missing for method in found), default=0)
    if missing:
        yield f"Up to {missing} folds of a method have no DGF: no label bin holds two groups there."


def _beside_the_paper(table: Table, summary: Summary) -> str:
    """Return how to read the comparison, and how many values are far from the paper's."""
    if table.target == "table-delta":
        return PAPER.format(more="")
    gaps = [
        in_deviations(row, place, measure(summary.methods[row.method.key]))
        for row in table.rows
        if row.method.key in summary.methods
        for place, measure in enumerate(MEASURES.values())
    ]
    whose = OF_THE_FIRST * all(value.std is None for row in table.rows for value in row.crime)
    n = sum(map(is_far, gaps))
    return PAPER.format(more=IN_SD.format(whose=whose, far=FAR, n=n, of=len(gaps)))


def build_overview(summaries: Mapping[str, Summary]) -> PrintedTable:
    """Count, for every table and kind of method, the values that reproduce.

    Parameters
    ----------
    summaries : dict of Summary
        By study, of the paper's data.
    """
    sections = tuple(
        Section(table.title, tuple(_counts(table, summaries[table.study])))
        for table in TABLES.values()
        if len(table.columns) == len(MEASURES)
    )
    columns = [Column("", "methods"), Column("", "rows")]
    for measure in MEASURES:
        columns += [Column(measure, "within 1 sd"), Column(measure, "diff")]
    return PrintedTable(
        name="overview",
        title=f"What reproduces: {DATA_NAMES[PAPERS_DATA]}",
        columns=tuple(columns),
        sections=sections,
        notes=(NEAR, *_delta_ratios(summaries), WHY),
    )


def _counts(table: Table, summary: Summary) -> Iterator[tuple[str, ...]]:
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


def _delta_ratios(summaries: Mapping[str, Summary]) -> Iterator[str]:
    """Return how far Δ̂ is from the paper's."""
    table = TABLES["table-delta"]
    methods = summaries[table.study].methods
    ratios = [
        methods[row.method.key].delta["train_pairs"].mean / row.crime[0].mean
        for row in table.rows
        if row.method.key in methods
    ]
    if ratios:
        yield RATIOS.format(low=number(min(ratios), 1), high=number(max(ratios), 1))
