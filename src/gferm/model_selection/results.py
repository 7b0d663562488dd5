"""``cv_results_``: the table of a search, with the columns of GridSearchCV."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from gferm.arrays import Array
from gferm.model_selection.folds import SearchFold


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
