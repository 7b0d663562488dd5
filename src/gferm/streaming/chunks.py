"""Chunks of rows, and one pass over them.

    iterable of Chunk → what all chunks must agree on → sums, chunk by chunk

An iterable that knows its rows beforehand (``outline``, ``take``) has bins and landmarks settled on
all of them, as `fit` would; for any other they are settled on the first chunk. Chunks are summed on
all cores while the next one is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from gferm.arrays import Array
from gferm.arrays.threads import map_ahead
from gferm.estimators.posing import comparison_of
from gferm.estimators.regressor import FairRegressor
from gferm.estimators.streaming import Stream, errors_in_chunk, read_chunk
from gferm.fairness.cells import CellScheme
from gferm.fairness.sensitive import read_sensitive_features
from gferm.features.landmarks import draw_rows
from gferm.features.moments import ROOM
from gferm.features.space import FunctionSpace
from gferm.progress import progress
from gferm.streaming.source import FoldSums, SumTask


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


@dataclass(frozen=True, eq=False)
class ChunkSource:
    """A `Source` of chunks.

    Attributes
    ----------
    chunks : iterable of Chunk
    verbose : bool or int
        Whether to show a progress bar.
    """

    chunks: Iterable[Chunk]
    verbose: bool | int = False

    def streams(self, models: Sequence[FairRegressor], n_folds: int = 1) -> list[list[Stream]]:
        """Return for each model the sums of every fold."""
        chunks = self.chunks
        if isinstance(chunks, str) or not isinstance(chunks, Iterable):
            raise TypeError(_not_chunks(f"is a {type(chunks).__name__}"))
        reader = _ChunkReader(models, n_folds, *settle_on_all_rows(models[0], chunks))
        sums: FoldSums | None = None
        length = len(chunks) if isinstance(chunks, Sized) else None
        with progress(length, "Reading chunks", show=bool(self.verbose)) as advance:
            for found in reader.sums_of(chunks):
                if found is not None:
                    sums = found if sums is None else sums + found
                advance(1)
        if reader.task is None or sums is None:
            raise ValueError(
                "chunks holds no rows with a weight: there are no rows to learn from. A generator "
                "gives its chunks once; make a new one for another pass."
            )
        return reader.task.streams(sums, reader.n_chunks)


@dataclass(frozen=True, eq=False)
class _NumberedChunk:
    """What was given as a chunk, its number, and that of the rows before it."""

    given: tuple[Any, Any, Any, Any]
    place: str | None
    number: int
    n_before: int


class _ChunkReader:
    """Reads and sums chunks; the first one that has rows settles what is not known yet."""

    def __init__(
        self,
        models: Sequence[FairRegressor],
        n_folds: int,
        scheme: CellScheme | None,
        landmarks: Any,
    ) -> None:
        self.models, self.n_folds = models, n_folds
        self.scheme, self.landmarks = scheme, landmarks
        self.n_chunks = self.n_rows = 0
        self.task: SumTask | None = None
        self.at_once = 1  # chunks; a GPU takes one

    def sums_of(self, chunks: Iterable[Chunk]) -> Iterator[FoldSums | None]:
        """Sum one chunk after the other until all is settled, then several at a time."""
        numbered = map(self._number, chunks)  # enumerate holds a chunk while the next one is read
        for chunk in numbered:
            yield self._sum(chunk)
            del chunk  # before the next one is read
            if self.task is not None:
                break
        if self.task is not None:
            with closing(map_ahead(self._sum, numbered, room=self.at_once)) as found:
                yield from found

    def _number(self, chunk: Chunk) -> _NumberedChunk:
        if not isinstance(chunk, Chunk):
            raise TypeError(_not_chunks(f"gives a {type(chunk).__name__}"))
        n_before = self.n_rows
        self.n_chunks += 1
        self.n_rows += len(chunk.y)
        given = chunk.X, chunk.y, chunk.sensitive_features, chunk.sample_weight
        return _NumberedChunk(given, chunk.place, self.n_chunks, n_before)

    def _sum(self, chunk: _NumberedChunk) -> FoldSums | None:
        """Return the sums of a chunk; None if no row has a weight."""
        with errors_in_chunk(chunk.number, chunk.place):
            rows = read_chunk(self.models[0], *chunk.given, first=self.task is None)
            if rows is None:
                return None
            if self.task is None:
                known = self.scheme, self.landmarks
                self.task = SumTask.settled_on(rows, self.models, self.n_folds, *known)
                if rows.rows.device.is_cpu:
                    sizes = [one.origin.x.size**2 for one in self.task.agreements]
                    self.at_once = ROOM // (self.n_folds * sum(sizes))  # with large sums, few
            return self.task.sum_folds(rows, chunk.n_before)


def _not_chunks(what: str) -> str:
    return (
        f"chunks {what}; give an iterable of Chunk(X, y, sensitive_features), a ParquetSource or "
        "an ArrowSource."
    )


def settle_on_all_rows(model: FairRegressor, chunks: Any) -> tuple[CellScheme | None, Any]:
    """Return bins and landmarks of all rows, where the chunks know them beforehand."""
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
