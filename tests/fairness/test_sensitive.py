"""Reading sensitive_features: whatever the container, the same named columns or a clear error."""

from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

from gferm.fairness.bins import as_bins
from gferm.fairness.sensitive import read_sensitive_features

NAN, INF = float("nan"), float("inf")
WORDS = ["b", "a", "b", "ccc"]
NUMBERS = [3, 1, 3, 20]

# container -> (how to fill it, the name that the column must get)
CONTAINERS = {
    "list": (list, "sensitive"),
    "tuple": (tuple, "sensitive"),
    "list of rows": (lambda v: [[x] for x in v], "sensitive"),
    "array": (np.array, "sensitive"),
    "array of objects": (lambda v: np.array(v, dtype=object), "sensitive"),
    "array with one column": (lambda v: np.array(v)[:, None], "sensitive"),
    "masked array without a gap": (np.ma.array, "sensitive"),
    "Series": (lambda v: pd.Series(v, name="race"), "race"),
    "Series without a name": (pd.Series, "sensitive"),
    "Series with a number for a name": (lambda v: pd.Series(v, name=0), "0"),
    "categorical Series": (lambda v: pd.Series(v, name="race", dtype="category"), "race"),
    "Categorical": (pd.Categorical, "sensitive"),
    "pandas frame": (lambda v: pd.DataFrame({"race": v}), "race"),
    "polars Series": (lambda v: pl.Series("race", v), "race"),
    "polars Series without a name": (pl.Series, "sensitive"),
    "polars frame": (lambda v: pl.DataFrame({"race": v}), "race"),
    "dict": (lambda v: {"race": v}, "race"),
    "dict of Series": (lambda v: {"race": pd.Series(v)}, "race"),
}
KINDS_OF_WORDS = {
    "str": lambda v: pd.Series(v, dtype="str"),
    "string": lambda v: pd.Series(v, dtype="string"),
    "object": lambda v: pd.Series(v, dtype=object),
    "polars categorical": lambda v: pl.Series(v, dtype=pl.Categorical),
    "NumPy strings": lambda v: np.array(v, dtype=np.dtypes.StringDType()),
}
KINDS_OF_NUMBERS = {
    "Int64": lambda v: pd.Series(v, dtype="Int64"),
    "Float64": lambda v: pd.Series(v, dtype="Float64"),
    "object": lambda v: pd.Series(v, dtype=object),
    "Decimal": lambda v: [Decimal(x) for x in v],
    "NumPy scalars": lambda v: [np.float32(x) for x in v],
    "next to words": lambda v: {"x": np.array([["word", x] for x in v], dtype=object)[:, 1]},
    "polars Int8": lambda v: pl.Series(v, dtype=pl.Int8),
}
# What stands for a missing value -> four rows: one value, then another, then two gaps.
GAPS = {
    "None among words": ["a", "b", None, None],
    "NaN among words": ["a", "b", NAN, NAN],
    "None among numbers": [1, 2, None, None],
    "NaN": [1.0, 2.0, NAN, NAN],
    "infinity": np.array([1.0, 2.0, INF, -INF]),
    "NaN among objects": np.array([1.0, 2, NAN, INF], dtype=object),
    "NaN among Decimals": [Decimal(1), Decimal(2), Decimal("NaN"), Decimal("Infinity")],
    "pd.NA among integers": pd.Series([1, 2, None, None], dtype="Int64"),
    "pd.NA among truth values": pd.Series([True, False, None, None], dtype="boolean"),
    "pd.NA among words": pd.Series(["a", "b", None, None], dtype="string"),
    "a gap in a categorical": pd.Series(["a", "b", None, None], dtype="category"),
    "NaT": pd.Series(pd.to_datetime(["2020-01-01", "2021-01-01", None, None])),
    "NaT among objects": np.array([date(2020, 1, 1), date(2021, 1, 1), pd.NaT, pd.NaT]),
    "NaT among durations": pd.Series(pd.to_timedelta(["1D", "2D", None, None])),
    "null among polars words": pl.Series(["a", "b", None, None]),
    "null among polars integers": pl.Series([1, 2, None, None]),
    "null among polars truth values": pl.Series([True, False, None, None]),
    "a mask": np.ma.array([1, 2, 3, 4], mask=[0, 0, 1, 1]),
}


def each(table):
    return pytest.mark.parametrize("case", table.values(), ids=list(table))


@each(CONTAINERS)
@pytest.mark.parametrize("values", [WORDS, NUMBERS, [True, False, True, True]], ids=str)
def test_every_container_gives_its_values_and_its_name(case, values):
    fill, name = case
    (column,) = read_sensitive_features(fill(values), 4)
    assert column.name == name
    assert column.values.shape == (4,)
    assert column.values.tolist() == values


@each(KINDS_OF_WORDS)
def test_every_kind_of_words_reads_alike(case):
    (column,) = read_sensitive_features(case(WORDS), 4)
    assert column.values.tolist() == WORDS


@each(KINDS_OF_NUMBERS)
def test_numbers_stay_numbers_and_do_not_become_a_group_each(case):
    numbers = list(range(100, 120))
    (column,) = read_sensitive_features(case(numbers), 20)
    assert column.values.tolist() == numbers
    assert as_bins("auto", "s_bins").resolve(column.values, None, "s").n_bins == 5


def test_rows_of_words_and_numbers_keep_both():
    words, numbers = read_sensitive_features([["a", 1], ["b", 2.5]], 2)
    assert words.values.tolist() == ["a", "b"]
    assert numbers.values.tolist() == [1.0, 2.5]


@pytest.mark.parametrize("unit", ["ns", "us", "D"])
def test_dates_are_words_whatever_their_unit(unit):
    dates = np.array(["2020-01-02", "2021-03-04", "2020-01-02"], dtype=f"datetime64[{unit}]")
    (column,) = read_sensitive_features(dates, 3)
    assert column.values.tolist() == ["2020-01-02", "2021-03-04", "2020-01-02"]
    assert as_bins("auto", "s").resolve(column.values, None, "s").assign(
        column.values
    ).tolist() == [0, 1, 0]


@pytest.mark.parametrize("frame", [dict, pd.DataFrame, pl.DataFrame])
def test_columns_keep_their_names_and_their_order(frame):
    sex, age = read_sensitive_features(frame({"sex": ["m", "f"], "age": [31, 40]}), 2)
    assert (sex.name, sex.values.tolist()) == ("sex", ["m", "f"])
    assert (age.name, age.values.tolist()) == ("age", [31, 40])


def test_columns_of_an_array_are_numbered():
    columns = read_sensitive_features(np.arange(6).reshape(2, 3), 2)
    assert [c.name for c in columns] == ["sensitive0", "sensitive1", "sensitive2"]
    assert [c.values.tolist() for c in columns] == [[0, 3], [1, 4], [2, 5]]


@each(GAPS)
def test_a_missing_value_is_an_error_that_names_column_and_row(case):
    with pytest.raises(ValueError, match=r"\(race\) has 2 missing.*first in row 2; drop or impute"):
        read_sensitive_features({"sex": list("mfmf"), "race": case}, 4)


def test_a_gap_in_the_second_of_two_unnamed_columns_is_found():
    for rows in ([["a", 1], ["b", NAN]], np.ma.array([[0, 1], [2, 3]], mask=[[0, 0], [0, 1]])):
        with pytest.raises(ValueError, match=r"\(sensitive1\) has 1 missing.*row 1"):
            read_sensitive_features(rows, 2)


def test_missing_attributes_are_an_error_that_tells_the_way_out():
    with pytest.raises(ValueError, match=r"is missing: pass sensitive_features="):
        read_sensitive_features(None, 3)


@pytest.mark.parametrize("n_samples", [3, 5])
@each(CONTAINERS)
def test_another_number_of_rows_is_an_error(case, n_samples):
    fill, name = case
    with pytest.raises(ValueError, match=rf"\({name}\) has 4 rows but there are {n_samples} samp"):
        read_sensitive_features(fill(WORDS), n_samples)


@pytest.mark.parametrize(
    "features", [pd.Series(WORDS), pd.DataFrame({"s": WORDS}), {"s": pd.Series(WORDS)}], ids=type
)
def test_rows_of_another_pandas_index_are_not_trusted(features):
    rows = pd.DataFrame({"x": NUMBERS})
    read_sensitive_features(features, 4, like=[rows])
    read_sensitive_features(features, 4, like=[rows.to_numpy()])
    for other in (rows[::-1], rows["x"][::-1], rows.set_index("x")):
        with pytest.raises(ValueError, match=r"different indexes.*loc\[X.index\].*reset_index"):
            read_sensitive_features(features, 4, like=[other])
    read_sensitive_features(pl.Series(WORDS), 4, like=rows[::-1])  # no index, nothing to compare


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({}, "no column"),
        (pd.DataFrame(index=range(2)), "no column"),
        (np.zeros((2, 0)), "no column"),
        (np.zeros((2, 1, 1)), "3 dimensions"),
        (7, "one-dimensional"),
        ("ab", "one-dimensional"),
        ({"s": np.zeros((2, 2))}, r"\(s\) must be one-dimensional"),
        ([1j, 2], "complex"),
        (pd.DataFrame([[1, 2], [3, 4]], columns=["s", "s"]), "name twice.*rename or drop"),
        ({"1": [1, 2], 1: [3, 4]}, "name twice.*rename or drop"),
    ],
)
def test_what_is_not_a_table_of_attributes_is_refused(features, message):
    with pytest.raises(ValueError, match=message):
        read_sensitive_features(features, 2)
