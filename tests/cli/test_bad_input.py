"""What is wrong with a table or an option is said in one line; nothing is written."""

import gzip
import os
import subprocess
import sys
from importlib import import_module

import numpy as np
import pandas as pd
import pytest

from tests.cli.people import CLASSES, NUMBERS, assert_refused, invoke, people

RUN = (sys.executable, "-m", "gferm")


def changed(**columns):
    return lambda path: people().assign(**columns).to_csv(path, index=False)


def with_cell(column, row, value):
    def write(path):
        table = people()
        table[column] = table[column].astype(object)
        table.loc[row, column] = value
        table.to_csv(path, index=False)

    return write


def bytes_of(content):
    return lambda path: path.write_bytes(content)


def without_header(path):
    pd.DataFrame(np.arange(12.0).reshape(4, 3)).to_csv(path, index=False, header=False)


def twice(path):
    table = people()
    pd.concat([table, table[["age"]]], axis=1).to_csv(path, index=False)


TABLES = {
    "no header": (without_header, ["no names of columns", "line of names"]),
    "header of equal numbers": (bytes_of(b"0,0,1\n1,0,2\n"), ["no names of columns"]),
    "duplicate columns": (twice, ["more than once", "'age'", "rename"]),
    "nameless column": (bytes_of(b"salary,,sex\n1,2,f\n"), ["without a name", "column 2"]),
    "nothing": (bytes_of(b""), ["is empty (0 bytes)"]),
    "only line ends": (bytes_of(b"\n\n\n"), ["is empty"]),
    "only names": (bytes_of(b"salary,sex,age\n"), ["no rows"]),
    "ragged": (bytes_of(b"salary,sex,age\n1,f,3\n1,f,3,4\n"), ["#3", "Expected 3 columns"]),
    "latin-1": (bytes_of("salary,sex,age\n1,f,é\n".encode("latin-1")), ["not in UTF-8"]),
    "latin-1, late": (
        bytes_of(b"salary,sex,age\n" + b"1,f,e\n" * 20_000 + "1,m,é\n".encode("latin-1")),
        ["not in UTF-8", "'age'"],
    ),
    "utf-16": (bytes_of("salary,sex,age\n1,f,3\n".encode("utf-16")), ["neither a CSV in UTF-8"]),
    "a picture": (bytes_of(b"\x89PNG\r\n\x1a\n\0\0"), ["neither a CSV in UTF-8"]),
    "numbers and words": (
        with_cell("income", 7, "much"),
        ["'income' mixes numbers and words", "row 8", "'much'", "--categorical"],
    ),
    "words and numbers": (
        with_cell("region", 5, 17),
        ["'region' mixes", "mostly words", "row 6", "'17'", "--categorical"],
    ),
    "all missing": (changed(age=np.nan), ["'age' has no value", "--drop"]),
    "infinite": (with_cell("income", 2, "inf"), ["'income' is infinite in row 3", "--drop"]),
    "dates": (
        changed(age=pd.date_range("2020-01-01", periods=240).astype(str)),
        ["'age' holds dates", "--drop"],
    ),
    "times": (changed(age="12:30:00"), ["'age' holds values such as '12:30:00'", "--drop"]),
    "texts": (
        lambda path: (
            people(1100).assign(region=[f"text {i}" for i in range(1100)]).to_csv(path, index=False)
        ),
        ["'region' has 1100 different words", "--drop"],
    ),
    "a word as target": (
        with_cell("salary", 6, "high"),
        ["target 'salary' is not numeric", "row 7", "'high'", "--task classification"],
    ),
    "missing target": (
        with_cell("salary", 6, None),
        ["'salary' is missing in 1 rows", "row 7", "--drop-missing"],
    ),
    "no target": (changed(salary=np.nan), ["'salary' has no value"]),
    "infinite target": (with_cell("salary", 0, "inf"), ["target 'salary' is infinite in row 1"]),
    "constant target": (changed(salary=1.5), ["constant"]),
    "missing sensitive": (
        with_cell("sex", 11, None),
        ["'sex' is missing in 1 rows", "row 12", "--drop-missing"],
    ),
    "one group": (changed(sex="f"), ["single group", "--sensitive (sex)"]),
    "dates as groups": (
        changed(sex=pd.date_range("2020-01-01", periods=240).astype(str)),
        ["sensitive 'sex'", "--categorical"],
    ),
}


@pytest.mark.parametrize("case", TABLES)
def test_a_bad_table(case, tmp_path):
    write, words = TABLES[case]
    path, out = tmp_path / "people.csv", tmp_path / "m.skops"
    write(path)
    ask = NUMBERS if path.stat().st_size > 2000 else ("--target", "salary")
    assert_refused(invoke("fit", path, *ask, "--sensitive", "sex", "--out", out), *words)
    assert os.listdir(tmp_path) == ["people.csv"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.parquet", b"", ["is empty (0 bytes)"]),
        ("t.parquet", b"salary,sex\n1,f\n", ["no Parquet file"]),
        ("t.parquet", b"PAR1 and no more", ["cannot be read"]),
        ("t.csv.gz", b"salary,sex\n1,f\n", ["damaged"]),
        ("t.csv.gz", gzip.compress(b"salary,sex\n1,f\n" * 999, mtime=0)[:-30], ["damaged"]),
    ],
)
def test_a_damaged_file(name, content, words, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    ask = ("--target", "salary", "--sensitive", "sex", "--out", tmp_path / "m")
    assert_refused(invoke("fit", path, *ask), name, *words)
    assert os.listdir(tmp_path) == [name]


def test_a_cut_parquet_file(tmp_path):
    path = tmp_path / "t.parquet"
    people().to_parquet(path)
    path.write_bytes(path.read_bytes()[:-200])
    assert_refused(invoke("fit", path, *NUMBERS, "--sensitive", "sex"), "cannot be read")


@pytest.mark.parametrize("names", [["a", "a"], ["", "a"]])
def test_names_in_parquet(names, tmp_path):
    pa, pq = import_module("pyarrow"), import_module("pyarrow.parquet")
    path = tmp_path / "t.parquet"
    pq.write_table(pa.Table.from_arrays([pa.array([1, 2]), pa.array([3, 4])], names=names), path)
    said = ["more than once"] if names[0] else ["without a name"]
    assert_refused(invoke("fit", path, "--target", "a", "--sensitive", "b"), *said)


OPTIONS = {
    "target": (("--target", "Salery"), ["--target 'Salery'", "did you mean 'salary'?"]),
    "sensitive": (("--sensitive", "sexx"), ["--sensitive 'sexx'", "did you mean 'sex'?"]),
    "one of several": (("--sensitive", "sex,orign"), ["'orign'", "did you mean 'origin'?"]),
    "nothing near": (("--target", "zzz"), ["--target 'zzz'", "there are 'age', 'income'"]),
    "drop": (("--drop", "agee"), ["--drop 'agee'", "did you mean 'age'?"]),
    "categorical": (("--categorical", "Age "), ["did you mean 'age'?"]),
    "weight": (("--weight", "wait"), ["--weight 'wait'", "did you mean 'weight'?"]),
    "a word as weight": (("--weight", "region", "--drop-missing"), ["weight 'region'", "numeric"]),
    "a negative weight": (("--weight", "income"), ["weight 'income' is negative in row"]),
    "target is sensitive": (("--sensitive", "salary"), ["'salary'", "--sensitive", "one use"]),
    "target is dropped": (("--drop", "salary"), ["'salary'", "--drop", "one use"]),
    "sensitive twice": (("--sensitive", "sex,sex"), ["'sex' more than once"]),
    "no feature": (("--drop", "age,income,region,member,origin,hired,weight"), ["no column is"]),
    "epsilon": (("--epsilon", "much"), ["--epsilon 'much'", "0 or larger"]),
    "negative epsilon": (("--epsilon", "-1"), ["--epsilon '-1'", "0 or larger"]),
    "y-bins": (("--y-bins", "few"), ["--y-bins 'few'", "quantile:5"]),
    "no y-bins": (("--y-bins", "0"), ["--y-bins '0'"]),
    "edges": (("--y-bins", "3,1,2"), ["--y-bins '3,1,2'", "increasing"]),
    "narrow edges": (("--y-bins", "0,0.1"), ["--y-bins", "widen the outer edges"]),
    "s-bins": (("--s-bins", "few"), ["--s-bins 'few'", "continuous"]),
    "s-bins of another": (("--s-bins", "six=3"), ["'six'", "did you mean 'sex'?"]),
    "kernel": (("--kernel", "rfb"), ["--kernel 'rfb'", "did you mean 'rbf'?"]),
    "loss": (("--loss", "hinge"), ["--loss 'hinge'", "regression"]),
    "grid without search": (("--alphas", "1,2"), ["--select"]),
    "grid": (("--select", "nvp", "--alphas", "1,a"), ["--alphas 'a'"]),
    "classes of numbers": (("--task", "classification"), ["target 'salary'", "--task regression"]),
    "cells too small": (("--min-cell-size", "500"), ["--min-cell-size=500"]),
    "no folder": (("--out", "nowhere/m.skops"), ["there is no folder nowhere"]),
}


@pytest.mark.parametrize("case", OPTIONS)
def test_a_bad_option(case, csv, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options, words = OPTIONS[case]
    ask = {"--target": "salary", "--sensitive": "sex", "--out": "m.skops"}
    ask |= dict(zip(options[:-1:2], options[1::2], strict=False))
    given = [word for pair in ask.items() for word in pair]
    given += [word for word in options if word == "--drop-missing" and word not in given]
    assert_refused(invoke("fit", csv, *given), *words)
    assert os.listdir(tmp_path) == []


def test_a_class_that_is_none(csv, tmp_path):
    ask = ("--sensitive", "sex", "--y-bins", "yess", "--out", tmp_path / "m")
    assert_refused(invoke("fit", csv, *CLASSES, *ask), "'yess' is no class", "did you mean 'yes'?")


def test_places_that_cannot_be_read_or_written(csv, tmp_path):
    ask = (*NUMBERS, "--sensitive", "sex", "--out")
    assert_refused(invoke("fit", tmp_path / "no.csv", *ask, tmp_path / "m"), "no file", "no.csv")
    assert_refused(invoke("fit", tmp_path, *ask, tmp_path / "m"), "is a folder")
    assert_refused(invoke("fit", csv, *ask, tmp_path), "is a folder")
    before = csv.read_bytes()
    assert_refused(invoke("fit", csv, *ask, csv), "is a file that is read")
    assert csv.read_bytes() == before


def test_a_kernel_matrix_that_fits_nowhere(csv, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sysconf", lambda name: 64)
    ask = (*NUMBERS, "--sensitive", "sex", "--kernel", "rbf", "--out", tmp_path / "m")
    assert_refused(invoke("fit", csv, *ask), "kernel matrix of 240 rows", "--kernel linear")


def test_dropped_rows_may_be_all(tmp_path):
    path, table = tmp_path / "t.csv", people()
    table.loc[::2, "sex"], table.loc[1::2, "salary"] = None, None
    table.to_csv(path, index=False)
    ask = (*NUMBERS, "--sensitive", "sex", "--drop-missing", "--out", tmp_path / "m")
    assert_refused(invoke("fit", path, *ask), "no row has all of 'salary', 'sex'")


def test_what_was_there_stays_when_a_fit_fails(tmp_path):
    path, out = tmp_path / "t.csv", tmp_path / "m.skops"
    changed(age=np.nan)(path)
    out.write_bytes(b"of yesterday")
    assert invoke("fit", path, *NUMBERS, "--sensitive", "sex", "--out", out).exit_code == 2
    assert out.read_bytes() == b"of yesterday"


def test_an_interrupt_is_no_error(csv, tmp_path, monkeypatch):
    def interrupt(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("gferm.tables.model_file.save_model", interrupt)
    done = invoke("fit", csv, *NUMBERS, "--sensitive", "sex", "--out", tmp_path / "m")
    assert (done.exit_code, done.stdout, done.stderr) == (130, "", "Stopped.\n")
    assert os.listdir(tmp_path) == []


def test_a_full_disk_leaves_nothing(csv, tmp_path, monkeypatch):
    def full(*args, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("skops.io.dump", full)
    done = invoke("fit", csv, *NUMBERS, "--sensitive", "sex", "--out", tmp_path / "m")
    assert_refused(done, "could not be written: No space left on device")
    assert os.listdir(tmp_path) == []


def test_line_ends_and_escapes_in_names_cannot_steer_the_terminal(tmp_path):
    path = tmp_path / "t.csv"
    table = people().rename(columns={"age": "a\nb\x1b[2Jc"}).assign(**{"a\nb\x1b[2Jc": np.nan})
    table.to_csv(path, index=False)
    done = invoke("fit", path, *NUMBERS, "--sensitive", "sex", "--out", tmp_path / "m")
    assert_refused(done, "has no value")
    assert "\x1b[2J" not in done.stderr


def test_as_a_process_of_its_own(csv, tmp_path):
    """Exit codes, streams and a closed pipe, as a shell sees them."""
    out = tmp_path / "m.skops"
    ask = ["--target", "Salary", "--sensitive", "sex", "--out", str(out)]
    done = subprocess.run([*RUN, "fit", str(csv), *ask], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    said = "Error: --target 'Salary' is no column of the data; did you mean 'salary'?\n"
    assert done.stderr == said
    assert not out.exists()
