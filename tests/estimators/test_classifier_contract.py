"""FairClassifier, and FairRegressor with robust losses, keep scikit-learn's contract."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.utils import check_array
from sklearn.utils.estimator_checks import parametrize_with_checks

from gferm import Bins, FairClassifier, FairRegressor
from gferm.losses import CLASSIFICATION_LOSSES, LOSSES, Huber, Quantile
from tests.estimators.models import LEARNERS, ROBUST_LOSSES, labels_for, learner


def groups_of(X):
    """Read s off the rows of X, because scikit-learn's checks know of no s."""
    rows = check_array(X, accept_sparse="csr")
    size = np.abs(np.asarray(rows.sum(axis=1)).ravel())
    return np.floor(7 * size) % 2  # both groups occur in every check's data, integers too


class ClassesByParity(FairClassifier):
    def fit(self, X, y, *, sample_weight=None):
        return super().fit(X, y, sensitive_features=groups_of(X), sample_weight=sample_weight)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # of the two features of a check, one is left
        return tags


class NumbersByParity(FairRegressor):
    def fit(self, X, y, *, sample_weight=None):
        return super().fit(X, y, sensitive_features=groups_of(X), sample_weight=sample_weight)


KERNELS = ("linear", "rbf")
PLAIN, PARITY = {"epsilon": None}, {"y_bins": 1}
CLASSIFIERS = [
    kind(loss, kernel=kernel, **options)
    for kind, options in ((FairClassifier, PLAIN), (ClassesByParity, PARITY))
    for loss in CLASSIFICATION_LOSSES
    for kernel in KERNELS
]
REGRESSORS = [
    *(FairRegressor(loss, kernel="linear", **PLAIN) for loss in ROBUST_LOSSES),
    *(NumbersByParity(loss, **PARITY) for loss in ROBUST_LOSSES),
]


# Some checks fit rows that are all alike, which leaves nothing but the constant model.
@pytest.mark.filterwarnings("ignore::gferm.exceptions.ConstantModelWarning")
@parametrize_with_checks([*CLASSIFIERS, *REGRESSORS])
def test_estimator_passes_the_checks_of_scikit_learn(estimator, check, monkeypatch):
    if "sample_weight_equivalence" in str(check):
        # It compares seven digits of the predictions, which takes a gap at the edge of rounding.
        estimator = clone(estimator).set_params(tol=1e-14)
        warnings.simplefilter("ignore", ConvergenceWarning)
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # or the array API check is skipped
    check(estimator)


ARGUMENTS = {
    "loss": LOSSES["squared_hinge"],
    "kernel": "poly",
    "gamma": 0.3,
    "degree": 2,
    "coef0": 2.0,
    "kernel_params": {"unused": [1]},
    "n_landmarks": 40,
    "landmarks": "leverage",
    "alpha": 0.7,
    "epsilon": 0.05,
    "epsilon_scale": "sum",
    "y_bins": ["yes"],
    "s_bins": {"sensitive": Bins.categories([0, 1])},
    "intersectional": False,
    "match": "residual",
    "min_cell_size": 2,
    "fit_intercept": False,
    "solver": "spectrum",
    "tol": 1e-5,
    "max_iter": 777,
    "device": "cpu",
    "random_state": 3,
}


def fit(model, problem):
    return model.fit(problem.X, problem.y, sensitive_features=problem.s)


def test_the_table_of_arguments_leaves_none_out_and_repeats_no_default():
    defaults = FairClassifier().get_params()
    assert ARGUMENTS.keys() == defaults.keys() == FairRegressor().get_params().keys()
    assert not [name for name in defaults if ARGUMENTS[name] == defaults[name]]


def test_arguments_come_back_from_get_params_and_go_in_by_set_params():
    model = FairClassifier(**ARGUMENTS)
    for name, value in model.get_params().items():
        assert value is ARGUMENTS[name]
    assert FairClassifier().set_params(**ARGUMENTS).get_params() == model.get_params()


def test_fit_never_changes_a_constructor_argument(binary):
    model = FairClassifier(**ARGUMENTS)
    before = copy.deepcopy(ARGUMENTS)
    fit(model, binary)
    for name, value in model.get_params().items():
        assert value is ARGUMENTS[name]
        assert value == before[name]


@pytest.mark.parametrize("again", [clone, lambda model: pickle.loads(pickle.dumps(model))])
def test_clones_and_pickles_learn_the_same_model(again, binary):
    model = fit(FairClassifier(**ARGUMENTS), binary)
    twin = again(FairClassifier(**ARGUMENTS))
    assert vars(twin).keys() == ARGUMENTS.keys()
    np.testing.assert_array_equal(fit(twin, binary).dual_coef_, model.dual_coef_)


@pytest.mark.parametrize("loss", CLASSIFICATION_LOSSES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_pickled_model_predicts_the_same_and_can_be_fitted_again(loss, kernel, classes):
    model = fit(FairClassifier(loss, kernel=kernel, alpha=0.3, epsilon=0.002), classes)
    back = pickle.loads(pickle.dumps(model))
    expected = model.decision_function(classes.X_new)
    np.testing.assert_array_equal(back.decision_function(classes.X_new), expected)
    np.testing.assert_array_equal(back.predict(classes.X_new), model.predict(classes.X_new))
    assert back.contrasts_.compared == model.contrasts_.compared
    np.testing.assert_array_equal(fit(back, classes).decision_function(classes.X_new), expected)


@pytest.mark.parametrize("loss", [Huber(0.5), Quantile(0.9)], ids=repr)
def test_a_loss_object_survives_clone_and_pickle_by_value(loss, problem):
    model = fit(FairRegressor(loss, y_bins=2), problem)
    for twin in (clone(model), pickle.loads(pickle.dumps(model))):
        assert twin.loss == loss
        np.testing.assert_array_equal(fit(twin, problem).dual_coef_, model.dual_coef_)
        assert twin.set_params(loss="absolute").loss == "absolute"


def test_repr_shows_what_was_changed_and_can_be_read_back(binary):
    model = FairClassifier("log_loss", kernel="linear", y_bins=["yes"])
    shown = "FairClassifier(kernel='linear', loss='log_loss', y_bins=['yes'])"
    assert repr(model) == shown
    assert eval(shown).get_params() == model.get_params()
    assert repr(FairRegressor(Huber(0.5))) == "FairRegressor(loss=Huber(delta=0.5))"
    assert repr(fit(FairClassifier(), binary)) == "FairClassifier()"


def test_scikit_learn_knows_what_is_a_classifier():
    assert is_classifier(FairClassifier())
    assert not is_classifier(FairRegressor())


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("first", KERNELS)
def test_a_second_fit_leaves_no_trace_of_the_first(name, first, problem):
    labels, s = labels_for(name, problem), problem.s
    fresh = learner(name).fit(problem.X, labels, sensitive_features=s)
    again = learner(name, kernel=first, epsilon=None, fit_intercept=False)
    again.fit(problem.X[:, :2], labels).set_params(**fresh.get_params())
    again.fit(problem.X, labels, sensitive_features=s)
    assert vars(again).keys() == vars(fresh).keys()
    assert again.n_features_in_ == fresh.n_features_in_
    np.testing.assert_array_equal(again.predict(problem.X_new), fresh.predict(problem.X_new))
    np.testing.assert_array_equal(again.dual_coef_, fresh.dual_coef_)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_grid_search_over_losses_and_alphas_is_the_loop_over_them(kernel, classes):
    grid = {"loss": ["hinge", "log_loss", LOSSES["squared"]], "alpha": [0.1, 1.0]}
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    X, y, s = classes.X, classes.y, classes.s
    with sklearn.config_context(enable_metadata_routing=True):
        model = FairClassifier(kernel=kernel, y_bins=1).set_fit_request(sensitive_features=True)
        search = GridSearchCV(model, grid, cv=folds, error_score="raise")
        search.fit(X, y, sensitive_features=s)
    for fold, (train, test) in enumerate(folds.split(X, y)):
        for i, chosen in enumerate(search.cv_results_["params"]):
            one = FairClassifier(kernel=kernel, y_bins=1, **chosen)
            one.fit(X[train], y[train], sensitive_features=s[train])
            score = accuracy_score(y[test], one.predict(X[test]))
            assert search.cv_results_[f"split{fold}_test_score"][i] == pytest.approx(score)
    whole = fit(FairClassifier(kernel=kernel, y_bins=1, **search.best_params_), classes)
    np.testing.assert_array_equal(search.predict(classes.X_new), whole.predict(classes.X_new))
    assert search.best_score_ > 0.6
