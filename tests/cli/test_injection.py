"""Names and words from a file are text everywhere: in the terminal, in CSV, in JSON, in errors."""

from io import StringIO

import pandas as pd
import pytest

from tests.cli.people import (
    FORMULA,
    MARKUP,
    SCRIPT,
    assert_refused,
    invoke,
    people,
    report,
    scored,
    succeed,
)

NAMES = {"income": SCRIPT, "region": FORMULA, "sex": MARKUP}
ASK = ("--target", "salary", "--drop", "hired,weight", "--sensitive", MARKUP, "--y-bins", "3")


@pytest.fixture
def hostile(tmp_path):
    table = people().rename(columns=NAMES)
    table[MARKUP] = table[MARKUP].map({"m": "[bold]@m", "f": "=f()"})
    table[FORMULA] = table[FORMULA].map({"north": "=1+1", "south": "-x", "west": "@SUM(A1)"})
    path = tmp_path / "hostile.csv"
    table.to_csv(path, index=False)
    return path


def test_names_are_text_in_the_terminal(hostile, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    said = succeed("fit", hostile, *ASK, "--out", tmp_path / "m.skops").stdout
    for text in (MARKUP, FORMULA, "[bold]@m", "=f()"):
        assert text in said


def test_names_are_text_in_json(hostile, tmp_path):
    found = report("fit", hostile, *ASK, "--out", tmp_path / "m.skops")
    assert {SCRIPT, FORMULA} <= set(found["features"])
    assert found["sensitive"] == [MARKUP]
    assert found["cells"][0]["groups"] == ["=f()", "[bold]@m"]


@pytest.mark.parametrize("name", [SCRIPT, FORMULA, MARKUP])
def test_names_are_text_in_errors(name, hostile):
    done = invoke("fit", hostile, "--target", name[:-1], "--sensitive", MARKUP)
    assert_refused(done, repr(name))


def test_a_csv_is_safe_in_a_spreadsheet(hostile, tmp_path):
    model, out = tmp_path / "m.skops", tmp_path / "out.csv"
    succeed("fit", hostile, *ASK, "--out", model)
    succeed("predict", model, hostile, "--keep", "--out", out)
    streamed = succeed("predict", model, hostile, "--keep").stdout
    for read in (pd.read_csv(out, dtype=str), pd.read_csv(StringIO(streamed), dtype=str)):
        assert f"'{FORMULA}" in read.columns
        texts = [*read.columns, *read[f"'{FORMULA}"].dropna(), *read[MARKUP]]
        unsafe = [text for text in texts if text[0] in "=+-@\t\r"]
        assert unsafe == []
        assert {"'=1+1", "'@SUM(A1)", "'-x", "'=f()"} <= set(texts)
        assert read["salary"].astype(float).min() < 0  # numbers are as they were


def test_a_column_that_is_called_like_an_argument_keeps_its_name(tmp_path):
    model, path, table = tmp_path / "m.skops", tmp_path / "t.csv", people()
    table = table.rename(columns={"region": "y_pred"})
    table.to_csv(path, index=False)
    ask = ("--target", "salary", "--drop", "hired,weight", "--y-bins", "3", "--sensitive", "sex")
    succeed("fit", path, *ask, "--out", model)
    table.assign(y_pred="moon").to_csv(path, index=False)
    assert "column 'y_pred' has 240 rows" in succeed("predict", model, path).stderr


ESCAPE = "a\x1b[2Jb"  # clears a terminal


@pytest.fixture
def judged(tmp_path):
    """A table whose columns and groups are hostile, with predictions."""
    path, table = tmp_path / "judged.csv", scored().rename(columns={"sex": MARKUP})
    table[MARKUP] = table[MARKUP].map({"m": FORMULA, "f": f"{SCRIPT} {ESCAPE}"})
    table.to_csv(path, index=False)
    return path


JUDGE = ("--target", "salary", "--prediction", "score", "--sensitive", MARKUP, "--y-bins", "2")
DRAWS = ("--n-boot", "0", "--n-permutations", "60")


def test_names_are_text_in_an_audit(judged, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    said = succeed("audit", judged, *JUDGE, *DRAWS).stdout
    for text in (MARKUP, FORMULA, SCRIPT, r"a\x1b[2Jb"):
        assert text in said
    assert "\x1b" not in said
    found = report("audit", judged, *JUDGE, *DRAWS)
    assert found["attributes"] == [MARKUP]
    assert {cell["group"] for cell in found["cells"]} == {FORMULA, f"{SCRIPT} {ESCAPE}"}


def test_names_are_text_in_the_page_and_the_table_of_an_audit(judged, tmp_path):
    page, out = tmp_path / "page.html", tmp_path / "cells.csv"
    succeed("audit", judged, *JUDGE, *DRAWS, "--report", page, "--out", out)
    assert SCRIPT not in page.read_text(encoding="utf-8")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.read_text(encoding="utf-8")
    read = pd.read_csv(out)
    assert set(read["group"]) == {f"'{FORMULA}", f"{SCRIPT} {ESCAPE}"}


def test_names_are_text_in_the_errors_of_an_audit(judged):
    ask = ("--target", "salary", "--prediction", "score", "--sensitive", MARKUP[:-1])
    assert_refused(invoke("audit", judged, *ask), repr(MARKUP))
