"""Tables in a terminal: they fit, every number is whole, and what does not fit is named."""

import re
from io import StringIO
from itertools import pairwise

import pytest
from rich.cells import cell_len
from rich.console import Console

from gferm.printed.table import Column, PrintedTable, Section
from gferm.printed.terminal import SHORTEST, to_terminal
from tests.reproduction.synthetic import make_sheets


@pytest.fixture(scope="module")
def sheets():
    return make_sheets()


def printed(sheet, width):
    console = Console(width=width, file=StringIO())
    console.print(to_terminal(sheet, width=width), crop=False)
    return console.file.getvalue().splitlines()


def left_out_of(lines):
    """Read the names of the columns that did not fit."""
    text = " ".join(" ".join(lines).split())
    if "wider terminal, besides: " not in text:
        return []
    named = text.split("besides: ")[1].split(" This table needs")[0]
    return named.removesuffix(".").split("; ")


@pytest.mark.parametrize("width", [40, 60, 80, 90, 100, 110, 160])
def test_lines_fit_and_numbers_are_whole(sheets, width):
    for sheet in sheets:
        lines = printed(sheet, width)
        needed = re.search(r"needs a terminal of (\d+) columns", " ".join(" ".join(lines).split()))
        assert max(map(cell_len, lines)) <= (int(needed[1]) if needed else width)
        assert needed is None or (width < 80 and int(needed[1]) > width)
        missing = left_out_of(lines)
        kept = [f"{column.group}, {column.name}" not in missing for column in sheet.columns]
        for section in sheet.sections:
            for row in section.rows:
                numbers = [cell for cell, keep in zip(row, kept, strict=True) if keep][1:]
                # the name may be broken; its first line stands before the numbers
                assert any(
                    line.split()[-len(" ".join(numbers).split()) :] == " ".join(numbers).split()
                    and line.startswith(row[0].split()[0])
                    for line in lines
                ), (sheet.name, width, row)


def test_groups_stand_over_their_columns(sheets):
    (sheet, *_) = (sheet for sheet in sheets if sheet.name == "table-delta")
    groups, names = printed(sheet, 200)[1:3]
    for group in ("Δ̂", "test rows"):
        place = re.search(f"─+ {group} ─+", groups).span()
        # a combining accent takes no room, so the names stand that much further left
        start, stop = (at - groups[:at].count("\u0302") for at in place)
        expected = [column.name for column in sheet.columns if column.group == group]
        assert names[start:stop].split() == expected


def test_the_rule_is_as_wide_as_the_table(sheets):
    for sheet in sheets:
        lines = printed(sheet, 80)
        rule = next(line for line in lines if set(line) == {"─"})
        rows = [row for section in sheet.sections for row in section.rows]
        if rows:
            last = max(cell_len(line) for line in lines if line.endswith(rows[-1][-1]))
            assert cell_len(rule) == last


def test_what_matters_least_is_left_out_first(sheets):
    (sheet, *_) = (sheet for sheet in sheets if sheet.name == "table-results")
    order = {f"{column.group}, {column.name}": column.optional for column in sheet.columns}
    seen = [left_out_of(printed(sheet, width)) for width in range(160, 60, -5)]
    assert seen[0] == []
    assert len(seen[-1]) == sum(rank > 0 for rank in order.values())
    for wide, narrow in pairwise(seen):
        assert set(wide) <= set(narrow)
        for name in set(narrow) - set(wide):
            assert all(order[other] >= order[name] for other in wide)


def test_markup_in_a_cell_is_text():
    name = "[red]a[/red]"
    sheet = PrintedTable(
        "x", name, (Column("", "n"), Column("", "v")), (Section(name, ((name, name),)),)
    )
    assert sum(line.count(name) for line in printed(sheet, 80)) == 4


def test_long_names_of_rows_are_broken():
    name = "a claim that goes on " * 5
    sheet = PrintedTable(
        "x", "X", (Column("", "claim"), Column("", "v")), (Section("", ((name, "7"),)),)
    )
    lines = printed(sheet, SHORTEST + 2)
    assert " ".join(" ".join(lines).split()).count("a claim that") == 5
    assert max(map(cell_len, lines)) <= SHORTEST + 2
