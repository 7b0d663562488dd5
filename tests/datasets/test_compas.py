"""Facts about the COMPAS defendants and what the loader does to the columns."""

import numpy as np
import pytest

from gferm.datasets import load_compas
from gferm.datasets.dataset import read_bundled

SCORES = {"decile-score", "score-text_High", "score-text_Low", "score-text_Medium"}


@pytest.fixture
def raw():
    return read_bundled("compas.csv.gz")


@pytest.fixture
def full():
    return load_compas(sensitive=["race", "sex"], include_sensitive=True)


@pytest.mark.parametrize(
    ("sensitive", "counts"),  # group -> defendants, charged again
    [
        ("race", {"Caucasian": (2100, 822), "not Caucasian": (4067, 1987)}),
        ("sex", {"female": (1173, 413), "male": (4994, 2396)}),
    ],
)
def test_groups_and_labels(sensitive, counts):
    _, y, s = load_compas(sensitive=sensitive, return_X_y=True)
    found = {
        group: (int((s == group).sum()), int((y[s == group] == "yes").sum()))
        for group in np.unique(s).tolist()
    }
    assert found == counts
    assert (y == "no").sum() == 3358


def test_words_stand_for_the_codes_of_the_source(raw):
    # the first defendants of ProPublica's file: a man of 69, "Other", not charged again; a man of
    # 34 and one of 24, "African-American", charged again
    bunch = load_compas(sensitive=["race", "sex"])
    assert raw["age-num"][:3].tolist() == [69, 34, 24]
    assert bunch.sensitive_features[:3].tolist() == [["not Caucasian", "male"]] * 3
    assert bunch.target[:3].tolist() == ["no", "yes", "yes"]
    np.testing.assert_array_equal(bunch.target == "yes", raw["two-year-recid"] == 1)


def test_features_are_all_columns_but_label_and_verdict(raw, full):
    assert raw.keys() - {*full.feature_names} == {"two-year-recid", *SCORES}
    assert len(full.feature_names) == 12
    for name, column in zip(full.feature_names, full.data.T, strict=True):
        np.testing.assert_array_equal(column, raw[name])


def test_steps_are_those_that_the_description_states(raw):
    decile, age = raw["decile-score"], raw["age-num"]
    np.testing.assert_array_equal(raw["score-text_Low"] == 1, decile <= 4)
    np.testing.assert_array_equal(raw["score-text_High"] == 1, decile >= 8)
    np.testing.assert_array_equal(raw["age-cat_Less than 25"] == 1, age < 25)
    np.testing.assert_array_equal(raw["age-cat_Greater than 45"] == 1, age >= 45)
    rows = np.column_stack(list(raw.values()))
    assert len(rows) - len(np.unique(rows, axis=0)) == 1282


@pytest.mark.parametrize("chosen", ["race", "sex"])
def test_only_the_chosen_attribute_leaves_the_features(chosen, full):
    bunch = load_compas(sensitive=chosen)
    assert bunch.feature_names == [name for name in full.feature_names if name != chosen]


@pytest.mark.parametrize(("attribute", "one"), [("race", "Caucasian"), ("sex", "male")])
def test_included_attribute_is_one_where_the_description_says(attribute, one):
    bunch = load_compas(sensitive=attribute, include_sensitive=True)
    column = bunch.data[:, bunch.feature_names.index(attribute)]
    np.testing.assert_array_equal(column == 1, bunch.sensitive_features == one)
