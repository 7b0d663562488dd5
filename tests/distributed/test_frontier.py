"""The sums of partitions have the frontier of all rows."""

import numpy as np
import pytest

from gferm import FairRegressor, Frontier, distributed, frontier
from tests.distributed.rows import CHUNKS, KINDS, WEIGHT, S, X, Y, as_dask


@pytest.mark.parametrize("kind", ["linear", "residual", "quantiles", "landmarks"])
def test_the_frontier_is_that_of_all_rows(kind):
    chunks = CHUNKS["empty and one row"]
    model = distributed.fit(
        FairRegressor(**KINDS[kind], epsilon=None),
        as_dask(X, chunks),
        as_dask(Y, chunks),
        sensitive_features=as_dask(S, chunks),
        sample_weight=as_dask(WEIGHT, chunks),
    )
    path = Frontier.of(model)
    expected = frontier(X, Y, sensitive_features=S, sample_weight=WEIGHT, **KINDS[kind])
    assert len(path) == len(expected) > 2
    np.testing.assert_allclose(path.epsilons, expected.epsilons, atol=1e-9)
    np.testing.assert_allclose(path.objectives, expected.objectives, rtol=1e-9)
    np.testing.assert_allclose(path.predict(X), expected.predict(X), atol=1e-8 * np.ptp(Y))
