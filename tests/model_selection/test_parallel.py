"""Processes, threads and the workers of a cluster give the numbers of one process."""

import os
import pickle
from functools import partial

import joblib
import numpy as np
import pytest
from joblib._parallel_backends import ThreadingBackend
from joblib.externals.loky import get_reusable_executor
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

from gferm import FairClassifierCV, FairRegressor, FairRegressorCV
from gferm.metrics import mean_distance
from gferm.model_selection.judge import make_echo
from gferm.model_selection.measures import UNFAIRNESS, error_measure, unfairness_measure
from tests.problems import make_problem

PROBLEM = make_problem(n=60, d=4, n_groups=2)
GRID = {"alphas": [0.1, 10.0], "cv": 3}
SEARCHES = {
    "kernels": FairRegressorCV(gammas=[0.05, 0.2, 1.0], y_bins=2, **GRID),
    "folds": FairRegressorCV("huber", kernel="linear", y_bins=2, **GRID),
    "classes": FairClassifierCV("log_loss", kernel="linear", **GRID),
}


def fit(search, problem=PROBLEM):
    y = problem.y
    if isinstance(search, FairClassifierCV):
        y = np.where(y > np.median(y), "yes", "no")
    return search.fit(problem.X, y, sensitive_features=problem.s)


def assert_same(search, expected):
    assert search.best_index_ == expected.best_index_
    assert search.cv_results_.keys() == expected.cv_results_.keys()
    for name, column in expected.cv_results_.items():
        if "_test_" in name:
            np.testing.assert_allclose(search.cv_results_[name], column, rtol=1e-9, err_msg=name)


@pytest.fixture(params=SEARCHES)
def search(request):
    return clone(SEARCHES[request.param])


class LeavesTraces:
    """A score that leaves a file for every process that it runs in; workers read this file."""

    def __init__(self, folder):
        self.folder = str(folder)

    def __call__(self, model, X, y):
        with open(os.path.join(self.folder, str(os.getpid())), "w"):
            pass
        return model.score(X, y)

    @property
    def processes(self):
        return {int(name) for name in os.listdir(self.folder)}


@pytest.fixture(scope="module", autouse=True)
def leave_no_process_behind():
    yield
    get_reusable_executor().shutdown(wait=True)


class AllAtOnce(ThreadingBackend):
    """As the backends of Ray and Spark, which give their results at the end only."""

    supports_return_generator = False


joblib.register_parallel_backend("all at once", AllAtOnce)


@pytest.mark.parametrize("backend", ["loky", "threading", "all at once"])
def test_every_backend_of_joblib_gives_the_same(search, backend):
    expected = fit(clone(search))
    with joblib.parallel_config(backend=backend, n_jobs=2):
        assert_same(fit(search), expected)


def test_n_jobs_is_an_argument_too(search):
    expected = fit(clone(search))
    assert_same(fit(search.set_params(n_jobs=2)), expected)


@pytest.mark.parametrize("scoring", ["neg_mean_absolute_error", "r2", LeavesTraces("there")])
@pytest.mark.parametrize("unfairness", [*UNFAIRNESS, mean_distance])
def test_what_judges_travels_by_plain_pickle(scoring, unfairness):
    echo = make_echo(FairRegressor(), np.zeros(2))
    judge = (error_measure(scoring, echo), unfairness_measure(unfairness, None))
    assert pickle.loads(pickle.dumps(judge))[1][0] == judge[1][0]


def test_work_leaves_this_process(tmp_path):
    traces = LeavesTraces(tmp_path)
    search = clone(SEARCHES["kernels"]).set_params(scoring=traces, n_jobs=2)
    fit(search)
    assert traces.processes
    assert os.getpid() not in traces.processes


def test_what_joblib_shares_read_only_is_left_alone():
    problem = make_problem(n=400, d=3, n_groups=2)  # its kernel is beyond joblib's megabyte
    K = rbf_kernel(problem.X, gamma=0.2)
    before = K.copy()
    search = FairRegressorCV(kernel="precomputed", y_bins=2, alphas=[0.1], cv=2)
    expected = clone(search).fit(K, problem.y, sensitive_features=problem.s)
    twice = {"kernel_grid": {"coef0": [1.0, 2.0]}}  # two tasks, of the same kernel
    search.set_params(n_jobs=2, **twice).fit(K, problem.y, sensitive_features=problem.s)
    np.testing.assert_array_equal(K, before)
    for name in ("mean_test_error", "mean_test_dgf"):
        np.testing.assert_allclose(
            search.cv_results_[name], np.repeat(expected.cv_results_[name], 2), rtol=1e-9
        )


def raises(y_true, y_pred, *, sensitive_features, what):
    raise what("no such thing")


def test_an_error_in_a_worker_is_the_error_of_fit():
    search = clone(SEARCHES["kernels"])
    search.set_params(n_jobs=2, unfairness=partial(raises, what=KeyError))
    with pytest.raises(ValueError, match=r"unfairness=.*cannot judge .*: 'no such thing'"):
        fit(search)
    assert not hasattr(search, "cv_results_")


@pytest.fixture(scope="module")
def cluster():
    """Two processes on this machine."""
    distributed = pytest.importorskip("distributed")
    free_port = {"dashboard_address": ":0"}  # None would ask for 8787, where another test may be
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, **free_port}
    with distributed.LocalCluster(**options) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    distributed = pytest.importorskip("distributed")
    with distributed.Client(cluster) as client:
        yield client


def test_the_workers_of_dask_give_the_same_and_do_the_work(search, client, tmp_path):
    expected = fit(clone(search))
    with joblib.parallel_config(backend="dask"):
        assert_same(fit(search), expected)
    traces, workers = LeavesTraces(tmp_path), set(client.run(os.getpid).values())
    search.set_params(scoring=traces)
    with joblib.parallel_config(backend="dask"):
        fit(search)
    assert traces.processes
    assert traces.processes <= workers
    assert os.getpid() not in workers


def test_dask_carries_what_users_bring(client):
    search = clone(SEARCHES["kernels"]).set_params(scoring="r2", unfairness=mean_distance)
    expected = fit(clone(search))
    with joblib.parallel_config(backend="dask"):
        assert_same(fit(search), expected)
