"""The raw table of Adult becomes numbers: complete rows, one 0/1 column for each category."""

import numpy as np
import pytest
from tests.adult_rows import COMPLETE, RAW, raw_columns

from gferm.datasets.adult import LABELS, NUMBERS, PREFIXES, check_encoded, encode


@pytest.fixture
def raw():
    return raw_columns()


def test_rows_with_a_gap_are_dropped_and_numbers_stay_numbers(raw):
    encoded = encode(raw, "test")
    for name in NUMBERS:
        np.testing.assert_array_equal(encoded[name], raw[name][COMPLETE])
    assert {column.dtype for column in encoded.values()} == {np.dtype(float)}


def test_columns_are_numbers_then_sorted_categories_of_the_complete_rows(raw):
    assert list(encode(raw, "test")) == [
        *("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"),
        *("workclass_Private", "workclass_State-gov"),
        *("education_Bachelors", "education_HS-grad"),  # 11th and Masters only in rows with gaps
        *("marital-status_Divorced", "marital-status_Never-married", "marital-status_Widowed"),
        *("occupation_Sales", "occupation_Tech-support"),
        *("relationship_Husband", "relationship_Wife"),
        *("race_Black", "race_White"),
        *("sex_Female", "sex_Male"),
        *("native-country_Cuba", "native-country_Peru"),
        *("salary_<=50K", "salary_>50K"),
    ]


def test_each_row_has_the_one_flag_of_its_category(raw):
    encoded = encode(raw, "test")
    for name, prefix in PREFIXES.items():
        flags = {c.removeprefix(prefix): v for c, v in encoded.items() if c.startswith(prefix)}
        np.testing.assert_array_equal(sum(flags.values()), 1)
        for category, flag in flags.items():
            np.testing.assert_array_equal(flag == 1, raw[name][COMPLETE] == category)


@pytest.mark.parametrize("name", RAW)
def test_a_gap_in_any_column_drops_the_row(raw, name):
    raw[name][2] = np.nan if name in NUMBERS else "?"
    np.testing.assert_array_equal(encode(raw, "test")["fnlwgt"], np.array([77516, 338409]))


def test_raw_columns_are_not_changed_and_their_order_does_not_matter(raw):
    before = {name: column.copy() for name, column in raw.items()}
    encoded = encode(raw, "test")
    backwards = encode(dict(reversed(raw.items())), "test")
    assert list(encoded) == list(backwards)
    for name, column in raw.items():
        np.testing.assert_array_equal(column, before[name])


@pytest.mark.parametrize("name", RAW)
def test_absent_raw_column_is_named(raw, name):
    del raw[name]
    with pytest.raises(ValueError, match=rf"^here lacks the columns \['{name}'\].*one-hot form"):
        encode(raw, "here")


def test_what_encode_makes_is_accepted(raw):
    check_encoded(encode(raw, "test"), "test")


@pytest.mark.parametrize("name", [*NUMBERS, *LABELS])
def test_absent_encoded_column_is_named(raw, name):
    encoded = {**encode(raw, "test")}
    del encoded[name]
    with pytest.raises(ValueError, match=r"^here lacks the columns") as error:
        check_encoded(encoded, "here")
    assert repr([name]) in str(error.value)


@pytest.mark.parametrize("absent", ["sex_Female", "race_White", "occupation_Sales"])
def test_one_hot_with_a_category_left_out_is_refused(raw, absent):
    encoded = {**encode(raw, "test")}
    del encoded[absent]
    prefix = absent.split("_")[0]
    with pytest.raises(ValueError, match=rf"^here: the columns {prefix}_\* .*every category"):
        check_encoded(encoded, "here")


def test_attribute_without_any_column_is_refused(raw):
    encoded = {n: c for n, c in encode(raw, "test").items() if not n.startswith("sex_")}
    with pytest.raises(ValueError, match=r"^here: the columns sex_\*"):
        check_encoded(encoded, "here")


def test_labels_of_the_test_file_of_uci_are_refused(raw):
    raw["class"] = np.array(["<=50K", "", ">50K", "", ">50K.", ""])  # with a full stop
    with pytest.raises(ValueError, match=r"^here has the labels \['salary_>50K\.'\]"):
        check_encoded(encode(raw, "here"), "here")
