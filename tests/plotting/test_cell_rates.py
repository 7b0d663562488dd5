"""The bars are what was computed."""

import numpy as np
import pytest
from matplotlib import pyplot as plt
from scipy.stats import binomtest

from gferm import FairClassifier, FairRegressor
from gferm.metrics import cell_rates
from gferm.plotting import CellRatesDisplay
from tests.problems import make_problem


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


def test_one_of_several_attributes_is_drawn_by_its_name():
    problem = make_problem()
    both = {"group": problem.s, "half": np.arange(problem.s.size) % 2}
    options = {"sensitive_features": both, "intersectional": False, "y_bins": 3}
    f = problem.y + 0.5
    with pytest.raises(ValueError, match=r"attributes compared each on its own.*attribute='group'"):
        CellRatesDisplay.from_predictions(problem.y, f, **options)
    with pytest.raises(ValueError, match="attribute='sex' is not compared here"):
        CellRatesDisplay.from_predictions(problem.y, f, attribute="sex", **options)
    display = CellRatesDisplay.from_predictions(problem.y, f, attribute="half", **options)
    table = cell_rates(problem.y, f, **options).tables[1]
    np.testing.assert_array_equal(display.values, table)
    heights = np.array([[bar.get_height() for bar in c] for c in display.ax_.containers])
    np.testing.assert_allclose(heights.T, np.nan_to_num(table))


@pytest.mark.parametrize("n_groups", [2, 4])
def test_error_bars_are_wilsons_intervals(n_groups):
    problem = make_problem(n_groups=n_groups)
    f = problem.y + np.random.default_rng(0).normal(size=problem.y.size)
    rates = cell_rates(problem.y, f, sensitive_features=problem.s, y_bins=4)
    display = CellRatesDisplay(rates).plot(intervals=True)
    bars = [c for c in display.ax_.containers if hasattr(c, "has_yerr")]
    assert len(bars) == n_groups
    for q, container in enumerate(bars):
        there = rates.counts[:, q] > 0
        ends = np.array([segment[:, 1] for segment in container.lines[2][0].get_segments()])
        expected = [
            binomtest(round(rate * rows), int(rows)).proportion_ci(method="wilson")
            for rate, rows in zip(rates.values[there, q], rates.counts[there, q], strict=True)
        ]
        np.testing.assert_allclose(ends, expected, atol=1e-12)


def test_many_groups_become_a_map_of_the_same_rates():
    problem = make_problem(n=600, n_groups=12)
    f = problem.y + 0.3
    options = {"sensitive_features": problem.s, "s_bins": [*range(12), 12], "y_bins": 4}
    rates = cell_rates(problem.y, f, **options)
    display = CellRatesDisplay.from_predictions(problem.y, f, **options)
    drawn = display.ax_.images[0].get_array()
    np.testing.assert_array_equal(drawn.mask, np.isnan(rates.values.T))
    np.testing.assert_array_equal(drawn.compressed(), rates.values.T[~drawn.mask])
    texts = {text.get_position(): text.get_text() for text in display.ax_.texts}
    expected = {
        (k, q): f"{rate:.2f}\n{rates.counts[k, q]}"
        for (k, q), rate in np.ndenumerate(rates.values)
        if rates.counts[k, q]
    }
    assert texts == expected
    groups = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert groups == list(rates.cells.partitions[0].groups)


def test_the_legend_covers_no_bar_and_names_are_no_formulas():
    problem = make_problem(n_groups=2)
    names = np.array(["<b>$x_1$", "_other"])[problem.s]
    figure, axes = plt.subplots(2, 2)
    display = CellRatesDisplay.from_predictions(
        problem.y, problem.y, sensitive_features=names, y_bins=4, ax=axes[0, 0]
    )
    assert display.ax_ is axes[0, 0]
    assert len(plt.get_fignums()) == 1
    figure.canvas.draw()
    legend = display.ax_.get_legend()
    bars = [bar.get_window_extent() for c in display.ax_.containers for bar in c]
    assert max(box.y1 for box in bars) <= legend.get_window_extent().y0
    assert [text.get_text().strip() for text in legend.get_texts()] == [r"<b>\$x_1\$", "_other"]


@pytest.mark.parametrize("words", [True, False])
def test_classes_are_bins_of_their_own(words):
    problem = make_problem(n_groups=2)
    high = problem.y > np.median(problem.y)
    y = np.where(high, "yes", "no") if words else high.astype(int)
    model = FairClassifier("squared", kernel="linear")
    model.fit(problem.X, y, sensitive_features=problem.s)
    display = CellRatesDisplay.from_estimator(model, problem.X, y, sensitive_features=problem.s)
    assert display.rates.cells.label_bins.labels == (("no", "yes") if words else ("0", "1"))
    right = model.predict(problem.X) == y
    expected = [[right[(high == k) & (problem.s == q)].mean() for q in (0, 1)] for k in (0, 1)]
    np.testing.assert_allclose(display.values, expected)


def test_a_cell_without_rows_is_marked_and_a_rate_of_zero_is_not():
    y = np.array([0.1, 0.1, 0.1, 0.9, 0.9, 0.1])
    f = np.array([0.9, 0.1, 0.1, 0.1, 0.9, 0.1])
    groups = np.array(list("abcabd"))  # no c and no d above
    display = CellRatesDisplay.from_predictions(
        y, f, sensitive_features={"who": groups}, y_bins=[0, 0.5, 1]
    )
    assert display.values[0, 0] == 0
    marks = [c for c in display.ax_.collections if len(c.get_offsets())]
    bars = [list(container) for container in display.ax_.containers]
    centers = [bars[q][1].get_x() + bars[q][1].get_width() / 2 for q in (2, 3)]
    np.testing.assert_allclose([c.get_offsets()[0, 0] for c in marks], centers)
    legend = display.ax_.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b", "c", "d", "no rows"]
    assert legend.get_title().get_text() == "who"


def test_long_edges_stay_upright_and_readable():
    rng = np.random.default_rng(0)
    y, s = rng.normal(size=300), rng.integers(0, 4, 300)
    display = CellRatesDisplay.from_predictions(y, y + 0.1, sensitive_features=s, y_bins=6)
    assert {label.get_rotation() for label in display.ax_.get_xticklabels()} == {0.0}
