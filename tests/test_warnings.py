"""Every warning points at the line of the user's code, whoever is in between."""

import warnings

import numpy as np
import pytest
from scipy.linalg import LinAlgWarning
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning, UndefinedMetricWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import gferm
from gferm import FairClassifier, FairProjection, FairRegressor, FairRegressorCV
from gferm.exceptions import (
    ConstantModelWarning,
    InactiveConstraintWarning,
    OutsideBinsWarning,
    ShiftedBinsWarning,
    SkippedComparisonWarning,
)
from gferm.streaming import Chunk, fit_stream, search_stream
from tests.problems import make_problem

P = make_problem(n=60, n_groups=2)
S = {"sensitive_features": P.s}
LINEAR = {"kernel": "linear", "y_bins": 1}


def high():
    return P.y > np.median(P.y)


def shifted_chunks():
    """The first chunk has people of other ages than the second."""
    age = np.r_[np.linspace(0, 1, 30), np.linspace(5, 9, 30)]
    for rows in np.split(np.arange(60), 2):
        yield Chunk(P.X[rows], P.y[rows], {"age": age[rows]})


def a_class_in_one_group():
    return FairClassifier("squared").fit(P.X, high() | (P.s == 1), **S)


def by_routing():
    model = FairRegressor(epsilon=1e6, **LINEAR).set_fit_request(sensitive_features=True)
    GridSearchCV(make_pipeline(model), {"fairregressor__alpha": [1.0]}, cv=2).fit(P.X, P.y, **S)


CASES = {
    "inactive": (InactiveConstraintWarning, lambda: FairRegressor(epsilon=1e6).fit(P.X, P.y, **S)),
    "inactive at a stop of the frontier": (
        InactiveConstraintWarning,
        lambda: gferm.frontier(P.X, P.y, **S, **LINEAR).at(1e6),
    ),
    "inactive on a stream": (
        InactiveConstraintWarning,
        lambda: FairRegressor(epsilon=1e6, **LINEAR).partial_fit(P.X, P.y, **S),
    ),
    "inactive below scikit-learn": (InactiveConstraintWarning, by_routing),
    "constant": (
        ConstantModelWarning,
        lambda: FairRegressor(**LINEAR).fit(P.s[:, None] + 0.0, P.y, **S),
    ),
    "nothing left": (
        ConstantModelWarning,
        lambda: FairProjection(y_bins=1).fit_transform(P.s[:, None] + 0.0, P.y, **S),
    ),
    "not converged": (
        ConvergenceWarning,
        lambda: FairClassifier("log_loss", max_iter=1).fit(P.X, high(), **S),
    ),
    "another solver": (
        LinAlgWarning,
        lambda: FairRegressor(alpha=1e-300, kernel="polynomial").fit(P.X, P.y, **S),
    ),
    "skipped": (SkippedComparisonWarning, a_class_in_one_group),
    "shifted": (
        ShiftedBinsWarning,
        lambda: fit_stream(FairRegressor(**LINEAR, s_bins="auto"), shifted_chunks()),
    ),
    "outside": (
        OutsideBinsWarning,
        lambda: gferm.metrics.dgf(P.y, P.y, **S, y_bins=[0.0, 0.5, 1.0]),
    ),
    "undefined": (
        UndefinedMetricWarning,
        lambda: gferm.metrics.dgf(P.y, P.y, sensitive_features=P.y > 0, y_bins=[-1e3, 0, 1e3]),
    ),
    "twice in a grid": (
        UserWarning,
        lambda: FairRegressorCV(alphas=[1.0, 1.0], **LINEAR).fit(P.X, P.y, **S),
    ),
    "failed settings": (
        FitFailedWarning,
        lambda: FairRegressorCV(
            alphas=[1.0], epsilons=[0.0, None], match="residual", kernel="linear", y_bins=8
        ).fit(P.X[:, :1], P.y, **S),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_it_points_at_this_file(case):
    category, call = CASES[case]
    with gferm_routing(case), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    found = [one for one in caught if one.category is category]
    assert found
    assert {one.filename for one in found} == {__file__}


def gferm_routing(case):
    from sklearn import config_context

    return config_context(enable_metadata_routing="scikit-learn" in case)


def fit(model, rows):
    return model.fit(rows.X, rows.y, sensitive_features=rows.sensitive_features)


def streamed(learn):
    return lambda model, rows: learn(model, [rows])


@pytest.mark.parametrize(
    ("case", "learn"),
    [
        ("inactive", fit),
        ("inactive", streamed(fit_stream)),
        ("not converged", fit),
        ("failed settings", fit),
        ("failed settings", streamed(search_stream)),
    ],
)
def test_a_warning_that_is_an_error_leaves_nothing_fitted(case, learn):
    model = {
        "inactive": FairRegressor(kernel="linear", epsilon=1e6),
        "not converged": FairClassifier("log_loss", max_iter=1),
        "failed settings": FairRegressorCV(
            alphas=[1.0], epsilons=[0.0, None], match="residual", kernel="linear", y_bins=8
        ),
    }[case]
    X = P.X[:, :1] if case == "failed settings" else P.X
    y = high() if case == "not converged" else P.y
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(CASES[case][0]):
            learn(model, Chunk(X, y, P.s))
    assert not [name for name in vars(model) if name.endswith("_") and not name.startswith("_")]
