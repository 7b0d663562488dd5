"""Learning from a source of sums, wherever its rows are: a fit, or a search and the fit it chooses.

    source ──streams──> one Stream ──solve──> model
    source ──streams──> a Stream for each kernel and fold
        ──judge──> error and mean gap of every setting       (held_out_sums.py)
        ──rule───> one setting ──solve──> model, from the streams of its kernel, added up

Which fold a row is in depends on its number alone, not on the chunks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TypeVar

import numpy as np

from gferm.estimators.agreement import require_same_parameters
from gferm.estimators.base import FairModel, check_parameters
from gferm.estimators.messages import share_features, unchanged_on_error, warn_about_fit
from gferm.estimators.regressor import FairRegressor
from gferm.estimators.streaming import can_stream, solve_stream
from gferm.features.space import FunctionSpace
from gferm.features.summary import total
from gferm.model_selection import FairRegressorCV
from gferm.model_selection.failures import require_an_answer, warn_about_search
from gferm.model_selection.grid import SearchGrid, read_grid
from gferm.model_selection.results import tabulate
from gferm.model_selection.search import choose_setting, model_with, models_of
from gferm.streaming.chunks import Chunk, ChunkSource
from gferm.streaming.held_out_sums import judge_by_sums
from gferm.streaming.source import Source

MEAN_GAP = "mean_gap"
Model = TypeVar("Model", bound=FairRegressor)
Search = TypeVar("Search", bound=FairRegressorCV)


def fit_stream(model: Model, chunks: Iterable[Chunk], *, verbose: bool | int = False) -> Model:
    """Fit a model on chunks of rows, holding at most as many at a time as there are cores.

    Parameters
    ----------
    model : FairRegressor
        With loss="squared", and kernel="linear" or landmarks. It is fitted in place.
    chunks : iterable of Chunk, or ParquetSource
        Bins and landmarks that are not given as such are settled on all rows of a ParquetSource,
        as `fit` does, and on the first chunk of any other iterable.
    verbose : bool or int, default=False
        Whether to show a progress bar.

    Returns
    -------
    model
        The same object, fitted; `partial_fit` may go on from there.

    Examples
    --------
    >>> import numpy as np
    >>> from gferm import FairRegressor
    >>> from gferm.datasets import make_fair_regression
    >>> from gferm.streaming import Chunk, fit_stream
    >>> X, y, s = make_fair_regression(600, random_state=0, return_X_y=True)
    >>> parts = np.array_split(np.arange(600), 5)
    >>> model = FairRegressor(kernel="linear", y_bins=[-np.inf, 0, np.inf])
    >>> model = fit_stream(model, (Chunk(X[rows], y[rows], s[rows]) for rows in parts))
    >>> whole = FairRegressor(kernel="linear", y_bins=[-np.inf, 0, np.inf])
    >>> whole = whole.fit(X, y, sensitive_features=s)
    >>> bool(np.allclose(model.coef_, whole.coef_))
    True
    """
    if not isinstance(model, FairRegressor):
        raise TypeError(
            f"{type(model).__name__} cannot be fitted on a stream: only a FairRegressor can. For "
            "two classes, give it the labels 0 and 1."
        )
    check_parameters(model)
    can_stream(model)
    return fit_by_sums(model, ChunkSource(chunks, verbose))


def search_stream(
    search: Search, chunks: Iterable[Chunk], *, verbose: bool | int = False
) -> Search:
    """Choose alpha, gamma and epsilon on held-out rows of a stream, and fit the choice on all.

    Parameters
    ----------
    search : FairRegressorCV
        With loss="squared", kernel="linear" or landmarks, and ``cv`` a number of folds. The error
        is the mean squared error and the unfairness the mean gap between groups on held-out rows,
        what epsilon bounds in training: sums know no other measures.
    chunks : iterable of Chunk, or ParquetSource
        Read once; as in `fit_stream`.
    verbose : bool or int, default=False
        Whether to show a progress bar.

    Returns
    -------
    search
        The same object, fitted, with ``cv_results_`` and all else that `FairRegressorCV.fit` gives.

    Examples
    --------
    >>> import numpy as np
    >>> from gferm import FairRegressorCV
    >>> from gferm.datasets import make_fair_regression
    >>> from gferm.streaming import Chunk, search_stream
    >>> X, y, s = make_fair_regression(600, random_state=0, return_X_y=True)
    >>> parts = np.array_split(np.arange(600), 5)
    >>> search = FairRegressorCV(kernel="linear", epsilons=[0, None], y_bins=[-np.inf, 0, np.inf])
    >>> search = search_stream(search, (Chunk(X[rows], y[rows], s[rows]) for rows in parts))
    >>> sorted(search.best_params_)
    ['alpha', 'epsilon']
    """
    return search_by_sums(search, read_search(search), ChunkSource(chunks, verbose))


def fit_by_sums(model: Model, source: Source) -> Model:
    """Solve a model from the sums of all rows; its parameters have been checked."""
    with unchanged_on_error(model):
        ((stream,),) = source.streams([model])
        require_same_parameters(model, stream.agreement)  # a source may run a user's code
        model.stream_ = stream
        warn_about_fit(model, [solve_stream(model)])  # if that is an error, nothing was fitted
    return model


@dataclass(frozen=True, eq=False)
class SumSearch:
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


def read_search(search: FairRegressorCV) -> SumSearch:
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
    return SumSearch(grid, models, int(n_folds))


def search_by_sums(search: Search, asked: SumSearch, source: Source) -> Search:
    """Judge every setting by the sums of its folds, choose one, and fit it on all rows."""
    grid, models = asked.grid, asked.models
    streams = source.streams(models, asked.n_folds)
    _require_rows_in_every_fold([stream.n_rows for stream in streams[0]])
    judged = [
        judge_by_sums(model, folds, grid.shared)
        for model, folds in zip(models, streams, strict=True)
    ]
    figures = np.concatenate([figures for figures, _ in judged], axis=-1)[..., grid.order]
    folds = judged[0][1]
    require_an_answer(grid.params, figures, folds)
    with unchanged_on_error(search):
        search.cv_results_ = tabulate(grid.params, figures, folds, MEAN_GAP)
        search.n_splits_, search.unfairness_ = asked.n_folds, MEAN_GAP
        choose_setting(search)
        best = model_with(search, search.best_params_)
        n_settings = len(grid.shared.alphas) * len(grid.shared.epsilons)
        parts = streams[grid.order[search.best_index_] // n_settings]
        best.stream_ = replace(parts[0], summary=total([part.summary for part in parts]))
        solve_stream(best)
        for other in (best, search):
            share_features(models[0], other)
        search.best_estimator_, search.n_iter_ = best, best.n_iter_
        warn_about_search(grid.params, figures, folds, 0, search.tol)
    return search


def _require_rows_in_every_fold(sizes: Sequence[int]) -> None:
    if 0 in sizes:
        raise ValueError(
            f"cv={len(sizes)} leaves fold {sizes.index(0)} empty: only {sum(sizes)} rows count. "
            "Use fewer folds."
        )
