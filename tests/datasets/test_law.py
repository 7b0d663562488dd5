"""Facts about the law students and the categories rebuilt from 0/1 columns."""

import numpy as np
import pytest

from gferm.datasets import load_law
from gferm.datasets.dataset import read_bundled

RACES = {
    "Amerindian": 99,
    "Asian": 845,
    "Black": 1282,
    "Hispanic": 488,
    "Mexican": 389,
    "Other": 293,
    "Puertorican": 110,
    "White": 18285,
}
SEXES = {"1": 9537, "2": 12254}


@pytest.mark.parametrize(("sensitive", "counts"), [("race", RACES), ("sex", SEXES)])
def test_groups(sensitive, counts):
    s = load_law(sensitive=sensitive).sensitive_features
    assert s.dtype.kind == "U"
    groups, sizes = np.unique(s, return_counts=True)
    assert dict(zip(groups.tolist(), sizes.tolist(), strict=True)) == counts


@pytest.mark.parametrize(("sensitive", "prefix"), [("race", "Race_"), ("sex", "Sex_")])
def test_every_row_has_exactly_the_category_of_its_flag(sensitive, prefix):
    raw = read_bundled("law_school.csv.gz")
    s = load_law(sensitive=sensitive).sensitive_features
    flags = {name: column for name, column in raw.items() if name.startswith(prefix)}
    np.testing.assert_array_equal(sum(flags.values()), 1)
    for name, flag in flags.items():
        np.testing.assert_array_equal(flag == 1, s == name.removeprefix(prefix))


def test_features_are_the_two_scores_and_no_later_outcome():
    law = load_law()
    assert law.feature_names == ["LSAT", "UGPA"]
    raw = read_bundled("law_school.csv.gz")
    np.testing.assert_array_equal(law.data, np.column_stack([raw["LSAT"], raw["UGPA"]]))
    np.testing.assert_array_equal(law.target, raw["ZFYA"])


@pytest.mark.parametrize(
    ("sensitive", "added"),
    [
        ("race", [f"Race_{race}" for race in RACES]),
        ("sex", ["Sex_1", "Sex_2"]),
        (["sex", "race"], ["Sex_1", "Sex_2", *(f"Race_{race}" for race in RACES)]),
    ],
)
def test_included_attributes_are_one_hot(sensitive, added):
    law = load_law(sensitive=sensitive, include_sensitive=True)
    assert law.feature_names == ["LSAT", "UGPA", *added]
    flags = law.data[:, 2:]
    assert set(np.unique(flags)) == {0, 1}
    np.testing.assert_array_equal(flags.sum(axis=1), len(law.sensitive_names))


def test_both_attributes_are_two_columns_of_strings():
    both = load_law(sensitive=("race", "sex")).sensitive_features
    assert both.shape == (21791, 2)
    np.testing.assert_array_equal(both[:, 0], load_law().sensitive_features)
    np.testing.assert_array_equal(both[:, 1], load_law(sensitive="sex").sensitive_features)


def test_label_bins_and_the_sparse_cell_the_description_warns_of():
    law = load_law()
    assert law.y_bins == (-3.5, -2.8, -2.1, -1.4, -0.7, 0, 0.7, 1.4, 2.1, 2.8, 3.5)
    assert law.s_bins == "auto"
    top = law.sensitive_features[law.target >= 2.8]
    assert top.tolist() == ["White"] * 14


def test_odd_rows_are_kept_as_described():
    law = load_law()
    grades = law.data[:, 1]
    assert (grades == 0).sum() == 2
    assert (grades > 4).sum() == 18
    raw = np.column_stack(list(read_bundled("law_school.csv.gz").values()))
    assert len(raw) - len(np.unique(raw, axis=0)) == 893
