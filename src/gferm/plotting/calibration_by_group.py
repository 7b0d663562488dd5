"""CalibrationByGroupDisplay: whether a prediction means the same in every group.

The points of calibration.py, one colour and one marker a group. On the diagonal, the mean label is
the mean prediction; two groups at different heights get different outcomes at equal prediction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from gferm.arrays import Array
from gferm.fairness.cells import SensitiveBins
from gferm.plotting.calibration import Calibration, calibrate
from gferm.plotting.layout import legend_above, set_view
from gferm.plotting.style import FEW, as_text, attribute_text, axes, group_style, tidy

AREAS = (16.0, 90.0)  # of a point with hardly a row, and of the one with most
MOST_BARS = 5  # groups; of more, the bars would hide the points

DIAGONAL: dict[str, Any] = {"color": "0.35", "linestyle": "--", "linewidth": 1.0, "zorder": 1}
GREY = "0.45"
HOLLOW = {"facecolors": "white", "linewidths": 1.2}


class CalibrationByGroupDisplay:
    """Mean label against mean prediction of each group, in bins of the prediction.

    Parameters
    ----------
    calibration : Calibration
        The points, their intervals and counts.
    prediction_name, label_name : str
        Names of the axes.
    diagonal : bool, default=True
        Whether predictions are on the scale of the labels, so that they can be compared.
    """

    def __init__(
        self,
        calibration: Calibration,
        *,
        prediction_name: str = "mean prediction (units of y)",
        label_name: str = "mean label (units of y)",
        diagonal: bool = True,
    ) -> None:
        self.calibration = calibration
        self.prediction_name, self.label_name = prediction_name, label_name
        self.diagonal = diagonal

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        *,
        sensitive_features: Any,
        sample_weight: Any = None,
        n_bins: int = 10,
        strategy: str = "quantile",
        s_bins: SensitiveBins = "auto",
        intersectional: bool = True,
        attribute: str | None = None,
        pos_label: Any = None,
        ax: Any = None,
    ) -> CalibrationByGroupDisplay:
        """Draw the points of these predictions.

        Parameters
        ----------
        y_true : array of shape (n_samples,)
            Numbers, classes 0 and 1, or any classes if ``pos_label`` names one of them.
        y_pred : array of shape (n_samples,)
            Numbers on the scale of y_true; of classes, the probability of class 1 or
            ``pos_label``.
        sensitive_features : array, Series, data frame or dict of columns
        sample_weight : array of shape (n_samples,), default=None
        n_bins : int, default=10
            Bins of the prediction, the same for all groups.
        strategy : {"quantile", "uniform"}, default="quantile"
            Bins of nearly equal numbers of rows, or of equal width.
        s_bins, intersectional
            As in `FairRegressor`.
        attribute : str, default=None
            The one to draw, where several are compared each on its own.
        pos_label : class, default=None
        ax : matplotlib Axes, default=None
        """
        calibration = calibrate(
            y_true,
            y_pred,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            n_bins=n_bins,
            strategy=strategy,
            s_bins=s_bins,
            intersectional=intersectional,
            attribute=attribute,
            pos_label=pos_label,
        )
        if not calibration.classes:
            return cls(calibration).plot(ax)
        label = 1 if pos_label is None else pos_label
        return cls(
            calibration,
            prediction_name=f"mean predicted probability of class {label}",
            label_name=f"share of class {label}",
        ).plot(ax)

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, sensitive_features: Any, ax: Any = None, **options: Any
    ) -> CalibrationByGroupDisplay:
        """Draw what a model predicts for these rows.

        A classifier is asked for the probability of its second class. One without probabilities
        is asked for its decision values: they are on no scale of shares, so there is no diagonal,
        and what can be read is whether equal values mean equal shares in all groups.
        """
        options["sensitive_features"] = sensitive_features
        if not is_classifier(model):
            return cls.from_predictions(y, model.predict(X), ax=ax, **options)
        label = _class_to_show(model, options.pop("pos_label", None))
        values, probable = _scores_of(model, X, label)
        options["pos_label"] = label
        if probable:
            return cls.from_predictions(y, values, ax=ax, **options)
        return cls(
            calibrate(y, values, **options),
            prediction_name=f"mean decision value for class {label} (no probability)",
            label_name=f"share of class {label}",
            diagonal=False,
        ).plot(ax)

    def plot(self, ax: Any = None, *, group_names: Any = None) -> CalibrationByGroupDisplay:
        """Draw the points, their intervals and the diagonal.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        group_names : sequence of str, default=None
            Names for the legend instead of the groups' own.
        """
        ax = axes(ax, figsize=(5.6, 5.2))
        points = self.calibration
        groups = points.groups if group_names is None else group_names
        with_bars = len(groups) <= MOST_BARS
        self._set_view(ax, with_bars)
        if self.diagonal:
            ends = [*ax.get_xlim()]
            ax.plot(ends, ends, **DIAGONAL)
        for q in range(len(groups)):
            self._draw_group(ax, q, with_bars)
        ax.set_xlabel(as_text(self.prediction_name, 60))
        bars = "\nbars: 95 % interval" if with_bars else ""
        ax.set_ylabel(f"{as_text(self.label_name, 60)}{bars}")
        tidy(ax)
        self._draw_legend(ax, groups)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _set_view(self, ax: Any, with_bars: bool) -> None:
        """Set limits that show every point, and the bars of points on enough rows."""
        points = self.calibration
        firm = (points.counts >= FEW) & with_bars  # the bars of others reach too far
        bars = [points.low[firm], points.high[firm]]
        seen = np.concatenate([points.labels.ravel(), *bars])
        x, y = points.predictions[points.counts > 0], seen[np.isfinite(seen)]
        if self.diagonal:  # which is to be seen from end to end
            y = np.concatenate([x, y])
        set_view(ax, (x.min(), x.max()), (y.min(), y.max()))

    def _draw_group(self, ax: Any, q: int, with_bars: bool) -> None:
        """Draw the points of group q, hollow on few rows, and their bars."""
        points, style = self.calibration, group_style(q)
        there = points.counts[:, q] > 0
        x, y = points.predictions[there, q], points.labels[there, q]
        rows = points.counts[there, q]
        color = style["color"]
        ax.plot(x, y, color=color, linewidth=0.9, alpha=0.55, zorder=2)
        if with_bars:
            low, high = np.clip([points.low[there, q], points.high[there, q]], *ax.get_ylim())
            ax.vlines(x, low, high, color=color, linewidth=1.0, alpha=0.75, zorder=2)
        areas = AREAS[0] + (AREAS[1] - AREAS[0]) * rows / points.counts.max()
        firm = rows >= FEW
        ax.scatter(x[firm], y[firm], s=areas[firm], zorder=3, **style)
        hollow = HOLLOW | {"marker": style["marker"], "edgecolors": color}
        ax.scatter(x[~firm], y[~firm], s=areas[~firm], zorder=3, **hollow)

    def _draw_legend(self, ax: Any, groups: Sequence[Any]) -> None:
        """Draw the legend: groups with markers of one size, then what size and filling mean."""
        from matplotlib.lines import Line2D

        def mark(**style: Any) -> Any:
            return Line2D([], [], linestyle="none", **({"markersize": 6} | style))

        counts = self.calibration.counts
        rows = counts.sum(axis=0)
        entries = {
            f"{as_text(group)} ({rows[q]} rows)": mark(**group_style(q))
            for q, group in enumerate(groups)
        }
        if ((counts > 0) & (counts < FEW)).any():
            name = f"size: rows; hollow: under {FEW}"
            entries[name] = mark(marker="o", color=GREY, markerfacecolor="white")
        else:
            entries["size: rows"] = mark(marker="o", color=GREY, markersize=8)
        if self.diagonal:
            entries["label = prediction"] = Line2D([], [], **DIAGONAL)
        legend_above(ax, entries, title=attribute_text(self.calibration.attribute))


def _class_to_show(model: Any, pos_label: Any) -> Any:
    """Return the class whose share is predicted: the second of two, or the one asked for."""
    classes = np.asarray(model.classes_).tolist()
    if pos_label is None and len(classes) == 2:
        return classes[1]
    if pos_label not in classes:
        raise ValueError(
            f"pos_label={pos_label!r} is not among the classes {classes} of the model; name the "
            "one whose share is predicted."
        )
    return pos_label


def _scores_of(model: Any, X: Any, label: Any) -> tuple[Array, bool]:
    """Return the score of a class for each row, and whether it is a probability."""
    place = np.asarray(model.classes_).tolist().index(label)
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X))[:, place], True
    if hasattr(model, "decision_function"):
        values = np.asarray(model.decision_function(X))
        # of two classes there is one value, that of the second
        each = np.stack([-values, values], axis=-1) if values.ndim == 1 else values
        return each[:, place], False
    raise ValueError(
        f"model={type(model).__name__} has neither predict_proba nor decision_function; pass "
        "numbers of your own to from_predictions."
    )
