"""Intervals are SciPy's."""

import numpy as np
import pytest
from scipy import stats

from gferm.fairness.comparison import Comparison
from gferm.fairness.sensitive import SensitiveColumn
from gferm.plotting.calibration import interval_of_mean, interval_of_share


@pytest.mark.parametrize(("hits", "rows"), [(0, 5), (3, 7), (40, 40), (120, 900)])
def test_shares_have_wilsons_interval(hits, rows):
    expected = stats.binomtest(hits, rows).proportion_ci(0.95, method="wilson")
    low, high = interval_of_share(np.array(hits / rows), np.array(rows))
    np.testing.assert_allclose([low, high], [expected.low, expected.high], atol=1e-12)


def test_numbers_have_students_interval():
    x = np.random.default_rng(0).normal(size=12)
    expected = stats.ttest_1samp(x, 0.0).confidence_interval(0.95)
    low, high = interval_of_mean(x.mean(), np.mean((x - x.mean()) ** 2), np.array(12))
    np.testing.assert_allclose([low, high], [expected.low, expected.high])


def test_no_rows_have_no_interval():
    assert np.isnan(interval_of_share(np.array(np.nan), np.array(0.0))).all()
    assert np.isnan(interval_of_mean(np.array(2.0), np.array(0.0), np.array(1.0))).all()


def test_rows_of_unequal_weight_count_less():
    y, groups = np.zeros(5), SensitiveColumn("g", np.array([0, 0, 0, 1, 1]))
    weight = np.array([1.0, 2.0, 3.0, 4.0, 4.0])
    rows = Comparison(y_bins=1).sort(y, [groups], weight).cells.partitions[0].effective_rows
    np.testing.assert_allclose(rows, [[6**2 / 14, 2.0]])
