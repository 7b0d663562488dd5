"""Hits, errors and DGF of many folds at once equal the public metrics of each."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reproduction.judging import FoldJudge, mean_gap
from reproduction.nested import PaddedFolds

from gferm import metrics
from gferm.arrays.device import TorchDevice, open_device
from gferm.fairness.bins import Bins, uniform_edges
from gferm.fairness.cells import CellScheme
from gferm.fairness.membership import sort_rows
from gferm.fairness.sensitive import SensitiveColumn
from gferm.metrics.chance import dgf_of_counts

CPU = open_device("cpu")
N_VARIANTS = 3


class Judged:
    """Rows with labels on edges and between them, in four folds of unequal size."""

    def __init__(self, n_bins=10, n_groups=2, n=83, seed=0, device=CPU):
        rng = np.random.default_rng(seed)
        edges = np.array(uniform_edges(0, 1, n_bins))
        self.y = np.where(rng.random(n) < 0.3, rng.choice(edges, n), rng.random(n))
        self.y[:4] = 0.0, 1.0, 1.0, 1.0
        self.s = rng.integers(0, n_groups, n)
        self.bins = {"y_bins": edges, "s_bins": Bins.categories(range(n_groups))}
        scheme = CellScheme(Bins.edges(edges), ("s",), (self.bins["s_bins"],), True)
        cells = sort_rows(scheme, self.y, [SensitiveColumn("s", self.s)])
        self.folds = np.array_split(rng.permutation(n), 4)
        self.rectangle = PaddedFolds(self.folds, n, inner=True)
        self.judged = FoldJudge(device, cells, self.y, self.rectangle)
        shape = (2, 4, N_VARIANTS, self.rectangle.rows.shape[1])
        near = self.y[np.minimum(self.rectangle.rows, n - 1)][:, None, :]
        noise = rng.normal(0, 0.05, shape) * (rng.random(shape) < 0.7)
        self.predictions = near + noise  # many on their own label, which may be an edge
        strange = rng.random(shape) < 0.4
        outside = [-0.2, 1.2, 0.0, 1.0, np.nextafter(1.0, 2.0), np.nextafter(0.5, 0.0)]
        choices = rng.choice([*edges, *outside], shape)
        self.predictions = np.where(strange, choices, self.predictions)

    def each(self):
        """Give, for every fold and predictor, its place and what the public metrics need."""
        for fold, rows in enumerate(self.folds):
            for a, v in np.ndindex(2, N_VARIANTS):
                f = self.predictions[a, fold, v, : len(rows)]
                given = {"sensitive_features": self.s[rows], **self.bins}
                yield (a, fold, v), (self.y[rows], f), given


CASES = pytest.mark.parametrize(("n_bins", "n_groups"), [(10, 2), (5, 2), (20, 2), (10, 5), (3, 3)])


@CASES
def test_hits_are_those_of_cell_rates(n_bins, n_groups):
    rows = Judged(n_bins, n_groups)
    hits = rows.judged.hits(rows.predictions)
    assert hits.shape == (2, 4, N_VARIANTS, n_bins, n_groups)
    for place, (y, f), given_ in rows.each():
        rates = metrics.cell_rates(y, f, **given_)
        expected = np.where(rates.counts > 0, rates.values * rates.counts, 0)
        np.testing.assert_allclose(hits[place], expected, atol=1e-12)
        np.testing.assert_array_equal(rows.judged.counts[place[1]], rates.counts)


@CASES
def test_errors_and_dgf_are_those_of_the_metrics(n_bins, n_groups):
    rows = Judged(n_bins, n_groups, seed=1)
    errors, dgf = rows.judged.errors(rows.predictions), rows.judged.dgf(rows.predictions)
    for place, (y, f), given_ in rows.each():
        assert errors[place] == pytest.approx(np.abs(y - f).mean())
        expected = metrics.dgf(y, f, average="sum", **given_) / (n_bins * n_groups * (n_groups - 1))
        assert dgf[place] == pytest.approx(expected)


@CASES
def test_sums_are_over_the_rows_of_a_cell(n_bins, n_groups):
    rows = Judged(n_bins, n_groups, seed=2)
    sums = rows.judged.sums(rows.predictions)
    for place, (y, f), given_ in rows.each():
        means = metrics.cell_risks(y, f, loss="prediction", **given_)
        expected = np.where(means.counts > 0, means.values * means.counts, 0)
        np.testing.assert_allclose(sums[place], expected, atol=1e-12)


def test_edges_belong_to_the_bin_they_open_and_the_last_one_to_the_last_bin():
    rows = Judged(10)
    f = np.broadcast_to(rows.y[np.minimum(rows.rectangle.rows, 82)][:, None], (4, 1, 21))
    np.testing.assert_array_equal(rows.judged.hits(f)[:, 0], rows.judged.counts)
    above = np.nextafter(f, 2.0)
    last = rows.judged.counts[:, -1].sum()
    missed = rows.judged.counts.sum() - rows.judged.hits(above).sum()
    assert missed == np.count_nonzero(rows.y == 1.0) > 0
    assert last > missed


def test_rows_that_are_not_there_count_nowhere():
    rows = Judged(10)
    changed = np.where(rows.rectangle.present[:, None], rows.predictions, 1e6)
    assert not rows.rectangle.present.all()
    for figure in (rows.judged.errors, rows.judged.hits, rows.judged.sums, rows.judged.dgf):
        np.testing.assert_array_equal(figure(changed), figure(rows.predictions))
    assert rows.judged.counts.sum() == 83


@settings(deadline=None)
@given(
    K=st.integers(1, 6), Q=st.integers(2, 5), seed=st.integers(0, 2**32 - 1), share=st.floats(0, 1)
)
def test_the_mean_gap_is_the_dgf_of_tables(K, Q, seed, share):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 4, (K, Q))
    counts[0, :2] = 3
    hits = rng.binomial(counts, share, (7, K, Q))
    np.testing.assert_allclose(mean_gap(hits, counts), dgf_of_counts(hits, counts))
    found, expected = mean_gap(hits, counts, all_bins=True), dgf_of_counts(hits, counts, "all_bins")
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("all_bins", [False, True])
def test_where_nobody_is_compared_there_is_no_gap(all_bins):
    hits, counts = np.array([[[1, 0]], [[1, 1]]]), np.array([[[3, 0]], [[2, 4]]])
    found = mean_gap(hits, counts, all_bins=all_bins)
    np.testing.assert_array_equal(found, [np.nan, 0.25])


def test_torch_gives_the_same():
    torch = pytest.importorskip("torch", reason="torch is not installed (make test-torch)")
    rows, there = Judged(), Judged(device=TorchDevice("cpu", torch))
    predictions = torch.as_tensor(rows.predictions)
    for name in ("errors", "hits", "sums", "dgf"):
        found = getattr(there.judged, name)(predictions)
        np.testing.assert_allclose(found, getattr(rows.judged, name)(rows.predictions), atol=1e-12)
