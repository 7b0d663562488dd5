"""FrontierDisplay: the exact frontier, price of fairness against epsilon."""

from __future__ import annotations

from typing import Any

import numpy as np

from gferm.frontier import Frontier
from gferm.plotting.style import COLORS, axes, tidy


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
        ax = axes(ax)
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
        tidy(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self
