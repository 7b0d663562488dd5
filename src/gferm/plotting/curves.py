"""The two sides of a frontier: exact on the training rows, judged on held-out ones.

ExactCurve      price of the training objective against epsilon, piecewise quadratic
HeldOutCurve    error against unfairness of several models, as they come
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gferm.arrays import Array
from gferm.estimators.frontier import Frontier
from gferm.plotting.judged import Judged
from gferm.plotting.room import legend_above, set_view
from gferm.plotting.style import COLORS, SHAPES, as_text

MARK = {"marker": "*", "markersize": 14, "color": COLORS[4], "linestyle": "none", "zorder": 4}
EDGE = {"markeredgecolor": "white", "markeredgewidth": 0.6}
NAMED = {"linestyle": "none", "markersize": 8, "zorder": 4} | EDGE
SCALES = {"mean": "mean gap between groups", "sum": "sum of the gaps of ordered pairs"}
LONG_NAMES = {"mean gap": "mean gap (units of y)", "DGF": "DGF (gap of shares)"}
FINE = 400  # points of a smooth curve


class Curve(Protocol):
    """What a `FrontierDisplay` draws."""

    def draw(self, ax: Any, color: str) -> None:
        """Draw it, with its axes named and its legend."""


@dataclass(frozen=True, eq=False)
class ExactCurve:
    """The training side.

    Attributes
    ----------
    frontier : Frontier
    epsilon : float or None
        Of a model to be marked.
    """

    frontier: Frontier
    epsilon: float | None = None

    def price(self, epsilons: Any) -> Array:
        """Return how many percent the training objective is above that of the plain model."""
        price: Array = 100 * (
            self.frontier.objectives_at(epsilons) / self.frontier.objectives[0] - 1
        )
        return price

    def draw(self, ax: Any, color: str) -> None:
        """Draw the curve and mark its breakpoints, the plain and the fairest model."""
        epsilons = self.frontier.epsilons
        # between breakpoints the model is linear in epsilon, so its objective is a parabola
        fine = np.unique(np.concatenate([np.linspace(epsilons[-1], epsilons[0], FINE), epsilons]))
        ax.plot(fine, self.price(fine), color=color, zorder=2)
        price = self.price(epsilons)
        ax.scatter(epsilons, price, s=22, color=color, zorder=3, label="breakpoints")
        for i, name, offset in ((0, "plain", (-8, 10)), (-1, "fairest", (10, -2))):
            ax.annotate(
                name,
                (epsilons[i], price[i]),
                xytext=offset,
                textcoords="offset points",
                ha="right" if i == 0 else "left",
            )
        ax.set_xlabel(f"epsilon: {SCALES[self.frontier.model.epsilon_scale]} (units of y)")
        ax.set_ylabel("price: training objective, % above the plain model")
        if self.epsilon is not None:
            self._mark(ax, self.epsilon)

    def _mark(self, ax: Any, epsilon: float) -> None:
        """Mark a model; one whose epsilon is beyond the plain model's gap is the plain model."""
        epsilons = self.frontier.epsilons
        place = min(epsilon, epsilons[0])
        price = self.price([place])[0]
        inactive = ", not active" if epsilon > epsilons[0] else ""
        text = f"this model: epsilon {epsilon:.3g}{inactive}, price {price:.3g} %"
        ax.plot(place, price, label=text, **MARK)
        legend_above(ax)


@dataclass(frozen=True, eq=False)
class HeldOutCurve:
    """The held-out side.

    Attributes
    ----------
    judged : Judged
    connect : bool
        Whether a line leads from each model to the next, as along a path in epsilon.
    """

    judged: Judged
    connect: bool = True

    def draw(self, ax: Any, color: str) -> None:
        """Draw a point for each model, with marks of their own for those that have names."""
        found = self.judged
        line = {"color": color, "linestyle": "-" if self.connect else "none", "zorder": 2}
        named = [i for i, name in enumerate(found.names) if name]
        others = [i for i, name in enumerate(found.names) if not name]
        dots = {"marker": "o", "markersize": 4, "markevery": others}
        ax.plot(found.unfairness, found.errors, **dots, **line)
        for place, i in enumerate(named):
            style = {"marker": SHAPES[1:][place % 7], "color": COLORS[(place + 4) % 6]}
            text = as_text(found.names[i])
            ax.plot(found.unfairness[i], found.errors[i], label=text, **style, **NAMED)
        measured = LONG_NAMES.get(found.unfairness_name, found.unfairness_name)
        ax.set_xlabel(f"unfairness on {found.n_rows} rows: {measured}")
        ax.set_ylabel(f"error: {found.error_name}")
        errors = np.nanmin(found.errors), np.nanmax(found.errors)
        set_view(ax, (0.0, np.nanmax(found.unfairness)), errors)
        if named:
            legend_above(ax)
