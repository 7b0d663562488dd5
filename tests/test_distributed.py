"""Learning from dask collections is learning from all rows, wherever the partitions are."""

import os
import pickle
import signal
import subprocess
import sys
from functools import partial
from itertools import pairwise
from pathlib import Path

import dask
import dask.array as da
import dask.dataframe as dd
import joblib
import numpy as np
import pandas as pd
import pytest
from dask.delayed import delayed
from distributed import Client, LocalCluster
from scipy import sparse
from sklearn.base import clone

from gferm import Bins, FairClassifier, FairRegressor, FairRegressorCV, distributed
from gferm.cells import CellScheme
from gferm.distributed import outline
from gferm.distributed.outline import join_surveys, resolve, survey_rows
from gferm.exceptions import NothingToCompareError
from gferm.sensitive import read_sensitive_features

N, D = 400, 9
RNG = np.random.default_rng(0)
AGE = RNG.integers(18, 80, N).astype(float)
SEX = RNG.choice(["f", "m"], N)
S = RNG.integers(0, 3, N)
X = RNG.normal(size=(N, D)) + 0.5 * S[:, None] + 3.0
Y = X @ RNG.normal(size=D) + 0.5 * S + 0.02 * AGE + 0.4 * RNG.normal(size=N)
WEIGHT = RNG.integers(0, 3, N) * RNG.uniform(0.5, 1.5, N)
EDGES = [-np.inf, float(np.median(Y)), np.inf]
NAMES = list("abcdefghi")
CHUNKS = {
    "even": (100,) * 4,
    "one": (N,),
    "empty and one row": (0, 150, 0, 1, 149, 100),
    "many": (20,) * 20,
}
GROUPS = {
    "numbers": S,
    "words": SEX,
    "objects": SEX.astype(object),
    "several": {"sex": SEX, "age": AGE},
    "table": np.column_stack([S, SEX == "f"]),
}
KINDS = {
    "linear": {"kernel": "linear", "y_bins": 3},
    "close": {"kernel": "linear", "epsilon": 0.1},
    "residual": {"kernel": "linear", "y_bins": 2, "match": "residual"},
    "quantiles": {"kernel": "linear", "y_bins": Bins.quantile(3)},
    "few rows": {"kernel": "linear", "y_bins": 4, "min_cell_size": 20},
    "sum": {"kernel": "linear", "epsilon": 2.0, "epsilon_scale": "sum"},
    "edges": {"kernel": "linear", "y_bins": EDGES},
    "no intercept": {"kernel": "linear", "y_bins": 2, "fit_intercept": False},
    "landmarks": {"gamma": 0.05, "n_landmarks": 30, "random_state": 3, "y_bins": 4},
    "points": {"gamma": 0.05, "landmarks": X[:20], "y_bins": EDGES},
    "everybody": {"kernel": "linear", "y_bins": 1},
}


def as_dask(values, chunks, array=da.from_array):
    if values is None:
        return None
    if isinstance(values, dict):
        return {name: as_dask(column, chunks) for name, column in values.items()}
    return array(values, chunks=(chunks, -1) if values.ndim > 1 else (chunks,))


def frame(chunks, *, meta=True, **changes):
    """A data frame with one partition for each chunk, whose divisions are not known."""
    table = pd.DataFrame(X, columns=NAMES)
    table = table.assign(y=Y, s=S, sex=SEX, age=AGE, weight=WEIGHT).assign(**changes)
    ends = np.cumsum((0, *chunks))
    parts = [delayed(table.iloc[i:j]) for i, j in pairwise(ends)]
    return dd.from_delayed(parts, meta=table.iloc[:0], verify_meta=meta)


def assert_same(found, expected, atol=1e-10):
    for name in ("coef_", "dual_coef_", "X_fit_", "intercept_", "multipliers_", "violation_"):
        assert hasattr(found, name) == hasattr(expected, name), name
    assert found.n_features_in_ == expected.n_features_in_
    scale = np.abs(expected.predict(X)).max()
    assert np.ptp(expected.predict(X)) > 0.05 * scale  # not a constant model
    np.testing.assert_allclose(found.predict(X), expected.predict(X), atol=atol * scale)
    if hasattr(expected, "coef_"):
        np.testing.assert_allclose(found.coef_, expected.coef_, atol=atol * scale)
    np.testing.assert_allclose(found.violation_, expected.violation_, atol=1e-9)


def both(model, s, chunks, weight=None):
    expected = clone(model).fit(X, Y, sensitive_features=s, sample_weight=weight)
    found = distributed.fit(
        clone(model),
        as_dask(X, chunks),
        as_dask(Y, chunks),
        sensitive_features=as_dask(s, chunks),
        sample_weight=as_dask(weight, chunks),
    )
    return found, expected


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


# The bins of all rows, from a survey of parts of them


def bins_of_parts(values, weight=None, *, cuts=6, fan_in=3, **options):
    """Settle the bins of an attribute in a tree over parts of its rows."""
    weight = np.ones(values.size) if weight is None else weight
    options = {"y_bins": 1, "s_bins": "auto", **options}
    surveys = []
    for rows in np.array_split(np.arange(values.size), cuts):
        columns = read_sensitive_features(values[rows], rows.size)
        labels = np.zeros(rows.size)
        surveys.append(survey_rows(labels, columns, weight[rows], **options))
    while len(surveys) > 1:
        surveys = [join_surveys(surveys[i : i + fan_in]) for i in range(0, len(surveys), fan_in)]
    return resolve(surveys[0], **options, intersectional=True)


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
    monkeypatch.setattr(outline, "MOST_LEVELS", most)
    values = np.sort(np.random.default_rng(1).lognormal(size=20_000))
    cuts = [*range(300, 7_800, 300), 14_000]  # small parts of small values, large of large ones
    edges = bins_of_parts(values, cuts=cuts).sensitive_bins[0].boundaries
    shares = np.array([(values < edge).mean() for edge in edges[1:-1]])
    # four floors: the partitions themselves, and joins by three; then one step to choose from
    np.testing.assert_allclose(shares, np.arange(1, 5) / 5, atol=5 / most)
    with pytest.raises(ValueError, match="sensitive: there are more than"):
        bins_of_parts(values.astype(str))


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


def test_predictions_are_lazy_and_those_of_the_model():
    def fail(*_, **__):
        raise AssertionError("computed")

    rows = as_dask(X, CHUNKS["empty and one row"])
    model = FairRegressor(**KINDS["points"]).fit(X, Y, sensitive_features=S)
    expected = model.predict(X)
    with dask.config.set(scheduler=fail):
        y_pred = distributed.predict(model, rows)
        named = distributed.predict(model, rows[rows[:, 0] > 3])
    model.fit(X, 2 * Y, sensitive_features=S)  # later
    assert y_pred.chunks == (rows.chunks[0],)
    np.testing.assert_allclose(y_pred.compute(), expected, rtol=1e-12)
    np.testing.assert_allclose(named.compute(), expected[X[:, 0] > 3], rtol=1e-12)


def test_predicted_classes():
    words = np.where(np.median(Y) < Y, "yes", "no")
    model = FairClassifier(kernel="linear").fit(X, words, sensitive_features=S)
    found = distributed.predict(model, as_dask(X, CHUNKS["empty and one row"]))
    assert found.dtype == words.dtype
    np.testing.assert_array_equal(found.compute(), model.predict(X))


# Bad input


def spoiled(values, row, value):
    values = values.copy()
    values[row] = value
    return values


def fit(model, s=S, chunks=CHUNKS["even"], **changes):
    data = {"X": X, "y": Y, "weight": None, **changes}
    return distributed.fit(
        model,
        as_dask(data["X"], chunks),
        as_dask(data["y"], chunks),
        sensitive_features=as_dask(s, chunks),
        sample_weight=as_dask(data["weight"], chunks),
    )


LINEAR = partial(FairRegressor, kernel="linear")
MISTAKES = {
    "NaN in X": (LINEAR(), {"X": spoiled(X, 250, np.nan)}, "Partition 2: .*NaN"),
    "NaN in y": (LINEAR(), {"y": spoiled(Y, 250, np.nan)}, "Partition 2: .*NaN"),
    "NaN in s": (LINEAR(), {"s": spoiled(AGE, 399, np.nan)}, "Partition 3: .*missing"),
    "NaN in weight": (LINEAR(), {"weight": spoiled(WEIGHT, 1, np.nan)}, "Partition 0: .*NaN"),
    "negative weight": (LINEAR(), {"weight": spoiled(WEIGHT, 1, -1.0)}, "Partition 0: .*eg"),
    "no weight": (LINEAR(), {"weight": np.zeros(N)}, "There are no rows to learn from"),
    "no rows": (
        LINEAR(y_bins=EDGES, s_bins=[0, 1, 3]),
        {"X": X[:0], "y": Y[:0], "s": S[:0], "chunks": (0, 0)},
        "There are no rows to learn from",
    ),
    "words for y": (
        LINEAR(),
        {"y": np.where(np.arange(N) > 200, "a", "1")},
        "Partition [23]: y has labels that are not numbers",
    ),
    "unseen category": (
        LINEAR(s_bins=Bins.categories(["f", "m"])),
        {"s": spoiled(SEX, 150, "x")},
        "Partition 1: .*none of the s_bins, for example x in row 50",
    ),
    "outside the edges": (
        LINEAR(y_bins=[Y.min(), np.median(Y), Y.max()]),
        {"y": spoiled(Y, 310, 1e6)},
        "Partition 3: y has 1 of 100 values in none of the y_bins, for example 1000000.0",
    ),
    "unknown attribute": (LINEAR(s_bins={"sx": 3}), {"s": {"sex": SEX}}, "s_bins names"),
    "constant label": (LINEAR(), {"y": np.ones(N)}, "y is constant"),
    "constant attribute": (LINEAR(s_bins="continuous"), {"s": np.ones(N)}, "is constant"),
    "quantiles of words": (LINEAR(s_bins=Bins.quantile(3)), {"s": SEX}, "is not numeric"),
    "ends of words": (LINEAR(s_bins=3), {"s": SEX}, "is not numeric"),
    "edges of words": (LINEAR(s_bins=[1, 2, 3]), {"s": SEX}, "is not numeric"),
    "no attribute": (LINEAR(), {"s": None}, "sensitive_features is missing"),
    "no landmarks": (FairRegressor(), {}, "needs all rows at once"),
    "landmarks for linear": (LINEAR(n_landmarks=5), {}, "Landmarks approximate a kernel"),
    "precomputed": (
        FairRegressor(kernel="precomputed", n_landmarks=5),
        {},
        "Landmarks approximate a kernel",
    ),
    "leverage": (FairRegressor(n_landmarks=5, landmarks="leverage"), {}, "use 'uniform'"),
    "many landmarks": (FairRegressor(n_landmarks=500), {}, "more than the 400 rows"),
    "loss": (LINEAR("huber"), {}, "only the square loss"),
    "classifier": (FairClassifier("squared", kernel="linear"), {}, "FairClassifier cannot"),
    "bad bins": (LINEAR(y_bins=[2, 1]), {}, "y_bins: Bin edges must be strictly increasing"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes(mistake):
    model, changes, message = MISTAKES[mistake]
    model = clone(model)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        fit(model, **changes)
    assert vars(model) == before


def test_what_needs_no_constraint_may_be_caught_by_name():
    with pytest.raises(NothingToCompareError):
        fit(LINEAR(), y=np.ones(N))


def test_an_error_leaves_a_fitted_model_as_it_was():
    model = LINEAR(y_bins=3).fit(X, Y, sensitive_features=S)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="Partition 3"):
        fit(model, X=spoiled(X[:, :3], 350, np.inf))
    assert vars(model) == before


def test_collections_that_do_not_fit_together():
    rows, other, model = frame(CHUNKS["even"]), frame((200, 200)), LINEAR()
    features = rows[NAMES]
    with pytest.raises(ValueError, match=r"y has 2 partitions, but X has 4.*compute_chunk_sizes"):
        distributed.fit(model, features, other["y"], sensitive_features=rows["s"])
    with pytest.raises(ValueError, match=r"y has 2 partitions, but X has 4.*compute_chunk_sizes"):
        distributed.fit(model, features.values, other["y"].values, sensitive_features=rows["s"])
    with pytest.raises(ValueError, match=r"sensitive_features \(sex\) has 2 partitions"):
        distributed.fit(model, features, rows["y"], sensitive_features={"sex": other["sex"]})
    other = frame((99, 101, 100, 100))
    with pytest.raises(ValueError, match=r"Partition 0: .*inconsistent numbers of samples"):
        distributed.fit(model, features, other["y"].values, sensitive_features=other["s"].values)
    with pytest.raises(ValueError, match=r"y is a ndarray.*dask.array.from_array\(y"):
        distributed.fit(model, features, Y, sensitive_features=rows["s"])
    with pytest.raises(ValueError, match="X is a DataFrame"):
        distributed.fit(model, features.compute(), rows["y"], sensitive_features=rows["s"])
    arrays = as_dask(X, CHUNKS["even"]), da.from_array(Y[:300], chunks=100)
    with pytest.raises(ValueError, match="y has 300 rows, but X has 400"):
        distributed.fit(model, *arrays, sensitive_features=rows["s"])
    with pytest.raises(ValueError, match="X has 1 dimension"):
        distributed.fit(model, rows["a"], rows["y"], sensitive_features=rows["s"])
    table = frame((N,)).compute()
    one, two = (
        dd.from_pandas(table.iloc[rows], npartitions=2) for rows in (slice(300), slice(99, N))
    )
    with pytest.raises(ValueError, match="y has an index from 99 to 399"):
        distributed.fit(model, one[["a"]], two["y"], sensitive_features=one["s"])


def test_partitions_with_other_columns():
    rows = frame(CHUNKS["even"])

    def with_another(names):
        """Rename the last column in partition 2."""
        parts = rows[names].to_delayed()
        parts[2] = delayed(pd.DataFrame.rename)(parts[2], columns={names[-1]: "other"})
        return dd.from_delayed(parts, meta=rows[names]._meta, verify_meta=False)

    X, y, s = with_another(NAMES), rows["y"], with_another(["sex", "s"])
    with pytest.raises(ValueError, match=r"Partition 2: The feature names should match"):
        distributed.fit(LINEAR(), X, y, sensitive_features=rows["s"])
    with pytest.raises(ValueError, match=r"Partition \d: .*has the attributes"):
        distributed.fit(LINEAR(), rows[NAMES], y, sensitive_features=s)
    explicit = LINEAR(y_bins=1, s_bins={0: Bins.categories(["f", "m"]), 1: [0, 1, 3]})
    with pytest.raises(ValueError, match=r"Partition 2: .*has the attributes \['sex', 'other'\]"):
        distributed.fit(explicit, rows[NAMES], y, sensitive_features=s)


def test_numbers_here_and_words_there():
    mixed = np.array([*range(5)] * 40 + ["a", "b"] * 100, dtype=object)
    with pytest.raises(ValueError, match=r"sensitive holds numbers in some partitions and words"):
        fit(LINEAR(), s=mixed)


def test_predicting_with_other_features():
    model = LINEAR(y_bins=3).fit(X, Y, sensitive_features=S)
    with pytest.raises(ValueError, match="X has 3 features, but FairRegressor is expecting 9"):
        distributed.predict(model, as_dask(X[:, :3], CHUNKS["even"]))
    rows = frame(CHUNKS["even"])
    model.fit(rows[NAMES].compute(), Y, sensitive_features=S)
    with pytest.raises(ValueError, match="feature names"):
        distributed.predict(model, rows[NAMES[::-1]])
    broken = frame(CHUNKS["even"], a=spoiled(X[:, 0], 210, np.nan))
    with pytest.raises(ValueError, match=r"Partition 2: .*NaN"):
        distributed.predict(model, broken[NAMES]).compute()
    model.fit(X, Y, sensitive_features=S)
    with pytest.raises(ValueError, match=r"Partition 2: .*NaN"):
        distributed.predict(model, as_dask(spoiled(X, 210, np.nan), CHUNKS["even"])).compute()


# Without dask, and with a cluster


def test_without_dask():
    code = """
import sys
import gferm
assert not any(name.split(".")[0] in ("dask", "distributed") for name in sys.modules)
sys.modules["dask"] = None
try:
    import gferm.distributed
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'gferm[distributed]'" in done.stdout


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
