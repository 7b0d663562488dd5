"""FairClassifier.to_sklearn(): the same decisions from plain scikit-learn objects."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

from gferm import FairClassifier
from gferm.losses import CLASSIFICATION_LOSSES

KERNELS = {
    "linear": {"kernel": "linear"},
    "linear through the origin": {"kernel": "linear", "fit_intercept": False},
    "rbf": {"gamma": 0.2},
    "rbf with its default gamma": {},
    "rbf through the origin": {"gamma": 0.2, "fit_intercept": False},
    "poly": {"kernel": "poly", "degree": 2, "coef0": 0.5, "gamma": 0.1},
    "laplacian": {"kernel": "laplacian", "gamma": 0.1},
    "cosine": {"kernel": "cosine"},
    "callable": {"kernel": np.dot},  # one that a pickle finds without gferm
    "precomputed": {"kernel": "precomputed"},
}
every_loss = pytest.mark.parametrize("loss", CLASSIFICATION_LOSSES)
every_kernel = pytest.mark.parametrize("kernel", KERNELS)
linear_or_not = pytest.mark.parametrize("kernel", ["linear", "rbf"])


def rows_for(options, problem):
    """Training and new rows, or their kernel."""
    if options.get("kernel") != "precomputed":
        return problem.X, problem.X_new
    return rbf_kernel(problem.X), rbf_kernel(problem.X_new, problem.X)


def fit(loss, options, problem, weight=None):
    X, X_new = rows_for(options, problem)
    model = FairClassifier(loss, alpha=0.3, **options)
    return model.fit(X, problem.y, sensitive_features=problem.s, sample_weight=weight), X_new


def plain_type(loss, n_classes):
    if loss == "log_loss":
        return LogisticRegression if n_classes == 2 else OneVsRestClassifier
    return RidgeClassifier if loss == "squared" else LinearSVC


def assert_same(plain, model, X):
    def compare(method):
        actual, expected = getattr(plain, method)(X), getattr(model, method)(X)
        assert actual.shape == expected.shape
        np.testing.assert_allclose(actual, expected, rtol=1e-11, atol=1e-11)

    compare("decision_function")
    np.testing.assert_array_equal(plain.predict(X), model.predict(X))
    assert hasattr(plain, "predict_proba") == (model.loss == "log_loss")
    if model.loss == "log_loss":
        compare("predict_proba")


@every_kernel
@every_loss
def test_decisions_are_the_same_and_the_type_is_the_promised_one(loss, kernel, classes):
    model, X_new = fit(loss, KERNELS[kernel], classes)
    plain = model.to_sklearn()
    check_is_fitted(plain)
    last = plain if model.kernel == "linear" else plain[-1]
    assert isinstance(plain, Pipeline) == (model.kernel != "linear")
    assert type(last) is plain_type(loss, model.classes_.size)
    np.testing.assert_array_equal(plain.classes_, model.classes_)
    assert plain.n_features_in_ == model.n_features_in_
    assert np.ptp(model.decision_function(X_new)) > 0.1
    for rows in (X_new, X_new[:1]):
        assert_same(plain, model, rows)


@pytest.mark.parametrize("labels", [[False, True], [3, 7], [-1.0, 1.0], ["no", "yes"]], ids=str)
@linear_or_not
@every_loss
def test_labels_of_every_kind_come_back_the_same(loss, kernel, labels, binary):
    y = np.array(labels)[(binary.y == "yes").astype(int)]
    model = FairClassifier(loss, kernel=kernel).fit(binary.X, y, sensitive_features=binary.s)
    predicted = model.to_sklearn().predict(binary.X_new)
    np.testing.assert_array_equal(predicted, model.predict(binary.X_new))
    assert predicted.dtype == y.dtype


def parts_of(estimator):
    """The estimator and every estimator inside it."""
    yield estimator
    for value in vars(estimator).values():
        steps = [step for _, step in value] if isinstance(estimator, Pipeline) and value else value
        for part in steps if isinstance(steps, list) else [steps]:
            if hasattr(part, "get_params"):
                yield from parts_of(part)


@every_kernel
@every_loss
def test_every_part_comes_from_scikit_learn_or_numpy(loss, kernel, classes):
    model, _ = fit(loss, KERNELS[kernel], classes)
    parts = list(parts_of(model.to_sklearn()))
    assert len(parts) >= (1 if model.kernel == "linear" else 3)
    for part in parts:
        assert type(part).__module__.startswith("sklearn.")
        for value in vars(part).values():
            assert type(value).__module__.split(".")[0] in ("builtins", "numpy", "sklearn")


SERVE = """
import pickle, sys
sys.modules["gferm"] = None  # from here on, importing gferm fails
for name, (model, X_new, decisions, labels) in pickle.load(sys.stdin.buffer).items():
    assert abs(model.decision_function(X_new) - decisions).max() <= 1e-11, name
    assert (model.predict(X_new) == labels).all(), name
    print(name)
"""


def serve(shipped):
    command = [sys.executable, "-c", SERVE]
    return subprocess.run(command, input=pickle.dumps(shipped), capture_output=True)


def test_pickles_are_served_where_gferm_cannot_be_imported(classes):
    shipped = {}
    for loss in CLASSIFICATION_LOSSES:
        for kernel, options in KERNELS.items():
            model, X_new = fit(loss, options, classes)
            decided = model.decision_function(X_new), model.predict(X_new)
            shipped[f"{loss} {kernel}"] = (model.to_sklearn(), X_new, *decided)
    served = serve(shipped)
    assert served.returncode == 0, served.stderr.decode()
    assert served.stdout.decode().split("\n")[:-1] == list(shipped)


def test_the_model_itself_is_refused_where_gferm_cannot_be_imported(binary):
    # so the test above can fail
    model, X_new = fit("hinge", {}, binary)
    decided = model.decision_function(X_new), model.predict(X_new)
    assert b"ModuleNotFoundError" in serve({"rbf": (model, X_new, *decided)}).stderr


@linear_or_not
@every_loss
def test_feature_names_are_kept_and_checked(loss, kernel, classes):
    X, X_new = (pd.DataFrame(rows, columns=list("abcdefgh")) for rows in classes[::3])
    model = FairClassifier(loss, kernel=kernel, alpha=0.3)
    plain = model.fit(X, classes.y, sensitive_features=classes.s).to_sklearn()
    assert list(plain.feature_names_in_) == list("abcdefgh")
    assert_same(plain, model, X_new)  # and no warning about names
    with pytest.raises(ValueError, match="names should match"):
        plain.predict(X_new[list("hgfedcba")])


@linear_or_not
@every_loss
def test_weights_with_zeros_and_sparse_rows_make_no_difference(loss, kernel, classes):
    weight = np.where(classes.weight > 0.5, classes.weight, 0.0)
    model, X_new = fit(loss, {"kernel": kernel}, classes, weight)
    assert_same(model.to_sklearn(), model, sparse.csr_array(X_new))


@linear_or_not
@every_loss
def test_what_happens_to_the_model_later_does_not_change_what_was_given_away(loss, kernel, classes):
    model, X_new = fit(loss, {"kernel": kernel}, classes)
    plain = model.to_sklearn()
    before = plain.decision_function(X_new)
    (model.coef_ if kernel == "linear" else model.dual_coef_).fill(0.0)
    model.intercept_.fill(7.0)
    np.testing.assert_array_equal(plain.decision_function(X_new), before)
    model.fit(classes.X[:, ::-1], classes.y, sensitive_features=classes.s)
    np.testing.assert_array_equal(plain.decision_function(X_new), before)


@every_loss
def test_the_parameters_tell_the_problem_that_was_solved(loss, binary):
    options = {"kernel": "linear", "epsilon": None, "tol": 1e-9, "alpha": 2.0}
    model = FairClassifier(loss, **options).fit(binary.X, binary.y)
    plain = model.to_sklearn()
    if loss == "squared":
        assert plain.alpha == model.alpha
    else:
        assert 1 / (2 * model.alpha) == plain.C
    assert getattr(plain, "loss", loss) == loss
    assert plain.fit_intercept
    if isinstance(plain, LinearSVC):  # which penalises its intercept
        return
    expected = plain.set_params(tol=1e-10).fit(binary.X, binary.y).decision_function(binary.X)
    np.testing.assert_allclose(model.decision_function(binary.X), expected, atol=1e-3)


def test_alpha_zero_is_no_obstacle(binary):
    model, X_new = fit("squared", {"kernel": "linear"}, binary)
    model.set_params(alpha=0.0).fit(binary.X, binary.y, sensitive_features=binary.s)
    assert_same(model.to_sklearn(), model, X_new)


def test_an_unfitted_model_has_nothing_to_give():
    with pytest.raises(NotFittedError, match="Call 'fit'"):
        FairClassifier().to_sklearn()
