"""Learning from dask collections is learning from all rows, wherever the partitions are."""

import pickle

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from gferm import Bins, FairRegressor, distributed
from tests.distributed.rows import (
    AGE,
    CHUNKS,
    EDGES,
    GROUPS,
    KINDS,
    NAMES,
    SEX,
    WEIGHT,
    N,
    S,
    X,
    Y,
    as_dask,
    assert_same,
    both,
    frame,
)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weights"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_model_is_that_of_all_rows(kind, weight):
    found, expected = both(FairRegressor(**KINDS[kind]), S, CHUNKS["empty and one row"], weight)
    assert_same(found, expected)
    assert found.cells_.label_bins == expected.cells_.label_bins
    assert found.cells_.counts.keys() == expected.cells_.counts.keys()
    for name, counts in expected.cells_.counts.items():
        np.testing.assert_array_equal(found.cells_.counts[name], counts)


@pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)
@pytest.mark.parametrize("groups", GROUPS)
def test_any_attribute_in_any_chunks(groups, chunks):
    model = FairRegressor(kernel="linear", y_bins=3, epsilon=0.1, intersectional=groups == "table")
    found, expected = both(model, GROUPS[groups], chunks)
    assert_same(found, expected)
    assert found.cells_.scheme == expected.cells_.scheme


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weights"])
@pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)
def test_continuous_attributes(chunks, weight):
    s = {"income": np.exp(AGE / 5), "sex": SEX, "age": AGE + 1e3}
    bins = {"age": "continuous", "income": "continuous"}
    model = FairRegressor(kernel="linear", y_bins=2, s_bins=bins)
    assert_same(*both(model, s, chunks, weight))


@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("groups", ["sex", "age", ["sex", "s"]], ids=str)
@pytest.mark.parametrize("kind", ["linear", "landmarks"])
def test_data_frames(kind, groups, weight):
    model = FairRegressor(**KINDS[kind]).set_params(epsilon=0.1)
    rows = frame(CHUNKS["empty and one row"])
    whole, features = rows.compute(), NAMES
    expected = clone(model).fit(
        whole[features],
        whole["y"],
        sensitive_features=whole[groups],
        sample_weight=None if weight is None else whole[weight],
    )
    found = distributed.fit(
        model,
        rows[features],
        rows["y"],
        sensitive_features=rows[groups],
        sample_weight=None if weight is None else rows[weight],
    )
    assert found.feature_names_in_.tolist() == features
    assert found.cells_.scheme == expected.cells_.scheme
    y_pred = distributed.predict(found, rows[features])
    np.testing.assert_allclose(y_pred.compute(), expected.predict(whole[features]), atol=1e-9)
    assert y_pred.compute().index.equals(whole.index)


@pytest.mark.parametrize("dtype", ["category", "string", "Int64"])
def test_kinds_of_columns(dtype):
    values = pd.Series(S).astype(str if dtype == "string" else int).astype(dtype)
    rows = frame(CHUNKS["even"], s=values)
    whole, model = rows.compute(), FairRegressor(kernel="linear", y_bins=3, epsilon=0.05)
    found = distributed.fit(model, rows[["a", "b"]], rows["y"], sensitive_features=rows["s"])
    expected = clone(model).fit(whole[["a", "b"]], whole["y"], sensitive_features=whole["s"])
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-10)
    assert found.cells_.scheme == expected.cells_.scheme


def test_many_declared_categories_are_not_thinned_nor_cut():
    rows = frame(CHUNKS["even"], age=pd.Categorical(AGE.astype(int) % 15))
    model = FairRegressor(kernel="linear", y_bins=1, epsilon=1e-4)
    distributed.fit(model, rows[["a"]], rows["y"], sensitive_features=rows["age"])
    assert model.cells_.partitions[0].groups == tuple(map(str, range(15)))


def test_features_as_a_frame_and_the_rest_as_arrays_go_partition_by_partition():
    rows, model = frame(CHUNKS["even"]), FairRegressor(kernel="linear", y_bins=3, epsilon=0.05)
    found = distributed.fit(
        clone(model),
        rows[NAMES].values,  # chunks of unknown sizes
        rows["y"],
        sensitive_features={"s": rows["s"].values, "sex": rows["sex"]},
        sample_weight=as_dask(WEIGHT, CHUNKS["even"]),
    )
    s = {"s": S, "sex": SEX}
    assert_same(found, clone(model).fit(X, Y, sensitive_features=s, sample_weight=WEIGHT))


def test_arrays_in_other_chunks_are_cut_alike():
    model = FairRegressor(kernel="linear", y_bins=3)
    found = distributed.fit(
        clone(model),
        da.from_array(X, chunks=(90, 2)),  # and features in one piece
        da.from_array(Y, chunks=77),
        sensitive_features=da.from_array(S, chunks=200),
        sample_weight=da.from_array(WEIGHT, chunks=400),
    )
    assert_same(found, clone(model).fit(X, Y, sensitive_features=S, sample_weight=WEIGHT))
    assert found.stream_.n_chunks == 5


def test_frames_with_known_divisions_are_divided_alike():
    table = frame((N,)).compute()
    rows, other = dd.from_pandas(table, npartitions=4), dd.from_pandas(table, npartitions=7)
    model = FairRegressor(kernel="linear", y_bins=3)
    found = distributed.fit(model, rows[NAMES], other["y"], sensitive_features=other["s"])
    np.testing.assert_allclose(
        found.coef_, clone(model).fit(X, Y, sensitive_features=S).coef_, rtol=1e-10
    )


def test_many_small_files_are_read_alike(tmp_path):
    wide = frame((N,)).compute().assign(**{f"unused{j}": 0.0 for j in range(40)})
    for j, part in enumerate(np.array_split(np.arange(N), 12)):
        wide.iloc[part].to_parquet(tmp_path / f"{j:02}.parquet")
    rows = dd.read_parquet(tmp_path)
    model = FairRegressor(kernel="linear", y_bins=3)
    found = distributed.fit(model, rows[NAMES], rows["y"], sensitive_features=rows["s"])
    np.testing.assert_allclose(
        found.coef_, clone(model).fit(X, Y, sensitive_features=S).coef_, rtol=1e-10
    )


def test_sparse_rows():
    chunks, model = CHUNKS["even"], FairRegressor(kernel="linear", y_bins=3)
    rows = as_dask(np.where(X > 3, X, 0.0), chunks)
    found = distributed.fit(
        clone(model),
        rows.map_blocks(sparse.csr_array, dtype=float, meta=sparse.csr_array((0, 0))),
        as_dask(Y, chunks),
        sensitive_features=as_dask(S, chunks),
    )
    assert_same(found, clone(model).fit(rows.compute(), Y, sensitive_features=S))


def test_without_a_constraint():
    chunks, model = CHUNKS["empty and one row"], FairRegressor(kernel="linear", epsilon=None)
    plain = distributed.fit(clone(model), as_dask(X, chunks), as_dask(Y, chunks))
    assert_same(plain, clone(model).fit(X, Y))
    assert plain.cells_ is None
    found, expected = both(model, S, chunks)
    assert_same(found, expected)
    constant = distributed.fit(
        clone(model),
        as_dask(X, chunks),
        as_dask(np.ones(N), chunks),
        sensitive_features=as_dask(S, chunks),
    )
    assert constant.cells_ is None


def test_partial_fit_goes_on():
    model, chunks = FairRegressor(kernel="linear", y_bins=EDGES, s_bins=[0, 1, 2, 3]), (100, 100)
    early, late = slice(0, 200), slice(200, None)
    distributed.fit(
        model,
        as_dask(X[early], chunks),
        as_dask(Y[early], chunks),
        sensitive_features=as_dask(S[early], chunks),
    )
    model.partial_fit(X[late], Y[late], sensitive_features=S[late])
    assert_same(model, clone(model).fit(X, Y, sensitive_features=S))


def test_a_model_that_was_fitted_on_named_features_forgets_them():
    chunks, model = CHUNKS["even"], FairRegressor(kernel="linear", y_bins=2)
    model.fit(pd.DataFrame(X[:, :6], columns=list("abcdef")), Y, sensitive_features=S)
    arrays = (as_dask(one, chunks) for one in (X, Y, S))
    distributed.fit(model, next(arrays), next(arrays), sensitive_features=next(arrays))
    assert not hasattr(model, "feature_names_in_")
    assert_same(model, clone(model).fit(X, Y, sensitive_features=S))


# Nothing but numbers about the rows comes back


def test_only_sums_and_landmarks_come_to_the_client():
    sizes = []

    def spy(graph, keys, **options):
        results = dask.get(graph, keys, **options)
        sizes.append(len(pickle.dumps(results)))
        return results

    n, chunks = 20_000, (2_000,) * 10
    rng = np.random.default_rng(0)
    x, s = rng.normal(size=(n, 20)), rng.integers(0, 2, n)
    data = [as_dask(one, chunks) for one in (x, x[:, 0] + s, s)]
    model = FairRegressor(n_landmarks=30, gamma=0.01, random_state=0)
    with dask.config.set(scheduler=spy):
        distributed.fit(model, data[0], data[1], sensitive_features=data[2])
    assert len(sizes) == 4  # survey, landmarks, opening, sum
    assert max(sizes) < 20_000 < x.nbytes / 100


def test_explicit_bins_need_no_survey():
    calls, chunks = [], CHUNKS["even"]

    def spy(graph, keys, **options):
        calls.append(keys)
        return dask.get(graph, keys, **options)

    model = FairRegressor(
        kernel="linear", y_bins=EDGES, s_bins={"sex": Bins.categories(["f", "m"]), "age": [0, 99]}
    )
    with dask.config.set(scheduler=spy):
        distributed.fit(
            model,
            as_dask(X, chunks),
            as_dask(Y, chunks),
            sensitive_features=as_dask(GROUPS["several"], chunks),
        )
    assert len(calls) == 2  # opening and sum
