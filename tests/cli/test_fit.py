"""`gferm fit`: the model is the library's, from any file, and the summary says what it is."""

import json

import numpy as np
import polars as pl
import pytest

from gferm import FairClassifier, FairRegressor, FairRegressorCV
from gferm.tables.model_file import load_model
from gferm.tables.preparation import TablePreparation
from tests.cli.people import CLASSES, NUMBERS, invoke, people, report, succeed

FEATURES = ["age", "income", "region", "member", "origin"]


def reference(table, **params):
    """Fit the library's own estimator on the same rows."""
    matrix = TablePreparation().fit_transform(table[FEATURES])
    model = FairRegressor(kernel="linear", y_bins=3, **params)
    return model.fit(matrix, table["salary"], sensitive_features=table[["sex"]])


def written(table, path):
    """Write the same table in one of the kinds that can be read."""
    kind = path.name.split(".", 1)[1]
    if kind == "parquet":
        table.to_parquet(path)
    elif kind == "polars.parquet":
        pl.from_pandas(table).write_parquet(path)
    elif kind == "semicolon.csv":
        table.to_csv(path, index=False, sep=";", decimal=",")
    elif kind == "index.csv":
        table.to_csv(path)
    elif kind == "bom.csv":
        table.to_csv(path, index=False, encoding="utf-8-sig")
    else:
        table.to_csv(path, index=False, sep="\t" if kind == "tsv" else ",")
    return path


@pytest.mark.parametrize(
    "kind",
    ["csv", "csv.gz", "tsv", "semicolon.csv", "bom.csv", "index.csv", "parquet", "polars.parquet"],
)
def test_every_kind_of_file_gives_the_model_of_the_library(kind, tmp_path):
    table = people()
    path, out = written(table, tmp_path / f"people.{kind}"), tmp_path / "m.skops"
    found = report("fit", path, *NUMBERS, "--sensitive", "sex", "--out", out)
    expected = reference(table)
    model = load_model(out).model
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9, atol=1e-12)
    assert found["rows"] == len(table)
    assert found["features"] == FEATURES
    assert found["categorical_features"] == ["region", "origin"]
    assert found["violation"] == pytest.approx(0, abs=1e-9)
    assert found["duality_gap"] < 1e-9
    assert found["cells"][0]["rows"] == expected.cells_.partitions[0].counts.tolist()
    plain = reference(table, epsilon=None)
    assert found["plain_violation"] == pytest.approx(plain.violation_)
    price = 100 * (expected.objective_ / plain.objective_ - 1)
    assert found["price_percent"] == pytest.approx(price)


def test_the_summary_for_people(csv, tmp_path):
    out = tmp_path / "m.skops"
    done = succeed("fit", csv, *NUMBERS, "--sensitive", "sex", "--out", out)
    for words in ("240", "salary", "median", "linear kernel", "mean gap 0", "price", "sex: rows"):
        assert words in done.stdout
    assert out.name in "".join(done.stdout.split())
    assert done.stderr == ""


def test_one_json_document_and_nothing_else(csv, tmp_path):
    done = succeed("fit", csv, *NUMBERS, "--sensitive", "sex", "--out", tmp_path / "m", "--json")
    assert json.loads(done.stdout)["model"] == str(tmp_path / "m")
    assert done.stderr == ""


@pytest.mark.parametrize("given", [("--sensitive", "sex,origin"), ("--sensitive", "sex")])
def test_sensitive_columns_are_no_features_unless_asked_for(csv, tmp_path, given):
    out = tmp_path / "m"
    without = report("fit", csv, *NUMBERS, *given, "--out", out)
    with_them = report("fit", csv, *NUMBERS, *given, "--out", out, "--include-sensitive")
    named = set(given[1].split(","))
    assert not named & set(without["features"])
    assert named <= set(with_them["features"])


def test_several_attributes(csv, tmp_path):
    ask = ("fit", csv, *NUMBERS, "--out", tmp_path / "m", "--sensitive", "sex")
    crossed = report(*ask, "--sensitive", "origin")
    assert [part["attribute"] for part in crossed["cells"]] == ["sex × origin"]
    apart = report(*ask, "--sensitive", "age", "--marginal", "--s-bins", "age=2", "--drop-missing")
    assert [len(part["groups"]) for part in apart["cells"]] == [2, 2]
    assert apart["rows_left_out"] == 1
    assert "1 of 240 rows" in apart["notes"][0]
    score = report(*ask, "--sensitive", "income", "--s-bins", "income=continuous")
    assert score["continuous"] == ["income"]


def test_options_reach_the_estimator(csv, tmp_path):
    out = tmp_path / "m"
    words = "--kernel rbf --gamma 0.2 --alpha 0.5 --epsilon 0.1 --loss huber --match residual"
    more = "--min-cell-size 4 --s-bins quantile:2 --max-iter 900"
    ask = [*words.split(), *more.split(), "--sensitive", "income"]
    succeed("fit", csv, "--target", "salary", "--drop", "hired", "--y-bins", "-inf,0,inf", *ask,
            "--out", out)  # fmt: skip
    params = load_model(out).model.get_params()
    expected = {
        "kernel": "rbf",
        "gamma": 0.2,
        "alpha": 0.5,
        "epsilon": 0.1,
        "loss": "huber",
        "match": "residual",
        "min_cell_size": 4,
        "max_iter": 900,
    }
    assert {name: params[name] for name in expected} == expected
    assert params["y_bins"].boundaries == (-np.inf, 0.0, np.inf)
    assert params["s_bins"]["income"].n == 2
    succeed("fit", csv, *NUMBERS, "--sensitive", "sex", "--epsilon", "none", "--out", out)
    assert load_model(out).model.epsilon is None


def test_weights(csv, tmp_path):
    out, table = tmp_path / "m", people()
    ask = ("--target", "salary", "--drop", "hired", "--y-bins", "3", "--weight", "weight")
    found = report("fit", csv, *ask, "--sensitive", "sex", "--out", out)
    assert "weight" not in found["features"]
    matrix = TablePreparation().fit_transform(table[FEATURES])
    expected = FairRegressor(kernel="linear", y_bins=3).fit(
        matrix, table["salary"], sensitive_features=table["sex"], sample_weight=table["weight"]
    )
    np.testing.assert_allclose(load_model(out).model.coef_, expected.coef_, rtol=1e-9)


@pytest.mark.parametrize("y_bins", ["classes", "1", "yes"])
def test_classes(csv, tmp_path, y_bins):
    out, table = tmp_path / "m", people()
    ask = ("--loss", "log_loss", "--y-bins", y_bins, "--sensitive", "sex")
    found = report("fit", csv, *CLASSES, *ask, "--out", out)
    matrix = TablePreparation().fit_transform(table[FEATURES])
    bins = {"1": 1, "yes": ["yes"]}.get(y_bins, y_bins)
    expected = FairClassifier("log_loss", kernel="linear", y_bins=bins)
    expected.fit(matrix, table["hired"], sensitive_features=table["sex"])
    np.testing.assert_allclose(load_model(out).model.coef_, expected.coef_, rtol=1e-6)
    assert found["cells"][0]["label_bins"] == list(expected.cells_.label_bins.labels)


def test_nvp_chooses_as_the_library_does(csv, tmp_path):
    out, table = tmp_path / "m", people()
    grid = ("--alphas", "0.1,1,10", "--epsilons", "0,0.2,none", "--cv", "3", "--tolerance", "0.2")
    ask = ("fit", csv, *NUMBERS, "--sensitive", "sex", "--select", "nvp", *grid, "--out", out)
    found = report(*ask)
    search = FairRegressorCV(
        kernel="linear",
        alphas=[0.1, 1, 10],
        epsilons=[0, 0.2, None],
        cv=3,
        tolerance=0.2,
        y_bins=3,
    ).fit(
        TablePreparation().fit_transform(table[FEATURES]),
        table["salary"],
        sensitive_features=table["sex"],
    )
    assert found["selection"]["chosen"] == search.best_params_
    assert found["selection"]["held_out_error"] == pytest.approx(search.best_error_)
    assert found["selection"]["settings"] == 9
    assert load_model(out).model.alpha == search.best_params_["alpha"]


def test_what_is_fixed_is_not_searched(csv, tmp_path):
    ask = ("fit", csv, *NUMBERS, "--sensitive", "sex", "--select", "error", "--out", tmp_path / "m")
    fixed = ("--alpha", "2", "--kernel", "rbf", "--gamma", "0.3", "--epsilon", "0.1", "--cv", "2")
    assert report(*ask, *fixed)["selection"]["settings"] == 1
    opened = report(*ask, "--kernel", "rbf", "--cv", "2")["selection"]
    assert opened["settings"] == 17 * 3


def test_warnings_become_notes(csv, tmp_path):
    ask = ("fit", csv, *NUMBERS, "--sensitive", "sex", "--epsilon", "50", "--out", tmp_path / "m")
    done = succeed(*ask)
    assert done.stderr.startswith("Note: epsilon=50 is larger than the gap")
    assert done.stderr.count("\n") == 1
    assert len(report(*ask)["notes"]) == 1


def test_categories_keep_their_leading_zeros(tmp_path):
    table, path, out = people(), tmp_path / "codes.csv", tmp_path / "m.skops"
    table["code"] = np.resize(["01", "1", "2"], len(table))
    table.to_csv(path, index=False)
    report("fit", path, *NUMBERS, "--sensitive", "sex", "--categorical", "code", "--out", out)
    saved = load_model(out)
    place = saved.preparation.words_.index("code")
    assert saved.preparation.levels_[place] == ["01", "1", "2"]
    new = tmp_path / "new.csv"
    table.iloc[:6].assign(code="1").to_csv(new, index=False)
    found = report("predict", out, new)
    rows = table.iloc[:6].assign(code="1")
    np.testing.assert_array_equal(found["predictions"]["prediction"], saved.pipeline.predict(rows))


def test_help_has_examples(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    for command in ("fit", "predict", "frontier"):
        said = invoke(command, "--help").stdout
        assert said.count(f"gferm {command}") >= 2
        assert "130 stopped" in said


def test_a_kernel_on_landmarks_is_that_of_the_library_every_time(tmp_path):
    table, outs = people(), [tmp_path / "first.skops", tmp_path / "second.skops"]
    path = written(table, tmp_path / "people.csv")
    kernel = ["--kernel", "rbf", "--gamma", "0.1", "--landmarks", "25"]
    for out in outs:
        report("fit", path, *NUMBERS, "--sensitive", "sex", *kernel, "--out", out)
    matrix = TablePreparation().fit_transform(table[FEATURES])
    expected = FairRegressor(gamma=0.1, n_landmarks=25, random_state=0, y_bins=3)
    expected.fit(matrix, table["salary"], sensitive_features=table[["sex"]])
    for out in outs:
        found = load_model(out)
        assert found.model.X_fit_.shape[0] == 25
        assert found.model.device is None  # it is served where there may be no GPU
        np.testing.assert_allclose(found.model.predict(matrix), expected.predict(matrix), rtol=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--landmarks", "25"], "use another one, such as --kernel rbf"),
        (["--kernel", "rbf", "--landmarks", "100000"], "--landmarks=100000 is more than the"),
        (["--kernel", "rbf", "--device", "cuda"], "use --device cpu"),
    ],
)
def test_landmarks_and_devices_that_cannot_be_are_named_as_options(options, message, tmp_path):
    path = written(people(), tmp_path / "people.csv")
    result = invoke("fit", path, *NUMBERS, "--sensitive", "sex", *options)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
