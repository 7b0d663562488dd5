"""SelectionDisplay: error against unfairness of every setting of a search, and its choice.

A point is a setting, (e_i, u_i) as in model_selection/rules.py; left and low is good. The dashed
line is the limit of the shortlist, best / (1 − tolerance). The view ends a few shortlists from the
best error, since the failures of a grid would squeeze what matters; what lies beyond becomes
triangles on the right edge, at the height of their unfairness.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

import numpy as np
import numpy.typing as npt

from gferm.arrays import Array
from gferm.model_selection import fairest_within, lowest_error, pareto_set
from gferm.plotting.search_results import describe, measure, standard_errors, unfairness_beside
from gferm.plotting.style import COLORS, axes, tidy

Mask = npt.NDArray[np.bool_]

WIDTHS_IN_VIEW = 4.0  # of the shortlist, so that it fills a quarter of the picture
LEAST_VIEW = 1.25  # of the best error, for a shortlist without width
MARGIN = 0.05  # of the view, on either side
LEGEND_WIDTH = 34  # characters

BLACK = COLORS[-1]
MUTED = {"color": BLACK, "alpha": 0.3, "linewidths": 0, "s": 22}
LISTED = {"color": COLORS[0], "s": 28, "zorder": 3}
NAIVE = {"marker": "D", "s": 75, "facecolors": "none", "edgecolors": BLACK, "zorder": 5}
CHOSEN = {"marker": "*", "s": 280, "color": COLORS[4], "edgecolors": "white", "zorder": 6}
STAIRS = {"where": "post", "color": BLACK, "alpha": 0.6, "linewidth": 0.8, "zorder": 2}
LIMIT = {"color": COLORS[0], "linestyle": "--", "linewidth": 1.0, "zorder": 1}
BARS = {"fmt": "none", "elinewidth": 1.0, "capsize": 2.5, "zorder": 4}


class SelectionDisplay:
    """The settings of a search, its shortlist, its Pareto set and its choice.

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
    ) -> None:
        self.errors = np.asarray(errors, dtype=float)
        self.unfairness = np.asarray(unfairness, dtype=float)
        if not self._known.any():
            raise ValueError(
                "no setting has both an error and an unfairness, so there is nothing to draw; "
                "search with error_score='raise' to see why."
            )
        self.shortlist, self.chosen, self.limit = np.asarray(shortlist, dtype=int), chosen, limit
        self.naive = int(np.argmin(np.where(self._known, self.errors, np.inf)))
        self.labels = labels
        nothing = np.zeros_like(self.errors)
        self.error_bars = nothing if error_bars is None else np.asarray(error_bars)
        self.unfairness_bars = nothing if unfairness_bars is None else np.asarray(unfairness_bars)
        self.error_name, self.unfairness_name = error_name, unfairness_name

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
            labels=describe(cv_results),
            error_bars=standard_errors(cv_results, rule.error),
            unfairness_bars=standard_errors(cv_results, rule.unfairness),
            error_name=measure(rule.error, from_one=rule.greater_is_better),
            unfairness_name=measure(rule.unfairness),
        )
        return display.plot(ax)

    @classmethod
    def from_estimator(cls, search: Any, *, ax: Any = None) -> SelectionDisplay:
        """Draw a fitted search and its choice.

        The rule is its ``rule_`` or its ``refit``. One that is not `fairest_within` names no
        unfairness: that is then the column "mean_test_dgf", or the only one beside the error.
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

    def plot(self, ax: Any = None, *, zoom: bool = True) -> SelectionDisplay:
        """Draw the settings, with a legend beside the axes.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        zoom : bool, default=True
            Whether the view may end before the largest error. False shows all settings, on a
            logarithmic axis if they span more than a decade.
        """
        ax = axes(ax, figsize=(8.0, 4.2))
        self._set_view(ax, zoom)
        self._draw_marks(ax)
        self._draw_settings(ax)
        ax.set_xlabel(_title("error", self.error_name, self.error_bars))
        ax.set_ylabel(_title("unfairness", self.unfairness_name, self.unfairness_bars))
        beside = {"loc": "upper left", "bbox_to_anchor": (1.02, 1.0), "borderaxespad": 0.0}
        ax.legend(**beside, frameon=False, fontsize="small", labelspacing=0.9)
        tidy(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @property
    def _known(self) -> Mask:
        known: Mask = np.isfinite(self.errors) & np.isfinite(self.unfairness)
        return known

    def _set_view(self, ax: Any, zoom: bool) -> None:
        known, errors = self._known, self.errors
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
        marks = [(self.chosen, "chosen", CHOSEN), (self.naive, "lowest error", NAIVE)]
        if self.chosen == self.naive:
            marks = [(self.chosen, "chosen, of lowest error", CHOSEN)]
        for i, name, style in marks:
            e, u = self.errors[i], self.unfairness[i]
            bars = {"xerr": self.error_bars[i], "yerr": self.unfairness_bars[i]}
            lines = [name, f"{self.error_name} {e:.3g}, {self.unfairness_name} {u:.3g}"]
            lines += [] if self.labels is None else [self.labels[i]]
            text = "\n".join(fill(line.replace(" = ", "\xa0=\xa0"), LEGEND_WIDTH) for line in lines)
            ax.scatter(e, u, label=text, **style)
            if any(bars.values()):
                ax.errorbar(e, u, **bars, ecolor=style.get("color", BLACK), **BARS)

    def _draw_settings(self, ax: Any) -> None:
        known, edge = self._known, ax.get_xlim()[1]
        listed = np.zeros_like(known)
        listed[self.shortlist] = True
        beyond = known & (self.errors > edge)
        others = known & ~listed & ~beyond
        text = f"shortlist: {self.shortlist.size} of {known.size} settings"
        ax.scatter(
            self.errors[known & listed], self.unfairness[known & listed], label=text, **LISTED
        )
        ax.axvline(self.limit, label=f"its limit: {self.error_name} {self.limit:.3g}", **LIMIT)
        if others.any():
            text = f"{np.count_nonzero(others)} other settings"
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


def _title(kind: str, name: str, bars: Array) -> str:
    mean = "mean ± standard error" if bars.any() else "mean"
    return f"{name if kind in name else f'{kind} ({name})'}, {mean} over folds"
