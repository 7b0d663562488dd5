"""Models are measured by the metrics, each on its own predictions."""

import numpy as np
import pandas as pd
import pytest

from gferm.metrics import dgf, loss_general_fairness, mean_distance
from gferm.plotting.trade_off import measure_trade_off
from tests.problems import make_problem


def make_predictions(problem, n_models=3):
    rng = np.random.default_rng(0)
    return problem.y + rng.normal(size=(n_models, problem.y.size)) * np.arange(n_models)[:, None]


def test_errors_and_unfairness_are_those_of_the_metrics():
    problem = make_problem()
    stack = make_predictions(problem)
    options = {"sensitive_features": problem.s, "y_bins": 4}
    found = measure_trade_off(problem.y, stack, **options)
    np.testing.assert_allclose(found.errors, np.abs(stack - problem.y).mean(axis=1))
    gaps = [
        loss_general_fairness(problem.y, f, loss="prediction", average="pairs", **options)
        for f in stack
    ]
    np.testing.assert_allclose(found.unfairness, gaps)
    assert found.names == ("", "", "")
    assert found.n_rows == problem.y.size
    rates = measure_trade_off(problem.y, stack, unfairness="dgf", **options)
    np.testing.assert_allclose(rates.unfairness, [dgf(problem.y, f, **options) for f in stack])


def test_a_mapping_is_the_same_with_names():
    problem = make_problem()
    stack = make_predictions(problem)
    options = {"sensitive_features": problem.s, "y_bins": 4}
    found = measure_trade_off(problem.y, dict(zip("abc", stack, strict=True)), **options)
    assert found.names == ("a", "b", "c")
    expected = measure_trade_off(problem.y, stack, names=["a", "b", "c"], **options)
    np.testing.assert_array_equal(found.errors, expected.errors)
    np.testing.assert_array_equal(found.unfairness, expected.unfairness)
    assert found.names == expected.names


def test_words_are_counted_as_mistakes():
    problem = make_problem()
    y = np.where(problem.y > 0, "yes", "no")
    f = np.where(problem.X[:, 0] > 0, "yes", "no")
    options = {"sensitive_features": problem.s, "y_bins": "auto"}
    found = measure_trade_off(y, {"model": f}, unfairness="dgf", **options)
    assert found.errors == [np.mean(y != f)]
    assert found.unfairness == [dgf(y, f, **options)]
    assert found.error_name == "share of mistakes"


def test_functions_judge_too():
    problem = make_problem()
    stack = make_predictions(problem)

    def worst_error(y, f):
        return np.abs(y - f).max()

    found = measure_trade_off(
        problem.y,
        stack,
        sensitive_features=problem.s,
        error=worst_error,
        unfairness=mean_distance,
    )
    assert (found.error_name, found.unfairness_name) == ("worst error", "mean distance")
    np.testing.assert_allclose(found.errors, np.abs(stack - problem.y).max(axis=1))
    distances = [mean_distance(problem.y, f, sensitive_features=problem.s) for f in stack]
    np.testing.assert_allclose(found.unfairness, distances)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"predictions": np.zeros(20)}, r"got shape \(20,\); of a single model, pass"),
        ({"predictions": {}}, "must be a mapping of names to arrays"),
        (
            {"predictions": np.zeros((2, 19))},
            "predictions has 19 values of model 0, but",
        ),
        ({"names": ["one"]}, "names has 1 entries for 2 models"),
        ({"predictions": {"a": np.zeros(20)}, "names": ["a"]}, "a mapping has its own"),
        ({"error": "rmse"}, r"error='rmse' is unknown; use one of \['mean absolute error'"),
        ({"unfairness": "odds"}, r"unfairness='odds' is unknown; use one of \['dgf', 'mean_gap'"),
        ({"y_true": ["a", "b"] * 10}, "which words do not have; use unfairness='dgf'"),
    ],
)
def test_what_cannot_be_judged_is_said(change, words):
    rows = np.linspace(0, 1, 20)
    arguments = {"y_true": rows, "predictions": [rows, rows], "sensitive_features": rows > 0.3}
    with pytest.raises(ValueError, match=words):
        measure_trade_off(**arguments | change)


def test_groups_must_belong_to_the_rows():
    y = pd.Series(np.linspace(0, 1, 20))
    groups = pd.Series(np.arange(20) % 2, index=np.arange(20)[::-1])
    with pytest.raises(ValueError, match="different indexes"):
        measure_trade_off(y, [y.to_numpy()], sensitive_features=groups)
