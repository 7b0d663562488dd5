"""The bins of all rows, from sketches of parts of them."""

import numpy as np
import pytest

from gferm import Bins
from gferm.distributed import bin_sketch
from gferm.distributed.bin_sketch import join_sketches, resolve_bins, sketch_rows
from gferm.fairness.cells import CellScheme
from gferm.fairness.sensitive import read_sensitive_features
from tests.distributed.rows import AGE, WEIGHT, N


def bins_of_parts(values, weight=None, *, cuts=6, fan_in=3, **options):
    """Settle the bins of an attribute in a tree over parts of its rows."""
    weight = np.ones(values.size) if weight is None else weight
    options = {"y_bins": 1, "s_bins": "auto", **options}
    sketches = []
    for rows in np.array_split(np.arange(values.size), cuts):
        columns = read_sensitive_features(values[rows], rows.size)
        labels = np.zeros(rows.size)
        sketches.append(sketch_rows(labels, columns, weight[rows], n_rows=rows.size, **options))
    while len(sketches) > 1:
        sketches = [
            join_sketches(sketches[i : i + fan_in]) for i in range(0, len(sketches), fan_in)
        ]
    return resolve_bins(sketches[0], **options, intersectional=True)


@pytest.mark.parametrize("s_bins", ["auto", 7, Bins.quantile(3), [0, 50, 100], "continuous"])
@pytest.mark.parametrize("weight", [None, WEIGHT + 0.1], ids=["alike", "weights"])
def test_bins_of_parts_are_those_of_all_rows(s_bins, weight):
    columns = read_sensitive_features(AGE, N)
    expected = CellScheme.resolve(
        np.zeros(N), columns, y_bins=1, s_bins=s_bins, intersectional=True, weight=weight
    )
    found = bins_of_parts(AGE, weight, s_bins=s_bins)
    if s_bins == "continuous":
        (found,), (expected,) = found.sensitive_bins, expected.sensitive_bins
        assert found.center == pytest.approx(expected.center, rel=1e-12)
        assert found.spread == pytest.approx(expected.spread, rel=1e-12)
    else:
        assert found == expected


@pytest.mark.parametrize("n_levels", [2, 10, 11, 40, 200, 201])
def test_words_are_groups_unless_they_are_identifiers(n_levels):
    words = np.array([f"w{i % n_levels}" for i in range(N)])
    if n_levels > N // 2:
        with pytest.raises(ValueError, match=f"has {n_levels} different values in {N} rows"):
            bins_of_parts(words)
    else:
        assert bins_of_parts(words).sensitive_bins[0].n_bins == n_levels


@pytest.mark.parametrize("most", [50, 200])
def test_quantiles_of_an_even_selection_are_close(monkeypatch, most):
    monkeypatch.setattr(bin_sketch, "MOST_LEVELS", most)
    values = np.sort(np.random.default_rng(1).lognormal(size=20_000))
    cuts = [*range(300, 7_800, 300), 14_000]  # small parts of small values, large of large ones
    edges = bins_of_parts(values, cuts=cuts).sensitive_bins[0].boundaries
    shares = np.array([(values < edge).mean() for edge in edges[1:-1]])
    # four floors: the partitions themselves, and joins by three; then one step to choose from
    np.testing.assert_allclose(shares, np.arange(1, 5) / 5, atol=5 / most)
    with pytest.raises(ValueError, match="sensitive: there are more than"):
        bins_of_parts(values.astype(str))
