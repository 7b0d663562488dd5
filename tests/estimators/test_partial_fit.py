"""partial_fit: the model of all rows so far, whatever the chunks."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from gferm import Bins, FairRegressor
from tests.problems import make_problem

N = 90
PROBLEM = make_problem(n=N, d=6, n_groups=3)
X, Y, S = PROBLEM.X, PROBLEM.y, PROBLEM.s
CITY = np.array(["ham", "oslo"])[np.random.default_rng(2).integers(0, 2, N)]
AGE = np.random.default_rng(3).uniform(20, 60, N) + 5.0 * S
WEIGHT = np.random.default_rng(4).integers(0, 4, N).astype(float)
NEW = make_problem(n=25, d=6, seed=1).X
GROUPS = Bins.categories([0, 1, 2])
CITIES = Bins.categories(["ham", "oslo"])
BINS = {"y_bins": [-np.inf, 1.0, np.inf], "s_bins": GROUPS}
POINTS = X[:12]
# name: sensitive attributes, arguments
CASES = {
    "linear": ({"group": S}, {"kernel": "linear"}),
    "landmarks": ({"group": S}, {"gamma": 0.2, "landmarks": POINTS}),
    "laplacian": ({"group": S}, {"kernel": "laplacian", "gamma": 0.2, "landmarks": POINTS}),
    "no intercept": ({"group": S}, {"kernel": "linear", "fit_intercept": False}),
    "residual": ({"group": S}, {"kernel": "linear", "match": "residual"}),
    "sum": ({"group": S}, {"kernel": "linear", "epsilon_scale": "sum"}),
    "spectrum": ({"group": S}, {"kernel": "linear", "solver": "spectrum", "alpha": 0.0}),
    "large cells": ({"group": S}, {"kernel": "linear", "min_cell_size": 9}),
    "continuous": ({"age": AGE}, {"kernel": "linear", "s_bins": "continuous"}),
    "continuous, landmarks": ({"age": AGE}, {"landmarks": POINTS, "s_bins": "continuous"}),
    "crossed": ({"group": S, "city": CITY}, {"landmarks": POINTS, "y_bins": 1}),
    "marginal": ({"group": S, "city": CITY}, {"landmarks": POINTS, "intersectional": False}),
}
many = settings(max_examples=40, deadline=None)
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::gferm.exceptions.{name}")  # of models of a few rows
    for name in ("InactiveConstraintWarning", "ConstantModelWarning")
]


def model_of(name, **options):
    sensitive, given = CASES[name]
    if len(sensitive) > 1:
        given = {"s_bins": {"group": GROUPS, "city": CITIES}, **given}
    return FairRegressor(**{**BINS, "alpha": 0.3, **given, **options}), sensitive


def take(sensitive, rows):
    return {name: values[rows] for name, values in sensitive.items()}


def stream(model, sensitive, parts, weight=None, rows=X):
    for part in parts:
        share = None if weight is None else weight[part]
        s = None if sensitive is None else take(sensitive, part)
        model.partial_fit(rows[part], Y[part], sensitive_features=s, sample_weight=share)
    return model


def assert_same(found, expected, new=NEW, digits=1e-8):
    scale = np.ptp(expected.predict(new)) + 1.0
    np.testing.assert_allclose(
        found.predict(new), expected.predict(new), rtol=0, atol=digits * scale
    )
    assert found.objective_ == pytest.approx(expected.objective_, rel=digits)
    assert found.violation_ == pytest.approx(expected.violation_, abs=digits, nan_ok=True)
    np.testing.assert_allclose(found.multipliers_, expected.multipliers_, rtol=1e-6, atol=1e-6)
    if expected.contrasts_ is not None:
        assert found.contrasts_.compared == expected.contrasts_.compared
        assert found.contrasts_.skipped == expected.contrasts_.skipped
    assert 0.0 <= found.duality_gap_ < 1e-9


@many
@given(
    name=st.sampled_from(sorted(CASES)),
    epsilon=st.sampled_from([None, 0.0, 0.2]),
    weighted=st.booleans(),
    borders=st.sets(st.integers(20, N - 1), max_size=12),
    order=st.randoms(use_true_random=False),
)
def test_any_chunks_give_the_model_of_all_rows(name, epsilon, weighted, borders, order):
    weight = WEIGHT if weighted else None
    model, sensitive = model_of(name, epsilon=epsilon)
    expected = clone(model).fit(X, Y, sensitive_features=sensitive, sample_weight=weight)
    rows = list(range(N))
    order.shuffle(rows)
    parts = np.split(np.array(rows), sorted(borders))
    assert_same(stream(model, sensitive, parts, weight), expected)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weights"])
@pytest.mark.parametrize("epsilon", [None, 0.0, 0.2])
@pytest.mark.parametrize("name", CASES)
def test_three_chunks_give_the_model_of_all_rows(name, epsilon, weight):
    model, sensitive = model_of(name, epsilon=epsilon)
    expected = clone(model).fit(X, Y, sensitive_features=sensitive, sample_weight=weight)
    assert_same(stream(model, sensitive, np.split(np.arange(N), 3), weight), expected)


@pytest.mark.parametrize("name", ["linear", "landmarks"])
def test_row_by_row_gives_the_model_of_all_rows(name):
    model, sensitive = model_of(name)
    expected = clone(model).fit(X, Y, sensitive_features=sensitive)
    assert_same(stream(model, sensitive, np.arange(N)[:, None]), expected)
    assert model.stream_.n_chunks == model.stream_.n_rows == N


@pytest.mark.parametrize("name", ["linear", "landmarks"])
def test_at_every_moment_it_is_the_model_of_the_rows_so_far(name):
    model, sensitive = model_of(name, epsilon=0.1)
    for start in range(0, N, 30):
        stream(model, sensitive, [np.arange(start, start + 30)])
        rows = np.arange(start + 30)
        expected = clone(model).fit(X[rows], Y[rows], sensitive_features=take(sensitive, rows))
        assert_same(model, expected)


def test_columns_of_words_are_named():
    frame = pd.DataFrame({"a": X[:, 0], "b": ["x"] * N})
    with pytest.raises(ValueError, match=r"Chunk 1: X has columns that are not numbers: \['b'\]"):
        model_of("linear")[0].partial_fit(frame, Y, sensitive_features=S)


@pytest.mark.parametrize("name", ["linear", "landmarks"])
def test_without_a_constraint_nobody_needs_attributes(name):
    model, _ = model_of(name, epsilon=None)
    expected = clone(model).fit(X, Y)
    assert_same(stream(model, None, np.split(np.arange(N), 5)), expected)
    assert model.cells_ is None
    assert model.contrasts_ is None


@pytest.mark.parametrize(
    "kind", [sparse.csr_array, sparse.csc_matrix, np.float32, np.asfortranarray]
)
@pytest.mark.parametrize("name", ["linear", "landmarks"])
def test_rows_of_every_kind_give_the_model_of_the_same_numbers(name, kind):
    rows = np.where(X > 0.0, X, 0.0).astype(np.float32).astype(float)
    model, sensitive = model_of(name)
    expected = clone(model).fit(rows, Y, sensitive_features=sensitive)
    for k, part in enumerate(np.split(np.arange(N), 6)):
        some = kind(rows[part]) if k % 2 else rows[part]  # of two kinds in turn
        model.partial_fit(some, Y[part], sensitive_features=take(sensitive, part))
    assert_same(model, expected)


def test_data_frames_keep_their_names_and_guard_them():
    frame = pd.DataFrame(X, columns=["age", "income", "rooms", "garden", "distance", "noise"])
    model, sensitive = model_of("linear")
    for part in np.split(np.arange(N), 3):
        groups = pd.DataFrame(take(sensitive, part), index=part)
        model.partial_fit(frame.iloc[part], Y[part], sensitive_features=groups)
    assert_same(model, clone(model).fit(frame, Y, sensitive_features=sensitive), frame)
    assert list(model.feature_names_in_) == list(frame.columns)
    with pytest.raises(ValueError, match="Chunk 4: The feature names should match"):
        model.partial_fit(frame.iloc[:9, ::-1], Y[:9], sensitive_features=take(sensitive, slice(9)))


def test_a_cell_may_stay_empty_until_the_last_chunk():
    model, sensitive = model_of("linear")
    expected = clone(model).fit(X, Y, sensitive_features=sensitive)
    late = (S == 2) & (Y > 1.0)
    first, last = np.flatnonzero(~late), np.flatnonzero(late)
    stream(model, sensitive, np.array_split(first, 3))
    assert model.contrasts_.n_contrasts < expected.contrasts_.n_contrasts
    assert_same(stream(model, sensitive, [last]), expected)


@pytest.mark.parametrize("name", ["linear", "landmarks", "residual"])
def test_until_there_are_two_groups_there_is_no_model_and_then_the_right_one(name):
    model, sensitive = model_of(name)
    model.fit(X[:40], Y[:40], sensitive_features=take(sensitive, slice(40)))  # is forgotten
    one, rest = np.flatnonzero(S == 0), np.flatnonzero(S > 0)
    for part in np.split(one, [5]):
        stream(model, sensitive, [part])
        with pytest.raises(NotFittedError):
            model.predict(X)
    assert_same(
        stream(model, sensitive, [rest]), clone(model).fit(X, Y, sensitive_features=sensitive)
    )


def test_rows_and_whole_chunks_of_weight_zero_add_nothing():
    model, sensitive = model_of("linear")
    weight = np.where(np.arange(N) < 60, WEIGHT, 0.0)
    weight[Y.argmin()] = 0.0
    stream(model, sensitive, np.split(np.arange(N), 3), weight)
    assert model.stream_.n_rows == np.count_nonzero(weight)
    assert model.stream_.n_chunks == 3
    assert_same(model, clone(model).fit(X, Y, sensitive_features=sensitive, sample_weight=weight))


@pytest.mark.parametrize("name", ["linear", "landmarks"])
def test_fit_starts_afresh_and_a_clone_forgets(name):
    model, sensitive = model_of(name)
    halves = np.split(np.arange(N), 2)
    expected = stream(clone(model), sensitive, halves[1:])
    stream(model, sensitive, halves)
    assert not hasattr(clone(model), "stream_")
    assert_same(stream(clone(model), sensitive, halves[1:]), expected)
    model.fit(X, Y, sensitive_features=sensitive)
    assert not hasattr(model, "stream_")
    assert_same(stream(model, sensitive, halves[1:]), expected)


@pytest.mark.parametrize("name", ["linear", "landmarks", "continuous", "marginal"])
def test_a_pickled_model_goes_on_where_it_was(name):
    model, sensitive = model_of(name)
    parts = np.split(np.arange(N), 3)
    stream(model, sensitive, parts[:1])
    other = stream(pickle.loads(pickle.dumps(model)), sensitive, parts[1:])
    stream(model, sensitive, parts[1:])
    np.testing.assert_array_equal(other.predict(NEW), model.predict(NEW))


def test_alpha_and_epsilon_may_change_between_chunks():
    model, sensitive = model_of("linear", epsilon=None)
    first, second = np.split(np.arange(N), 2)
    stream(model, sensitive, [first])
    model.set_params(epsilon=0.0, alpha=4.0, match="residual")
    stream(model, sensitive, [second])
    assert_same(model, clone(model).fit(X, Y, sensitive_features=sensitive))


@pytest.mark.parametrize("gamma", [0.01, 0.1])
def test_many_rows_on_many_landmarks_agree_to_eight_digits_in_any_chunks(gamma):
    rng = np.random.default_rng(0)
    n = 20_000
    s, rows = rng.integers(0, 2, n), rng.normal(size=(n, 6))
    y = 2 * np.sin(rows[:, 0]) + rows[:, 1] + 0.5 * s + 0.3 * rng.normal(size=n)
    landmarks = rows[rng.choice(n, 500, replace=False)]
    model = FairRegressor(
        gamma=gamma, alpha=1e-3, landmarks=landmarks, y_bins=[-np.inf, 0, 1, np.inf]
    )
    predictions = [
        clone(model).fit(rows, y, sensitive_features=s).predict(rows[:2000]),
        *(_in_chunks(clone(model), rows, y, s, k).predict(rows[:2000]) for k in (3, 7)),
    ]
    for other in predictions[1:]:
        np.testing.assert_allclose(other, predictions[0], rtol=0, atol=1e-8 * np.ptp(y))


def _in_chunks(model, rows, y, s, k):
    for part in np.array_split(np.arange(len(y)), k):
        model.partial_fit(rows[part], y[part], sensitive_features=s[part])
    return model
