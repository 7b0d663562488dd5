"""`gferm audit`: the library's audit of a column or of a saved model, in every form it comes in."""

import pandas as pd
import pytest

from gferm import Bins, audit
from gferm.tables.model_file import load_model
from tests.cli.people import NUMBERS, assert_refused, invoke, people, report, scored, succeed

FEW = ("--n-boot", "20", "--n-permutations", "60")
DRAWS = {"n_boot": 20, "n_permutations": 60}
SCORE = ("--target", "salary", "--prediction", "score")
SAID = ("--target", "hired", "--prediction", "said", "--sensitive", "sex")
TWO = ("--target", "won", "--prediction", "called", "--sensitive", "sex")
SEX = ("--sensitive", "sex", "--y-bins", "3")


def figures(*words):
    """Give what --json says of the audit alone."""
    found = report("audit", *words, *FEW)
    return {name: found[name] for name in found if name not in ("report", "out", "notes")}


CASES = {  # options; columns of target, prediction and groups; arguments
    "numbers": ((*SCORE, *SEX), "salary score sex", {"y_bins": 3}),
    "quantiles": (
        (*SCORE, "--sensitive", "sex", "--y-bins", "quantile:4"),
        "salary score sex",
        {"y_bins": Bins.quantile(4)},
    ),
    "everybody": (
        (*SCORE, "--sensitive", "sex", "--y-bins", "1"),
        "salary score sex",
        {"y_bins": 1},
    ),
    "options": (
        (*SCORE, *SEX, "--loss", "squared", "--min-cell-size", "9", "--seed", "5"),
        "salary score sex",
        {"y_bins": 3, "loss": "squared", "min_cell_size": 9, "random_state": 5},
    ),
    "crossed": (
        (*SCORE, "--sensitive", "sex,origin", "--y-bins", "2"),
        "salary score sex origin",
        {"y_bins": 2},
    ),
    "margins": (
        (*SCORE, "--sensitive", "sex", "--sensitive", "origin", "--y-bins", "2", "--marginal"),
        "salary score sex origin",
        {"y_bins": 2, "intersectional": False},
    ),
    "bins of one": (
        (*SCORE, "--sensitive", "sex,income", "--s-bins", "income=4", "--y-bins", "2"),
        "salary score sex income",
        {"y_bins": 2, "s_bins": {"income": 4}},
    ),
    "continuous": (
        (*SCORE, "--sensitive", "income", "--s-bins", "continuous", "--y-bins", "2"),
        "salary score income",
        {"y_bins": 2, "s_bins": "continuous"},
    ),
    "classes": (SAID, "hired said sex", {}),
    "one class": ((*SAID, "--y-bins", "yes"), "hired said sex", {"y_bins": ["yes"]}),
    "classes as one": ((*SAID, "--y-bins", "1"), "hired said sex", {"y_bins": 1}),
    "two numbers": (TWO, "won called sex", {}),
    "two numbers as classes": ((*TWO, "--y-bins", "classes"), "won called sex", {}),
    "one number": ((*TWO, "--y-bins", "1,"), "won called sex", {"y_bins": Bins.categories([1])}),
    "shares": (
        ("--target", "won", "--prediction", "share", "--sensitive", "sex", "--y-bins", "2"),
        "won share sex",
        {"y_bins": 2},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_audit_is_the_librarys(case, scored_csv):
    words, columns, arguments = CASES[case]
    target, prediction, *groups = columns.split()
    table = scored()
    expected = audit(
        table[target], table[prediction], sensitive_features=table[groups], **arguments, **DRAWS
    )
    assert figures(scored_csv, *words) == expected.to_dict()


def test_a_class_without_labels_can_be_named(tmp_path):
    path, table = tmp_path / "t.csv", scored()
    table.loc[:9, "said"] = "maybe"
    table.to_csv(path, index=False)
    assert_refused(invoke("audit", path, *SAID, *FEW), "holds 'maybe'", "--y-bins")
    names = ["no", "yes", "maybe"]
    expected = audit(
        table["hired"],
        table["said"],
        sensitive_features=table[["sex"]],
        y_bins=Bins.categories(names),
        **DRAWS,
    )
    assert figures(path, *SAID, "--y-bins", ",".join(names)) == expected.to_dict()


def test_weights(scored_csv):
    table = scored()
    expected = audit(
        table["salary"],
        table["score"],
        sensitive_features=table[["sex"]],
        sample_weight=table["weight"],
        y_bins=3,
        **DRAWS,
    )
    found = figures(scored_csv, *SCORE, *SEX, "--weight", "weight")
    assert found["settings"]["weighted"]
    assert found == expected.to_dict()


def test_rows_that_lack_something_are_left_out_and_noted(scored_csv):
    done = succeed("audit", scored_csv, *SCORE, "--sensitive", "age", "--drop-missing", *FEW)
    assert done.stderr.startswith("Note: 1 rows are left out")
    assert "Audit of 239 rows" in done.stdout


def test_numbers_may_be_taken_as_groups_as_they_are_written(scored_csv):
    ask = (*SCORE, "--y-bins", "1", "--sensitive", "age", "--categorical", "age", "--drop-missing")
    groups = [group["group"] for group in figures(scored_csv, *ask)["groups"]]
    assert groups == sorted(f"{age:g}.0" for age in set(scored()["age"].dropna()))


# -- a saved model ------------------------------------------------------------------------------


def test_the_audit_of_a_model_is_that_of_its_predictions(numbers_model, csv, tmp_path):
    out = tmp_path / "predicted.csv"
    succeed("predict", numbers_model, csv, "--keep", "--out", out)
    ask = ("--target", "salary", "--prediction", "prediction", "--sensitive", "sex,origin")
    by_column = figures(out, *ask, "--y-bins", "3")
    assert figures(csv, "--model", numbers_model) == by_column


@pytest.mark.parametrize("name", ["numbers", "classes"])
def test_target_attributes_and_bins_are_those_of_the_model(name, request, tmp_path):
    model, path = request.getfixturevalue(f"{name}_model"), tmp_path / "new.csv"
    people(60, seed=1).to_csv(path, index=False)
    found, cells = figures(path, "--model", model), load_model(model).model.cells_
    assert found["label_bins"] == list(cells.label_bins.labels)
    assert found["attributes"] == [part.name for part in cells.partitions]
    assert found["task"] == name
    wider = figures(path, "--model", model, "--sensitive", "region", "--drop-missing")
    assert wider["attributes"] == ["region"]
    assert wider["label_bins"] == found["label_bins"]


def test_groups_are_those_of_the_model(csv, tmp_path):
    model, path = tmp_path / "m.skops", tmp_path / "new.csv"
    ask = ("--sensitive", "income", "--s-bins", "quantile:3", "--out", model)
    succeed("fit", csv, *NUMBERS, *ask)
    people(60, seed=1).to_csv(path, index=False)
    groups = [group["group"] for group in figures(path, "--model", model)["groups"]]
    assert groups == list(load_model(model).model.cells_.partitions[0].groups)
    asked = figures(path, "--model", model, "--s-bins", "2", "--y-bins", "2")
    assert (len(asked["groups"]), len(asked["label_bins"])) == (2, 2)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_numbers_that_were_groups_in_the_fit_are_groups_here(kind, tmp_path):
    model, path, table = tmp_path / "m.skops", tmp_path / f"t.{kind}", people()
    table["code"] = 1 + table.index % 3
    if kind == "csv":
        table["code"] = "0" + table["code"].astype(str)
        table.to_csv(path, index=False)
    else:
        table.to_parquet(path)
    ask = ("--sensitive", "code", "--categorical", "code", "--out", model)
    succeed("fit", path, *NUMBERS, *ask)
    groups = [group["group"] for group in figures(path, "--model", model)["groups"]]
    assert groups == [f"{'0' * (kind == 'csv')}{code}" for code in (1, 2, 3)]


# -- what is written ----------------------------------------------------------------------------


@pytest.mark.parametrize("table", ["cells", "groups", "figures", "gaps"])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_tables(table, kind, scored_csv, tmp_path):
    out, people_ = tmp_path / f"t.{kind}", scored()
    done = succeed("audit", scored_csv, *SCORE, *SEX, *FEW, "--out", out, "--table", table)
    assert f"Wrote {out}." in done.stdout
    expected = audit(
        people_["salary"],
        people_["score"],
        sensitive_features=people_[["sex"]],
        y_bins=3,
        **DRAWS,
    ).to_frame(table)
    if kind == "csv":
        assert out.read_text() == expected.to_csv(index=False, lineterminator="\n")
    else:
        pd.testing.assert_frame_equal(pd.read_parquet(out), expected, check_dtype=False)


def test_a_page_a_table_and_json_at_once(scored_csv, tmp_path):
    page, out = tmp_path / "page.html", tmp_path / "cells.csv"
    done = report("audit", scored_csv, *SCORE, *SEX, *FEW, "--report", page, "--out", out)
    assert (done["report"], done["out"], done["notes"]) == (str(page), str(out), [])
    text = page.read_text(encoding="utf-8")
    assert "<title>Audit of scored.csv</title>" in text
    assert done["verdict"][0]["text"] in text
    assert len(pd.read_csv(out)) == len(done["cells"])


def test_what_people_read(scored_csv):
    done = succeed("audit", scored_csv, *SCORE, *SEX, *FEW)
    for words in (
        "Audit of 240 rows: sex; 3 label bins",
        "● ",
        "mean gap",
        "Whole groups",
        "Cells",
    ):
        assert words in done.stdout
    assert done.stderr == ""


# -- exit codes ---------------------------------------------------------------------------------

ENOUGH = ("--n-boot", "0", "--n-permutations", "200")


@pytest.mark.parametrize(("prediction", "code"), [("score", 1), ("noise", 0)])
@pytest.mark.parametrize("json", [("--json",), ()])
def test_check_ends_with_1_for_an_unfair_column(prediction, code, json, scored_csv):
    ask = ("--target", "salary", "--prediction", prediction, *SEX, *ENOUGH)
    assert invoke("audit", scored_csv, *ask, *json).exit_code == 0
    done = invoke("audit", scored_csv, *ask, *json, "--check")
    assert done.exit_code == code
    assert done.stderr == ""
    assert done.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--n-permutations", "0"), ["--check", "--n-permutations above 0"]),
        (("--n-permutations", "5"), ["not known", "--n-permutations=60"]),
        (("--min-cell-size", "500"), ["not known"]),
    ],
)
def test_check_never_takes_the_unknown_for_fair(options, words, scored_csv, tmp_path):
    out = tmp_path / "cells.csv"
    ask = (*SCORE, *SEX, "--n-boot", "0", *options, "--check", "--out", out)
    assert_refused(invoke("audit", scored_csv, *ask), *words)
    assert not out.exists()
