"""FrontierDisplay: what fairness costs, on the training rows exactly, or on held-out ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gferm.estimators import FairRegressor
from gferm.estimators.frontier import Frontier, frontier
from gferm.plotting.curves import Curve, ExactCurve, HeldOutCurve
from gferm.plotting.judged import judge
from gferm.plotting.style import COLORS, axes, tidy


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
        """Judge the predictions of several models and draw error against unfairness.

        Parameters
        ----------
        y_true : array of shape (n_samples,)
        predictions : mapping of str to array of shape (n_samples,), or array (n_models, n_samples)
            For rows that the models have not seen; in the order in which they are connected.
        sensitive_features : array, Series, data frame or dict of columns
        names : sequence of str, default=None
            Of the models of an array; those named "" get no mark of their own.
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
        judged = judge(
            y_true,
            predictions,
            sensitive_features=sensitive_features,
            names=names,
            error=error,
            unfairness=unfairness,
            **bins,
        )
        if not np.isfinite(judged.unfairness).any():
            raise ValueError(
                "no label bin holds two groups, so no model has an unfairness to draw; use fewer "
                "y_bins or s_bins."
            )
        return cls(HeldOutCurve(judged, connect)).plot(ax)

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
