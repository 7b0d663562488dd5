"""FairRegressor keeps scikit-learn's contract, with the constraint off and with it on."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils import check_array
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.metaestimators import available_if

from gferm import Bins, FairRegressor
from gferm.estimators.streaming import can_stream


def parity_of(X):
    rows = check_array(X, accept_sparse="csr")
    size = np.abs(np.asarray(rows.sum(axis=1)).ravel())
    return np.floor(7 * size) % 2  # both groups occur in every check's data, integers too


class FairByParity(FairRegressor):
    """Reads s off the rows of X, because scikit-learn's checks know of no s."""

    def fit(self, X, y, *, sample_weight=None):
        s = parity_of(X)
        return super().fit(X, y, sensitive_features=s, sample_weight=sample_weight)

    @available_if(can_stream)
    def partial_fit(self, X, y, *, sample_weight=None):
        s = parity_of(X)
        return super().partial_fit(X, y, sensitive_features=s, sample_weight=sample_weight)


# Not "precomputed": a check cuts its kernel matrix to integers, and the result is indefinite.
PLAIN = [
    FairRegressor(epsilon=None, kernel=kernel)
    for kernel in ("linear", "rbf", "polynomial", "cosine", "chi2")
]
# Warnings are errors, so no check may find the constraint inactive at the positive epsilon.
FAIR = [
    FairByParity(epsilon=epsilon, kernel=kernel, y_bins=1)
    for kernel in ("linear", "rbf")
    for epsilon in (0.0, 1e-4)
]
ON_LANDMARKS = [
    FairRegressor(epsilon=None, n_landmarks=1, random_state=0),
    FairByParity(y_bins=1, n_landmarks=1, random_state=0),
]


def not_for_one_landmark(estimator):
    """The checks have as few as one row, so one landmark is all there can be."""
    if estimator.n_landmarks is None:
        return {}
    failing = {"check_regressors_train": "one landmark explains little"}
    if estimator.epsilon is None:
        for kind in ("dense", "sparse"):
            name = f"check_sample_weight_equivalence_on_{kind}_data"
            failing[name] = "landmarks are drawn among the rows, and other rows have others"
    return failing


# Two checks fit rows that are all alike, which leaves nothing but the constant model.
@pytest.mark.filterwarnings("ignore::gferm.exceptions.ConstantModelWarning")
@parametrize_with_checks(
    [*PLAIN, *FAIR, *ON_LANDMARKS], expected_failed_checks=not_for_one_landmark
)
def test_estimator_passes_the_checks_of_scikit_learn(estimator, check, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # or the array API check is skipped
    check(estimator)


ARGUMENTS = {
    "loss": "squared",
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
    "y_bins": [-100.0, 0.0, 100.0],
    "s_bins": {"sensitive": Bins.categories([0, 1])},
    "intersectional": False,
    "match": "residual",
    "min_cell_size": 2,
    "fit_intercept": False,
    "solver": "spectrum",
    "tol": 1e-5,
    "max_iter": 77,
    "device": "cpu",
    "random_state": 3,
}


def fit(model, problem):
    return model.fit(problem.X, problem.y, sensitive_features=problem.s)


def test_the_table_of_arguments_leaves_none_out_and_repeats_no_default():
    defaults = FairRegressor().get_params()
    assert ARGUMENTS.keys() == defaults.keys()
    assert [name for name in defaults if ARGUMENTS[name] == defaults[name]] == ["loss"]


def test_arguments_come_back_from_get_params_and_go_in_by_set_params():
    model = FairRegressor(**ARGUMENTS)
    for name, value in model.get_params().items():
        assert value is ARGUMENTS[name]
    assert FairRegressor().set_params(**ARGUMENTS).get_params() == model.get_params()


def test_fit_never_changes_a_constructor_argument(problem):
    model = FairRegressor(**ARGUMENTS)
    before = copy.deepcopy(ARGUMENTS)
    fit(model, problem)
    for name, value in model.get_params().items():
        assert value is ARGUMENTS[name]
        assert value == before[name]


def test_a_clone_is_unfitted_and_learns_the_same_model(problem):
    model = fit(FairRegressor(**ARGUMENTS), problem)
    twin = clone(model)
    assert vars(twin).keys() == FairRegressor().get_params().keys()
    np.testing.assert_array_equal(fit(twin, problem).dual_coef_, model.dual_coef_)


def test_a_pickled_model_predicts_the_same_and_can_be_fitted_again(problem):
    model = fit(FairRegressor(**ARGUMENTS), problem)
    back = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(back.predict(problem.X_new), model.predict(problem.X_new))
    assert back.contrasts_.compared == model.contrasts_.compared
    np.testing.assert_array_equal(fit(back, problem).dual_coef_, model.dual_coef_)


def test_repr_shows_what_was_changed_and_can_be_read_back(problem):
    model = FairRegressor(kernel="linear", epsilon=0.1, y_bins=[0, 1, 2])
    shown = "FairRegressor(epsilon=0.1, kernel='linear', y_bins=[0, 1, 2])"
    assert repr(model) == shown
    assert eval(shown).get_params() == model.get_params()
    assert repr(fit(FairRegressor(), problem)) == "FairRegressor()"


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("first", ["linear", "rbf"])
def test_a_second_fit_leaves_no_trace_of_the_first(problem, first, kernel):
    fresh = fit(FairRegressor(kernel=kernel, y_bins=3), problem)
    again = FairRegressor(kernel=first, y_bins=1, epsilon=None, fit_intercept=False)
    again.fit(problem.X[:, :2], problem.y).set_params(**fresh.get_params())
    fit(again, problem)
    assert vars(again).keys() == vars(fresh).keys()
    assert again.n_features_in_ == fresh.n_features_in_
    np.testing.assert_array_equal(again.predict(problem.X_new), fresh.predict(problem.X_new))
