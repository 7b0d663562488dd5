"""`gferm frontier`: the library's breakpoints, as a table, a file and a picture."""

import os

import numpy as np
import pandas as pd
import pytest

from gferm import frontier
from gferm.tables.preparation import TablePreparation
from tests.cli.people import NUMBERS, assert_refused, invoke, people, report, succeed

FEATURES = ["age", "income", "region", "member", "origin"]


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_breakpoints_are_the_librarys(kernel, csv, tmp_path):
    out = tmp_path / "frontier.csv"
    ask = (*NUMBERS, "--sensitive", "sex", "--kernel", kernel, "--alpha", "0.5", "--out", out)
    found = report("frontier", csv, *ask)
    table = people()
    path = frontier(
        TablePreparation().fit_transform(table[FEATURES]),
        table["salary"],
        sensitive_features=table["sex"],
        kernel=kernel,
        alpha=0.5,
        y_bins=3,
    )
    read = pd.read_csv(out)
    assert found["rows"] == len(table)
    for points in (pd.DataFrame(found["breakpoints"]), read):
        np.testing.assert_allclose(points["epsilon"], path.epsilons, atol=1e-12)
        np.testing.assert_allclose(points["mse"], path.mean_squared_errors)
        price = 100 * (path.objectives / path.objectives[0] - 1)
        np.testing.assert_allclose(points["price_percent"], price, atol=1e-9)


@pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_a_picture(kind, start, csv, tmp_path):
    picture = tmp_path / f"f.{kind}"
    done = succeed("frontier", csv, *NUMBERS, "--sensitive", "sex", "--picture", picture)
    assert picture.read_bytes().startswith(start)
    assert "Price of fairness" in done.stdout
    assert os.listdir(tmp_path) == [picture.name]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--picture", "f.bmp"), ["f.bmp", ".png"]),
        (("--out", "f.xlsx"), ["f.xlsx", ".csv"]),
        (("--target", "hired"), ["target 'hired' is not numeric"]),
        (("--kernel", "lin"), ["--kernel 'lin'", "did you mean 'linear'?"]),
    ],
)
def test_bad_options(options, words, csv, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ask = {"--target": "salary", "--sensitive": "sex"} | dict([options])
    given = [word for pair in ask.items() for word in pair]
    done = invoke("frontier", csv, *given)
    assert_refused(done, *(word for word in words if "classification" not in word))
    assert os.listdir(tmp_path) == []
