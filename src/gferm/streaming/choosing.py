"""From the sums of every fold and kernel to a fitted search, wherever the sums come from.

search → Settings: its grid, one model for each kernel, how many folds   (what sums can serve)
sums → figures → table → rule → one setting → solved from the sums of all folds
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from gferm.estimators.agreement import Agreement
from gferm.estimators.base import FairModel
from gferm.estimators.messages import share_features, unchanged_on_error
from gferm.estimators.parameters import check_parameters
from gferm.estimators.streaming import Stream, solve_stream
from gferm.features.space import FunctionSpace
from gferm.features.summary import Summary, total
from gferm.model_selection import FairRegressorCV
from gferm.model_selection.failures import require_an_answer, warn_about_search
from gferm.model_selection.grid import SearchGrid, read_grid
from gferm.model_selection.results import tabulate
from gferm.model_selection.search import choose_setting, model_with, models_of
from gferm.streaming.judging import judge_by_sums

MEAN_GAP = "mean_gap"


@dataclass(frozen=True, eq=False)
class Settings:
    """What a search asks of the sums.

    Attributes
    ----------
    grid : SearchGrid
    models : list of FairModel
        One for each kernel.
    n_folds : int
    """

    grid: SearchGrid
    models: Sequence[FairModel]
    n_folds: int


def read_settings(search: FairRegressorCV) -> Settings:
    """Check a search, and refuse what sums cannot tell before any row is read."""
    if not isinstance(search, FairRegressorCV):
        raise TypeError(
            f"{type(search).__name__} cannot be searched by sums: only a FairRegressorCV can. For "
            "two classes, give it the labels 0 and 1."
        )
    check_parameters(search)
    grid = read_grid(search.alphas, search.gammas, search.epsilons, search.kernel_grid)
    models = models_of(search, grid)
    for model in models:
        if not hasattr(model, "partial_fit"):
            raise ValueError(
                f"loss={search.loss!r}, kernel={model.kernel!r}: only the square loss with "
                "kernel='linear' or with n_landmarks can be learned from sums."
            )
        FunctionSpace.of(model).require_consistent()
    if search.scoring not in (None, "neg_mean_squared_error"):
        raise ValueError(
            f"scoring={search.scoring!r}: sums over chunks give the mean squared error only; use "
            "scoring='neg_mean_squared_error', or None."
        )
    if search.unfairness not in ("auto", MEAN_GAP):
        raise ValueError(
            f"unfairness={search.unfairness!r}: sums over chunks give the mean gap between groups "
            "only; use unfairness='auto'."
        )
    n_folds = 5 if search.cv is None else search.cv
    if not isinstance(n_folds, Integral) or n_folds < 2:
        raise ValueError(f"cv={search.cv!r} must be a number of folds, of 2 or more, on a stream.")
    return Settings(grid, models, int(n_folds))


def choose_by_sums(
    search: FairRegressorCV,
    settings: Settings,
    agreements: Sequence[Agreement],
    sums: Sequence[Sequence[Summary]],
    n_chunks: int,
) -> None:
    """Judge every setting, choose one, and fit it on all rows.

    ``agreements`` holds one for each kernel, ``sums`` those of each fold, one for each kernel.
    """
    grid, models = settings.grid, settings.models
    _require_rows_in_every_fold([of_fold[0].n_rows for of_fold in sums])
    streams = [
        [Stream(agreement, summary, n_chunks) for summary in of_kernel]
        for agreement, of_kernel in zip(agreements, zip(*sums, strict=True), strict=True)
    ]
    judged = [
        judge_by_sums(model, folds, grid.shared)
        for model, folds in zip(models, streams, strict=True)
    ]
    figures = np.concatenate([figures for figures, _ in judged], axis=-1)[..., grid.order]
    folds = judged[0][1]
    require_an_answer(grid.params, figures, folds)
    with unchanged_on_error(search):
        search.cv_results_ = tabulate(grid.params, figures, folds, MEAN_GAP)
        search.n_splits_, search.unfairness_ = settings.n_folds, MEAN_GAP
        choose_setting(search)
        search.best_estimator_ = _fit_choice(search, grid, models, streams)
        share_features(search.best_estimator_, search)
        search.n_iter_ = search.best_estimator_.n_iter_
    warn_about_search(grid.params, figures, folds, 0, search.tol)


def _require_rows_in_every_fold(sizes: Sequence[int]) -> None:
    if 0 in sizes:
        raise ValueError(
            f"cv={len(sizes)} leaves fold {sizes.index(0)} empty: only {sum(sizes)} rows count. "
            "Use fewer folds."
        )


def _fit_choice(
    search: FairRegressorCV,
    grid: SearchGrid,
    models: Sequence[FairModel],
    streams: Sequence[Sequence[Stream]],
) -> Any:
    """Solve the chosen setting from the sums of all folds."""
    place = grid.order[search.best_index_] // (len(grid.shared.alphas) * len(grid.shared.epsilons))
    best: Any = model_with(search, search.best_params_)
    share_features(models[0], best)
    parts = streams[place]
    best.stream_ = replace(parts[0], summary=total([part.summary for part in parts]))
    solve_stream(best)
    return best
