"""Quantities against the size of the sample, in logarithms, beside the rate n^(−1/2).

A curve is the median over draws, its band goes from the 10th to the 90th percentile. The dashed
rate is scaled to the first point of one of the curves: in logarithms only its slope means anything.
The slope of a curve is that of the line nearest to log median against log n.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import cycle
from typing import Any

import numpy as np

from gferm.arrays import Array
from gferm.plotting.style import COLORS, tidy

BAND = (0.1, 0.5, 0.9)
MARKS = {"o": COLORS[0], "s": COLORS[2], "^": COLORS[4]}  # not told apart by colour alone
RATE = {"color": COLORS[-1], "linestyle": (0, (5, 3)), "linewidth": 1.2, "alpha": 0.7, "zorder": 4}
PER_ROW = 2
RESAMPLES = 200  # of the draws, for the standard error of a slope
ROOM = 2.5  # factor of the view below the lowest median: a band may well reach down to zero


@dataclass(frozen=True)
class Panel:
    """Curves that are drawn on one pair of axes.

    Attributes
    ----------
    title, y_label : str
    curves : dict of str to array of shape (n_sizes, repeats)
        Not negative, by their names in the legend.
    beside : str
        The curve at whose first point the rate starts.
    """

    title: str
    y_label: str
    curves: Mapping[str, Array]
    beside: str


def log_slope(sizes: Sequence[int], values: Array) -> tuple[float, float]:
    """Return the slope of log median in log n, and its standard error; NaN if a median is zero.

    ``values`` has shape (n_sizes, repeats). The standard error is that over draws, by bootstrap;
    NaN for a single draw.
    """
    repeats = values.shape[1]
    resampled = np.random.default_rng(0).integers(repeats, size=(RESAMPLES, repeats))
    draws = np.vstack([np.arange(repeats), resampled])  # first as they are
    medians = np.median(values[:, draws], axis=2)
    if not medians.all():
        return np.nan, np.nan
    slopes = np.polyfit(np.log(sizes), np.log(medians), 1)[0]
    return float(slopes[0]), float(slopes[1:].std()) if repeats > 1 else np.nan


def draw(sizes: Sequence[int], panels: Sequence[Panel]) -> bytes:
    """Draw the panels, two in a row, with one legend below, and return a PNG."""
    from matplotlib.figure import Figure  # not pyplot: no window, no figure left open
    from matplotlib.patches import Patch

    rows = -(-len(panels) // PER_ROW)
    figure = Figure(figsize=(8.0, 3.1 * rows + 0.4), layout="constrained", dpi=200)
    axes = figure.subplots(rows, PER_ROW, sharex=True, squeeze=False).ravel()
    for ax, panel in zip(axes, panels, strict=True):
        draw_panel(ax, np.asarray(sizes), panel)
    for ax in axes[-PER_ROW:]:
        ax.set_xlabel("n, rows of the sample")
    lines, _ = axes[0].get_legend_handles_labels()
    handles = [*lines, Patch(color=COLORS[-1], alpha=0.15, label="10–90 % of draws")]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)
    file = BytesIO()
    figure.savefig(file, format="png", metadata={"Software": None})
    return file.getvalue()


def draw_panel(ax: Any, sizes: Array, panel: Panel) -> None:
    """Draw the curves of a panel, their bands and the rate."""
    lowest = np.inf
    for (name, values), (marker, color) in zip(panel.curves.items(), cycle(MARKS.items())):
        low, middle, high = np.quantile(values, BAND, axis=1)
        ax.fill_between(sizes, low, high, color=color, alpha=0.15, linewidth=0)
        ax.plot(sizes, middle, color=color, marker=marker, markersize=4.5, label=name, zorder=3)
        lowest = np.min(middle[middle > 0], initial=lowest)
    start = np.median(panel.curves[panel.beside][0])
    rate = start * np.sqrt(sizes[0] / sizes)
    ax.plot(sizes, rate, label="rate 1/√n", **RATE)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_ylim(bottom=min(lowest, rate[-1]) / ROOM)
    ax.set_title(panel.title, fontsize="medium", loc="left")
    ax.set_ylabel(panel.y_label)
    tidy(ax)
