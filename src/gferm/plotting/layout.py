"""Room for what is drawn and written: views, a legend that covers nothing, ticks kept apart.

Outside the axes a legend would cover the neighbours of a small subplot, or the title. So the view
is stretched at its upper end until the legend, of height h in units of the axes, has that end for
itself:

    top' = bottom + (tallest − bottom) / (1 − h)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

MARGIN = 0.05  # of the view, on either side
SPARE = 1.12  # the axes may yet shrink, by a title or by their neighbours' labels
WANTED, MOST = 0.45, 0.8  # of the axes' height, for a legend
LEAST_GAP = 6  # pixels between tick labels
FONT_SIZES = ("small", "x-small", "xx-small")
OPAQUE = {"fancybox": False, "edgecolor": "none", "framealpha": 1.0}  # no grid behind its words
LEGEND = OPAQUE | {"borderaxespad": 0.3, "columnspacing": 1.4, "handletextpad": 0.5}


def place_axes(ax: Any) -> None:
    """Move the axes to where the figure's layout, if it has one, will put them."""
    figure = ax.figure.figure  # of a subfigure, the whole
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)


def with_neighbours(ax: Any, axis: str, low: float, high: float) -> tuple[float, float]:
    """Return a range widened to the data of all axes that share the "x" or "y" axis of these."""
    shared = {"x": ax.get_shared_x_axes, "y": ax.get_shared_y_axes}[axis]().get_siblings(ax)
    for other in shared:
        if other is not ax and other.has_data():
            ends = getattr(other.dataLim, f"interval{axis}")
            low, high = min(low, *ends), max(high, *ends)
    return low, high


def set_view(ax: Any, x: tuple[float, float], y: tuple[float, float]) -> None:
    """Set limits around these ranges and around the data of shared axes, with a margin."""
    from matplotlib.ticker import AutoLocator

    for axis, setter, ends in (("x", ax.set_xlim, x), ("y", ax.set_ylim, y)):
        low, high = with_neighbours(ax, axis, *ends)
        step = MARGIN * (high - low or abs(high) or 1.0)
        setter(low - step, high + step)
    ax.yaxis.set_major_locator(AutoLocator())  # the ticks of another view may be fixed


def legend_above(
    ax: Any,
    entries: Mapping[str, Any] | None = None,
    *,
    tallest: float | None = None,
    title: str = "",
) -> Any:
    """Draw a legend at the top of the axes, in as many columns as fit, and stretch the view.

    Parameters
    ----------
    ax : matplotlib Axes
        With its data drawn and its limits set; its y axis may be inverted.
    entries : dict of artists by text, default=None
        By default the artists of the axes that have a label.
    tallest : float, default=None
        How far up the data reach; by default to the end of the view.
    title : str, default=""
        Above the entries.

    Returns
    -------
    matplotlib Legend, or None if there is nothing to list
    """
    if entries is None:
        handles, labels = _bars_first(*ax.get_legend_handles_labels())
    else:
        handles, labels = list(entries.values()), list(entries)
    if not handles:
        return None
    place_axes(ax)
    for size in FONT_SIZES:
        legend, share = _in_columns(ax, handles, labels, size, title)
        if share <= WANTED:
            break
    if share > MOST:  # there is no room inside: beside the axes it covers no data of theirs
        legend.set_bbox_to_anchor((1.02, 0.0, 0.0, 1.0), transform=ax.transAxes)
        legend.set_in_layout(False)  # the axes need what they have
        return legend
    bottom, top = ax.get_ylim()
    tallest = top if tallest is None else with_neighbours(ax, "y", bottom, tallest)[1]
    stretched = bottom + (tallest - bottom) / (1.0 - share)
    if abs(stretched - bottom) > abs(top - bottom):
        low, high = sorted((bottom, top))
        # beside the legend there are no data, and often no such values: a share of 1.2
        ax.set_yticks([tick for tick in ax.get_yticks() if low <= tick <= high])
        ax.set_ylim(bottom, stretched)
    return legend


def _bars_first(handles: list[Any], labels: list[str]) -> tuple[list[Any], list[str]]:
    """Return bars before the markers that explain them; Matplotlib lists markers first."""
    from matplotlib.container import BarContainer

    order = sorted(range(len(handles)), key=lambda i: not isinstance(handles[i], BarContainer))
    return [handles[i] for i in order], [labels[i] for i in order]


def _in_columns(
    ax: Any, handles: Sequence[Any], labels: Sequence[str], size: str, title: str
) -> tuple[Any, float]:
    """Draw the legend in most columns; return it with its share of the axes' height."""
    box = ax.get_window_extent()
    for n_columns in range(len(handles), 0, -1):
        style = {"loc": "upper left", "ncols": n_columns, "fontsize": size} | LEGEND
        style |= {"title": title, "title_fontsize": size, "alignment": "left"} if title else {}
        legend = ax.legend(handles, labels, **style)
        extent = legend.get_window_extent()
        if extent.width <= box.width:
            break
    legend.set_in_layout(extent.width <= box.width)  # a wider one would take the axes' last width
    return legend, SPARE * (box.y1 - extent.y0) / box.height


def keep_ticks_apart(ax: Any) -> None:
    """Turn the tick labels of the x axis upright where they would run into each other."""
    for style in ({"rotation": 90}, {"labelsize": "xx-small"}):
        place_axes(ax)
        boxes = [label.get_window_extent() for label in ax.get_xticklabels()]
        if all(left.x1 + LEAST_GAP <= right.x0 for left, right in pairwise(boxes)):
            break
        ax.tick_params(axis="x", **style)
