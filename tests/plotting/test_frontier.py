"""The curve is the frontier."""

import numpy as np
import pytest
from matplotlib import pyplot as plt
from sklearn.linear_model import Ridge

from gferm import Bins, FairRegressor, frontier
from gferm.metrics import dgf, loss_general_fairness
from gferm.plotting import FrontierDisplay
from tests.problems import make_problem


def stars(display):
    return [line for line in display.ax_.lines if line.get_marker() == "*"]


def test_the_frontier_curve_goes_through_its_breakpoints():
    problem = make_problem()
    path = frontier(problem.X, problem.y, sensitive_features=problem.s, y_bins=3)
    display = FrontierDisplay.from_frontier(path)
    x, price = display.ax_.lines[0].get_data()
    points = display.ax_.collections[0].get_offsets()
    np.testing.assert_allclose(points[:, 0], path.epsilons)
    expected = 100 * (path.objectives / path.objectives[0] - 1)
    np.testing.assert_allclose(points[:, 1], expected, atol=1e-9)
    np.testing.assert_allclose(np.interp(path.epsilons, x, price), expected, atol=1e-9)
    assert not stars(display)


def test_a_display_draws_on_the_axes_it_is_given():
    problem = make_problem()
    path = frontier(problem.X, problem.y, sensitive_features=problem.s, y_bins=3)
    figure, ax = plt.subplots()
    assert FrontierDisplay.from_frontier(path, ax=ax).ax_ is ax
    model = FairRegressor(y_bins=3)
    data = {"sensitive_features": problem.s, "ax": ax}
    assert FrontierDisplay.from_estimator(model, problem.X, problem.y, **data).ax_ is ax
    stack = np.array([problem.y, problem.y + 1])
    display = FrontierDisplay.from_predictions(problem.y, stack, **data)
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert len(plt.get_fignums()) == 1


@pytest.mark.parametrize("fitted", [False, True])
@pytest.mark.parametrize("epsilon_scale", ["mean", "sum"])
def test_a_model_is_marked_where_its_objective_is(fitted, epsilon_scale):
    problem = make_problem()
    settings = {"y_bins": 3, "alpha": 0.3, "epsilon_scale": epsilon_scale}
    plain = FairRegressor(**settings, epsilon=None)
    plain.fit(problem.X, problem.y, sensitive_features=problem.s)
    epsilon = 0.4 * plain.violation_
    fair = FairRegressor(**settings, epsilon=epsilon)
    fair.fit(problem.X, problem.y, sensitive_features=problem.s)
    model = fair if fitted else FairRegressor(**settings, epsilon=epsilon)
    before = dict(vars(model))
    display = FrontierDisplay.from_estimator(
        model, problem.X, problem.y, sensitive_features=problem.s
    )
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
    (star,) = stars(display)
    price = 100 * (fair.objective_ / plain.objective_ - 1)
    np.testing.assert_allclose(np.concatenate(star.get_data()), [epsilon, price], rtol=1e-6)
    assert f"epsilon {epsilon:.3g}, price {price:.3g} %" in star.get_label()
    expected = "mean gap" if epsilon_scale == "mean" else "sum of the gaps"
    assert expected in display.ax_.get_xlabel()


def test_weights_count_in_the_frontier():
    problem = make_problem()
    weight = np.arange(problem.y.size) % 3 + 1.0
    data = {"sensitive_features": problem.s, "sample_weight": weight}
    display = FrontierDisplay.from_estimator(FairRegressor(y_bins=3), problem.X, problem.y, **data)
    path = frontier(problem.X, problem.y, y_bins=3, **data)
    points = display.ax_.collections[0].get_offsets()
    np.testing.assert_allclose(points[:, 0], path.epsilons)


def test_a_model_without_constraint_has_no_mark_and_an_inactive_one_says_so():
    problem = make_problem()
    draw = FrontierDisplay.from_estimator
    data = {"sensitive_features": problem.s}
    model = FairRegressor(y_bins=3, epsilon=None)
    assert not stars(draw(model, problem.X, problem.y, **data))
    (star,) = stars(draw(model.set_params(epsilon=1e6), problem.X, problem.y, **data))
    np.testing.assert_allclose(star.get_ydata(), 0.0, atol=1e-9)
    assert "not active" in star.get_label()


def test_other_models_have_no_exact_frontier():
    problem = make_problem()
    for model in (Ridge(), FairRegressor("absolute", y_bins=3)):
        with pytest.raises(ValueError, match="square loss"):
            FrontierDisplay.from_estimator(
                model, problem.X, problem.y, sensitive_features=problem.s
            )


@pytest.mark.parametrize("unfairness", ["mean_gap", "dgf"])
def test_held_out_models_are_drawn_in_their_order(unfairness):
    problem = make_problem()
    rng = np.random.default_rng(0)
    stack = problem.y + rng.normal(size=(6, problem.y.size))
    options = {"sensitive_features": problem.s, "y_bins": 3}
    names = ["plain", "", "", "", "", "$fair$"]
    display = FrontierDisplay.from_predictions(
        problem.y, stack, names=names, unfairness=unfairness, **options
    )
    measure = {
        "dgf": dgf,
        "mean_gap": lambda y, f, **bins: loss_general_fairness(
            y, f, loss="prediction", average="pairs", **bins
        ),
    }[unfairness]
    gaps = [measure(problem.y, f, **options) for f in stack]
    errors = np.abs(stack - problem.y).mean(axis=1)
    curve, *marks = display.ax_.lines
    np.testing.assert_allclose(curve.get_data(), [gaps, errors])
    assert curve.get_linestyle() == "-"
    assert [mark.get_label() for mark in marks] == ["plain", r"\$fair\$"]
    for mark, i in zip(marks, (0, 5), strict=True):
        np.testing.assert_allclose(np.concatenate(mark.get_data()), [gaps[i], errors[i]])
    assert {"dgf": "DGF", "mean_gap": "mean gap"}[unfairness] in display.ax_.get_xlabel()


def test_classes_are_bins_of_their_own_and_named_models_have_one_mark():
    y = np.array(["no", "yes", "no", "yes"] * 5)
    s = np.arange(20) % 3 % 2
    predictions = {"one": y, "two": np.roll(y, 1)}
    display = FrontierDisplay.from_predictions(
        y, predictions, sensitive_features=s, unfairness="dgf", connect=False
    )
    line = display.ax_.lines[0]
    assert line.get_linestyle() == "None"
    assert line.get_markevery() == []  # no dot below a mark
    bins = Bins.categories(["no", "yes"])
    expected = dgf(y, predictions["two"], sensitive_features=s, y_bins=bins)
    assert display.curve.trade_off.unfairness[1] == pytest.approx(expected)


def test_unrelated_models_need_not_be_connected():
    problem = make_problem()
    models = {"one": problem.y, "other": problem.y + 1}
    options = {"sensitive_features": problem.s, "y_bins": 3}
    display = FrontierDisplay.from_predictions(problem.y, models, connect=False, **options)
    assert display.ax_.lines[0].get_linestyle() == "None"
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == list(models)
