"""What is drawn is what was computed."""

import matplotlib
import numpy as np
import pytest

from gferm import FairRegressor, frontier
from gferm.metrics import cell_rates
from gferm.plotting import CellRatesDisplay, FrontierDisplay
from tests.problems import make_problem

matplotlib.use("Agg")
from matplotlib import pyplot as plt


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.mark.parametrize("n_groups", [2, 4])
def test_bars_are_the_cell_rates(n_groups):
    problem = make_problem(n_groups=n_groups)
    model = FairRegressor(y_bins=4).fit(problem.X, problem.y, sensitive_features=problem.s)
    options = {"sensitive_features": problem.s, "y_bins": 4}
    display = CellRatesDisplay.from_estimator(model, problem.X, problem.y, **options)
    rates = cell_rates(problem.y, model.predict(problem.X), **options)
    heights = np.array([[bar.get_height() for bar in c] for c in display.ax_.containers])
    np.testing.assert_allclose(heights.T, np.nan_to_num(rates.values))
    texts = [text.get_text() for text in display.ax_.get_xticklabels()]
    for text, counts in zip(texts, rates.counts, strict=True):
        every, least = " | ".join(map(str, counts)), f"{counts.sum()}, least {counts.min()}"
        assert text.endswith(every if n_groups == 2 else least)


def test_the_frontier_curve_goes_through_its_breakpoints():
    problem = make_problem()
    path = frontier(problem.X, problem.y, sensitive_features=problem.s, y_bins=3)
    display = FrontierDisplay.from_frontier(path)
    x, price = display.ax_.lines[0].get_data()
    points = display.ax_.collections[0].get_offsets()
    np.testing.assert_allclose(points[:, 0], path.epsilons)
    expected = 100 * (path.objectives / path.objectives[0] - 1)
    np.testing.assert_allclose(points[:, 1], expected)
    np.testing.assert_allclose(np.interp(path.epsilons, x, price), expected, atol=1e-9)


def test_a_display_draws_on_the_axes_it_is_given():
    problem = make_problem()
    path = frontier(problem.X, problem.y, sensitive_features=problem.s, y_bins=3)
    _, ax = plt.subplots()
    assert FrontierDisplay.from_frontier(path, ax=ax).ax_ is ax
    assert len(plt.get_fignums()) == 1
