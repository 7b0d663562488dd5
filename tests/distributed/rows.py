"""Rows that the tests on Dask share, in several chunks, and what compares two models of them."""

from functools import partial
from itertools import pairwise

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.delayed import delayed
from sklearn.base import clone

from gferm import Bins, FairRegressor, distributed
from gferm.streaming import Chunk

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


class Source(list):
    """One chunk of all rows, which knows them beforehand."""

    def __init__(self, s, weight):
        s = s if isinstance(s, dict) else {"sensitive": s}
        self.whole = Chunk(X, Y, s, weight)
        super().__init__([self.whole])

    def outline(self):
        return self.whole

    def take(self, rows):
        return X[rows]


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
