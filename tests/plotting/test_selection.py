"""Every setting of a search is in the picture, and in its right role."""

from types import SimpleNamespace

import numpy as np
import pytest
import sklearn
from matplotlib import pyplot as plt
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV

from gferm import FairRegressor, fairest_within
from gferm.metrics import dgf, mean_distance
from gferm.model_selection import lowest_error, pareto_set
from gferm.plotting import SelectionDisplay
from tests.problems import make_problem


def make_results(n=60, seed=0, failed=(5, 17)):
    """Make the columns of a search with good settings, bad ones and some that failed."""
    rng = np.random.default_rng(seed)
    errors = 1 + rng.exponential(0.3, n)
    errors[:4] = [30.0, 7.0, 3.0, 400.0]
    unfairness = rng.uniform(0.05, 0.3, n)
    errors[list(failed)] = np.nan
    names = {"error": -errors, "dgf": -unfairness}
    return {
        "params": [{"fair__alpha": 0.5 * i, "fair__kernel": "rbf"} for i in range(n)],
        **{f"mean_test_{name}": values for name, values in names.items()},
        **{f"std_test_{name}": 0.1 * np.abs(values) for name, values in names.items()},
        **{f"split{k}_test_{name}": v for k in range(4) for name, v in names.items()},
    }


def drawn(display, label):
    """Give the points whose legend entry begins with ``label``."""
    found = [c for c in display.ax_.collections if c.get_label().startswith(label)]
    return np.concatenate([c.get_offsets() for c in found]) if found else np.empty((0, 2))


def legend(display):
    return [text.get_text().replace("\xa0", " ") for text in display.ax_.get_legend().get_texts()]


def rows(points):
    return sorted(map(tuple, np.asarray(points)))


def count(display, words):
    """Read the number that the legend states in an entry of these words."""
    entries = [entry for entry in legend(display) if words in entry]
    return int(entries[0].split()[0]) if entries else 0


@pytest.mark.parametrize("zoom", [True, False])
@pytest.mark.parametrize("tolerance", [0.0, 0.1, 0.5])
def test_every_setting_is_shortlisted_or_muted_or_beyond_or_missing(zoom, tolerance):
    results, rule = make_results(), fairest_within(tolerance)
    errors, unfairness = rule.measures(results)
    display = SelectionDisplay.from_cv_results(results, rule=rule).plot(zoom=zoom)
    listed = rule.shortlist(results)
    assert rows(drawn(display, "shortlist")) == rows(np.c_[errors, unfairness][listed])
    assert f"shortlist: {listed.size} of 60 settings" in legend(display)
    n_others, n_beyond = count(display, "other settings"), count(display, "further right")
    assert n_beyond == (0 if not zoom else np.sum(errors > display.ax_.get_xlim()[1]))
    assert (n_beyond > 0) == zoom
    assert listed.size + n_others + n_beyond + count(display, "without a value") == 60
    muted = [c for c in display.ax_.collections if c.get_label().endswith("other settings")]
    inside = (errors < display.ax_.get_xlim()[1]) & ~np.isin(np.arange(60), listed)
    points = np.c_[errors, unfairness][inside]
    assert rows(muted[0].get_offsets()) == rows(points)
    assert len(points) == n_others


def test_the_marks_are_the_choice_and_the_lowest_error():
    results, rule = make_results(), fairest_within()
    errors, unfairness = rule.measures(results)
    display = SelectionDisplay.from_cv_results(results)
    for name, i in (("chosen", rule(results)), ("lowest error", lowest_error()(results))):
        assert rows(drawn(display, name)) == [(errors[i], unfairness[i])]
        entry = next(entry for entry in legend(display) if entry.startswith(name))
        assert f"error {errors[i]:.3g}, dgf {unfairness[i]:.3g}" in entry
        assert entry.endswith(f"alpha = {0.5 * i:.3g}")  # the kernel is always the same
    line = next(line for line in display.ax_.lines if line.get_label().startswith("its limit"))
    np.testing.assert_allclose(line.get_xdata(), np.nanmin(errors) / 0.9)
    assert f"error {np.nanmin(errors) / 0.9:.3g}" in line.get_label()


def test_the_stairs_go_through_the_pareto_set_and_on():
    results = make_results()
    errors, unfairness = fairest_within().measures(results)
    display = SelectionDisplay.from_cv_results(results)
    line = next(line for line in display.ax_.lines if line.get_label().startswith("Pareto"))
    best = pareto_set(errors, unfairness)
    x, y = line.get_data()
    np.testing.assert_allclose(x[:-1], errors[best])
    np.testing.assert_allclose(y[:-1], unfairness[best])
    assert line.get_drawstyle() == "steps-post"  # a step down is where a setting is
    assert x[-1] >= display.ax_.get_xlim()[1]
    assert y[-1] == np.nanmin(unfairness[np.isfinite(errors)])


def test_bars_are_standard_errors_over_the_folds():
    results = make_results()
    display = SelectionDisplay.from_cv_results(results)
    i = display.chosen
    for bars, name in ((display.error_bars, "error"), (display.unfairness_bars, "dgf")):
        np.testing.assert_allclose(bars, results[f"std_test_{name}"] / 2)
    chosen = display.ax_.containers[0]
    (across,), (up,) = (bar.get_segments() for bar in chosen.lines[2])
    np.testing.assert_allclose(np.ptp(across[:, 0]), 2 * display.error_bars[i])
    np.testing.assert_allclose(np.ptp(up[:, 1]), 2 * display.unfairness_bars[i])
    assert display.ax_.get_xlabel() == "error, mean ± standard error over folds"
    bare = {name: results[name] for name in ("mean_test_error", "mean_test_dgf")}
    display = SelectionDisplay.from_cv_results(bare)
    assert not display.ax_.containers
    assert display.ax_.get_xlabel() == "error, mean over folds"
    assert display.ax_.get_ylabel() == "unfairness (dgf), mean over folds"


def test_the_shortlist_and_the_marks_are_well_inside_the_view():
    for tolerance in (0.0, 0.02, 0.1, 0.5):
        rule = fairest_within(tolerance)
        display = SelectionDisplay.from_cv_results(make_results(), rule=rule)
        low, high = display.ax_.get_xlim()
        bottom, top = display.ax_.get_ylim()
        seen = [*display.shortlist, display.chosen]
        assert (low < display.errors[seen]).all()
        assert (display.errors[seen] < high).all()
        assert (display.unfairness[seen] < top).all()
        assert low < display.limit < high
        assert bottom < 0 < top


def test_settings_out_of_view_stay_in_the_frame():
    results = {"mean_test_error": [1.0, 9.0, 9.0], "mean_test_dgf": [0.1, 0.9, 0.05]}
    display = SelectionDisplay.from_cv_results(results)
    beyond = next(c for c in display.ax_.collections if "further right" in c.get_label())
    top = display.ax_.get_ylim()[1]
    assert top < 0.9
    assert rows(beyond.get_offsets()) == [(1.0, 0.05), (1.0, top)]


def test_a_wide_search_has_a_logarithmic_axis_unless_zoomed():
    display = SelectionDisplay.from_cv_results(make_results())
    assert display.ax_.get_xscale() == "linear"
    display.plot(zoom=False)
    assert display.ax_.get_xscale() == "log"
    assert np.nanmax(display.errors) < display.ax_.get_xlim()[1]


def test_the_legend_covers_nothing():
    display = SelectionDisplay.from_cv_results(make_results())
    display.figure_.canvas.draw()
    legend_box = display.ax_.get_legend().get_window_extent()
    assert not legend_box.overlaps(display.ax_.get_window_extent())
    assert legend_box.x1 <= display.figure_.bbox.x1


def test_scores_are_drawn_as_errors():
    results = {"mean_test_accuracy": [0.9, 0.6], "mean_test_odds": [0.3, 0.1]}
    rule = fairest_within(0.1, "mean_test_accuracy", "mean_test_odds", greater_is_better=True)
    display = SelectionDisplay.from_cv_results(results, rule=rule)
    np.testing.assert_allclose(drawn(display, "chosen, of lowest error"), [[0.1, 0.3]])
    assert display.ax_.get_xlabel() == "error (1 − accuracy), mean over folds"


@pytest.mark.parametrize(
    ("errors", "unfairness"),
    [([1.0], [0.1]), ([0.0, 0.0, 0.1], [0.1, 0.0, 0.2]), ([2, 2.3], [0, 0])],
)
def test_small_and_perfect_searches_can_be_drawn(errors, unfairness):
    results = {"mean_test_error": errors, "mean_test_dgf": unfairness}
    display = SelectionDisplay.from_cv_results(results)
    display.figure_.canvas.draw()
    assert len(drawn(display, "chosen")) == 1
    low, high = display.ax_.get_xlim()
    assert low < min(display.limit, *errors, np.inf)
    assert high > display.limit
    assert high > max(errors)


def test_nothing_to_draw_is_said():
    with pytest.raises(ValueError, match="nothing to draw; search with error_score='raise'"):
        SelectionDisplay([1.0, np.nan], [np.nan, 1.0], shortlist=[0], chosen=0, limit=1.0)


def search(refit):
    problem = make_problem(n_groups=2)
    with sklearn.config_context(enable_metadata_routing=True):
        unfair = make_scorer(mean_distance, greater_is_better=False)
        unfair.set_score_request(sensitive_features=True)
        model = FairRegressor(y_bins=1).set_fit_request(sensitive_features=True)
        scoring = {"mae": "neg_mean_absolute_error", "distance": unfair}
        grid = {"alpha": [0.1, 1.0, 10.0], "epsilon": [0.0, None]}
        found = GridSearchCV(model, grid, scoring=scoring, refit=refit, cv=3)
        return found.fit(problem.X, problem.y, sensitive_features=problem.s)


COLUMNS = {"error": "mean_test_mae", "unfairness": "mean_test_distance"}


def test_a_search_is_drawn_with_its_own_rule_and_choice():
    found = search(fairest_within(0.4, **COLUMNS))
    _, ax = plt.subplots()
    display = SelectionDisplay.from_estimator(found, ax=ax)
    assert display.ax_ is ax
    assert display.chosen == found.best_index_
    np.testing.assert_array_equal(display.shortlist, found.refit.shortlist(found.cv_results_))
    params = found.best_params_
    expected = f"alpha = {params['alpha']:.3g}, epsilon = {params['epsilon'] or 0:.3g}"
    assert display.labels[display.chosen] == expected
    assert display.ax_.get_ylabel().startswith("unfairness (distance)")


def test_a_naive_search_has_a_shortlist_of_one():
    found = search(lowest_error("mean_test_mae"))
    display = SelectionDisplay.from_estimator(found)
    assert display.shortlist.tolist() == [display.chosen] == [found.best_index_]
    assert display.limit == display.errors[display.chosen]
    found.cv_results_["mean_test_other"] = found.cv_results_["mean_test_mae"]
    with pytest.raises(ValueError, match=r"'mean_test_distance', 'mean_test_other'.*unfairness="):
        SelectionDisplay.from_estimator(found)


def test_the_rule_of_a_search_of_ours_is_its_rule_():
    results = make_results()
    rule = fairest_within(0.3)
    ours = SimpleNamespace(cv_results_=results, best_index_=rule(results), rule_=rule, refit=True)
    display = SelectionDisplay.from_estimator(ours)
    np.testing.assert_array_equal(display.shortlist, rule.shortlist(results))


def test_a_search_with_another_rule_keeps_its_choice():
    results = make_results()
    other = SimpleNamespace(cv_results_=results, best_index_=12, refit="error")
    display = SelectionDisplay.from_estimator(other)
    assert display.chosen == 12
    np.testing.assert_array_equal(display.shortlist, fairest_within().shortlist(results))
    results["mean_test_distance"] = results.pop("mean_test_dgf")
    assert SelectionDisplay.from_estimator(other).unfairness_name == "distance"


def make_models(problem, n_models=6):
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(n_models, problem.y.size)) * np.linspace(0.3, 0.5, n_models)[:, None]
    return {f"$model_{i}$": problem.y + e for i, e in enumerate(noise)}


@pytest.mark.parametrize("tolerance", [0.0, 0.1, 0.3])
def test_the_choice_among_models_is_that_of_the_rule(tolerance):
    problem = make_problem()
    models = make_models(problem)
    options = {"sensitive_features": problem.s, "y_bins": 3}
    _, ax = plt.subplots()
    display = SelectionDisplay.from_predictions(
        problem.y, models, rule=fairest_within(tolerance), ax=ax, **options
    )
    errors = np.array([np.abs(problem.y - f).mean() for f in models.values()])
    unfairness = np.array([dgf(problem.y, f, **options) for f in models.values()])
    listed = np.flatnonzero(errors <= errors.min() / (1 - tolerance) + 1e-12)
    np.testing.assert_allclose(display.errors, errors)
    np.testing.assert_allclose(display.unfairness, unfairness)
    np.testing.assert_array_equal(display.shortlist, listed)
    assert display.chosen == listed[np.argmin(unfairness[listed])]
    assert display.ax_ is ax
    assert len(plt.get_fignums()) == 1
    assert f"shortlist: {listed.size} of 6 models" in legend(display)
    assert display.ax_.get_xlabel() == f"mean absolute error, {problem.y.size} rows"
    assert display.ax_.get_ylabel() == f"unfairness (DGF), {problem.y.size} rows"


def test_names_of_models_stay_inside_the_axes_and_numbers_beside_their_names():
    rng = np.random.default_rng(0)
    y, s = rng.normal(size=200), rng.integers(0, 2, 200)
    long = "a name that is far too long to be written at the right"
    predictions = {"best": y + 0.5, long: y + 0.6, "short": y + 0.57}
    display = SelectionDisplay.from_predictions(y, predictions, sensitive_features=s)
    display.figure_.canvas.draw()
    right = display.ax_.get_window_extent().x1
    assert all(text.get_window_extent().x1 <= right for text in display.ax_.texts)
    assert len(display.ax_.texts) == 3
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert "DGF\xa0" in texts[0]


def test_few_models_have_their_names_beside_their_points():
    problem = make_problem()
    models = make_models(problem)
    options = {"sensitive_features": problem.s, "y_bins": 3, "rule": fairest_within(0.5)}
    display = SelectionDisplay.from_predictions(problem.y, models, **options)
    written = {text.get_text(): tuple(text.xy) for text in display.ax_.texts}
    assert written == {
        name.replace("$", r"\$"): (display.errors[i], display.unfairness[i])
        for i, name in enumerate(models)
    }
    many = {str(i): problem.y + i / 100 for i in range(20)}
    assert not SelectionDisplay.from_predictions(problem.y, many, **options).ax_.texts
