"""Handing out: several attributes, bin edges, and life without pandas."""

import gzip
import subprocess
import sys

import numpy as np
import pytest

from gferm.datasets import load_compas, load_crime, load_german, load_law, load_pupils
from gferm.datasets.dataset import read_csv
from gferm.fairness.bins import uniform_edges


@pytest.mark.parametrize(
    "load", [load_pupils, load_law, load_german, load_compas], ids=lambda load: load.__name__
)
@pytest.mark.parametrize("value", [[], ["sex", "sex"], ["sex", "nonsense"]])
def test_sequence_must_name_known_attributes_once(load, value):
    with pytest.raises(ValueError, match="sensitive=") as error:
        load(sensitive=value)
    assert "'sex'" in str(error.value).split("valid:")[1]


@pytest.mark.parametrize("names", [("sex", "ses"), ["ses", "Minority", "sex"], ["sex"]])
def test_several_attributes_keep_order_and_kind(names):
    arrays, frames = load_pupils(sensitive=names), load_pupils(sensitive=names, as_frame=True)
    assert arrays.sensitive_features.shape == (2287, len(names))
    assert arrays.sensitive_features.dtype == object
    assert arrays.sensitive_names == list(frames.sensitive_features.columns) == list(names)
    assert list(arrays.s_bins) == list(range(len(names)))  # an array has no names: by position
    assert list(frames.s_bins) == list(names)
    assert not set(names) & set(arrays.feature_names)
    for j, name in enumerate(names):
        alone = load_pupils(sensitive=name)
        np.testing.assert_array_equal(arrays.sensitive_features[:, j], alone.sensitive_features)
        np.testing.assert_array_equal(frames.sensitive_features[name], alone.sensitive_features)
        assert arrays.s_bins[j] == frames.s_bins[name] == alone.s_bins
        assert isinstance(arrays.sensitive_features[0, j], str) is (name == "Minority")


def test_missing_pandas_is_explained(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install pandas.*gferm\[cli\]"):
        load_crime(as_frame=True)
    assert load_crime().data.shape == (1994, 99)


def test_package_and_arrays_need_no_pandas():
    code = "import sys; sys.modules['pandas'] = None; import gferm.datasets as d; d.load_pupils()"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_csv_is_read_packed_or_plain(tmp_path, pack):
    file = tmp_path / "table"  # no ending: the content tells
    file.write_bytes(pack('a,b,c\n1,x,2\n,"y, é",-3.5\n'.encode()))
    columns = read_csv(file)
    assert list(columns) == ["a", "b", "c"]
    np.testing.assert_array_equal(columns["a"], [1, np.nan])
    assert columns["b"].tolist() == ["x", "y, é"]
    assert columns["c"].tolist() == [2, -3.5]


@pytest.mark.parametrize(
    ("low", "high", "n_bins", "decimals"),
    [(0, 1, 10, 1), (0, 1, 5, 1), (-3.5, 3.5, 10, 1), (9, 59, 10, 0), (0, 1, 20, 2)],
)
def test_uniform_edges_are_the_shortest_decimals(low, high, n_bins, decimals):
    edges = uniform_edges(low, high, n_bins)
    assert edges == tuple(round(edge, decimals) for edge in np.linspace(low, high, n_bins + 1))
