"""What workers do with one partition, or with what others made of theirs.

Every task is a pure function of its arguments, none of which it changes: one model may serve many
tasks at once, in threads, and a task that was lost with its worker is run again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone

from gferm.distributed.outline import Survey, survey_rows
from gferm.distributed.parts import naming
from gferm.estimators.agreement import Agreement
from gferm.estimators.reading import Columns, TrainingRows, read_rows
from gferm.estimators.regressor import FairRegressor
from gferm.estimators.streaming import read_chunk
from gferm.fairness.cells import CellScheme
from gferm.features.summary import Summary
from gferm.streaming.folds import add_up, agree_on_rows, sums_of_folds

Sums = list[list[Summary]]
"""Of each fold, those of each kernel."""


@dataclass(frozen=True, eq=False)
class Opening:
    """What the first partition settles.

    Attributes
    ----------
    agreements : list of Agreement
        One for each kernel.
    reader : FairRegressor
        Not fitted, but it knows its features.
    """

    agreements: Sequence[Agreement]
    reader: FairRegressor


@dataclass(frozen=True, eq=False)
class Errand:
    """What every partition is summed with; together, so that both keep the same kernels.

    Attributes
    ----------
    models : list of FairRegressor
        One for each kernel, not fitted; the first knows its features.
    agreements : list of Agreement
    n_folds : int
        One is no cross-validation.
    """

    models: Sequence[FairRegressor]
    agreements: Sequence[Agreement]
    n_folds: int


def survey_part(number: int, model: FairRegressor, y: Any, s: Any, weight: Any) -> Survey:
    """Look at labels and attributes; a column of zeros stands for the features."""
    with naming(number):
        seen = _read(clone(model), np.zeros((len(y), 1)), y, s, weight, first=True)
        return replace(_survey(model, seen), sizes=(len(y),))


def _survey(model: FairRegressor, seen: tuple[TrainingRows, Columns | None] | None) -> Survey:
    """Tell of the rows that count."""
    if seen is None:
        return Survey((0,), (0,), None, {})
    data, columns = seen
    if columns is None:
        return Survey((data.y.size,), (data.y.size,), None, {})
    bins = {"y_bins": model.y_bins, "s_bins": model.s_bins}
    return survey_rows(data.y, columns, data.weight, **bins)


def take_rows(
    number: int, model: FairRegressor, X: Any, y: Any, weight: Any, rows: npt.NDArray[np.intp]
) -> Any:
    """Return the features of some of the rows that count."""
    with naming(number):
        return read_rows(clone(model), X, y, weight).X[rows]


def open_part(
    number: int,
    models: Sequence[FairRegressor],
    scheme: CellScheme | None,
    landmarks: Any,
    X: Any,
    y: Any,
    s: Any,
    weight: Any,
) -> Opening | None:
    """Settle what is not given, unless no row counts."""
    with naming(number):
        models = [clone(model) for model in models]  # reading sets features, and others may read
        rows = _read(models[0], X, y, s, weight, first=True)
        if rows is None:
            return None
        return Opening(agree_on_rows(models, *rows, scheme, landmarks), models[0])


def sum_part(
    number: int, errand: Errand, before: int, X: Any, y: Any, s: Any, weight: Any
) -> Sums | None:
    """Take the sums of a partition, of every fold and kernel."""
    with naming(number):
        models, agreements = errand.models, errand.agreements
        rows = _read(models[0], X, y, s, weight, first=False)
        if rows is None:
            return None
        return [*sums_of_folds(models, agreements, *rows, errand.n_folds, before)]


def _read(
    model: FairRegressor, X: Any, y: Any, s: Any, weight: Any, *, first: bool
) -> tuple[TrainingRows, Columns | None] | None:
    """Check the rows of a partition; None if none counts."""
    if X.shape[0] == len(y) == 0:
        return None
    return read_chunk(model, X, y, s, weight, first=first)


def stack(points: Sequence[Any]) -> Any:
    """Put rows of several partitions into one table."""
    several = sparse.vstack if any(map(sparse.issparse, points)) else np.concatenate
    return several(points)


def add_folds(several: Sequence[Sums | None]) -> Sums | None:
    """Add the sums of the partitions that have rows, fold by fold."""
    some = [sums for sums in several if sums is not None]
    return [add_up(of_fold) for of_fold in zip(*some, strict=True)] if some else None
