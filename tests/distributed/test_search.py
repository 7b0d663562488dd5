"""A search on Dask is the search on all rows, wherever the partitions are."""

import pickle

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning

from gferm import Bins, FairClassifierCV, FairRegressor, FairRegressorCV, distributed, losses
from gferm.exceptions import ConstantModelWarning, InactiveConstraintWarning
from gferm.metrics import loss_general_fairness
from gferm.streaming import Chunk, search_stream
from gferm.streaming.source import fold_of
from tests.distributed.rows import (
    AGE,
    CHUNKS,
    EDGES,
    NAMES,
    SEX,
    WEIGHT,
    N,
    S,
    Source,
    X,
    Y,
    as_dask,
    frame,
    spoiled,
)

N_FOLDS = 4
GRID = {"alphas": [0.1, 10.0, 1000.0], "epsilons": [0, 0.2, None], "cv": N_FOLDS}
LINEAR = {**GRID, "kernel": "linear"}
FEW = {"n_landmarks": 30, "random_state": 3}
KINDS = {
    "bins of all rows": {"kernel": "linear", "y_bins": 3},
    "edges": {"kernel": "linear", "y_bins": EDGES, "s_bins": Bins.categories([0, 1, 2])},
    "sum": {"kernel": "linear", "y_bins": EDGES, "epsilon_scale": "sum"},
    "no intercept": {"kernel": "linear", "y_bins": EDGES, "fit_intercept": False},
    "landmarks": {"gammas": [0.01, 0.05], "y_bins": EDGES, **FEW},
    "points": {"gammas": [0.01, 0.05], "y_bins": 3, "landmarks": X[:20]},
    "kernels": {"kernel_grid": {"kernel": ["rbf", "laplacian"]}, "y_bins": EDGES, **FEW},
}
SETS = {
    "numbers": (S, {"y_bins": Bins.quantile(2)}),
    "words": (SEX, {"y_bins": 3}),
    "several": ({"sex": SEX, "age": AGE}, {"y_bins": 1, "s_bins": {"age": Bins.quantile(2)}}),
    "margins": ({"a": S, "b": SEX}, {"y_bins": Bins.quantile(2), "intersectional": False}),
    "continuous": ({"age": AGE, "sex": SEX}, {"y_bins": 2, "s_bins": {"age": "continuous"}}),
}
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::{kind.__module__}.{kind.__name__}")
    for kind in (ConstantModelWarning, InactiveConstraintWarning)
]


def search(params, s=S, chunks=CHUNKS["even"], **changes):
    data = {"X": X, "y": Y, "weight": None, **changes}
    given = params if isinstance(params, FairRegressorCV) else FairRegressorCV(**params)
    return distributed.search(
        given,
        as_dask(data["X"], chunks),
        as_dask(data["y"], chunks),
        sensitive_features=as_dask(s, chunks),
        sample_weight=as_dask(data["weight"], chunks),
    )


def on_all_rows(params, weight=None):
    """Search with these folds and measures by FairRegressorCV itself."""
    bins, counted = EDGES, Y if weight is None else Y[weight > 0]
    if params["y_bins"] == 3:
        bins = np.linspace(counted.min(), counted.max(), 4)

    def mean_gap(y_true, y_pred, *, sensitive_features, sample_weight=None):
        return loss_general_fairness(
            y_true, y_pred, sensitive_features=sensitive_features, sample_weight=sample_weight,
            y_bins=bins, loss="prediction", average="pairs",
        )  # fmt: skip

    folds = fold_of(np.arange(N), N_FOLDS)
    cv = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(N_FOLDS)]
    measures = {"scoring": "neg_mean_squared_error", "unfairness": mean_gap}
    whole = FairRegressorCV(**{**GRID, **params, "cv": cv}, **measures)
    return whole.fit(X, Y, sensitive_features=S, sample_weight=weight)


def assert_same_search(found, expected, atol=1e-10):
    table, other = found.cv_results_, expected.cv_results_
    assert list(table) == list(other)
    assert table["params"] == other["params"]
    for name in table:
        if ("_test_" in name and "rank" not in name) or "dropped" in name:  # ranks know no ties
            np.testing.assert_allclose(table[name], other[name], rtol=1e-9, atol=1e-9, err_msg=name)
    assert np.ptp(table["mean_test_error"]) > 0
    assert found.best_params_ == expected.best_params_
    assert found.n_features_in_ == expected.n_features_in_
    scale = np.abs(expected.predict(X)).max()
    assert np.ptp(expected.predict(X)) > 0.05 * scale  # not a constant model
    np.testing.assert_allclose(found.predict(X), expected.predict(X), atol=atol * scale)
    if hasattr(expected.best_estimator_, "coef_"):
        coef = expected.best_estimator_.coef_
        np.testing.assert_allclose(found.best_estimator_.coef_, coef, atol=atol * scale)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weights"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_table_the_choice_and_the_model_are_those_of_all_rows(kind, weight):
    params = {**GRID, **KINDS[kind]}
    found = search(params, chunks=CHUNKS["empty and one row"], weight=weight)
    assert_same_search(found, on_all_rows(params, weight), atol=1e-9)
    assert found.unfairness_ == "mean_gap"
    assert found.n_splits_ == N_FOLDS


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weights"])
@pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)
@pytest.mark.parametrize("groups", SETS)
def test_any_chunks_give_what_one_stream_gives(groups, chunks, weight):
    s, params = SETS[groups]
    params = {**LINEAR, "match": "residual", "epsilons": [0.1, None], **params}
    found = search(params, s=s, chunks=chunks, weight=weight)
    expected = search_stream(FairRegressorCV(**params), Source(s, weight))
    assert_same_search(found, expected)
    assert found.best_estimator_.cells_.label_bins == expected.best_estimator_.cells_.label_bins
    if groups != "continuous":  # its units are known up to rounding
        assert found.best_estimator_.cells_.scheme == expected.best_estimator_.cells_.scheme


@pytest.mark.parametrize("weight", [None, "weight"])
def test_rows_are_numbered_where_nobody_knows_how_many_a_partition_has(weight):
    rows = frame(CHUNKS["empty and one row"])
    params = {**LINEAR, "y_bins": EDGES, "s_bins": Bins.categories([0, 1, 2])}
    expected = search(params, weight=None if weight is None else WEIGHT)
    given = {"sensitive_features": rows["s"]}
    if weight is not None:
        given["sample_weight"] = rows["weight"]
    of_frames = distributed.search(FairRegressorCV(**params), rows[NAMES], rows["y"], **given)
    assert of_frames.feature_names_in_.tolist() == NAMES
    arrays = rows[NAMES].values, rows["y"].values  # chunks of unknown sizes
    assert np.isnan(arrays[0].chunks[0]).all()
    of_arrays = distributed.search(FairRegressorCV(**params), *arrays, **given)
    for found in (of_frames, of_arrays):
        for name in ("mean_test_error", "mean_test_mean_gap", "split2_test_error"):
            np.testing.assert_allclose(found.cv_results_[name], expected.cv_results_[name])


@pytest.mark.parametrize("place", [0, 2])
def test_partitions_of_weight_zero_add_nothing_but_their_numbers(place):
    """Where rows do not count, neither do their values; the folds of all others stay."""
    weight, junk = np.ones(N), X.copy()
    idle = slice(100 * place, 100 * place + 100)
    weight[idle], junk[idle] = 0.0, 1e6
    table = frame(CHUNKS["even"], weight=weight, **dict(zip(NAMES, junk.T, strict=True)))
    params = {**LINEAR, "y_bins": EDGES, "s_bins": Bins.categories([0, 1, 2])}
    found = distributed.search(
        FairRegressorCV(**params),
        table[NAMES].values,
        table["y"].values,
        sensitive_features=table["s"],
        sample_weight=table["weight"],
    )
    expected = on_all_rows(params, weight)
    assert_same_search(found, expected)


@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
def test_schedulers(scheduler):
    params = {**GRID, **KINDS["landmarks"]}
    with dask.config.set(scheduler=scheduler):
        found = search(params, chunks=CHUNKS["many"])
    assert_same_search(found, search_stream(FairRegressorCV(**params), Source(S, None)), 1e-9)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weights"])
def test_without_a_constraint(weight, known):
    params = {**LINEAR, "epsilons": [None], "selection": "error"}
    rows = [as_dask(one, CHUNKS["even"]) for one in (X, Y, weight) if one is not None]
    if not known:
        rows = [one.map_blocks(np.copy) for one in rows]
        for one in rows:
            one._chunks = ((np.nan,) * 4, *one.chunks[1:])
    found = FairRegressorCV(**params)
    distributed.search(found, *rows[:2], sample_weight=None if weight is None else rows[2])
    expected = search_stream(FairRegressorCV(**params), [Chunk(X, Y, None, weight)])
    np.testing.assert_allclose(
        found.cv_results_["split1_test_error"], expected.cv_results_["split1_test_error"]
    )
    assert np.isnan(found.best_unfairness_)
    np.testing.assert_allclose(found.predict(X), expected.predict(X), rtol=1e-9)


def test_the_chosen_model_can_go_on_learning():
    found = search({**LINEAR, "y_bins": EDGES})
    assert found.best_estimator_.stream_.n_rows == N
    more = found.best_estimator_.partial_fit(X[:50], Y[:50], sensitive_features=S[:50])
    params = {"kernel": "linear", "y_bins": EDGES, **found.best_params_}
    both = np.concatenate([np.arange(N), np.arange(50)])
    expected = FairRegressor(**params).fit(X[both], Y[both], sensitive_features=S[both])
    np.testing.assert_allclose(more.predict(X), expected.predict(X), atol=1e-9)


def test_a_search_that_was_fitted_on_named_features_forgets_them():
    again = FairRegressorCV(**LINEAR, y_bins=2)
    again.fit(pd.DataFrame(X[:, :6], columns=list("abcdef")), Y, sensitive_features=S)
    search(again)
    assert not hasattr(again, "feature_names_in_")
    assert again.n_features_in_ == X.shape[1]


# Nothing but numbers about the rows comes back


def computations(params, *, known=True, n=20_000):
    """Search, and give the bytes that each computation brings to the client."""
    sizes = []

    def spy(graph, keys, **options):
        results = dask.get(graph, keys, **options)
        sizes.append(len(pickle.dumps(results)))
        return results

    chunks = (n // 10,) * 10
    rng = np.random.default_rng(0)
    x, s = rng.normal(size=(n, 20)), rng.integers(0, 2, n)
    data = [as_dask(one, chunks) for one in (x, x[:, 0] + s, s)]
    if not known:
        for one in data:
            one._chunks = ((np.nan,) * 10, *one.chunks[1:])
    with dask.config.set(scheduler=spy):
        distributed.search(FairRegressorCV(**params), data[0], data[1], sensitive_features=data[2])
    return sizes


def test_a_summary_of_each_fold_and_kernel_comes_to_the_client():
    params = {"n_landmarks": 30, "gammas": [0.01, 0.1], "random_state": 0, "cv": 5, "y_bins": 10}
    few, many = (computations(params, n=n) for n in (2_000, 20_000))
    assert len(many) == 4  # survey, landmarks, opening, sum
    of_one = 8 * (30 * 30 + 30 * 20)  # scatter, and members of twenty cells
    assert 10 * of_one < many[-1] < 1.3 * 10 * of_one
    np.testing.assert_allclose(many, few, atol=100)  # but for the digits of the numbers of rows


@pytest.mark.parametrize(("known", "n_computations"), [(True, 2), (False, 3)])
def test_labels_are_looked_at_only_if_something_is_not_known(known, n_computations):
    bins = {"y_bins": [-np.inf, 0.5, np.inf], "s_bins": Bins.categories([0, 1])}
    sizes = computations({**LINEAR, **bins}, known=known, n=200)
    assert len(sizes) == n_computations  # survey to count rows, opening, sum


# Folds that have nobody to compare, and rows that do not fill the folds


def test_a_fold_that_has_nobody_to_compare():
    folds = fold_of(np.arange(N), N_FOLDS)
    s = np.where((folds == 0) & (SEX == "f"), "rare", "many")  # all in the test part of fold 0
    params = {**LINEAR, "y_bins": 1, "selection": "error"}
    with pytest.warns(FitFailedWarning, match="In fold 0, .*its training rows leave nobody to com"):
        found = search(params, s=s)
    table = found.cv_results_
    plain = np.array([setting["epsilon"] is None for setting in table["params"]])
    np.testing.assert_array_equal(np.isfinite(table["mean_test_error"]), plain)
    np.testing.assert_array_equal(np.isfinite(table["split0_test_error"]), plain)
    assert np.isfinite(table["split1_test_error"]).all()
    np.testing.assert_array_equal(table["n_test_mean_gap"], plain)  # only fold 0 has both groups
    dropped = [table[f"split{k}_dropped_pairs"][0] for k in range(N_FOLDS)]
    assert dropped == [1, 0, 0, 0]
    assert found.best_params_["epsilon"] is None


def test_nobody_to_compare_at_all():
    with pytest.raises(ValueError, match="y is constant"):
        search({**LINEAR}, y=np.ones(N))
    with pytest.raises(ValueError, match="nobody to compare"):
        search({**LINEAR, "epsilons": [None]}, y=np.ones(N))
    found = search({**LINEAR, "epsilons": [None], "selection": "error"}, y=np.ones(N))
    np.testing.assert_allclose(found.predict(X), 1.0)


def test_more_folds_than_the_rows_fill():
    params = {**LINEAR, "cv": 60, "y_bins": EDGES, "s_bins": Bins.categories([0, 1, 2])}
    few = 50
    message = r"cv=60 leaves fold \d+ empty: only 50 rows count. Use fewer folds"
    with pytest.raises(ValueError, match=message):
        search(params, X=X[:few], y=Y[:few], s=S[:few], chunks=(20, 30))
    with pytest.raises(ValueError, match=message):
        search_stream(FairRegressorCV(**params), [Chunk(X[:few], Y[:few], S[:few])])


# Bad input


MISTAKES = {
    "NaN in X": ({}, {"X": spoiled(X, 250, np.nan)}, "Partition 2: .*NaN"),
    "NaN in y": ({}, {"y": spoiled(Y, 250, np.nan)}, "Partition 2: .*NaN"),
    "NaN in s": ({}, {"s": spoiled(AGE, 399, np.nan)}, "Partition 3: .*missing"),
    "negative weight": ({}, {"weight": spoiled(WEIGHT, 1, -1.0)}, "Partition 0: .*eg"),
    "no weight": ({}, {"weight": np.zeros(N)}, "There are no rows to learn from"),
    "no rows": (
        {"y_bins": EDGES, "s_bins": [0, 1, 3]},
        {"X": X[:0], "y": Y[:0], "s": S[:0], "chunks": (0, 0)},
        "There are no rows to learn from",
    ),
    "unseen category": (
        {"s_bins": Bins.categories(["f", "m"])},
        {"s": spoiled(SEX, 150, "x")},
        "Partition 1: .*none of the s_bins, for example x in row 50",
    ),
    "no attribute": (
        {"selection": "error"},
        {"s": None},
        r"sensitive_features is missing, but epsilons=\[0.0, 0.2",
    ),
    "no attribute for nvp": (
        {"epsilons": [None]},
        {"s": None},
        "sensitive_features is missing: selection='nvp'.*selection='error'",
    ),
    "many landmarks": ({"kernel": "rbf", "n_landmarks": 500}, {}, "more than the 400 rows"),
    "leverage": ({"kernel": "rbf", "n_landmarks": 5, "landmarks": "leverage"}, {}, "use 'uniform'"),
    "landmarks for one of two": (
        {"kernel": "rbf", "kernel_grid": {"kernel": ["rbf", "linear"]}, "n_landmarks": 5},
        {},
        "Landmarks approximate a kernel, and kernel='linear'",
    ),
    "loss": ({"loss": losses.Huber()}, {}, "only the square loss"),
    "kernel": ({"kernel": "rbf"}, {}, "with n_landmarks"),
    "scoring": ({"scoring": "r2"}, {}, "scoring='r2'.*mean squared error"),
    "unfairness": ({"unfairness": "dgf"}, {}, "unfairness='dgf'.*mean gap"),
    "selection": ({"selection": lambda results: 99}, {}, "selection=.* gave 99"),
    "cv": ({"cv": [([0], [1])]}, {}, "must be a number of folds"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_leave_a_search_as_it_was(mistake):
    params, changes, message = MISTAKES[mistake]
    fitted = search({**LINEAR, "y_bins": 2})
    fitted.set_params(**params)
    before = dict(vars(fitted))
    with pytest.raises(ValueError, match=message):
        search(fitted, **changes)
    assert vars(fitted) == before


def test_what_is_no_search_of_a_regressor():
    data = [as_dask(one, CHUNKS["even"]) for one in (X, Y, S)]
    for other in (FairRegressor(kernel="linear"), FairClassifierCV("squared", kernel="linear")):
        with pytest.raises(TypeError, match=f"{type(other).__name__} cannot be searched by sums"):
            distributed.search(other, data[0], data[1], sensitive_features=data[2])


def test_rows_that_are_here_are_for_the_search_itself():
    with pytest.raises(ValueError, match=r"X is a ndarray.*dask.array.from_array\(X"):
        distributed.search(FairRegressorCV(**LINEAR), X, Y, sensitive_features=S)
    with pytest.raises(ValueError, match="y has 300 rows, but X has 400"):
        distributed.search(
            FairRegressorCV(**LINEAR),
            as_dask(X, CHUNKS["even"]),
            da.from_array(Y[:300], chunks=100),
            sensitive_features=as_dask(S, CHUNKS["even"]),
        )


def test_a_search_is_not_changed_by_its_copies():
    """Every partition is read by a clone: the search given is the one that is fitted."""
    given = FairRegressorCV(**LINEAR, y_bins=3)
    assert search(given) is given
    assert clone(given).get_params() == FairRegressorCV(**LINEAR, y_bins=3).get_params()
