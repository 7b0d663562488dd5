"""Recipes for other engines, as the documentation gives them: the model is that of all rows.

Neither Ray nor Spark is a requirement; what is not installed is skipped. Nothing here may listen to
other machines. Spark is told so. Ray cannot be: its servers listen on every interface whatever
address they are given, so it is started only where loopback is the only one, as in

    unshare -rn sh -c "ip link set lo up && pytest tests/streaming/test_engines.py"
"""

import os
import shutil
import socket
import sys

import joblib
import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone

from gferm import Bins, FairRegressor, FairRegressorCV
from gferm.streaming import ArrowSource, fit_stream
from tests.problems import make_problem

N = 240
PROBLEM = make_problem(n=N, d=6, n_groups=2)
X, Y, SEX = PROBLEM.X, PROBLEM.y, np.array(["f", "m"])[PROBLEM.s]
NAMES = ["age", "rooms", "garden", "years", "floor", "noise"]
PEOPLE = pa.table([*X.T, Y, SEX], names=[*NAMES, "salary", "sex"])
ROLES = {"target": "salary", "sensitive": "sex"}
BINS = {
    "y_bins": [-np.inf, float(np.median(Y)), np.inf],
    "s_bins": Bins.categories(["f", "m"]),
}
MODELS = {
    "linear": FairRegressor(kernel="linear", **BINS),
    "landmarks": FairRegressor(landmarks=X[:20], gamma=0.1, **BINS),
}
GRID = {"gammas": [0.01, 0.1], "alphas": [0.1, 10.0], "epsilons": [0, None], "cv": 3, "y_bins": 2}

# what the engines themselves do is not ours to answer for; warnings of gferm stay errors
pytestmark = [
    pytest.mark.filterwarnings("ignore::Warning:(ray|pyspark|joblib)"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def ray():
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'ray[data]'")
    pytest.importorskip("ray.data", reason="Ray Data is not installed: pip install 'ray[data]'")
    if {name for _, name in socket.if_nameindex()} != {"lo"}:
        pytest.skip("Ray would listen on every interface; run where there is only loopback")
    ray.init(num_cpus=2, include_dashboard=False, _node_ip_address="127.0.0.1", log_to_driver=False)
    yield ray
    ray.shutdown()


@pytest.fixture(scope="module")
def spark():
    pytest.importorskip("pyspark", reason="Spark is not installed: pip install pyspark")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, which is not installed")
    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .getOrCreate()
    )
    yield session
    session.stop()


def assert_model_of_all_rows(model):
    expected = FairRegressor(**model.get_params()).fit(X, Y, sensitive_features=SEX)
    assert np.ptp(expected.predict(X)) > 0.1  # or else any constant would do
    found = model.predict(PEOPLE.select(NAMES).to_pandas())
    np.testing.assert_allclose(found, expected.predict(X), rtol=0, atol=1e-8)
    assert model.cells_.label_bins == expected.cells_.label_bins
    assert model.violation_ == pytest.approx(expected.violation_, abs=1e-9)


def in_parts(sizes=(100, 0, 140)):
    ends = np.cumsum([0, *sizes])
    return [PEOPLE.slice(start, size) for start, size in zip(ends, sizes, strict=False)]


def search_in(backend, places):
    """Search with the tasks where joblib's backend puts them, and remember which processes ran."""

    def mean_gap(y_true, y_pred, *, sensitive_features):
        import os

        (places / str(os.getpid())).touch()
        means = [y_pred[sensitive_features == one].mean() for one in ("f", "m")]
        return abs(means[0] - means[1])

    with joblib.parallel_config(backend=backend, n_jobs=2):
        name = type(joblib.parallel.get_active_backend()[0]).__module__
        search = FairRegressorCV(**GRID, unfairness=mean_gap, n_jobs=-1)
        search.fit(X, Y, sensitive_features=SEX)
    return search, name


def assert_search_of_one_process(found, tmp_path):
    there = {int(path.name) for path in (tmp_path / "there").iterdir()}
    assert there
    assert os.getpid() not in there
    (tmp_path / "here").mkdir()
    expected, _ = search_in("sequential", tmp_path / "here")
    for name in ("mean_test_error", "mean_test_mean_gap"):
        np.testing.assert_allclose(
            found.cv_results_[name], expected.cv_results_[name], rtol=0, atol=1e-8
        )
    assert found.best_params_ == expected.best_params_
    np.testing.assert_allclose(found.predict(X), expected.predict(X), rtol=0, atol=1e-8)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("options", [{"batch_format": "pyarrow"}, {"batch_size": 17}, {}])
def test_batches_of_a_ray_dataset(ray, model, options):
    people = ray.data.from_arrow(in_parts())
    source = ArrowSource(people.iter_batches(**options), **ROLES, chunk_rows=50)
    assert_model_of_all_rows(fit_stream(clone(model), source))


def test_sums_of_a_ray_dataset_where_its_blocks_are(ray):
    """Bins are those of all rows: Dask's tasks, on Ray."""
    pytest.importorskip("grpc", reason="ray.data.Dataset.to_dask needs grpcio")
    pytest.importorskip("dask.dataframe", reason="gferm.distributed needs dask")
    import dask
    from ray.util.dask import ray_dask_get

    from gferm import distributed

    people = ray.data.from_arrow(in_parts((100, 140))).to_dask()
    with dask.config.set(scheduler=ray_dask_get):
        model = distributed.fit(
            FairRegressor(kernel="linear", y_bins=4),
            people[NAMES],
            people["salary"],
            sensitive_features=people[["sex"]],
        )
    assert_model_of_all_rows(model)


def test_a_search_on_ray(ray, tmp_path):
    from ray.util.joblib import register_ray

    register_ray()
    (tmp_path / "there").mkdir()
    found, backend = search_in("ray", tmp_path / "there")
    assert backend.startswith("ray.")
    assert_search_of_one_process(found, tmp_path)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_spark_data_frame_partition_by_partition(spark, model):
    people = spark.createDataFrame(PEOPLE).repartition(3)
    if not hasattr(people, "__arrow_c_stream__"):
        pytest.skip("data frames of Spark are Arrow streams from 4.2 on")
    source = ArrowSource(people, **ROLES, chunk_rows=50)
    assert_model_of_all_rows(fit_stream(clone(model), source))


def test_a_spark_data_frame_that_fits_as_a_table(spark):
    """Bins are those of all rows."""
    people = spark.createDataFrame(PEOPLE).repartition(3)
    if not hasattr(people, "toArrow"):
        pytest.skip("toArrow is there from Spark 4.0 on")
    source = ArrowSource(people.toArrow(), **ROLES, chunk_rows=50)
    assert_model_of_all_rows(fit_stream(FairRegressor(kernel="linear", y_bins=4), source))


def test_files_that_spark_has_written(spark, tmp_path):
    """Partitions are folders, read without Spark."""
    from pyarrow import dataset

    people = spark.createDataFrame(PEOPLE).repartition(3)
    people.write.partitionBy("sex").parquet(str(tmp_path / "people"))
    files = dataset.dataset(tmp_path / "people", partitioning="hive")
    source = ArrowSource(files, **ROLES)
    assert_model_of_all_rows(fit_stream(FairRegressor(kernel="linear", y_bins=4), source))


def test_a_search_on_spark(spark, tmp_path):
    joblibspark = pytest.importorskip("joblibspark", reason="pip install joblibspark")
    joblibspark.register_spark()
    (tmp_path / "there").mkdir()
    found, backend = search_in("spark", tmp_path / "there")
    assert backend.startswith("joblibspark.")
    assert_search_of_one_process(found, tmp_path)
