"""Data where fairness costs nothing, or where rounding would like to decide."""

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info

from gferm import FairRegressor, frontier


def group_centred(n_groups, d, seed=0):
    """Features whose group means agree but for rounding: the plain model is fair already."""
    rng = np.random.default_rng(seed)
    s = rng.integers(0, n_groups, 400)
    X = rng.normal(size=(400, d)) + s[:, None]
    y = X @ rng.normal(size=d) + rng.normal(size=400) / 10
    for group in range(n_groups):
        X[s == group] -= X[s == group].mean(axis=0)
    return X, y, s


@pytest.mark.parametrize("shift", [0.0, 1e3])
@pytest.mark.parametrize(("n_groups", "d"), [(2, 2), (6, 5)])
def test_groups_that_agree_already_get_the_plain_model(n_groups, d, shift):
    X, y, s = group_centred(n_groups, d)
    model = FairRegressor(kernel="linear", y_bins=1).fit(X + shift, y, sensitive_features=s)
    plain = Ridge().fit(X, y)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-9)
    assert not model.active_
    path = frontier(X + shift, y, sensitive_features=s, kernel="linear", y_bins=1)
    np.testing.assert_allclose(path.at(0.0).coef_, plain.coef_, rtol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "laplacian"])
def test_counterfactual_copies_get_the_plain_model(kernel):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    y = X @ rng.normal(size=4) + rng.normal(size=80) / 10
    X, y, s = np.tile(X, (2, 1)), np.tile(y, 2), np.repeat([0, 1], 80)
    fair = FairRegressor(kernel=kernel, y_bins=3).fit(X, y, sensitive_features=s)
    plain = FairRegressor(kernel=kernel, epsilon=None).fit(X, y)
    np.testing.assert_allclose(fair.predict(X), plain.predict(X), atol=1e-9)
    assert fair.objective_ == pytest.approx(plain.objective_, rel=1e-12)


@pytest.mark.parametrize("params", [{"gamma": 0.0}, {"kernel": "linear"}, {"kernel": "poly"}])
def test_features_that_say_nothing_give_the_mean(params):
    y, s = np.arange(20.0), np.tile([0, 1], 10)
    model = FairRegressor(**params, y_bins=2).fit(np.ones((20, 3)), y, sensitive_features=s)
    np.testing.assert_allclose(model.predict(np.ones((2, 3))), y.mean())


def test_a_small_real_difference_is_not_rounding():
    X, y, s = group_centred(2, 2)
    X[:, 0] += 1e-9 * s
    model = FairRegressor(kernel="linear", y_bins=1).fit(X, y, sensitive_features=s)
    gap = model.predict(X)[s == 0].mean() - model.predict(X)[s == 1].mean()
    assert model.active_
    assert abs(gap) < 1e-13


@pytest.mark.parametrize("trouble", ["constant y", "one group"])
def test_without_a_constraint_nothing_needs_to_be_comparable(problem, trouble):
    y = np.ones_like(problem.y) if trouble == "constant y" else problem.y
    s = np.zeros(y.size) if trouble == "one group" else problem.s
    model = FairRegressor(epsilon=None).fit(problem.X, y, sensitive_features=s)
    assert model.cells_ is None
    assert np.isnan(model.violation_)


def test_without_a_constraint_a_slip_in_the_bins_is_still_an_error(problem):
    with pytest.raises(ValueError, match="in none of the y_bins"):
        FairRegressor(epsilon=None, y_bins=[0.0, 0.1]).fit(
            problem.X, problem.y, sensitive_features=problem.s
        )


def test_a_misaligned_attribute_is_caught_behind_a_scaler(problem):
    X, y = pd.DataFrame(problem.X), pd.Series(problem.y)
    s = pd.Series(problem.s).sort_values()
    with sklearn.config_context(enable_metadata_routing=True):
        regressor = FairRegressor().set_fit_request(sensitive_features=True)
        pipeline = make_pipeline(StandardScaler(), regressor)
        with pytest.raises(ValueError, match="different indexes"):
            pipeline.fit(X, y, sensitive_features=s)


def test_categorical_numbers_are_names():
    rng = np.random.default_rng(0)
    codes = rng.choice(np.arange(11, 26), 300)
    X, y = rng.normal(size=(300, 3)), rng.normal(size=300)
    model = FairRegressor(y_bins=1)
    by_name = model.fit(X, y, sensitive_features=pd.Series(codes).astype("category")).cells_
    assert by_name.partitions[0].groups == tuple(map(str, range(11, 26)))
    assert len(model.fit(X, y, sensitive_features=codes).cells_.partitions[0].groups) == 5


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_parallel_searches_leave_the_threads_of_blas_as_they_were(problem, backend):
    before = [library["num_threads"] for library in threadpool_info()]
    search = {"gamma": [0.01, 0.1, 1.0], "alpha": [0.1, 1.0]}
    with sklearn.config_context(enable_metadata_routing=True), joblib.parallel_backend(backend):
        model = FairRegressor(y_bins=2).set_fit_request(sensitive_features=True)
        found = GridSearchCV(model, search, cv=3, n_jobs=2)
        found.fit(problem.X, problem.y, sensitive_features=problem.s)
    assert np.isfinite(found.cv_results_["mean_test_score"]).all()
    assert [library["num_threads"] for library in threadpool_info()] == before


def test_fitted_models_and_frontiers_survive_pickling(problem):
    data = {"sensitive_features": problem.s}
    path = frontier(problem.X, problem.y, **data, y_bins=2)
    again = pickle.loads(pickle.dumps(path))
    np.testing.assert_array_equal(again.predict(problem.X_new), path.predict(problem.X_new))
