"""FairClassifier: its classes, one model for two of them and one each for more."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from gferm import FairClassifier
from gferm.estimators.labels import ClassLabels
from gferm.losses import CLASSIFICATION_LOSSES, LOSSES, LogLoss

every_loss = pytest.mark.parametrize("loss", CLASSIFICATION_LOSSES)
every_kernel = pytest.mark.parametrize("kernel", ["linear", "rbf"])
SETTINGS = {"alpha": 0.3, "gamma": 0.1}
PRECISE = SETTINGS | {"tol": 1e-9}


def fit(problem, loss="log_loss", y=None, s=None, kind=FairClassifier, **options):
    y, s = problem.y if y is None else y, problem.s if s is None else s
    return kind(loss, **SETTINGS | options).fit(problem.X, y, sensitive_features=s)


def assert_same_decisions(actual, desired):
    """Two solutions, each within its tolerance of the same optimum."""
    assert actual.shape == desired.shape
    np.testing.assert_allclose(actual, desired, rtol=0, atol=1e-3 * np.abs(desired).max())


@every_kernel
@every_loss
def test_two_classes_make_one_model_positive_for_the_second(loss, kernel, binary):
    model = fit(binary, loss, kernel=kernel, epsilon=0.01)
    n, d = binary.X.shape
    coefficients = model.coef_ if kernel == "linear" else model.dual_coef_
    assert coefficients.shape == ((1, d) if kernel == "linear" else (1, n))
    assert model.intercept_.shape == (1,)
    assert model.multipliers_.shape == (1, 2)
    assert list(model.classes_) == ["no", "yes"]
    decisions = model.decision_function(binary.X_new)
    assert decisions.shape == (20,)
    np.testing.assert_array_equal(model.predict(binary.X_new), np.where(decisions > 0, "yes", "no"))
    assert model.score(binary.X, binary.y) > 0.8


@every_kernel
@every_loss
def test_three_classes_make_a_model_each_and_the_largest_decision_wins(loss, kernel, ternary):
    model = fit(ternary, loss, kernel=kernel, epsilon=0.01)
    n, d = ternary.X.shape
    coefficients = model.coef_ if kernel == "linear" else model.dual_coef_
    assert coefficients.shape == ((3, d) if kernel == "linear" else (3, n))
    assert model.intercept_.shape == (3,)
    assert model.multipliers_.shape == (3, 3)
    assert list(model.classes_) == ["high", "low", "mid"]
    decisions = model.decision_function(ternary.X_new)
    assert decisions.shape == (20, 3)
    expected = [["high", "low", "mid"][row.argmax()] for row in decisions]
    np.testing.assert_array_equal(model.predict(ternary.X_new), expected)
    assert model.score(ternary.X, ternary.y) > 0.7


class OneAgainstTheRest(ClassLabels):
    """Learns the one class it is told, in the cells of all."""

    def __init__(self, only):
        self.only = only

    def targets(self, y):
        return [np.where(y == self.only, 1.0, -1.0)]


@pytest.mark.parametrize("epsilon", [None, 0.0, 0.01])
@every_kernel
@every_loss
def test_each_of_many_models_is_that_of_a_fit_of_its_own(loss, kernel, epsilon, ternary):
    options = PRECISE | {"kernel": kernel, "epsilon": epsilon}
    whole = fit(ternary, loss, **options)
    decisions, alone = whole.decision_function(ternary.X_new), []
    for k, name in enumerate(whole.classes_):
        model = FairClassifier(loss, **options)
        model.labels = OneAgainstTheRest(name)
        model.fit(ternary.X, ternary.y, sensitive_features=ternary.s)
        assert_same_decisions(decisions[:, k], model.decision_function(ternary.X_new))
        alone.append(model)
    assert whole.objective_ == pytest.approx(sum(one.objective_ for one in alone), rel=1e-8)
    assert whole.violation_ == pytest.approx(max(one.violation_ for one in alone), abs=1e-4)
    assert whole.duality_gap_ <= whole.tol


@every_kernel
@every_loss
def test_with_parity_a_model_of_many_is_the_plain_one_of_two_classes(loss, kernel, ternary):
    options = PRECISE | {"kernel": kernel, "y_bins": 1}  # cells do not depend on y
    decisions = fit(ternary, loss, **options).decision_function(ternary.X_new)
    for k, name in enumerate(["high", "low", "mid"]):
        model = fit(ternary, loss, y=ternary.y == name, **options)
        assert_same_decisions(decisions[:, k], model.decision_function(ternary.X_new))


@pytest.mark.parametrize("loss", ["log_loss", LogLoss()], ids=["by name", "as an object"])
@every_kernel
def test_probabilities_are_those_of_the_decisions(loss, kernel, classes):
    model = fit(classes, loss, kernel=kernel)
    decisions, shares = (f(classes.X_new) for f in (model.decision_function, model.predict_proba))
    assert shares.shape == (20, model.classes_.size)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(
        model.classes_[shares.argmax(axis=1)], model.predict(classes.X_new)
    )
    odds = expit(decisions if decisions.ndim == 2 else np.c_[-decisions, decisions])
    np.testing.assert_allclose(shares, odds / odds.sum(axis=1, keepdims=True), rtol=1e-10)


def test_probabilities_far_from_every_class_are_still_probabilities(ternary):
    model = fit(ternary, kernel="linear")
    away = np.linalg.lstsq(model.coef_, -np.ones(3))[0]  # a direction away from all of them
    far = 1e4 * away[None]
    assert (model.decision_function(far) < -1000).all()
    shares = model.predict_proba(far)
    assert shares.sum() == pytest.approx(1.0)
    assert model.classes_[shares.argmax()] == model.predict(far)[0]


@pytest.mark.parametrize("epsilon", [None, 0.0, 0.01])
@every_kernel
def test_probabilities_of_the_training_rows_add_up_to_the_counts(kernel, epsilon, binary):
    # the slope of the objective in the intercept is zero, constraint or not
    model = fit(binary, kernel=kernel, epsilon=epsilon, tol=1e-10)
    expected = [np.sum(binary.y == name) for name in model.classes_]
    np.testing.assert_allclose(model.predict_proba(binary.X).sum(axis=0), expected, atol=1e-3)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "squared", LOSSES["hinge"]])
def test_other_losses_have_no_probabilities_and_say_what_to_do(loss, binary):
    model = fit(binary, loss)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="no attribute 'predict_proba'") as error:
        model.predict_proba(binary.X)
    assert "use loss='log_loss', or calibrate" in str(error.value.__cause__)


# the two classes in every guise: how to write them, and the kind in which they come back
GUISES = {
    "words": (lambda code: np.array(["no", "yes"])[code], "U"),
    "a list of words": (lambda code: np.array(["no", "yes"])[code].tolist(), "U"),
    "objects": (lambda code: np.array(["no", "yes"], dtype=object)[code], "U"),
    "pandas": (lambda code: pd.Series(np.array(["no", "yes"])[code]), "U"),
    "pandas category": (lambda code: pd.Series(code, dtype="category"), "i"),
    "polars": (lambda code: pl.Series(np.array(["no", "yes"])[code]), "U"),
    "polars category": (lambda code: pl.Series(["ny"[k] for k in code], dtype=pl.Categorical), "U"),
    "truth": (lambda code: code == 1, "b"),
    "truth as objects": (lambda code: (code == 1).astype(object), "b"),
    "numbers": (lambda code: code, "i"),
    "signs": (lambda code: np.int8(2) * code.astype(np.int8) - np.int8(1), "i"),
    "numbers as objects": (lambda code: code.astype(object), "i"),
    "floats": (lambda code: 7.0 * code, "f"),
    "dates": (lambda code: np.datetime64("2020-01-01") + code, "M"),
}


@pytest.mark.parametrize("guise", GUISES)
@every_loss
def test_classes_come_back_as_they_were_given(loss, guise, binary):
    code = (binary.y == "yes").astype(int)
    write, kind = GUISES[guise]
    y = write(code)
    model, expected = fit(binary, loss, y=y), fit(binary, loss)
    np.testing.assert_array_equal(
        model.decision_function(binary.X_new), expected.decision_function(binary.X_new)
    )
    predicted = model.predict(binary.X)
    assert predicted.dtype.kind == model.classes_.dtype.kind == kind
    hits = np.asarray(y) == predicted
    assert hits.mean() == expected.score(binary.X, binary.y) > 0.8


few = settings(max_examples=10, deadline=None)
losses, kernels = st.sampled_from(CLASSIFICATION_LOSSES), st.sampled_from(["linear", "rbf"])
letters = st.characters(codec="utf-8", exclude_characters="\0")  # NumPy drops a trailing NUL
three = {"min_size": 3, "max_size": 3, "unique": True}
names = st.one_of(
    st.lists(st.text(letters, min_size=1, max_size=6), **three),
    st.lists(st.integers(-(2**40), 2**40), **three),
)


@few
@given(names=names, loss=losses, kernel=kernels)
def test_the_names_of_the_classes_and_their_order_do_not_matter(ternary, names, loss, kernel):
    options = PRECISE | {"kernel": kernel}
    old = fit(ternary, loss, **options)
    renamed = dict(zip(old.classes_, names, strict=True))
    new = fit(ternary, loss, y=[renamed[name] for name in ternary.y], **options)
    order = [new.classes_.tolist().index(renamed[name]) for name in old.classes_]
    decisions = new.decision_function(ternary.X_new)[:, order]
    assert_same_decisions(decisions, old.decision_function(ternary.X_new))


@every_kernel
@every_loss
def test_two_classes_in_the_other_order_change_the_sign(loss, kernel, binary):
    options = PRECISE | {"kernel": kernel, "epsilon": 0.01}
    old = fit(binary, loss, **options)
    new = fit(binary, loss, y=np.where(binary.y == "yes", "a", "b"), **options)
    decisions = -new.decision_function(binary.X_new)
    assert_same_decisions(decisions, old.decision_function(binary.X_new))


@few
@given(
    names=st.one_of(names, st.lists(st.dates(datetime.date(1900, 1, 1)), **three)),
    order=st.permutations(range(100)),
    loss=losses,
    kernel=kernels,
    epsilon=st.sampled_from([0.0, 0.01]),
)
def test_neither_names_of_groups_nor_the_order_of_rows_matter(
    ternary, names, order, loss, kernel, epsilon
):
    X, y, s, X_new, _ = ternary
    options = PRECISE | {"kernel": kernel, "epsilon": epsilon, "y_bins": ["mid"]}
    groups = s + (X[:, 3] > 0.0)
    expected = fit(ternary, loss, s=groups, **options).decision_function(X_new)
    renamed = [names[code] for code in groups[order]]
    model = FairClassifier(loss, **options).fit(X[order], y[order], sensitive_features=renamed)
    assert_same_decisions(model.decision_function(X_new), expected)
