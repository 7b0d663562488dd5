"""What workers do with one partition, and how its results are put together.

    y, s, weight of each partition ──> BinSketch    what bins need to know of it
    X, y, s, weight of the first   ──> SumTask      what it settles for all
    X, y, s, weight of each        ──> FoldSums     of every fold and kernel

    result₀ … result₇ | result₈ … result₁₅ | …
         join                 join           FAN_IN results are in memory at once
                 join                        what comes to the client is as large as one of them

Every task is a pure function of its arguments, none of which it changes: one model may serve many
tasks at once, in threads, and a task that was lost with its worker is run again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import numpy.typing as npt
from dask.delayed import delayed
from scipy import sparse
from sklearn.base import clone

from gferm.distributed.bin_sketch import BinSketch, sketch_rows
from gferm.distributed.dask_partitions import errors_in_partition
from gferm.estimators.posing import read_rows
from gferm.estimators.regressor import FairRegressor
from gferm.estimators.streaming import ChunkRows, read_chunk
from gferm.fairness.cells import CellScheme
from gferm.streaming.source import FoldSums, SumTask

FAN_IN = 8  # results that one task puts together


def sketch_partition(number: int, model: FairRegressor, y: Any, s: Any, weight: Any) -> BinSketch:
    """Sketch labels and attributes; a column of zeros stands for the features."""
    with errors_in_partition(number):
        chunk = _read(clone(model), np.zeros((len(y), 1)), y, s, weight, first=True)
        if chunk is None:
            return BinSketch((0,), (len(y),))
        labels, columns = chunk.rows.y, chunk.columns
        if columns is None:
            return BinSketch((labels.size,), (len(y),))
        bins = {"y_bins": model.y_bins, "s_bins": model.s_bins}
        return sketch_rows(labels, columns, chunk.rows.weight, n_rows=len(y), **bins)


def take_rows(
    number: int, model: FairRegressor, X: Any, y: Any, weight: Any, rows: npt.NDArray[np.intp]
) -> Any:
    """Return the features of some of the rows that count."""
    with errors_in_partition(number):
        return read_rows(clone(model), X, y, weight).X[rows]


def open_partition(
    number: int,
    models: Sequence[FairRegressor],
    n_folds: int,
    scheme: CellScheme | None,
    landmarks: Any,
    X: Any,
    y: Any,
    s: Any,
    weight: Any,
) -> SumTask | None:
    """Settle what is not known, unless no row counts."""
    with errors_in_partition(number):
        models = [clone(model) for model in models]  # reading sets features, and others may read
        chunk = _read(models[0], X, y, s, weight, first=True)
        known = scheme, landmarks
        return None if chunk is None else SumTask.settled_on(chunk, models, n_folds, *known)


def sum_partition(
    number: int, task: SumTask, before: int, X: Any, y: Any, s: Any, weight: Any
) -> FoldSums | None:
    """Take the sums of a partition; None if no row counts."""
    with errors_in_partition(number):
        chunk = _read(task.models[0], X, y, s, weight, first=False)
        return None if chunk is None else task.sum_folds(chunk, before)


def _read(model: Any, X: Any, y: Any, s: Any, weight: Any, *, first: bool) -> ChunkRows | None:
    """Check the rows of a partition; None if none counts."""
    if X.shape[0] == len(y) == 0:
        return None
    return read_chunk(model, X, y, s, weight, first=first)


def stack_rows(several: Sequence[Any]) -> Any:
    """Join rows of several partitions."""
    join = sparse.vstack if any(map(sparse.issparse, several)) else np.concatenate
    return join(several)


def add_sums(several: Sequence[FoldSums | None]) -> FoldSums | None:
    """Add the sums of the partitions that have rows."""
    some = [sums for sums in several if sums is not None]
    return reduce(add, some) if some else None


def join_as_tree(results: list[Any], join: Callable[[Any], Any]) -> Any:
    """Compute results, and join them a few at a time."""
    task = delayed(join, pure=False)
    while len(results) > 1:
        results = [task(results[i : i + FAN_IN]) for i in range(0, len(results), FAN_IN)]
    return results[0].compute()
