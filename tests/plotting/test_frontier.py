"""The curve is the frontier."""

import numpy as np
from matplotlib import pyplot as plt

from gferm import frontier
from gferm.plotting import FrontierDisplay
from tests.problems import make_problem


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
