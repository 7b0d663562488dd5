"""Adult without a network: OpenML is mocked, and the real table is read where it is at hand."""

import csv
import sys
from http.client import IncompleteRead
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
from sklearn.utils import Bunch
from tests.adult_rows import COMPLETE, RAW, raw_columns

from gferm.datasets import fetch_adult
from gferm.datasets.adult import NUMBERS, PREFIXES, encode
from gferm.datasets.dataset import decode_one_hot, read_csv

TABLE = Path(__file__).parents[3] / "shared" / "data" / "adult.csv.gz"
needs_table = pytest.mark.skipif(
    not TABLE.exists(), reason="shared/data/adult.csv.gz is not beside this checkout"
)
SEXES = ["Male", "Female", "Female"]
LABELS = ["<=50K", "<=50K", ">50K"]


@pytest.fixture
def openml(monkeypatch):
    """What fetch_openml gives for as_frame=False and its parser liac-arff; records the calls."""
    features = [name for name in RAW if name != "class"]
    levels = {n: sorted({*RAW[n]} - {"", "?"}) for n in features if n not in NUMBERS}
    codes = {
        name: [float(levels[name].index(v)) if v in levels[name] else np.nan for v in RAW[name]]
        for name in levels
    }
    calls = []

    def fetch_openml(**options):
        calls.append(options)
        return Bunch(
            data=np.column_stack([codes.get(name, RAW[name]) for name in features]),
            target=np.array(RAW["class"], dtype=object),
            feature_names=features,
            target_names=["class"],
            categories=levels,
        )

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    return calls


@pytest.fixture
def raw_file(tmp_path):
    file = tmp_path / "adult.csv"
    with file.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([list(RAW), *zip(*RAW.values(), strict=True)])
    return file


@pytest.fixture
def no_network(monkeypatch):
    def fetch_openml(**options):
        raise AssertionError("nothing must be fetched")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)


def test_fetches_version_2_into_data_home_without_pandas(openml, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    fetch_adult(data_home=tmp_path)
    assert openml == [
        {"data_id": 1590, "data_home": tmp_path, "as_frame": False, "parser": "liac-arff"}
    ]


def test_what_openml_gives_is_decoded_and_encoded(openml):
    adult = fetch_adult(include_sensitive=True)
    encoded = encode(raw_columns(), "test")
    expected = {n: c for n, c in encoded.items() if not n.startswith("salary_")}
    assert adult.feature_names == list(expected)
    np.testing.assert_array_equal(adult.data, np.column_stack(list(expected.values())))
    assert adult.data.shape == (3, 23)
    assert adult.target.tolist() == LABELS
    assert adult.target_name == "salary"
    assert adult.sensitive_features.tolist() == SEXES
    assert (adult.y_bins, adult.s_bins) == ("auto", "auto")


@pytest.mark.parametrize(
    ("sensitive", "values", "own"),
    [
        ("sex", SEXES, ["sex_Female", "sex_Male"]),
        ("race", ["White", "Black", "Black"], ["race_Black", "race_White"]),
        ("age", [39.0, 38.0, 28.0], ["age"]),
    ],
)
def test_sensitive_attribute_is_a_feature_only_on_request(openml, sensitive, values, own):
    without = fetch_adult(sensitive=sensitive)
    included = fetch_adult(sensitive=sensitive, include_sensitive=True)
    assert without.sensitive_features.tolist() == values
    assert without.sensitive_names == [sensitive]
    assert without.feature_names == [n for n in included.feature_names if n not in own]
    assert {*own} <= {*included.feature_names}


def test_several_attributes_keep_order_and_kind(openml):
    several = fetch_adult(sensitive=["age", "sex"])
    assert several.sensitive_features.tolist() == [[39, "Male"], [38, "Female"], [28, "Female"]]
    assert several.s_bins == {0: (17, 25, 35, 45, 55, 65, 90), 1: "auto"}
    assert not {"age", "sex_Female", "sex_Male"} & {*several.feature_names}


def test_frames_and_tuples_hold_the_same(openml):
    adult = fetch_adult()
    X, y, s = fetch_adult(return_X_y=True, as_frame=True)
    assert isinstance(X, pd.DataFrame)
    assert list(X.columns) == adult.feature_names
    assert (y.name, s.name) == ("salary", "sex")
    np.testing.assert_array_equal(X, adult.data)
    assert y.tolist() == LABELS
    assert s.tolist() == SEXES


@pytest.mark.parametrize(
    "error",
    [URLError("no name"), TimeoutError("late"), ConnectionResetError("cut"), IncompleteRead(b"")],
)
@pytest.mark.parametrize("data_home", [None, "some/folder"])
def test_offline_says_why_and_what_to_do(monkeypatch, error, data_home):
    def fetch_openml(**options):
        raise error

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    with pytest.raises(ConnectionError, match="could not be fetched from OpenML") as caught:
        fetch_adult(data_home=data_home)
    assert caught.value.__cause__ is error
    message = str(caught.value)
    for part in (str(error), "network", "data_home=", "path="):
        assert part in message
    assert ("data_home='some/folder'" in message) is (data_home is not None)


def test_other_errors_are_not_called_a_lack_of_network(monkeypatch):
    def fetch_openml(**options):
        raise PermissionError("the folder is read-only")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    with pytest.raises(PermissionError, match="read-only"):
        fetch_adult()


def test_raw_file_equals_what_openml_gives(openml, raw_file):
    fetched, read = fetch_adult(), fetch_adult(path=raw_file)
    assert len(openml) == 1
    assert read.feature_names == fetched.feature_names
    np.testing.assert_array_equal(read.data, fetched.data)
    np.testing.assert_array_equal(read.target, fetched.target)


def test_file_in_one_hot_form_equals_the_raw_one(no_network, raw_file, tmp_path):
    columns = encode(read_csv(raw_file), "test")
    file = tmp_path / "encoded.csv"
    with file.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([list(columns), *zip(*columns.values(), strict=True)])
    raw, encoded = fetch_adult(path=str(raw_file)), fetch_adult(path=str(file))
    assert raw.feature_names == encoded.feature_names
    np.testing.assert_array_equal(raw.data, encoded.data)
    assert raw.target.tolist() == encoded.target.tolist() == LABELS
    assert len(raw.data) == len(COMPLETE)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "is not a CSV file"),
        ("age,sex\n1,2\n3\n", "is not a CSV file"),
        ("age,class\n1,2\n", "lacks the columns .*'fnlwgt'"),
        ("age,sex\n1,2\n", "lacks the columns .*'salary_>50K'"),
    ],
)
def test_file_of_something_else_is_refused_by_name(no_network, tmp_path, content, complaint):
    file = tmp_path / "other.csv"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=rf"path='.*other\.csv'.* ?{complaint}"):
        fetch_adult(path=file)


def test_absent_file_is_named(no_network, tmp_path):
    with pytest.raises(FileNotFoundError, match="absent"):
        fetch_adult(path=tmp_path / "absent.csv")


@pytest.mark.parametrize("value", ["nonsense", "", None, 3, [], ["sex", "sex"], ["sex", "class"]])
def test_unknown_sensitive_is_refused_before_anything_is_fetched(no_network, value):
    with pytest.raises(ValueError, match="sensitive=") as error:
        fetch_adult(sensitive=value)
    assert "'sex', 'race', 'age'" in str(error.value)


def test_description_says_where_the_data_come_from(openml):
    text = fetch_adult().DESCR
    for heading in ("Origin:", "Licence:", "Attribution:", "Changes:", "Bins:", "Limits:"):
        assert heading in text
    assert max(map(len, text.splitlines())) <= 100


@pytest.fixture(scope="module")
def table():
    return read_csv(TABLE)


@needs_table
def test_encoding_gives_back_the_real_table(table):
    raw = {n: decode_one_hot(table, prefix) for n, prefix in PREFIXES.items()}
    encoded = encode(raw | {name: table[name] for name in NUMBERS}, "test")
    assert list(encoded) == list(table)
    for name, column in encoded.items():
        np.testing.assert_array_equal(column, table[name])


@needs_table
def test_description_quotes_counts_that_hold():
    adult = fetch_adult(path=TABLE, sensitive=["sex", "race", "age"], include_sensitive=True)
    sex, race, age = adult.sensitive_features.T
    rich = adult.target == ">50K"
    assert adult.data.shape == (45222, 104)
    assert (rich.sum(), (~rich).sum()) == (11208, 34014)
    counts = {
        "Female": (14695, 11),
        "Male": (30527, 31),
        "Amer-Indian-Eskimo": (435, 12),
        "Asian-Pac-Islander": (1303, 28),
        "Black": (4228, 13),
        "Other": (353, 13),
        "White": (38903, 26),
    }
    for group, (size, percent) in counts.items():
        rows = (sex == group) | (race == group)
        assert (rows.sum(), round(100 * rich[rows].mean())) == (size, percent)
        assert f'"{group}": {size}' in " ".join(adult.DESCR.split())
    assert (age.min(), age.max()) == (adult.s_bins[2][0], adult.s_bins[2][-1]) == (17, 90)
