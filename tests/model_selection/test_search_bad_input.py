"""What a user may do wrong in a search, and folds that cannot tell: named, never silent."""

import re
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning, NotFittedError
from sklearn.metrics import r2_score
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, PredefinedSplit
from sklearn.utils.validation import check_is_fitted

from gferm import Bins, FairClassifierCV, FairRegressor, FairRegressorCV, fairest_within
from gferm.exceptions import NothingToCompareError, OutsideBinsWarning
from gferm.metrics import mean_distance, sensitive_correlation
from tests.problems import make_problem

N = 60
FIT = ("X", "y", "sensitive_features", "sample_weight", "groups")


def make_data():
    problem = make_problem(n=N, d=3, n_groups=2)
    classes = np.where(problem.y > np.median(problem.y), "yes", "no")
    return SimpleNamespace(X=problem.X, y=problem.y, s=problem.s, classes=classes)


DATA = make_data()
ROWS = np.arange(N)


def gives(value):
    """A scorer, an unfairness or a rule that always gives this."""

    def answer(*args, **kwargs):
        return value

    return answer


def divide_by_zero(*args, **kwargs):
    return 1 / 0


def without_groups(y_true, y_pred):
    return 0.0


def without_weights(y_true, y_pred, *, sensitive_features):
    return 0.0


def score_without_weights(model, X, y):
    return 0.0


CLASSES = {"y": DATA.classes, "search": FairClassifierCV, "loss": "squared"}
WEIGHTS = {"sample_weight": np.ones(N)}

# what the user did, the arguments that say so, the message
MISTAKES = [
    # grids
    ("no alpha", {"alphas": []}, r"alphas=\[\] is empty.*give it a value"),
    ("no gamma", {"gammas": []}, r"gammas=\[\] is empty.*give it a value"),
    ("no epsilon", {"epsilons": []}, r"epsilons=\[\] is empty.*give it a value"),
    ("no kernels", {"kernel_grid": []}, r"kernel_grid=\[\] is empty: leave it out"),
    ("no degree", {"kernel_grid": {"degree": []}},
     r"kernel_grid\['degree'\]=\[\] is empty.*leave 'degree' out"),
    ("one alpha", {"alphas": 0.1}, r"alphas=0.1 must be a list.*alphas=\[0.1\]"),
    ("one gamma", {"gammas": 2}, r"gammas=2 must be a list.*gammas=\[2\]"),
    ("no list of epsilons", {"epsilons": None}, r"epsilons=None must be.*epsilons=\[None\]"),
    ("alphas as text", {"alphas": "0.1"}, r"alphas='0.1' must be a list.*alphas=\[0.1, 1.0\]"),
    ("an array without axis", {"alphas": np.array(0.1)}, r"alphas=array\(0.1\) must be a list"),
    ("a table of alphas", {"alphas": np.eye(2)}, r"alphas has array.*use finite numbers"),
    ("alpha NaN", {"alphas": [1, np.nan]}, "alphas has nan; use finite numbers of 0 or larger"),
    ("alpha < 0", {"alphas": [-1.0]}, "alphas has -1.0; use finite numbers of 0 or larger"),
    ("alpha infinite", {"alphas": [np.inf]}, "alphas has inf; use finite numbers"),
    ("alpha None", {"alphas": [None]}, r"alphas has None; use finite numbers of 0 or larger\."),
    ("alpha a word", {"alphas": ["1"]}, "alphas has '1'; use finite numbers"),
    ("gamma a word", {"gammas": ["scale"]}, "gammas has 'scale'.*None for the kernel's default"),
    ("gamma < 0", {"gammas": [-2]}, "gammas has -2.*None for the kernel's default"),
    ("epsilon a word", {"epsilons": ["none"]}, "epsilons has 'none'.*None for no constraint"),
    ("epsilon NaN", {"epsilons": [np.nan]}, "epsilons has nan.*None for no constraint"),
    ("epsilon < 0", {"epsilons": [0, -1]}, "epsilons has -1.*None for no constraint"),
    ("alpha 0 of another loss", {"loss": "huber", "alphas": [0, 1]},
     "alphas has 0.*loss='squared' only, not with 'huber'; use positive alphas"),
    ("kernel_grid is a name", {"kernel_grid": "rbf"}, "kernel_grid='rbf' must be a dict of lists"),
    ("kernel_grid is a number", {"kernel_grid": 5}, "kernel_grid=5 must be a dict of lists"),
    ("kernel_grid is a list of lists", {"kernel_grid": [["rbf"]]}, "must be a dict of lists"),
    ("one degree", {"kernel_grid": {"degree": 3}},
     r"kernel_grid\['degree'\]=3 must be a list, such as \[3\]"),
    ("one kernel", {"kernel_grid": {"kernel": "rbf"}},
     r"kernel_grid\['kernel'\]='rbf' must be a list, such as \['rbf'\]"),
    ("alpha among the kernels", {"kernel_grid": {"alpha": [1]}},
     r"kernel_grid names \['alpha'\].*alphas, epsilons"),
    ("gammas twice", {"gammas": [1], "kernel_grid": {"gamma": [1]}},
     "gammas and kernel_grid both name values of gamma; leave gammas out"),
    ("unknown kernel", {"kernel_grid": {"kernel": ["rbf", "gauss"]}},
     r"kernel_grid has \{'kernel': 'gauss'\}.*among.*'rbf'"),
    ("degree < 0", {"kernel_grid": {"degree": [-1]}},
     r"kernel_grid has \{'degree': -1\}.*'degree'.*range \[0.0, inf\)"),
    # folds
    ("one fold", {"cv": 1}, r"'cv' parameter.*int in the range \[2, inf\)"),
    ("more folds than rows", {"cv": 70}, "cv=70 cannot split these 60 rows: .*n_splits=70"),
    ("folds in words", {"cv": "five"}, "'cv' parameter.*Got 'five'"),
    ("no folds", {"cv": []}, "cv gives no fold; use a number of folds of 2 or more"),
    ("folds are numbers", {"cv": [1, 2]}, "cv cannot split.*pairs of training and test rows"),
    ("folds of one part", {"cv": [(ROWS,)]}, "cv cannot split.*pairs of training and test rows"),
    ("rows that are not there", {"cv": [(ROWS[:30], ROWS[30:] + 1)]},
     "cv cannot split these 60 rows: row 60 is not there, the last one is 59"),
    ("rows before the first", {"cv": [(ROWS - 61, ROWS)]}, "row -61 is not there"),
    ("fractions of rows", {"cv": [(ROWS[:30] + 0.5, ROWS[30:])]}, "type float64 names no rows"),
    ("a short mask", {"cv": [(np.ones(9, dtype=bool), ROWS)]}, r"shape \(9,\) and type bool"),
    ("names of rows", {"cv": [(["a", "b"], ROWS)]}, "names no rows.*as numbers or masks"),
    ("nothing to test on", {"cv": [(ROWS, [])]}, "leaves the test part of fold 0 empty; give it"),
    ("nothing to learn from", {"cv": [(ROWS[:9], ROWS[9:]), ([], ROWS)]},
     "cv leaves the training part of fold 1 empty; give it rows"),
    ("no households", {"cv": GroupKFold(3)}, r"cv=GroupKFold.*Pass fit\(..., groups=...\)"),
    ("too few households", {"cv": GroupKFold(3), "groups": [1, 2]},
     "groups has 2 rows but there are 60 samples; pass one row per sample"),
    ("no weight to test on", {"cv": KFold(3), "sample_weight": np.repeat([0.0, 1.0], [20, 40])},
     "sample_weight is zero for the whole test part of fold 0; use fewer folds, or shuffle"),
    ("no weight to learn from",
     {"cv": [(ROWS[:20], ROWS[20:])], "sample_weight": np.repeat([0.0, 1.0], [20, 40])},
     "sample_weight is zero for the whole training part of fold 0"),
    ("one class to learn from", {**CLASSES, "y": np.sort(DATA.classes), "cv": KFold(2)},
     r"cv=KFold.* leaves one class, \['yes'\], in the training part of fold 0.*Use stratified"),
    # measures
    ("unknown scoring", {"scoring": "mae"}, r"scoring='mae' is not.*get_scorer_names\(\)"),
    ("two scorings", {"scoring": ["r2", "max_error"]}, "'scoring' parameter.*Got"),
    ("scoring of classes", {"scoring": "accuracy"}, "scoring='accuracy' cannot judge.*continuous"),
    ("scoring of decisions", {"scoring": "roc_auc"},
     "scoring='roc_auc' cannot judge.*FairRegressor has none of.*decision_function"),
    ("probabilities of a hinge", {**CLASSES, "scoring": "neg_log_loss"},
     "scoring='neg_log_loss'.*FairClassifier with this loss has none.*only loss='log_loss' has"),
    ("a metric for a scorer", {"scoring": r2_score},
     r"scoring=<function r2_score.*takes 2 positional.*make_scorer makes one of a metric"),
    ("a scorer that raises", {"scoring": divide_by_zero},
     r"scoring=<function divide_by_zero.*division by zero.*\(estimator, X, y\)"),
    ("a scorer of words", {"scoring": gives("good")}, "scoring=.*'good'.*gives a number"),
    ("a scorer of NaN", {"scoring": gives(np.nan)},
     "Every setting failed.*fold 0, .*'alpha': 0.1.*scoring gave NaN. Use another scoring"),
    ("a scorer without weights", {"scoring": "neg_max_error", **WEIGHTS},
     "scoring='neg_max_error'.*Use one that takes sample_weight, or fit without"),
    ("a function without weights", {"scoring": score_without_weights, **WEIGHTS},
     "scoring=<function score_without.*Use one that takes sample_weight, or fit without"),
    ("unknown unfairness", {"unfairness": "parity"}, "unfairness='parity' is unknown; use one of"),
    ("no unfairness", {"unfairness": None}, "'unfairness' parameter.*Got None"),
    ("unfairness without groups", {"unfairness": without_groups},
     r"unfairness=<function without_groups.*takes \(y_true, y_pred, \*, sensitive_features\)"),
    ("unfairness without weights", {"unfairness": without_weights, **WEIGHTS},
     "unfairness=<function without_w.*Use one that takes sample_weight, or fit without"),
    ("unfairness that raises", {"unfairness": divide_by_zero}, "unfairness=.*division by zero"),
    ("unfairness with a sign", {"unfairness": gives(-0.25)},
     r"unfairness=.* gave -0\.25, but unfairness is a distance from 0; take its absolute value"),
    ("unfairness is a list", {"unfairness": gives([0.0, 1.0])}, "unfairness=.*gives a number"),
    ("unfairness is NaN", {"unfairness": gives(np.nan)}, "NaN for all 2 settings of the shortlist"),
    ("rates of one bin", {"unfairness": "dgf", "y_bins": 1},
     "unfairness='dgf' is zero for every model where y_bins is one bin.*'mean_distance'"),
    ("odds of one bin", {**CLASSES, "unfairness": "equalized_odds_difference", "y_bins": 1},
     "unfairness='equalized_odds_difference' is zero.*'mean_distance'"),
    ("losses of words", {**CLASSES, "unfairness": "loss_general_fairness"},
     "unfairness='loss_general_fairness' needs numbers; use 'dgf'"),
    ("groups without bins", {"s_bins": "continuous", "sensitive_features": DATA.X[:, 0]},
     r"unfairness='dgf' compares groups.*\['sensitive'\].*sensitive_correlation.*s_bins a number"),
    # choices
    ("unknown selection", {"selection": "best"}, "'selection' parameter.*among.*'nvp'"),
    ("a rule that counts back", {"selection": gives(-1)}, "selection=.* gave -1.*from 0 to 1"),
    ("a rule beyond the end", {"selection": gives(2)}, "selection=.* gave 2; .*from 0 to 1"),
    ("a rule of fractions", {"selection": gives(1.0)}, "selection=.* gave 1.0; .*the index"),
    ("a rule of nothing", {"selection": gives(None)}, "selection=.* gave None; .*the index"),
    ("a rule of truth", {"selection": gives(True)}, "selection=.* gave True; .*the index"),
    ("tolerance 1", {"tolerance": 1.0}, r"'tolerance' parameter.*\[0.0, 1.0\)"),
    ("one fold a row", {"cv": LeaveOneOut()}, "NaN for all 2 settings.*use fewer or stratified"),
    # sensitive features
    ("no s", {"sensitive_features": None},
     r"sensitive_features is missing: selection='nvp'.*set selection='error'.*epsilons=\[None\]"),
    ("no s, but epsilons", {"sensitive_features": None, "selection": "error"},
     r"sensitive_features is missing, but epsilons=\[0.0\].*pass fit.*or set epsilons=\[None\]"),
    ("no s for nvp", {"sensitive_features": None, "epsilons": [None]},
     "sensitive_features is missing: selection='nvp'"),
    ("s too short", {"sensitive_features": DATA.s[1:]}, "has 59 rows but there are 60 samples"),
    ("another index",
     {"X": pd.DataFrame(DATA.X), "sensitive_features": pd.Series(DATA.s, index=ROWS + 1)},
     r"different indexes.*\.loc\[X\.index\]"),
    ("one group", {"sensitive_features": np.ones(N)}, r"single group with rows, \['1'\]"),
    ("one group and no constraint", {"sensitive_features": np.ones(N), "epsilons": [None]},
     "nobody to compare, so selection='nvp' has nothing to choose by.*selection='error'"),
    # what the models refuse
    ("unknown loss", {"loss": "hinge"}, "loss='hinge' is not one of"),
    ("words for numbers", {"y": DATA.classes}, "y has labels that are not numbers.*FairClassifier"),
    ("NaN in X", {"X": np.where(DATA.X > 2, np.nan, DATA.X)}, "X contains NaN"),
    ("no kernel matrix", {"kernel": "precomputed"}, "kernel='precomputed' needs a square X"),
    ("negative weights", {"sample_weight": -np.ones(N)}, "Negative.*sample_weight"),
    ("an epsilon that nobody meets",
     {"kernel": "linear", "match": "residual", "y_bins": 6},
     r"Every setting failed.*fold 0, \{'alpha': 0.1, 'epsilon': 0.0\}: no model meets epsilon=0\. "
     "Use larger epsilons, fewer y_bins"),
]  # fmt: skip


@pytest.fixture(params=MISTAKES, ids=[mistake[0] for mistake in MISTAKES])
def mistake(request):
    """The search, the arguments of its fit, and the message."""
    _, arguments, message = request.param
    given = {"X": DATA.X, "y": DATA.y, "sensitive_features": DATA.s}
    given |= {"alphas": [0.1, 1.0], "cv": 3, **arguments}
    kind = given.pop("search", FairRegressorCV)
    if kind is FairRegressorCV:
        given.setdefault("y_bins", 2)
    called = {name: given.pop(name) for name in FIT if name in given}
    return kind, given, called, f"(?s){message}"


def test_a_mistake_is_named_with_its_remedy_and_leaves_the_search_unfitted(mistake):
    kind, options, called, message = mistake
    search = kind(**options)
    before = dict(vars(search))
    with pytest.raises(ValueError, match=message) as error:
        search.fit(**called)
    assert vars(search).keys() == before.keys()
    assert all(vars(search)[name] is value for name, value in before.items())
    assert "Echo" not in str(error.value)
    assert len(str(error.value)) < 1000
    with pytest.raises(NotFittedError):
        check_is_fitted(search)


def test_a_mistake_leaves_a_fitted_search_as_it_was(mistake):
    kind, options, called, _ = mistake
    y = DATA.classes if kind is FairClassifierCV else DATA.y
    small = {"alphas": [1.0], "cv": 2, **({"y_bins": 2} if kind is FairRegressorCV else {})}
    search = kind("squared", **small).fit(DATA.X, y, sensitive_features=DATA.s)
    arguments, before = search.get_params(), dict(vars(search))
    expected = search.predict(DATA.X)
    with pytest.raises(ValueError):  # noqa: PT011, the other test reads the message
        search.set_params(**{**kind().get_params(), **options}).fit(**called)
    search.set_params(**arguments)
    assert vars(search).keys() == before.keys()
    assert all(vars(search)[name] is value for name, value in before.items())
    np.testing.assert_array_equal(search.predict(DATA.X), expected)


def test_an_error_in_the_rule_of_a_user_is_not_disguised():
    search = FairRegressorCV(alphas=[1.0], y_bins=2, selection=lambda results: results["no"])
    with pytest.raises(KeyError, match="no"):
        search.fit(DATA.X, DATA.y, sensitive_features=DATA.s)
    assert not hasattr(search, "cv_results_")


def test_a_last_fit_that_fails_leaves_the_search_unfitted(monkeypatch):
    def fail(self, *args, **kwargs):
        raise MemoryError

    monkeypatch.setattr(FairRegressor, "fit", fail)
    search = FairRegressorCV(alphas=[1.0], y_bins=2)
    before = dict(vars(search))
    with pytest.raises(MemoryError):
        search.fit(DATA.X, DATA.y, sensitive_features=DATA.s)
    assert vars(search) == before


def test_an_empty_kernel_grid_is_the_kernel_itself():
    plain, empty = (
        FairRegressorCV(alphas=[1.0], y_bins=2, kernel_grid=grid).fit(
            DATA.X, DATA.y, sensitive_features=DATA.s
        )
        for grid in (None, {})
    )
    assert empty.cv_results_["params"] == plain.cv_results_["params"]


@pytest.mark.parametrize(
    ("grids", "message", "n_settings"),
    [
        ({"alphas": [1, 1.0, 2, 1]}, r"alphas has \[1\.0\] more than once; each", 2),
        ({"epsilons": [0, None, 0.0, None]}, r"epsilons has \[0\.0, None\] more than once", 4),
        ({"gammas": [0.1, 0.1]}, r"gammas has \[0\.1\] more than once", 2),
        ({"kernel_grid": {"degree": [2, 2]}}, r"kernel_grid\['degree'\] has \[2\] more", 2),
        ({"alphas": [3, 3], "gammas": [1, 1]}, r"gammas has \[1\.0\].*alphas has \[3\.0\]", 1),
    ],
)
def test_what_is_twice_in_a_grid_is_tried_once_with_one_warning(grids, message, n_settings):
    search = FairRegressorCV(**{"alphas": [1.0, 2.0], "y_bins": 2, **grids})
    with pytest.warns(UserWarning, match=message) as caught:
        search.fit(DATA.X, DATA.y, sensitive_features=DATA.s)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert len(search.cv_results_["params"]) == n_settings


def test_an_attribute_that_nothing_judges_is_named():
    s = {"group": DATA.s, "income": DATA.X[:, 0]}
    search = FairRegressorCV(alphas=[1.0], y_bins=2, s_bins={"income": "continuous"})
    with pytest.warns(OutsideBinsWarning, match=r"'dgf'.* does not judge \['income'\]") as caught:
        search.fit(DATA.X, DATA.y, sensitive_features=s)
    assert caught[0].filename == __file__


def test_the_advice_for_continuous_attributes_can_be_followed():
    search = FairRegressorCV(
        alphas=[0.1, 1.0], y_bins=1, s_bins="continuous", unfairness=sensitive_correlation
    )
    search.fit(DATA.X, DATA.y, sensitive_features=DATA.X[:, 0])
    assert search.unfairness_ == "sensitive_correlation"
    assert 0 <= search.best_unfairness_ < 0.5


EDGES = [-np.inf, 0.0, np.inf]
PARTS = PredefinedSplit(ROWS % 3)


def test_a_cell_that_a_fold_leaves_empty_drops_its_pairs_there():
    """In label bin "≥ 0" group c lives in fold 1 only."""
    s = np.where(DATA.s == 1, "b", "a").astype(object)
    s[(DATA.y >= 0) & (ROWS % 3 == 1) & (DATA.s == 1)] = "c"
    s[(DATA.y < 0) & (DATA.s == 1) & (ROWS % 2 == 0)] = "c"
    cells = pd.crosstab([DATA.y >= 0, ROWS % 3], s)
    assert cells.loc[(True, 1), "c"] > 0
    assert cells.loc[(True, 0), "c"] == cells.loc[(True, 2), "c"] == 0
    assert (cells.loc[False] > 0).all(axis=None)
    search = FairRegressorCV(alphas=[0.1, 1.0], epsilons=[0.0, None], y_bins=EDGES, cv=PARTS)
    search.fit(DATA.X, DATA.y, sensitive_features=s)
    dropped = [set(search.cv_results_[f"split{k}_dropped_pairs"]) for k in range(3)]
    assert dropped == [{0}, {2}, {0}]  # a and b with c
    assert np.isfinite(search.cv_results_["mean_test_error"]).all()
    for k, (train, test) in enumerate(PARTS.split()):
        for i, params in enumerate(search.cv_results_["params"]):
            model = FairRegressor(y_bins=EDGES, **params)
            model.fit(DATA.X[train], DATA.y[train], sensitive_features=s[train])
            error = np.abs(model.predict(DATA.X[test]) - DATA.y[test]).mean()
            assert search.cv_results_[f"split{k}_test_error"][i] == pytest.approx(error)


def test_a_fold_that_tests_one_group_has_no_unfairness():
    parts = np.where(DATA.s == 1, ROWS % 2, ROWS % 3)  # fold 2 tests group 0 only
    search = FairRegressorCV(
        alphas=[0.1, 1.0], y_bins=EDGES, cv=PredefinedSplit(parts), epsilons=[0.0, None]
    )
    search.fit(DATA.X, DATA.y, sensitive_features=DATA.s)
    table = search.cv_results_
    assert np.isnan(table["split2_test_dgf"]).all()
    both = np.array([table["split0_test_dgf"], table["split1_test_dgf"]])
    np.testing.assert_allclose(table["mean_test_dgf"], both.mean(axis=0))
    np.testing.assert_allclose(table["std_test_dgf"], both.std(axis=0))
    assert set(table["n_test_dgf"]) == {2}
    assert np.isfinite(table["mean_test_error"]).all()
    assert np.isfinite(search.best_unfairness_)
    assert {*table["split0_dropped_pairs"], *table["split2_dropped_pairs"]} == {0}


SINGLE = [(np.flatnonzero(DATA.s == 1), np.flatnonzero(DATA.s == 0)), *PARTS.split()]


@pytest.mark.parametrize(
    "options",
    [{}, {"kernel": "linear"}, {"loss": "huber", "kernel": "linear"}, {"loss": "huber"}],
    ids=str,
)
def test_a_fold_that_learns_from_one_group_fails_the_constrained_settings(options):
    grid = {"alphas": [0.1, 1.0], "epsilons": [0.0, None, 0.05]}
    search = FairRegressorCV(**options, **grid, y_bins=EDGES, cv=SINGLE, tolerance=0.9)
    message = (
        r"4 of 6 settings failed in a fold.*mean error is NaN. In fold 0, "
        r"\{'alpha': 0.1, 'epsilon': 0.0\}: sensitive_features.*single group.*Use folds that keep"
    )
    with pytest.warns(FitFailedWarning, match=message) as caught:
        search.fit(DATA.X, DATA.y, sensitive_features=DATA.s)
    assert [one.filename for one in caught] == [__file__]
    table = search.cv_results_
    plain = np.array([params["epsilon"] is None for params in table["params"]])
    for name in ("mean_test_error", "std_test_error", "split0_test_error"):
        np.testing.assert_array_equal(np.isfinite(table[name]), plain, err_msg=name)
    assert np.isfinite(table["split1_test_error"]).all()
    assert set(table["rank_test_error"][~plain]) == {3}
    assert search.best_params_["epsilon"] is None
    assert table["split0_dropped_pairs"][0] == 2
    assert set(search.pareto_) <= set(np.flatnonzero(plain))


def test_constrained_settings_alone_cannot_survive_such_a_fold():
    search = FairRegressorCV(alphas=[1.0], y_bins=EDGES, cv=SINGLE)
    message = "Every setting failed in at least one fold.*single group.*Use folds that keep all gr"
    with pytest.raises(ValueError, match=message):
        search.fit(DATA.X, DATA.y, sensitive_features=DATA.s)


def test_settings_that_no_model_meets_are_passed_over():
    search = FairRegressorCV(
        kernel="linear", match="residual", alphas=[1.0], epsilons=[0.0, None], y_bins=6, cv=3
    )
    message = r"1 of 2 settings failed.*\{'alpha': 1.0, 'epsilon': 0.0\}: no model meets epsilon=0"
    with pytest.warns(FitFailedWarning, match=message):
        search.fit(DATA.X, DATA.y, sensitive_features=DATA.s)
    assert search.best_params_ == {"alpha": 1.0, "epsilon": None}


def test_settings_that_cannot_be_scored_are_passed_over():
    def unless_constrained(model, X, y):
        return np.nan if np.ptp(model.predict(X)) < 3 else 0.5  # strong alphas flatten

    grid = {"alphas": [0.01, 1e4], "y_bins": 1}
    search = FairRegressorCV(scoring=unless_constrained, cv=3, **grid)
    with pytest.warns(FitFailedWarning, match=r"1 of 2 settings.*scoring gave NaN"):
        search.fit(DATA.X, DATA.y, sensitive_features=DATA.s)
    assert search.best_params_["alpha"] == 0.01


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_models_that_do_not_converge_are_counted(kernel):
    search = FairRegressorCV("huber", kernel=kernel, alphas=[0.1, 1.0], y_bins=2, cv=3, max_iter=1)
    with pytest.warns(ConvergenceWarning) as caught:
        search.fit(DATA.X, DATA.y, sensitive_features=DATA.s)
    told = [one for one in caught if re.search(r"[1-6] of 6 models did not", str(one.message))]
    assert len(told) == 1
    assert told[0].filename == __file__


def test_models_that_do_not_exist_are_not_counted():
    grid = {"alphas": [0.1, 1.0], "epsilons": [0.0, None], "max_iter": 1}
    search = FairRegressorCV("huber", kernel="linear", **grid, y_bins=EDGES, cv=SINGLE)
    with pytest.warns() as caught:  # fourteen models: in one of four folds half are missing
        search.fit(DATA.X, DATA.y, sensitive_features=DATA.s)
    assert any("of 14 models did not reach" in str(one.message) for one in caught)


def test_one_fold_a_row_may_choose_by_error():
    search = FairRegressorCV(alphas=[0.1, 1.0], y_bins=2, cv=LeaveOneOut(), selection="error")
    search.fit(DATA.X, DATA.y, sensitive_features=DATA.s)
    table = search.cv_results_
    assert search.n_splits_ == N
    assert np.isnan(table["mean_test_dgf"]).all()
    assert np.isnan(table["std_test_dgf"]).all()
    assert set(table["n_test_dgf"]) == {0}
    assert search.pareto_.size == 0
    assert np.isnan(search.best_unfairness_)
    assert search.best_index_ == table["mean_test_error"].argmin()


@pytest.mark.parametrize("unfairness", ["auto", mean_distance, partial(mean_distance)])
def test_without_s_the_choice_is_by_error_and_unfairness_unknown(unfairness):
    options = {"epsilons": [None], "selection": "error", "unfairness": unfairness}
    search = FairRegressorCV(alphas=[0.1, 1.0], **options).fit(DATA.X, DATA.y)
    assert np.isnan(search.cv_results_[f"mean_test_{search.unfairness_}"]).all()
    assert search.best_index_ == search.cv_results_["mean_test_error"].argmin()
    again = FairRegressorCV(alphas=[0.1, 1.0], epsilons=[None], selection="error", y_bins=2)
    again.fit(DATA.X, DATA.y, sensitive_features=DATA.s)
    assert again.best_index_ == search.best_index_
    assert np.isfinite(again.cv_results_["mean_test_dgf"]).all()


def test_one_group_may_choose_by_error():
    search = FairRegressorCV(alphas=[0.1, 1.0], epsilons=[None], selection="error")
    search.fit(DATA.X, DATA.y, sensitive_features=np.ones(N))
    assert np.isnan(search.best_unfairness_)
    with pytest.raises(NothingToCompareError, match="single group"):
        search.set_params(epsilons=[None, 0.0]).fit(DATA.X, DATA.y, sensitive_features=np.ones(N))


def test_a_callable_may_not_take_the_name_of_the_error():
    def error(y_true, y_pred, *, sensitive_features):
        return 0.25

    search = FairRegressorCV(alphas=[0.1, 1.0], y_bins=2, unfairness=error)
    search.fit(DATA.X, DATA.y, sensitive_features=DATA.s)
    assert search.unfairness_ == "unfairness"
    assert set(search.cv_results_["mean_test_unfairness"]) == {0.25}
    assert 0.25 not in search.cv_results_["mean_test_error"]


def test_a_rule_that_names_another_unfairness_is_told():
    search = FairRegressorCV(alphas=[1.0], y_bins=1, selection=fairest_within())
    message = r"'mean_test_dgf' is not a column.*'mean_test_mean_distance'"
    with pytest.raises(ValueError, match=message):
        search.fit(DATA.X, DATA.y, sensitive_features=DATA.s)


def test_bins_of_fewer_classes_than_there_are_is_a_choice():
    search = FairClassifierCV("squared", alphas=[0.1, 1.0], y_bins=["yes"])
    search.fit(DATA.X, DATA.classes, sensitive_features=DATA.s)
    assert search.unfairness_ == "dgf"  # equal opportunity
    named = FairClassifierCV("squared", alphas=[0.1, 1.0], y_bins=Bins.categories(["yes"]))
    named.fit(DATA.X, DATA.classes, sensitive_features=DATA.s)
    for name in ("mean_test_error", "mean_test_dgf"):
        np.testing.assert_array_equal(search.cv_results_[name], named.cv_results_[name])
