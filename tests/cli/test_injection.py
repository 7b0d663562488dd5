"""Names and words from a file are text everywhere: in the terminal, in CSV, in JSON, in errors."""

from io import StringIO

import pandas as pd
import pytest

from gferm.cli.write_table import safe_for_spreadsheets
from tests.cli.people import (
    FORMULA,
    MARKUP,
    SCRIPT,
    assert_refused,
    invoke,
    people,
    report,
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


def test_which_texts_are_guarded():
    texts = ["=1", "+a", "-a", "@a", "\ta", "\ra", "-1.5", "+2e-3", "a=1", "", None, " =1"]
    expected = ["'=1", "'+a", "'-a", "'@a", "'\ta", "'\ra", "-1.5", "+2e-3", "a=1", "", None, " =1"]
    table = pd.DataFrame({"-n": pd.Series(texts, dtype=object), "x": range(12)})
    safe = safe_for_spreadsheets(table)
    assert [None if pd.isna(text) else text for text in safe["'-n"]] == expected
    assert safe["x"].tolist() == list(range(12))
    assert table.columns.tolist() == ["-n", "x"]  # the original is untouched
    groups = pd.DataFrame({"g": pd.Categorical(["=a", "b"])})
    assert safe_for_spreadsheets(groups)["g"].tolist() == ["'=a", "b"]
