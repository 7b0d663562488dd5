"""`gferm predict`: the model's own predictions, next to what the user keeps."""

import json
import subprocess
import sys
from io import StringIO

import numpy as np
import pandas as pd
import pytest

from gferm.tables.model_file import load_model
from tests.cli.people import assert_refused, invoke, people, report, succeed


@pytest.fixture
def new(tmp_path):
    """People the models have not seen, without target and sensitive attributes."""
    path = tmp_path / "new.csv"
    people(20, seed=1).drop(columns=["salary", "hired", "sex", "weight"]).to_csv(path, index=False)
    return path


def expected(model, seed=1):
    return load_model(model).pipeline.predict(people(20, seed=seed))


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "tsv", "parquet"])
def test_files(kind, numbers_model, new, tmp_path):
    out = tmp_path / f"predictions.{kind}"
    done = succeed("predict", numbers_model, new, "--out", out)
    assert "20 predictions" in done.stdout
    read = (
        pd.read_parquet(out)
        if kind == "parquet"
        else pd.read_csv(out, sep="\t" * (kind == "tsv") or ",")
    )
    assert read.columns.tolist() == ["prediction"]
    np.testing.assert_array_equal(read["prediction"], expected(numbers_model))


def test_a_csv_on_stdout(numbers_model, new):
    done = succeed("predict", numbers_model, new, "--id", "origin,age", "--name", "pay")
    read = pd.read_csv(StringIO(done.stdout))
    assert read.columns.tolist() == ["origin", "age", "pay"]
    np.testing.assert_array_equal(read["pay"], expected(numbers_model))
    assert done.stderr == ""


def test_keep_all_columns(classes_model, new, tmp_path):
    out = tmp_path / "out.parquet"
    succeed("predict", classes_model, new, "--keep", "--proba", "--out", out)
    read, given = pd.read_parquet(out), pd.read_csv(new)
    more = ["prediction", "probability of no", "probability of yes"]
    assert read.columns.tolist() == [*given.columns, *more]
    assert read["prediction"].tolist() == expected(classes_model).tolist()
    np.testing.assert_allclose(read[more[1:]].sum(axis=1), 1)


def test_json(numbers_model, new, tmp_path):
    done = succeed("predict", numbers_model, new, "--json")
    found = json.loads(done.stdout)
    assert done.stderr == ""
    np.testing.assert_array_equal(found["predictions"]["prediction"], expected(numbers_model))
    out = tmp_path / "out.csv"
    assert report("predict", numbers_model, new, "--out", out)["out"] == str(out)
    assert out.exists()


def test_order_and_further_columns_do_not_matter(numbers_model, tmp_path):
    path, table = tmp_path / "t.csv", people(20, seed=1)
    table[table.columns[::-1]].assign(more=1).to_csv(path, index=False)
    found = report("predict", numbers_model, path)["predictions"]["prediction"]
    np.testing.assert_array_equal(found, expected(numbers_model))


def test_missing_values_are_filled_and_new_words_noted(numbers_model, tmp_path):
    path, table = tmp_path / "t.csv", people(20, seed=1)
    table["age"] = None
    table.loc[:2, "region"] = "moon"
    table.to_csv(path, index=False)
    done = succeed("predict", numbers_model, path)
    assert done.stdout.count("\n") == 21
    assert done.stderr.count("\n") == 1
    for words in ("Note: column 'region' has 3 rows", "'moon'"):
        assert words in done.stderr


def test_missing_columns_are_listed_with_the_nearest(numbers_model, tmp_path):
    path, out = tmp_path / "t.csv", tmp_path / "out.csv"
    people().drop(columns="income").rename(columns={"age": "Age"}).to_csv(path, index=False)
    done = invoke("predict", numbers_model, path, "--out", out)
    assert_refused(done, "lack 2", "'age', 'income'", "did you mean 'Age'?")
    assert not out.exists()


def test_words_where_numbers_were(numbers_model, tmp_path):
    path, table = tmp_path / "t.csv", people()
    table["age"] = table["age"].astype(object)
    table.loc[4, "age"] = "old"
    table.to_csv(path, index=False)
    assert_refused(
        invoke("predict", numbers_model, path), "'age' must hold numbers", "row 5", "old"
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--proba",), ["--proba", "--loss log_loss"]),
        (("--id", "agee"), ["--id 'agee'", "did you mean 'age'?"]),
        (("--keep", "--name", "age"), ["'age' already", "--name"]),
        (("--out", "p.xlsx"), ["p.xlsx", ".csv"]),
        (("--out", "no/p.csv"), ["no folder no"]),
    ],
)
def test_bad_options(options, words, numbers_model, new):
    assert_refused(invoke("predict", numbers_model, new, *options), *words)


def test_no_file_that_is_read_is_written_over(numbers_model, new, tmp_path):
    assert_refused(invoke("predict", numbers_model, new, "--out", new), "is a file that is read")
    model = tmp_path / "model.csv"
    model.write_bytes(numbers_model.read_bytes())
    assert_refused(invoke("predict", model, new, "--out", model), "is a file that is read")


def test_a_reader_that_leaves_early_is_no_error(numbers_model, tmp_path):
    path = tmp_path / "many.csv"
    pd.concat([people(500)] * 60).to_csv(path, index=False)
    ask = [sys.executable, "-m", "gferm", "predict", str(numbers_model), str(path)]
    with subprocess.Popen(ask, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"prediction\n"
        child.stdout.close()
        assert b"Traceback" not in child.stderr.read()
