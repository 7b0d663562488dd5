"""Facts about the school pupils and what the loader does to the columns."""

import numpy as np
import pytest

from gferm.datasets import load_pupils
from gferm.datasets.dataset import read_bundled

ALL = ["sex", "Minority", "ses"]


@pytest.fixture
def raw():
    return read_bundled("school_pupils.csv.gz")


@pytest.fixture
def full():
    return load_pupils(sensitive=ALL, include_sensitive=True)


def test_columns_left_out_are_identifiers_outcomes_and_copies(raw, full):
    left_out = raw.keys() - {*full.feature_names}
    assert left_out == {
        *("schoolNR", "pupilNR", "classNR", "langPOST", "aritPOST"),
        *("IQ.ver.cen", "grpSiz.cen", "denomina"),
    }
    assert len(full.feature_names) == 24


def test_dropped_copies_are_shifts_and_the_school_mean_is_not(raw):
    for copy, original in [("IQ.ver.cen", "IQ.verb"), ("grpSiz.cen", "groupsiz")]:
        np.testing.assert_allclose(raw[copy], raw[original] - raw[original].mean(), atol=1e-12)
    _, school = np.unique(raw["schoolNR"], return_inverse=True)
    means = np.bincount(school, raw["IQ.ver.cen"]) / np.bincount(school)
    np.testing.assert_allclose(raw["avg.IQ.ver.cen"], means[school], atol=1e-12)


def test_no_feature_is_a_combination_of_others_but_the_one_hot(full):
    with_constant = np.column_stack([np.ones(len(full.data)), full.data])
    assert np.linalg.matrix_rank(with_constant) == len(full.feature_names)


def test_features_are_the_source_as_numbers(raw, full):
    columns = dict(zip(full.feature_names, full.data.T, strict=True))
    onehot = np.array([columns.pop(f"denomina_{k}") for k in (1, 2, 3, 4)])
    np.testing.assert_array_equal(onehot.sum(axis=0), 1)
    np.testing.assert_array_equal(onehot.argmax(axis=0) + 1, raw["denomina"])
    np.testing.assert_array_equal(columns.pop("Minority") == 1, raw["Minority"] == "Y")
    for name, column in columns.items():
        np.testing.assert_array_equal(column, raw[name])


@pytest.mark.parametrize("chosen", ALL)
def test_only_the_chosen_attribute_leaves_the_features(chosen, full):
    bunch = load_pupils(sensitive=chosen)
    assert bunch.feature_names == [name for name in full.feature_names if name != chosen]


@pytest.mark.parametrize(
    ("sensitive", "counts", "means"),
    [("sex", {0: 1194, 1: 1093}, [39.7, 42.3]), ("Minority", {"N": 2155, "Y": 132}, [41.2, 36.2])],
)
def test_groups(sensitive, counts, means):
    _, y, s = load_pupils(sensitive=sensitive, return_X_y=True)
    assert {group: int((s == group).sum()) for group in np.unique(s).tolist()} == counts
    assert [round(y[s == group].mean(), 1) for group in counts] == means


def test_status_is_continuous_and_related_to_the_target():
    _, y, ses = load_pupils(sensitive="ses", return_X_y=True)
    assert ses.dtype == np.float64
    assert (ses.min(), ses.max(), len(np.unique(ses))) == (10, 50, 21)
    assert round(np.corrcoef(ses, y)[0, 1], 2) == 0.36


def test_label_bins_hold_five_scores_each_but_the_first():
    bunch = load_pupils()
    assert bunch.y_bins == (9, *range(19, 60, 5))
    np.testing.assert_array_equal(bunch.target, np.round(bunch.target))
    counts, _ = np.histogram(bunch.target, bunch.y_bins)
    assert counts.tolist() == [25, 75, 144, 235, 349, 464, 459, 421, 115]


def test_status_bins_are_uniform():
    assert load_pupils(sensitive="ses").s_bins == (10, 18, 26, 34, 42, 50)
    assert load_pupils(sensitive=ALL).s_bins == {0: "auto", 1: "auto", 2: (10, 18, 26, 34, 42, 50)}
