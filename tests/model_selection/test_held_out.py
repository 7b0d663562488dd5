"""Held-out predictions are those of refitting: every fold, every setting, every kernel."""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    check_cv,
)

from gferm import FairClassifier, FairRegressor, FairRegressorCV
from gferm.estimators.base import model_values
from gferm.exceptions import (
    ConstantModelWarning,
    InactiveConstraintWarning,
    NothingToCompareError,
    SkippedComparisonWarning,
    UnreachableEpsilonError,
)
from gferm.fairness.bins import as_bins
from gferm.losses import LOSSES
from gferm.model_selection.held_out import HeldOut
from gferm.model_selection.rows import read_search_rows
from gferm.solver.crossval import Grid, HeldOutKernel
from tests.problems import make_problem

ALPHAS, EPSILONS = (1.0, 0.01, 100.0), (0.0, 0.1, None)
EXPECTED = (ConstantModelWarning, InactiveConstraintWarning, SkippedComparisonWarning)


@dataclass
class Rows:
    """What a search is given."""

    X: Any
    y: np.ndarray
    s: Any
    weight: np.ndarray | None = None
    groups: np.ndarray | None = None

    def take(self, rows, kernel):
        X = self.X[np.ix_(rows, rows)] if kernel == "precomputed" else self.X[rows]
        weight = None if self.weight is None else self.weight[rows]
        return X, self.y[rows], {"sensitive_features": self.s[rows], "sample_weight": weight}

    def new(self, rows, train, kernel):
        return self.X[np.ix_(rows, train)] if kernel == "precomputed" else self.X[rows]


@dataclass
class Search:
    """The held-out predictions of a grid, and what they are compared with."""

    model: Any
    rows: Rows
    cv: Any
    alphas: tuple = ALPHAS
    epsilons: tuple = EPSILONS
    refit: dict = field(default_factory=dict)  # parameters of the refits only

    def __post_init__(self):
        rows = self.rows
        splits = check_cv(self.cv, rows.y).split(rows.X, rows.y, rows.groups)
        self.splits = [(np.asarray(train), np.asarray(test)) for train, test in splits]
        self.read = read_search_rows(
            [self.model],
            rows.X,
            rows.y,
            sensitive_features=rows.s,
            sample_weight=rows.weight,
            groups=rows.groups,
            cv=self.cv,
        )
        own = self.read.of_models[0]
        self.held_out = HeldOut(self.model, own.features(self.model), own.rows.y)
        grid = Grid(np.array(self.alphas, dtype=float), tuple(self.epsilons))
        self.found = self.held_out.predict(self.read.folds, grid)

    def settings(self):
        for a, alpha in enumerate(self.alphas):
            for e, epsilon in enumerate(self.epsilons):
                yield a, e, {"alpha": alpha, "epsilon": epsilon}

    def fitted(self, k, setting):
        """A model of the training part of a fold; None if there is none.

        Bins are those of all rows, which is what a search compares.
        """
        model = clone(self.model).set_params(**setting, **self.refit)
        if self.read.members is not None:
            model.set_params(y_bins=self.read.members.scheme.label_bins)
        X, y, options = self.rows.take(self.splits[k][0], model.kernel)
        try:
            with warnings.catch_warnings():
                for expected in EXPECTED:
                    warnings.simplefilter("ignore", expected)
                return model.fit(X, y, **options)
        except (NothingToCompareError, UnreachableEpsilonError):
            return None

    def refitted(self, k, setting):
        """What that model predicts for the test part, one row for each class or number."""
        train, test = self.splits[k]
        if self.rows.weight is not None:
            test = test[self.rows.weight[test] > 0]
        model = self.fitted(k, setting)
        if model is None:
            return None
        return model_values(model, self.rows.new(test, train, model.kernel))

    def some_folds(self):
        """The first and the last: a refit takes longer than all the rest."""
        return sorted({0, len(self.splits) - 1})

    def assert_refits(self, tolerance=1e-8):
        """Beside the spread of y, or what the fold predicts where that is more."""
        assert len(self.found) == len(self.splits)
        for k in self.some_folds():
            values = self.found[k]
            assert values.shape[:2] == (len(self.alphas), len(self.epsilons))
            for a, e, setting in self.settings():
                expected = self.refitted(k, setting)
                if expected is None:
                    assert np.isnan(values[a, e]).all(), (k, setting)
                    continue
                spread = max(np.ptp(self.held_out.targets), np.abs(expected).max())
                np.testing.assert_allclose(
                    values[a, e],
                    expected,
                    rtol=0,
                    atol=tolerance * spread,
                    err_msg=f"fold {k}, {setting}",
                )


def rows_of(n=40, d=3, n_groups=2, seed=0, weights=None, kind="dense"):
    problem = make_problem(n=n, d=d, n_groups=n_groups, seed=seed)
    rng = np.random.default_rng(seed)
    X = problem.X
    if kind == "positive":
        X = np.abs(X)
    elif kind == "sparse":
        X = sparse.csr_array(X * (rng.random(X.shape) < 0.6))
    elif kind == "float32":
        X = X.astype(np.float32)
    elif kind == "kernel":
        X = rbf_kernel(X, gamma=0.2)
    weight = None
    if weights is not None:
        weight = rng.uniform(0.2, 3.0, n)
        weight[rng.permutation(n)[: n // 8]] *= weights == "positive"
    return Rows(X, problem.y, problem.s, weight)


def cauchy(x, z, width):
    return 1.0 / (1.0 + np.sum((x - z) ** 2) / width)


KERNELS = {
    "rbf": ({"gamma": 0.3}, "dense"),
    "smooth rbf": ({"kernel": "rbf", "gamma": 0.01}, "dense"),
    "narrow rbf": ({"kernel": "rbf", "gamma": 30.0}, "dense"),
    "sparse rbf": ({"kernel": "rbf", "gamma": 0.3}, "sparse"),
    "default rbf": ({"kernel": "rbf"}, "dense"),
    "linear": ({}, "dense"),
    "wide linear": ({"kernel": "linear"}, "dense"),
    "sparse linear": ({"kernel": "linear"}, "sparse"),
    "sparse wide linear": ({"kernel": "linear"}, "sparse"),
    "float32 linear": ({"kernel": "linear"}, "float32"),
    "poly": ({"gamma": 0.2, "degree": 2}, "dense"),
    "laplacian": ({"gamma": 0.3}, "dense"),
    "cosine": ({}, "dense"),
    "chi2": ({"gamma": 0.3}, "positive"),
    "additive_chi2": ({}, "positive"),
    "precomputed": ({}, "kernel"),
    "callable": ({"kernel": cauchy, "kernel_params": {"width": 2.0}}, "dense"),
}


def n_features(kernel, n):
    return 2 * n if "wide" in kernel else 3


def search_for(kernel, cv, n=40, seed=0, n_groups=2, weights=None, **options):
    """A search with a kernel of `KERNELS` and options of the model, or of the search."""
    params, kind = KERNELS[kernel]
    of_search = {
        name: options.pop(name) for name in ("alphas", "epsilons", "refit") if name in options
    }
    if weights == "some zero" and (cv in ("LeaveOneOut", "lopsided") or n < 20):
        weights = "positive"  # a part of few rows must count
    rows = rows_of(n, n_features(kernel, n), n_groups, seed, weights, kind)
    model = FairRegressor(**{"kernel": kernel, "y_bins": 2} | params | options)
    if cv in SPLITTERS:
        rows.groups = np.arange(n) % 7 if cv == "GroupKFold" else None
        cv = SPLITTERS[cv](n, np.random.default_rng(seed))
    return Search(model, rows, cv, **of_search)


def bootstrap(n, rng):
    """Training rows again and again; the others, and some of the same, are predicted."""
    drawn = [rng.integers(0, n, n) for _ in range(3)]
    return [(train, np.r_[np.setdiff1d(np.arange(n), train), train[:2]]) for train in drawn]


def leaky(n, rng):
    """All rows in training, and some of them in the test part."""
    return [(np.arange(n), np.arange(5)), (np.arange(3, n), np.arange(6))]


def shuffled(n, rng):
    """Rows in no order, and some in neither part."""
    orders = [rng.permutation(n) for _ in range(3)]
    return [(order[: 3 * n // 4], order[4 * n // 5 :]) for order in orders]


def lopsided(n, rng):
    """A large part, a small one and one with a single row to predict."""
    return [
        (np.arange(n // 4, n), np.arange(n // 4)),
        (np.arange(0, n, 3), np.arange(1, n, 3)),
        (np.arange(n - 1), np.array([n - 1])),
    ]


SPLITTERS = {
    "KFold": lambda n, rng: KFold(5, shuffle=True, random_state=0),
    "halves": lambda n, rng: KFold(2, shuffle=True, random_state=0),
    "ShuffleSplit": lambda n, rng: ShuffleSplit(3, test_size=0.2, random_state=0),
    "small ShuffleSplit": lambda n, rng: ShuffleSplit(
        3, train_size=0.3, test_size=0.2, random_state=0
    ),
    "TimeSeriesSplit": lambda n, rng: TimeSeriesSplit(3),
    "RepeatedKFold": lambda n, rng: RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
    "LeaveOneOut": lambda n, rng: LeaveOneOut(),
    "GroupKFold": lambda n, rng: GroupKFold(3),
    "PredefinedSplit": lambda n, rng: PredefinedSplit(np.arange(n) % 4 - 1),
    "bootstrap": bootstrap,
    "leaky": leaky,
    "shuffled": shuffled,
    "lopsided": lopsided,
}
ROADS = ["rbf", "linear", "wide linear"]  # hat matrix, moments, hat matrix of low rank


@pytest.mark.parametrize("cv", ["KFold", "small ShuffleSplit"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel(kernel, fit_intercept, cv):
    if kernel == "additive_chi2" and not fit_intercept:
        pytest.skip("this kernel is positive semi-definite only when it is centred")
    search_for(kernel, cv, fit_intercept=fit_intercept, alphas=(0.1,)).assert_refits()


@pytest.mark.parametrize("weights", [None, "some zero"])
@pytest.mark.parametrize("cv", SPLITTERS)
@pytest.mark.parametrize("kernel", ROADS)
def test_every_way_to_split(kernel, cv, weights):
    search_for(kernel, cv, weights=weights, alphas=(0.1,)).assert_refits()


VARIANTS = {
    "residuals": {"match": "residual"},
    "the paper's sum": {"epsilon_scale": "sum", "epsilons": (0.0, 0.5, 0.05, None)},
    "three groups": {"n_groups": 3},
    "four groups and a sum": {"n_groups": 4, "epsilon_scale": "sum"},
    "parity": {"y_bins": 1},
    "many bins, some empty": {"y_bins": 8},
    "small cells are left out": {"min_cell_size": 5, "n_groups": 3, "y_bins": 3},
    "residuals without an intercept": {"match": "residual", "fit_intercept": False},
    "nothing but fairness": {"epsilons": (0.0,)},
    "no constraint": {"epsilons": (None,)},
    "a bound that nobody reaches": {"epsilons": (1e6, 1e3)},
    "many epsilons": {"epsilons": tuple(0.02 * k for k in range(12)), "alphas": (0.1,)},
    "weak and strong": {"alphas": (1e-3, 1e6, 1e3, 1e9)},
    "one alpha": {"alphas": (0.5,)},
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("kernel", ROADS)
def test_every_option(kernel, variant):
    options = {"n": 50, "alphas": (0.1, 3.0), "weights": "some zero"} | VARIANTS[variant]
    search_for(kernel, "KFold", **options).assert_refits()


some_alphas = st.lists(st.sampled_from([0.01, 0.3, 1.0, 10.0, 1e3]), min_size=1, max_size=2)


@given(
    kernel=st.sampled_from(sorted(KERNELS)),
    cv=st.sampled_from(sorted(SPLITTERS)),
    n=st.integers(10, 80),
    seed=st.integers(0, 1000),
    n_groups=st.integers(2, 3),
    weights=st.sampled_from([None, "positive", "some zero"]),
    y_bins=st.integers(1, 3),
    fit_intercept=st.booleans(),
    match=st.sampled_from(["prediction", "residual"]),
    epsilon_scale=st.sampled_from(["mean", "sum"]),
    min_cell_size=st.sampled_from([1, 3]),
    alphas=some_alphas.map(tuple),
    epsilons=st.sampled_from([(0.0, None), (0.05, 0.3), (0.01, 0.0, None)]),
)
@settings(deadline=None, max_examples=60)
def test_any_search(kernel, cv, fit_intercept, **options):
    fit_intercept = fit_intercept or kernel == "additive_chi2"
    try:
        search = search_for(kernel, cv, fit_intercept=fit_intercept, **options)
    except NothingToCompareError:  # in all rows together: no search
        reject()
    search.assert_refits()


# ---------------------------------------------------------------- sensitive attributes


def attributes(n, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "sex": rng.choice(["f", "m"], n),
        "origin": rng.choice(["a", "b", "c"], n),
        "age": rng.gamma(3.0, 10.0, n),
    }


class Table(dict):
    """Columns of which rows can be taken, as of an array."""

    def __getitem__(self, key):
        if isinstance(key, str):
            return super().__getitem__(key)
        return Table({name: values[key] for name, values in self.items()})


@pytest.mark.parametrize("weights", [None, "positive"])
@pytest.mark.parametrize("intersectional", [True, False])
@pytest.mark.parametrize("kernel", ROADS)
def test_several_attributes(kernel, intersectional, weights):
    n = 60
    rows = rows_of(n, n_features(kernel, n), weights=weights)
    table = attributes(n)
    rows.s = Table({name: table[name] for name in ("sex", "origin")})
    options = {"gamma": 0.3, "y_bins": 2, "intersectional": intersectional}
    model = FairRegressor(kernel=kernel.split()[-1], **options)
    Search(model, rows, KFold(4, shuffle=True, random_state=0)).assert_refits()


@pytest.mark.parametrize("s_bins", ["auto", 3])
@pytest.mark.parametrize("kernel", ROADS)
def test_bins_of_a_number_are_those_of_all_rows(kernel, s_bins):
    n = 60
    rows = rows_of(n, n_features(kernel, n))
    rows.s = attributes(n)["age"]
    model = FairRegressor(kernel=kernel.split()[-1], gamma=0.3, y_bins=2, s_bins=s_bins)
    resolved = as_bins(s_bins, "s_bins").resolve(rows.s, None, "s")
    cv = KFold(4, shuffle=True, random_state=0)
    Search(model, rows, cv, refit={"s_bins": resolved}).assert_refits()


@pytest.mark.parametrize("weights", [None, "positive"])
@pytest.mark.parametrize("match", ["prediction", "residual"])
@pytest.mark.parametrize("kernel", ROADS)
def test_a_continuous_attribute_is_measured_in_the_units_of_all_rows(kernel, match, weights):
    n = 50
    rows = rows_of(n, n_features(kernel, n), weights=weights)
    rows.s = attributes(n)["age"] + 5.0 * rows.y
    options = {"gamma": 0.3, "y_bins": 2, "s_bins": "continuous", "match": match}
    model = FairRegressor(kernel=kernel.split()[-1], **options)
    search = Search(model, rows, KFold(4, shuffle=True, random_state=0), alphas=(0.3,))

    def spread(part):
        share = None if rows.weight is None else rows.weight[part]
        center = np.average(rows.s[part], weights=share)
        return np.sqrt(np.average((rows.s[part] - center) ** 2, weights=share))

    everybody = np.arange(n)
    for k, (train, _) in enumerate(search.splits):
        unit = spread(everybody) / spread(train)  # a refit measures in its own
        for a, e, setting in search.settings():
            epsilon = setting["epsilon"]
            setting["epsilon"] = None if epsilon is None else epsilon * unit
            expected = search.refitted(k, setting)
            np.testing.assert_allclose(
                search.found[k][a, e], expected, rtol=0, atol=1e-8 * np.ptp(rows.y)
            )


@pytest.mark.parametrize("weights", [None, "positive"])
@pytest.mark.parametrize("kernel", ROADS)
def test_who_has_nobody_to_be_compared_with(kernel, weights):
    """One fold holds out all of a group: only the plain model has an answer there."""
    n = 40
    rows = rows_of(n, n_features(kernel, n), weights=weights)
    rows.s = np.repeat([0, 1], [30, 10])
    model = FairRegressor(kernel=kernel.split()[-1], gamma=0.3, y_bins=1)
    search = Search(model, rows, KFold(4))
    assert search.read.folds[3].constraint is None
    for e, epsilon in enumerate(EPSILONS):
        assert np.isnan(search.found[3][:, e]).all() == (epsilon is not None)
    assert all(np.isfinite(values).all() for values in search.found[:3])
    search.assert_refits()


@pytest.mark.parametrize("kernel", ROADS)
def test_without_sensitive_attributes(kernel):
    rows = rows_of(40, n_features(kernel, 40))
    model = FairRegressor(kernel=kernel.split()[-1], gamma=0.3, epsilon=None)
    read = read_search_rows(
        [model], rows.X, rows.y, sensitive_features=None, sample_weight=None, groups=None, cv=4
    )
    grid = Grid(np.array(ALPHAS), (None,))
    own = read.of_models[0]
    found = HeldOut(model, own.features(model), own.rows.y).predict(read.folds, grid)
    for values, fold in zip(found, read.folds, strict=True):
        for value, alpha in zip(values, ALPHAS, strict=True):
            refit = clone(model).set_params(alpha=alpha).fit(rows.X[fold.train], rows.y[fold.train])
            np.testing.assert_allclose(value[0, 0], refit.predict(rows.X[fold.test]), atol=1e-9)


# ---------------------------------------------------------------- digits

SMALL = (0.0, 1e-10, 1e-7, 1e-5)
BY_SPECTRUM = {"solver": "spectrum"}


@pytest.mark.parametrize("cv", ["KFold", "small ShuffleSplit", "bootstrap"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_any_alpha_of_a_linear_model(fit_intercept, cv):
    options = {"n": 60, "fit_intercept": fit_intercept, "alphas": (*SMALL, 1e12)}
    search_for("linear", cv, refit=BY_SPECTRUM, weights="positive", **options).assert_refits()


@pytest.mark.parametrize("cv", ["KFold", "LeaveOneOut", "small ShuffleSplit", "bootstrap"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kernel", ["narrow rbf", "laplacian", "wide linear"])
def test_any_alpha_of_a_kernel_whose_eigenvalues_are_known(kernel, fit_intercept, cv):
    options = {"fit_intercept": fit_intercept, "alphas": (*SMALL, 1e12), "epsilons": (0.0, None)}
    search = search_for(kernel, cv, refit=BY_SPECTRUM, **options)
    search.assert_refits()


@pytest.mark.parametrize("alpha", [0.0, 1e-15, 1e-13])
def test_an_alpha_below_the_precision_of_the_eigenvalues_is_solved_part_by_part(alpha):
    # of a kernel whose smallest eigenvalues are rounding
    search = search_for(
        "smooth rbf", "KFold", alphas=(1.0, alpha), epsilons=(None,), refit=BY_SPECTRUM
    )
    matrix = rbf_kernel(search.rows.X, gamma=0.01)
    whole = HeldOutKernel(matrix, search.held_out.targets, None, fit_intercept=True)
    assert 1.0 > whole.hat.smallest_alpha > alpha
    search.assert_refits(1e-6)


@pytest.mark.parametrize("d", [3, 18, 24, 39, 40, 41, 80])
@pytest.mark.parametrize("offset", [1e3, 1e6])
def test_linear_models_far_from_the_origin_keep_their_digits(d, offset):
    """Whatever the number of features beside that of the rows, 40."""
    near, far = rows_of(40, d), rows_of(40, d)
    near.X = (near.X * 2.0**16).round() / 2.0**16
    far.X = near.X + offset  # exactly
    options = {"alphas": (0.1, 10.0), "epsilons": (0.0, 0.05, None)}
    here, there = (
        Search(FairRegressor(kernel="linear", y_bins=2), rows, KFold(4), **options)
        for rows in (near, far)
    )
    for expected, values in zip(here.found, there.found, strict=True):
        np.testing.assert_allclose(values, expected, rtol=0, atol=1e-8 * np.ptp(near.y))
    here.assert_refits(1e-9)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("case", ["rare", "rare and large", "trend"])
def test_what_is_held_out_takes_no_digits_along(case, fit_intercept):
    rows, cv = rows_of(60, 4), KFold(6)
    if case == "trend":
        rows.X[:, 1] = np.exp(np.linspace(0, 20, 60))
        cv = TimeSeriesSplit(4)
    else:
        rows.X[:, 1] = 0.0
        rows.X[:10, 1] = np.random.default_rng(0).normal(size=10)
        rows.X[:, 1] *= 1e3 if case == "rare and large" else 1.0
    model = FairRegressor(kernel="linear", y_bins=2, fit_intercept=fit_intercept)
    Search(model, rows, cv, (0.0, 1e-9, 1e-3, 1.0), refit=BY_SPECTRUM).assert_refits()


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "linear", "cosine"])
@pytest.mark.parametrize("people", ["alike in both groups", "all alike"])
def test_groups_that_agree_exactly_change_nothing(people, kernel, fit_intercept):
    """No model can tell them apart, so every bound is met by the plain one."""
    n = 42  # constants leave rounding behind, more for some numbers of rows than for others
    rng = np.random.default_rng(0)
    half = rng.normal(size=(n // 2, 3)) if people.endswith("groups") else np.ones((n // 2, 3))
    y = np.r_[half[:, 0], half[:, 0]] + rng.normal(size=n)
    rows = Rows(np.vstack([half, half]), y, np.repeat([0, 1], n // 2))
    rows.groups = np.tile(np.arange(n // 2), 2)  # nobody is separated from their double
    model = FairRegressor(
        kernel=kernel, gamma=None if kernel in ("linear", "cosine") else 0.3, y_bins=1
    )
    model.set_params(fit_intercept=fit_intercept)
    search = Search(model, rows, GroupKFold(3), alphas=(1.0, 0.01), epsilons=(0.0, 1e-3, None))
    for values in search.found:
        np.testing.assert_allclose(values, values[:, -1:] + 0 * values, rtol=0, atol=1e-8)
    search.assert_refits()


@pytest.mark.parametrize("weights", [None, "positive"])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "linear", "wide linear"])
def test_two_of_three_groups_agree_exactly(kernel, weights):
    """Each contrast of neighbours is seen, their sum is not."""
    rng, d = np.random.default_rng(0), n_features(kernel, 15)
    base, name = rng.normal(size=(15, d)), kernel.split()[-1]
    X = np.vstack([base, base + rng.normal(size=(15, d)), base])
    rows = Rows(X, X[:, 0] + rng.normal(size=45), np.repeat([0, 1, 2], 15))
    rows.groups = np.tile(np.arange(15), 3)
    rows.weight = None if weights is None else np.tile(rng.uniform(0.5, 2.0, 15), 3)
    model = FairRegressor(kernel=name, gamma=None if name == "linear" else 0.3, y_bins=1)
    search = Search(model, rows, GroupKFold(3), (1.0, 0.01), (0.0, 0.02, None))
    search.assert_refits()


@pytest.mark.parametrize("people", ["alike in both groups", "all alike"])
def test_groups_that_agree_exactly_cannot_have_equal_residuals(people):
    n, rng = 40, np.random.default_rng(0)
    half = rng.normal(size=(n // 2, 3)) if people.endswith("groups") else np.ones((n // 2, 3))
    rows = Rows(np.vstack([half, half]), rng.normal(size=n), np.repeat([0, 1], n // 2))
    rows.groups = np.tile(np.arange(n // 2), 2)
    for kernel in ("rbf", "linear"):
        model = FairRegressor(kernel=kernel, y_bins=1, match="residual")
        search = Search(model, rows, GroupKFold(4), alphas=(1.0,), epsilons=(0.0, None, 10.0))
        for values in search.found:
            assert np.isnan(values[:, 0]).all()
            assert np.isfinite(values[:, 1:]).all()
        search.assert_refits()


def test_the_few_who_are_compared_agree_exactly():
    """Four pairs of doubles are compared; the others have nobody to be compared with."""
    rows = rows_of(40, 3)
    rows.X[4:8], rows.y = rows.X[:4], np.r_[np.ones(8), 3.0 + rows_of(32).y - rows_of(32).y.min()]
    rows.y[:8] += 0.01 * np.arange(8)
    rows.s = np.r_[np.repeat([0, 1], 4), np.zeros(32, dtype=int)]
    rows.groups = np.r_[np.arange(4), np.arange(4), 4 + np.arange(32)]
    model = FairRegressor(gamma=0.3, y_bins=[0.0, 2.0, 1e3])
    for match, answer in (("prediction", True), ("residual", False)):
        search = Search(model.set_params(match=match), rows, GroupKFold(5), epsilons=(0.0, None))
        for values in search.found:
            assert np.isfinite(values[:, 0]).all() == answer
        search.assert_refits()


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "wide linear"])
def test_very_few_rows(kernel, fit_intercept, n):
    rows = rows_of(n, n_features(kernel, n), seed=1)
    rows.s = np.arange(n) % 2
    model = FairRegressor(kernel=kernel.split()[-1], y_bins=1, fit_intercept=fit_intercept)
    search = Search(model, rows, LeaveOneOut(), epsilons=(0.0, 0.1, None))
    for values, (train, test) in zip(search.found, search.splits, strict=True):
        plain = clone(model)
        for value, alpha in zip(values[:, -1, 0], ALPHAS, strict=True):
            plain.set_params(alpha=alpha, epsilon=None).fit(rows.X[train], rows.y[train])
            np.testing.assert_allclose(value, plain.predict(rows.X[test]), atol=1e-9)
        alone = len(np.unique(rows.s[train])) < 2
        assert np.isnan(values[:, :-1]).all() == alone
    if n > 2:
        search.assert_refits()


# ---------------------------------------------------------------- roads


def test_the_kernel_of_all_rows_is_decomposed_once(monkeypatch):
    """… and parts that it cannot serve alone; these are few or repeated rows, or seen ones."""
    alone, original = [], HeldOut._alone
    monkeypatch.setattr(
        HeldOut, "_alone", lambda *given: alone.append(given[1]) or original(*given)
    )
    by_the_whole = {"KFold", "halves", "ShuffleSplit", "RepeatedKFold", "LeaveOneOut"}
    by_the_whole |= {"GroupKFold", "PredefinedSplit", "shuffled"}
    for cv in SPLITTERS:
        alone.clear()
        search = search_for("rbf", cv)
        if cv in by_the_whole:
            assert not alone
        elif cv in ("bootstrap", "leaky", "small ShuffleSplit"):
            assert len(alone) == len(search.splits)
        else:
            assert 0 < len(alone) < len(search.splits)


def test_folds_are_put_together_only_for_speed(monkeypatch):
    whole = search_for("rbf", "RepeatedKFold", n_groups=3).found
    for share in (0.0, 0.3, 100.0):
        monkeypatch.setattr("gferm.solver.crossval.COLUMNS_AT_ONCE", share)
        for one, other in zip(
            search_for("rbf", "RepeatedKFold", n_groups=3).found, whole, strict=True
        ):
            np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize("kernel", ROADS)
def test_settings_and_folds_do_not_see_each_other(kernel):
    together = search_for(kernel, "KFold", weights="positive")
    own, folds = together.read.of_models[0], together.read.folds
    features = own.features(together.model)
    for a, e, setting in together.settings():
        grid = Grid(np.array([setting["alpha"]]), (setting["epsilon"],))
        for k in (1, 3):
            held_out = HeldOut(together.model, features, own.rows.y)
            (alone,) = held_out.predict([folds[k]], grid)
            np.testing.assert_allclose(alone[0, 0], together.found[k][a, e], atol=1e-9)


# ---------------------------------------------------------------- classes


def classes_of(y, n_classes):
    names = np.array(["low", "mid", "top"][:n_classes])
    edges = np.quantile(y, np.arange(1, n_classes) / n_classes)
    return names[np.searchsorted(edges, y)]


def classifier_search(
    loss, kernel, n_classes=2, n=60, weights=None, cv=None, options=None, **of_search
):
    rows = rows_of(n, n_features(kernel, n), weights=weights, seed=3)
    rows.y = classes_of(rows.y, n_classes)
    params = {"kernel": kernel.split()[-1], "gamma": 0.3} | (options or {})
    cv = cv or StratifiedKFold(3, shuffle=True, random_state=0)
    return Search(FairClassifier(loss, **params), rows, cv, **of_search)


@pytest.mark.parametrize("weights", [None, "some zero"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kernel", ROADS)
def test_square_loss_of_classes(kernel, n_classes, weights):
    search = classifier_search("squared", kernel, n_classes, weights=weights)
    assert search.found[0].shape[2] == (1 if n_classes == 2 else 3)
    search.assert_refits()


@pytest.mark.parametrize(
    "options", [{"y_bins": 1}, {"y_bins": ["top"]}, {"y_bins": 1, "match": "residual"}]
)
@pytest.mark.parametrize("kernel", ROADS)
def test_square_loss_of_classes_with_other_cells(kernel, options):
    n_classes = 2 if "match" in options else 3
    if options["y_bins"] == ["top"]:
        options = {"y_bins": ["low", "top"]}
    classifier_search("squared", kernel, n_classes, options=options).assert_refits()


# ---------------------------------------------------------------- losses without a closed form

TOL = 1e-10
ITERATIVE = [loss for loss in LOSSES if loss != "squared"]


def iterative_search(loss, kernel, n=36, options=None, **of_search):
    """Folds that predict everybody, their training rows too."""
    options = {"tol": TOL, "max_iter": 20000} | (options or {})
    of_search = {"alphas": (0.3, 3.0), "epsilons": (0.0, 0.05, None)} | of_search
    everybody = np.arange(n)
    cv = [(np.delete(everybody, everybody[k::4]), everybody) for k in range(2)]
    if LOSSES[loss].takes_classes:
        return classifier_search(loss, kernel, n=n, cv=cv, options=options, **of_search)
    rows = rows_of(n, n_features(kernel, n), seed=3)
    params = {"kernel": kernel.split()[-1], "gamma": 0.3, "y_bins": 2} | options
    return Search(FairRegressor(loss, **params), rows, cv, **of_search)


def assert_as_near_as_the_gap_says(search, k, setting, values):
    """Compare two models whose objectives are within their gaps of the optimum.

    alpha ‖w − w*‖² is at most the gap, so |⟨w − w*, φ(x) − φ(x')⟩| ≤ √(gap/alpha) ‖φ(x) − φ(x')‖
    for each of them. The intercept is not in the norm, and straight losses may leave it a choice:
    then no intercept is better than the other.
    """
    model = search.fitted(k, setting)
    if model is None:
        assert np.isnan(values).all()
        return
    train, test = search.splits[k]
    expected = model_values(model, search.rows.X[test])[0]
    K = pairwise_kernels(search.rows.X, metric=model.kernel, filter_params=True, gamma=0.3)
    away = np.sqrt(max((K.diagonal()[:, None] + K.diagonal() - 2 * K).max(), 0.0))
    gaps = model.objective_ * np.array([model.duality_gap_, TOL])
    near = away * np.sqrt(gaps / setting["alpha"]).sum() + 1e-9
    assert np.ptp(values - expected) <= near
    if not model.fit_intercept:
        assert np.abs(values - expected).max() <= near + np.sqrt(K.max()) * near / away
    loss, y = LOSSES[model.loss], search.held_out.targets[train, 0]
    if loss.is_piecewise_linear:
        risks = [loss.value(y, f[train]).sum() for f in (values, expected)]
        assert risks[0] == pytest.approx(risks[1], abs=len(y) * near)
    else:
        assert np.abs(values - expected).max() <= 10 * near


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kernel", ROADS)
@pytest.mark.parametrize("loss", ITERATIVE)
def test_every_other_loss(loss, kernel, fit_intercept):
    alphas = (0.3, 3.0) if fit_intercept else (1.0,)
    search = iterative_search(loss, kernel, alphas=alphas, options={"fit_intercept": fit_intercept})
    assert search.held_out.unconverged == 0
    for a, e, setting in search.settings():
        assert_as_near_as_the_gap_says(search, 1, setting, search.found[1][a, e, 0])


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("loss", ["hinge", "log_loss", "absolute", "huber"])
def test_the_order_of_alphas_does_not_matter(loss, kernel):
    alphas = (1.0, 0.1, 10.0, 0.3)
    one = iterative_search(loss, kernel, alphas=alphas, epsilons=(0.0, None))
    other = iterative_search(loss, kernel, alphas=alphas[::-1], epsilons=(None, 0.0))
    for values, again in zip(one.found, other.found, strict=True):
        np.testing.assert_array_equal(values, again[::-1, ::-1])
    # … nor that there are others at all: no warm start changes where it ends
    for a, e, setting in one.settings():
        cold = iterative_search(
            loss, kernel, alphas=(setting["alpha"],), epsilons=(setting["epsilon"],)
        )
        difference = cold.found[0][0, 0] - one.found[0][a, e]
        assert np.ptp(difference) <= 1e-4 * np.ptp(one.found[0][a, e])


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_log_loss_of_classes(kernel, n_classes):
    options = {"tol": TOL, "max_iter": 20000}
    search = classifier_search(
        "log_loss", kernel, n_classes, options=options, alphas=(0.5,), weights="some zero"
    )
    search.assert_refits(1e-4)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("loss", ["hinge", "huber"])
def test_other_losses_where_nobody_can_be_compared(loss, kernel):
    search = iterative_search(loss, kernel, n=40)
    rows = search.rows
    rows.s = np.repeat([0, 1], [30, 10])
    search = Search(search.model, rows, KFold(4), (1.0,), (0.0, 0.1, None))
    assert np.isnan(search.found[3][:, :2]).all()
    assert np.isfinite(search.found[3][:, 2]).all()
    assert all(np.isfinite(values).all() for values in search.found[:3])


def test_other_losses_where_an_epsilon_cannot_be_met():
    rows = rows_of(60, 1)
    model = FairRegressor("huber", kernel="linear", y_bins=3, match="residual", tol=TOL)
    search = Search(model, rows, KFold(3), (1.0, 0.1), (0.0, None, 1e3))
    assert np.isnan(search.found[0][:, 0]).all()
    assert np.isfinite(search.found[0][:, 1:]).all()
    search.assert_refits(1e-4)


def test_what_does_not_converge_is_counted():
    search = iterative_search("absolute", "rbf", options={"max_iter": 2})
    assert search.held_out.unconverged == len(search.found) * 6


# -- landmarks are points: each kernel makes its own of them -----------------------------------


@pytest.mark.parametrize("gammas", [[1e-7, 1.0], [1.0, 1e-7]])
def test_the_order_of_kernels_does_not_matter_to_landmarks(gammas):
    """Points that explain each other under one kernel need not under another."""
    rows = make_problem(n=80, n_groups=2)
    options = {"n_landmarks": 60, "alphas": [1e-3], "random_state": 0, "y_bins": 2, "cv": 3}
    fit = {"sensitive_features": rows.s}
    both = FairRegressorCV(gammas=gammas, **options).fit(rows.X, rows.y, **fit)
    alone = FairRegressorCV(gammas=[1.0], **options).fit(rows.X, rows.y, **fit)
    found = both.cv_results_["mean_test_error"][gammas.index(1.0)]
    assert found == pytest.approx(alone.cv_results_["mean_test_error"][0], rel=1e-12)


def test_kernels_with_parameters_that_are_arrays():
    rows = make_problem(n=60, n_groups=2)

    def scaled(x, z, v):
        return float(np.exp(-((x - z) ** 2) @ v))

    grid = {"kernel_params": [{"v": np.full(5, 0.1)}, {"v": np.full(5, 0.2)}]}
    options = {"n_landmarks": 15, "alphas": [1.0], "y_bins": 2, "cv": 3, "random_state": 0}
    search = FairRegressorCV(kernel=scaled, kernel_grid=grid, **options)
    search.fit(rows.X, rows.y, sensitive_features=rows.s)
    assert np.isfinite(search.cv_results_["mean_test_error"]).all()
