"""A table as plain data: words in rows, and how numbers become words.

Nothing here knows how a table is shown (terminal.py, markup.py, html.py) or where its numbers come
from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
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
class Sheet:
    """A table.

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

    def without(self, place: int) -> Sheet:
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


def listed(items: Sequence[str], most: int, separator: str = ", ") -> str:
    """Write out a few items and count the rest."""
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return separator.join(items[:most]) + more


def number(value: float | None, digits: int) -> str:
    """Write a number with a fixed number of digits, and with a minus sign that is one."""
    if value is None or value != value:  # NaN
        return MISSING
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", "−")


def signed(value: float | None, digits: int) -> str:
    """Write a difference: its sign is what matters."""
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
    """Write a number with as many decimals as show ``digits`` digits of it."""
    return number(value, decimals([value], digits))
