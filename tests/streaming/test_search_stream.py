"""A search on a stream is the search on all rows, with the same folds."""

import numpy as np
import pytest
from sklearn.base import clone

from gferm import Bins, FairRegressor, FairRegressorCV, losses
from gferm.exceptions import ConstantModelWarning, InactiveConstraintWarning
from gferm.metrics import loss_general_fairness
from gferm.streaming import Chunk, search_stream
from gferm.streaming.held_out_sums import mean_squared_errors
from gferm.streaming.source import fold_of

N, D, N_FOLDS = 400, 5, 4
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D)) + 3.0
S = RNG.integers(0, 3, N)
Y = X @ RNG.normal(size=D) + 0.5 * S + RNG.normal(size=N)
EDGES = [-np.inf, float(np.median(Y)), np.inf]
WEIGHT = RNG.integers(0, 3, N).astype(float)
GRID = {"alphas": [0.1, 10.0, 1000.0], "epsilons": [0, 0.2, None], "y_bins": EDGES}
KINDS = {
    "linear": {"kernel": "linear"},
    "landmarks": {"gammas": [0.01, 0.1], "landmarks": X[:30]},
    "sum": {"kernel": "linear", "epsilon_scale": "sum"},
    "no intercept": {"kernel": "linear", "fit_intercept": False},
}
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::{kind.__module__}.{kind.__name__}")
    for kind in (ConstantModelWarning, InactiveConstraintWarning)
]


def mean_gap(y_true, y_pred, *, sensitive_features, sample_weight=None):
    return loss_general_fairness(
        y_true, y_pred, sensitive_features=sensitive_features, sample_weight=sample_weight,
        y_bins=EDGES, loss="prediction", average="pairs",
    )  # fmt: skip


def chunks(size, weight=None):
    for start in range(0, N, size):
        rows = slice(start, start + size)
        yield Chunk(X[rows], Y[rows], S[rows], None if weight is None else weight[rows])


def on_all_rows(weight=None, **params):
    folds = fold_of(np.arange(N), N_FOLDS)
    cv = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(N_FOLDS)]
    search = FairRegressorCV(
        **GRID, **params, cv=cv, scoring="neg_mean_squared_error", unfairness=mean_gap
    )
    return search.fit(X, Y, sensitive_features=S, sample_weight=weight)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weights"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_table_the_choice_and_the_model_are_those_of_all_rows(kind, weight):
    expected = on_all_rows(weight, **KINDS[kind])
    found = search_stream(FairRegressorCV(**GRID, **KINDS[kind], cv=N_FOLDS), chunks(57, weight))
    table, other = found.cv_results_, expected.cv_results_
    assert table["params"] == other["params"]
    np.testing.assert_allclose(table["mean_test_error"], other["mean_test_error"], rtol=1e-9)
    np.testing.assert_allclose(table["mean_test_mean_gap"], other["mean_test_mean_gap"], atol=1e-9)
    assert found.best_params_ == expected.best_params_
    np.testing.assert_allclose(found.predict(X), expected.predict(X), atol=1e-8)
    assert found.unfairness_ == "mean_gap"
    assert found.n_splits_ == N_FOLDS
    assert found.n_features_in_ == D


@pytest.mark.parametrize("size", [1, 31, N])
def test_chunks_do_not_matter(size):
    search = FairRegressorCV(**GRID, kernel="linear", s_bins=Bins.categories([0, 1, 2]))
    found = [search_stream(clone(search), chunks(k)) for k in (90, size)]
    for name in ("mean_test_error", "mean_test_mean_gap", "split0_dropped_pairs"):
        np.testing.assert_allclose(found[0].cv_results_[name], found[1].cv_results_[name])
    np.testing.assert_allclose(found[0].predict(X), found[1].predict(X), atol=1e-9)


@pytest.mark.parametrize("place", [0, 2])
def test_chunks_of_weight_zero_add_nothing_but_their_numbers(place):
    parts, weight = [*chunks(80, np.ones(N))], np.ones(N)
    weight[80 * place : 80 * place + 80] = 0.0
    parts[place] = [*chunks(80, weight)][place]
    search = FairRegressorCV(**GRID, kernel="linear", s_bins=Bins.categories([0, 1, 2]))
    found = search_stream(clone(search), parts)
    expected = search_stream(clone(search), chunks(N, weight))
    for name in ("mean_test_error", "mean_test_mean_gap"):
        np.testing.assert_allclose(found.cv_results_[name], expected.cv_results_[name])


def test_folds_are_of_one_size_and_follow_the_number_of_the_row():
    folds = fold_of(np.arange(100_000), 7)
    counts = np.bincount(folds, minlength=7)
    assert np.abs(counts / counts.mean() - 1).max() < 0.03
    np.testing.assert_array_equal(folds[500:900], fold_of(np.arange(500, 900), 7))
    neighbours = np.mean(folds[1:] == folds[:-1])
    assert neighbours == pytest.approx(1 / 7, abs=0.01)


def test_the_chosen_model_can_go_on_learning():
    search = search_stream(FairRegressorCV(**GRID, kernel="linear"), chunks(100))
    more = search.best_estimator_.partial_fit(X[:50], Y[:50], sensitive_features=S[:50])
    params = {"kernel": "linear", "y_bins": EDGES, **search.best_params_}
    both = np.concatenate([np.arange(N), np.arange(50)])
    expected = FairRegressor(**params).fit(X[both], Y[both], sensitive_features=S[both])
    np.testing.assert_allclose(more.predict(X), expected.predict(X), atol=1e-9)


def test_the_error_follows_from_sums():
    model = FairRegressor(kernel="linear", epsilon=None)
    model.partial_fit(X, Y)
    weights = RNG.normal(size=(3, D))
    intercepts = RNG.normal(size=3)
    expected = ((X @ weights.T + intercepts - Y[:, None]) ** 2).mean(axis=0)
    found = mean_squared_errors(model.stream_.summary, weights, intercepts)
    np.testing.assert_allclose(found, expected)


def test_a_search_for_error_alone_needs_no_attributes():
    params = {"kernel": "linear", "epsilons": [None], "selection": "error"}
    parts = [Chunk(X[rows], Y[rows]) for rows in np.array_split(np.arange(N), 5)]
    found = search_stream(FairRegressorCV(**params), parts)
    assert np.isnan(found.best_unfairness_)
    assert found.best_error_ == found.cv_results_["mean_test_error"].min()


MISTAKES = {
    "loss": ({"loss": losses.Huber()}, "only the square loss"),
    "kernel": ({"kernel": "rbf"}, "with n_landmarks"),
    "scoring": ({"scoring": "r2"}, "scoring='r2'.*mean squared error"),
    "unfairness": ({"unfairness": "dgf"}, "unfairness='dgf'.*mean gap"),
    "cv": ({"cv": [([0], [1])]}, "must be a number of folds"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_what_sums_cannot_tell_is_refused_with_a_remedy(case):
    params, message = MISTAKES[case]
    search = FairRegressorCV(**{"kernel": "linear", **GRID, **params})
    with pytest.raises(ValueError, match=message):
        search_stream(search, chunks(100))
    assert not hasattr(search, "cv_results_")


def test_a_bad_chunk_is_named_and_leaves_the_search_unfitted():
    def broken():
        yield from chunks(100)
        yield Chunk(np.full((3, D), np.nan), Y[:3], S[:3])

    search = FairRegressorCV(**GRID, kernel="linear")
    with pytest.raises(ValueError, match=r"Chunk 5: .*NaN"):
        search_stream(search, broken())
    assert not hasattr(search, "cv_results_")
    with pytest.raises(ValueError, match="no rows"):
        search_stream(search, [])


def test_missing_attributes_are_an_error():
    with pytest.raises(ValueError, match="sensitive_features is missing"):
        search_stream(FairRegressorCV(**GRID, kernel="linear"), [Chunk(X, Y)])
