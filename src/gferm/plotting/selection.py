"""SelectionDisplay: error against unfairness of many models, and the one that a rule chooses.

A point is a setting of a search, or a model, (e_i, u_i) as in model_selection/rules.py; left and
low is good. selection_picture.py draws it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gferm.model_selection import fairest_within, lowest_error
from gferm.plotting.judged import judge
from gferm.plotting.search_results import describe, measure, standard_errors, unfairness_beside
from gferm.plotting.selection_picture import (
    draw_marks,
    draw_settings,
    label_points,
    set_view,
    title,
)
from gferm.plotting.style import as_text, axes, tidy

MOST_NAMES = 12  # of models, beside their points

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
            By the names of the models.
        sensitive_features : array, Series, data frame or dict of columns
        rule : fairest_within
            Of which only the tolerance counts here.
        error, unfairness
            As in `FrontierDisplay.from_predictions`.
        ax : matplotlib Axes, default=None
        **bins
            ``y_bins``, ``s_bins`` and ``intersectional``, as in `gferm.metrics.dgf`.
        """
        judged = judge(
            y_true,
            predictions,
            sensitive_features=sensitive_features,
            error=error,
            unfairness=unfairness,
            **bins,
        )
        rule = fairest_within(rule.tolerance)
        columns = {rule.error: judged.errors, rule.unfairness: judged.unfairness}
        display = cls(
            judged.errors,
            judged.unfairness,
            shortlist=rule.shortlist(columns),
            chosen=rule(columns),
            limit=rule.limit(judged.errors),
            labels=[as_text(name) for name in judged.names],
            error_name=judged.error_name,
            unfairness_name=judged.unfairness_name,
            judged_on=f"{judged.n_rows} rows",
            points_name="models",
        )
        return display.plot(ax, write_names=len(judged.names) <= MOST_NAMES)

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
        set_view(ax, self, zoom)
        draw_marks(ax, self)
        draw_settings(ax, self)
        ax.set_xlabel(title("error", self.error_name, self.error_bars, self.judged_on))
        name, bars = self.unfairness_name, self.unfairness_bars
        ax.set_ylabel(title("unfairness", name, bars, self.judged_on))
        beside = {"loc": "upper left", "bbox_to_anchor": (1.02, 1.0), "borderaxespad": 0.0}
        ax.legend(**beside, frameon=False, fontsize="small", labelspacing=0.9)
        tidy(ax)
        if write_names and self.labels is not None:
            label_points(ax, self)  # where the legend leaves the axes
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @property
    def known(self) -> Mask:
        """Which settings have both an error and an unfairness."""
        known: Mask = np.isfinite(self.errors) & np.isfinite(self.unfairness)
        return known
