"""CellRatesDisplay: the paper's histogram, P̂^{k,q} of each group over the label bins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gferm.arrays import Array
from gferm.metrics import CellValues, cell_rates
from gferm.metrics.reading import bins_of_labels, read_labels
from gferm.plotting.calibration import interval_of_share
from gferm.plotting.layout import keep_ticks_apart, legend_above, place_axes
from gferm.plotting.style import COLORS, FEW, as_text, attribute_text, axes, place_of, tidy

MOST_COUNTS = 3  # more groups' counts do not fit under a bin
MOST_BARS = len(COLORS)  # more groups are told apart by their place, not by a colour

LABEL_WIDTH = 13  # characters of a line
NO_ROWS = "no rows"
LOW = 0.012  # where the mark of a cell without rows is: beside the axis
EMPTY: dict[str, Any] = {"marker": "x", "s": 12, "color": "0.45", "linewidths": 0.8, "zorder": 3}
BARS = {"fmt": "none", "ecolor": "0.25", "elinewidth": 0.8, "capsize": 1.5}

COLOR_MAP = "cividis"  # even steps of lightness, also for colour-blind readers and in grey
DARK = 0.5  # rates below this have light writing
MAP_BACKGROUND = "0.92"  # of a cell without rows
LEAST_FONT, LARGEST_FONT = 5.0, 9.0  # points, of what is written in a cell
CHARACTERS = 5.0  # of room across a cell, in heights of its letters


class CellRatesDisplay:
    """Share of each group predicted into the right label bin, bin by bin.

    Parameters
    ----------
    rates : CellValues
        As given by `gferm.metrics.cell_rates`.
    attribute : str, default=None
        The one to draw, where several are compared each on its own.

    Attributes
    ----------
    values, counts : arrays of shape (K, Q)
        The rate and the rows of each cell.
    low, high : arrays of shape (K, Q)
        Wilson's 95 % interval of the rate; NaN where a cell is empty.
    groups : tuple of str
        The Q groups.
    """

    def __init__(self, rates: CellValues, *, attribute: str | None = None) -> None:
        partitions = rates.cells.partitions
        place = place_of(attribute, [part.name for part in partitions])
        self.rates, self.attribute = rates, partitions[place].name
        self.groups = partitions[place].groups
        self.values, self.counts = rates.tables[place], partitions[place].counts
        self.low, self.high = interval_of_share(self.values, partitions[place].effective_rows)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        *,
        sensitive_features: Any,
        attribute: str | None = None,
        ax: Any = None,
        **options: Any,
    ) -> CellRatesDisplay:
        """Compute and draw; ``options`` go to `cell_rates`, and classes are bins of their own."""
        y, f = read_labels(y_true, "y_true"), read_labels(y_pred, "y_pred")
        options["y_bins"] = bins_of_labels(y, f, options.get("y_bins", 10))
        rates = cell_rates(y_true, y_pred, sensitive_features=sensitive_features, **options)
        display = cls(rates, attribute=attribute)
        display.plot(ax=ax)
        return display

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, sensitive_features: Any, ax: Any = None, **options: Any
    ) -> CellRatesDisplay:
        """Predict, compute and draw."""
        return cls.from_predictions(
            y, model.predict(X), sensitive_features=sensitive_features, ax=ax, **options
        )

    def plot(
        self,
        ax: Any = None,
        *,
        group_names: Any = None,
        counts: bool = True,
        intervals: bool = False,
    ) -> Any:
        """Draw bars, one colour a group; of many groups a map, one row a group.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        group_names : sequence of str, default=None
            Names for the legend instead of the groups' own.
        counts : bool, default=True
            Whether to write the rows of each group under each bin (of the smallest group, if
            there are many); small cells are noise.
        intervals : bool, default=False
            Whether to draw the 95 % interval of each bar, which a map has no place for.
        """
        groups = self.groups if group_names is None else group_names
        names = self.rates.cells.label_bins.labels
        if len(groups) > MOST_BARS:
            ax = axes(ax, figsize=(1.6 + 0.8 * len(names), 1.4 + 0.3 * len(groups)))
            _draw_cell_map(
                ax, self.values, self.counts, labels=names, groups=groups, show_counts=counts
            )
            ax.set_ylabel(attribute_text(self.attribute))
        else:
            wide = 0.95 if counts and len(groups) > MOST_COUNTS else 0.72
            ax = axes(ax, figsize=(max(6.4, wide * len(names)), 4.8))
            draw_cell_rates(
                ax,
                self.values,
                self.counts,
                labels=names,
                groups=groups,
                title=attribute_text(self.attribute),
                show_counts=counts,
                intervals=(self.low, self.high) if intervals else None,
            )
        self.ax_, self.figure_ = ax, ax.figure
        return self


def draw_cell_rates(
    ax: Any,
    table: Array,
    counts: npt.NDArray[Any],
    *,
    labels: Sequence[str],
    groups: Sequence[Any],
    title: str = "",
    show_counts: bool = True,
    intervals: tuple[Array, Array] | None = None,
) -> None:
    """Draw the bars of a table of rates.

    Parameters
    ----------
    ax : matplotlib Axes
    table, counts : arrays of shape (K, Q)
        The rate and the rows of each cell; a rate that is NaN has no bar.
    labels : sequence of str
        The label bins.
    groups : sequence of str
        For the legend.
    title : str, default=""
        Of the legend: the attribute.
    show_counts : bool, default=True
        As ``counts`` of `CellRatesDisplay.plot`.
    intervals : two arrays of shape (K, Q), default=None
        Where the error bars begin and end; without them, none.
    """
    x = np.arange(len(labels))
    overlap = len(groups) <= 2 and intervals is None  # error bars on one place would hide another
    width = 0.9 if overlap else 0.85 / len(groups)
    for q, group in enumerate(groups):
        shift = 0.0 if overlap else (q - (len(groups) - 1) / 2) * width
        ax.bar(
            x + shift,
            np.nan_to_num(table[:, q]),
            width=width,
            color=COLORS[q % len(COLORS)],
            alpha=0.55 if overlap else 0.9,
            edgecolor=COLORS[q % len(COLORS)],
            linewidth=1.2 if overlap else 0.0,
            label=as_text(group),
        )
        if intervals is not None:
            there = np.isfinite(intervals[0][:, q])
            reach = [table[:, q] - intervals[0][:, q], intervals[1][:, q] - table[:, q]]
            sides = np.maximum(reach, 0.0)[:, there]  # rounding may leave the rate outside
            ax.errorbar((x + shift)[there], table[there, q], yerr=sides, **BARS)
        empty = np.zeros(0) if overlap else (x + shift)[counts[:, q] == 0]
        name = {} if any(c.get_label() == NO_ROWS for c in ax.collections) else {"label": NO_ROWS}
        if empty.size:  # a rate of zero has no bar either
            ax.scatter(empty, np.full(empty.shape, LOW), **EMPTY, **name)
    below, note = [as_text(label, LABEL_WIDTH) for label in labels], ""
    if show_counts and len(groups) <= MOST_COUNTS:
        below = [
            f"{label}\n{' | '.join(map(str, row))}"
            for label, row in zip(below, counts, strict=True)
        ]
        note = "  (rows in each group)"
    elif show_counts:
        below = [
            f"{label}\n{row.sum()}, least {row.min()}"
            for label, row in zip(below, counts, strict=True)
        ]
        note = "  (rows, and those of the smallest group)"
    ax.set_xticks(x, below, fontsize="x-small")
    ax.set_xlabel(f"label bin k{note}")
    bars = "\nbars: 95 % interval" if intervals is not None else ""
    ax.set_ylabel(rf"$\hat P^{{k,q}}$: share predicted into its own bin{bars}")
    ax.set_ylim(0, 1)
    tallest = table if intervals is None else intervals[1]
    legend_above(ax, tallest=float(np.nanmax(tallest, initial=0.0)), title=title)
    keep_ticks_apart(ax)
    tidy(ax)


def _draw_cell_map(
    ax: Any,
    table: Array,
    counts: npt.NDArray[Any],
    *,
    labels: Sequence[str],
    groups: Sequence[Any],
    show_counts: bool = True,
) -> None:
    """Draw a table of rates as a map, where bars would be too many: bins across, groups down.

    Parameters as in `draw_cell_rates`. Where they can be read, the rate and the rows are written
    into each cell.
    """
    ax.set_facecolor(MAP_BACKGROUND)
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
    size = min(LARGEST_FONT, tall, points * box.width / len(labels) / CHARACTERS)
    if size >= LEAST_FONT:
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
