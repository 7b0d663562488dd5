"""Every gap is in its line, with its interval, its band and its rows."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgba

import gferm
from gferm.auditing import Gap
from gferm.metrics import cell_rates
from gferm.plotting import GapDisplay
from gferm.plotting.gap import INSIDE, OUTSIDE, clearest, lines_of, signal_to_noise
from tests.problems import make_problem


def make_gap(value=0.1, *, noise=0.2, width=0.3, small=False, counts=(30, 40), **where):
    usual = {"attribute": "sex", "label_bin": "[0, 1]", "groups": ("f", "m"), "kind": "rate"}
    return Gap(
        value=value,
        low=value - width,
        high=value + width,
        null_low=-noise,
        null_high=noise,
        small=small,
        counts=counts,
        **(usual | where),
    )


def make_gaps(n_bins=3, groups="abc", seed=0, **options):
    rng = np.random.default_rng(seed)
    return [
        make_gap(
            rng.normal(0, 0.2),
            noise=rng.uniform(0.1, 0.3),
            counts=tuple(rng.integers(2, 500, 2).tolist()),
            label_bin=f"bin {k}",
            groups=pair,
            **options,
        )
        for k in range(n_bins)
        for pair in combinations(groups, 2)
    ]


def dots(display):
    """Give (value, line) of each dot, its edge colour and whether it is hollow, from the top."""
    found = [c for c in display.ax_.collections if hasattr(c, "get_sizes") and len(c.get_sizes())]
    rows = [
        (*c.get_offsets()[0], tuple(c.get_edgecolors()[0]), tuple(c.get_facecolors()[0]))
        for c in found
    ]
    return sorted(rows, key=lambda row: row[1])


def segments(display):
    return {
        segment[0, 1]: segment[:, 0]
        for c in display.ax_.collections
        if hasattr(c, "get_segments")
        for segment in c.get_segments()
        if segment[0, 1] == segment[1, 1]
    }


def labels(display):
    return [label.get_text() for label in display.ax_.get_yticklabels()]


def test_dots_intervals_and_bands_are_the_gaps():
    gaps = make_gaps()
    display = GapDisplay(gaps).plot()
    places = [k for k, label in enumerate(labels(display)) if not label.startswith("label")]
    assert [row[0] for row in dots(display)] == [gap.value for gap in gaps]
    assert [row[1] for row in dots(display)] == places
    bars = segments(display)
    for gap, place in zip(gaps, places, strict=True):
        np.testing.assert_allclose(bars[place], [gap.low, gap.high])
    bands = display.ax_.patches
    found = [(band.get_x(), band.get_x() + band.get_width()) for band in bands]
    np.testing.assert_allclose(found, [(gap.null_low, gap.null_high) for gap in gaps])
    written = [text.get_text() for text in display.ax_.texts]
    assert written == ["rows", *(f"{gap.counts[0]} | {gap.counts[1]}" for gap in gaps)]


def test_pairs_are_below_headings_and_one_pair_has_none():
    display = GapDisplay(make_gaps(2)).plot()
    pairs = ["a − b", "a − c", "b − c"]
    assert labels(display) == ["label bin 0", *pairs, "label bin 1", *pairs]
    single = GapDisplay(make_gaps(3, "ab")).plot()
    assert labels(single) == ["bin 0", "bin 1", "bin 2"]
    assert single.ax_.get_xlabel().endswith("a − b")
    mixed = GapDisplay([*make_gaps(1, "ab"), *make_gaps(1, "xy", attribute="age")]).plot()
    assert labels(mixed) == ["sex, label bin 0", "a − b", "age, label bin 0", "x − y"]


def test_colour_tells_what_is_beyond_chance_and_hollow_what_is_small():
    gaps = [
        make_gap(0.25, label_bin="0"),
        make_gap(-0.25, label_bin="1", small=True),
        make_gap(0.15, label_bin="2", small=True),
        make_gap(0.9, label_bin="3", noise=np.nan),
    ]
    display = GapDisplay(gaps).plot()
    white, seen = to_rgba("white"), dots(display)
    assert [row[2] for row in seen] == [to_rgba(c) for c in (OUTSIDE, OUTSIDE, INSIDE, INSIDE)]
    assert [row[3] == white for row in seen] == [False, True, True, False]
    assert len(display.ax_.patches) == 3  # no band where chance is not known
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert "outside: 2 of 3 (by chance 0.1)" in texts or "outside: 2 of 3 (by chance 0.2)" in texts


def test_the_clearest_gaps_are_kept_in_their_order():
    gaps = make_gaps(5, "abcde")
    noise = [(gap.null_high - gap.null_low) / 2 for gap in gaps]
    expected = [abs(gap.value) / n for gap, n in zip(gaps, noise, strict=True)]
    np.testing.assert_allclose(signal_to_noise(gaps), expected)
    threshold = sorted(expected)[-7]
    kept = [gap for gap, ratio in zip(gaps, expected, strict=True) if ratio >= threshold]
    assert clearest(gaps, 7) == kept
    display = GapDisplay(gaps).plot(most=7)
    assert display.shown == kept
    assert "43 of 50 gaps not shown" in display.ax_.get_xlabel()
    assert len(GapDisplay(gaps).plot().shown) == 40


def test_without_chance_the_interval_is_the_noise():
    gaps = [make_gap(0.1, noise=np.nan, width=0.2), make_gap(0.1, noise=np.nan, width=0.0)]
    assert signal_to_noise(gaps)[0] == 0.5
    assert signal_to_noise(gaps)[1] == np.finfo(float).max
    assert signal_to_noise([make_gap(noise=np.nan, width=np.nan)]) == [-1.0]


def test_intervals_of_small_cells_may_leave_the_view_and_say_so():
    gaps = [make_gap(label_bin="0"), make_gap(label_bin="1", width=50.0, small=True)]
    display = GapDisplay(gaps).plot()
    low, high = display.ax_.get_xlim()
    assert -1 < low < -0.2
    assert 0.4 < high < 2
    arrows = [line for line in display.ax_.lines if line.get_marker() in "<>"]
    assert [line.get_ydata()[0] for line in arrows] == [1, 1]


def test_small_axes_show_what_can_be_read():
    gaps = make_gaps(8, "abcd")
    figure, axes = plt.subplots(2, 2, figsize=(9, 6))
    display = GapDisplay(gaps).plot(axes[0, 1])
    assert display.ax_ is axes[0, 1]
    assert display.figure_ is figure
    assert len(plt.get_fignums()) == 1
    assert 0 < len(display.shown) < len(gaps)
    figure.canvas.draw()
    boxes = [label.get_window_extent() for label in display.ax_.get_yticklabels()]
    assert all(below.y1 <= above.y0 + 2 for above, below in pairwise(boxes))


def test_the_legend_and_the_counts_cover_no_dot():
    display = GapDisplay(make_gaps(4, "ab")).plot()
    display.figure_.canvas.draw()
    covers = [display.ax_.get_legend(), *display.ax_.texts]
    places = display.ax_.transData.transform([row[:2] for row in dots(display)])
    for cover in covers:
        box = cover.get_window_extent()
        assert not any(box.contains(*place) for place in places)


def test_names_are_written_as_they_are():
    display = GapDisplay([make_gap(groups=("$5", "$9"))]).plot()
    assert display.ax_.get_xlabel().endswith(r"\$5 − \$9")  # together they would be a formula
    display = GapDisplay([make_gap(groups=("<b>$x_1$", "_other"))]).plot()
    assert display.ax_.get_xlabel().endswith(r"<b>\$x_1\$ − _other")


@pytest.mark.parametrize("of", ["rate", "prediction", "residual", "error"])
def test_an_audit_is_drawn_whole(of):
    problem = make_problem(n_groups=2)
    model = gferm.FairRegressor(epsilon=None).fit(problem.X, problem.y)
    options = {"sensitive_features": problem.s, "y_bins": 3, "n_boot": 50, "n_permutations": 50}
    f = model.predict(problem.X)
    found = gferm.auditing.audit(problem.y, f, **options)
    expected = [gap.value for gap in found.gaps(of)]
    displays = [
        GapDisplay.from_audit(found, of),
        GapDisplay.from_predictions(problem.y, f, of=of, **options),
        GapDisplay.from_estimator(model, problem.X, problem.y, of=of, **options),
    ]
    for display in displays:
        assert [row[0] for row in dots(display)] == expected
        assert display.kind == of
    if of == "rate":
        rates = cell_rates(problem.y, f, sensitive_features=problem.s, y_bins=3).values
        np.testing.assert_allclose(expected, rates[:, 0] - rates[:, 1])


def test_what_cannot_be_drawn_is_said():
    with pytest.raises(ValueError, match=r"gaps is empty.*use fewer bins"):
        GapDisplay([])
    with pytest.raises(ValueError, match=r"several kinds, \['prediction', 'rate'\].*of its own"):
        GapDisplay([make_gap(), make_gap(kind="prediction")])
    assert [line.text for line in lines_of([make_gap(label_bin="$y$")])] == [r"\$y\$"]


def test_long_names_leave_the_axes_their_width_and_no_name_is_cut():
    name = "a very long name of a group"
    gaps = make_gaps(
        2, [name + "s", name + " of others", "somebody else in short"], kind="residual"
    )
    display = GapDisplay(gaps).plot()
    for drawn in (display, GapDisplay(gaps).plot(plt.subplots(figsize=(5, 5))[1])):
        drawn.figure_.canvas.draw()
        label = drawn.ax_.xaxis.label.get_window_extent()
        assert label.x1 <= drawn.figure_.bbox.x1
        assert label.x0 >= 0
    assert display.ax_.get_window_extent().width / display.figure_.dpi > 3.5


def test_the_attribute_is_named_once():
    assert "\nsex: a − b" in GapDisplay(make_gaps(2, "ab")).plot().ax_.get_xlabel()
    assert "\nsex: first − second" in GapDisplay(make_gaps(2)).plot().ax_.get_xlabel()
    nameless = GapDisplay(make_gaps(2, attribute="sensitive")).plot()
    assert nameless.ax_.get_xlabel().endswith("\nfirst − second")
    mixed = GapDisplay([*make_gaps(1, "ab"), *make_gaps(1, "xy", attribute="age")]).plot()
    assert mixed.ax_.get_xlabel().endswith("\nfirst − second")


def test_half_a_figure_keeps_its_axes():
    figure = plt.figure(layout="constrained")
    ax = figure.subfigures(1, 2)[0].subplots()
    gaps = [make_gap(label_bin=f"[-{k}.93861, -{k}.679875)", small=not k) for k in range(4)]
    GapDisplay(gaps).plot(ax)
    figure.canvas.draw()  # warns if no width is left
    assert ax.get_window_extent().width > 100
