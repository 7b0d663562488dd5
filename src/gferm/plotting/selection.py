"""SelectionDisplay: error against unfairness of many models, and the one that a rule chooses.

A point is a setting of a search, or a model, (e_i, u_i) as in model_selection/rules.py; left and
low is good. The dashed line is the limit of the shortlist, best / (1 − tolerance). The view ends a
few shortlists from the best error, since the failures of a grid would squeeze what matters; what
lies beyond becomes triangles on the right edge, at the height of their unfairness.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from textwrap import fill
from typing import Any

import numpy as np
import numpy.typing as npt

from gferm.arrays import Array
from gferm.model_selection import fairest_within, lowest_error, pareto_set
from gferm.plotting.layout import MARGIN, place_axes
from gferm.plotting.search_results import (
    describe_settings,
    measure_name,
    standard_errors,
    unfairness_beside,
)
from gferm.plotting.style import COLORS, as_text, axes, tidy
from gferm.plotting.trade_off import measure_trade_off

MOST_NAMES = 12  # of models, beside their points
WIDTHS_IN_VIEW = 4.0  # of the shortlist, so that it fills a quarter of the picture
LEAST_VIEW = 1.25  # of the best error, for a shortlist without width
LEGEND_WIDTH = 34  # characters

BLACK = COLORS[-1]
MUTED = {"color": BLACK, "alpha": 0.3, "linewidths": 0, "s": 22}
LISTED = {"color": COLORS[0], "s": 28, "zorder": 3}
NAIVE = {"marker": "D", "s": 75, "facecolors": "none", "edgecolors": BLACK, "zorder": 5}
CHOSEN = {"marker": "*", "s": 280, "color": COLORS[4], "edgecolors": "white", "zorder": 6}
STAIRS = {"where": "post", "color": BLACK, "alpha": 0.6, "linewidth": 0.8, "zorder": 2}
LIMIT = {"color": COLORS[0], "linestyle": "--", "linewidth": 1.0, "zorder": 1}
BESIDE: dict[str, Any] = {"textcoords": "offset points", "fontsize": "x-small"}
RIGHT: dict[str, Any] = {"xytext": (7, 5)}
LEFT: dict[str, Any] = {"xytext": (-7, -5), "ha": "right", "va": "top"}
BARS = {"fmt": "none", "elinewidth": 1.0, "capsize": 2.5, "zorder": 4}

Mask = npt.NDArray[np.bool_]


class SelectionDisplay:
    """The settings of a search (or any models), their shortlist, their Pareto set and the choice.

    Parameters
    ----------
    errors, unfairness : arrays of shape (n_settings,)
        Both better when smaller. A setting with a NaN is counted in the legend, not drawn.
    shortlist : sequence of int
        The settings among which the choice was made.
    chosen : int
    limit : float
        The largest error of the shortlist.
    labels : sequence of str, default=None
        The parameters of each setting, for the legend.
    error_bars, unfairness_bars : arrays of shape (n_settings,), default=None
        Standard errors, drawn at the choice and at the lowest error.
    error_name, unfairness_name : str
        What was measured, for the axes.
    judged_on : str, default="mean over folds"
        How it was measured, for the axes.
    points_name : str, default="settings"
        What there are many of, for the legend.
    """

    def __init__(
        self,
        errors: npt.ArrayLike,
        unfairness: npt.ArrayLike,
        *,
        shortlist: Sequence[int] | npt.NDArray[Any],
        chosen: int,
        limit: float,
        labels: Sequence[str] | None = None,
        error_bars: npt.ArrayLike | None = None,
        unfairness_bars: npt.ArrayLike | None = None,
        error_name: str = "error",
        unfairness_name: str = "unfairness",
        judged_on: str = "mean over folds",
        points_name: str = "settings",
    ) -> None:
        self.errors = np.asarray(errors, dtype=float)
        self.unfairness = np.asarray(unfairness, dtype=float)
        if not self.known.any():
            raise ValueError(
                "no setting has both an error and an unfairness, so there is nothing to draw; "
                "search with error_score='raise' to see why."
            )
        self.shortlist, self.chosen, self.limit = np.asarray(shortlist, dtype=int), chosen, limit
        self.naive = int(np.argmin(np.where(self.known, self.errors, np.inf)))
        self.labels = labels
        nothing = np.zeros_like(self.errors)
        self.error_bars = nothing if error_bars is None else np.asarray(error_bars)
        self.unfairness_bars = nothing if unfairness_bars is None else np.asarray(unfairness_bars)
        self.error_name, self.unfairness_name = error_name, unfairness_name
        self.judged_on, self.points_name = judged_on, points_name

    @property
    def known(self) -> Mask:
        """Mask of the settings that have both an error and an unfairness."""
        known: Mask = np.isfinite(self.errors) & np.isfinite(self.unfairness)
        return known

    @classmethod
    def from_cv_results(
        cls,
        cv_results: Mapping[str, Any],
        *,
        rule: fairest_within = fairest_within(),  # noqa: B008, frozen
        chosen: int | None = None,
        ax: Any = None,
    ) -> SelectionDisplay:
        """Draw what a rule makes of the ``cv_results_`` of any search.

        Parameters
        ----------
        cv_results : dict of arrays
        rule : fairest_within
            Names the columns and the tolerance.
        chosen : int, default=None
            The setting to mark as the choice; None asks the rule.
        ax : matplotlib Axes, default=None
        """
        errors, unfairness = rule.measures(cv_results)
        display = cls(
            errors,
            unfairness,
            shortlist=rule.shortlist(cv_results),
            chosen=rule(cv_results) if chosen is None else chosen,
            limit=rule.limit(errors),
            labels=describe_settings(cv_results),
            error_bars=standard_errors(cv_results, rule.error),
            unfairness_bars=standard_errors(cv_results, rule.unfairness),
            error_name=measure_name(rule.error, from_one=rule.greater_is_better),
            unfairness_name=measure_name(rule.unfairness),
        )
        return display.plot(ax)

    @classmethod
    def from_estimator(cls, search: Any, *, ax: Any = None) -> SelectionDisplay:
        """Draw a fitted search and its choice.

        The rule is its ``rule_`` or its ``refit``. If that is not a `fairest_within`, the
        unfairness is the column "mean_test_dgf", or the only one beside the error.
        """
        results, rule = search.cv_results_, getattr(search, "rule_", getattr(search, "refit", None))
        if isinstance(rule, lowest_error):  # a shortlist of the best alone
            unfairness = unfairness_beside(results, rule.error)
            score = rule.greater_is_better
            rule = fairest_within(0.0, rule.error, unfairness, greater_is_better=score)
        elif not isinstance(rule, fairest_within):
            rule = fairest_within(unfairness=unfairness_beside(results, fairest_within.error))
        chosen = int(search.best_index_)
        return cls.from_cv_results(results, rule=rule, chosen=chosen, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        predictions: Mapping[str, Any],
        *,
        sensitive_features: Any,
        rule: fairest_within = fairest_within(),  # noqa: B008, frozen
        error: str | Callable[..., float] = "auto",
        unfairness: str | Callable[..., float] = "dgf",
        ax: Any = None,
        **bins: Any,
    ) -> SelectionDisplay:
        """Choose among any models by what they predict for rows they have not seen, and draw it.

        Parameters
        ----------
        y_true : array of shape (n_samples,)
        predictions : mapping of str to array of shape (n_samples,)
            One for each model, by its name.
        sensitive_features : array, Series, data frame or dict of columns
        rule : fairest_within
            Only its tolerance counts here.
        error, unfairness
            As in `FrontierDisplay.from_predictions`.
        ax : matplotlib Axes, default=None
        **bins
            ``y_bins``, ``s_bins`` and ``intersectional``, as in `gferm.metrics.dgf`.
        """
        found = measure_trade_off(
            y_true,
            predictions,
            sensitive_features=sensitive_features,
            error=error,
            unfairness=unfairness,
            **bins,
        )
        rule = fairest_within(rule.tolerance)
        columns = {rule.error: found.errors, rule.unfairness: found.unfairness}
        display = cls(
            found.errors,
            found.unfairness,
            shortlist=rule.shortlist(columns),
            chosen=rule(columns),
            limit=rule.limit(found.errors),
            labels=[as_text(name) for name in found.names],
            error_name=found.error_name,
            unfairness_name=found.unfairness_name,
            judged_on=f"{found.n_rows} rows",
            points_name="models",
        )
        return display.plot(ax, write_names=len(found.names) <= MOST_NAMES)

    def plot(
        self, ax: Any = None, *, zoom: bool = True, write_names: bool = False
    ) -> SelectionDisplay:
        """Draw the settings, with a legend beside the axes.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        zoom : bool, default=True
            Whether the view may end before the largest error. False shows all settings, on a
            logarithmic axis if they span more than a decade.
        write_names : bool, default=False
            Whether to write the label of each setting beside its point.
        """
        ax = axes(ax, figsize=(8.0, 4.2))
        self._set_view(ax, zoom)
        self._draw_marks(ax)
        self._draw_settings(ax)
        ax.set_xlabel(_axis_title("error", self.error_name, self.error_bars, self.judged_on))
        name, bars = self.unfairness_name, self.unfairness_bars
        ax.set_ylabel(_axis_title("unfairness", name, bars, self.judged_on))
        beside = {"loc": "upper left", "bbox_to_anchor": (1.02, 1.0), "borderaxespad": 0.0}
        ax.legend(**beside, frameon=False, fontsize="small", labelspacing=0.9)
        tidy(ax)
        if write_names and self.labels is not None:
            self._label_points(ax)  # where the legend leaves the axes
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _set_view(self, ax: Any, zoom: bool) -> None:
        """Set the limits of the axes, logarithmic if they must be."""
        known, errors = self.known, self.errors
        best, right = errors[self.naive], errors[known].max()
        if zoom and best > 0:
            width = WIDTHS_IN_VIEW * (self.limit - best)
            right = min(right, np.nanmax([best + width, LEAST_VIEW * best, errors[self.chosen]]))
        right = max(right, self.limit)
        if 0 < 10 * best < right:
            ax.set_xscale("log")
            step = (right / best) ** MARGIN
            ax.set_xlim(best / step, right * step)
        else:
            step = MARGIN * (right - best or best or 1.0)
            ax.set_xlim(best - max(step, 1.1 * self.error_bars[self.naive]), right + step)
        seen = known & (errors <= ax.get_xlim()[1])
        marks = [self.naive, self.chosen]
        top = np.nanmax([*self.unfairness[seen], *(self.unfairness + self.unfairness_bars)[marks]])
        ax.set_ylim(-0.02 * (top or 1.0), 1.06 * (top or 1.0))

    def _draw_marks(self, ax: Any) -> None:
        """Draw the choice and the lowest error, with their bars."""
        marks = [(self.chosen, "chosen", CHOSEN), (self.naive, "lowest error", NAIVE)]
        if self.chosen == self.naive:
            marks = [(self.chosen, "chosen, of lowest error", CHOSEN)]
        for i, name, style in marks:
            e, u = self.errors[i], self.unfairness[i]
            bars = {"xerr": self.error_bars[i], "yerr": self.unfairness_bars[i]}
            lines = [name, f"{self.error_name}\xa0{e:.3g}, {self.unfairness_name}\xa0{u:.3g}"]
            lines += [] if self.labels is None else [self.labels[i]]
            text = "\n".join(fill(line.replace(" = ", "\xa0=\xa0"), LEGEND_WIDTH) for line in lines)
            ax.scatter(e, u, label=text, **style)
            if any(bars.values()):
                ax.errorbar(e, u, **bars, ecolor=style.get("color", BLACK), **BARS)

    def _draw_settings(self, ax: Any) -> None:
        """Draw the shortlist, its limit, the others and the Pareto set."""
        known, edge = self.known, ax.get_xlim()[1]
        listed = np.zeros_like(known)
        listed[self.shortlist] = True
        beyond = known & (self.errors > edge)
        others = known & ~listed & ~beyond
        text = f"shortlist: {self.shortlist.size} of {known.size} {self.points_name}"
        ax.scatter(
            self.errors[known & listed], self.unfairness[known & listed], label=text, **LISTED
        )
        ax.axvline(self.limit, label=f"its limit: {self.error_name} {self.limit:.3g}", **LIMIT)
        if others.any():
            text = f"{np.count_nonzero(others)} other {self.points_name}"
            ax.scatter(self.errors[others], self.unfairness[others], label=text, **MUTED)
        if beyond.any():
            ax.scatter(
                np.ones(np.count_nonzero(beyond)),
                np.minimum(self.unfairness[beyond], ax.get_ylim()[1]),
                transform=ax.get_yaxis_transform(),  # the edge, in units of the axes
                clip_on=False,
                marker=">",
                label=f"{np.count_nonzero(beyond)} further right",
                **MUTED,
            )
        if not known.all():
            text = f"{np.count_nonzero(~known)} without a value: not shown"
            ax.scatter([], [], label=text, marker="x", color=BLACK, alpha=0.3)
        best = pareto_set(self.errors, self.unfairness)
        # the last step goes on: no larger error is any fairer
        stairs = np.append(self.errors[best], max(edge, self.errors[best[-1]]))
        heights = np.append(self.unfairness[best], self.unfairness[best[-1]])
        ax.step(stairs, heights, label="Pareto set: none is left and below", **STAIRS)

    def _label_points(self, ax: Any) -> None:
        """Write the label of each setting in view beside its point, inside the axes."""
        assert self.labels is not None
        seen = self.known & (self.errors <= ax.get_xlim()[1])
        place_axes(ax)
        for i in np.flatnonzero(seen).tolist():
            point = self.errors[i], self.unfairness[i]
            text = ax.annotate(self.labels[i], point, **RIGHT, **BESIDE)
            if text.get_window_extent().x1 > ax.get_window_extent().x1:
                text.remove()
                ax.annotate(self.labels[i], point, **LEFT, **BESIDE)


def _axis_title(kind: str, name: str, bars: Array, judged_on: str) -> str:
    """Return what is measured on an axis, and how."""
    how = judged_on.replace("mean", "mean ± standard error", 1) if bars.any() else judged_on
    return f"{name if kind in name else f'{kind} ({name})'}, {how}"
