"""A printed table: words in rows and columns, how numbers become words, and the table as HTML.

Nothing here knows where the numbers come from; terminal.py shows a table where room is scarce.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from math import floor, isfinite, log10

MISSING = "–"
MOST_DECIMALS = 12
FAR = "*"  # after a number that the reader should notice


@dataclass(frozen=True)
class Column:
    """The name of a column, under that of the group it belongs to ("" for none).

    Where there is too little room, those with the largest ``optional`` are left out first; never
    those with 0.
    """

    group: str
    name: str
    optional: int = 0


@dataclass(frozen=True)
class Section:
    """Rows under a title; without a title, they are set apart from those before."""

    title: str
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class PrintedTable:
    """A table for people.

    Attributes
    ----------
    name : str
        For the file: "table-results".
    title : str
    columns : tuple of Column
        The first is for the names of the rows.
    sections : tuple of Section
    notes : tuple of str
        What the reader has to know.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    sections: tuple[Section, ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for section in self.sections:
            for row in section.rows:
                if len(row) != len(self.columns):
                    raise ValueError(
                        f"{self.name} has {len(self.columns)} columns, but a row has {row}."
                    )

    def without(self, place: int) -> PrintedTable:
        """Return the table without one of its columns."""
        sections = tuple(
            replace(section, rows=tuple(row[:place] + row[place + 1 :] for row in section.rows))
            for section in self.sections
        )
        columns = self.columns[:place] + self.columns[place + 1 :]
        return replace(self, columns=columns, sections=sections)

    @property
    def groups(self) -> list[tuple[str, int]]:
        """The groups of neighbouring columns, with how many columns each has."""
        found: list[tuple[str, int]] = []
        for column in self.columns:
            if found and column.group and found[-1][0] == column.group:
                found[-1] = (column.group, found[-1][1] + 1)
            else:
                found.append((column.group, 1))
        return found


def to_html_table(table: PrintedTable) -> str:
    """Return a table and the list of its notes as HTML, without its title, which a page gives."""
    groups = "".join(f'<th colspan="{n}">{escape(name)}</th>' for name, n in table.groups)
    names = "".join(f'<th scope="col">{escape(column.name)}</th>' for column in table.columns)
    lines = [
        # what scrolls sideways can be reached with the keyboard
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(table.title)}">',
        f"<table>\n<thead><tr>{groups}</tr><tr>{names}</tr></thead>",
    ]
    for section in table.sections:
        lines.append("<tbody>")
        if section.title:
            span = f'<th class="section" colspan="{len(table.columns)}">'
            lines.append(f"<tr>{span}{escape(section.title)}</th></tr>")
        for row in section.rows:
            lines.append(f"<tr>{''.join(map(_cell, row))}</tr>")
        lines.append("</tbody>")
    lines.append("</table></div>")
    if table.notes:
        lines.append(f"<ul>{''.join(f'<li>{escape(note)}</li>' for note in table.notes)}</ul>")
    return "\n".join(lines)


def _cell(text: str) -> str:
    tag = '<td class="far">' if text.endswith(FAR) else "<td>"
    return f"{tag}{escape(text)}</td>"


def listed(items: Sequence[str], most: int, separator: str = ", ") -> str:
    """Write out a few items and count the rest."""
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return separator.join(items[:most]) + more


def number(value: float | None, digits: int) -> str:
    """Return a number with a fixed number of digits, and with a minus sign that is one."""
    if value is None or value != value:  # NaN
        return MISSING
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", "−")


def signed(value: float | None, digits: int) -> str:
    """Return a difference with its sign, which is what matters."""
    text = number(value, digits)
    nothing_to_sign = text == MISSING or text.startswith("−") or float(text) == 0
    return text if nothing_to_sign else f"+{text}"


def decimals(values: Iterable[float | None], digits: int = 3) -> int:
    """Return the decimals that show ``digits`` digits of the largest of some numbers."""
    sizes = [abs(value) for value in values if value is not None and isfinite(value)]
    largest = max(sizes, default=0.0)
    nothing = largest < 10.0**-MOST_DECIMALS
    return 0 if nothing else max(digits - 1 - floor(log10(largest)), 0)


def significant(value: float | None, digits: int = 3) -> str:
    """Return a number with as many decimals as show ``digits`` digits of it."""
    return number(value, decimals([value], digits))
