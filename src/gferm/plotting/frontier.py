"""FrontierDisplay: what fairness costs, on the training rows exactly, or on held-out ones.

ExactCurve      price of the training objective against epsilon, piecewise quadratic
HeldOutCurve    error against unfairness of several models, as they come
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gferm.arrays import Array
from gferm.estimators import FairRegressor
from gferm.estimators.frontier import Frontier, frontier
from gferm.plotting.layout import legend_above, set_view
from gferm.plotting.style import COLORS, MARKERS, as_text, axes, tidy
from gferm.plotting.trade_off import TradeOff, measure_trade_off

MARK = {"marker": "*", "markersize": 14, "color": COLORS[4], "linestyle": "none", "zorder": 4}
EDGE = {"markeredgecolor": "white", "markeredgewidth": 0.6}
NAMED = {"linestyle": "none", "markersize": 8, "zorder": 4} | EDGE
SCALES = {"mean": "mean gap between groups", "sum": "sum of the gaps of ordered pairs"}
LONG_NAMES = {"mean gap": "mean gap (units of y)", "DGF": "DGF (gap of shares)"}
FINE = 400  # points of a smooth curve


class FrontierDisplay:
    """The price of fairness along a frontier.

    Parameters
    ----------
    curve : ExactCurve or HeldOutCurve
        What is drawn, with its numbers; the class methods make one.
    """

    def __init__(self, curve: Curve) -> None:
        self.curve = curve

    @classmethod
    def from_frontier(cls, frontier: Frontier, *, ax: Any = None) -> FrontierDisplay:
        """Draw a frontier: the price of its training objective against epsilon."""
        return cls(ExactCurve(frontier)).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        model: FairRegressor,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any,
        sample_weight: Any = None,
        ax: Any = None,
    ) -> FrontierDisplay:
        """Trace the frontier of a model's settings on these rows, and mark its own epsilon.

        Parameters
        ----------
        model : FairRegressor
            With the square loss; fitted or not, it is not changed.
        X, y, sensitive_features, sample_weight
            As in `FairRegressor.fit`.
        ax : matplotlib Axes, default=None
        """
        if not isinstance(model, FairRegressor):
            raise ValueError(
                f"model={type(model).__name__} has no exact frontier, which a FairRegressor with "
                "the square loss has; draw the held-out predictions of several models by "
                "FrontierDisplay.from_predictions."
            )
        settings = model.get_params(deep=False)
        epsilon = settings.pop("epsilon")
        path = frontier(
            X, y, sensitive_features=sensitive_features, sample_weight=sample_weight, **settings
        )
        return cls(ExactCurve(path, epsilon)).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        predictions: Any,
        *,
        sensitive_features: Any,
        names: Sequence[str] | None = None,
        error: str | Callable[..., float] = "auto",
        unfairness: str | Callable[..., float] = "mean_gap",
        connect: bool = True,
        ax: Any = None,
        **bins: Any,
    ) -> FrontierDisplay:
        """Draw error against unfairness of several models, from what they predict.

        Parameters
        ----------
        y_true : array of shape (n_samples,)
        predictions : mapping of str to array of shape (n_samples,), or array (n_models, n_samples)
            For rows that the models have not seen; in the order in which they are connected.
        sensitive_features : array, Series, data frame or dict of columns
        names : sequence of str, default=None
            Names of the models of an array; those named "" get no marker of their own.
        error : {"auto", "mean absolute error", "share of mistakes"} or callable, default="auto"
            "auto" counts the mistakes of words, and measures the errors of numbers.
        unfairness : {"mean_gap", "dgf"} or callable, default="mean_gap"
            "mean_gap" is what epsilon bounds on the training rows.
        connect : bool, default=True
            Whether a line connects the models; not for models that have nothing in common.
        ax : matplotlib Axes, default=None
        **bins
            ``y_bins``, ``s_bins`` and ``intersectional``, as in `gferm.metrics.dgf`.
        """
        found = measure_trade_off(
            y_true,
            predictions,
            sensitive_features=sensitive_features,
            names=names,
            error=error,
            unfairness=unfairness,
            **bins,
        )
        if not np.isfinite(found.unfairness).any():
            raise ValueError(
                "no label bin holds two groups, so no model has an unfairness to draw; use fewer "
                "y_bins or s_bins."
            )
        return cls(HeldOutCurve(found, connect)).plot(ax)

    def plot(self, ax: Any = None, *, color: str = COLORS[0]) -> FrontierDisplay:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        color : str, default=COLORS[0]
        """
        ax = axes(ax)
        self.curve.draw(ax, color)
        tidy(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


class Curve(Protocol):
    """What a `FrontierDisplay` draws."""

    def draw(self, ax: Any, color: str) -> None:
        """Draw it, with its axes named and its legend."""


@dataclass(frozen=True, eq=False)
class ExactCurve:
    """The training side: the price of fairness.

    Attributes
    ----------
    frontier : Frontier
    epsilon : float or None
        Where to mark a model.
    """

    frontier: Frontier
    epsilon: float | None = None

    def price(self, epsilons: Any) -> Array:
        """Return the price: percent by which the training objective exceeds the plain model's."""
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
        """Mark the model of an epsilon; beyond the plain model's gap, that is the plain model."""
        epsilons = self.frontier.epsilons
        place = min(epsilon, epsilons[0])
        price = self.price([place])[0]
        inactive = ", not active" if epsilon > epsilons[0] else ""
        text = f"this model: epsilon {epsilon:.3g}{inactive}, price {price:.3g} %"
        ax.plot(place, price, label=text, **MARK)
        legend_above(ax)


@dataclass(frozen=True, eq=False)
class HeldOutCurve:
    """The held-out side: error against unfairness.

    Attributes
    ----------
    trade_off : TradeOff
    connect : bool
        Whether a line leads from each model to the next, as along a path in epsilon.
    """

    trade_off: TradeOff
    connect: bool = True

    def draw(self, ax: Any, color: str) -> None:
        """Draw a point for each model; those with names have markers of their own."""
        found = self.trade_off
        line = {"color": color, "linestyle": "-" if self.connect else "none", "zorder": 2}
        named = [i for i, name in enumerate(found.names) if name]
        others = [i for i, name in enumerate(found.names) if not name]
        dots = {"marker": "o", "markersize": 4, "markevery": others}
        ax.plot(found.unfairness, found.errors, **dots, **line)
        for place, i in enumerate(named):
            style = {"marker": MARKERS[1:][place % 7], "color": COLORS[(place + 4) % 6]}
            text = as_text(found.names[i])
            ax.plot(found.unfairness[i], found.errors[i], label=text, **style, **NAMED)
        measured = LONG_NAMES.get(found.unfairness_name, found.unfairness_name)
        ax.set_xlabel(f"unfairness on {found.n_rows} rows: {measured}")
        ax.set_ylabel(f"error: {found.error_name}")
        errors = np.nanmin(found.errors), np.nanmax(found.errors)
        set_view(ax, (0.0, np.nanmax(found.unfairness)), errors)
        if named:
            legend_above(ax)
