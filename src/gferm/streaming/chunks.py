"""Chunks of rows, and one pass over them: their sums, of every kernel and fold.

    source of chunks → what all chunks must agree on → sums, chunk by chunk

A source that knows its rows beforehand (``outline``, ``take``) has bins and landmarks settled on
all of them, as `fit` would; for any other iterable they are settled on the first chunk. Chunks are
summed on all cores while the next one is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from gferm.arrays import Array
from gferm.arrays.threads import map_ahead
from gferm.estimators.agreement import Agreement
from gferm.estimators.base import comparison_of
from gferm.estimators.regressor import FairRegressor
from gferm.estimators.streaming import Given, naming_chunk, read_chunk
from gferm.fairness.cells import CellScheme
from gferm.fairness.sensitive import read_sensitive_features
from gferm.features.landmarks import draw_rows
from gferm.features.moments import ROOM
from gferm.features.space import FunctionSpace
from gferm.features.summary import Summary
from gferm.progress import progress
from gferm.streaming.folds import add_up, agree_on_rows, sums_of_folds


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows, as `FairRegressor.partial_fit` takes them.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    sensitive_features : array, Series, data frame or dict of columns, default=None
    sample_weight : array of shape (n_samples,), default=None
        Each row of a chunk without any counts once.
    place : str, default=None
        Where the rows are from, for errors.
    """

    X: Any
    y: Any
    sensitive_features: Any = None
    sample_weight: Any = None
    place: str | None = None

    @property
    def rows(self) -> Given:
        """All four, in the order of `fit`."""
        return self.X, self.y, self.sensitive_features, self.sample_weight


@dataclass(frozen=True, eq=False)
class Sums:
    """What one pass over the chunks has found.

    Attributes
    ----------
    agreements : list of Agreement
        One for each kernel.
    of_folds : list of lists of Summary
        One for each fold, of one for each kernel.
    n_chunks : int
    """

    agreements: Sequence[Agreement]
    of_folds: Sequence[Sequence[Summary]]
    n_chunks: int


def read_sums(
    models: Sequence[FairRegressor],
    chunks: Iterable[Chunk],
    n_folds: int = 1,
    *,
    verbose: bool | int = False,
) -> Sums:
    """Take the sums of every fold, for one model of each kernel, in one pass.

    The first of the models reads the rows, and knows their features then.
    """
    if isinstance(chunks, str) or not isinstance(chunks, Iterable):
        raise TypeError(_not_chunks(f"is a {type(chunks).__name__}"))
    settled = look_ahead(models[0], chunks)
    agreements: list[Agreement] = []
    room = [1]  # chunks at a time; a GPU takes one
    sums: list[list[Summary]] = [[] for _ in range(n_folds)]
    counter = _Counter()
    numbered = map(counter.number, chunks)  # enumerate holds a chunk while the next one is read

    def sum_chunk(chunk: _Numbered) -> list[list[Summary]]:
        with naming_chunk(chunk.number, chunk.place):
            rows = read_chunk(models[0], *chunk.rows, first=not agreements)
            if rows is None:
                return []
            if not agreements:
                agreements[:] = agree_on_rows(models, *rows, *settled)
                room[:] = [_room(agreements, n_folds) if rows[0].device.is_cpu else 1]
            return [*sums_of_folds(models, agreements, *rows, n_folds, chunk.n_before)]

    def sum_chunks() -> Iterator[list[list[Summary]]]:
        """One after the other until there is an agreement, then several at a time."""
        for chunk in numbered:
            yield sum_chunk(chunk)
            del chunk  # before the next one is read
            if agreements:
                break
        if agreements:
            with closing(map_ahead(sum_chunk, numbered, room=room[0])) as found:
                yield from found

    length = len(chunks) if isinstance(chunks, Sized) else None
    with progress(length, "Reading chunks", show=bool(verbose)) as advance:
        for found in sum_chunks():
            for k, own in enumerate(found):
                sums[k] = add_up([sums[k], own]) if sums[k] else own
            advance(1)
    if not agreements:
        raise ValueError(
            "chunks holds no rows with a weight: there are no rows to learn from. A generator "
            "gives its chunks once; make a new one for another pass."
        )
    return Sums(agreements, sums, counter.n_chunks)


@dataclass(frozen=True, eq=False)
class _Numbered:
    """A chunk, its number and that of the rows before it."""

    rows: Given
    place: str | None
    number: int
    n_before: int


class _Counter:
    """Counts chunks and rows as they are read."""

    def __init__(self) -> None:
        self.n_chunks = self.n_rows = 0

    def number(self, chunk: Chunk) -> _Numbered:
        if not isinstance(chunk, Chunk):
            raise TypeError(_not_chunks(f"gives a {type(chunk).__name__}"))
        n_before = self.n_rows
        self.n_chunks += 1
        self.n_rows += len(chunk.y)
        return _Numbered(chunk.rows, chunk.place, self.n_chunks, n_before)


def _not_chunks(what: str) -> str:
    return (
        f"chunks {what}; give an iterable of Chunk(X, y, sensitive_features), a ParquetSource or "
        "an ArrowSource."
    )


def _room(agreements: Sequence[Agreement], n_folds: int) -> int:
    """Return how many chunks may be summed at once: with large sums, few."""
    return ROOM // sum(n_folds * agreement.origin.x.size**2 for agreement in agreements)


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
        y = model.labels.check(_numbers(outline.y)[counts])
        share = None if weight is None else np.asarray(weight)[counts]
        scheme = comparison_of(model, y).resolve(y, columns, share)
    space = FunctionSpace.of(model)
    space.require_uniform()
    if space.draws_landmarks:
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
