"""How a `SelectionDisplay` is drawn.

The dashed line is the limit of the shortlist, best / (1 − tolerance). The view ends a few
shortlists from the best error, since the failures of a grid would squeeze what matters; what lies
beyond becomes triangles on the right edge, at the height of their unfairness.
"""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from gferm.arrays import Array
from gferm.model_selection import pareto_set
from gferm.plotting.room import place_axes
from gferm.plotting.style import COLORS

if TYPE_CHECKING:
    from gferm.plotting.selection import SelectionDisplay

WIDTHS_IN_VIEW = 4.0  # of the shortlist, so that it fills a quarter of the picture
LEAST_VIEW = 1.25  # of the best error, for a shortlist without width
MARGIN = 0.05  # of the view, on either side
LEGEND_WIDTH = 34  # characters

BLACK = COLORS[-1]
MUTED = {"color": BLACK, "alpha": 0.3, "linewidths": 0, "s": 22}
LISTED = {"color": COLORS[0], "s": 28, "zorder": 3}
NAIVE = {"marker": "D", "s": 75, "facecolors": "none", "edgecolors": BLACK, "zorder": 5}
CHOSEN = {"marker": "*", "s": 280, "color": COLORS[4], "edgecolors": "white", "zorder": 6}
STAIRS = {"where": "post", "color": BLACK, "alpha": 0.6, "linewidth": 0.8, "zorder": 2}
LIMIT = {"color": COLORS[0], "linestyle": "--", "linewidth": 1.0, "zorder": 1}
BESIDE: dict[str, Any] = {"textcoords": "offset points", "fontsize": "x-small"}
RIGHT: dict[str, Any] = {"xytext": (7, 5)}
LEFT: dict[str, Any] = {"xytext": (-7, -5), "ha": "right", "va": "top"}
BARS = {"fmt": "none", "elinewidth": 1.0, "capsize": 2.5, "zorder": 4}


def set_view(ax: Any, display: SelectionDisplay, zoom: bool) -> None:
    """Set the limits of the axes, logarithmic if they must be."""
    known, errors = display.known, display.errors
    best, right = errors[display.naive], errors[known].max()
    if zoom and best > 0:
        width = WIDTHS_IN_VIEW * (display.limit - best)
        right = min(right, np.nanmax([best + width, LEAST_VIEW * best, errors[display.chosen]]))
    right = max(right, display.limit)
    if 0 < 10 * best < right:
        ax.set_xscale("log")
        step = (right / best) ** MARGIN
        ax.set_xlim(best / step, right * step)
    else:
        step = MARGIN * (right - best or best or 1.0)
        ax.set_xlim(best - max(step, 1.1 * display.error_bars[display.naive]), right + step)
    seen = known & (errors <= ax.get_xlim()[1])
    marks = [display.naive, display.chosen]
    top = np.nanmax(
        [*display.unfairness[seen], *(display.unfairness + display.unfairness_bars)[marks]]
    )
    ax.set_ylim(-0.02 * (top or 1.0), 1.06 * (top or 1.0))


def draw_marks(ax: Any, display: SelectionDisplay) -> None:
    """Draw the choice and the lowest error, with their bars."""
    marks = [(display.chosen, "chosen", CHOSEN), (display.naive, "lowest error", NAIVE)]
    if display.chosen == display.naive:
        marks = [(display.chosen, "chosen, of lowest error", CHOSEN)]
    for i, name, style in marks:
        e, u = display.errors[i], display.unfairness[i]
        bars = {"xerr": display.error_bars[i], "yerr": display.unfairness_bars[i]}
        lines = [name, f"{display.error_name}\xa0{e:.3g}, {display.unfairness_name}\xa0{u:.3g}"]
        lines += [] if display.labels is None else [display.labels[i]]
        text = "\n".join(fill(line.replace(" = ", "\xa0=\xa0"), LEGEND_WIDTH) for line in lines)
        ax.scatter(e, u, label=text, **style)
        if any(bars.values()):
            ax.errorbar(e, u, **bars, ecolor=style.get("color", BLACK), **BARS)


def draw_settings(ax: Any, display: SelectionDisplay) -> None:
    """Draw the shortlist, its limit, the others and the Pareto set."""
    known, edge = display.known, ax.get_xlim()[1]
    listed = np.zeros_like(known)
    listed[display.shortlist] = True
    beyond = known & (display.errors > edge)
    others = known & ~listed & ~beyond
    text = f"shortlist: {display.shortlist.size} of {known.size} {display.points_name}"
    ax.scatter(
        display.errors[known & listed], display.unfairness[known & listed], label=text, **LISTED
    )
    ax.axvline(display.limit, label=f"its limit: {display.error_name} {display.limit:.3g}", **LIMIT)
    if others.any():
        text = f"{np.count_nonzero(others)} other {display.points_name}"
        ax.scatter(display.errors[others], display.unfairness[others], label=text, **MUTED)
    if beyond.any():
        ax.scatter(
            np.ones(np.count_nonzero(beyond)),
            np.minimum(display.unfairness[beyond], ax.get_ylim()[1]),
            transform=ax.get_yaxis_transform(),  # the edge, in units of the axes
            clip_on=False,
            marker=">",
            label=f"{np.count_nonzero(beyond)} further right",
            **MUTED,
        )
    if not known.all():
        text = f"{np.count_nonzero(~known)} without a value: not shown"
        ax.scatter([], [], label=text, marker="x", color=BLACK, alpha=0.3)
    best = pareto_set(display.errors, display.unfairness)
    # the last step goes on: no larger error is any fairer
    stairs = np.append(display.errors[best], max(edge, display.errors[best[-1]]))
    heights = np.append(display.unfairness[best], display.unfairness[best[-1]])
    ax.step(stairs, heights, label="Pareto set: none is left and below", **STAIRS)


def label_points(ax: Any, display: SelectionDisplay) -> None:
    """Write the label of each setting in view beside its point, and inside the axes."""
    assert display.labels is not None
    seen = display.known & (display.errors <= ax.get_xlim()[1])
    place_axes(ax)
    for i in np.flatnonzero(seen).tolist():
        point = display.errors[i], display.unfairness[i]
        text = ax.annotate(display.labels[i], point, **RIGHT, **BESIDE)
        if text.get_window_extent().x1 > ax.get_window_extent().x1:
            text.remove()
            ax.annotate(display.labels[i], point, **LEFT, **BESIDE)


def title(kind: str, name: str, bars: Array, judged_on: str) -> str:
    """Name an axis."""
    how = judged_on.replace("mean", "mean ± standard error", 1) if bars.any() else judged_on
    return f"{name if kind in name else f'{kind} ({name})'}, {how}"
