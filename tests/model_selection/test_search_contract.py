"""FairRegressorCV and FairClassifierCV keep scikit-learn's contract, alone and inside others."""

import copy
import pickle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.metrics import accuracy_score, r2_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_validate
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_array, get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from gferm import Bins, FairClassifier, FairClassifierCV, FairRegressor, FairRegressorCV
from gferm.losses import LOSSES
from gferm.metrics import mean_distance
from gferm.model_selection import lowest_error
from tests.problems import make_problem

PLAIN = {"alphas": [0.1, 10.0], "epsilons": [None], "selection": "error", "cv": 2}


class FairByParity(FairRegressorCV):
    """Reads s off the rows of X, because scikit-learn's checks know of no s."""

    def fit(self, X, y, *, sample_weight=None):
        rows = check_array(X, accept_sparse="csr")
        size = np.abs(np.asarray(rows.sum(axis=1)).ravel())
        s = np.floor(5 * size) % 2  # both groups occur in both folds of every check
        return super().fit(X, y, sensitive_features=s, sample_weight=sample_weight)


SEARCHES = [
    *(FairRegressorCV(kernel=kernel, **PLAIN) for kernel in ("linear", "rbf", "precomputed")),
    FairRegressorCV("huber", kernel="linear", **PLAIN),
    FairByParity(**{**PLAIN, "epsilons": [0.0], "y_bins": 1}),
    *(FairClassifierCV("squared", kernel=kernel, **PLAIN) for kernel in ("linear", "rbf")),
    FairClassifierCV("log_loss", **{**PLAIN, "alphas": [1.0]}),
]
# Checks that round a kernel matrix, to integers or to float32: the result is indefinite.
ROUNDING = ("check_estimators_dtypes", "check_regressors_train(readonly_memmap=True,X_dtype=f")


# Two checks fit rows that are all alike, which leaves nothing but the constant model.
@pytest.mark.filterwarnings("ignore::gferm.exceptions.ConstantModelWarning")
@parametrize_with_checks(SEARCHES)
def test_search_passes_the_checks_of_scikit_learn(estimator, check, monkeypatch, request):
    if estimator.kernel == "precomputed" and any(name in request.node.name for name in ROUNDING):
        pytest.skip("the check rounds the kernel matrix, which is indefinite then")
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # or the array API check is skipped
    check(estimator)


def make_data(classes):
    """Ninety rows, thirty of which are new."""
    problem = make_problem(n=90, d=4, n_groups=2)
    y = problem.y
    if classes:
        y = np.where(y > np.median(y), "yes", "no")
    arrays = (problem.X[:60], y[:60], problem.s[:60], problem.X[60:])
    for array in arrays:
        array.setflags(write=False)  # no fit may write into these
    return SimpleNamespace(**dict(zip(("X", "y", "s", "X_new"), arrays, strict=True)))


NUMBERS, CLASSES = make_data(classes=False), make_data(classes=True)

SHARED = {
    "alphas": [0.5, 5.0],
    "gammas": [0.1, None],
    "epsilons": [0.05, None],
    "kernel": "poly",
    "kernel_grid": {"coef0": [0.5, 2.0]},
    "degree": 2,
    "coef0": 2.0,
    "kernel_params": {"unused": [1]},
    "n_landmarks": 30,
    "landmarks": "leverage",
    "epsilon_scale": "sum",
    "s_bins": {"sensitive": Bins.categories([0, 1])},
    "intersectional": False,
    "match": "residual",
    "min_cell_size": 2,
    "fit_intercept": False,
    "tol": 1e-5,
    "max_iter": 777,
    "device": "cpu",
    "cv": KFold(3, shuffle=True, random_state=0),
    "unfairness": mean_distance,
    "selection": lowest_error(),
    "tolerance": 0.3,
    "random_state": 3,
    "n_jobs": 1,
    "verbose": False,
}
TABLES = {
    FairRegressorCV: {
        "loss": LOSSES["squared"],
        "y_bins": [-100.0, 0.0, 100.0],
        "scoring": "r2",
        **SHARED,
    },
    FairClassifierCV: {
        "loss": "squared",
        "y_bins": ["yes"],
        "scoring": "roc_auc",
        **SHARED,
        "unfairness": "dgf",
    },
}
SMALL = {"alphas": [0.1, 10.0], "cv": 3}
KINDS = {
    "numbers": (FairRegressorCV(y_bins=2, **SMALL), NUMBERS),
    "linear": (FairRegressorCV(kernel="linear", y_bins=2, **SMALL), NUMBERS),
    "classes": (FairClassifierCV("squared", **SMALL), CLASSES),
    "probabilities": (FairClassifierCV("log_loss", kernel="linear", **SMALL), CLASSES),
}


@pytest.fixture(params=TABLES, ids=lambda kind: kind.__name__)
def table(request):
    data = CLASSES if request.param is FairClassifierCV else NUMBERS
    return request.param, TABLES[request.param], data


@pytest.fixture(params=KINDS)
def kind(request):
    search, data = KINDS[request.param]
    return clone(search), data


def fit(search, data, **options):
    return search.fit(data.X, data.y, sensitive_features=data.s, **options)


def values(search, X):
    """Decisions tell more than classes."""
    return getattr(search, "decision_function", search.predict)(X)


def test_the_table_of_arguments_leaves_none_out_and_repeats_no_default(table):
    kind, arguments, _ = table
    defaults = kind().get_params()
    assert arguments.keys() == defaults.keys()
    repeated = [name for name in defaults if arguments[name] is defaults[name]]
    assert repeated == (["verbose"] if defaults["verbose"] is False else [])


def test_arguments_come_back_from_get_params_and_go_in_by_set_params(table):
    kind, arguments, _ = table
    search = kind(**arguments)
    for name, value in search.get_params().items():
        assert value is arguments[name]
    assert kind().set_params(**arguments).get_params() == search.get_params()


def test_fit_never_changes_a_constructor_argument(table):
    kind, arguments, data = table
    search, before = kind(**arguments), copy.deepcopy(arguments)
    fit(search, data)
    for name, value in search.get_params().items():
        assert value is arguments[name]
        same = repr if name in ("cv", "loss") else lambda one: one
        assert same(value) == same(before[name])


def test_the_chosen_model_has_the_arguments_of_the_search(table):
    kind, arguments, data = table
    search = fit(kind(**arguments), data)
    for name, value in search.best_estimator_.get_params().items():
        if name in search.best_params_:
            assert value == search.best_params_[name]
        elif name != "solver":
            assert value == arguments[name], name


def test_clones_are_unfitted_and_choose_the_same(kind):
    search, data = kind
    twin = clone(fit(search, data))
    assert vars(twin).keys() == search.get_params().keys()
    fit(twin, data)
    assert twin.best_params_ == search.best_params_
    np.testing.assert_array_equal(values(twin, data.X_new), values(search, data.X_new))


def test_a_pickled_search_predicts_the_same_and_can_be_fitted_again(kind):
    search, data = kind
    fit(search, data)
    back = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(values(back, data.X_new), values(search, data.X_new))
    assert back.cv_results_.keys() == search.cv_results_.keys()
    assert back.rule_ == search.rule_
    assert fit(back, data).best_index_ == search.best_index_


def test_repr_shows_what_was_changed_and_can_be_read_back():
    shown = "FairRegressorCV(alphas=[1], epsilons=[0, None], kernel='linear')"
    search = FairRegressorCV(kernel="linear", alphas=[1], epsilons=[0, None])
    assert repr(search) == shown
    assert eval(shown).get_params() == search.get_params()
    assert repr(FairClassifierCV("log_loss")) == "FairClassifierCV(loss='log_loss')"
    assert repr(FairRegressorCV()) == "FairRegressorCV()"


def test_what_is_predicted_is_what_the_chosen_model_predicts(kind):
    search, data = kind
    assert fit(search, data) is search
    best = search.best_estimator_
    assert type(best) is (FairClassifier if data is CLASSES else FairRegressor)
    np.testing.assert_array_equal(search.predict(data.X_new), best.predict(data.X_new))
    metric = accuracy_score if data is CLASSES else r2_score
    assert search.score(data.X, data.y) == pytest.approx(metric(data.y, search.predict(data.X)))
    weight = np.linspace(0.0, 2.0, len(data.y))
    expected = metric(data.y, search.predict(data.X), sample_weight=weight)
    assert search.score(data.X, data.y, sample_weight=weight) == pytest.approx(expected)
    if data is CLASSES:
        np.testing.assert_array_equal(search.classes_, ["no", "yes"])
        decisions = search.decision_function(data.X_new)
        np.testing.assert_array_equal(decisions, best.decision_function(data.X_new))
    assert search.n_iter_ == best.n_iter_


def test_the_chosen_model_is_one_fitted_on_all_rows_with_the_chosen_setting(kind):
    search, data = kind
    fit(search, data)
    model = search.best_estimator_
    assert {name: getattr(model, name) for name in search.best_params_} == search.best_params_
    again = fit(clone(model), data)
    np.testing.assert_array_equal(values(again, data.X_new), values(search, data.X_new))


def test_to_sklearn_predicts_the_same(kind):
    search, data = kind
    plain = fit(search, data).to_sklearn()
    assert type(plain).__module__.startswith("sklearn.")
    expected = search.predict(data.X_new)
    if data is NUMBERS:
        np.testing.assert_allclose(plain.predict(data.X_new), expected, rtol=1e-9)
    else:
        np.testing.assert_array_equal(plain.predict(data.X_new), expected)


def test_probabilities_are_there_for_the_log_loss_only():
    hinge = FairClassifierCV(**SMALL)
    assert not hasattr(hinge, "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba") as error:
        hinge.predict_proba(CLASSES.X)
    assert "use loss='log_loss'" in str(error.value.__cause__)
    assert not hasattr(FairRegressorCV(), "decision_function")
    search, data = KINDS["probabilities"]
    search = fit(clone(search), data)
    shares = search.predict_proba(data.X_new)
    np.testing.assert_array_equal(shares, search.best_estimator_.predict_proba(data.X_new))
    np.testing.assert_array_equal(
        search.classes_[shares.argmax(axis=1)], search.predict(data.X_new)
    )


@pytest.mark.parametrize("method", ["predict", "decision_function", "predict_proba", "to_sklearn"])
def test_before_fit_every_method_says_to_call_fit(method):
    given = () if method == "to_sklearn" else (CLASSES.X,)
    with pytest.raises(NotFittedError, match=r"FairClassifierCV.*Call 'fit'"):
        getattr(FairClassifierCV("log_loss"), method)(*given)
    if hasattr(FairRegressorCV, method):
        with pytest.raises(NotFittedError, match=r"FairRegressorCV.*Call 'fit'"):
            getattr(FairRegressorCV(), method)(*given)


def test_scikit_learn_knows_what_it_is():
    assert is_regressor(FairRegressorCV())
    assert is_classifier(FairClassifierCV())
    assert get_tags(FairRegressorCV(kernel="precomputed")).input_tags.pairwise
    assert not get_tags(FairRegressorCV()).input_tags.pairwise
    assert get_tags(FairRegressorCV()).input_tags.sparse
    assert not get_tags(FairRegressorCV(kernel="precomputed")).input_tags.sparse
    assert get_tags(FairClassifierCV(kernel="chi2")).input_tags.positive_only


@pytest.mark.parametrize("second", KINDS)
def test_a_second_fit_leaves_no_trace_of_the_first(second):
    search, data = KINDS[second]
    fresh = fit(clone(search), data)
    again = type(search)(epsilons=[None], alphas=[3.0], cv=2, selection="error", scoring=score_zero)
    again.fit(pd.DataFrame(data.X[:, :2], columns=["p", "q"]), data.y)
    assert hasattr(again, "feature_names_in_")
    fit(again.set_params(**fresh.get_params()), data)
    assert vars(again).keys() == vars(fresh).keys()
    assert again.n_features_in_ == fresh.n_features_in_
    assert again.cv_results_.keys() == fresh.cv_results_.keys()
    np.testing.assert_array_equal(values(again, data.X_new), values(fresh, data.X_new))


def score_zero(model, X, y):
    return 0.0


def as_pandas(data):
    index = np.random.default_rng(0).permutation(1000)[: len(data.y)]
    X = pd.DataFrame(data.X, index=index, columns=list("abcd"))
    return X, pd.Series(data.y, index=index), pd.Series(data.s, index=index, name="sex")


def as_polars(data):
    return pl.DataFrame(data.X, schema=list("abcd")), pl.Series(data.y), pl.Series("sex", data.s)


@pytest.mark.parametrize("convert", [as_pandas, as_polars])
def test_data_frames_give_the_same_numbers_and_keep_their_names(kind, convert):
    search, data = kind
    expected = fit(clone(search), data)
    X, y, s = convert(data)
    search.fit(X, y, sensitive_features=s)
    assert search.feature_names_in_.tolist() == list("abcd")
    assert search.n_features_in_ == 4
    for name, column in expected.cv_results_.items():
        if "_test_" in name:
            np.testing.assert_allclose(search.cv_results_[name], column, rtol=1e-9, err_msg=name)
    names = [part.name for part in search.best_estimator_.cells_.partitions]
    assert names == ["sex"]
    new = type(X)(data.X_new, **{"schema" if convert is as_polars else "columns": list("abcd")})
    np.testing.assert_allclose(values(search, new), values(expected, data.X_new), rtol=1e-9)
    with pytest.raises(ValueError, match="feature names should match"):
        search.predict(new[["b", "a", "c", "d"]])


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_rows_give_the_same_numbers(kind, container):
    search, data = kind
    X = np.where(np.abs(data.X) > 0.5, data.X, 0.0)
    dense = clone(search).fit(X, data.y, sensitive_features=data.s)
    search.fit(container(X), data.y, sensitive_features=data.s)
    for name, column in dense.cv_results_.items():
        if "_test_" in name:
            np.testing.assert_allclose(search.cv_results_[name], column, rtol=1e-8, err_msg=name)
    assert search.best_index_ == dense.best_index_


def test_lists_are_rows_too(kind):
    search, data = kind
    expected = fit(clone(search), data)
    search.fit(data.X.tolist(), data.y.tolist(), sensitive_features=data.s.tolist())
    np.testing.assert_array_equal(values(search, data.X_new), values(expected, data.X_new))


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def requesting(search):
    search.set_fit_request(sensitive_features=True, sample_weight=True, groups=True)
    return search.set_score_request(sample_weight=True)


WEIGHT = np.random.default_rng(1).uniform(0.5, 2.0, 60)
GROUPS = np.arange(60) // 3  # households of three


def take(data, rows):
    metadata = {"sensitive_features": data.s, "sample_weight": WEIGHT, "groups": GROUPS}
    return data.X[rows], data.y[rows], {name: values[rows] for name, values in metadata.items()}


@pytest.mark.usefixtures("routing")
def test_in_a_pipeline_and_nested_folds_s_weights_and_groups_follow_the_rows(kind):
    search, data = kind
    search = requesting(search.set_params(cv=GroupKFold(3)))
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    outer = GroupKFold(2)
    X, y, metadata = take(data, np.arange(60))
    pipeline = Pipeline([("scale", scaler), ("search", search)])
    found = cross_validate(pipeline, X, y, cv=outer, params=metadata, return_estimator=True)
    for (train, test), routed in zip(outer.split(X, y, GROUPS), found["estimator"], strict=True):
        X_part, y_part, metadata_part = take(data, train)
        scaled = StandardScaler().fit(X_part)
        by_hand = clone(search).fit(scaled.transform(X_part), y_part, **metadata_part)
        for name, column in by_hand.cv_results_.items():
            if "_test_" in name:
                np.testing.assert_array_equal(routed[-1].cv_results_[name], column)
        expected = values(by_hand, scaled.transform(X[test]))
        np.testing.assert_array_equal(values(routed, X[test]), expected)


@pytest.mark.usefixtures("routing")
def test_a_grid_search_over_searches_passes_them_on(kind):
    search, data = kind
    search = requesting(search.set_params(cv=GroupKFold(2)))
    X, y, metadata = take(data, np.arange(60))
    outer = GridSearchCV(search, {"tolerance": [0.0, 0.5]}, cv=GroupKFold(2), error_score="raise")
    outer.fit(X, y, **metadata)
    for k, (train, test) in enumerate(GroupKFold(2).split(X, y, GROUPS)):
        for i, tolerance in enumerate((0.0, 0.5)):
            X_part, y_part, part = take(data, train)
            by_hand = clone(search).set_params(tolerance=tolerance).fit(X_part, y_part, **part)
            score = by_hand.score(X[test], y[test], sample_weight=WEIGHT[test])
            assert outer.cv_results_[f"split{k}_test_score"][i] == pytest.approx(score)


@pytest.mark.usefixtures("routing")
def test_a_precomputed_kernel_is_cut_on_both_sides_by_both_loops():
    K = rbf_kernel(NUMBERS.X, gamma=0.2)
    s, cv = {"sensitive_features": NUMBERS.s}, KFold(3)
    named, precomputed = (
        cross_validate(
            FairRegressorCV(y_bins=2, **SMALL, **options).set_fit_request(sensitive_features=True),
            rows, NUMBERS.y, cv=cv, params=s, return_estimator=True,
        )
        for rows, options in ((NUMBERS.X, {"gammas": [0.2]}), (K, {"kernel": "precomputed"}))
    )  # fmt: skip
    np.testing.assert_allclose(precomputed["test_score"], named["test_score"], rtol=1e-8)
    for one, other in zip(precomputed["estimator"], named["estimator"], strict=True):
        for name in ("mean_test_error", "mean_test_dgf"):
            np.testing.assert_allclose(one.cv_results_[name], other.cv_results_[name], rtol=1e-8)


@pytest.mark.usefixtures("routing")
def test_s_that_nobody_requested_is_an_error_and_never_an_unfair_model(kind):
    search, data = kind
    with pytest.raises(UnsetMetadataPassedError, match="sensitive_features"):
        cross_validate(search, data.X, data.y, params={"sensitive_features": data.s})
    with pytest.raises(ValueError, match="sensitive_features is missing"):
        cross_validate(search, data.X, data.y, error_score="raise")
