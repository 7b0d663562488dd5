"""What went wrong in a search, said in words: models that do not exist, or are not good enough.

Figures have the shape (n_folds, 3, n_settings): error, unfairness, and 1 where there is a model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning

from gferm.arrays import Array
from gferm.exceptions import warn_user
from gferm.model_selection.rows import SearchFold


def require_an_answer(
    params: Sequence[dict[str, Any]], figures: Array, folds: Sequence[SearchFold]
) -> None:
    """Refuse to choose where every setting failed in some fold."""
    if not np.isfinite(figures[:, 0]).all(axis=0).any():
        raise ValueError(
            "Every setting failed in at least one fold, so none can be chosen. "
            f"{_first_failure(params, figures, folds)}"
        )


def warn_about_search(
    params: Sequence[dict[str, Any]],
    figures: Array,
    folds: Sequence[SearchFold],
    unconverged: int,
    tol: float,
) -> None:
    """Warn of what the user should know of a search that succeeded."""
    failed = ~np.isfinite(figures[:, 0])
    if failed.any():
        warn_user(
            f"{int(failed.any(axis=0).sum())} of {failed.shape[1]} settings failed in a fold and "
            f"cannot be chosen; their mean error is NaN. {_first_failure(params, figures, folds)}",
            FitFailedWarning,
        )
    if unconverged:
        warn_user(
            f"{unconverged} of {int(figures[:, 2].sum())} models did not reach tol={tol:g} in "
            "max_iter iterations, so their figures are approximate. Use a larger max_iter, tol or "
            "smallest alpha, or scale X.",
            ConvergenceWarning,
        )


def _first_failure(
    params: Sequence[dict[str, Any]], figures: Array, folds: Sequence[SearchFold]
) -> str:
    """Return where it happened first, why, and what to do."""
    k, i = np.argwhere(~np.isfinite(figures[:, 0]))[0]
    epsilon, where = params[i]["epsilon"], f"In fold {k}, {params[i]}:"
    if figures[k, 2, i]:
        return f"{where} scoring gave NaN. Use another scoring, or fewer folds."
    if epsilon is None:
        return f"{where} its predictions are not finite. Use a larger alpha, or scale X."
    if folds[k].problem:
        return (
            f"{where} {folds[k].problem} Use folds that keep all groups in every training part "
            "(shuffled or stratified), or fewer bins."
        )
    return (
        f"{where} no model meets epsilon={epsilon:g}. Use larger epsilons, fewer y_bins or s_bins, "
        "or a richer kernel."
    )
