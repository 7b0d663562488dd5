"""What every loader of a bundled dataset promises."""

from importlib import resources

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.multiclass import type_of_target

from gferm.datasets import load_compas, load_crime, load_german, load_law, load_pupils
from gferm.datasets.dataset import read_bundled

# loader -> (file, rows, target, one choice of `sensitive` per name that the Bunch must report)
LOADERS = {
    load_crime: (
        "communities_and_crime.csv.gz",
        1994,
        "ViolentCrimesPerPop",
        {"binary": ["racepctblack > 0.06"], "continuous": ["racepctblack"]},
    ),
    load_pupils: (
        "school_pupils.csv.gz",
        2287,
        "langPOST",
        {"sex": ["sex"], "Minority": ["Minority"], "ses": ["ses"]},
    ),
    load_law: ("law_school.csv.gz", 21791, "ZFYA", {"race": ["race"], "sex": ["sex"]}),
    load_german: (
        "german_credit.csv.gz",
        1000,
        "credit-label",
        {"sex": ["sex"], "age": ["age"]},
    ),
    load_compas: ("compas.csv.gz", 6167, "two-year-recid", {"race": ["race"], "sex": ["sex"]}),
}
CLASSIFICATION = {load_german: {"good", "bad"}, load_compas: {"no", "yes"}}
CASES = [
    pytest.param(loader, {"sensitive": s, "include_sensitive": i}, id=f"{loader.__name__}-{s}-{i}")
    for loader, (_, _, _, choices) in LOADERS.items()
    for s in choices
    for i in (False, True)
]
each_case = pytest.mark.parametrize(("load", "options"), CASES)
each_loader = pytest.mark.parametrize("load", LOADERS, ids=lambda load: load.__name__)


@each_case
def test_bunch_is_consistent_and_finite(load, options):
    _, n_rows, target_name, choices = LOADERS[load]
    bunch = load(**options)
    assert bunch.data.shape == (n_rows, len(bunch.feature_names))
    assert bunch.data.dtype == np.float64
    assert bunch.target.shape == bunch.sensitive_features.shape == (n_rows,)
    assert np.isfinite(bunch.data).all()
    assert (np.ptp(bunch.data, axis=0) > 0).all(), "a constant feature carries no information"
    assert len(set(bunch.feature_names)) == len(bunch.feature_names)
    assert bunch.target_name == target_name
    assert target_name not in bunch.feature_names
    assert bunch.sensitive_names == choices[options["sensitive"]]
    assert all(type(name) is str for name in bunch.feature_names)


@each_loader
def test_target_is_finite_numbers_or_the_words_of_classes(load):
    bunch = load()
    if load in CLASSIFICATION:
        assert set(bunch.target.tolist()) == CLASSIFICATION[load]
        assert type_of_target(bunch.target) == "binary"
        assert bunch.y_bins == "auto"
    else:
        assert bunch.target.dtype == np.float64
        assert np.isfinite(bunch.target).all()


@each_case
def test_sensitive_attribute_is_a_feature_only_on_request(load, options):
    bunch = load(**options)
    attribute = bunch.sensitive_names[0]
    by_itself_or_by_category = [
        name for name in bunch.feature_names if name.lower().split("_")[0] == attribute.lower()
    ]
    assert bool(by_itself_or_by_category) is options["include_sensitive"]


@each_case
def test_bins_cover_every_row(load, options):
    bunch = load(**options)
    for values, edges in [
        (bunch.target, bunch.y_bins),
        (bunch.sensitive_features, bunch.s_bins),
    ]:
        if edges == "auto":
            assert len(np.unique(values)) <= 10
            continue
        assert isinstance(edges, tuple)
        assert edges[0] <= values.min()
        assert values.max() <= edges[-1]
        assert (np.diff(edges) > 0).all()
        counts, _ = np.histogram(values, edges)  # half-open, the last bin closed
        assert counts.sum() == len(values)
        assert counts.min() > 0


@each_loader
def test_return_X_y_gives_the_same_three(load):
    bunch = load()
    for part, expected in zip(
        load(return_X_y=True),
        (bunch.data, bunch.target, bunch.sensitive_features),
        strict=True,
    ):
        np.testing.assert_array_equal(part, expected)


@each_case
def test_frame_holds_the_same_values_under_their_names(load, options):
    arrays, frames = load(**options), load(**options, as_frame=True)
    assert isinstance(frames.data, pd.DataFrame)
    assert isinstance(frames.target, pd.Series)
    assert isinstance(frames.sensitive_features, pd.Series)
    assert list(frames.data.columns) == arrays.feature_names
    assert frames.target.name == arrays.target_name
    assert frames.sensitive_features.name == arrays.sensitive_names[0]
    np.testing.assert_array_equal(frames.data, arrays.data)
    np.testing.assert_array_equal(frames.target, arrays.target)
    np.testing.assert_array_equal(frames.sensitive_features, arrays.sensitive_features)


@pytest.mark.parametrize("as_frame", [False, True])
@each_case
def test_two_calls_share_nothing(load, options, as_frame):
    for part in load(**options, return_X_y=True, as_frame=as_frame):
        values = part.iloc if as_frame else part
        values[:] = values[0]  # would be an error if the part were a view of the read-only cache
    again = load(**options)
    assert (np.ptp(again.data, axis=0) > 0).all()
    assert len(np.unique(again.target)) > 1
    assert len(np.unique(again.sensitive_features)) > 1
    assert load(**options).feature_names is not again.feature_names


@each_loader
def test_description_says_where_the_data_come_from(load):
    text = load().DESCR
    for heading in ("Origin:", "Licence:", "Attribution:", "Changes:", "Bins:", "Limits:"):
        assert heading in text
    assert max(map(len, text.splitlines())) <= 100


@each_loader
def test_file_is_in_the_package(load):
    filename, n_rows, _, _ = LOADERS[load]
    assert (resources.files("gferm.datasets") / "data" / filename).is_file()
    columns = read_bundled(filename)
    assert {len(column) for column in columns.values()} == {n_rows}
    assert not any(column.flags.writeable for column in columns.values())


@pytest.mark.parametrize("value", ["nonsense", "", None, 3])
@each_loader
def test_unknown_sensitive_is_refused_with_the_choices(load, value):
    with pytest.raises(ValueError, match="sensitive=") as error:
        load(sensitive=value)
    for name in (repr(value), *map(repr, LOADERS[load][3])):
        assert name in str(error.value)
