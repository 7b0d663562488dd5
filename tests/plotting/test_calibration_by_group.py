"""The points are means over bins of the prediction, by plain loops."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from scipy import stats
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC

from gferm.plotting import CalibrationByGroupDisplay
from gferm.plotting.style import LINE_COLORS
from tests.problems import make_problem


def make_rows(n=400, n_groups=3, classes=False, seed=0):
    rng = np.random.default_rng(seed)
    s = rng.integers(0, n_groups, n)
    f = rng.uniform(0.1, 0.9, n)
    y = (rng.random(n) < f).astype(int) if classes else f + 0.1 * s + 0.2 * rng.normal(size=n)
    return y, f, s


def brute_force(y, f, s, edges, weight=None):
    """Give predictions, labels and counts, each (K, Q)."""
    weight = np.ones_like(f) if weight is None else weight
    points = np.full((3, len(edges) - 1, np.unique(s).size), np.nan)
    for k in range(len(edges) - 1):
        last = k == len(edges) - 2
        in_bin = (f >= edges[k]) & ((f <= edges[k + 1]) if last else (f < edges[k + 1]))
        for q, group in enumerate(np.unique(s)):
            rows = in_bin & (s == group)
            points[2, k, q] = rows.sum()
            if rows.any():
                points[0, k, q] = np.average(f[rows], weights=weight[rows])
                points[1, k, q] = np.average(y[rows], weights=weight[rows])
    return points


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_points_are_means_over_bins_of_the_prediction(strategy, weighted):
    y, f, s = make_rows()
    weight = np.random.default_rng(1).integers(0, 3, f.size) * 1.0 if weighted else None
    kept = np.ones(f.size, dtype=bool) if weight is None else weight > 0
    display = CalibrationByGroupDisplay.from_predictions(
        y, f, sensitive_features=s, sample_weight=weight, n_bins=5, strategy=strategy
    )
    found = display.calibration
    if strategy == "uniform":
        edges = np.linspace(f[kept].min(), f[kept].max(), 6)
        edges[[0, -1]] += [-1e-9, 1e-9]
    else:
        edges = found.bins.boundaries
        if not weighted:  # ties apart, a fifth of the rows in each
            np.testing.assert_allclose(found.counts.sum(axis=1), f.size / 5, atol=1)
    chosen = None if weight is None else weight[kept]
    expected = brute_force(y[kept], f[kept], s[kept], edges, chosen)
    for values, right in zip(
        (found.predictions, found.labels, found.counts), expected, strict=True
    ):
        np.testing.assert_allclose(values, right)


def drawn(display, q):
    """Give the points of a group, filled and hollow, with the widths of their edges."""
    shapes = [c for c in display.ax_.collections if hasattr(c, "get_sizes") and c.get_paths()]
    own = [c for c in shapes if matches(c, LINE_COLORS[q])]
    return [np.asarray(c.get_offsets()) for c in own]


def matches(collection, color):
    edges = collection.get_edgecolors()
    return edges.size and np.allclose(edges[0], plt.matplotlib.colors.to_rgba(color))


def test_what_is_drawn_is_what_was_computed_and_few_rows_are_hollow():
    y, f, s = make_rows(n=150, n_groups=2)
    display = CalibrationByGroupDisplay.from_predictions(y, f, sensitive_features=s, n_bins=10)
    found = display.calibration
    few = found.counts < 10
    assert few.any()
    assert not few.all()
    for q in range(2):
        filled, hollow = drawn(display, q)
        points = np.c_[found.predictions[:, q], found.labels[:, q]]
        np.testing.assert_allclose(filled, points[~few[:, q]])
        np.testing.assert_allclose(hollow, points[few[:, q]])
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts[:2] == [f"{q} ({np.sum(s == q)} rows)" for q in range(2)]
    assert any("hollow: under 10" in text for text in texts)


@pytest.mark.parametrize("classes", [False, True])
def test_bars_are_wilsons_for_classes_and_students_for_numbers(classes):
    y, f, s = make_rows(classes=classes, n_groups=2)
    display = CalibrationByGroupDisplay.from_predictions(y, f, sensitive_features=s, n_bins=4)
    found = display.calibration
    assert found.classes == classes
    k, q = 2, 1
    rows = (found.bins.assign(f) == k) & (s == q)
    if classes:
        hits = stats.binomtest(int(y[rows].sum()), int(rows.sum()))
        expected = hits.proportion_ci(method="wilson")
    else:
        expected = stats.ttest_1samp(y[rows], 0.0).confidence_interval()
    np.testing.assert_allclose([found.low[k, q], found.high[k, q]], [expected.low, expected.high])
    bars = np.concatenate(
        [c.get_segments() for c in display.ax_.collections if hasattr(c, "get_segments")]
    )
    ends = found.predictions[k, q], found.low[k, q], found.high[k, q]
    assert any(np.allclose([a[0], a[1], b[1]], ends) for a, b in bars)


def test_numbers_of_a_regressor_have_a_diagonal():
    problem = make_problem()
    model = LinearRegression().fit(problem.X, problem.y)
    options = {"sensitive_features": problem.s, "n_bins": 4}
    display = CalibrationByGroupDisplay.from_estimator(model, problem.X, problem.y, **options)
    same = CalibrationByGroupDisplay.from_predictions(
        problem.y, model.predict(problem.X), **options
    )
    np.testing.assert_array_equal(display.calibration.labels, same.calibration.labels)
    x, y = display.ax_.lines[0].get_data()
    np.testing.assert_array_equal(x, y)
    assert display.ax_.get_xlabel() == "mean prediction (units of y)"


@pytest.mark.parametrize("label", [None, "no"])
def test_classifiers_give_the_probability_of_a_class(label):
    problem = make_problem()
    words = np.where(problem.y > np.median(problem.y), "yes", "no")
    model = LogisticRegression().fit(problem.X, words)
    options = {"sensitive_features": problem.s, "n_bins": 4}
    extra = {} if label is None else {"pos_label": label}
    display = CalibrationByGroupDisplay.from_estimator(model, problem.X, words, **options, **extra)
    shown = label or "yes"
    column = list(model.classes_).index(shown)
    same = CalibrationByGroupDisplay.from_predictions(
        words == shown, model.predict_proba(problem.X)[:, column], **options
    )
    np.testing.assert_array_equal(display.calibration.labels, same.calibration.labels)
    assert display.calibration.classes
    assert display.ax_.get_xlabel() == f"mean predicted probability of class {shown}"
    assert display.ax_.get_ylabel().startswith(f"share of class {shown}")


@pytest.mark.parametrize(("label", "sign"), [("yes", 1), ("no", -1)])
def test_decision_values_have_no_diagonal_and_say_so(label, sign):
    problem = make_problem()
    words = np.where(problem.y > np.median(problem.y), "yes", "no")
    model = LinearSVC().fit(problem.X, words)
    display = CalibrationByGroupDisplay.from_estimator(
        model, problem.X, words, sensitive_features=problem.s, n_bins=3, pos_label=label
    )
    values = sign * model.decision_function(problem.X)
    found = display.calibration
    expected = brute_force(words == label, values, problem.s, found.bins.boundaries)
    np.testing.assert_allclose(found.predictions, expected[0])
    np.testing.assert_allclose(found.labels, expected[1])
    assert "no probability" in display.ax_.get_xlabel()
    assert not any(line.get_linestyle() == "--" for line in display.ax_.lines)


def test_several_attributes_need_a_choice_or_their_combinations():
    y, f, s = make_rows()
    both = {"one": s, "other": np.arange(y.size) % 2}
    draw = CalibrationByGroupDisplay.from_predictions
    with pytest.raises(ValueError, match=r"'one', 'other'.*attribute='one'.*intersectional=True"):
        draw(y, f, sensitive_features=both, intersectional=False)
    with pytest.raises(ValueError, match=r"attribute='sex' is not compared here; use one of"):
        draw(y, f, sensitive_features=both, intersectional=False, attribute="sex")
    display = draw(y, f, sensitive_features=both, intersectional=False, attribute="other")
    assert display.calibration.groups == ("0", "1")
    assert len(draw(y, f, sensitive_features=both).calibration.groups) == 6


def test_the_legend_names_the_attribute():
    rng = np.random.default_rng(0)
    y, s = rng.normal(size=80), rng.integers(0, 2, 80)
    for features, title in (({"who": s}, "who"), (s, "")):
        display = CalibrationByGroupDisplay.from_predictions(y, y, sensitive_features=features)
        assert display.ax_.get_legend().get_title().get_text() == title


def test_a_display_draws_on_the_axes_it_is_given():
    y, f, s = make_rows()
    figure, ax = plt.subplots()
    display = CalibrationByGroupDisplay.from_predictions(y, f, sensitive_features=s, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert display.plot(ax) is display
    assert len(plt.get_fignums()) == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"strategy": "even"}, r"strategy='even' is unknown; use one of \['quantile', 'uniform'\]"),
        ({"n_bins": 0}, "n_bins: the number of bins must be an integer of at least 1, got 0"),
        ({"y_true": ["a", "b"] * 20}, "words such as 'a'.*pos_label="),
        ({"pos_label": 7}, "pos_label=7 is not among the labels"),
        ({"y_pred": np.ones(39)}, "y_true has 40 values but y_pred has 39"),
        ({"y_pred": np.ones(40), "strategy": "uniform"}, "y_pred is constant"),
        ({"y_pred": np.full(40, np.nan)}, "y_pred contains NaN"),
    ],
)
def test_what_cannot_be_drawn_is_said(change, words):
    y, f, s = make_rows(40)
    arguments = {"y_true": y, "y_pred": f, "sensitive_features": s} | change
    with pytest.raises(ValueError, match=words):
        CalibrationByGroupDisplay.from_predictions(**arguments)


def test_groups_must_belong_to_the_rows():
    y, f, s = make_rows(40)
    shuffled = pd.Series(s, index=np.arange(40)[::-1])
    with pytest.raises(ValueError, match="different indexes"):
        CalibrationByGroupDisplay.from_predictions(pd.Series(y), f, sensitive_features=shuffled)


def test_classifiers_that_cannot_be_drawn_are_named():
    problem = make_problem()
    three = LogisticRegression().fit(problem.X, problem.s)
    options = {"sensitive_features": problem.s, "n_bins": 3}
    with pytest.raises(ValueError, match=r"pos_label=None is not among the classes \[0, 1, 2\]"):
        CalibrationByGroupDisplay.from_estimator(three, problem.X, problem.s, **options)
    display = CalibrationByGroupDisplay.from_estimator(
        three, problem.X, problem.s, pos_label=2, **options
    )
    assert display.calibration.classes
