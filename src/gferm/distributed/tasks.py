"""What workers do with one partition, or with what others made of theirs.

Every task is a pure function of its arguments, none of which it changes: one model may serve many
tasks at once, in threads, and a task that was lost with its worker is run again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone

from gferm.cells import CellScheme
from gferm.distributed.outline import Survey, survey_rows
from gferm.distributed.parts import naming
from gferm.estimators.regressor import FairRegressor
from gferm.estimators.streaming import Agreement, Columns, agree, read_chunk, summarize_chunk
from gferm.estimators.training import TrainingData
from gferm.solver.summary import Summary, total


@dataclass(frozen=True, eq=False)
class Opening:
    """What the first partition settles."""

    agreement: Agreement
    n_features: int
    names: npt.NDArray[Any] | None


@dataclass(frozen=True, eq=False)
class Errand:
    """What every partition is summed with; together, so that both keep the same kernel.

    Attributes
    ----------
    model : FairRegressor
        Not fitted, but it knows its features.
    agreement : Agreement
    """

    model: FairRegressor
    agreement: Agreement


def survey_part(number: int, model: FairRegressor, y: Any, s: Any, weight: Any) -> Survey:
    """Look at labels and attributes; a column of zeros stands for the features."""
    with naming(number):
        rows = _read(clone(model), np.zeros((len(y), 1)), y, s, weight, first=True)
        if rows is None:
            return Survey((0,), None, {})
        data, columns = rows
        if columns is None:
            return Survey((data.y.size,), None, {})
        return survey_rows(data.y, columns, data.weight, y_bins=model.y_bins, s_bins=model.s_bins)


def take_rows(
    number: int, model: FairRegressor, X: Any, y: Any, weight: Any, rows: npt.NDArray[np.intp]
) -> Any:
    """Give the features of some of the rows that count."""
    with naming(number):
        return clone(model)._read_rows(X, y, weight).X[rows]


def open_part(
    number: int,
    model: FairRegressor,
    scheme: CellScheme | None,
    landmarks: Any,
    X: Any,
    y: Any,
    s: Any,
    weight: Any,
) -> Opening | None:
    """Settle what is not given, unless no row counts."""
    with naming(number):
        model = clone(model)  # reading sets its features, and others may read
        rows = _read(model, X, y, s, weight, first=True)
        if rows is None:
            return None
        agreement = agree(model, *rows, scheme=scheme, landmarks=landmarks)
        return Opening(agreement, model.n_features_in_, getattr(model, "feature_names_in_", None))


def sum_part(number: int, errand: Errand, X: Any, y: Any, s: Any, weight: Any) -> Summary | None:
    """Take the sums of a partition."""
    with naming(number):
        rows = _read(errand.model, X, y, s, weight, first=False)
        return None if rows is None else summarize_chunk(errand.model, *rows, errand.agreement)


def _read(
    model: FairRegressor, X: Any, y: Any, s: Any, weight: Any, *, first: bool
) -> tuple[TrainingData, Columns | None] | None:
    """Check the rows of a partition; None if none counts."""
    if X.shape[0] == len(y) == 0:
        return None
    return read_chunk(model, X, y, s, weight, first=first)


def stack(points: Sequence[Any]) -> Any:
    """Put rows of several partitions into one table."""
    several = sparse.vstack if any(map(sparse.issparse, points)) else np.concatenate
    return several(points)


def add_up(summaries: Sequence[Summary | None]) -> Summary | None:
    """Add the sums of the partitions that have rows."""
    some = [summary for summary in summaries if summary is not None]
    return total(some) if some else None
