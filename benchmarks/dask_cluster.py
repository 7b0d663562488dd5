"""`gferm.distributed.fit` on two worker processes, beside one process with one thread.

5 million × 50 rows in 20 partitions that lie in the workers' memory. The limit is 1.25 × (half of
the time of one process + what dask needs for the same graph over partitions of 10 rows).
"""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster
from threadpoolctl import threadpool_limits

from benchmarks.measure import Row, publish, seconds_side_by_side
from gferm import FairRegressor, distributed
from gferm.arrays import Array

N, D, PARTS = 5_000_000, 50, 20
EDGES = [-np.inf, *np.linspace(-10, 10, 6).tolist(), np.inf]


def run() -> bool:
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        X, y, s = make(N)
        spread, few = _spread(X, y, s), _spread(X[: 10 * PARTS], y[: 10 * PARTS], s[: 10 * PARTS])

        def alone() -> FairRegressor:
            with threadpool_limits(1):
                return model().fit(X, y, sensitive_features=s)

        ours, single = seconds_side_by_side(lambda: on_dask(spread), alone, repeats=5)
        overhead, _ = seconds_side_by_side(lambda: on_dask(few), lambda: None, repeats=5)
        apart = float(np.abs(on_dask(spread).coef_ - alone().coef_).max())
    limit = single / 2 + overhead
    what = f"distributed.fit, 2 worker processes, {N // 1_000_000} million × {D}"
    rival = f"half of one process ({single / 2:.2f} s) + overhead ({overhead:.2f} s)"
    rows = [
        Row(what, rival, ours, limit, ours / limit, 1.25),
        Row("largest difference of the coefficients", "one process", apart, None, apart, 1e-10, ""),
    ]
    return publish("dask_cluster", rows)


def make(n: int) -> tuple[Array, Array, Any]:
    rng = np.random.default_rng(0)
    X, s = rng.normal(size=(n, D)), rng.integers(0, 2, n)
    return X, X @ rng.normal(size=D) + s + rng.normal(size=n), s


def model() -> FairRegressor:
    return FairRegressor(kernel="linear", y_bins=EDGES, s_bins=[-0.5, 0.5, 1.5])


def on_dask(parts: list[Any]) -> FairRegressor:
    X, y, s = parts
    return distributed.fit(model(), X, y, sensitive_features=s)


def _spread(*arrays: Any) -> list[Any]:
    """Put the partitions into the workers' memory."""
    chunks = -(-len(arrays[0]) // PARTS)
    spread = [da.from_array(one, chunks=(chunks, *one.shape[1:])).persist() for one in arrays]
    for one in spread:
        one.sum().compute()  # it is there
    return spread
