"""What cannot be learned from names the partition, and leaves the model as it was."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.delayed import delayed
from sklearn.base import clone

from gferm import Bins, FairClassifier, FairRegressor, distributed
from gferm.exceptions import NothingToCompareError
from tests.distributed.rows import (
    AGE,
    CHUNKS,
    EDGES,
    LINEAR,
    NAMES,
    SEX,
    WEIGHT,
    N,
    S,
    X,
    Y,
    as_dask,
    fit,
    frame,
    spoiled,
)

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
