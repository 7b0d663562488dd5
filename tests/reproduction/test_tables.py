"""Tables hold the paper's numbers and ours, and every finding about its claims."""

from dataclasses import replace

import pytest
from reproduction.claim_tables import build_claims, build_verdicts
from reproduction.claims import ERROR, HOLDS, REVERSED, UNCLEAR, check_claims
from reproduction.paper import TABLES, methods_of
from reproduction.summary import COMPARED, Spread, summarize
from reproduction.tables import (
    AVERAGE_NAMES,
    FAR,
    INCLUDED,
    OTHER,
    STAND_IN,
    build_table,
    build_tables,
    show_spread,
)

from gferm.printed.table import MISSING
from tests.reproduction.synthetic import make_records


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
        build_claims(findings, summary),
        build_verdicts(findings, summary),
    ]


def cells(sheet, group, name):
    """Return a column's cells, from top to bottom."""
    place = [(column.group, column.name) for column in sheet.columns].index((group, name))
    return [row[place] for section in sheet.sections for row in section.rows]


def test_there_is_a_sheet_for_every_table(sheets):
    assert [sheet.name for sheet in sheets] == [*TABLES, "claims-binary", "verdicts-binary"]


@pytest.mark.parametrize("group", ["error", "DGF"])
@pytest.mark.parametrize("target", ["table-results", "table-bins"])
def test_ours_the_papers_and_the_difference(target, group, sheets, summary):
    sheet = next(sheet for sheet in sheets if sheet.name == target)
    digits, place = {"error": (2, 0), "DGF": (3, 1)}[group]
    columns = [cells(sheet, group, name) for name in ("paper", "ours", "diff")]
    pooled = cells(sheet, "pooled", "DGF")
    for row, *shown, together in zip(TABLES[target].rows, *columns, pooled, strict=True):
        found, paper = summary.methods[row.method.key], row.crime[place]
        ours = found.error if group == "error" else found.dgf[COMPARED]
        gap = ours.mean - paper.mean
        std = f"±{paper.std:.{digits - 1}f}" if paper.std else ""
        assert shown[0] == f"{paper.mean:.{digits - 1}f}{std}"
        assert shown[1] == f"{ours.mean:.{digits}f}±{ours.std:.{digits}f}"
        assert float(shown[2].replace("−", "-")) == round(gap, digits)
        assert shown[2][0] in "+−" or float(shown[2]) == 0
        assert together == f"{found.pooled.dgf[COMPARED].mean:.3f}"


@pytest.mark.parametrize(("group", "place"), [("error", 0), ("DGF", 1)])
def test_differences_in_the_papers_deviations_and_those_above_one(group, place, sheets, summary):
    shown = cells(sheets[0], group, "in sd")
    for row, cell in zip(TABLES["table-results"].rows, shown, strict=True):
        found, paper = summary.methods[row.method.key], row.crime[place]
        ours = found.error if group == "error" else found.dgf[COMPARED]
        share = (ours.mean - paper.mean) / paper.std
        assert float(cell.removesuffix(FAR).replace("−", "-")) == round(share, 1)
        assert cell.endswith(FAR) == (abs(share) > 1)


@pytest.mark.parametrize("target", ["table-epsilon", "table-bins"])
def test_a_table_without_deviations_borrows_those_of_the_first(target, sheets, summary):
    sheet = next(sheet for sheet in sheets if sheet.name == target)
    shown = [c for c in cells(sheet, "error", "in sd") if c != MISSING]
    first = {row.method: row.crime[0].std for row in TABLES["table-results"].rows}
    rows = TABLES[target].rows
    assert len(shown) == len(rows) == 12
    for row, cell in zip(rows, shown, strict=True):
        std = first[replace(row.method, epsilon=0.0, n_bins=10)]
        gap = summary.methods[row.method.key].error.mean - row.crime[0].mean
        assert float(cell.removesuffix(FAR).replace("−", "-")) == round(gap / std, 1)
    assert any("taken from its first table" in note for note in sheet.notes)
    assert not any("taken from its first" in note for note in sheets[0].notes)


def test_values_far_from_the_papers_are_marked_and_counted(sheets):
    for sheet in sheets:
        marked = [c for s in sheet.sections for row in s.rows for c in row if c.endswith(FAR)]
        counted = [note for note in sheet.notes if f"{FAR} more than one (" in note]
        assert bool(counted) == (sheet.name in TABLES and sheet.name != "table-delta")
        for note in counted:
            compared = 2 * len(TABLES[sheet.name].rows)
            assert f"({len(marked)} of {compared} values)" in note
    assert any(cell.endswith(FAR) for cell in cells(sheets[0], "error", "in sd"))


@pytest.mark.parametrize("target", ["table-results", "table-bins"])
def test_what_stands_beside_the_means(target, sheets, summary):
    sheet = next(sheet for sheet in sheets if sheet.name == target)
    names = (("DGF", AVERAGE_NAMES[OTHER]), ("pooled", "chance"), ("pooled", "p"))
    columns = [cells(sheet, *name) for name in names]
    for row, *shown in zip(TABLES[target].rows, *columns, strict=True):
        found = summary.methods[row.method.key]
        values = (found.dgf[OTHER].mean, found.pooled.chance, found.pooled.p)
        assert shown == [f"{value:.3f}" for value in values]


def test_sections_are_those_of_the_paper(sheets):
    for sheet in sheets[: len(TABLES)]:
        titles = [section.title for section in sheet.sections]
        assert [title for title in titles if title] == list(INCLUDED.values())
        learners = {row.method.learner for row in TABLES[sheet.name].rows}
        assert len(titles) == 2 * len(learners)


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


def test_dgfs_of_different_bins_are_shown_alike_too(sheets, summary):
    sheet = next(sheet for sheet in sheets if sheet.name == "table-bins")
    assert set(cells(sheet, "", "K")) == {"5", "10", "20"}
    for row, shown in zip(TABLES["table-bins"].rows, cells(sheet, "DGF", "at K = 10"), strict=True):
        found = summary.methods[row.method.key]
        assert shown == f"{found.usual_dgf[COMPARED].mean:.3f}"
    older = {key: replace(found, usual_dgf={}) for key, found in summary.methods.items()}
    sheet = build_table("table-bins", replace(summary, methods=older))
    assert set(cells(sheet, "DGF", "at K = 10")) == {MISSING}


def test_delta_is_shown_as_sum_and_as_average(sheets, summary):
    sheet = next(sheet for sheet in sheets if sheet.name == "table-delta")
    rows = TABLES["table-delta"].rows
    for i, row in enumerate(rows):
        delta = summary.methods[row.method.key].delta
        assert cells(sheet, "Δ̂", "paper")[i] == f"{row.crime[0].mean:.2f}"
        for group, name, key, digits in (
            ("Δ̂", "average", "train_pairs", 3),
            ("Δ̂", "sum", "train_sum", 2),
            ("test rows", "average", "pairs", 3),
            ("test rows", "sum", "sum", 2),
        ):
            assert cells(sheet, group, name)[i] == show_spread(delta[key], digits)


@pytest.mark.parametrize("study", ["binary", "continuous"])
def test_nothing_is_compared_for_other_data(study, records):
    records = records if study == "binary" else make_records(study, n_repeats=1)
    records = [{**record, "data": "pupils"} for record in records]
    findings = check_claims(records)
    summary = summarize(records)
    claims = [build_claims(findings, summary), build_verdicts(findings, summary)]
    for sheet in [*build_tables(summary), *claims]:
        names = {column.name for column in sheet.columns}
        assert not names & {"paper", "diff", "in sd"}
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
    assert any(
        "3 outer folds; whole repeats of the cross-validation: 0" in note for note in sheet.notes
    )


def test_folds_without_a_dgf_are_mentioned(summary):
    key = TABLES["table-results"].rows[0].method.key
    found = summary.methods[key]
    partial = replace(found, dgf={**found.dgf, COMPARED: Spread(0.1, 0.1, 7, missing=3)})
    changed = replace(summary, methods={**summary.methods, key: partial})
    assert any("3 folds" in note for note in build_table("table-results", changed).notes)


def test_claims_show_every_finding(records, summary):
    findings = check_claims(records)
    sheet = build_claims(findings, summary)
    assert [section.title for section in sheet.sections] == list(
        dict.fromkeys(finding.comparison.claim for finding in findings)
    )
    rows = [row for section in sheet.sections for row in section.rows]
    for finding, row in zip(findings, rows, strict=True):
        digits = 2 if finding.comparison.measure == ERROR else 3
        before, difference, low, high = (
            f"{value:.{digits}f}"
            for value in (finding.before, finding.difference, finding.low, finding.high)
        )
        shown = [cell.replace("−", "-").replace("+", "") for cell in row]
        assert shown[:3] == [finding.comparison.case, before, difference]
        assert shown[3] == f"{low} to {high}"
        if finding.before > 0:
            assert float(shown[4]) == pytest.approx(finding.percent, abs=0.051)
        else:
            assert shown[4] == MISSING
        if finding.published is None:
            assert shown[5] == MISSING
        else:
            assert float(shown[5]) == pytest.approx(finding.published, abs=1e-9)
        assert shown[6] == finding.verdict


def test_verdicts_count_the_comparisons(records, summary):
    findings = check_claims(records)
    sheet = build_verdicts(findings, summary)
    counted = [sum(int(row[place]) for row in sheet.sections[0].rows) for place in range(1, 4)]
    assert sum(counted) == len(findings)
    for row in sheet.sections[0].rows:
        verdicts = [f.verdict for f in findings if f.comparison.claim == row[0]]
        shown = [verdicts.count(verdict) for verdict in (HOLDS, UNCLEAR, REVERSED)]
        assert list(row[1:4]) == list(map(str, shown))
    assert build_claims([], summary).sections == ()
