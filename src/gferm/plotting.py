"""Plots, as scikit-learn's Display classes: compute once, draw on any axes.

CellRatesDisplay   the paper's histogram: P̂^{k,q} of each group over the label bins
FrontierDisplay    the exact frontier: price of fairness against epsilon, with its breakpoints
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gferm.frontier import Frontier
from gferm.metrics import CellValues, cell_rates

# Okabe and Ito's colours, told apart by colour-blind readers; the first two overlap well
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442", "#000000")

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
        ax = _axes(ax)
        bins, table = self.rates.cells.label_bins, self.rates.values
        groups = self.rates.cells.partitions[0].groups if group_names is None else group_names
        x = np.arange(bins.n_bins)
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
        labels = list(bins.labels)
        note = ""
        if counts and len(groups) <= MOST_COUNTS:
            labels = [
                f"{label}\n{' | '.join(map(str, row))}"
                for label, row in zip(labels, self.rates.counts, strict=True)
            ]
            note = "  (rows in each group)"
        elif counts:
            labels = [
                f"{label}\n{row.sum()}, least {row.min()}"
                for label, row in zip(labels, self.rates.counts, strict=True)
            ]
            note = "  (rows, and those of the smallest group)"
        ax.set_xticks(x, labels, fontsize="x-small")
        ax.set_xlabel(f"label bin k{note}")
        ax.set_ylabel(r"$\hat P^{k,q}$: share predicted into its own bin")
        ax.set_ylim(0, 1)
        ax.legend(frameon=False)
        _tidy(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


class FrontierDisplay:
    """The price of fairness along the exact frontier."""

    def __init__(self, frontier: Frontier) -> None:
        self.frontier = frontier

    @classmethod
    def from_frontier(cls, frontier: Frontier, *, ax: Any = None) -> FrontierDisplay:
        """Draw a frontier."""
        display = cls(frontier)
        display.plot(ax=ax)
        return display

    def plot(self, ax: Any = None, *, color: str = COLORS[0]) -> Any:
        """Draw the curve and mark its breakpoints, the plain and the fairest model."""
        ax = _axes(ax)
        epsilons = self.frontier.epsilons
        plain = self.frontier.objectives[0]
        # between breakpoints the model is linear in epsilon, so its objective is a parabola
        fine = np.unique(np.concatenate([np.linspace(epsilons[-1], epsilons[0], 400), epsilons]))
        ax.plot(fine, 100 * (self.frontier.objectives_at(fine) / plain - 1), color=color, zorder=2)
        price = 100 * (self.frontier.objectives / plain - 1)
        ax.scatter(epsilons, price, s=22, color=color, zorder=3, label="breakpoints")
        for i, name, offset in ((0, "plain", (-8, 10)), (-1, "fairest", (10, -2))):
            ax.annotate(
                name,
                (epsilons[i], price[i]),
                xytext=offset,
                textcoords="offset points",
                ha="right" if i == 0 else "left",
            )
        ax.set_xlabel("epsilon: mean gap between groups (units of y)")
        ax.set_ylabel("price: training objective, % above the plain model")
        _tidy(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Plots need matplotlib: pip install 'gferm[plot]'.") from error
    return plt.subplots(layout="constrained")[1]


def _tidy(ax: Any) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", alpha=0.25)
    ax.set_axisbelow(True)
