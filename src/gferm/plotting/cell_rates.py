"""CellRatesDisplay: the paper's histogram, P̂^{k,q} of each group over the label bins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gferm.arrays import Array
from gferm.metrics import CellValues, cell_rates
from gferm.plotting.style import COLORS, axes, tidy

MOST_COUNTS = 3  # more groups' counts do not fit under a bin


class CellRatesDisplay:
    """Share of each group predicted into the right label bin, bin by bin.

    Parameters
    ----------
    rates : CellValues
        As given by `gferm.metrics.cell_rates`, for one partition into groups.
    """

    def __init__(self, rates: CellValues) -> None:
        self.rates = rates

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_pred: Any, *, sensitive_features: Any, ax: Any = None, **options: Any
    ) -> CellRatesDisplay:
        """Compute and draw; ``options`` go to `cell_rates`."""
        rates = cell_rates(y_true, y_pred, sensitive_features=sensitive_features, **options)
        display = cls(rates)
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

    def plot(self, ax: Any = None, *, group_names: Any = None, counts: bool = True) -> Any:
        """Draw overlapping bars, one colour a group, with the rows of each cell below.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        group_names : sequence of str, default=None
            Names for the legend instead of the groups' own.
        counts : bool, default=True
            Whether to write the rows of each group under each bin (of the smallest group, if
            there are many); small cells are noise.
        """
        ax = axes(ax)
        groups = self.rates.cells.partitions[0].groups if group_names is None else group_names
        draw_cell_rates(
            ax,
            self.rates.values,
            self.rates.counts,
            labels=self.rates.cells.label_bins.labels,
            groups=groups,
            show_counts=counts,
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
    show_counts: bool = True,
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
    show_counts : bool, default=True
        As ``counts`` of `CellRatesDisplay.plot`.
    """
    x = np.arange(len(labels))
    overlap = len(groups) <= 2
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
            linewidth=1.2,
            label=group,
        )
    below, note = list(labels), ""
    if show_counts and len(groups) <= MOST_COUNTS:
        below = [
            f"{label}\n{' | '.join(map(str, row))}"
            for label, row in zip(labels, counts, strict=True)
        ]
        note = "  (rows in each group)"
    elif show_counts:
        below = [
            f"{label}\n{row.sum()}, least {row.min()}"
            for label, row in zip(labels, counts, strict=True)
        ]
        note = "  (rows, and those of the smallest group)"
    ax.set_xticks(x, below, fontsize="x-small")
    ax.set_xlabel(f"label bin k{note}")
    ax.set_ylabel(r"$\hat P^{k,q}$: share predicted into its own bin")
    ax.set_ylim(0, 1)
    ax.legend(frameon=False)
    tidy(ax)
