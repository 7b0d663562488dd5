"""Folds: the parts of a cross-validation, each with the contrasts of its own training rows.

Bins are those of all rows, so every fold compares the same groups; a cell that a training part
leaves empty takes its pairs out of that fold, and they are counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import check_cv

from gferm.cells import Cells
from gferm.contrasts import Contrasts
from gferm.exceptions import NothingToCompareError
from gferm.solver.crossval import Fold

Rows = npt.NDArray[np.intp]
BuildContrasts = Callable[[Rows], Contrasts]


@dataclass(frozen=True, eq=False)
class SearchFold(Fold):
    """A fold, and what it cannot tell.

    Attributes
    ----------
    cells : Cells or None
        Of the test part.
    dropped : int
        Pairs that all rows compare but this training part does not.
    problem : str
        Why nothing can be compared, or learned, in this fold; empty if something can.
    """

    cells: Cells | None
    dropped: int
    problem: str


def split_rows(
    cv: Any, X: Any, y: Any, groups: Any, *, classifier: bool
) -> list[tuple[Rows, Rows]]:
    """Ask a splitter, an iterable or a number of folds for its train and test rows."""
    n_samples = len(y)
    splitter = check_cv(cv, y, classifier=classifier)
    try:
        splits = [(_rows(train), _rows(test)) for train, test in splitter.split(X, y, groups)]
    except ValueError as error:
        raise ValueError(f"cv={cv!r} cannot split these {n_samples} rows: {error}") from error
    if not splits:
        raise ValueError(f"cv={cv!r} gives no fold; use a number of folds of 2 or more.")
    for k, (train, test) in enumerate(splits):
        if not train.size or not test.size:
            part = "test" if train.size else "training"
            raise ValueError(f"cv={cv!r} leaves the {part} part of fold {k} empty.")
        for rows in (train, test):
            if rows.min() < -n_samples or rows.max() >= n_samples:
                raise ValueError(
                    f"cv={cv!r} names row {rows.max()} in fold {k}, but there are {n_samples} rows."
                )
    return [(train % n_samples, test % n_samples) for train, test in splits]  # −1 is the last


def make_fold(
    train: Rows, test: Rows, cells: Cells | None, contrasts: Contrasts | None, build: BuildContrasts
) -> SearchFold:
    """Compare the cells of the training rows."""
    if cells is None or contrasts is None:
        return SearchFold(train, test, None, None, 0, "")
    judged, n_pairs = cells.take(test), len(contrasts.compared)
    try:
        own = build(train)
    except NothingToCompareError as error:
        return SearchFold(train, test, None, judged, n_pairs, str(error))
    return SearchFold(train, test, own, judged, n_pairs - len(own.compared), "")


def _rows(rows: Any) -> Rows:
    given = np.asarray(rows)
    return np.flatnonzero(given) if given.dtype.kind == "b" else given.astype(np.intp)
