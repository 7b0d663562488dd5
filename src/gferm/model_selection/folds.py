"""Folds: the parts of a cross-validation, each with the contrasts of its own training rows.

Bins are those of all rows, so every fold compares the same groups; a cell that a training part
leaves empty takes its pairs out of that fold, and they are counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.model_selection import check_cv
from sklearn.utils import indexable
from sklearn.utils.validation import _num_samples

from gferm.exceptions import NothingToCompareError
from gferm.fairness.comparison import no_contrasts
from gferm.fairness.constraint import Constraint
from gferm.fairness.membership import Membership
from gferm.solver.crossval import Fold

Rows = npt.NDArray[np.intp]
Compare = Callable[[Rows], tuple[Constraint, sparse.csr_array]]


@dataclass(frozen=True, eq=False)
class SearchFold(Fold):
    """A fold, and what it cannot tell.

    Attributes
    ----------
    members : Membership or None
        Of the test part.
    dropped : int
        Pairs that all rows compare but this training part does not.
    problem : str
        Why nothing can be compared, or learned, in this fold; empty if something can.
    """

    members: Membership | None
    dropped: int
    problem: str


def split_rows(
    cv: Any, X: Any, y: Any, groups: Any, *, classifier: bool
) -> list[tuple[Rows, Rows]]:
    """Ask a splitter, an iterable or a number of folds for its train and test rows."""
    name, n_samples = name_of(cv), _num_samples(y)
    if groups is not None and _num_samples(groups) != n_samples:
        raise ValueError(
            f"groups has {_num_samples(groups)} rows but there are {n_samples} samples; pass one "
            "row per sample, in the same order."
        )
    try:
        X, y, groups = indexable(X, y, groups)
        splitter = check_cv(cv, y, classifier=classifier)
        splits = [
            (_rows(train, n_samples), _rows(test, n_samples))
            for train, test in splitter.split(X, y, groups)
        ]
    except (TypeError, ValueError) as error:
        ungrouped = groups is None and "groups" in str(error)
        remedy = " Pass fit(..., groups=...)." if ungrouped else ""
        if name == "cv":
            remedy = " An iterable cv gives pairs of training and test rows, as numbers or masks."
        raise ValueError(
            f"{name} cannot split these {n_samples} rows: {str(error).rstrip('.')}.{remedy}"
        ) from error
    if not splits:
        raise ValueError(f"{name} gives no fold; use a number of folds of 2 or more.")
    for k, (train, test) in enumerate(splits):
        if not train.size or not test.size:
            part = "test" if train.size else "training"
            raise ValueError(
                f"{name} leaves the {part} part of fold {k} empty; give it rows, or use fewer "
                "folds."
            )
    return splits


def name_of(cv: Any) -> str:
    """Write the argument for a message, but for a list of rows, which would fill the screen."""
    short = cv is None or isinstance(cv, Integral) or hasattr(cv, "split")
    return f"cv={cv!r}" if short else "cv"


def make_fold(
    train: Rows,
    test: Rows,
    members: Membership | None,
    constraint: Constraint | None,
    compare: Compare,
) -> SearchFold:
    """Compare the cells of the training rows."""
    nothing = no_contrasts(train.size)
    if members is None or constraint is None:
        return SearchFold(train, test, None, nothing, None, 0, "")
    judged, n_pairs = members.take(test), len(constraint.compared)
    try:
        own, columns = compare(train)
    except NothingToCompareError as error:
        return SearchFold(train, test, None, nothing, judged, n_pairs, str(error))
    return SearchFold(train, test, own, columns, judged, n_pairs - len(own.compared), "")


def _rows(given: Any, n_samples: int) -> Rows:
    """Number the rows of one part from 0, whether a splitter counts, or marks them."""
    rows = np.asarray(given)
    if rows.dtype.kind == "b" and rows.shape == (n_samples,):
        return np.flatnonzero(rows)
    if rows.size and (rows.dtype.kind not in "iu" or rows.ndim != 1):
        raise ValueError(f"a part of shape {rows.shape} and type {rows.dtype} names no rows")
    outside = rows[(rows < -n_samples) | (rows >= n_samples)]
    if outside.size:
        raise ValueError(f"row {outside[0]} is not there, the last one is {n_samples - 1}")
    return rows.astype(np.intp) % n_samples
