"""What a search keeps of rows it does not hold: sums of every fold, for every kernel.

    number of a row → its fold                      whatever the chunks or partitions
    rows of a fold  → a Summary for each kernel     (they add)

Kernels share bins, and landmarks unless each finds its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gferm.estimators.agreement import Agreement
from gferm.estimators.base import FairModel
from gferm.estimators.messages import share_features
from gferm.estimators.reading import Columns, TrainingRows
from gferm.estimators.streaming import agree, summarize_chunk
from gferm.fairness.cells import CellScheme
from gferm.features.summary import Summary, total


def fold_of(numbers: npt.NDArray[np.intp], n_folds: int) -> npt.NDArray[np.intp]:
    """Return each row its fold by its number: as good as random, and the same in any chunks.

    The finaliser of SplitMix64: every bit of the number moves every bit of the result.
    """
    x = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((x ^ (x >> np.uint64(31))) % np.uint64(n_folds)).astype(np.intp)


def agree_on_rows(
    models: Sequence[FairModel],
    data: TrainingRows,
    columns: Columns | None,
    scheme: CellScheme | None,
    landmarks: Any,
) -> list[Agreement]:
    """Settle for every kernel what is not given, on rows that the first of the models has read."""
    agreements: list[Agreement] = []
    for model in models:
        share_features(models[0], model)
        agreements.append(agree(model, data, columns, scheme=scheme, landmarks=landmarks))
        scheme = agreements[0].scheme
    return agreements


def sums_of_folds(
    models: Sequence[FairModel],
    agreements: Sequence[Agreement],
    data: TrainingRows,
    columns: Columns | None,
    n_folds: int,
    n_before: int,
) -> Iterator[list[Summary]]:
    """Return fold by fold the sums of its rows, one for each kernel.

    ``n_before`` rows came before these; rows of weight zero have a number, too.
    """
    folds = np.zeros(0, dtype=np.intp)
    if n_folds > 1:
        kept = np.arange(data.y.size) if data.kept is None else np.flatnonzero(data.kept)
        folds = fold_of(n_before + kept, n_folds)
    for k in range(n_folds):
        rows = (data, columns) if n_folds == 1 else _take(data, columns, folds == k)
        try:
            of_fold = [
                summarize_chunk(model, *rows, agreement)
                for model, agreement in zip(models, agreements, strict=True)
            ]
        except ValueError:
            summarize_chunk(models[0], data, columns, agreements[0])  # numbers rows among all
            raise
        yield of_fold


def add_up(sums: Sequence[Sequence[Summary]]) -> list[Summary]:
    """Add sums of several parts of the rows, kernel by kernel."""
    return [total(of_kernel) for of_kernel in zip(*sums, strict=True)]


def _take(
    data: TrainingRows, columns: Columns | None, rows: npt.NDArray[np.bool_]
) -> tuple[TrainingRows, Columns | None]:
    weight = None if data.weight is None else data.weight[rows]
    part = replace(data, X=data.X[rows], X_all=None, y=data.y[rows], weight=weight, kept=None)
    return part, None if columns is None else tuple(column.keep(rows) for column in columns)
