"""A table of rates as a map: label bins across, groups down, where bars would be too many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gferm.arrays import Array
from gferm.plotting.room import keep_ticks_apart, place_axes
from gferm.plotting.style import FEW, as_text

COLOR_MAP = "cividis"  # even steps of lightness, also for colour-blind readers and in grey
DARK = 0.5  # rates below this have light writing
EMPTY = "0.92"
LEAST_SIZE, MOST_SIZE = 5.0, 9.0  # points, of what is written in a cell
CHARACTERS = 5.0  # of room across a cell, in heights of its letters


def draw_cell_map(
    ax: Any,
    table: Array,
    counts: npt.NDArray[Any],
    *,
    labels: Sequence[str],
    groups: Sequence[Any],
    show_counts: bool = True,
) -> None:
    """Draw a table of rates; parameters as in `draw_cell_rates`.

    Where they can be read, the rate and the rows are written into each cell.
    """
    ax.set_facecolor(EMPTY)
    image = ax.imshow(
        np.ma.masked_invalid(table.T), vmin=0, vmax=1, cmap=COLOR_MAP, aspect="auto", zorder=1
    )
    bar = ax.figure.colorbar(image, ax=ax, pad=0.02)
    bar.set_label(r"$\hat P^{k,q}$: share predicted into its own bin")
    ax.set_yticks(range(len(groups)), [as_text(group) for group in groups], fontsize="small")
    ax.set_xticks(range(len(labels)), [as_text(label, 13) for label in labels], fontsize="x-small")
    keep_ticks_apart(ax)
    ax.tick_params(length=0)
    ax.set_xlabel("label bin k")
    place_axes(ax)
    box = ax.get_window_extent()
    points = 72.0 / ax.figure.dpi
    tall = 0.7 * points * box.height / len(groups)
    size = min(MOST_SIZE, tall, points * box.width / len(labels) / CHARACTERS)
    if size >= LEAST_SIZE:
        _write_cells(ax, table, counts if show_counts else np.full_like(counts, -1), size)
        if show_counts:
            ax.set_xlabel(f"label bin k  (in each cell: rate, rows; italics: fewer than {FEW})")


def _write_cells(ax: Any, table: Array, counts: npt.NDArray[Any], size: float) -> None:
    """Write the rate and the rows into each cell; no rows where counts are negative."""
    for (k, q), rate in np.ndenumerate(table):
        if np.isnan(rate):
            continue
        ax.text(
            k,
            q,
            f"{rate:.2f}" + (f"\n{counts[k, q]}" if counts[k, q] >= 0 else ""),
            ha="center",
            va="center",
            fontsize=size,
            color="white" if rate < DARK else "black",
            style="italic" if 0 <= counts[k, q] < FEW else "normal",
            linespacing=0.9,
        )
