"""What a user of classes, or of another loss, may do wrong: named with its remedy."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.validation import check_is_fitted

from gferm import Bins, FairClassifier, FairRegressor
from gferm.exceptions import (
    ConstantModelWarning,
    NothingToCompareError,
    SkippedComparisonWarning,
)
from gferm.losses import CLASSIFICATION_LOSSES, Hinge, Huber, LogLoss, Quantile, Squared
from tests.estimators.models import ROBUST_LOSSES

FIT = ("X", "y", "sensitive_features", "sample_weight")
N = 100


def fixed(**arguments):
    return lambda p: arguments


def labels(make):
    """Other labels, made from those of the problem."""
    return lambda p: {"y": make(p.y)}


def missing(value, **options):
    def make(y):
        y = y.astype(object)
        y[3] = value
        return pd.Series(y, **options) if options else y

    return labels(make)


GONE = "y has 1 missing values, the first in row 3; drop these rows, or give 'unknown' a class"
CLASSIFIER_LOSSES = r"\['hinge', 'log_loss', 'squared', 'squared_hinge'\]"
REGRESSOR_LOSSES = r"\['absolute', 'epsilon_insensitive', 'huber', 'quantile', 'squared'\]"
NUMBERS = np.random.default_rng(0).standard_normal(N)

# what the user of FairClassifier did, the arguments that say so, the message
CLASSES = [
    ("one class", labels(lambda y: np.full(N, "a")), r"y has one class, \['a'\].*Check y"),
    ("one class that counts", lambda p: {"sample_weight": 1.0 * (p.y == "yes")},
     r"y has one class, \['yes'\].*sample_weight"),
    ("numbers", fixed(y=NUMBERS),
     r"Unknown label type: continuous.*100 different values such as -?\d+\.\d+,.*FairRegressor"),
    ("numbers as objects", fixed(y=NUMBERS.astype(object)), "continuous.*Use FairRegressor"),
    ("dates as objects", labels(lambda y: np.array([pd.Timestamp("2020").date(), 1])[
        (y == "yes").astype(int)]), "neither all words nor all numbers, such as.*convert y first"),
    ("words and numbers", missing(7), "neither all words nor all numbers, such as 7"),
    ("None in y", missing(None), GONE),
    ("NaN among words", missing(np.nan), GONE),
    ("NA of pandas", missing(pd.NA, dtype="string"), GONE),
    ("missing category", missing(None, dtype="category"), GONE),
    ("NaN among numbers", labels(lambda y: np.where(y == "yes", 1.0, np.nan)), "y contains NaN"),
    ("y of two columns", labels(lambda y: np.c_[y, y]), r"1d array.*\(100, 2\)"),
    ("y too short", labels(lambda y: y[1:]), r"inconsistent numbers of samples: \[100, 99\]"),
    ("no y", fixed(y=None), "requires y to be passed"),
    ("no s", fixed(sensitive_features=None), "sensitive_features is missing.*epsilon=None"),
    ("s of other rows",
     lambda p: {"y": pd.Series(p.y), "sensitive_features": pd.Series(p.s, index=range(N, 0, -1))},
     r"different indexes.*\.loc\[X\.index\]"),
    ("a class that does not exist", fixed(y_bins=["maybe"]),
     r"y_bins names \['maybe'\], but the classes of y are \['no', 'yes'\]"),
    ("… among others", fixed(y_bins=["yes", "maybe"]), r"y_bins names \['maybe'\], but"),
    ("… in Bins", fixed(y_bins=Bins.categories(["yes", "maybe"])),
     r"y_bins has bins without any row: \['maybe'\].*values of y are \['no', 'yes'\]"),
    ("words for numbers", lambda p: {"y": 1 * (p.y == "yes"), "y_bins": ["1"]},
     r"y_bins names \['1'\], but the classes of y are \[0, 1\]"),
    ("no class at all", fixed(y_bins=[]), "needs at least one level"),
    ("two bins", fixed(y_bins=2), "'y_bins'.*among {'classes'}.*among {1}.*Got 2"),
    ("a class without its list", fixed(y_bins="yes"), "'y_bins'.*array-like.*Got 'yes'"),
    ("edges of words", fixed(y_bins=Bins.edges([0, 1])), r"not numeric.*Bins\.categories"),
    ("residuals of three classes",
     lambda p: {"y": np.where(p.X[:, 0] > 0.5, "maybe", p.y), "match": "residual"},
     "match='residual' compares.*more than two classes.*use match='prediction'"),
    ("groups that are the classes", lambda p: {"sensitive_features": p.y},
     "leave no pair of cells to compare"),
    ("unknown loss", fixed(loss="logistic"), f"loss='logistic' is not one of {CLASSIFIER_LOSSES}"),
    ("loss of numbers", fixed(loss="huber"), f"loss='huber' is not one of {CLASSIFIER_LOSSES}"),
    ("loss of numbers as object", fixed(loss=Huber(0.5)),
     rf"loss=Huber\(delta=0.5\) learns numbers; use FairRegressor.*{CLASSIFIER_LOSSES}"),
    ("… or another", fixed(loss=Quantile(0.9)), "learns numbers; use FairRegressor"),
    ("loss of no kind", fixed(loss=3), "'loss'.*'str'.*Loss.*Got 3"),
    ("libsvm with an epsilon", fixed(solver="libsvm", epsilon=0.1),
     "solver='libsvm' cannot solve epsilon=0.1; it needs epsilon=0, or use solver='auto'"),
    ("libsvm with a loss", fixed(solver="libsvm", loss="log_loss"), "needs loss='hinge'"),
    ("libsvm of residuals", fixed(solver="libsvm", match="residual", y_bins=1),
     "needs match='prediction'"),
    ("libsvm through the origin", fixed(solver="libsvm", fit_intercept=False), "an intercept"),
    *((f"alpha 0 with {loss}", fixed(alpha=0.0, loss=loss), "alpha=0.*loss='squared' only.*small")
      for loss in CLASSIFICATION_LOSSES if loss != "squared"),
]  # fmt: skip

# the same of FairRegressor
REGRESSION = [
    ("words", fixed(), "y has labels that are not numbers, such as '(yes|no)'.*FairClassifier"),
    ("words as objects", labels(lambda y: y.astype(object)), "'(yes|no)'.*FairClassifier"),
    ("words of pandas", labels(lambda y: pd.Series(y, dtype="category")), "FairClassifier"),
    ("unknown loss", fixed(y=NUMBERS, loss="l1"), f"loss='l1' is not one of {REGRESSOR_LOSSES}"),
    ("loss of classes", fixed(y=NUMBERS, loss="hinge"), f"not one of {REGRESSOR_LOSSES}"),
    ("loss of classes as object", fixed(y=NUMBERS, loss=Hinge()),
     rf"loss=Hinge\(\) learns classes; use FairClassifier.*{REGRESSOR_LOSSES}"),
    ("… or another", fixed(y=np.sign(NUMBERS), loss=LogLoss()), "classes; use FairClassifier"),
    ("libsvm", fixed(y=NUMBERS, solver="libsvm"), "'solver'.*among.*'spectrum'"),
    *((f"alpha 0 with {loss}", fixed(y=NUMBERS, alpha=0.0, loss=loss), "alpha=0.*small positive")
      for loss in ROBUST_LOSSES),
]  # fmt: skip

MISTAKES = [(FairClassifier, *case) for case in CLASSES]
MISTAKES += [(FairRegressor, *case) for case in REGRESSION]


@pytest.fixture(params=MISTAKES, ids=[f"{case[0].__name__} {case[1]}" for case in MISTAKES])
def mistake(request, binary):
    """The estimator, constructor arguments, fit arguments, the message."""
    kind, _, arguments, message = request.param
    given = {"X": binary.X, "y": binary.y, "sensitive_features": binary.s} | arguments(binary)
    called = {name: given.pop(name) for name in FIT if name in given}
    return kind, given, called, f"(?s){message}"


def test_a_mistake_is_named_with_its_remedy_and_leaves_the_estimator_unfitted(mistake):
    kind, options, called, message = mistake
    model = kind(**options)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.fit(**called)
    assert vars(model) == before
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


def test_a_mistake_leaves_a_fitted_model_as_it_was(mistake, binary):
    kind, options, called, message = mistake
    y = binary.y if kind is FairClassifier else NUMBERS
    model = kind(y_bins=1).fit(binary.X, y, sensitive_features=binary.s)
    arguments, before = model.get_params(), dict(vars(model))
    expected = model.predict(binary.X_new)
    with pytest.raises(ValueError, match=message):
        model.set_params(**kind().get_params() | options).fit(**called)
    model.set_params(**arguments)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
    np.testing.assert_array_equal(model.predict(binary.X_new), expected)


def test_the_square_loss_is_for_numbers_and_for_classes(binary):
    fit = {"X": binary.X, "sensitive_features": binary.s}
    classifier, named = (
        FairClassifier(loss).fit(y=binary.y, **fit) for loss in (Squared(), "squared")
    )
    np.testing.assert_array_equal(classifier.dual_coef_, named.dual_coef_)
    signs = np.where(binary.y == "yes", 1.0, -1.0)
    regressor = FairRegressor(Squared(), y_bins=2).fit(y=signs, **fit)
    np.testing.assert_allclose(regressor.dual_coef_, classifier.dual_coef_[0], atol=1e-10)


@pytest.mark.parametrize("loss", CLASSIFICATION_LOSSES)
def test_a_class_missing_from_a_group_is_named_and_the_rest_is_fair(loss, binary):
    y = np.where(binary.s == 1, "no", binary.y)
    model = FairClassifier(loss)
    with pytest.warns(SkippedComparisonWarning) as caught:
        model.fit(binary.X, y, sensitive_features=np.where(binary.s == 1, "old", "young"))
    assert len(caught) == 1
    assert "no rows of class 'yes' in group 'old': " in str(caught[0].message)
    assert "Merge groups with s_bins" in str(caught[0].message)
    assert caught[0].filename == __file__  # the line of the user's fit
    f = model.decision_function(binary.X)[y == "no"]
    s = binary.s[y == "no"]
    assert abs(f[s == 0].mean() - f[s == 1].mean()) < 1e-8


@pytest.mark.parametrize("y_bins", ["classes", ["yes"]])
def test_a_class_that_only_one_group_has_leaves_nothing_to_compare(y_bins, binary):
    y = binary.s if y_bins == "classes" else np.where(binary.s == 1, "no", binary.y)
    model = FairClassifier(y_bins=y_bins)
    with pytest.raises(NothingToCompareError):
        model.fit(binary.X, y, sensitive_features=binary.s)
    model.set_params(epsilon=None).fit(binary.X, y, sensitive_features=binary.s)  # harmless


def test_groups_without_anybody_are_not_worth_a_warning(binary):
    old, rich = binary.s == 1, (binary.s == 1) | (binary.X[:, 3] > 0.5)  # nobody is old and poor
    model = FairClassifier().fit(binary.X, binary.y, sensitive_features={"old": old, "rich": rich})
    assert 0 in model.contrasts_.skipped[0].counts
    levels = Bins.categories([0, 1, 2])
    FairClassifier(s_bins=levels).fit(binary.X, binary.y, sensitive_features=binary.s)


def test_more_classes_than_half_the_rows_look_like_numbers(binary):
    with pytest.warns(UserWarning, match="could represent a regression problem"):
        FairClassifier("squared", epsilon=None).fit(
            binary.X, np.arange(N) // 3 * 2 % 51 + np.arange(N) % 2 * 51
        )


STOPPED = {
    "projection": ({"loss": "squared", "tol": 1e-300}, "badly conditioned.*larger alpha"),
    "splitting": ({"loss": "log_loss", "max_iter": 2}, "max_iter=2.*larger max_iter, tol or alpha"),
    "newton": ({"kernel": "linear", "max_iter": 1}, "max_iter=1.*larger max_iter, tol or alpha"),
    "libsvm": ({"alpha": 1e-3, "tol": 1e-14, "max_iter": 2}, "max_iter=2.*larger max_iter, tol"),
}


@pytest.mark.parametrize("method", STOPPED)
def test_an_answer_that_is_not_there_yet_says_how_near_it_is_and_what_to_change(method, ternary):
    options, message = STOPPED[method]
    model = FairClassifier(**options)
    with pytest.warns(ConvergenceWarning, match=rf"(?s)duality gap is .*{message}") as caught:
        model.fit(ternary.X, ternary.y, sensitive_features=ternary.s)
    assert model.solver_.method == method
    assert model.duality_gap_ > model.tol
    assert f"{model.duality_gap_:.2g}, above tol={model.tol:g}" in str(caught[0].message)
    assert caught[0].filename == __file__
    assert model.violation_ < 1e-8  # fair all the same


def test_constant_models_are_named_by_their_classes(ternary):
    # three contrasts, three features
    with pytest.warns(ConstantModelWarning, match="model of 'high', 'low', 'mid' against the rest"):
        FairClassifier(kernel="linear").fit(
            ternary.X[:, :3], ternary.y, sensitive_features=ternary.s
        )
