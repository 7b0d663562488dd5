"""``cv_results_``: the table of a search, written as GridSearchCV has it, and read by rules.

Scikit-learn writes ``mean_test_<scorer>`` for each scorer, and negates what is better when smaller.
As they are read here, both measures are distances from perfection, at least 0 and better when
smaller:

    an error or an unfairness, negated or not       |column|
    a score whose best value is 1 (r2, accuracy)    1 − column

NaN stands for a setting that failed, or whose groups could not be compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata
from sklearn.metrics import get_scorer_names

from gferm.arrays import Array
from gferm.model_selection.rows import SearchFold


def tabulate(
    params: list[dict[str, Any]],
    figures: Array,
    folds: Sequence[SearchFold],
    unfairness: str,
) -> dict[str, Any]:
    """Build the table from figures of shape (n_folds, 3, n_settings): error, then unfairness.

    An error is averaged over all folds: one that could not be fitted makes it NaN. An unfairness
    is averaged over the folds that have somebody to compare; ``n_test_…`` says how many.
    """
    results: dict[str, Any] = {}
    for name in {name: None for setting in params for name in setting}:
        results[f"param_{name}"] = _masked([setting.get(name, _absent) for setting in params])
    results["params"] = params
    for column, values in (("error", figures[:, 0]), (unfairness, figures[:, 1])):
        for k, fold_values in enumerate(values):
            results[f"split{k}_test_{column}"] = fold_values
        known = np.isfinite(values)
        counts = known.sum(axis=0)
        enough = counts == len(folds) if column == "error" else counts > 0
        total = np.where(known, values, 0.0)
        mean = np.full(len(params), np.nan)
        np.divide(total.sum(axis=0), counts, out=mean, where=enough)
        squares = np.where(known, (values - mean) ** 2, 0.0).sum(axis=0)
        results[f"mean_test_{column}"] = mean
        results[f"std_test_{column}"] = np.sqrt(squares / np.maximum(counts, 1))
        results[f"std_test_{column}"][~enough] = np.nan
        results[f"rank_test_{column}"] = _ranks(mean)
    results[f"n_test_{unfairness}"] = np.isfinite(figures[:, 1]).sum(axis=0)
    for k, fold in enumerate(folds):
        results[f"split{k}_dropped_pairs"] = np.full(len(params), fold.dropped)
    return results


_absent = object()


def _masked(values: list[Any]) -> np.ma.MaskedArray[Any, Any]:
    """Put the values of one parameter into a masked array, as GridSearchCV does."""
    there = [value for value in values if value is not _absent]
    numbers = all(isinstance(value, (int, float)) for value in there)
    dtype = np.array(there).dtype if numbers else np.dtype(object)
    column = np.ma.MaskedArray(np.zeros(len(values), dtype=dtype), mask=True)
    for i, value in enumerate(values):
        if value is not _absent:
            column[i] = value
    return column


def _ranks(mean: Array) -> npt.NDArray[np.int32]:
    """Rank from the smallest; settings that failed share the last place."""
    filled = np.where(np.isfinite(mean), mean, np.inf)
    return np.asarray(rankdata(filled, method="min"), dtype=np.int32)


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
