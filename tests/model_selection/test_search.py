"""A search gives the numbers and the choice of GridSearchCV, which fits every setting anew."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone, is_classifier
from sklearn.metrics import make_scorer, mean_pinball_loss, zero_one_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)

from gferm import (
    Bins,
    FairClassifier,
    FairClassifierCV,
    FairRegressor,
    FairRegressorCV,
    fairest_within,
)
from gferm.metrics import dgf, equalized_odds_difference, general_fairness, mean_distance
from gferm.model_selection import lowest_error, pareto_set
from gferm.plotting import SelectionDisplay
from tests.problems import make_problem

# with a large alpha the largest epsilon does not bind
pytestmark = pytest.mark.filterwarnings("ignore::gferm.exceptions.InactiveConstraintWarning")

GROUPS = np.arange(72) // 3  # households of three


def make_data(classes=None, d=4):
    """Seventy-two rows; classes are terciles, or halves, of the label."""
    problem = make_problem(n=72, d=d, n_groups=2)
    y = problem.y
    if classes:
        shares = np.arange(1, len(classes)) / len(classes)
        y = np.array(classes)[np.digitize(y, np.quantile(y, shares))]
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 72)
    return SimpleNamespace(X=problem.X, y=y, s=problem.s, weight=weight)


NUMBERS, BINARY = make_data(), make_data(["no", "yes"])
TERNARY = make_data(["high", "low", "mid"])
WIDE = make_data(d=60)  # a linear kernel with more features than half the rows
GRAM = SimpleNamespace(**{**vars(NUMBERS), "X": rbf_kernel(NUMBERS.X, gamma=0.2)})


@pytest.fixture(autouse=True)
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def fit(search, data, **metadata):
    return search.fit(data.X, data.y, sensitive_features=data.s, **metadata)


def values(model, X):
    return getattr(model, "decision_function", model.predict)(X)


def settled(search, data):
    """The bins of all rows, as a user of GridSearchCV must settle them by hand."""
    if is_classifier(search):
        return Bins.categories(np.unique(data.y).tolist())
    return Bins.uniform(data.y.min(), data.y.max(), search.y_bins)


def model_of(search, data):
    """The model that the search tunes, with its bins settled."""
    kind = FairClassifier if is_classifier(search) else FairRegressor
    names = kind().get_params().keys() & search.get_params().keys()
    model = kind(**{name: getattr(search, name) for name in names})
    return model.set_params(y_bins=settled(search, data), s_bins=Bins.categories([0, 1]))


def refit_everything(search, data, error=None, unfairness=None, grid=None, **metadata):
    """Search by GridSearchCV, with the rule of the search."""
    if error is None:
        error = (
            make_scorer(zero_one_loss, greater_is_better=False)
            if is_classifier(search)
            else "neg_mean_absolute_error"
        )
    if unfairness is None:
        unfairness = partial(dgf, y_bins=settled(search, data), s_bins=Bins.categories([0, 1]))
    model = model_of(search, data).set_fit_request(sensitive_features=True)
    scorer = make_scorer(unfairness, greater_is_better=False)
    scorer.set_score_request(sensitive_features=True)
    if "sample_weight" in metadata:
        model.set_fit_request(sensitive_features=True, sample_weight=True)
        scorer.set_score_request(sensitive_features=True, sample_weight=True)
        error = sklearn.metrics.get_scorer(error).set_score_request(sample_weight=True)
    if grid is None:
        grid = {"alpha": search.alphas, "epsilon": search.epsilons}
        if search.gammas is not None:
            grid["gamma"] = search.gammas
    found = GridSearchCV(
        model,
        grid,
        scoring={"error": error, "dgf": scorer},
        refit=fairest_within(search.tolerance),
        cv=search.cv,
        error_score="raise",
    )
    return fit(found, data, **metadata)


def assert_same_table(search, other, rtol=1e-7, name="dgf"):
    """Every column of GridSearchCV, but for its times, is there with the same numbers."""
    ours, theirs = search.cv_results_, other.cv_results_
    kept = {key for key in theirs if "time" not in key}
    extra = {f"split{k}_dropped_pairs" for k in range(search.n_splits_)} | {f"n_test_{name}"}
    assert ours.keys() - extra == {key.replace("_dgf", f"_{name}") for key in kept}
    assert search.n_splits_ == other.n_splits_
    assert ours["params"] == theirs["params"]
    for key in kept - {"params"}:
        column, expected = ours[key.replace("_dgf", f"_{name}")], theirs[key]
        assert column.dtype == expected.dtype, key
        if key.startswith("param_"):
            np.testing.assert_array_equal(np.ma.getmaskarray(column), np.ma.getmaskarray(expected))
            assert column.tolist() == expected.tolist()
        elif key.startswith("rank"):
            np.testing.assert_array_equal(column, expected, err_msg=key)
        else:
            sign = 1.0 if key.startswith("std") else -1.0  # scorers negate what is better small
            np.testing.assert_allclose(column, sign * expected, rtol, atol=1e-12, err_msg=key)


def assert_same_search(search, other, **options):
    assert_same_table(search, other, **options)
    assert search.best_index_ == other.best_index_
    assert search.best_params_ == other.best_params_


FOLDS = KFold(3, shuffle=True, random_state=1)
GRID = {"alphas": [0.01, 1.0, 30.0], "epsilons": [0.0, 0.1, None], "cv": FOLDS}
NUMBERS_GRID = {"y_bins": 2, **GRID}
# the splitting stops early enough to show: tighten it, and let it take its steps
TIGHT = {**GRID, "alphas": [0.3, 30.0], "epsilons": [0.0, None], "tol": 1e-11, "max_iter": 50000}

# fewer landmarks than rows in a training part, and more
FEW, MANY = {"landmarks": NUMBERS.X[:15]}, {"landmarks": NUMBERS.X[:60]}

# name: the search, its data, how well an iterative solver agrees with another start
CASES = {
    "rbf": (FairRegressorCV(gammas=[0.05, 0.5, None], **NUMBERS_GRID), NUMBERS, 1e-7),
    "linear": (FairRegressorCV(kernel="linear", **NUMBERS_GRID), NUMBERS, 1e-7),
    "wide": (FairRegressorCV(kernel="linear", **NUMBERS_GRID), WIDE, 1e-7),
    "precomputed": (FairRegressorCV(kernel="precomputed", **NUMBERS_GRID), GRAM, 1e-7),
    "residual": (FairRegressorCV(match="residual", **NUMBERS_GRID), NUMBERS, 1e-7),
    "sum": (FairRegressorCV(epsilon_scale="sum", **NUMBERS_GRID), NUMBERS, 1e-7),
    "through the origin": (FairRegressorCV(fit_intercept=False, **NUMBERS_GRID), NUMBERS, 1e-7),
    "no small cells": (FairRegressorCV(min_cell_size=9, **NUMBERS_GRID), NUMBERS, 1e-7),
    "tolerant": (FairRegressorCV(tolerance=0.5, **NUMBERS_GRID), NUMBERS, 1e-7),
    "strict": (FairRegressorCV(tolerance=0.0, **NUMBERS_GRID), NUMBERS, 1e-7),
    "huber": (FairRegressorCV("huber", y_bins=2, **TIGHT), NUMBERS, 1e-3),
    "squared classes": (FairClassifierCV("squared", **GRID), BINARY, 1e-7),
    "three classes": (FairClassifierCV("squared", **GRID), TERNARY, 1e-7),
    "hinge": (FairClassifierCV(kernel="linear", **TIGHT), BINARY, 1e-7),
    "log_loss": (FairClassifierCV("log_loss", **TIGHT), BINARY, 1e-7),
    "log_loss of three": (FairClassifierCV("log_loss", kernel="linear", **TIGHT), TERNARY, 1e-7),
    "landmarks": (FairRegressorCV(gammas=[0.05, 0.5], **FEW, **NUMBERS_GRID), NUMBERS, 1e-8),
    "many landmarks": (FairRegressorCV(gammas=[0.05, 0.5], **MANY, **NUMBERS_GRID), NUMBERS, 1e-8),
    "huber, landmarks": (FairRegressorCV("huber", y_bins=2, **FEW, **TIGHT), NUMBERS, 1e-3),
    "huber, many landmarks": (FairRegressorCV("huber", y_bins=2, **MANY, **TIGHT), NUMBERS, 1e-3),
    "three classes, landmarks": (FairClassifierCV("squared", **FEW, **GRID), TERNARY, 1e-8),
    "hinge, many landmarks": (FairClassifierCV(**MANY, **TIGHT), BINARY, 1e-7),
}


# so small a tol may be beyond rounding
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("case", CASES)
def test_numbers_and_choice_are_those_of_fitting_every_setting_anew(case):
    search, data, rtol = CASES[case]
    search = fit(clone(search), data)
    other = refit_everything(search, data)
    assert_same_search(search, other, rtol=rtol)
    expected = values(other, data.X)
    size = np.abs(expected).max()
    np.testing.assert_allclose(values(search, data.X), expected, rtol=1e-9, atol=1e-9 * size)
    assert search.best_error_ == search.cv_results_["mean_test_error"][search.best_index_]
    assert search.best_unfairness_ == search.cv_results_["mean_test_dgf"][search.best_index_]


def test_the_cases_are_worth_comparing():
    few = fit(clone(CASES["no small cells"][0]), NUMBERS).cv_results_
    assert 0 < sum(few[f"split{k}_dropped_pairs"][0] for k in range(3)) < 6
    chosen = [fit(clone(CASES[case][0]), NUMBERS).best_index_ for case in ("tolerant", "strict")]
    assert chosen[0] != chosen[1]


def test_the_default_alphas_are_those_of_the_paper():
    search = fit(FairRegressorCV(y_bins=2, cv=3), NUMBERS)
    alphas = search.cv_results_["param_alpha"]
    np.testing.assert_allclose(alphas.astype(float), 10.0 ** np.linspace(-4, 4, 17))
    assert set(search.cv_results_["param_epsilon"]) == {0.0}


def test_several_kernels_are_searched_in_the_order_of_a_grid_search():
    kernels = [
        {"kernel": ["linear"]},
        {"kernel": ["poly"], "degree": [2, 3], "coef0": [0.5]},
        {"kernel": ["rbf", "laplacian"], "gamma": [0.1, None]},
    ]
    shared = {"alpha": [0.1, 10.0], "epsilon": [None, 0.0]}
    search = FairRegressorCV(
        alphas=[0.1, 10.0], epsilons=[None, 0.0], kernel_grid=kernels, y_bins=2, cv=FOLDS
    )
    fit(search, NUMBERS)
    other = refit_everything(search, NUMBERS, grid=[{**one, **shared} for one in kernels])
    assert_same_search(search, other)
    assert search.cv_results_["param_degree"].mask.any()


def test_a_callable_kernel_and_its_parameters_may_be_searched():
    def widened(a, b, width):
        return np.exp(-np.abs(a - b).sum() / width)

    kernel_grid = {"kernel": [widened], "kernel_params": [{"width": 2.0}, {"width": 20.0}]}
    search = FairRegressorCV(
        alphas=[0.1, 1.0], kernel_grid=kernel_grid, y_bins=2, cv=FOLDS, epsilons=[0.0]
    )
    fit(search, NUMBERS)
    grid = {**kernel_grid, "alpha": [0.1, 1.0], "epsilon": [0.0]}
    assert_same_search(search, refit_everything(search, NUMBERS, grid=grid))


SPLITTERS = {
    "stratified by the search": 3,
    "repeated": RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
    "random parts": ShuffleSplit(3, test_size=0.3, train_size=0.5, random_state=0),
    "in time": TimeSeriesSplit(3),
    "predefined": PredefinedSplit(np.arange(72) % 4 - 1),  # a quarter is never tested
    "households": GroupKFold(3),
    "small parts": ShuffleSplit(3, test_size=0.5, train_size=0.3, random_state=0),
}


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("cv", SPLITTERS)
def test_any_splitter_is_followed(cv, kernel):
    search = FairRegressorCV(kernel=kernel, **{**NUMBERS_GRID, "epsilons": [0.0, None]})
    search.set_params(cv=SPLITTERS[cv])
    groups = {"groups": GROUPS} if cv == "households" else {}
    fit(search, NUMBERS, **groups)
    assert_same_search(search, refit_everything(search, NUMBERS, **groups))


def test_classes_are_stratified():
    rare = SimpleNamespace(**vars(BINARY))
    rare.y = np.where(np.arange(72) < 9, "yes", "no")
    whole = fit(FairClassifierCV("squared", alphas=[1.0], cv=3), rare)
    by_hand = fit(FairClassifierCV("squared", alphas=[1.0], cv=StratifiedKFold(3)), rare)
    assert_equal_tables(whole, by_hand)


def assert_equal_tables(search, other, rtol=0.0, skip=()):
    assert search.cv_results_.keys() == other.cv_results_.keys()
    for name, column in other.cv_results_.items():
        if "_test_" in name and name not in skip:
            found = search.cv_results_[name]
            np.testing.assert_allclose(found, column, rtol, atol=rtol, err_msg=name)
    assert search.best_index_ == other.best_index_


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_rows_may_be_numbered_marked_or_counted_from_the_end(kernel):
    parts = list(FOLDS.split(NUMBERS.X))
    search = FairRegressorCV(kernel=kernel, **NUMBERS_GRID)
    expected = fit(clone(search), NUMBERS)

    def mark(rows):
        marked = np.zeros(72, dtype=bool)
        marked[rows] = True
        return marked

    for cv in (
        parts,
        iter(parts),
        [(train.tolist(), test.tolist()) for train, test in parts],
        [(mark(train), mark(test)) for train, test in parts],
        [(train - 72, test - 72) for train, test in parts],
        [(train, test - 72) for train, test in parts],
    ):
        assert_equal_tables(fit(clone(search).set_params(cv=cv), NUMBERS), expected)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_folds_may_repeat_rows_and_test_on_training_rows(kernel):
    rng = np.random.default_rng(0)
    cv = [(rng.integers(0, 72, 60), rng.integers(0, 72, 30)) for _ in range(2)]
    cv.append((np.arange(72), np.arange(72)))
    search = FairRegressorCV(kernel=kernel, **{**NUMBERS_GRID, "epsilons": [0.0, None], "cv": cv})
    fit(search, NUMBERS)
    assert_same_search(search, refit_everything(search, NUMBERS))


def negative_pinball(model, X, y):
    return -mean_pinball_loss(y, model.predict(X), alpha=0.8)


SCORINGS = {
    "r2": ("r2", "r2", True, NUMBERS),
    "mse": ("neg_mean_squared_error", "neg_mean_squared_error", False, NUMBERS),
    "rmse": ("neg_root_mean_squared_error", "neg_root_mean_squared_error", False, NUMBERS),
    "mae as a scorer": (
        sklearn.metrics.get_scorer("neg_mean_absolute_error"),
        "neg_mean_absolute_error", False, NUMBERS,
    ),
    "a scorer of an error": (
        make_scorer(mean_pinball_loss, greater_is_better=False, alpha=0.8),
        negative_pinball, False, NUMBERS,
    ),
    "a function": (lambda m, X, y: 1 + negative_pinball(m, X, y),
                   lambda m, X, y: 1 + negative_pinball(m, X, y), True, NUMBERS),
    "accuracy": ("accuracy", "accuracy", True, BINARY),
    "roc_auc": ("roc_auc", "roc_auc", True, BINARY),
    "balanced": ("balanced_accuracy", "balanced_accuracy", True, TERNARY),
    "log_loss": ("neg_log_loss", "neg_log_loss", False, BINARY),
    "log_loss of three": ("neg_log_loss", "neg_log_loss", False, TERNARY),
    "roc_auc of three": ("roc_auc_ovr", "roc_auc_ovr", True, TERNARY),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("case", SCORINGS)
def test_an_error_is_minus_the_score_of_an_error_or_one_minus_another_score(case):
    scoring, expected, from_one, data = SCORINGS[case]
    if data is NUMBERS:
        search = FairRegressorCV(scoring=scoring, **NUMBERS_GRID)
    elif "log_loss" in case or "of three" in case:
        search = FairClassifierCV("log_loss", scoring=scoring, kernel="linear", **TIGHT)
    else:
        search = FairClassifierCV("squared", scoring=scoring, **GRID)
    fit(search, data)
    scores = GridSearchCV(
        model_of(search, data).set_fit_request(sensitive_features=True),
        {"alpha": search.alphas, "epsilon": search.epsilons},
        scoring=expected, refit=False, cv=search.cv,
    )  # fmt: skip
    fit(scores, data)
    for k in range(3):
        score = scores.cv_results_[f"split{k}_test_score"]
        error = 1 - score if from_one else -score
        found = search.cv_results_[f"split{k}_test_error"]
        np.testing.assert_allclose(found, error, rtol=1e-5, atol=1e-8)
        assert (np.ptp(found) > 0).all()


def largest_gap(y_true, y_pred, *, sensitive_features):
    """Fairlearn's MetricFrame(...).difference() of the mean prediction."""
    means = pd.Series(y_pred).groupby(np.asarray(sensitive_features)).mean()
    return float(means.max() - means.min())


EDGES = settled(FairRegressorCV(y_bins=2), NUMBERS)
UNFAIRNESS = {
    "dgf": ("dgf", partial(dgf, y_bins=EDGES), "dgf", NUMBERS),
    "general_fairness": (
        "general_fairness", partial(general_fairness, y_bins=EDGES), "general_fairness", NUMBERS
    ),
    "mean_distance": ("mean_distance", mean_distance, "mean_distance", NUMBERS),
    "a metric": (mean_distance, mean_distance, "mean_distance", NUMBERS),
    "a partial": (partial(dgf, y_bins=EDGES), partial(dgf, y_bins=EDGES), "unfairness", NUMBERS),
    "a function": (largest_gap, largest_gap, "largest_gap", NUMBERS),
    "odds": (
        "equalized_odds_difference", equalized_odds_difference, "equalized_odds_difference", BINARY
    ),
    "odds of three": (
        "equalized_odds_difference", equalized_odds_difference, "equalized_odds_difference", TERNARY
    ),
    "auto": ("auto", partial(dgf, y_bins=Bins.categories(["no", "yes"])), "dgf", BINARY),
}  # fmt: skip


@pytest.mark.parametrize("case", UNFAIRNESS)
def test_unfairness_is_the_metric_of_the_test_rows(case):
    unfairness, metric, name, data = UNFAIRNESS[case]
    if data is NUMBERS:
        search = FairRegressorCV(unfairness=unfairness, **NUMBERS_GRID)
    else:
        search = FairClassifierCV("squared", unfairness=unfairness, **GRID)
    fit(search, data)
    assert search.unfairness_ == name
    assert_same_search(search, refit_everything(search, data, unfairness=metric), name=name)


def test_one_bin_of_labels_is_judged_by_the_distance_of_means():
    search = fit(FairRegressorCV(**{**NUMBERS_GRID, "y_bins": 1}), NUMBERS)
    assert search.unfairness_ == "mean_distance"
    other = fit(FairRegressorCV(unfairness=mean_distance, **{**NUMBERS_GRID, "y_bins": 1}), NUMBERS)
    assert_equal_tables(search, other, rtol=1e-12)
    plain = np.array([params["epsilon"] is None for params in search.cv_results_["params"]])
    distance = search.cv_results_["mean_test_mean_distance"]
    assert distance[~plain].min() < distance[plain].min()


@pytest.mark.parametrize("data", [BINARY, TERNARY], ids=["two", "three"])
def test_one_bin_of_classes_is_judged_by_the_shares_of_each_class(data):
    def parity(y_true, y_pred, *, sensitive_features):
        shares = pd.crosstab(sensitive_features, y_pred, normalize="index")
        shares = shares.reindex(columns=np.unique(data.y), fill_value=0.0)
        return float((shares.loc[0] - shares.loc[1]).abs().mean())

    search = fit(FairClassifierCV("squared", y_bins=1, **GRID), data)
    assert search.unfairness_ == "mean_distance"
    by_hand = fit(FairClassifierCV("squared", y_bins=1, unfairness=parity, **GRID), data)
    for k in range(3):
        expected = by_hand.cv_results_[f"split{k}_test_parity"]
        found = search.cv_results_[f"split{k}_test_mean_distance"]
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_several_attributes_reach_a_callable_by_name():
    seen = []

    def unfairness(y_true, y_pred, *, sensitive_features):
        seen.append({name: column.shape for name, column in sensitive_features.items()})
        assert all(column.shape == y_true.shape for column in sensitive_features.values())
        return mean_distance(y_true, y_pred, sensitive_features=sensitive_features)

    s = pd.DataFrame({"sex": NUMBERS.s, "old": NUMBERS.X[:, 0] > 0})
    search = FairRegressorCV(unfairness=unfairness, **NUMBERS_GRID)
    search.fit(NUMBERS.X, NUMBERS.y, sensitive_features=s)
    assert len(seen) == 3 * 9
    assert seen[0].keys() == {"sex", "old"}
    named = FairRegressorCV(unfairness="mean_distance", **NUMBERS_GRID)
    named.fit(NUMBERS.X, NUMBERS.y, sensitive_features=s)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_unfairness"],
        named.cv_results_["mean_test_mean_distance"],
        rtol=1e-9,
    )


def test_weights_are_those_of_a_grid_search():
    search = FairRegressorCV(**NUMBERS_GRID)
    fit(search, NUMBERS, sample_weight=NUMBERS.weight)
    other = refit_everything(search, NUMBERS, sample_weight=NUMBERS.weight)
    assert_same_search(search, other)


KERNELS = pytest.mark.parametrize("kernel", ["linear", "rbf"])


def weighted_pair(kernel, loss, weight, rows, classes):
    """One search with weights, another with the rows they stand for; the same folds."""
    data = BINARY if classes else NUMBERS
    folds = np.arange(72) % 3
    kind = FairClassifierCV if classes else FairRegressorCV
    bins = {} if classes else {"y_bins": [-np.inf, 0.0, np.inf]}
    options = {"alphas": [0.3, 3.0], "epsilons": [0.0, None], "tol": 1e-11, "max_iter": 50000}
    one, other = (
        kind(loss, kernel=kernel, cv=PredefinedSplit(parts), gammas=[0.2], **bins, **options)
        for parts in (folds, folds[rows])
    )
    one.fit(data.X, data.y, sensitive_features=data.s, sample_weight=weight)
    other.fit(data.X[rows], data.y[rows], sensitive_features=data.s[rows])
    return one, other


@KERNELS
@pytest.mark.parametrize(("loss", "classes"), [("squared", False), ("squared", True)])
def test_whole_weights_are_repetitions_and_weight_zero_is_absence(kernel, loss, classes):
    weight = np.random.default_rng(2).integers(0, 4, 72)
    one, other = weighted_pair(kernel, loss, weight, np.repeat(np.arange(72), weight), classes)
    assert_equal_tables(one, other, rtol=1e-8)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@KERNELS
@pytest.mark.parametrize(("loss", "classes"), [("huber", False), ("log_loss", True)])
def test_weight_zero_is_absence_for_learned_losses(kernel, loss, classes):
    weight = (np.random.default_rng(2).random(72) > 0.3).astype(float)
    one, other = weighted_pair(kernel, loss, weight, np.flatnonzero(weight), classes)
    assert_equal_tables(one, other, rtol=1e-6)


def test_the_unit_of_the_weights_does_not_matter_to_the_measures():
    search = FairRegressorCV(**{**NUMBERS_GRID, "alphas": [1.0]})
    heavy = clone(search).set_params(alphas=[3.0])
    fit(search, NUMBERS, sample_weight=NUMBERS.weight)
    fit(heavy, NUMBERS, sample_weight=3.0 * NUMBERS.weight)
    assert_equal_tables(heavy, search, rtol=1e-9)


def test_bins_are_settled_once_on_all_rows():
    search = fit(FairRegressorCV(s_bins=2, **{**NUMBERS_GRID, "y_bins": 3}), NUMBERS)
    by_hand = FairRegressorCV(
        s_bins=Bins.uniform(0, 1, 2),
        **{**NUMBERS_GRID, "y_bins": Bins.uniform(NUMBERS.y.min(), NUMBERS.y.max(), 3)},
    )
    fit(by_hand, NUMBERS)
    assert_equal_tables(search, by_hand)
    one, other = (found.best_estimator_.cells_ for found in (search, by_hand))
    assert one.label_bins.boundaries == other.label_bins.boundaries
    for part, same in zip(one.partitions, other.partitions, strict=True):
        np.testing.assert_array_equal(part.counts, same.counts)


def test_the_quantiles_of_a_continuous_attribute_are_those_of_all_rows():
    s = NUMBERS.X[:, 0]
    found = []
    for s_bins in ("auto", Bins.quantile(5).resolve(s, None, "s")):
        search = FairRegressorCV(s_bins=s_bins, **{**NUMBERS_GRID, "y_bins": 1})
        found.append(search.fit(NUMBERS.X, NUMBERS.y, sensitive_features=s))
    assert_equal_tables(*found)
    counts = [search.best_estimator_.cells_.partitions[0].counts for search in found]
    np.testing.assert_array_equal(*counts)
    assert counts[0].shape == (1, 5)


def test_selection_by_error_takes_the_lowest():
    search = fit(FairRegressorCV(selection="error", **NUMBERS_GRID), NUMBERS)
    assert search.best_index_ == np.argmin(search.cv_results_["mean_test_error"])
    assert search.rule_ == lowest_error()


@pytest.mark.parametrize("tolerance", [0.0, 0.1, 0.5, 0.9])
def test_nvp_is_the_fairest_within_the_tolerance(tolerance):
    search = fit(FairRegressorCV(tolerance=tolerance, **NUMBERS_GRID), NUMBERS)
    error, unfairness = (search.cv_results_[f"mean_test_{name}"] for name in ("error", "dgf"))
    shortlist = np.flatnonzero(error <= error.min() / (1 - tolerance) * (1 + 1e-12))
    assert search.best_index_ == shortlist[unfairness[shortlist].argmin()]
    assert search.rule_ == fairest_within(tolerance)


def test_a_rule_of_ones_own_sees_the_table():
    seen = []

    def fairest_of_all(cv_results):
        seen.append(cv_results)
        return np.argmin(cv_results["mean_test_dgf"])

    search = fit(FairRegressorCV(selection=fairest_of_all, **NUMBERS_GRID), NUMBERS)
    assert seen == [search.cv_results_]
    assert search.best_index_ == np.argmin(search.cv_results_["mean_test_dgf"])
    assert search.rule_ is fairest_of_all
    ours = fairest_within(0.5)
    assert fit(FairRegressorCV(selection=ours, **NUMBERS_GRID), NUMBERS).rule_ is ours


def test_the_pareto_set_is_what_nobody_beats():
    search = fit(FairRegressorCV(gammas=[0.05, 0.5], **NUMBERS_GRID), NUMBERS)
    error, unfairness = (search.cv_results_[f"mean_test_{name}"] for name in ("error", "dgf"))
    beaten = [
        any((error <= e) & (unfairness <= u) & ((error < e) | (unfairness < u)))
        for e, u in zip(error, unfairness, strict=True)
    ]
    unbeaten = np.flatnonzero(~np.array(beaten))
    pairs = {(error[i], unfairness[i]) for i in unbeaten}
    assert {(error[i], unfairness[i]) for i in search.pareto_} == pairs
    assert (np.diff(error[search.pareto_]) > 0).all()
    np.testing.assert_array_equal(search.pareto_, pareto_set(error, unfairness))
    assert search.best_index_ in unbeaten


@pytest.mark.parametrize("search", [FairRegressorCV, FairClassifierCV])
def test_the_table_and_the_choice_can_be_drawn(search):
    pytest.importorskip("matplotlib").use("Agg")
    data = NUMBERS if search is FairRegressorCV else BINARY
    options = {"y_bins": 1} if search is FairRegressorCV else {"loss": "squared"}
    found = fit(search(**GRID, **options), data)
    display = SelectionDisplay.from_estimator(found)
    assert display.chosen == found.best_index_
    assert len(pd.DataFrame(found.cv_results_)) == 9


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_progress_is_shown_on_request_and_on_stderr(loss, capsys):
    options = {**NUMBERS_GRID, "kernel": "linear", "epsilons": [0.0]}
    fit(FairRegressorCV(loss, **options), NUMBERS)
    assert capsys.readouterr() == ("", "")
    fit(FairRegressorCV(loss, verbose=1, **options), NUMBERS)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "models judged" in shown.err
    assert "9/9" in shown.err  # three alphas, three folds


@pytest.mark.parametrize("missing", ["low", "mid"])
@pytest.mark.parametrize(
    ("loss", "kernel"), [("squared", "rbf"), ("squared", "linear"), ("log_loss", "linear")]
)
def test_a_class_that_a_training_part_lacks_is_never_predicted(missing, loss, kernel):
    test = (missing == TERNARY.y) | (np.arange(72) % 3 == 0)
    cv = [(np.flatnonzero(~test), np.flatnonzero(test)), *FOLDS.split(TERNARY.X)]
    search = FairClassifierCV(loss, kernel=kernel, **{**TIGHT, "cv": cv})
    fit(search, TERNARY)
    rows = np.flatnonzero(~test)
    for i, params in enumerate(search.cv_results_["params"]):
        model = FairClassifier(loss, kernel=kernel, **params, tol=1e-11, max_iter=50000)
        model.fit(TERNARY.X[rows], TERNARY.y[rows], sensitive_features=TERNARY.s[rows])
        error = np.mean(model.predict(TERNARY.X[test]) != TERNARY.y[test])
        assert search.cv_results_["split0_test_error"][i] == pytest.approx(error)
