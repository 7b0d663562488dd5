"""A legend has its place to itself, also in a small subplot."""

import numpy as np
import pytest
from matplotlib import pyplot as plt

from gferm.plotting.layout import keep_ticks_apart, legend_above, set_view


def pixels(ax, y):
    return ax.transData.transform([0.0, y])[1]


@pytest.mark.parametrize("layout", [None, "constrained"])
@pytest.mark.parametrize("inverted", [False, True])
@pytest.mark.parametrize("size", [(6, 4.5), (12, 8)])
def test_the_data_end_below_the_legend(layout, inverted, size):
    figure, axes = plt.subplots(2, 2, figsize=size, layout=layout)
    ax = axes[1, 0]
    for q in range(6):
        ax.plot([0, 1], [0, q], label=f"a group of number {q}")
    ax.set_ylim((5, 0) if inverted else (0, 5))
    legend = legend_above(ax)
    figure.canvas.draw()
    assert pixels(ax, 0 if inverted else 5) < legend.get_window_extent().y0
    assert ax.get_yticks().max() <= 5
    assert ax.yaxis_inverted() == inverted


@pytest.mark.parametrize("layout", [None, "constrained"])
def test_a_legend_without_room_is_beside_the_axes(layout):
    figure, axes = plt.subplots(2, 2, figsize=(3, 2), layout=layout)
    ax = axes[1, 0]
    for q in range(6):
        ax.plot([0, 1], [0, q], label=f"a group of number {q}")
    limits = ax.get_ylim()
    legend = legend_above(ax)
    figure.canvas.draw()
    assert not legend.get_window_extent().overlaps(ax.get_window_extent())
    assert ax.get_ylim() == limits


def test_a_view_with_room_enough_stays():
    _, ax = plt.subplots()
    ax.bar([0, 1], [0.2, 0.3], label="bars")
    ax.set_ylim(0, 1)
    legend_above(ax, tallest=0.3)
    assert ax.get_ylim() == (0, 1)
    legend_above(ax, tallest=0.99)
    assert ax.get_ylim()[1] > 1


def test_bars_are_listed_before_the_marks_that_explain_them():
    _, ax = plt.subplots()
    ax.scatter([0], [0], label="a mark")
    ax.bar([0], [1], label="bars")
    assert [text.get_text() for text in legend_above(ax, title="who").get_texts()] == [
        "bars",
        "a mark",
    ]
    assert ax.get_legend().get_title().get_text() == "who"


def test_upright_ticks_are_no_smaller_than_they_must_be():
    sizes = []
    for n_ticks in (12, 90):
        _, ax = plt.subplots()
        ax.set_xticks(np.arange(n_ticks), ["a long label" for _ in range(n_ticks)], fontsize=7)
        keep_ticks_apart(ax)
        sizes.append(ax.get_xticklabels()[0].get_fontsize())
    assert sizes[0] == 7 > sizes[1]


def test_nothing_to_list_is_no_legend():
    _, ax = plt.subplots()
    ax.plot([0, 1])
    limits = ax.get_ylim()
    assert legend_above(ax) is None
    assert ax.get_ylim() == limits


@pytest.mark.parametrize(("n_ticks", "upright"), [(3, False), (40, True)])
def test_only_crowded_ticks_stand_upright(n_ticks, upright):
    figure, ax = plt.subplots()
    ax.set_xticks(np.arange(n_ticks), [f"label {k}" for k in range(n_ticks)])
    keep_ticks_apart(ax)
    figure.canvas.draw()
    assert {label.get_rotation() for label in ax.get_xticklabels()} == {90.0 if upright else 0.0}


def test_shared_axes_show_the_data_of_all_and_keep_their_legends():
    figure, axes = plt.subplots(1, 2, sharex=True, sharey=True)
    ends = [(0.0, 3.0), (1.0, 2.0)]
    for ax, (low, high) in zip(axes, ends, strict=True):
        set_view(ax, (low, high), (low, high))
        ax.plot([low, high], [low, high], label="a line")
        legend_above(ax)
    figure.canvas.draw()
    for ax, (low, high) in zip(axes, ends, strict=True):
        assert ax.get_xlim()[0] < low
        assert ax.get_xlim()[1] > high
        assert pixels(ax, high) < ax.get_legend().get_window_extent().y0
    assert axes[0].get_ylim()[1] < 5  # no room twice
    assert max(axes[0].get_yticks()) <= 3.2


def test_ticks_follow_a_wider_view():
    _, axes = plt.subplots(1, 2, sharey=True)
    for ax, high in zip(axes, (1.0, 100.0), strict=True):
        set_view(ax, (0, 1), (0, high))
        ax.plot([0, 1], [0, high], label="a line")
        legend_above(ax)
    assert max(axes[0].get_yticks()) == 100
