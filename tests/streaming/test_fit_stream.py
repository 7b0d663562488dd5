"""fit_stream: the model of all rows, one chunk in memory at a time, nothing half-fitted."""

import gc
import weakref
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge

from gferm import Bins, FairClassifier, FairRegressor, FairRegressorCV
from gferm.arrays import threads
from gferm.streaming import Chunk, fit_stream, search_stream
from tests.problems import make_problem

N = 120
PROBLEM = make_problem(n=N, d=6, n_groups=2)
X, Y, S = PROBLEM.X, PROBLEM.y, PROBLEM.s
WEIGHT = np.random.default_rng(1).integers(0, 3, N).astype(float)
BINS = {"y_bins": [-np.inf, 1.0, np.inf], "s_bins": Bins.categories([0, 1])}
MODELS = {
    "linear": FairRegressor(kernel="linear", **BINS),
    "landmarks": FairRegressor(gamma=0.2, landmarks=X[:15], epsilon=0.1, **BINS),
    "plain": FairRegressor(kernel="linear", epsilon=None, **BINS),
}


def chunks(size=30, weight=None, s=S):
    for start in range(0, N, size):
        rows = slice(start, start + size)
        share = None if weight is None else weight[rows]
        yield Chunk(X[rows], Y[rows], None if s is None else s[rows], share)


class Source(list):
    """Chunks that know their rows beforehand, as ParquetSource does."""

    def __init__(self, size=30, weight=None, y=Y, rows=X):
        super().__init__(chunks(size, weight))
        self.whole, self.rows = Chunk(None, y, {"sensitive": S}, weight), rows

    def outline(self):
        return self.whole

    def take(self, rows):
        return self.rows[rows]


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weights"])
@pytest.mark.parametrize("size", [1, 17, 60, N])
@pytest.mark.parametrize("name", MODELS)
def test_chunks_of_any_size_give_the_model_of_all_rows(name, size, weight):
    expected = clone(MODELS[name]).fit(X, Y, sensitive_features=S, sample_weight=weight)
    model = clone(MODELS[name])
    assert fit_stream(model, chunks(size, weight)) is model
    np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=0, atol=1e-8)
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-9)
    assert model.violation_ == pytest.approx(expected.violation_, abs=1e-9, nan_ok=True)
    assert model.duality_gap_ < 1e-9


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weights"])
@pytest.mark.parametrize("landmarks", [{"kernel": "linear"}, {"n_landmarks": 12, "gamma": 0.2}])
@pytest.mark.parametrize("y_bins", [3, Bins.quantile(3)])
def test_a_source_that_knows_its_rows_settles_bins_and_landmarks_as_fit_does(
    y_bins, landmarks, weight
):
    model = FairRegressor(y_bins=y_bins, random_state=0, **landmarks)
    expected = clone(model).fit(X, Y, sensitive_features=S, sample_weight=weight)
    fit_stream(model, Source(weight=weight))
    assert model.cells_.label_bins == expected.cells_.label_bins
    np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=0, atol=1e-8)


def test_partial_fit_goes_on_where_the_stream_ended():
    *most, last = chunks()
    model = fit_stream(clone(MODELS["linear"]), most)
    model.partial_fit(last.X, last.y, sensitive_features=last.sensitive_features)
    expected = clone(model).fit(X, Y, sensitive_features=S)
    np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=0, atol=1e-8)
    assert model.stream_.n_chunks == 4


def test_a_stream_starts_afresh():
    model = fit_stream(clone(MODELS["linear"]), chunks())
    np.testing.assert_array_equal(fit_stream(model, chunks()).coef_, model.coef_)
    assert model.stream_.n_rows == N


@pytest.mark.parametrize("cores", [1, 2, 4])
@pytest.mark.parametrize("name", MODELS)
def test_no_more_chunks_are_alive_than_cores(name, cores, monkeypatch):
    monkeypatch.setattr(threads, "_allowed_threads", lambda: cores)
    seen = []

    def watched():
        for chunk in chunks(10):
            gc.collect()
            assert sum(one() is not None for one in seen) < cores  # and the one that comes now
            rows = chunk.X.copy()
            seen.append(weakref.ref(rows))
            yield Chunk(rows, chunk.y, chunk.sensitive_features)
            del rows

    model = fit_stream(clone(MODELS[name]), watched())
    gc.collect()
    assert not any(one() is not None for one in seen)
    assert model.stream_.n_chunks == 12


@pytest.mark.parametrize("name", MODELS)
def test_the_model_is_the_same_on_any_number_of_cores(name, monkeypatch):
    models = []
    for cores in (1, 2, 3):
        monkeypatch.setattr(threads, "_allowed_threads", lambda cores=cores: cores)
        models.append(fit_stream(clone(MODELS[name]), chunks(10)))
    for model in models[1:]:
        np.testing.assert_allclose(model.predict(X), models[0].predict(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("cores", [1, 2, 3])
def test_of_several_chunks_that_cannot_be_used_the_first_is_named(cores, monkeypatch):
    monkeypatch.setattr(threads, "_allowed_threads", lambda: cores)
    spoiled = list(chunks(10))
    for number in (4, 5, 9):
        broken = spoiled[number - 1].X.copy()
        broken[0, 0] = np.nan
        spoiled[number - 1] = replace(spoiled[number - 1], X=broken)
    with pytest.raises(ValueError, match=r"^Chunk 4: .*NaN"):
        fit_stream(clone(MODELS["linear"]), spoiled)


@pytest.mark.parametrize("idle", ["first", "middle", "last"])
def test_chunks_of_weight_zero_add_nothing(idle):
    weight = np.ones(N)
    weight[{"first": slice(30), "middle": slice(30, 60), "last": slice(90, N)}[idle]] = 0.0
    expected = clone(MODELS["linear"]).fit(X, Y, sensitive_features=S, sample_weight=weight)
    model = fit_stream(clone(MODELS["linear"]), chunks(30, weight))
    np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=0, atol=1e-8)


@pytest.mark.parametrize("given", [[], iter(()), chunks(30, np.zeros(N))])
def test_without_rows_there_is_nothing_to_learn(given):
    with pytest.raises(ValueError, match="there are no rows to learn from"):
        fit_stream(clone(MODELS["linear"]), given)


def test_an_error_names_its_chunk_and_leaves_the_model_as_it_was():
    model = fit_stream(clone(MODELS["linear"]), chunks())
    before = dict(vars(model))
    bad = list(chunks())
    bad[2] = Chunk(bad[2].X, bad[2].y, np.full(30, 7))
    with pytest.raises(ValueError, match=r"Chunk 3: .* 30 of 30 values in none of the s_bins"):
        fit_stream(model, bad)
    assert vars(model) == before


def test_an_error_of_the_source_itself_comes_through():
    def broken():
        yield next(chunks())
        raise OSError("the disk is gone")

    model = clone(MODELS["linear"])
    with pytest.raises(OSError, match="the disk is gone"):
        fit_stream(model, broken())
    assert not [name for name in vars(model) if name.endswith("_")]


def test_a_single_group_in_all_chunks_is_an_error():
    with pytest.raises(ValueError, match="a single group with rows"):
        fit_stream(clone(MODELS["linear"]), chunks(s=np.zeros(N, dtype=int)))


def test_a_constraint_without_attributes_is_an_error():
    with pytest.raises(ValueError, match="Chunk 1: sensitive_features is missing"):
        fit_stream(clone(MODELS["linear"]), chunks(s=None))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.where(np.arange(N) == 40, np.nan, Y), "y has 1 values that are missing .* in row 40"),
        (np.array(["low"] * N), "y has labels that are not numbers"),
    ],
)
def test_labels_that_make_no_bins_are_refused_before_the_rows_are_read(labels, message):
    with pytest.raises(ValueError, match=message):
        fit_stream(FairRegressor(kernel="linear", y_bins=3), Source(y=labels))


@pytest.mark.parametrize("landmarks", ["leverage", "kmeans"])
def test_landmarks_that_look_at_all_rows_are_refused(landmarks):
    model = FairRegressor(n_landmarks=5, landmarks=landmarks)
    with pytest.raises(ValueError, match="looks at all rows at once; use 'uniform'"):
        fit_stream(model, Source())


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (FairRegressor(), AttributeError, "set n_landmarks"),
        (FairRegressor("huber", kernel="linear"), AttributeError, "only the square loss"),
        (FairRegressor(kernel="linear", alpha=-1.0), ValueError, "'alpha' parameter"),
        (FairClassifier("squared", kernel="linear"), TypeError, "FairClassifier cannot be fitted"),
        (Ridge(), TypeError, "Ridge cannot be fitted on a stream"),
    ],
)
def test_other_models_are_refused_before_anything_is_read(model, error, message):
    def untouched():
        pytest.fail("it was read")
        yield

    with pytest.raises(error, match=message):
        fit_stream(model, untouched())


@pytest.mark.parametrize("source", [list(chunks()), chunks(10)], ids=["sized", "generator"])
def test_progress_is_shown_on_stderr_if_asked_for(source, capsys):
    fit_stream(clone(MODELS["linear"]), source, verbose=1)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "Reading chunks" in shown.err
    assert ("4/4" if isinstance(source, list) else "1") in shown.err


def test_nothing_is_shown_by_default(capsys):
    fit_stream(clone(MODELS["linear"]), list(chunks()))
    assert capsys.readouterr() == ("", "")


FRAME = pd.DataFrame({"a": [1.0, 2.0]})


@pytest.mark.parametrize(
    ("chunks", "what"),
    [
        (FRAME, "gives a str"),
        (np.zeros((4, 2)), "gives a ndarray"),
        ([(X, Y, S)], "gives a tuple"),
        ("people/", "is a str"),
        (Chunk(X, Y, S), "is a Chunk"),
        (None, "is a NoneType"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_source_of_chunks_is_named_with_those_that_are(chunks, what):
    with pytest.raises(TypeError, match=f"chunks {what}; give an iterable of Chunk"):
        fit_stream(clone(MODELS["linear"]), chunks)
    with pytest.raises(TypeError, match=f"chunks {what}; give an iterable of Chunk"):
        search_stream(FairRegressorCV(kernel="linear", y_bins=1, cv=2), chunks)


def test_a_place_is_named_in_errors():
    spoiled = [replace(chunk, place=f"night {k}") for k, chunk in enumerate(chunks(40))]
    spoiled[2] = replace(spoiled[2], y=np.full(len(spoiled[2].y), np.nan))
    with pytest.raises(ValueError, match=r"^Chunk 3 \(night 2\): Input y contains NaN"):
        fit_stream(clone(MODELS["linear"]), spoiled)


@pytest.mark.parametrize("size", [1, 40])
@pytest.mark.parametrize("off", [1e4, 1e6])
def test_a_first_row_unlike_all_others_costs_no_digits(size, off):
    rows = X.copy()
    rows[0] -= off
    model = FairRegressor(kernel="linear", y_bins=1, s_bins=Bins.categories([0, 1]))
    expected = clone(model).fit(rows, Y, sensitive_features=S)
    parts = (Chunk(rows[i : i + size], Y[i : i + size], S[i : i + size]) for i in range(0, N, size))
    found = fit_stream(clone(model), parts)
    tolerance = 3e-16 * off**2  # what rounding makes of such rows
    np.testing.assert_allclose(found.predict(X), expected.predict(X), rtol=0, atol=tolerance)


def test_chunks_of_torch_teach_the_same():
    torch = pytest.importorskip("torch", reason="torch is not installed (make test-torch)")
    chunks_of_torch = [
        replace(chunk, X=torch.tensor(chunk.X), y=torch.tensor(chunk.y)) for chunk in chunks(40)
    ]
    for name in ("linear", "landmarks"):
        found = fit_stream(clone(MODELS[name]), chunks_of_torch)
        expected = fit_stream(clone(MODELS[name]), chunks(40))
        np.testing.assert_array_equal(found.predict(X), expected.predict(X))
    search = FairRegressorCV(kernel="linear", alphas=[0.1, 1.0], cv=2, **BINS)
    found = search_stream(clone(search), chunks_of_torch)
    expected = search_stream(clone(search), chunks(40))
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))
