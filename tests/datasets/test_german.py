"""Facts about the German credits and what the loader does to the columns."""

import numpy as np
import pytest

from gferm.datasets import load_german
from gferm.datasets.dataset import read_bundled

ONE_HOT = {
    "status": 4,
    "credit-history": 5,
    "purpose": 10,
    "savings": 5,
    "employment": 5,
    "other-debtors": 3,
    "property": 4,
    "installment-plans": 3,
    "housing": 3,
    "skill-level": 4,
    "telephone": 2,
    "foreign-worker": 2,
}


@pytest.fixture
def raw():
    return read_bundled("german_credit.csv.gz")


@pytest.fixture
def full():
    return load_german(sensitive=["sex", "age"], include_sensitive=True)


@pytest.mark.parametrize(
    ("sensitive", "counts"),  # group -> customers, bad risks
    [
        ("sex", {"female": (310, 109), "male": (690, 191)}),
        ("age", {"<25": (149, 61), ">=25": (851, 239)}),
    ],
)
def test_groups_and_labels(sensitive, counts):
    _, y, s = load_german(sensitive=sensitive, return_X_y=True)
    found = {
        group: (int((s == group).sum()), int((y[s == group] == "bad").sum()))
        for group in np.unique(s).tolist()
    }
    assert found == counts
    assert (y == "good").sum() == 700


def test_words_stand_for_the_codes_of_the_source(raw):
    # the first three customers in UCI's german.data: a man of 67 (class 1, good), a woman of 22
    # (class 2, bad), a man of 49 (class 1)
    bunch = load_german(sensitive=["sex", "age"])
    assert bunch.sensitive_features[:3].tolist() == [
        ["male", ">=25"],
        ["female", "<25"],
        ["male", ">=25"],
    ]
    assert bunch.target[:3].tolist() == ["good", "bad", "good"]
    np.testing.assert_array_equal(bunch.target == "bad", raw["credit-label"] == 1)


def test_age_is_cut_below_25():
    # customers 10 and 17 of german.data are 25 years old, 11 and 39 are 24
    ages = load_german(sensitive="age").sensitive_features[[10, 17, 11, 39]]
    assert ages.tolist() == [">=25", ">=25", "<25", "<25"]


def test_features_are_all_columns_but_label_and_product(raw, full):
    assert raw.keys() - {*full.feature_names} == {"credit-label", "sex-age"}
    assert len(full.feature_names) == 58
    for name, column in zip(full.feature_names, full.data.T, strict=True):
        np.testing.assert_array_equal(column, raw[name])


def test_dropped_product_gives_the_attributes_away(raw):
    np.testing.assert_array_equal(raw["sex-age"], raw["sex"] * raw["age"])


def test_other_features_are_one_hot_or_numbers(full):
    data = dict(zip(full.feature_names, full.data.T, strict=True))
    for attribute, n_categories in ONE_HOT.items():
        flags = [data.pop(name) for name in list(data) if name.startswith(f"{attribute}_")]
        assert len(flags) == n_categories
        np.testing.assert_array_equal(sum(flags), 1)
    assert {*data} == {
        *("month", "credit-amount", "investment-as-income-percentage", "residence-since"),
        *("number-of-credits", "people-liable-for", "sex", "age"),
    }


@pytest.mark.parametrize("chosen", ["sex", "age"])
def test_only_the_chosen_attribute_leaves_the_features(chosen, full):
    bunch = load_german(sensitive=chosen)
    assert bunch.feature_names == [name for name in full.feature_names if name != chosen]


@pytest.mark.parametrize(("attribute", "one"), [("sex", "male"), ("age", ">=25")])
def test_included_attribute_is_one_where_the_description_says(attribute, one):
    bunch = load_german(sensitive=attribute, include_sensitive=True)
    column = bunch.data[:, bunch.feature_names.index(attribute)]
    np.testing.assert_array_equal(column == 1, bunch.sensitive_features == one)
