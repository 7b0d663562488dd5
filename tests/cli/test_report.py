"""`gferm report`: the page of the library's audit, with the frontier of the other rows."""

import json
import os
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import train_test_split

from gferm import audit, frontier
from gferm.tables.model_file import load_model
from gferm.tables.preparation import TablePreparation
from tests.cli.people import (
    FORMULA,
    MARKUP,
    NUMBERS,
    SCRIPT,
    assert_refused,
    invoke,
    people,
    report,
    scored,
    succeed,
)

FEW = ("--n-boot", "10", "--n-permutations", "60")
DRAWS = {"n_boot": 10, "n_permutations": 60}
ASK = ("--target", "salary", "--sensitive", "sex", "--drop", "hired,weight", "--y-bins", "2")
FEATURES = ["age", "income", "region", "member", "origin"]


def data_of(page):
    text = page.read_text(encoding="utf-8")
    return json.loads(
        re.search(r'<script type="application/json" id="data">(.*?)</script>', text)[1]
    )


def plain(found):
    return {name: found[name] for name in found if name not in ("report", "out", "notes")}


@pytest.fixture
def page(tmp_path):
    return tmp_path / "page.html"


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_plain_model_of_the_other_rows_is_judged(kernel, csv, page):
    done = report("report", csv, *ASK, *FEW, "--kernel", kernel, "--out", page, "--seed", "3")
    table = people()
    learned, judged = map(np.sort, train_test_split(np.arange(240), test_size=0.33, random_state=3))
    preparation = TablePreparation().fit(table.loc[learned, FEATURES])
    matrix = preparation.transform(table[FEATURES])
    y, sex = table["salary"], table[["sex"]]
    edges = [y.min(), (y.min() + y.max()) / 2, y.max()]
    traced = frontier(
        matrix[learned],
        y[learned],
        sensitive_features=sex.loc[learned],
        kernel=kernel,
        y_bins=edges,
    )
    expected = audit(
        y[judged].to_numpy(),
        traced.predict(matrix[judged])[0],
        sensitive_features=sex.loc[judged].reset_index(drop=True),
        y_bins=edges,
        random_state=3,
        **DRAWS,
    )
    for name, figure in expected.figures.items():
        assert done["figures"][name]["value"] == pytest.approx(figure.value, nan_ok=True)
    found = data_of(page)
    assert found["stops"][0]["epsilon"] == pytest.approx(traced.epsilons[0])
    assert found["stops"][-1]["epsilon"] == 0
    assert sum(stop["breakpoint"] for stop in found["stops"]) == len(traced.epsilons)


def test_the_page_holds_what_json_says(csv, page):
    done = report("report", csv, *ASK, *FEW, "--out", page, "--title", "Pay & <sex>")
    assert (done["report"], done["notes"]) == (str(page), [])
    assert data_of(page)["audit"] == plain(done)
    assert "<title>Pay &amp; &lt;sex&gt;</title>" in page.read_text(encoding="utf-8")


def test_what_people_read(csv, page):
    done = succeed("report", csv, *ASK, *FEW, "--out", page)
    assert data_of(page)["audit"]["verdict"][0]["text"] in " ".join(done.stdout.split())
    assert f"Wrote {page}; open it in a browser." in done.stdout
    assert done.stderr == ""
    assert "<title>Fairness of people.csv</title>" in page.read_text(encoding="utf-8")
    assert os.listdir(page.parent) == [page.name]


def test_a_column_is_judged_beside_the_frontier_and_is_no_feature(scored_csv, page):
    ask = ("--target", "salary", "--sensitive", "sex", "--y-bins", "2", "--prediction", "score")
    drop = ("--drop", "hired,weight,noise,said,share,won,called")
    done = report("report", scored_csv, *ask, *drop, *FEW, "--out", page)
    table = scored()
    judged = np.sort(train_test_split(np.arange(240), test_size=0.33, random_state=0)[1])
    error = np.abs(table["score"] - table["salary"])[judged].mean()
    assert done["figures"]["error"]["value"] == pytest.approx(error)
    plain_model = data_of(page)["stops"][0]["figures"]["error"]["value"]
    assert plain_model == report("report", *_without_scores(page), *ASK, *FEW, "--out", page)[
        "figures"]["error"]["value"]  # fmt: skip


def _without_scores(page):
    path = page.with_name("people.csv")
    people().to_csv(path, index=False)
    return (path,)


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_the_share_of_rows_that_are_judged(share, csv, page):
    done = report("report", csv, *ASK, *FEW, "--test-size", share, "--out", page)
    assert done["n_rows"] == 240 * share


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_model_brings_its_columns_and_bins(kind, tmp_path, page):
    model, path, table = tmp_path / "m.skops", tmp_path / f"t.{kind}", people()
    table["day"] = pd.date_range("2020-01-01", periods=240).astype(str)  # no feature
    table["code"] = 1 + table.index % 3
    table.to_csv(path, index=False) if kind == "csv" else table.to_parquet(path)
    ask = ("--drop", "hired,weight,day", "--categorical", "code", "--sensitive", "sex")
    succeed("fit", path, "--target", "salary", *ask, "--y-bins", "3", "--out", model)
    done = report("report", path, "--model", model, *FEW, "--out", page)
    assert done["label_bins"] == list(load_model(model).model.cells_.label_bins.labels)
    stops = data_of(page)["stops"]
    succeed("report", path, "--target", "salary", *ask, "--y-bins", "3", *FEW, "--out", page)
    assert stops == data_of(page)["stops"]


@pytest.mark.parametrize(
    "ask",
    [
        ("--target", "hired", "--prediction", "said"),
        ("--target", "won", "--prediction", "called"),  # as gferm audit takes them
    ],
)
def test_classes_have_a_page_without_frontier(ask, scored_csv, page):
    done = report("report", scored_csv, *ask, "--sensitive", "sex", *FEW, "--out", page)
    assert data_of(page)["stops"] == []
    audited = report("audit", scored_csv, *ask, "--sensitive", "sex", *FEW)
    assert plain(done) == plain(audited)
    assert done["n_rows"] == 240
    assert len(done["label_bins"]) == 2


def test_the_frontier_is_of_the_models_kernel_unless_another_is_asked_for(csv, page, tmp_path):
    model = tmp_path / "m.skops"
    kernel = {"kernel": "rbf", "gamma": "0.2", "alpha": "0.7"}
    words = [word for name, value in kernel.items() for word in (f"--{name}", value)]
    succeed("fit", csv, *NUMBERS, "--sensitive", "sex", *words, "--out", model)

    def first_stop(*options):
        succeed("report", csv, *FEW, *options, "--out", page)
        return data_of(page)["stops"][0]["epsilon"]

    ask = ("--target", "salary", "--sensitive", "sex", "--drop", "hired,weight", "--y-bins", "3")
    assert first_stop("--model", model) == first_stop(*ask, *words)
    another = first_stop("--model", model, "--kernel", "linear")
    assert another == first_stop(*ask, "--kernel", "linear", "--alpha", "0.7")
    assert another != first_stop("--model", model)


def test_a_saved_classifier(classes_model, csv, page):
    done = report("report", csv, "--model", classes_model, *FEW, "--out", page)
    assert done["label_bins"] == ["no", "yes"]
    assert data_of(page)["audit"] == plain(done)


def test_weights_margins_and_sensitive_features(csv, page):
    ask = ("--target", "salary", "--sensitive", "sex,origin", "--y-bins", "2", "--drop", "hired")
    more = ("--weight", "weight", "--marginal", "--include-sensitive", "--match", "residual")
    done = report("report", csv, *ask, *more, *FEW, "--out", page)
    assert done["attributes"] == ["sex", "origin"]
    assert done["settings"]["weighted"]


def test_hostile_names_are_text(tmp_path, page):
    path, table = tmp_path / "t.csv", people()
    table["sex"] = table["sex"].map({"m": SCRIPT, "f": FORMULA})
    table = table.rename(columns={"sex": MARKUP, "region": SCRIPT, "salary": FORMULA})
    table.to_csv(path, index=False)
    ask = ("--target", FORMULA, "--sensitive", MARKUP, "--drop", "hired", "--y-bins", "2")
    done = report("report", path, *ask, *FEW, "--out", page, "--title", SCRIPT)
    assert done["attributes"] == [MARKUP]
    assert SCRIPT not in page.read_text(encoding="utf-8")
    assert data_of(page)["partitions"][0]["groups"] == sorted([SCRIPT, FORMULA])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--kernel", "rfb"), ["--kernel 'rfb'", "did you mean 'rbf'?"]),
        (("--drop", "agee"), ["--drop 'agee'", "did you mean 'age'?"]),
        (("--categorical", "agee"), ["--categorical 'agee'", "did you mean 'age'?"]),
        (("--drop", "age,income,region,member,origin,hired,weight"), ["no column is left"]),
        (("--target", "hired"), ["'hired' holds classes", "--prediction COLUMN or --model FILE"]),
        (("--out", "nowhere/page.html"), ["there is no folder nowhere"]),
        (("--out", "."), ["is a folder"]),
        (("--prediction", "age", "--model", "m.skops"), ["--prediction and --model"]),
    ],
)
def test_bad_options(options, words, csv, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ask = dict(zip(ASK[::2], ASK[1::2], strict=True))
    ask |= dict(zip(options[::2], options[1::2], strict=True))
    given = [word for pair in ask.items() for word in pair]
    assert_refused(invoke("report", csv, *given), *words)
    assert os.listdir(tmp_path) == []


def test_a_kernel_matrix_that_fits_nowhere(csv, page, monkeypatch):
    monkeypatch.setattr(os, "sysconf", lambda name: 64)
    done = invoke("report", csv, *ASK, "--kernel", "rbf", "--out", page)
    assert_refused(done, "kernel matrix of 240 rows", "--kernel linear")
    assert not page.exists()


def test_too_few_rows_to_split(tmp_path, page):
    path = tmp_path / "few.csv"
    for n_rows in (1, 2):
        people()[:n_rows].to_csv(path, index=False)
        done = invoke("report", path, *ASK, "--out", page)
        assert_refused(done, f"--test-size 0.33 of {n_rows} rows", "give more rows")
    assert not page.exists()


def test_a_saved_model_keeps_its_file(numbers_model, csv):
    before = numbers_model.read_bytes()
    done = invoke("report", csv, *NUMBERS[:2], "--model", numbers_model, "--out", numbers_model)
    assert_refused(done, "is a file that is read")
    assert numbers_model.read_bytes() == before
