"""An audit in tables: for a terminal, for a notebook, as text; and how its numbers are written.

Three tables hold everything that is shown: figures with their interval and chance, groups, and
cells. What is small or empty is said in the row itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from html import escape
from typing import Any

from gferm.auditing.measures import SHARE
from gferm.auditing.outcome import NUMBERS
from gferm.auditing.records import Cell, Figure, Findings, Statement
from gferm.printed.table import Column, PrintedTable, Section, decimals, number, to_html_table

MARKS = {"fact": "·", "fair": "○", "unfair": "●", "caution": "!"}
COLORS = {"fact": "", "fair": "green", "unfair": "red", "caution": "yellow"}
MEANS = (  # of a cell: the field, its heading, and how soon it gives way where room is scarce
    ("label", "label", 3),
    ("prediction", "prediction", 0),
    ("residual", "residual", 2),
    ("error", "error", 1),
    ("rate", "right bin", 0),
)


@dataclass(frozen=True)
class FigureText:
    """The numbers of a figure as they are written; a dash for what is not known.

    Attributes
    ----------
    value, low, high : str
        The figure and the ends of its interval.
    mean, top, p : str
        Of shuffled groups: their mean, what 95 % of them stay below, and the p-value.
    """

    value: str
    low: str
    high: str
    mean: str
    top: str
    p: str


def write_figure(figure: Figure) -> FigureText:
    """Write the numbers of a figure in the decimals that suit it: three digits of the largest."""
    low, *_, high = figure.interval or (None, None)
    mean = top = p = None
    if figure.chance is not None:
        mean, top, p = figure.chance.mean, figure.chance.high, figure.chance.p
    digits = 3
    if figure.unit != SHARE:
        digits = decimals([figure.value, *(figure.interval or ()), mean, top])
    texts = [number(one, digits) for one in (figure.value, low, high, mean, top)]
    return FigureText(*[*texts, number(p, 3)])


def heading(audit: Findings) -> str:
    """Return what was audited, in a line."""
    what = [*audit.attributes, *(f"{name} (continuous)" for name in audit.continuous)]
    n = len(audit.label_bins)
    one, many = ("label bin", "label bins") if audit.task == NUMBERS else ("class", "classes")
    bins = f"{n} {many if n > 1 else one}"
    return f"Audit of {audit.n_rows} rows: {', '.join(what)}; {bins}"


def printed_tables(audit: Findings) -> list[PrintedTable]:
    """Return the tables: figures, groups, cells."""
    found = [figures_table(tuple(audit.figures.values()))]
    if audit.groups:
        found.append(_means_table("groups", "Whole groups", audit.groups))
        found.append(_means_table("cells", "Cells", audit.cells))
    return found


def figures_table(figures: tuple[Figure, ...]) -> PrintedTable:
    """Make the table of figures."""
    texts = [(figure.title, write_figure(figure)) for figure in figures]
    rows = [(title, *astuple(text)) for title, text in texts]
    columns = (
        Column("", "figure"),
        Column("", "value"),
        Column("interval", "from", optional=1),
        Column("interval", "to", optional=1),
        Column("chance alone", "mean"),
        Column("chance alone", "95 % below", optional=2),
        Column("chance alone", "p"),
    )
    notes = (
        "Chance alone: groups shuffled within label bins; for mean distance, errors of groups and "
        "correlation among everybody. p: the share of shuffles that reach the figure.",
    )
    return PrintedTable("figures", "Figures", columns, (Section("", tuple(rows)),), notes)


def _means_table(name: str, title: str, cells: tuple[Cell, ...]) -> PrintedTable:
    """Return a table of means: a section for each attribute and label bin."""
    shown = [
        (field, heading, decimals([getattr(cell, field) for cell in cells]), optional)
        for field, heading, optional in MEANS
        if any(getattr(cell, field) is not None for cell in cells)
    ]
    columns = (
        Column("", "group"),
        Column("", "rows"),
        *(Column("mean", heading, optional) for _, heading, _, optional in shown),
        Column("", "note"),
    )
    sections: dict[str, list[tuple[str, ...]]] = {}
    for cell in cells:
        where = cell.attribute if cell.label_bin is None else f"{cell.attribute}, {cell.label_bin}"
        values = (number(getattr(cell, field), digits) for field, _, digits, _ in shown)
        sections.setdefault(where, []).append((cell.group, str(cell.count), *values, cell.note))
    return PrintedTable(
        name,
        title,
        columns,
        tuple(Section(where, tuple(rows)) for where, rows in sections.items()),
    )


def as_text(audit: Findings, verdict: Sequence[Statement]) -> str:
    """Return the verdict and the figures as text."""
    lines = [heading(audit), ""]
    lines += [f"{MARKS[one.kind]} {one.text}" for one in verdict]
    table = figures_table(tuple(audit.figures.values()))
    rows = [tuple(column.name for column in table.columns), *table.sections[0].rows]
    widths = [max(len(row[j]) for row in rows) for j in range(len(table.columns))]
    lines.append("")
    for row in rows:
        first, *rest = (
            text.ljust(width) if j == 0 else text.rjust(width)
            for j, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join([first, *rest]).rstrip())
    return "\n".join(lines)


def as_rich(audit: Findings, verdict: Sequence[Statement]) -> Any:
    """Return what a rich console prints."""
    from rich.console import Group
    from rich.text import Text

    from gferm.printed.terminal import FittingTable

    parts: list[Any] = [Text(heading(audit), style="bold"), Text("")]
    for one in verdict:
        mark = Text(f"{MARKS[one.kind]} ", style=COLORS[one.kind])
        parts.append(mark + Text(one.text))
    parts.append(Text(""))
    return Group(*parts, *map(FittingTable, printed_tables(audit)))


def as_html(audit: Findings, verdict: Sequence[Statement]) -> str:
    """Return a fragment of HTML for a notebook."""
    sentences = "".join(f"<li>{MARKS[one.kind]} {escape(one.text)}</li>" for one in verdict)
    tables = "".join(
        f"<details{' open' if table.name == 'figures' else ''}><summary>{escape(table.title)}"
        f"</summary>{to_html_table(table)}</details>"
        for table in printed_tables(audit)
    )
    return (
        f'<div class="gferm-audit"><strong>{escape(heading(audit))}</strong>'
        f'<ul style="list-style: none; padding-left: 0">{sentences}</ul>{tables}</div>'
    )
