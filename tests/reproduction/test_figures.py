"""Pictures show what the records hold."""

import copy

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from reproduction.claims import corrected_error
from reproduction.figures import GROUPS, draw_frontier, draw_histogram
from reproduction.paper import FIGURE_METHODS, SHARES
from reproduction.problems import PROBLEMS
from reproduction.summary import COMPARED, pool, summarize

from gferm.datasets import load_crime, load_pupils
from reproduction import figures
from tests.reproduction.synthetic import make_records


@pytest.fixture(scope="module")
def records():
    return make_records(n_repeats=2, methods=FIGURE_METHODS)


@pytest.fixture
def drawn(monkeypatch):
    """Keep the figures that are drawn."""
    kept = []

    def keep(figure):
        kept.append(figure)
        return png(figure)

    png = figures._png
    monkeypatch.setattr(figures, "_png", keep)
    return kept


def test_bars_are_rates_over_all_repeats_and_counts_those_of_one(records, drawn):
    assert draw_histogram(records).startswith(b"\x89PNG")
    assert isinstance(drawn[0], Figure)
    for ax, method in zip(drawn[0].axes, FIGURE_METHODS, strict=True):
        hits, counts = pool(records, method.key)
        heights = np.array([[bar.get_height() for bar in bars] for bars in ax.containers]).T
        np.testing.assert_allclose(heights, hits / np.maximum(counts, 1))
        ticks = [text.get_text() for text in ax.get_xticklabels()]
        for tick, row in zip(ticks, pool(records[:10], method.key)[1], strict=True):
            assert tick.endswith(" | ".join(map(str, row)))
        pooled = summarize(records).methods[method.key].pooled
        title = ax.get_title()
        assert title.startswith(method.name)
        assert f"error {pooled.error.mean:.2f}, DGF {pooled.dgf[COMPARED].mean:.3f}" in title
        assert f"by chance {pooled.chance:.3f}" in title


def test_a_stopped_repeat_is_drawn_only_if_there_is_no_other(records, drawn):
    draw_histogram(records[:13])
    draw_histogram(records[:10])
    draw_histogram(records[:3])
    first, second, third = (
        [bar.get_height() for bar in figure.axes[0].containers[0]] for figure in drawn
    )
    assert first == second
    hits, counts = pool(records[:3], FIGURE_METHODS[0].key)
    np.testing.assert_allclose(third, (hits / np.maximum(counts, 1))[:, 0])
    assert "mean of folds" in drawn[2].axes[0].get_title()


def test_groups_have_names(records, drawn):
    draw_histogram(records, groups=["<b>", "$x_"])
    draw_histogram([{**record, "data": "other"} for record in records])
    names = [[t.get_text() for t in f.axes[0].get_legend().get_texts()] for f in drawn]
    assert names == [["<b>", "$x_"], ["1", "2"]]


@pytest.mark.parametrize("data", ["crime", "pupils"])
def test_the_names_of_the_groups_are_theirs(data):
    """Count the rows that a name speaks of; the order of the groups is that of the cells."""
    problem = PROBLEMS[data]()
    counts = problem.members("binary", 10).cells.partitions[0].counts.sum(axis=0)
    if data == "crime":
        black = load_crime(as_frame=True, sensitive="continuous").sensitive_features
        speaks = {"≤": black <= 0.06, ">": black > 0.06}
    else:
        speaks = {
            f"= {code}": load_pupils(sensitive="sex").sensitive_features == code for code in (0, 1)
        }
    found = [rows for name in GROUPS[data] for mark, rows in speaks.items() if mark in name]
    assert [np.count_nonzero(rows) for rows in found] == counts.tolist()


def test_lines_are_means_and_bars_errors_of_the_change(records, drawn):
    assert draw_frontier(records).startswith(b"\x89PNG")
    lines = {
        f"{ax.get_title()}, {x.get_label()}": (ax, x)
        for ax in drawn[0].axes
        for x in ax.lines
        if x.get_marker() == "o"
    }
    assert set(lines) == set(records[0]["frontier"])
    for name, (ax, line) in lines.items():
        errors, unfairness, chance = (
            np.array([record["frontier"][name][part] for record in records])
            for part in ("error", "dgf", "chance")
        )
        (dotted,) = (
            x for x in ax.lines if x.get_linestyle() == ":" and x.get_color() == line.get_color()
        )
        np.testing.assert_allclose(dotted.get_xdata(), chance.mean(axis=0))
        np.testing.assert_array_equal(dotted.get_ydata(), line.get_ydata())
        x, y = line.get_data()
        assert len(x) == len(SHARES)
        np.testing.assert_allclose(x, unfairness.mean(axis=0))
        np.testing.assert_allclose(y, errors.mean(axis=0))
        ends = [c for c in ax.collections if len(c.get_offsets()) == 1]
        (plain,) = (c for c in ends if np.allclose(c.get_offsets(), [[x[0], y[0]]]))
        (fair,) = (c for c in ends if np.allclose(c.get_offsets(), [[x[-1], y[-1]]]))
        np.testing.assert_array_equal(plain.get_facecolor(), [[1, 1, 1, 1]])
        np.testing.assert_array_equal(fair.get_facecolor(), fair.get_edgecolor())
    name, (ax, _) = next(iter(lines.items()))
    bar = ax.collections[0]
    values = np.array([record["frontier"][name]["dgf"] for record in records])
    share = np.mean([record["n_test"] / record["n_train"] for record in records])
    width = corrected_error(values[:, -1] - values[:, 0], share)
    assert width > 0
    end = values[:, -1].mean()
    (segment,) = bar.get_segments()
    np.testing.assert_allclose(segment[:, 0], [end - width, end + width])


def test_titles_lie_within_the_picture(records, drawn):
    draw_frontier(records)
    draw_frontier(make_records("continuous", n_repeats=1))
    for figure in drawn:
        box = figure._suptitle.get_window_extent(FigureCanvasAgg(figure).get_renderer())
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.x1


def test_folds_without_a_dgf_and_single_folds_can_be_drawn(records, drawn):
    changed = copy.deepcopy(records)
    name = next(iter(changed[0]["frontier"]))
    changed[0]["frontier"][name]["dgf"] = [None] * len(SHARES)
    draw_frontier(changed)
    rest = [record["frontier"][name]["dgf"] for record in records[1:]]
    np.testing.assert_allclose(drawn[0].axes[0].lines[0].get_xdata(), np.mean(rest, axis=0))
    assert draw_frontier(records[:1]).startswith(b"\x89PNG")


def test_the_continuous_study_has_one_learner(drawn):
    draw_frontier(make_records("continuous", n_repeats=1))
    assert [ax.get_title() for ax in drawn[0].axes] == ["KRLS"]
