"""What a user may do wrong: the error names the argument and the remedy, and changes nothing."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.linalg import LinAlgWarning
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from gferm import Bins, FairClassifier, FairRegressor, FairRegressorCV
from gferm.exceptions import ConstantModelWarning, UnreachableEpsilonError

FIT = ("X", "y", "sensitive_features", "sample_weight")
N = 70


def with_first(array, value):
    array = np.array(array, dtype=object if value is None else float)
    array.flat[0] = value
    return array


def frame(X, **columns):
    return pd.DataFrame(X, columns=list("abcde")).assign(**columns)


def fixed(**arguments):
    return lambda p: arguments


GRAM = np.eye(N)
UPPER = GRAM + np.triu(np.full((N, N), 0.01), 1)
WORDS = np.array(["x", "y"] * (N // 2))
DATES = pd.date_range("2020-01-01", periods=N)
MISSING = r"sensitive_features \(sensitive\) has 1 missing or infinite values.*drop or impute"
RANGE = r"must be a float in the range \[0.0, inf\)"

# what the user did, the arguments that say so, the error, its message
CASES = [
    ("no s", fixed(sensitive_features=None), ValueError, "sensitive_features is.*epsilon=None"),
    ("s too short", lambda p: {"sensitive_features": p.s[1:]}, ValueError,
     r"sensitive_features \(sensitive\) has 69 rows.*one row per sample"),
    ("s too long", lambda p: {"sensitive_features": [*p.s, 1]}, ValueError,
     r"sensitive_features \(sensitive\) has 71 rows.*one row per sample"),
    ("NaN in s", lambda p: {"sensitive_features": with_first(p.s, np.nan)}, ValueError, MISSING),
    ("None in s", lambda p: {"sensitive_features": with_first(p.s, None)}, ValueError, MISSING),
    ("inf in s", lambda p: {"sensitive_features": with_first(p.s, np.inf)}, ValueError, MISSING),
    ("another index",
     lambda p: {"X": frame(p.X), "sensitive_features": pd.Series(p.s, index=range(N, 0, -1))},
     ValueError, r"sensitive_features and X.* have different indexes.*\.loc\[X\.index\]"),
    ("NaN in X", lambda p: {"X": with_first(p.X, np.nan)}, ValueError, "X contains NaN.*imputer"),
    ("inf in X", lambda p: {"X": with_first(p.X, np.inf)}, ValueError, "X contains infinity"),
    ("NaN in y", lambda p: {"y": with_first(p.y, np.nan)}, ValueError, "y contains NaN"),
    ("inf in y", lambda p: {"y": with_first(p.y, np.inf)}, ValueError, "y contains infinity"),
    ("epsilon < 0", fixed(epsilon=-0.1), ValueError, f"'epsilon'.*{RANGE} or None"),
    ("epsilon NaN", fixed(epsilon=np.nan), ValueError, f"'epsilon'.*{RANGE} or None"),
    ("epsilon infinite", fixed(epsilon=np.inf), ValueError, f"'epsilon'.*{RANGE} or None"),
    ("alpha < 0", fixed(alpha=-1.0), ValueError, f"'alpha'.*{RANGE}"),
    ("alpha NaN", fixed(alpha=np.nan), ValueError, f"'alpha'.*{RANGE}"),
    ("y_bins not increasing", fixed(y_bins=[-9, 2, 2, 9]), ValueError,
     "y_bins.*increasing.*sort them and remove duplicates"),
    ("s_bins not increasing", fixed(s_bins=[2, 1, 0]), ValueError,
     "s_bins.*increasing.*sort them and remove duplicates"),
    ("no y_bins", fixed(y_bins=0), ValueError, r"'y_bins'.*int in the range \[1, inf\)"),
    ("s_bins misspelt", fixed(s_bins="quantile"), ValueError, "s_bins='quantile'.*use a number"),
    ("y outside its edges", fixed(y_bins=[0.0, 1.0]), ValueError,
     r"y has \d+ of 70 values in none of the y_bins.*widen the outer edges"),
    ("s outside its edges", fixed(s_bins=[0.5, 1.5]), ValueError,
     r"sensitive_features \(sensitive\) has \d+ of 70 values in none of the s_bins.*widen"),
    ("unknown category", fixed(sensitive_features=WORDS, s_bins=Bins.categories(["x", "z"])),
     ValueError, r"sensitive_features.*in none of the s_bins.*y in row 1.*name the missing"),
    ("one group", fixed(sensitive_features=np.ones(N)), ValueError,
     r"sensitive_features \(sensitive\) has a single group.*Check the column.*epsilon=None"),
    ("an identifier for s", fixed(sensitive_features=[f"id {i}" for i in range(N)]), ValueError,
     r"sensitive_features.*70 different values.*Bins\.categories"),
    ("a label bin without rows", fixed(y_bins=[-200, -100, 0, 100]), ValueError,
     r"y_bins has bins without any row: \['\[-200, -100\)'\].*Merge each with a neighbour"),
    ("s is a function of the label bin",
     lambda p: {"sensitive_features": p.y > 0, "y_bins": [-np.inf, 0, np.inf]}, ValueError,
     "sensitive_features and y leave no pair of cells.*fewer y_bins"),
    ("cells too small", fixed(min_cell_size=60), ValueError,
     "no pair of cells.*min_cell_size=60.*smaller min_cell_size"),
    ("constant y", fixed(y=np.full(N, 3.0)), ValueError,
     "y is constant.*give the bins by their edges"),
    ("one row", lambda p: {"X": p.X[:1], "y": p.y[:1], "sensitive_features": [0]}, ValueError,
     "1 sample.*minimum of 2 is required"),
    ("asymmetric kernel", fixed(X=UPPER, kernel="precomputed"), ValueError,
     r"kernel matrix is not symmetric.*\(K \+ K\.T\) / 2"),
    ("indefinite kernel", fixed(X=GRAM - 0.5, kernel="precomputed", fit_intercept=False),
     ValueError, "kernel='precomputed' is not positive semi-definite.*matrix passed as X"),
    ("kernel not square", fixed(X=GRAM[:, 1:], kernel="precomputed"), ValueError,
     r"kernel='precomputed' needs a square X.*got \(70, 69\); pass the kernel between all"),
    ("words in X", lambda p: {"X": frame(p.X, b=WORDS, d=WORDS)}, ValueError,
     r"X has columns that are not numbers: \['b', 'd'\].*OneHotEncoder"),
    ("words in polars", lambda p: {"X": pl.from_pandas(frame(p.X, e=WORDS))}, ValueError,
     r"X has columns that are not numbers: \['e'\].*OneHotEncoder"),
    ("dates in X", lambda p: {"X": frame(p.X, c=DATES)}, ValueError,
     r"X has columns that are not numbers: \['c'\]"),
    ("NaN from a kernel", fixed(kernel=lambda a, b: np.nan), ValueError,
     "kernel=.*not finite.*check the kernel"),
    ("negative counts", fixed(kernel="chi2"), ValueError,
     "Negative values.*X: kernel='chi2'.*use another"),
    ("more contrasts than rows",
     lambda p: {"X": p.X[:12], "y": p.y[:12], "y_bins": 1, "intersectional": False,
                "sensitive_features": np.c_[np.arange(12) % 9, np.arange(12) % 8]},
     ValueError, "15 contrasts for only 12 samples.*fewer y_bins or s_bins"),
    ("unknown kernel", fixed(kernel="gauss"), ValueError, "'kernel'.*among.*'rbf'"),
    ("unknown match", fixed(match="rates"), ValueError, "'match'.*among.*'residual'"),
    ("unknown scale", fixed(epsilon_scale="max"), ValueError, "'epsilon_scale'.*among.*'mean'"),
    ("unknown solver", fixed(solver="qp"), ValueError, "'solver'.*among.*'spectrum'"),
    ("weights all zero", fixed(sample_weight=np.zeros(N)), ValueError,
     "(?i)sample.weights? .*(at least one|non-zero)"),
    ("a negative weight", fixed(sample_weight=-np.ones(N)), ValueError, "Negative.*sample_weight"),
    ("too few weights", fixed(sample_weight=np.ones(9)), ValueError, r"sample_weight.*\(70,\)"),
    ("residuals beyond a line",
     lambda p: {"X": p.X[:, :1], "kernel": "linear", "match": "residual"},
     UnreachableEpsilonError, "epsilon=0 cannot be met.*larger epsilon.*richer kernel"),
    ("no room for Cholesky", fixed(X=np.zeros((N, 2)), alpha=0.0, solver="cholesky"), ValueError,
     "alpha=0 is too small.*solver='spectrum' or a larger alpha"),
]  # fmt: skip


@pytest.fixture(params=CASES, ids=[case[0] for case in CASES])
def mistake(request, problem):
    """Constructor arguments, fit arguments, the error and its message."""
    _, arguments, error, message = request.param
    given = {"X": problem.X, "y": problem.y, "sensitive_features": problem.s, "y_bins": 3}
    given |= arguments(problem)
    called = {name: given.pop(name) for name in FIT if name in given}
    return given, called, error, f"(?s){message}"


def test_a_mistake_is_named_with_its_remedy_and_leaves_the_estimator_unfitted(mistake):
    options, called, error, message = mistake
    model = FairRegressor(**options)
    before = dict(vars(model))
    with pytest.raises(error, match=message):
        model.fit(**called)
    assert vars(model) == before
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


def test_a_mistake_leaves_a_fitted_model_as_it_was(mistake, problem):
    options, called, error, _ = mistake
    model = FairRegressor(y_bins=2).fit(problem.X, problem.y, sensitive_features=problem.s)
    arguments, before = model.get_params(), dict(vars(model))
    expected = model.predict(problem.X_new)
    with pytest.raises(error):
        model.set_params(**options).fit(**called)
    model.set_params(**arguments)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
    np.testing.assert_array_equal(model.predict(problem.X_new), expected)


def test_predict_before_fit_says_to_call_fit(problem):
    with pytest.raises(NotFittedError, match="Call 'fit'"):
        FairRegressor().predict(problem.X)


@pytest.mark.parametrize(
    ("kernel", "X", "message"),
    [
        ("precomputed", np.zeros((3, 9)), "X has 9 features, but FairRegressor is expecting 70"),
        ("rbf", np.zeros((3, 9)), "X has 9 features, but FairRegressor is expecting 5"),
        ("rbf", np.full((3, 5), np.nan), "(?s)X contains NaN.*imputer"),
    ],
)
def test_predict_refuses_other_columns_and_nan(kernel, X, message, problem):
    rows = problem.X @ problem.X.T if kernel == "precomputed" else problem.X
    model = FairRegressor(kernel=kernel, epsilon=None).fit(rows, problem.y)
    with pytest.raises(ValueError, match=message):
        model.predict(X)


def test_alpha_zero_on_a_singular_linear_kernel_is_the_smallest_least_squares_fit(problem):
    twice = np.hstack([problem.X, problem.X])
    model = FairRegressor(kernel="linear", alpha=0.0, epsilon=None).fit(twice, problem.y)
    centred = twice - twice.mean(axis=0)
    expected = np.linalg.lstsq(centred, problem.y - problem.y.mean(), rcond=1e-10)[0]
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-8)
    assert model.solver_.factorization == "spectrum"


@pytest.mark.parametrize("copies", [1, 2])
@pytest.mark.parametrize("solver", ["auto", "spectrum"])
def test_alpha_zero_interpolates_without_a_warning_even_repeated_rows(copies, solver, problem):
    X, y = np.tile(problem.X, (copies, 1)), np.tile(problem.y, copies)
    model = FairRegressor(alpha=0.0, gamma=2.0, epsilon=None, solver=solver).fit(X, y)
    np.testing.assert_allclose(model.predict(problem.X), problem.y, atol=1e-6)


@pytest.mark.parametrize("epsilon", [None, 0.0, 0.1])
def test_a_cholesky_that_breaks_down_says_so_and_the_spectrum_takes_over(epsilon, problem):
    twice = np.hstack([problem.X, problem.X])
    options = {"kernel": "linear", "alpha": 1e-18, "epsilon": epsilon, "y_bins": 2}
    data = {"X": twice, "y": problem.y, "sensitive_features": problem.s}
    with pytest.warns(LinAlgWarning, match=r"alpha=1e-18 is too small.*A larger alpha"):
        model = FairRegressor(**options).fit(**data)
    expected = FairRegressor(**options, solver="spectrum").fit(**data)
    np.testing.assert_allclose(model.predict(twice), expected.predict(twice), rtol=1e-9)
    with pytest.raises(ValueError, match=r"alpha=1e-18.*solver='spectrum' or a larger alpha"):
        FairRegressor(**options, solver="cholesky").fit(**data)


def test_a_constraint_that_leaves_only_the_constant_says_so(problem):
    model = FairRegressor(kernel="linear", y_bins=4)
    with pytest.warns(ConstantModelWarning, match="use up every degree of freedom.*richer kernel"):
        model.fit(problem.X[:, :2], problem.y, sensitive_features=problem.s)
    np.testing.assert_allclose(model.predict(problem.X_new[:, :2]), problem.y.mean(), atol=1e-9)


def test_the_smallest_reachable_epsilon_is_the_same_however_it_is_asked(problem):
    smallest = []
    for epsilon in (0.0, 1e-3):
        model = FairRegressor(kernel="linear", y_bins=4, match="residual", epsilon=epsilon)
        with pytest.raises(UnreachableEpsilonError) as error:
            model.fit(problem.X[:, :2], problem.y, sensitive_features=problem.s)
        smallest.append(float(re.search(r"smallest that can is ([\d.]+\d)", str(error.value))[1]))
    assert smallest[0] == pytest.approx(smallest[1], rel=1e-5)
    model.set_params(epsilon=1.001 * smallest[0])
    model.fit(problem.X[:, :2], problem.y, sensitive_features=problem.s)
    assert model.violation_ == pytest.approx(model.epsilon)


@pytest.mark.parametrize("seed", range(6, 12))
def test_rank_deficient_residual_problems_end_in_a_model_or_in_the_smallest_epsilon(seed):
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((30, 1)))
    s = rng.integers(0, 5, 30)
    y = np.round(rng.standard_normal(30) + s)
    model = FairRegressor(kernel="poly", alpha=0.01, match="residual", epsilon=0.02, y_bins=3)
    with pytest.raises(UnreachableEpsilonError, match="the smallest that can is"):
        model.fit(X, y, sensitive_features=s)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FairRegressor(alhpa=1), r"FairRegressor\(\) has no parameter 'alhpa'.*alpha\?"),
        (lambda: FairClassifier(y_bin=1), r"FairClassifier\(\) has no parameter.*y_bins\?"),
        (lambda: FairRegressorCV(gamma=1.0), r"FairRegressorCV\(\).*'gamma'; did you mean gammas"),
    ],
)
def test_a_parameter_that_is_none_is_refused_in_the_name_of_the_class(make, message):
    with pytest.raises(TypeError, match=message):
        make()


def test_a_subclass_may_name_what_it_adds_and_pass_on_the_rest():
    class Mine(FairRegressor):
        def __init__(self, extra=1, **parameters):
            super().__init__(**parameters)
            self.extra = extra

    model = clone(Mine(extra=2, alpha=3.0))
    assert (model.extra, model.alpha) == (2, 3.0)
    assert {*FairRegressor().get_params(), "extra"} == {*model.get_params()}


def test_a_linear_model_that_was_fitted_on_a_gpu_predicts_without_one(problem):
    model = FairRegressor(kernel="linear", y_bins=2)
    model.fit(problem.X, problem.y, sensitive_features=problem.s)
    expected = model.predict(problem.X)
    np.testing.assert_array_equal(model.set_params(device="cuda").predict(problem.X), expected)


def test_gaps_of_rows_want_the_attributes_by_name_and_every_row_in_a_bin(problem):
    X, y = problem.X, problem.y
    s = {"a": problem.s, "b": X[:, 0] > 0}
    model = FairRegressor(kernel="linear", y_bins=2, epsilon=None, intersectional=False)
    model.fit(X, y, sensitive_features=s)
    f, gaps = model.predict(X), model.contrasts_.gaps
    expected = gaps(f, y, s)
    np.testing.assert_array_equal(gaps(f, y, {"b": s["b"], "a": s["a"]}), expected)
    with pytest.raises(ValueError, match="pass the same ones"):
        gaps(f, y, {"foo": s["a"], "bar": s["b"]})
    with pytest.raises(ValueError, match="in none of the y_bins"):
        gaps(f, np.where(y > 0, 99.0, y), s)
    with pytest.raises(ValueError, match="in none of the s_bins"):
        gaps(f, y, {**s, "a": np.full(y.size, 9)})
    with pytest.raises(ValueError, match="one number and one label for each row"):
        gaps(f[1:], y, s)
    with pytest.raises(ValueError, match="Negative values"):
        gaps(f, y, s, -np.ones(y.size))
