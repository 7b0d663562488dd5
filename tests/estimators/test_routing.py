"""Metadata routing: s and sample_weight reach every fold's fit with the rows they belong to."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.metrics import accuracy_score, r2_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_validate
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from gferm import FairClassifier, FairRegressor

# name: the estimator with its loss, and what its score is
KINDS = {
    "squares": (lambda **options: FairRegressor(y_bins=2, **options), r2_score),
    "huber": (lambda **options: FairRegressor("huber", y_bins=2, **options), r2_score),
    "hinge": (FairClassifier, accuracy_score),
    "log_loss": (lambda **options: FairClassifier("log_loss", **options), accuracy_score),
}
FOLDS = {
    "in order": KFold(4),
    "shuffled": KFold(4, shuffle=True, random_state=3),
}


@pytest.fixture(autouse=True)
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture(params=FOLDS)
def cv(request):
    return FOLDS[request.param]


class Table:
    """X, y, s and weights as arrays or as pandas objects with an index in no order."""

    def __init__(self, problem, pandas, classes):
        self.X, self.y, self.weight = problem.X, problem.y, problem.weight
        if classes:
            self.y = np.where(problem.y > np.median(problem.y), "yes", "no")
        self.s = np.where(problem.s == 1, "b", "a")
        if pandas:
            index = np.random.default_rng(0).permutation(1000)[: len(self.y)]
            self.X = pd.DataFrame(self.X, index=index, columns=list("abcde"))
            self.y, self.s, self.weight = (
                pd.Series(column, index=index) for column in (self.y, self.s, self.weight)
            )

    def take(self, rows):
        def part(data):
            return data.iloc[rows] if hasattr(data, "iloc") else data[rows]

        metadata = {"sensitive_features": part(self.s), "sample_weight": part(self.weight)}
        return part(self.X), part(self.y), metadata

    @property
    def metadata(self):
        return {"sensitive_features": self.s, "sample_weight": self.weight}


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(params=["arrays", "pandas"])
def table(request, kind, problem):
    classes = KINDS[kind][1] is accuracy_score
    return Table(problem, pandas=request.param == "pandas", classes=classes)


@pytest.fixture
def fair(kind):
    """Make estimators of the kind that ask for s and for weights."""

    def make(**options):
        model = KINDS[kind][0](**{"alpha": 0.3, **options})
        model.set_fit_request(sensitive_features=True, sample_weight=True)
        return model.set_score_request(sample_weight=True)

    return make


def values(model, X):
    """Decisions tell more than classes."""
    return getattr(model, "decision_function", model.predict)(X)


def fit_by_hand(model, X, y, metadata):
    """Scale and fit without any routing."""
    scaler = StandardScaler().fit(X, sample_weight=metadata["sample_weight"])
    return scaler, clone(model).fit(scaler.transform(X), y, **metadata)


def test_a_wrong_order_of_s_would_show(table, fair):
    X, y, metadata = table.take(np.arange(50))
    metadata = {name: np.asarray(column) for name, column in metadata.items()}
    right = values(fair().fit(X, y, **metadata), X)
    for other in (np.roll(metadata["sensitive_features"], 1), metadata["sensitive_features"][::-1]):
        wrong = values(fair().fit(X, y, **{**metadata, "sensitive_features": other}), X)
        assert np.abs(right - wrong).max() > 0.01


@pytest.mark.parametrize("epsilon", [0.0, 0.01])
def test_cross_validate_fits_each_fold_with_its_own_s_and_weights(table, fair, cv, epsilon):
    model = fair(epsilon=epsilon)
    result = cross_validate(
        model, table.X, table.y, cv=cv, params=table.metadata, return_estimator=True
    )
    for (train, test), routed in zip(cv.split(table.X), result["estimator"], strict=True):
        X, y, metadata = table.take(train)
        X_test = table.take(test)[0]
        expected = clone(model).fit(X, y, **metadata)
        np.testing.assert_array_equal(values(routed, X_test), values(expected, X_test))
        np.testing.assert_array_equal(routed.predict(X_test), expected.predict(X_test))


def test_cross_val_predict_gives_the_predictions_of_the_folds(table, fair, cv):
    routed = cross_val_predict(fair(), table.X, table.y, cv=cv, params=table.metadata)
    for train, test in cv.split(table.X):
        X, y, metadata = table.take(train)
        expected = fair().fit(X, y, **metadata).predict(table.take(test)[0])
        np.testing.assert_array_equal(routed[test], expected)


def test_grid_search_scores_and_refits_with_s_and_weights(table, fair, kind, cv):
    search = GridSearchCV(fair(), {"alpha": [0.1, 10.0]}, cv=cv, error_score="raise")
    search.fit(table.X, table.y, **table.metadata)
    for fold, (train, test) in enumerate(cv.split(table.X)):
        for i, alpha in enumerate((0.1, 10.0)):
            X, y, metadata = table.take(train)
            model = fair(alpha=alpha).fit(X, y, **metadata)
            X_test, y_test, held_out = table.take(test)
            weight = {"sample_weight": held_out["sample_weight"]}
            score = KINDS[kind][1](y_test, model.predict(X_test), **weight)
            assert search.cv_results_[f"split{fold}_test_score"][i] == pytest.approx(score)
    whole = fair(**search.best_params_).fit(table.X, table.y, **table.metadata)
    np.testing.assert_array_equal(values(search, table.X), values(whole, table.X))


def test_a_pipeline_in_a_grid_search_passes_s_to_its_last_step(table, fair, cv):
    scaler = StandardScaler().set_fit_request(sample_weight=True)
    pipeline = Pipeline([("scale", scaler), ("fair", fair(epsilon=0.001))])
    search = GridSearchCV(pipeline, {"fair__gamma": [0.05, 0.5]}, cv=cv)
    result = cross_validate(
        search, table.X, table.y, cv=cv, params=table.metadata, return_estimator=True
    )
    for (train, test), routed in zip(cv.split(table.X), result["estimator"], strict=True):
        X, y, metadata = table.take(train)
        model = fair(epsilon=0.001, gamma=routed.best_params_["fair__gamma"])
        scaled, model = fit_by_hand(model, X, y, metadata)
        X_test = table.take(test)[0]
        expected = values(model, scaled.transform(X_test))
        np.testing.assert_allclose(values(routed, X_test), expected, rtol=1e-10)


def test_a_precomputed_kernel_is_cut_on_both_sides(table, fair, cv):
    K = rbf_kernel(np.asarray(table.X), gamma=0.2)
    options = {"cv": cv, "params": table.metadata}
    if hasattr(fair(), "decision_function"):
        options["method"] = "decision_function"
    named, precomputed = (
        cross_val_predict(model, rows, table.y, **options)
        for model, rows in (
            (fair(gamma=0.2), np.asarray(table.X)),
            (fair(kernel="precomputed"), K),
        )
    )
    np.testing.assert_allclose(precomputed, named, rtol=1e-9, atol=1e-7)


def test_several_attributes_travel_as_one_data_frame(problem, cv):
    s = pd.DataFrame({"a": problem.s, "b": problem.X[:, 1] > 0.3})
    X, model = pd.DataFrame(problem.X), FairRegressor(y_bins=1)
    model.set_fit_request(sensitive_features=True)
    routed = cross_val_predict(model, X, problem.y, cv=cv, params={"sensitive_features": s})
    for train, test in cv.split(X):
        here = clone(model).fit(X.iloc[train], problem.y[train], sensitive_features=s.iloc[train])
        np.testing.assert_array_equal(routed[test], here.predict(X.iloc[test]))


def test_s_that_nobody_requested_is_an_error_and_never_an_unfair_model(table, fair, kind):
    with pytest.raises(UnsetMetadataPassedError, match="sensitive_features"):
        cross_validate(KINDS[kind][0](), table.X, table.y, params={"sensitive_features": table.s})
    with pytest.raises(ValueError, match="sensitive_features is missing"):
        cross_validate(fair(), table.X, table.y, error_score="raise")


def test_probabilities_and_areas_under_curves_come_through_the_folds(problem):
    y = problem.y > np.median(problem.y)
    model = FairClassifier("log_loss").set_fit_request(sensitive_features=True)
    s = {"sensitive_features": problem.s}
    shares = cross_val_predict(model, problem.X, y, cv=3, params=s, method="predict_proba")
    assert shares.shape == (70, 2)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    scores = cross_validate(
        model, problem.X, y, cv=3, params=s, scoring=["roc_auc", "neg_log_loss"]
    )
    assert scores["test_roc_auc"].mean() > 0.8
    hinge = FairClassifier().set_fit_request(sensitive_features=True)
    scores = cross_validate(hinge, problem.X, y, cv=3, params=s, scoring="roc_auc")
    assert scores["test_score"].mean() > 0.8


def test_the_advice_to_calibrate_can_be_followed(problem):
    y = np.where(problem.y > np.median(problem.y), "yes", "no")
    hinge = FairClassifier().set_fit_request(sensitive_features=True, sample_weight=True)
    calibrated = CalibratedClassifierCV(hinge, cv=3)
    calibrated.fit(problem.X, y, sensitive_features=problem.s, sample_weight=problem.weight)
    shares = calibrated.predict_proba(problem.X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert np.mean(calibrated.classes_[shares.argmax(axis=1)] == y) > 0.8
