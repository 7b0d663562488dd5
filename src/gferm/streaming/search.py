"""search_stream: cross-validation on rows that come in chunks, read once.

    chunk → fold of each row → sums of every fold and kernel
    sums of all other folds → every alpha and epsilon          (one decomposition, no refitting)
    sums of the fold itself → its error and its mean gap

A squared error and a gap of means are quadratic and linear in the weights, so the sums of the
held-out rows give them exactly. Which fold a row is in depends on its number alone, not on the
chunks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from dataclasses import replace
from numbers import Integral
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from gferm.arrays import Array
from gferm.contrasts import Contrasts
from gferm.estimators.base import FairModel
from gferm.estimators.outcome import unchanged_on_error
from gferm.estimators.streaming import (
    Agreement,
    Columns,
    Stream,
    agree,
    in_chunk,
    read_chunk,
    solve_stream,
    summarize_chunk,
)
from gferm.estimators.training import TrainingData
from gferm.exceptions import NothingToCompareError
from gferm.model_selection import FairRegressorCV
from gferm.model_selection.failures import require_an_answer, speak_up
from gferm.model_selection.folds import SearchFold
from gferm.model_selection.grid import SearchGrid, read_grid
from gferm.model_selection.results import tabulate
from gferm.progress import progress
from gferm.solver.crossval import Grid, solve_grid
from gferm.solver.summary import Summary, constrain, total
from gferm.streaming.learn import Chunk, look_ahead

Search = TypeVar("Search", bound=FairRegressorCV)
MEAN_GAP = "mean_gap"


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
    """
    search._validate_params()
    grid = read_grid(search.alphas, search.gammas, search.epsilons, search.kernel_grid)
    models = search._models(grid)
    n_folds = _require_sums_suffice(search, models)
    with unchanged_on_error(search):
        streams = _read(models, chunks, n_folds, verbose=bool(verbose))
        judged = [
            _judge(model, folds, grid.shared) for model, folds in zip(models, streams, strict=True)
        ]
        figures = np.concatenate([figures for figures, _ in judged], axis=-1)[..., grid.order]
        folds = judged[0][1]
        require_an_answer(grid.params, figures, folds)
        search.cv_results_ = tabulate(grid.params, figures, folds, MEAN_GAP)
        search.n_splits_, search.unfairness_ = n_folds, MEAN_GAP
        search._choose()
        search.best_estimator_ = _fit_choice(search, grid, models, streams)
        for name in ("n_features_in_", "feature_names_in_", "n_iter_"):
            if hasattr(search.best_estimator_, name):
                setattr(search, name, getattr(search.best_estimator_, name))
    speak_up(grid.params, figures, folds, 0, search.tol)
    return search


def _require_sums_suffice(search: FairRegressorCV, models: Sequence[FairModel]) -> int:
    for model in models:
        if not hasattr(model, "partial_fit"):
            raise ValueError(
                f"loss={search.loss!r}, kernel={search.kernel!r}: only the square loss with "
                "kernel='linear' or with n_landmarks can be learned from sums."
            )
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
    return int(n_folds)


def fold_of(numbers: npt.NDArray[np.intp], n_folds: int) -> npt.NDArray[np.intp]:
    """Give each row its fold by its number: as good as random, and the same in any chunks.

    The finaliser of SplitMix64: every bit of the number moves every bit of the result.
    """
    x = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((x ^ (x >> np.uint64(31))) % np.uint64(n_folds)).astype(np.intp)


def _read(
    models: Sequence[FairModel], chunks: Iterable[Chunk], n_folds: int, *, verbose: bool
) -> list[list[Stream]]:
    """Take the sums of every model and fold, in one pass."""
    agreements: list[Agreement] = []
    sums: list[list[list[Summary]]] = [[[] for _ in range(n_folds)] for _ in models]
    settled = look_ahead(models[0], chunks)
    n_rows, n_chunks = 0, 0
    length = len(chunks) if isinstance(chunks, Sized) else None
    with progress(length, "Reading chunks", show=verbose) as advance:
        for chunk in chunks:
            n_chunks += 1
            given = chunk.X, chunk.y, chunk.sensitive_features, chunk.sample_weight
            try:
                found = read_chunk(models[0], *given, first=not agreements)
                if found is not None:
                    agreements = agreements or _agree(models, *found, settled)
                    _add(models, agreements, sums, *found, n_rows)
            except (TypeError, ValueError) as error:
                raise in_chunk(n_chunks, error) from error
            n_rows += np.size(chunk.y)
            advance(1)
    if not agreements:
        raise ValueError("chunks is empty: there are no rows to learn from.")
    return [
        [Stream(agreement, fold[0], n_chunks) for fold in own]
        for agreement, own in zip(agreements, sums, strict=True)
    ]


def _add(
    models: Sequence[FairModel],
    agreements: Sequence[Agreement],
    sums: Sequence[list[list[Summary]]],
    data: TrainingData,
    columns: Columns | None,
    n_before: int,
) -> None:
    """Add a chunk to the sums of its rows' folds; ``n_before`` rows came before it."""
    kept = np.arange(data.y.size) if data.kept is None else np.flatnonzero(data.kept)
    for model, agreement, own in zip(models, agreements, sums, strict=True):
        folds = fold_of(n_before + kept, len(own))
        for k, so_far in enumerate(own):
            part = _take(data, columns, np.flatnonzero(folds == k))
            own[k] = [total([*so_far, summarize_chunk(model, *part, agreement)])]


def _agree(
    models: Sequence[FairModel], data: TrainingData, columns: Columns | None, settled: Any
) -> list[Agreement]:
    """Settle everything once; kernels share bins and, unless leverage is their choice, points."""
    scheme, landmarks = settled
    agreements = []
    for model in models:
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(models[0], name):
                setattr(model, name, getattr(models[0], name))
        agreements.append(agree(model, data, columns, scheme=scheme, landmarks=landmarks))
        scheme = agreements[0].scheme
    return agreements


def _take(
    data: TrainingData, columns: Columns | None, rows: npt.NDArray[np.intp]
) -> tuple[TrainingData, Columns | None]:
    weight = None if data.weight is None else data.weight[rows]
    mask = np.zeros(data.y.size, dtype=bool)
    mask[rows] = True
    part = replace(data, X=data.X[rows], X_all=None, y=data.y[rows], weight=weight, kept=None)
    return part, None if columns is None else tuple(column.keep(mask) for column in columns)


def _judge(
    model: FairModel, streams: Sequence[Stream], grid: Grid
) -> tuple[Array, list[SearchFold]]:
    """Give the figures, shape (n_folds, 3, n_settings), and what each fold could compare."""
    agreement = streams[0].agreement
    summaries = [stream.summary for stream in streams]
    if agreement.landmarks is not None:
        summaries = [summary.finished(agreement.landmarks.finish) for summary in summaries]
    everybody = _constraint(model, total(summaries), agreement)[0]
    figures, folds = [], []
    for k, held_out in enumerate(summaries):
        rest = total(summaries[:k] + summaries[k + 1 :])
        fold, probe = _fold(model, rest, agreement, everybody)
        system = rest.system(probe, fit_intercept=model.fit_intercept)
        weights, intercepts = solve_grid(system, [system.target], fold, grid)
        weights, intercepts = weights.reshape(-1, weights.shape[-1]), intercepts.ravel()
        contrasts, at = _constraint(model, held_out, agreement)
        gaps = np.full(len(weights), np.nan)
        if contrasts is not None:
            gaps = np.array([contrasts.violation_of(one) for one in weights @ at])
        errors = mean_squared_errors(held_out, weights, intercepts)
        usable = np.isfinite(errors)
        figures.append(np.array([errors, np.where(usable, gaps, np.nan), usable]))
        folds.append(fold)
    return np.array(figures), folds


def _constraint(
    model: FairModel, summary: Summary, agreement: Agreement
) -> tuple[Contrasts | None, Array]:
    """Give the contrasts of these rows in units of the mean gap, and how they are read."""
    nothing = np.zeros((summary.moments.shift.size, 0))
    if agreement.scheme is None:
        return None, nothing
    try:
        _, contrasts, probe = constrain(
            summary,
            agreement.scheme,
            match=model.match,
            min_cell_size=model.min_cell_size,
            epsilon_scale="mean",
        )
    except NothingToCompareError:
        return None, nothing
    return contrasts, probe


def _fold(
    model: FairModel, rest: Summary, agreement: Agreement, everybody: Contrasts | None
) -> tuple[SearchFold, Array]:
    contrasts, probe = _constraint(model, rest, agreement)
    nobody = np.zeros(0, dtype=np.intp)
    all_pairs = 0 if everybody is None else len(everybody.compared)
    own_pairs = 0 if contrasts is None else len(contrasts.compared)
    if contrasts is not None and model.epsilon_scale == "sum":
        contrasts = replace(contrasts, scale=0.5)
    problem = "" if contrasts is not None else "its training rows leave nobody to compare"
    return SearchFold(nobody, nobody, contrasts, None, all_pairs - own_pairs, problem), probe


def mean_squared_errors(summary: Summary, weights: Array, intercepts: Array) -> Array:
    """Give Σ w (f − y)² / Σ w of f = xᵀw + b for each row of weights, from the sums alone."""
    sums, origin = summary.moments, summary.moments.origin
    level = weights @ origin.x + intercepts - origin.y[0]  # f − y at the origin
    total_error = (
        np.einsum("ij,ij->i", weights @ sums.scatter, weights)
        + 2.0 * level * (weights @ sums.shift)
        + level**2 * sums.mass
        - 2.0 * weights @ sums.cross[:, 0]
        - 2.0 * level * sums.rise[0]
        + sums.square[0]
    )
    found: Array = np.maximum(total_error, 0.0) / sums.mass
    return found


def _fit_choice(
    search: FairRegressorCV,
    grid: SearchGrid,
    models: Sequence[FairModel],
    streams: Sequence[Sequence[Stream]],
) -> Any:
    """Solve the chosen setting from the sums of all folds."""
    place = grid.order[search.best_index_] // (len(grid.shared.alphas) * len(grid.shared.epsilons))
    best: Any = search._template(search.best_params_)
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(models[0], name):
            setattr(best, name, getattr(models[0], name))
    parts = streams[place]
    best.stream_ = replace(parts[0], summary=total([part.summary for part in parts]))
    solve_stream(best)
    return best
