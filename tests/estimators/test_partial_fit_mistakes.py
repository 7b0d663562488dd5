"""partial_fit: a bad chunk is named and changes nothing; models that need rows say so."""

import warnings
from contextlib import nullcontext
from copy import deepcopy
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from gferm import Bins, FairClassifier, FairRegressor, certificate
from gferm.exceptions import (
    InactiveConstraintWarning,
    NothingToCompareError,
    ShiftedBinsWarning,
)
from tests.estimators.test_partial_fit import CITY, NEW, N, S, X, Y, assert_same, model_of, stream

pytestmark = pytest.mark.filterwarnings("ignore::gferm.exceptions.InactiveConstraintWarning")


def chunk(**changes):
    given = {"X": X[60:], "y": Y[60:], "s": {"group": S[60:]}, "w": None} | changes
    return SimpleNamespace(**given)


def with_nan(values):
    spoiled = np.array(values, dtype=float)
    spoiled.flat[3] = np.nan
    return spoiled


BAD_CHUNKS = {
    "X has 3 features, but FairRegressor is expecting 6": chunk(X=X[60:, :3]),
    "Input X contains NaN": chunk(X=with_nan(X[60:])),
    "Input y contains NaN": chunk(y=with_nan(Y[60:])),
    "could not convert string to float": chunk(X=np.full((30, 6), "word", dtype=object)),
    "y has labels that are not numbers": chunk(y=["low"] * 30),
    "y has 30 of 30 values in none of the y_bins": chunk(y=Y[60:] + 1e3),
    "1 of 30 values in none of the s_bins, for example 7": chunk(s={"group": np.r_[S[61:], 7]}),
    "sensitive_features \\(group\\) has 1 missing": chunk(s={"group": with_nan(S[60:])}),
    "has the attributes \\['sex'\\], but the first chunk had \\['group'\\]": chunk(
        s={"sex": S[60:]}
    ),
    "has the attributes \\['group', 'city'\\]": chunk(s={"group": S[60:], "city": CITY[60:]}),
    "sensitive_features is missing": chunk(s=None),
    "has 29 rows but there are 30 samples": chunk(s={"group": S[61:]}),
    "Negative values in data passed to `sample_weight`": chunk(w=-np.ones(30)),
    "inconsistent numbers of samples": chunk(y=Y[61:]),
}


@pytest.mark.parametrize("message", BAD_CHUNKS)
def test_a_bad_chunk_is_named_and_leaves_the_model_as_it_was(message):
    model, sensitive = model_of("linear")
    model.set_params(y_bins=[-50.0, 0.0, 50.0])
    stream(model, sensitive, np.split(np.arange(60), 2))
    before, bad = dict(vars(model)), BAD_CHUNKS[message]
    predictions = model.predict(NEW)
    with pytest.raises(ValueError, match=f"(?s)Chunk 3: .*{message}"):
        model.partial_fit(bad.X, bad.y, sensitive_features=bad.s, sample_weight=bad.w)
    assert vars(model) == before
    np.testing.assert_array_equal(model.predict(NEW), predictions)
    good = chunk()
    model.partial_fit(good.X, good.y, sensitive_features=good.s)
    assert_same(model, clone(model).fit(X, Y, sensitive_features=sensitive))


@pytest.mark.parametrize("message", BAD_CHUNKS)
def test_a_bad_first_chunk_leaves_no_trace(message):
    if message.startswith(("X has 3", "has the attributes", "sensitive_features is")):
        return  # nothing to differ from yet
    model, bad = model_of("linear")[0].set_params(y_bins=[-50.0, 0.0, 50.0]), BAD_CHUNKS[message]
    before = dict(vars(model))
    with pytest.raises(ValueError, match=f"(?s)Chunk 1: .*{message}"):
        model.partial_fit(bad.X, bad.y, sensitive_features=bad.s, sample_weight=bad.w)
    assert vars(model) == before


CHANGES = {
    "gamma": ("landmarks", {"gamma": 1.0}),
    "kernel": ("landmarks", {"kernel": "laplacian"}),
    "to linear": ("landmarks", {"kernel": "linear", "landmarks": "uniform"}),
    "no intercept": ("linear", {"fit_intercept": False}),
    "an intercept": ("no intercept", {"fit_intercept": True}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_the_sums_were_taken_of_must_not_change(name):
    case, changes = CHANGES[name]
    model, sensitive = model_of(case)
    first, second = np.split(np.arange(N), 2)
    stream(model, sensitive, [first])
    model.set_params(**changes)
    with pytest.raises(ValueError, match="Chunk 2: kernel, its parameters or fit_intercept"):
        stream(model, sensitive, [second])


AGREED = {
    "y_bins": ("linear", {"y_bins": [-50.0, 1.0, 50.0]}),
    "s_bins": ("linear", {"s_bins": "auto"}),
    "intersectional": ("linear", {"intersectional": False}),
    "landmarks": ("landmarks", {"landmarks": X[5:25]}),
    "n_landmarks": ("landmarks", {"n_landmarks": 3}),
}


@pytest.mark.parametrize("name", AGREED)
def test_what_was_agreed_on_must_not_change_in_silence(name):
    case, changes = AGREED[name]
    model, sensitive = model_of(case)
    first, second = np.split(np.arange(N), 2)
    stream(model, sensitive, [first])
    with pytest.raises(ValueError, match=f"Chunk 2: {name}=.* has changed: the sums so far"):
        stream(model.set_params(**changes), sensitive, [second])


@pytest.mark.parametrize("case", ["linear", "landmarks"])
def test_equal_parameters_are_no_change(case):
    model, sensitive = model_of(case)
    first, second = np.split(np.arange(N), 2)
    stream(model, sensitive, [first])
    model.set_params(**{name: deepcopy(getattr(model, name)) for name in AGREED})
    stream(model, sensitive, [second])
    assert model.stream_.n_chunks == 2


def test_a_model_is_not_lost_in_silence():
    model, sensitive = model_of("linear")
    first, second = np.split(np.arange(N), 2)
    stream(model, sensitive, [first])
    model.set_params(min_cell_size=10 * N)
    before = dict(vars(model))
    with pytest.raises(NothingToCompareError):
        stream(model, sensitive, [second])
    assert vars(model) == before


@pytest.mark.parametrize("bins", [{"s_bins": Bins.quantile(4)}, {"y_bins": Bins.quantile(4)}])
@pytest.mark.parametrize("mixed", [True, False])
def test_quantiles_of_a_first_chunk_that_is_unlike_the_rest_are_told(bins, mixed):
    rng = np.random.default_rng(0)
    rows, order = rng.normal(size=(2000, 3)), np.arange(2000.0)
    if mixed:
        rng.shuffle(order)
    y, s = (order, rng.normal(size=2000)) if "y_bins" in bins else (rows[:, 0], order)
    model = FairRegressor(kernel="linear", epsilon=None, **{"y_bins": 1, "s_bins": 2} | bins)
    if "y_bins" in bins:
        model.set_params(s_bins=[-np.inf, 0.0, np.inf])
    few, rest = slice(0, 400), slice(400, None)
    model.partial_fit(rows[few], y[few], sensitive_features=s[few])
    with (
        nullcontext()
        if mixed
        else pytest.warns(
            ShiftedBinsWarning, match=r"settled on the first chunk.*has \d\d% of all rows"
        )
    ):
        model.partial_fit(rows[rest], y[rest], sensitive_features=s[rest])


def test_a_chunk_without_rows_adds_nothing():
    model, sensitive = model_of("linear")
    stream(model, sensitive, [np.arange(N)])
    coefficients = model.coef_.copy()
    nobody = np.arange(0)
    stream(model, sensitive, [nobody])
    np.testing.assert_array_equal(model.coef_, coefficients)
    assert model.stream_.n_chunks == 2
    with pytest.raises(ValueError, match="There are no rows"):
        stream(clone(model), sensitive, [nobody])


def test_bins_of_the_first_chunk_say_so():
    model = FairRegressor(kernel="linear", y_bins=1)
    model.partial_fit(X[:30], Y[:30], sensitive_features=np.arange(30) % 2)
    with pytest.raises(ValueError, match=r"Chunk 2: .*settled on the first chunk: give s_bins as"):
        model.partial_fit(X[30:60], Y[30:60], sensitive_features=np.full(30, 7))


def test_landmarks_with_other_columns_than_x_are_refused():
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    turned = frame[frame.columns[::-1]][:20]
    model = FairRegressor(landmarks=turned, y_bins=1)
    with pytest.raises(ValueError, match=r"landmarks has the columns .*in the same order"):
        model.fit(frame, Y, sensitive_features=S)
    given = model.set_params(landmarks=frame[:20]).fit(frame, Y, sensitive_features=S)
    assert len(given.X_fit_) <= 20


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"loss": "huber", "kernel": "linear"}, "only the square loss"),
        ({"kernel": "rbf"}, "set n_landmarks"),
        ({"kernel": "precomputed"}, "set n_landmarks"),
    ],
)
def test_models_that_need_all_rows_have_no_partial_fit_and_say_why(options, why):
    model = FairRegressor(**options)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError) as error:
        model.partial_fit(X, Y, sensitive_features=S)
    assert why in str(error.value.__cause__)
    assert not hasattr(FairClassifier("squared", kernel="linear"), "partial_fit")


def test_a_model_of_chunks_looks_at_rows_from_outside_as_one_of_all_rows_does():
    model, sensitive = model_of("linear", epsilon=0.1)
    whole = clone(model).fit(X, Y, sensitive_features=sensitive)
    model = stream(model, sensitive, np.split(np.arange(N), 2))
    found, expected = (one.contrasts_.gaps(one.predict(X), Y, sensitive) for one in (model, whole))
    np.testing.assert_allclose(found, expected, atol=1e-9)
    judge = partial(certificate, X=X, y=Y, sensitive_features=sensitive)
    assert str(judge(model)) == str(judge(whole))


def test_a_warning_that_is_an_error_leaves_the_chunk_unlearned():
    model, sensitive = model_of("linear", epsilon=1e6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InactiveConstraintWarning):
            model.partial_fit(X, Y, sensitive_features=sensitive)
    assert not hasattr(model, "stream_")
