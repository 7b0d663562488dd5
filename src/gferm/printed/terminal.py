"""A printed table for the terminal: columns that fit, and the names of those that do not.

────── error ──────      groups, over their columns
paper  ours    diff      names, broken into lines
───────────────────
...                      rows; long names of rows are broken, numbers never
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.table import Table
from rich.text import Text

from gferm.printed.table import PrintedTable

NARROWEST = 4  # the name of a column is not broken into shorter lines than this …
SHORTEST = 16  # … and that of a row not into shorter ones than this


def to_terminal(table: PrintedTable, *, width: int | None = None) -> _AsWide:
    """Return what a rich console prints, with ``crop=False``: a number is never cut short.

    Parameters
    ----------
    table : PrintedTable
    width : int, default=None
        Room for a line; optional columns that do not fit are named below instead.
    """
    if width is not None:
        table = _narrowed(table, width)
    frame = _Frame.of(table, width)
    groups = [
        # an accent takes no room of its own
        f" {name} ".center(span + len(name) - cell_len(name), "─") if name and n > 1 else name
        for (name, n), span in zip(table.groups, frame.spans, strict=True)
    ]
    parts: list[Any] = [Text(table.title, style="bold"), _grid([groups], frame.spans, "bold")]
    parts += [_grid(frame.names, frame.widths, "bold"), Text("─" * frame.total)]
    for i, section in enumerate(table.sections):
        if i:
            parts.append(Text(""))
        if section.title:
            parts.append(Text(section.title, style="italic"))
        parts.append(_grid(section.rows, frame.widths))
    notes = [Text(note, style="dim") for note in table.notes]
    if width is not None and frame.total > width:
        notes.append(Text(f"This table needs a terminal of {frame.total} columns.", style="dim"))
    return _AsWide(frame.total, Group(*parts), Group(Text(""), *notes, Text("")))


@dataclass(frozen=True)
class FittingTable:
    """A table that a console prints in the room it has."""

    table: PrintedTable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield to_terminal(self.table, width=options.max_width)


@dataclass(frozen=True)
class _AsWide:
    """A table as wide as it is, whatever room there is, and notes that keep to the room."""

    width: int
    table: Group
    notes: Group

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from console.render(
            self.table, options.update_width(max(self.width, options.max_width))
        )
        yield self.notes


@dataclass(frozen=True)
class _Frame:
    """Where everything goes.

    Attributes
    ----------
    names : list of tuples of str
        The lines of the columns' names.
    widths, spans : list of int
        Of the columns, and of their groups.
    """

    names: list[tuple[str, ...]]
    widths: list[int]
    spans: list[int]

    @classmethod
    def of(cls, table: PrintedTable, room: int | None = None) -> _Frame:
        """Return columns as wide as what is in them; row names give way where room is scarce."""
        heads, widths = [], []
        for j, column in enumerate(table.columns):
            below = [cell_len(row[j]) for section in table.sections for row in section.rows]
            heads.append(wrap(column.name, max([NARROWEST, *below]), break_long_words=False))
            widths.append(max([*below, *map(cell_len, heads[-1])], default=0))
        depth = max(map(len, heads))
        names = list(zip(*([""] * (depth - len(head)) + head for head in heads), strict=True))
        stop = 0
        for name, n in table.groups:  # the last column of a group makes room for its name
            start, stop = stop, stop + n
            name_width = cell_len(name) + (4 if n > 1 else 0)
            widths[stop - 1] += max(name_width - _span(widths[start:stop]), 0)
        if room is not None:
            widths[0] = max(widths[0] - max(_span(widths) - room, 0), min(widths[0], SHORTEST))
        spans, stop = [], 0
        for _, n in table.groups:
            start, stop = stop, stop + n
            spans.append(_span(widths[start:stop]))
        return cls(names, widths, spans)

    @property
    def total(self) -> int:
        return _span(self.widths)


def _span(widths: Sequence[int]) -> int:
    """Return the width of neighbouring columns, with a space between them."""
    return sum(widths) + len(widths) - 1


def _narrowed(table: PrintedTable, width: int) -> PrintedTable:
    """Leave out optional columns until a line fits, and say which."""
    kept = table
    while _Frame.of(kept, width).total > width:
        place = max(range(len(kept.columns)), key=lambda j: kept.columns[j].optional)
        if not kept.columns[place].optional:
            break
        kept = kept.without(place)
    left_out = [f"{c.group}, {c.name}" for c in table.columns if c not in kept.columns]
    if not left_out:
        return table
    hint = f"In the files, and in a wider terminal, besides: {'; '.join(left_out)}."
    return replace(kept, notes=(*table.notes, hint))


def _grid(rows: Sequence[Sequence[str]], widths: Sequence[int], style: str = "") -> Table:
    """Return rows in columns of fixed widths; rich has no cell that spans columns."""
    table = Table(box=None, show_header=False, padding=(0, 1, 0, 0), pad_edge=False, style=style)
    for j, width in enumerate(widths):
        table.add_column(justify="right" if j else "left", width=width, no_wrap=j > 0)
    for row in rows:
        table.add_row(*(Text(cell, style=style) for cell in row))
    return table
