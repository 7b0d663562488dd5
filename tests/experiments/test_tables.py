"""Tables hold the paper's numbers and ours, in four forms that show what is in a cell."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from io import StringIO

import pytest
from rich.console import Console

from gferm.experiments.claim_tables import build_claims, build_verdicts
from gferm.experiments.claims import check_claims
from gferm.experiments.layout import (
    MISSING,
    Column,
    Section,
    Sheet,
    number,
    signed,
    spread,
)
from gferm.experiments.page import to_html
from gferm.experiments.paper import TABLES, methods_of
from gferm.experiments.render import to_latex, to_markdown, to_terminal
from gferm.experiments.summary import COMPARED, Spread, summarize
from gferm.experiments.tables import STAND_IN, build_table, build_tables
from tests.experiments.synthetic import make_records

NASTY = "a|b & <script>alert('_x_')</script> 100% $5 #1 {y} ~ ^ \\cmd *bold* [l](u) `c`"


@pytest.fixture(scope="module")
def records():
    return make_records(n_repeats=1)


@pytest.fixture(scope="module")
def summary(records):
    return summarize(records)


@pytest.fixture(scope="module")
def sheets(records, summary):
    findings = check_claims(records)
    continuous = summarize(make_records("continuous", n_repeats=1))
    return [
        *build_tables(summary),
        *build_tables(continuous),
        build_claims(findings, "crime"),
        build_verdicts(findings, "crime"),
    ]


def cells(sheet, group, name):
    """Give a column's cells, from top to bottom."""
    place = sheet.columns.index(Column(group, name))
    return [row[place] for section in sheet.sections for row in section.rows]


def print_sheet(sheet, width):
    console = Console(width=width, file=StringIO())
    console.print(to_terminal(sheet))
    return console.file.getvalue()


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


def test_there_is_a_sheet_for_every_table(sheets):
    assert [sheet.name for sheet in sheets] == [*TABLES, "claims", "verdicts"]


@pytest.mark.parametrize("group", ["error", "DGF"])
@pytest.mark.parametrize(
    ("target", "diff"), [("table-results", "diff in sd"), ("table-bins", "diff")]
)
def test_ours_the_papers_and_the_difference(target, diff, group, sheets, summary):
    sheet = next(sheet for sheet in sheets if sheet.name == target)
    digits, place = {"error": (2, 0), "DGF": (3, 1)}[group]
    columns = [cells(sheet, group, name) for name in ("paper", "ours", diff)]
    pooled = cells(sheet, "pooled", "DGF")
    for row, *shown, together in zip(TABLES[target].rows, *columns, pooled, strict=True):
        found, paper = summary.methods[row.method.key], row.crime[place]
        ours = found.error if group == "error" else found.dgf[COMPARED]
        gap = ours.mean - paper.mean
        std = f"±{paper.std:.{digits - 1}f}" if paper.std else ""
        assert shown[0] == f"{paper.mean:.{digits - 1}f}{std}"
        assert shown[1] == f"{ours.mean:.{digits}f}±{ours.std:.{digits}f}"
        expected = f"{gap / paper.std:+.1f}" if paper.std else f"{gap:+.{digits}f}"
        assert shown[2].replace("−", "-") == expected
        assert together == f"{found.pooled.dgf[COMPARED].mean:.3f}"


def test_both_readings_of_epsilon_are_shown_and_one_is_compared(sheets, records):
    sheet = next(sheet for sheet in sheets if sheet.name == "table-epsilon")
    epsilons, papers = cells(sheet, "", "ε̂"), cells(sheet, "error", "paper")
    assert epsilons[:5] == ["0", "0.005", "0.005 sum", "0.01", "0.01 sum"]
    for epsilon, paper in zip(epsilons, papers, strict=True):
        assert (paper == MISSING) == epsilon.endswith("sum")
    literal = {m.key for m in methods_of("binary") if m.epsilon_scale == "sum" and m.epsilon}
    fewer = [
        {**r, "models": {k: v for k, v in r["models"].items() if k not in literal}} for r in records
    ]
    sheet = build_table("table-epsilon", summarize(fewer))
    assert cells(sheet, "", "ε̂") == ["0", "0.005", "0.01"] * 4
    assert not any("literal" in note for note in sheet.notes)


def test_delta_is_shown_as_sum_and_as_average(sheets, summary):
    sheet = next(sheet for sheet in sheets if sheet.name == "table-delta")
    rows = TABLES["table-delta"].rows
    for i, row in enumerate(rows):
        delta = summary.methods[row.method.key].delta
        assert cells(sheet, "Δ̂", "paper")[i] == f"{row.crime[0].mean:.2f}"
        for group, name, key, digits in (
            ("Δ̂", "average", "pairs", 3),
            ("Δ̂", "sum", "sum", 2),
            ("training rows", "average", "train_pairs", 3),
            ("training rows", "sum", "train_sum", 2),
        ):
            assert cells(sheet, group, name)[i] == spread(delta[key], digits)


@pytest.mark.parametrize("study", ["binary", "continuous"])
def test_nothing_is_compared_for_other_data(study, records):
    records = records if study == "binary" else make_records(study, n_repeats=1)
    records = [{**record, "data": "pupils"} for record in records]
    findings = check_claims(records)
    built = build_tables(summarize(records))
    for sheet in [*built, build_claims(findings, "pupils"), build_verdicts(findings, "pupils")]:
        names = {column.name for column in sheet.columns}
        assert not names & {"paper", "diff", "diff in sd"}
        assert STAND_IN in sheet.notes
        assert "School pupils" in sheet.title


def test_a_run_that_was_stopped_has_dashes(records):
    key = methods_of("binary")[0].key
    few = [{**r, "models": {key: r["models"][key]}} for r in records[:3]]
    sheet = build_table("table-results", summarize(few))
    ours = cells(sheet, "error", "ours")
    assert ours[0] != MISSING
    assert set(ours[1:]) == {MISSING}
    assert set(cells(sheet, "pooled", "p")) == {MISSING}
    assert any("3 outer folds; 0 repeats" in note for note in sheet.notes)
    for show in (to_markdown, to_latex, lambda sheet: print_sheet(sheet, 100)):
        assert MISSING in show(sheet) or "--" in show(sheet)


def test_folds_without_a_dgf_are_mentioned(summary):
    key = TABLES["table-results"].rows[0].method.key
    found = summary.methods[key]
    partial = replace(found, dgf={**found.dgf, COMPARED: Spread(0.1, 0.1, 7, missing=3)})
    changed = replace(summary, methods={**summary.methods, key: partial})
    assert any("3 folds" in note for note in build_table("table-results", changed).notes)


def test_the_terminal_holds_every_cell_at_100_columns(sheets):
    for sheet in sheets:
        text = print_sheet(sheet, 100)
        lines = text.splitlines()
        assert max(map(len, lines)) <= 100 + text.count("\u0302")
        for section in sheet.sections:
            assert section.title in text
            for row in section.rows:
                expected = re.sub(r"\s+", " ", " ".join(row)).strip()
                assert any(re.sub(r"\s+", " ", line).strip() == expected for line in lines)


def test_markdown_rows_have_equal_column_counts(sheets):
    for sheet in sheets:
        rows = [line for line in to_markdown(sheet).splitlines() if line.startswith("|")]
        n_titles = sum(bool(section.title) for section in sheet.sections)
        assert len(rows) == 2 + n_titles + sum(len(section.rows) for section in sheet.sections)
        assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {len(sheet.columns) + 1}


def test_latex_rows_have_equal_column_counts_and_no_other_alphabet(sheets):
    for sheet in sheets:
        text = to_latex(sheet)
        assert re.sub("[“”]", "", text).isascii()
        body = text.split(r"\begin{tabular}")[1].split(r"\end{tabular}")[0]
        for line in body.splitlines():
            if line.endswith(r"\\"):
                spanned = [int(n) - 1 for n in re.findall(r"\\multicolumn\{(\d+)\}", line)]
                assert line.count("&") + sum(spanned) == len(sheet.columns) - 1
        assert text.count("{") == text.count("}")
        assert text.count("$") % 2 == 0


def test_html_tables_read_back(sheets):
    page = to_html(sheets, title="Tables", pictures={"A picture": b"\x89PNG"})
    reader = Reader(page)
    expected = [row for sheet in sheets for section in sheet.sections for row in section.rows]
    found = [tuple(row) for row in reader.rows]
    assert all(row in found for row in expected)
    assert "script" not in reader.tags
    assert "prefers-color-scheme: dark" in page
    assert 'src="data:image/png;base64,' in page
    assert "http" not in page  # nothing from elsewhere


def test_nothing_in_a_cell_is_read_as_markup():
    sheet = Sheet(
        "nasty",
        NASTY,
        (Column("", NASTY), Column(NASTY, "x"), Column(NASTY, "y")),
        (Section(NASTY, ((NASTY, "1", "[red]2[/red]"),)),),
        (NASTY,),
    )
    page = to_html([sheet], title=NASTY, pictures={NASTY + '" onload="x': b""})
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
    assert "[red]2[/red]" in print_sheet(sheet, 400)


def test_rows_of_another_length_are_refused():
    with pytest.raises(ValueError, match="2 columns"):
        Sheet("x", "X", (Column("", "a"), Column("", "b")), (Section("", (("1",),)),))


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
        (spread(Spread(1.0, 0.25, 3), 2), "1.00±0.25"),
        (spread(Spread(1.0, float("nan"), 1), 2), "1.00"),
        (spread(None, 2), MISSING),
    ],
)
def test_numbers_in_words(text, expected):
    assert text == expected


def test_verdicts_count_the_comparisons(records):
    findings = check_claims(records)
    sheet = build_verdicts(findings, "crime")
    counted = [sum(int(row[place]) for row in sheet.sections[0].rows) for place in range(1, 4)]
    assert sum(counted) == len(findings)
    assert build_claims([], "crime").sections == ()
    assert to_markdown(build_verdicts([], "crime"))
    assert print_sheet(build_claims([], "crime"), 80)
