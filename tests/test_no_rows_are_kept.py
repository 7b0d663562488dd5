"""What is fitted lists cells, never rows: no codes, labels or weights of people are kept.

What a kernel model predicts with is kept, a row and a coefficient for each person, and from these
their groups can be worked out; linear models and landmarks keep nothing of the kind.
"""

import pickle
from io import BytesIO
from types import ModuleType

import joblib
import numpy as np
import pytest

import gferm
from gferm import (
    FairClassifier,
    FairClassifierCV,
    FairKernelProjection,
    FairProjection,
    FairRegressor,
    FairRegressorCV,
    Frontier,
)
from tests.problems import make_problem

N, D = 173, 12  # a number of rows that nothing else has
P = make_problem(n=N, d=D, n_groups=3)
FIT = {"sensitive_features": {"group": P.s, "age": P.X[:, 0] + P.s}, "sample_weight": P.y**2 + 1}
BINS = {"y_bins": 2, "s_bins": {"age": "continuous"}}
EDGES = {"y_bins": [-np.inf, 0, np.inf], "s_bins": {"group": gferm.Bins.categories([0, 1, 2])}}
LINEAR, LANDMARKS = {"kernel": "linear"}, {"n_landmarks": 20, "random_state": 0}
CLASSES = P.y > np.median(P.y)


def regressor(**options):
    return FairRegressor(**BINS | options).fit(P.X, P.y, **FIT)


def stream():
    return FairRegressor(**LINEAR, **EDGES).partial_fit(P.X, P.y, sensitive_features={"group": P.s})


def audit():
    return gferm.audit(P.y, P.X[:, 0], sensitive_features=P.s, n_boot=20, n_permutations=20)


WITHOUT_ROWS = {
    "linear": lambda: regressor(**LINEAR),
    "linear of a robust loss": lambda: regressor(loss="huber", **LINEAR),
    "wide": lambda: FairRegressor(**BINS, **LINEAR).fit(np.tile(P.X, 60), P.y, **FIT),
    "landmarks": lambda: regressor(**LANDMARKS),
    "stream": stream,
    "linear classes": lambda: FairClassifier(s_bins=BINS["s_bins"], **LINEAR).fit(
        P.X, CLASSES, **FIT
    ),
    "projection": lambda: FairProjection(**BINS).fit(P.X, P.y, **FIT),
    "search": lambda: FairRegressorCV(alphas=[1.0], **BINS, **LINEAR).fit(P.X, P.y, **FIT),
    "search for classes": lambda: FairClassifierCV(
        "squared", alphas=[1.0], s_bins=BINS["s_bins"], **LINEAR
    ).fit(P.X, CLASSES, **FIT),
    "as scikit-learn": lambda: regressor(**LINEAR).to_sklearn(),
    "frontier": lambda: gferm.frontier(P.X, P.y, **FIT, **BINS, **LINEAR),
    "frontier on landmarks": lambda: gferm.frontier(P.X, P.y, **FIT, **BINS, **LANDMARKS),
    "frontier of a stream": lambda: Frontier.of(stream()),
    "rates": lambda: gferm.metrics.cell_rates(P.y, P.X[:, 0], sensitive_features=P.s),
}
# dual coefficients, training rows and, of the projection, where these lie are the function itself
WITH_FEATURES = {
    "kernel": (lambda: regressor(), {"X_fit_", "dual_coef_"}),
    "kernel classes": (
        lambda: FairClassifier(s_bins=BINS["s_bins"]).fit(P.X, CLASSES, **FIT),
        {"X_fit_", "dual_coef_"},
    ),
}


def arrays_in(thing, path=(), seen=None):
    """Every array that a pickle would hold, with the attributes that lead to it."""
    seen = set() if seen is None else seen
    if id(thing) in seen or isinstance(thing, ModuleType | type):
        return
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        yield path, thing
    elif isinstance(thing, dict):
        for key, value in thing.items():
            yield from arrays_in(value, (*path, str(key)), seen)
    elif isinstance(thing, list | tuple | set | frozenset):
        for value in thing:
            yield from arrays_in(value, path, seen)
    elif hasattr(thing, "tocsr"):
        yield path, thing.tocoo().data
    else:
        yield from arrays_in(getattr(thing, "__dict__", {}), path, seen)


def saved(thing):
    """What comes back from joblib's file, which is what pickle writes."""
    buffer = BytesIO()
    joblib.dump(pickle.loads(pickle.dumps(thing)), buffer)
    buffer.seek(0)
    return joblib.load(buffer)


def of_rows(thing):
    found = arrays_in(saved(thing))
    return {path[0] for path, array in found if array.size and array.size % N == 0}


@pytest.mark.filterwarnings("ignore::gferm.exceptions.OutsideBinsWarning")
@pytest.mark.parametrize("name", WITHOUT_ROWS)
def test_nothing_is_as_long_as_the_rows(name):
    assert not of_rows(WITHOUT_ROWS[name]())


@pytest.mark.parametrize("name", WITH_FEATURES)
def test_kernel_models_keep_the_features_they_predict_with_and_nothing_else(name):
    make, needed = WITH_FEATURES[name]
    assert of_rows(make()) == needed


def test_a_kernel_projection_keeps_what_transforming_takes():
    fitted = FairKernelProjection(**BINS).fit(P.X, P.y, **FIT)
    assert of_rows(fitted) == {"X_fit_", "fair_kernel_"}


def test_a_frontier_of_kernel_models_keeps_what_every_epsilon_takes():
    """Coefficients of the plain model and of each contrast, and how both are read; no labels."""
    path = gferm.frontier(P.X, P.y, **FIT, **BINS)
    assert of_rows(path) == {"learned", "path"}
    found = arrays_in(saved(path))
    kept = {where[1:] for where, array in found if array.size and array.size % N == 0}
    reduced = {("reduction", name) for name in ("plain", "correction")}
    read = {("reduction", "system", name) for name in ("probe", "anchor")}
    scale = ("reduction", "system", "geometry", "scale")
    assert kept == {("features", "X"), scale} | reduced | read


def test_the_search_for_such_arrays_finds_them():
    class Told:
        def __init__(self):
            self.cells_ = [{"codes": P.s}]

    found = list(arrays_in(Told()))
    assert [path for path, _ in found] == [("cells_", "codes")]
