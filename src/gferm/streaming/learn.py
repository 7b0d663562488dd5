"""fit_stream: chunks in, a fitted model out, solved once.

    source of chunks → what all chunks must agree on → sums, chunk by chunk → model

A source that knows its rows beforehand (``outline``, ``take``) has bins and landmarks settled on
all of them, as `fit` would; for any other iterable they are settled on the first chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import closing
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from gferm.arrays import Array
from gferm.cells import CellScheme
from gferm.estimators.outcome import speak_up, unchanged_on_error
from gferm.estimators.regressor import FairRegressor
from gferm.estimators.streaming import (
    Rows,
    Stream,
    can_stream,
    open_stream,
    solve_stream,
    sum_chunk,
)
from gferm.estimators.training import resolve_scheme
from gferm.landmarks import draw_rows
from gferm.progress import progress
from gferm.sensitive import read_sensitive_features
from gferm.solver.moments import ROOM
from gferm.solver.summary import Summary
from gferm.threads import map_ahead

Model = TypeVar("Model", bound=FairRegressor)


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows, as `FairRegressor.partial_fit` takes them."""

    X: Any
    y: Any
    sensitive_features: Any = None
    sample_weight: Any = None

    @property
    def rows(self) -> Rows:
        """All four, in the order of `fit`."""
        return self.X, self.y, self.sensitive_features, self.sample_weight


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
    model._validate_params()
    can_stream(model)
    total = len(chunks) if isinstance(chunks, Sized) else None
    with unchanged_on_error(model):
        scheme, landmarks = look_ahead(model, chunks)
        with progress(total, "Reading chunks", show=bool(verbose)) as advance:
            stream = _sum(model, chunks, advance, scheme=scheme, landmarks=landmarks)
        if stream is None:
            raise ValueError("chunks is empty: there are no rows to learn from.")
        model.stream_ = stream
        solution = solve_stream(model)
    speak_up(model, [solution])
    return model


def _sum(
    model: FairRegressor, chunks: Iterable[Chunk], advance: Callable[[int], None], **settled: Any
) -> Stream | None:
    """Agree on the first chunk that has rows with a weight, and add up all chunks."""
    numbered, stream = _number(chunks), None
    for number, chunk in numbered:
        stream = open_stream(model, chunk.rows, number=number, **settled)
        del chunk  # before the next one is read
        advance(1)
        if stream is not None:
            break
    if stream is None:
        return None
    agreement = stream.agreement

    def work(numbered_chunk: tuple[int, Chunk]) -> Summary | None:
        number, chunk = numbered_chunk
        return sum_chunk(model, agreement, chunk.rows, number=number)

    # large sums, and a GPU, are for one chunk at a time
    room = ROOM // agreement.origin.x.size**2 if agreement.device.is_cpu else 1
    with closing(map_ahead(work, numbered, room=room)) as summaries:
        for summary in summaries:
            stream = stream.grown(summary)
            advance(1)
    return stream


def _number(chunks: Iterable[Chunk]) -> Iterator[tuple[int, Chunk]]:
    """Count from 1; unlike `enumerate`, hold no chunk while the next one is read."""
    number = 0
    for chunk in chunks:
        number += 1
        yield number, chunk
        del chunk


def look_ahead(model: FairRegressor, chunks: Any) -> tuple[CellScheme | None, Any]:
    """Settle bins and landmarks on all rows, where the source knows them."""
    if not hasattr(chunks, "outline"):
        return None, None
    outline = chunks.outline()
    scheme = landmarks = None
    weight = outline.sample_weight
    counts = np.ones(len(outline.y), dtype=bool) if weight is None else np.asarray(weight) > 0
    if outline.sensitive_features:
        columns = read_sensitive_features(outline.sensitive_features, len(outline.y))
        columns = tuple(column.keep(counts) for column in columns)
        y = model._check_labels(_numbers(outline.y)[counts])
        share = None if weight is None else np.asarray(weight)[counts]
        scheme = resolve_scheme(model, y, columns, share, model.y_bins)
    if model.kernel != "linear" and isinstance(model.landmarks, str):
        if model.landmarks != "uniform":
            raise ValueError(
                f"landmarks={model.landmarks!r} looks at all rows at once; use 'uniform', or give "
                "the points themselves."
            )
        rows = np.flatnonzero(counts)
        assert model.n_landmarks is not None
        landmarks = chunks.take(rows[draw_rows(rows.size, model.n_landmarks, model.random_state)])
    return scheme, landmarks


def _numbers(y: Any) -> Array:
    """Refuse labels that would make bins of nothing; rows are those of the whole source."""
    try:
        numbers = np.asarray(y).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y has labels that are not numbers: {error}.") from error
    missing = np.flatnonzero(~np.isfinite(numbers))
    if missing.size:
        raise ValueError(
            f"y has {missing.size} values that are missing or infinite, the first in row "
            f"{missing[0]}; drop these rows."
        )
    return numbers
