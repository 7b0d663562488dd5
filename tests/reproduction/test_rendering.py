"""Three forms of a table show what is in a cell, and nothing in a cell is read as markup."""

import re
from html.parser import HTMLParser
from io import BytesIO

import pytest
from matplotlib.figure import Figure
from reproduction.rendering import (
    TALL,
    picture_section,
    table_section,
    to_latex,
    to_markdown,
    to_page,
)
from reproduction.summary import Spread
from reproduction.tables import show_spread

from gferm.printed.table import MISSING, Column, PrintedTable, Section, number, signed
from tests.reproduction.synthetic import make_sheets

NASTY = "[0] a|b & <script>alert('_x_')</script> 100% $5 #1 {y} ~ ^ \\cmd *bold* [l](u) `c`"


@pytest.fixture(scope="module")
def sheets():
    return make_sheets()


class Reader(HTMLParser):
    """Reads tables back: rows of texts, and every tag."""

    def __init__(self, page):
        super().__init__()
        self.rows, self.tags, self.inside = [], [], False
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        self.inside = tag in ("td", "th")

    def handle_data(self, data):
        if self.inside:
            self.rows[-1][-1] += data

    def handle_endtag(self, tag):
        self.inside = False


def test_markdown_rows_have_equal_column_counts(sheets):
    for sheet in sheets:
        rows = [line for line in to_markdown(sheet).splitlines() if line.startswith("|")]
        n_titles = sum(bool(section.title) for section in sheet.sections)
        assert len(rows) == 2 + n_titles + sum(len(section.rows) for section in sheet.sections)
        assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {len(sheet.columns) + 1}


def test_latex_rows_have_equal_column_counts_and_no_other_alphabet(sheets):
    for sheet in sheets:
        text = to_latex(sheet)
        assert text.isascii()
        bodies = [part.split(r"\end{tabular}")[0] for part in text.split(r"\begin{tabular}")[1:]]
        for line in (line for body in bodies for line in body.splitlines()):
            if line.endswith(r"\\"):
                spanned = [int(n) - 1 for n in re.findall(r"\\multicolumn\{(\d+)\}", line)]
                assert line.count("&") + sum(spanned) == len(sheet.columns) - 1
        assert text.count("{") == text.count("}")
        assert text.count("$") % 2 == 0


def test_a_table_longer_than_a_page_goes_on_on_the_next():
    def sheet_of(*sizes):
        sections = [Section(f"S{i}", (("row",),) * size) for i, size in enumerate(sizes)]
        return to_latex(PrintedTable("x", "Long", (Column("", "a"),), tuple(sections), ("A note",)))

    assert sheet_of(TALL - 1).count(r"\begin{table}") == 1
    assert sheet_of(TALL).count(r"\begin{table}") == 1  # a section is never broken
    long = sheet_of(20, 20, 20, 20, TALL, 3)
    tables = long.split(r"\begin{table}")[1:]
    assert [re.findall(r"\(\d of \d\)", table) for table in tables] == [
        [f"({i} of 4)"] for i in range(1, 5)
    ]
    assert [re.findall(r"S\d", table) for table in tables] == [
        ["S0", "S1"], ["S2", "S3"], ["S4"], ["S5"],
    ]  # fmt: skip
    assert long.count("row") == 4 * 20 + TALL + 3
    assert long.count("A note") == tables[-1].count("A note") == 1


def test_html_tables_read_back(sheets):
    parts = [*map(table_section, sheets), picture_section("p", "A picture", b"\x89PNG")]
    page = to_page(parts, title="Tables")
    reader = Reader(page)
    expected = [row for sheet in sheets for section in sheet.sections for row in section.rows]
    found = [tuple(row) for row in reader.rows]
    assert all(row in found for row in expected)
    assert "script" not in reader.tags
    assert "prefers-color-scheme: dark" in page
    assert 'src="data:image/png;base64,' in page
    assert "http" not in page  # nothing from elsewhere


def test_letters_of_all_pictures_are_of_one_size():
    """A page gives a picture as much room as it has pixels."""

    def width(pixels):
        file = BytesIO()
        Figure(figsize=(pixels / 100, 1), dpi=100).savefig(file, format="png")
        return int(re.search(r'width="(\d+)"', picture_section("p", "P", file.getvalue()).body)[1])

    assert width(1000) == 2 * width(500) > 500


def test_nothing_in_a_cell_is_read_as_markup():
    sheet = PrintedTable(
        "nasty",
        NASTY,
        (Column("", NASTY), Column(NASTY, "x"), Column(NASTY, "y")),
        (Section(NASTY, ((NASTY, "1", "[red]2[/red]"),)),),
        (NASTY,),
    )
    parts = [table_section(sheet), picture_section(NASTY, NASTY + '" onload="x', b"")]
    page = to_page(parts, title=NASTY)
    reader = Reader(page)
    assert "script" not in reader.tags
    assert (NASTY, "1", "[red]2[/red]") in [tuple(row) for row in reader.rows]
    assert '" onload' not in page
    rows = [line for line in to_markdown(sheet).splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {4}
    assert "<script" not in to_markdown(sheet)
    for mark in ("_x_", " *bold*", "[l](u)", " `c`"):
        assert mark not in to_markdown(sheet)
    latex = to_latex(sheet)
    assert re.search(r"(?<!\\)[%#_]", latex.replace(r"\hline", "")) is None
    assert r"\textbackslash{}cmd" in latex
    assert not re.search(r"\\\\\s*[\[*]", latex)  # an option of the line break


def test_rows_of_another_length_are_refused():
    with pytest.raises(ValueError, match="2 columns"):
        PrintedTable("x", "X", (Column("", "a"), Column("", "b")), (Section("", (("1",),)),))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (number(1.005, 1), "1.0"),
        (number(-0.04, 1), "0.0"),
        (number(-0.06, 1), "−0.1"),
        (number(float("nan"), 1), MISSING),
        (number(None, 1), MISSING),
        (signed(0.06, 1), "+0.1"),
        (signed(-0.06, 1), "−0.1"),
        (signed(0.04, 1), "0.0"),
        (signed(None, 1), MISSING),
        (signed(float("inf"), 1), "+inf"),
        (show_spread(Spread(1.0, 0.25, 3), 2), "1.00±0.25"),
        (show_spread(Spread(1.0, float("nan"), 1), 2), "1.00"),
        (show_spread(None, 2), MISSING),
    ],
)
def test_numbers_in_words(text, expected):
    assert text == expected
