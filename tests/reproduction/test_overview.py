"""The overview counts what the tables mark."""

import re

import pytest
from reproduction.paper import TABLES
from reproduction.summary import summarize
from reproduction.tables import WHY, build_overview, build_table

from gferm.printed.table import FAR
from tests.reproduction.synthetic import make_records


@pytest.fixture(scope="module")
def summaries():
    return {
        study: summarize(make_records(study, n_repeats=1)) for study in ("binary", "continuous")
    }


@pytest.fixture(scope="module")
def sheet(summaries):
    return build_overview(summaries)


def test_every_value_is_counted_once(sheet, summaries):
    compared = [table for table in TABLES.values() if table.target != "table-delta"]
    assert [section.title for section in sheet.sections] == [table.title for table in compared]
    for section, table in zip(sheet.sections, compared, strict=True):
        full = build_table(table.target, summaries[table.study])
        places = [i for i, column in enumerate(full.columns) if column.name == "in sd"]
        assert sum(int(row[1]) for row in section.rows) == len(table.rows)
        for place, column in zip(places, (2, 4), strict=True):
            near, of = zip(
                *(map(int, row[column].split(" of ")) for row in section.rows), strict=True
            )
            marked = [row[place].endswith(FAR) for part in full.sections for row in part.rows]
            assert sum(of) == len(table.rows)
            assert sum(of) - sum(near) == sum(marked)


def test_kinds_of_methods_have_their_own_line(sheet):
    names = [[row[0] for row in section.rows] for section in sheet.sections]
    assert names == [["Naive", "NVM", "NVM Fair"], ["NVM Fair"], ["NVM Fair"], ["NVM", "NVM Fair"]]


def test_differences_are_means_of_the_rows(sheet, summaries):
    rows = [row for row in TABLES["table-results"].rows if row.method.naive]
    gaps = [summaries["binary"].methods[r.method.key].error.mean - r.crime[0].mean for r in rows]
    shown = sheet.sections[0].rows[0][3].replace("−", "-")
    assert float(shown) == pytest.approx(sum(gaps) / 4, abs=0.0051)


def test_delta_and_the_reasons_are_in_the_notes(sheet, summaries):
    ratios = [
        summaries["binary"].methods[row.method.key].delta["train_pairs"].mean / row.crime[0].mean
        for row in TABLES["table-delta"].rows
    ]
    (note,) = (note for note in sheet.notes if "Δ̂" in note)
    low, high = map(float, re.findall(r"\d+\.\d", note))
    assert (low, high) == pytest.approx((min(ratios), max(ratios)), abs=0.051)
    assert sheet.notes[-1] == WHY


def test_a_run_that_was_stopped_has_fewer_rows(summaries):
    key = TABLES["table-results"].rows[0].method.key
    few = {
        study: summarize(
            [
                {
                    **record,
                    "models": {
                        k: m for k, m in record["models"].items() if k == key or study != "binary"
                    },
                }
                for record in make_records(study, n_repeats=1)[:3]
            ]
        )
        for study in summaries
    }
    first = build_overview(few).sections[0]
    assert [row[1] for row in first.rows] == ["1", "0", "0"]
    assert first.rows[1][2:4] == ("0 of 0", "–")
