"""Workers in processes of their own, and one that dies."""

import os
import signal
from pathlib import Path

import joblib
import numpy as np
import pytest
from dask.distributed import Client, LocalCluster
from sklearn.base import clone

from gferm import FairRegressor, FairRegressorCV, distributed
from gferm.streaming import search_stream
from tests.distributed.rows import (
    CHUNKS,
    EDGES,
    KINDS,
    NAMES,
    S,
    Source,
    X,
    Y,
    as_dask,
    assert_same,
    fit,
    frame,
    spoiled,
)


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(
            n_workers=2, processes=True, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def kill_worker_once(block, marker):
    """End the process that first comes here, as if its machine went down."""
    if block.shape[0] and block[0, 0] == X[200, 0] and not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return block


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["linear", "landmarks"])
def test_a_lost_worker_changes_nothing(client, tmp_path, kind):
    data = [as_dask(one, CHUNKS["many"]) for one in (X, Y, S)]
    model, marker = FairRegressor(**KINDS[kind]), tmp_path / "killed"
    undisturbed = distributed.fit(clone(model), data[0], data[1], sensitive_features=data[2])
    before = {info["pid"] for info in client.run(worker_facts).values()}
    rows = data[0].map_blocks(kill_worker_once, marker=str(marker), dtype=float, meta=data[0]._meta)
    found = distributed.fit(clone(model), rows, data[1], sensitive_features=data[2])
    assert marker.exists()
    client.wait_for_workers(2)
    after = {info["pid"] for info in client.run(worker_facts).values()}
    assert len(before & after) == 1
    np.testing.assert_allclose(found.predict(X), undisturbed.predict(X), rtol=1e-12)
    assert_same(found, clone(model).fit(X, Y, sensitive_features=S))


def worker_facts():
    return {"pid": os.getpid()}


@pytest.mark.slow
def test_a_kernel_of_ones_own_stays_the_same(client):
    model = FairRegressor(
        kernel=lambda a, b: (1.0 + 0.1 * float(a @ b)) ** 2, landmarks=X[:15], y_bins=EDGES
    )
    early, late, chunks = slice(0, 200), slice(200, None), (100, 100)
    model.set_params(s_bins=[0, 1, 2, 3])
    data = [as_dask(one[early], chunks) for one in (X, Y, S)]
    distributed.fit(model, data[0], data[1], sensitive_features=data[2])
    model.partial_fit(X[late], Y[late], sensitive_features=S[late])
    assert_same(model, clone(model).fit(X, Y, sensitive_features=S), atol=1e-8)


@pytest.mark.slow
def test_workers_read_frames_and_predict(client):
    rows, model = frame(CHUNKS["empty and one row"]), FairRegressor(**KINDS["landmarks"])
    found = distributed.fit(model, rows[NAMES], rows["y"], sensitive_features=rows["s"])
    y_pred = distributed.predict(found, rows[NAMES]).compute()
    np.testing.assert_allclose(y_pred, clone(model).fit(X, Y, sensitive_features=S).predict(X))
    with pytest.raises(ValueError, match=r"Partition 4: .*NaN"):
        fit(model, chunks=CHUNKS["empty and one row"], X=spoiled(X, 200, np.nan))


@pytest.mark.slow
def test_a_search_on_the_workers_of_dask(client):
    grid = {"alphas": [0.1, 10.0], "gammas": [0.02, 0.2], "y_bins": 3, "cv": 3}
    expected = FairRegressorCV(**grid).fit(X, Y, sensitive_features=S)
    with joblib.parallel_config(backend="dask"):
        found = FairRegressorCV(**grid, n_jobs=2).fit(X, Y, sensitive_features=S)
    assert found.best_params_ == expected.best_params_
    np.testing.assert_allclose(found.predict(X), expected.predict(X), rtol=1e-9)


SEARCHES = {
    "linear": {"kernel": "linear", "y_bins": 3, "epsilons": [0, 0.2, None]},
    "landmarks": {
        "gammas": [0.01, 0.05],
        "epsilons": [0.2, None],
        "alphas": [0.1, 10.0],
        "n_landmarks": 30,
        "random_state": 3,
        "y_bins": 3,
    },
}
FIGURES = ("mean_test_error", "mean_test_mean_gap", "split0_dropped_pairs")


@pytest.mark.slow
@pytest.mark.parametrize("kind", SEARCHES)
def test_a_worker_lost_in_a_search_changes_nothing(client, tmp_path, kind):
    data = [as_dask(one, CHUNKS["many"]) for one in (X, Y, S)]
    search, marker = FairRegressorCV(**SEARCHES[kind], cv=3), tmp_path / "killed"
    client.wait_for_workers(2)
    before = {info["pid"] for info in client.run(worker_facts).values()}
    rows = data[0].map_blocks(kill_worker_once, marker=str(marker), dtype=float, meta=data[0]._meta)
    found = distributed.search(clone(search), rows, data[1], sensitive_features=data[2])
    assert marker.exists()
    client.wait_for_workers(2)
    after = {info["pid"] for info in client.run(worker_facts).values()}
    assert len(before & after) == 1
    expected = search_stream(clone(search), Source(S, None))
    for name in FIGURES:
        np.testing.assert_allclose(
            found.cv_results_[name], expected.cv_results_[name], rtol=1e-9, atol=1e-9
        )
    assert found.best_params_ == expected.best_params_
    np.testing.assert_allclose(found.predict(X), expected.predict(X), rtol=1e-8)


@pytest.mark.slow
def test_workers_search_frames_by_a_kernel_of_ones_own(client):
    rows = frame(CHUNKS["empty and one row"])
    search = FairRegressorCV(
        kernel=lambda a, b: (1.0 + 0.1 * float(a @ b)) ** 2,
        landmarks=X[:15],
        y_bins=EDGES,
        alphas=[1.0, 100.0],
        cv=3,
    )
    found = distributed.search(search, rows[NAMES], rows["y"], sensitive_features=rows["s"])
    expected = search_stream(clone(search), Source(S, None))
    for name in FIGURES:
        np.testing.assert_allclose(
            found.cv_results_[name], expected.cv_results_[name], rtol=1e-6, atol=1e-8
        )
    y_pred = distributed.predict(found, rows[NAMES]).compute()
    np.testing.assert_allclose(y_pred, expected.predict(X), rtol=1e-6)
    more = found.best_estimator_.partial_fit(rows[NAMES].compute(), Y, sensitive_features={"s": S})
    assert more.stream_.n_rows == 2 * len(Y)
    broken = frame(CHUNKS["empty and one row"], a=spoiled(X[:, 0], 200, np.nan))
    with pytest.raises(ValueError, match=r"Partition 4: .*NaN"):
        distributed.search(search, broken[NAMES], broken["y"], sensitive_features=broken["s"])
