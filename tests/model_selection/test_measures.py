"""Measures of many models at once are the scorers and metrics, asked one model at a time."""

from functools import partial

import numpy as np
import pytest
from sklearn.metrics import get_scorer

from gferm import Bins, FairClassifier, FairRegressor, metrics
from gferm.estimators.posing import TrainingRows
from gferm.fairness.cells import CellScheme
from gferm.fairness.comparison import no_contrasts
from gferm.fairness.membership import sort_rows
from gferm.fairness.sensitive import read_sensitive_features
from gferm.model_selection.judge import Judge, make_echo
from gferm.model_selection.measures import (
    FAST_ERRORS_OF_CLASSES,
    FAST_ERRORS_OF_NUMBERS,
    UNFAIRNESS,
    TestPart,
    error_measure,
    unfairness_measure,
)
from gferm.model_selection.rows import RowsOfKernel, SearchFold

N, SETTINGS = 80, 7
RNG = np.random.default_rng(0)
S = RNG.choice(["a", "b", "c"], N)
WEIGHT = RNG.uniform(0.2, 3.0, N)
EDGES = Bins.edges([-np.inf, -0.5, 0.5, np.inf])
WORDS = np.array(["high", "low", "mid"])


def members_of(y, y_bins, weight):
    columns = read_sensitive_features(S, N)
    scheme = CellScheme.resolve(y, columns, y_bins=y_bins, s_bins="auto", intersectional=True)
    return sort_rows(scheme, y, columns, weight)


def make_part(echo, y, y_bins, n_models, weight):
    outputs = RNG.standard_normal((SETTINGS, n_models, N))
    answers = echo.labels.answers(outputs, getattr(echo, "classes_", None))
    return TestPart(y, answers, outputs, weight, members_of(y, y_bins, weight), S)


def numbers(weight=None, y_bins=EDGES):
    y = RNG.standard_normal(N)
    echo = make_echo(FairRegressor(), y)
    return echo, make_part(echo, y, y_bins, 1, weight)


def classes(weight=None, names=WORDS, y_bins=None, loss="log_loss"):
    echo = make_echo(FairClassifier(loss), np.sort(names))
    n_models = 1 if len(names) == 2 else len(names)
    y = RNG.choice(names, N)
    bins = Bins.categories(echo.classes_.tolist()) if y_bins is None else y_bins
    return echo, make_part(echo, y, bins, n_models, weight)


WEIGHTS = pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unweighted", "weighted"])


def weights_of(part):
    return {} if part.weight is None else {"sample_weight": part.weight}


@WEIGHTS
@pytest.mark.parametrize("name", [*FAST_ERRORS_OF_NUMBERS, "neg_median_absolute_error"])
def test_errors_of_numbers_are_those_of_the_scorers(name, weight):
    echo, part = numbers(weight)
    scorer = get_scorer(name)
    expected = [-scorer(echo, output.T, part.y, **weights_of(part)) for output in part.outputs]
    np.testing.assert_allclose(error_measure(name, echo)(part), expected, rtol=1e-12)
    np.testing.assert_allclose(error_measure(scorer, echo)(part), expected, rtol=1e-12)


@WEIGHTS
@pytest.mark.parametrize("names", [WORDS, WORDS[:2]], ids=["three", "two"])
@pytest.mark.parametrize("name", [*FAST_ERRORS_OF_CLASSES, "balanced_accuracy"])
def test_errors_of_classes_are_one_minus_the_scores(name, names, weight):
    echo, part = classes(weight, names)
    scorer = get_scorer(name)
    expected = [1 - scorer(echo, output.T, part.y, **weights_of(part)) for output in part.outputs]
    np.testing.assert_allclose(error_measure(name, echo)(part), expected, atol=1e-12)


def test_an_echo_answers_as_a_model_with_these_decisions():
    echo, part = classes(names=WORDS[:2])
    for output, answer in zip(part.outputs, part.answers, strict=True):
        np.testing.assert_array_equal(echo.decision_function(output.T), output[0])
        np.testing.assert_array_equal(echo.predict(output.T), answer)
        np.testing.assert_array_equal(answer == "low", output[0] > 0)
        np.testing.assert_allclose(echo.predict_proba(output.T)[:, 1], 1 / (1 + np.exp(-output[0])))
    echo, part = classes()
    for output, answer in zip(part.outputs, part.answers, strict=True):
        np.testing.assert_array_equal(echo.decision_function(output.T), output.T)
        np.testing.assert_array_equal(answer, np.sort(WORDS)[output.argmax(axis=0)])
    echo, part = numbers()
    np.testing.assert_array_equal(echo.predict(part.outputs[0].T), part.answers[0])


METRICS = {name: getattr(metrics, name) for name in UNFAIRNESS}


def by_metric(metric, part, **bins):
    """Ask the metric for one model after the other."""
    options = {"sensitive_features": S, **weights_of(part), **bins}
    return [metric(part.y, answer, **options) for answer in part.answers]


@WEIGHTS
@pytest.mark.parametrize("name", sorted(METRICS.keys() - {"equalized_odds_difference"}))
def test_unfairness_of_numbers_is_that_of_the_metrics(name, weight):
    _, part = numbers(weight)
    bins = {} if name == "mean_distance" else {"y_bins": EDGES}
    found_name, measure = unfairness_measure(name, part.members.cells)
    assert found_name == name
    np.testing.assert_allclose(measure(part), by_metric(METRICS[name], part, **bins), atol=1e-12)


@WEIGHTS
@pytest.mark.parametrize("names", [WORDS, WORDS[:2]], ids=["three", "two"])
@pytest.mark.parametrize("name", ["dgf", "general_fairness", "equalized_odds_difference"])
def test_unfairness_of_classes_is_that_of_the_metrics(name, names, weight):
    _, part = classes(weight, names)
    odds = name == "equalized_odds_difference"
    bins = {} if odds else {"y_bins": part.members.scheme.label_bins}
    measure = unfairness_measure(name, part.members.cells)[1]
    np.testing.assert_allclose(measure(part), by_metric(METRICS[name], part, **bins), atol=1e-12)


@WEIGHTS
def test_distance_of_means_of_two_numbers_is_that_of_the_metric(weight):
    _, part = classes(weight, np.array([-1, 1]))
    measure = unfairness_measure("mean_distance", part.members.cells)[1]
    np.testing.assert_allclose(measure(part), by_metric(metrics.mean_distance, part), atol=1e-12)


@WEIGHTS
@pytest.mark.parametrize("names", [WORDS, WORDS[:2], np.array([4, 7, 9])], ids=str)
def test_distance_of_means_of_classes_is_that_of_their_shares(names, weight):
    _, part = classes(weight, names)
    measure = unfairness_measure("mean_distance", part.members.cells)[1]
    shares = [
        [
            metrics.mean_distance(part.y, answer == name, sensitive_features=S, **weights_of(part))
            for name in names
        ]
        for answer in part.answers
    ]
    np.testing.assert_allclose(measure(part), np.mean(shares, axis=1), atol=1e-12)


@pytest.mark.parametrize("y_bins", [1, Bins.edges([-np.inf, np.inf])], ids=str)
def test_one_bin_means_the_distance_of_means(y_bins):
    _, part = numbers(y_bins=y_bins)
    assert unfairness_measure("auto", part.members.cells)[0] == "mean_distance"
    for name in ("dgf", "general_fairness", "equalized_odds_difference"):
        assert unfairness_measure(name, None)[0] == name
        with pytest.raises(ValueError, match=f"{name}.* is zero for every model"):
            unfairness_measure(name, part.members.cells)
    risk = unfairness_measure("loss_general_fairness", part.members.cells)[1](part)
    expected = by_metric(metrics.loss_general_fairness, part, y_bins=1)
    np.testing.assert_allclose(risk, expected, atol=1e-12)


def test_one_class_is_not_one_bin():
    _, part = classes(y_bins=Bins.categories(["low"]))
    name, measure = unfairness_measure("auto", part.members.cells)
    assert name == "dgf"
    expected = by_metric(metrics.equal_opportunity_difference, part, pos_label="low")
    largest = unfairness_measure("equalized_odds_difference", part.members.cells)[1]
    np.testing.assert_allclose(largest(part), expected, atol=1e-12)
    assert (measure(part) <= largest(part) + 1e-12).all()


@pytest.mark.parametrize("name", UNFAIRNESS)
def test_nobody_to_compare_is_not_fair_but_unknown(name):
    _, part = numbers()
    alone = part.members.take(np.flatnonzero(S == "a"))
    rows = S == "a"
    lonely = TestPart(part.y[rows], part.answers[:, rows], part.outputs[..., rows], None, alone, S)
    for cells in (alone, None):
        measured = UNFAIRNESS[name](TestPart(**{**vars(lonely), "members": cells}))
        assert measured.shape == (SETTINGS,)
        assert np.isnan(measured).all()


@WEIGHTS
def test_a_callable_is_asked_with_the_rows_of_the_part(weight):
    _, part = numbers(weight)
    metric = partial(metrics.dgf, y_bins=EDGES)
    name, measure = unfairness_measure(metric, part.members.cells)
    assert name == "unfairness"
    np.testing.assert_array_equal(measure(part), by_metric(metric, part))
    assert unfairness_measure(metrics.mean_distance, None)[0] == "mean_distance"
    assert unfairness_measure(lambda *_: 0.0, None)[0] == "lambda"


def test_a_callable_is_not_asked_without_sensitive_features():
    _, part = numbers()
    measure = unfairness_measure(metrics.mean_distance, None)[1]
    assert np.isnan(measure(TestPart(**{**vars(part), "sensitive": None}))).all()


def test_warnings_that_are_errors_stay_warnings():
    def warn(model, X, y):
        raise UserWarning("look")

    echo, part = numbers()
    with pytest.raises(UserWarning, match="look"):
        error_measure(warn, echo)(part)


def test_a_setting_without_all_of_its_models_is_not_judged():
    echo, part = classes()
    outputs = part.outputs.copy()
    outputs[2, 1] = np.nan  # one class of three has no model
    outputs[4] = np.nan
    rows = np.arange(N)
    fold = SearchFold(rows, rows, None, no_contrasts(N), part.members, 0, "")
    judge = Judge(echo, error_measure("accuracy", echo), UNFAIRNESS["dgf"], {"s": S})
    own = RowsOfKernel(TrainingRows(rows, rows, part.y, None, None), None)
    figures = judge(outputs[:, None], fold, own)
    usable = ~np.isin(np.arange(SETTINGS), [2, 4])
    np.testing.assert_array_equal(figures[2], usable)
    np.testing.assert_array_equal(np.isfinite(figures[:2]), [usable, usable])
    expected = np.mean(part.answers != part.y, axis=1)
    np.testing.assert_allclose(figures[0, usable], expected[usable])
