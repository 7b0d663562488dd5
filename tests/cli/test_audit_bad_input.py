"""What is wrong with a table, a column or a model is said alike by every command that reads it."""

import os
import stat

import numpy as np
import pytest

from tests.cli.people import assert_refused, invoke, people, scored
from tests.cli.test_bad_input import TABLES

SCORED = ("--target", "salary", "--prediction", "score", "--sensitive", "sex")
PEOPLE = ("--target", "salary", "--sensitive", "sex", "--drop", "hired,weight", "--y-bins", "3")


def refuse(command, path, folder, *options, words, model=None):
    """Expect the refusal of a command that would write all it can, and nothing written."""
    before = sorted(os.listdir(folder))
    files = {
        "audit": ("--report", folder / "page.html", "--out", folder / "out.csv"),
        "report": ("--out", folder / "page.html"),
        "frontier": ("--out", folder / "out.csv", "--picture", folder / "out.png"),
        "predict": ("--out", folder / "out.csv"),
    }[command]
    given = (model, path) if command == "predict" else (path,)
    assert_refused(invoke(command, *given, *options, *files), *words)
    assert sorted(os.listdir(folder)) == before


# -- files that are no tables --------------------------------------------------------------------

UNREADABLE = [
    "no header",
    "header of equal numbers",
    "duplicate columns",
    "nameless column",
    "nothing",
    "only line ends",
    "only names",
    "ragged",
    "latin-1",
    "utf-16",
    "a picture",
]


@pytest.mark.parametrize("command", ["audit", "report", "frontier", "predict"])
@pytest.mark.parametrize("case", UNREADABLE)
def test_a_bad_table(case, command, tmp_path, numbers_model):
    write, words = TABLES[case]
    path = tmp_path / "people.csv"
    write(path)
    ask = {"audit": SCORED, "predict": ()}.get(command, SCORED[:2] + SCORED[4:])
    refuse(command, path, tmp_path, *ask, words=words, model=numbers_model)


@pytest.mark.parametrize("command", ["audit", "report", "frontier", "predict"])
@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.parquet", b"", ["is empty (0 bytes)"]),
        ("t.parquet", b"PAR1 and no more", ["cannot be read"]),
        ("t.csv.gz", b"salary,sex\n1,f\n", ["damaged"]),
    ],
)
def test_a_damaged_file(name, content, words, command, tmp_path, numbers_model):
    path = tmp_path / name
    path.write_bytes(content)
    ask = {"audit": SCORED, "predict": ()}.get(command, SCORED[:2] + SCORED[4:])
    refuse(command, path, tmp_path, *ask, words=[name, *words], model=numbers_model)


def test_a_pipe_is_not_waited_for(tmp_path, numbers_model):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for command, ask in (("audit", SCORED), ("predict", ())):
        refuse(command, pipe, tmp_path, *ask, words=["is a pipe or a device"], model=numbers_model)


# -- columns -------------------------------------------------------------------------------------


AUDITED = {  # how the table is changed; options that differ; what is said
    "all missing target": ({"salary": np.nan}, {}, ["'salary' has no value"]),
    "all missing prediction": ({"score": np.nan}, {}, ["'score' has no value"]),
    "all missing groups": ({"sex": None}, {}, ["'sex' has no value"]),
    "one group": ({"sex": "f"}, {}, ["--sensitive (sex)", "nobody to compare"]),
    "constant target": ({"salary": 2.0}, {}, ["constant"]),
    "a word in the target": (("salary", 6, "high"), {}, ["not numeric", "row 7", "'high'"]),
    "a word in the prediction": (("score", 6, "high"), {}, ["'score'", "row 7", "'high'"]),
    "a word among numbers as groups": (
        ("income", 4, "much"),
        {"--sensitive": "income"},
        ["'income' mixes numbers and words", "row 5", "--categorical"],
    ),
    "missing label": (("salary", 6, None), {}, ["missing in 1 rows", "row 7", "--drop-missing"]),
    "missing prediction": (("score", 6, None), {}, ["missing in 1 rows", "row 7"]),
    "missing group": (("sex", 11, None), {}, ["missing in 1 rows", "row 12"]),
    "infinite prediction": (("score", 2, "inf"), {}, ["prediction 'score' is infinite in row 3"]),
    "infinite target": (("salary", 2, "inf"), {}, ["'salary' is infinite in row 3"]),
    "dates as target": ({"salary": "2020-01-01"}, {}, ["'salary' holds neither numbers nor words"]),
    "dates as groups": ({"sex": "2020-01-01"}, {}, ["sensitive 'sex'", "--categorical"]),
    "target": ({}, {"--target": "Salery"}, ["--target 'Salery'", "did you mean 'salary'?"]),
    "prediction": ({}, {"--prediction": "scor"}, ["--prediction 'scor'", "did you mean 'score'?"]),
    "sensitive": ({}, {"--sensitive": "sexx"}, ["--sensitive 'sexx'", "did you mean 'sex'?"]),
    "weight": ({}, {"--weight": "wait"}, ["--weight 'wait'", "did you mean 'weight'?"]),
    "negative weight": ({}, {"--weight": "income"}, ["weight 'income' is negative in row"]),
    "loss": ({}, {"--loss": "sqared"}, ["--loss 'sqared'", "did you mean 'squared'?"]),
    "target twice": (
        {},
        {"--prediction": "salary"},
        ["--target 'salary'", "--prediction", "one use"],
    ),
    "a target as groups": ({}, {"--sensitive": "sex,salary"}, ["--target 'salary'", "--sensitive"]),
    "a score as groups": ({}, {"--sensitive": "score"}, ["--prediction 'score'", "--sensitive"]),
    "words for numbers": ({}, {"--prediction": "said"}, ["prediction 'said' is not numeric"]),
    "shares for classes": (
        {},
        {"--target": "hired", "--prediction": "share"},
        ["prediction 'share' holds numbers such as 0.", "no classes; cut them into classes"],
    ),
    "codes for classes": (
        {},
        {"--target": "hired", "--prediction": "called"},
        ["prediction 'called' holds 0", "no class of target 'hired'", "'no', 'yes'"],
    ),
    "numbers as classes": (
        {},
        {"--y-bins": "classes"},
        ["'salary' holds numbers such as", "no classes"],
    ),
    "no class": (
        {},
        {"--target": "hired", "--prediction": "said", "--y-bins": "yess"},
        ["'yess' is no class", "did you mean 'yes'?"],
    ),
    "bins that hold nobody": ({}, {"--y-bins": "100,101"}, ["no label of --target"]),
    "bins of another": ({}, {"--s-bins": "six=3"}, ["'six'", "did you mean 'sex'?"]),
    "no folder": ({}, {"--out": "nowhere/t.csv"}, ["there is no folder nowhere"]),
    "neither CSV nor Parquet": ({}, {"--out": "t.xlsx"}, ["t.xlsx", ".parquet"]),
    "one file for two": ({}, {"--report": "t.csv", "--out": "./t.csv"}, ["--report and --out"]),
    "no prediction": ({}, {"--prediction": None}, ["--prediction COLUMN or --model FILE"]),
    "no target": ({}, {"--target": None}, ["--target is missing"]),
    "no attribute": ({}, {"--sensitive": None}, ["--sensitive names no column"]),
}


@pytest.mark.parametrize("case", AUDITED)
def test_a_bad_column_or_option(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    change, options, words = AUDITED[case]
    table = scored()
    if isinstance(change, dict):
        table = table.assign(**change)
    else:
        column, row, value = change
        table[column] = table[column].astype(object)
        table.loc[row, column] = value
    table.to_csv("people.csv", index=False)
    ask = dict(zip(SCORED[::2], SCORED[1::2], strict=True))
    ask |= {"--report": "page.html", "--out": "out.csv", **options}
    given = [word for name, value in ask.items() if value is not None for word in (name, value)]
    assert_refused(invoke("audit", "people.csv", *given), *words)
    assert os.listdir() == ["people.csv"]


@pytest.mark.parametrize("command", ["report", "frontier"])
@pytest.mark.parametrize(
    "case", ["numbers and words", "all missing", "infinite", "dates", "a word as target"]
)
def test_a_bad_feature(case, command, tmp_path):
    write, words = TABLES[case]
    write(tmp_path / "people.csv")
    said = [word.removeprefix("target ") for word in words if not word.startswith("--task")]
    refuse(command, tmp_path / "people.csv", tmp_path, *PEOPLE, words=said)


# -- models --------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["audit", "report"])
def test_a_model_that_is_none(command, csv, tmp_path):
    path = tmp_path / "m.skops"
    refuse(command, csv, tmp_path, "--model", path, words=["There is no file", "m.skops"])
    path.write_bytes(b"PK\x03\x04 and no more")
    refuse(command, csv, tmp_path, "--model", path, words=["no gferm model", "gferm fit"])


@pytest.mark.parametrize("command", ["audit", "report"])
def test_a_model_whose_columns_or_target_are_not_there(command, numbers_model, tmp_path):
    path, table = tmp_path / "t.csv", people()
    table.drop(columns="income").rename(columns={"age": "Age"}).to_csv(path, index=False)
    words = ["lack 2 of the model's columns: 'age', 'income'", "did you mean 'Age'?"]
    refuse(command, path, tmp_path, "--model", numbers_model, words=words)
    table.rename(columns={"salary": "pay"}).to_csv(path, index=False)
    words = ["--target 'salary'", "there are 'age'"]
    refuse(command, path, tmp_path, "--model", numbers_model, words=words)
    table.drop(columns="origin").to_csv(path, index=False)
    words = ["--sensitive 'origin'"]
    refuse(command, path, tmp_path, "--model", numbers_model, words=words)


def test_a_model_is_never_written_over(numbers_model, csv, tmp_path):
    model = tmp_path / "model.csv"
    model.write_bytes(numbers_model.read_bytes())
    for option in ("--report", "--out"):
        done = invoke("audit", csv, "--model", model, option, model)
        assert_refused(done, f"{option} {model} is a file that is read")
    assert model.read_bytes() == numbers_model.read_bytes()


def test_what_is_no_ordinary_file_is_not_replaced(csv, tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    for command, option in (("report", "--out"), ("fit", "--out"), ("frontier", "--out")):
        assert_refused(invoke(command, csv, *PEOPLE, option, pipe), "is no ordinary file")
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_what_was_there_stays_when_an_audit_fails(scored_csv, tmp_path):
    page, out = tmp_path / "page.html", tmp_path / "out.csv"
    for path in (page, out):
        path.write_text("of yesterday")
    ask = (*SCORED, "--y-bins", "100,101", "--report", page, "--out", out)
    assert_refused(invoke("audit", scored_csv, *ask))
    assert page.read_text() == out.read_text() == "of yesterday"


def test_a_single_row_teaches_nothing(tmp_path):
    path = tmp_path / "t.csv"
    people()[:1].to_csv(path, index=False)
    for command in ("fit", "frontier"):
        assert_refused(invoke(command, path, *PEOPLE), "a single row")


def test_an_interrupt_is_no_error(scored_csv, tmp_path, monkeypatch):
    def interrupt(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("gferm.auditing.audit", interrupt)
    done = invoke("audit", scored_csv, *SCORED, "--out", tmp_path / "out.csv")
    assert (done.exit_code, done.stdout, done.stderr) == (130, "", "Stopped.\n")
    assert os.listdir(tmp_path) == []
