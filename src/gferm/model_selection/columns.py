"""Error and unfairness of every setting, read from the columns of a search's ``cv_results_``.

Scikit-learn writes ``mean_test_<scorer>`` for each scorer, and negates what is better when smaller.
Here both measures are distances from perfection, at least 0 and better when smaller:

    an error or an unfairness, negated or not       |column|
    a score whose best value is 1 (r2, accuracy)    1 − column

NaN stands for a setting that failed, or whose groups could not be compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer_names

from gferm.arrays import Array

PREFIX = "mean_test_"


def read_errors(cv_results: Mapping[str, Any], column: str, greater_is_better: bool) -> Array:
    """Return the error of every setting; of a score, its distance from 1."""
    values = _read(cv_results, column, "error")
    name = column.removeprefix(PREFIX)
    if not greater_is_better:
        # the worst model has the lowest accuracy: never take a score for an error in silence
        a_score = name in get_scorer_names() and not name.startswith("neg_")
        if _both_signs(values) or (a_score and (values > 0).any()):
            raise ValueError(
                f"error={column!r} goes from {np.nanmin(values):.3g} to {np.nanmax(values):.3g}: "
                "a score, not an error; pass greater_is_better=True if its best value is 1 "
                "(r2, accuracy), else score an error, such as 'neg_mean_absolute_error'."
            )
        return np.abs(values)
    if name.startswith("neg_"):
        raise ValueError(
            f"error={column!r} is a negated error, whose best value is 0 and not 1; "
            "leave greater_is_better=True out."
        )
    if (values > 1).any():
        raise ValueError(
            f"error={column!r} goes up to {np.nanmax(values):.3g}, but greater_is_better=True is "
            "for scores whose best value is 1; leave it out if this is an error."
        )
    return 1.0 - values


def read_unfairness(cv_results: Mapping[str, Any], column: str) -> Array:
    """Return the unfairness of every setting."""
    values = _read(cv_results, column, "unfairness")
    if _both_signs(values):
        raise ValueError(
            f"unfairness={column!r} has both signs, {np.nanmin(values):.3g} to "
            f"{np.nanmax(values):.3g}, so it is no distance from fairness; score its absolute "
            "value, or a measure that is never negative, such as gferm.metrics.dgf."
        )
    return np.abs(values)


def _read(cv_results: Mapping[str, Any], column: str, argument: str) -> Array:
    if column not in cv_results:
        there = [name for name in cv_results if name.startswith(PREFIX)]
        key = column.removeprefix(PREFIX)
        raise ValueError(
            f"{argument}={column!r} is not a column of cv_results, which has {there}. Name one of "
            "those, or search with multi-metric scoring: a dict with one scorer for the error and "
            f"one for the unfairness, here under the key {key!r}."
        )
    return np.asarray(cv_results[column], dtype=float)


def _both_signs(values: Array) -> bool:
    return bool((values > 0).any() and (values < 0).any())
