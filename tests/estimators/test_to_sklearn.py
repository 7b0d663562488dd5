"""FairRegressor.to_sklearn(): the same predictions from plain scikit-learn objects."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.validation import check_is_fitted

from gferm import FairRegressor
from gferm.losses import Huber
from tests.estimators.models import ROBUST_LOSSES

# name: arguments, and the type that is promised
MODELS = {
    "linear": ({"kernel": "linear"}, Ridge),
    "linear through the origin": ({"kernel": "linear", "fit_intercept": False}, Ridge),
    "rbf": ({"gamma": 0.2}, TransformedTargetRegressor),
    "rbf with its default gamma": ({}, TransformedTargetRegressor),
    "rbf through the origin": ({"gamma": 0.2, "fit_intercept": False}, KernelRidge),
    "polynomial": (
        {"kernel": "polynomial", "degree": 2, "coef0": 0.5, "gamma": 0.1},
        TransformedTargetRegressor,
    ),
    "precomputed": ({"kernel": "precomputed"}, TransformedTargetRegressor),
    **{f"linear {loss}": ({"loss": loss, "kernel": "linear"}, Ridge) for loss in ROBUST_LOSSES},
    **{f"rbf {loss}": ({"loss": loss}, TransformedTargetRegressor) for loss in ROBUST_LOSSES},
    "a loss with parameters": ({"loss": Huber(0.5)}, TransformedTargetRegressor),
}


def rows_for(options, problem):
    """Training and new rows, or their kernel."""
    if options.get("kernel") != "precomputed":
        return problem.X, problem.X_new
    return rbf_kernel(problem.X), rbf_kernel(problem.X_new, problem.X)


def fit(options, problem, weight=None):
    X, X_new = rows_for(options, problem)
    model = FairRegressor(y_bins=2, epsilon=0.05, alpha=0.3, **options)
    model.fit(X, problem.y, sensitive_features=problem.s, sample_weight=weight)
    return model, X_new


@pytest.fixture(params=MODELS)
def name(request):
    return request.param


def test_predictions_are_the_same_and_the_type_is_the_promised_one(name, problem):
    options, promised = MODELS[name]
    model, X_new = fit(options, problem)
    plain = model.to_sklearn()
    assert type(plain) is promised
    check_is_fitted(plain)
    expected = model.predict(X_new)
    np.testing.assert_allclose(plain.predict(X_new), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(plain.predict(X_new[:1]), expected[:1], rtol=1e-12, atol=1e-12)
    assert plain.predict(X_new).shape == expected.shape
    assert plain.n_features_in_ == model.n_features_in_


def parts_of(estimator):
    """The estimator and every estimator inside it."""
    yield estimator
    for value in vars(estimator).values():
        if hasattr(value, "get_params"):
            yield from parts_of(value)


def test_every_part_comes_from_scikit_learn_or_numpy(name, problem):
    model, _ = fit(MODELS[name][0], problem)
    for part in parts_of(model.to_sklearn()):
        assert type(part).__module__.startswith("sklearn.")
        for value in vars(part).values():
            assert type(value).__module__.split(".")[0] in ("builtins", "numpy", "sklearn")


SERVE = """
import pickle, sys
sys.modules["gferm"] = None  # from here on, importing gferm fails
for name, (model, X_new, expected) in pickle.load(sys.stdin.buffer).items():
    got = model.predict(X_new)
    assert abs(got - expected).max() <= 1e-12, name
    print(name)
"""


def test_pickles_are_served_where_gferm_cannot_be_imported(problem):
    shipped = {}
    for name, (options, _) in MODELS.items():
        model, X_new = fit(options, problem)
        shipped[name] = (model.to_sklearn(), X_new, model.predict(X_new))
    served = subprocess.run(
        [sys.executable, "-c", SERVE], input=pickle.dumps(shipped), capture_output=True
    )
    assert served.returncode == 0, served.stderr.decode()
    assert served.stdout.decode().split("\n")[:-1] == list(MODELS)


def test_the_model_itself_is_refused_where_gferm_cannot_be_imported(problem):
    # so the test above can fail
    model, X_new = fit(MODELS["rbf"][0], problem)
    shipped = {"rbf": (model, X_new, model.predict(X_new))}
    served = subprocess.run(
        [sys.executable, "-c", SERVE], input=pickle.dumps(shipped), capture_output=True
    )
    assert b"ModuleNotFoundError" in served.stderr


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_feature_names_are_kept_and_checked(kernel, problem):
    X, X_new = (pd.DataFrame(rows, columns=list("abcde")) for rows in problem[::3])
    model = FairRegressor(kernel=kernel, y_bins=2).fit(X, problem.y, sensitive_features=problem.s)
    plain = model.to_sklearn()
    assert list(plain.feature_names_in_) == list("abcde")
    np.testing.assert_allclose(plain.predict(X_new), model.predict(X_new), rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match="names should match"):
        plain.predict(X_new[list("edcba")])


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_weights_with_zeros_and_sparse_rows_make_no_difference(kernel, problem):
    weight = np.where(problem.weight > 1.0, problem.weight, 0.0)
    model, X_new = fit({"kernel": kernel}, problem, weight)
    plain = model.to_sklearn()
    np.testing.assert_allclose(
        plain.predict(sparse.csr_array(X_new)), model.predict(X_new), rtol=1e-10, atol=1e-10
    )


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_what_happens_to_the_model_later_does_not_change_what_was_given_away(kernel, problem):
    model, X_new = fit({"kernel": kernel}, problem)
    plain = model.to_sklearn()
    before = plain.predict(X_new)
    (model.coef_ if kernel == "linear" else model.dual_coef_).fill(0.0)
    np.testing.assert_array_equal(plain.predict(X_new), before)
    model.fit(problem.X[:, ::-1], -problem.y, sensitive_features=problem.s)
    np.testing.assert_array_equal(plain.predict(X_new), before)


def test_an_unfitted_model_has_nothing_to_give():
    with pytest.raises(NotFittedError, match="Call 'fit'"):
        FairRegressor().to_sklearn()
