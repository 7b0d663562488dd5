"""The bars are what was computed."""

import numpy as np
import pytest

from gferm import FairRegressor
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
