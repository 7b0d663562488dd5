"""Facts about Communities and Crime that the paper states or the file shows."""

import numpy as np
import pytest

from gferm.datasets import load_crime
from gferm.datasets.dataset import read_bundled


def test_groups_are_those_of_the_paper():
    crime = load_crime()
    s, y = crime.sensitive_features, crime.target
    assert np.bincount(s).tolist() == [1024, 970]
    assert round(y[s == 1].mean(), 2) == 0.35
    assert round(y[s == 0].mean(), 2) == 0.13


def test_binary_attribute_is_the_continuous_one_above_the_threshold():
    binary, continuous = load_crime(), load_crime(sensitive="continuous")
    assert binary.sensitive_features.dtype.kind == "i"
    assert continuous.sensitive_features.dtype == np.float64
    np.testing.assert_array_equal(
        binary.sensitive_features == 1, continuous.sensitive_features > 0.06
    )
    assert (continuous.sensitive_features == 0.06).any(), "the threshold must be strict"
    np.testing.assert_array_equal(binary.data, continuous.data)


@pytest.mark.parametrize(
    ("sensitive", "name"), [("binary", "racepctblack > 0.06"), ("continuous", "racepctblack")]
)
def test_included_attribute_takes_the_place_of_racepctblack(sensitive, name):
    without = load_crime(sensitive=sensitive)
    included = load_crime(sensitive=sensitive, include_sensitive=True)
    assert without.data.shape == (1994, 99)
    assert included.data.shape == (1994, 100)
    place = included.feature_names.index(name)
    assert included.feature_names[place - 1 : place + 2] == ["householdsize", name, "racePctWhite"]
    np.testing.assert_array_equal(included.data[:, place], included.sensitive_features)
    np.testing.assert_array_equal(np.delete(included.data, place, axis=1), without.data)


def test_dropped_columns_are_identifiers_and_the_police_survey():
    raw = read_bundled("communities_and_crime.csv.gz")
    kept = {*load_crime(sensitive="continuous", include_sensitive=True).feature_names}
    dropped = raw.keys() - kept - {"ViolentCrimesPerPop"}
    identifiers = {"state", "county", "community", "communityname", "fold"}
    assert identifiers <= dropped
    survey = dropped - identifiers
    assert len(survey) == 22
    assert {int(np.isnan(raw[name]).sum()) for name in survey} == {1675}


def test_the_one_gap_is_the_mean_and_nothing_else_changes():
    raw = read_bundled("communities_and_crime.csv.gz")
    crime = load_crime()
    for j, name in enumerate(crime.feature_names):
        gaps = np.isnan(raw[name])
        assert gaps.sum() == (name == "OtherPerCap")
        np.testing.assert_array_equal(crime.data[~gaps, j], raw[name][~gaps])
        np.testing.assert_allclose(crime.data[gaps, j], raw[name][~gaps].mean())


def test_bins_are_those_of_the_paper():
    binary, continuous = load_crime(), load_crime(sensitive="continuous")
    assert binary.y_bins == continuous.y_bins == (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)
    assert binary.s_bins == (-0.5, 0.5, 1.5)
    assert continuous.s_bins == (0, 0.2, 0.4, 0.6, 0.8, 1)


def test_labels_on_an_edge_open_their_bin():
    crime = load_crime()
    for k in range(10):
        label = float(f"0.{k}")
        assert (crime.target == label).any()
        assert np.searchsorted(crime.y_bins, label, side="right") - 1 == k


def test_description_quotes_counts_that_hold():
    crime = load_crime()
    assert (crime.target == 1).sum() == 44
    counts, _ = np.histogram(crime.target[crime.sensitive_features == 0], crime.y_bins)
    assert counts[-3:].tolist() == [3, 3, 1]
