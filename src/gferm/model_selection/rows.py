"""The rows of a search: read and checked once, sorted into cells, cut into folds.

Bins are those of all rows, so every fold compares the same groups, each by the contrasts of its own
training rows. A cell that a training part leaves empty takes its pairs out of that fold, and they
are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import indexable
from sklearn.utils.validation import _num_samples

from gferm.arrays.foreign import as_numpy
from gferm.estimators.base import FairModel
from gferm.estimators.posing import (
    TrainingRows,
    compare_for,
    read_rows,
    read_sensitive,
)
from gferm.exceptions import NothingToCompareError
from gferm.fairness.comparison import Comparison, no_contrasts
from gferm.fairness.constraint import Constraint
from gferm.fairness.membership import Membership
from gferm.features.base import RowFeatures, Rows
from gferm.features.landmarks import Landmarks
from gferm.features.space import FunctionSpace
from gferm.solver.crossval import Fold

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


SMALLEST_PART = 0.5  # of the rows, that a training part has


@dataclass(frozen=True, eq=False)
class RowsOfKernel:
    """The rows as models of one kernel take them; parameters of the kernel may differ.

    Attributes
    ----------
    rows : TrainingRows
    points : array or None
        Landmarks, found once and the same in every fold.
    """

    rows: TrainingRows
    points: Any

    def features(self, model: FairModel) -> RowFeatures:
        """Return the features of a model."""
        space = FunctionSpace.of(model)
        landmarks = None if self.points is None else Landmarks.at(self.points, space.kernel)
        return self.rows.features(space, landmarks, smallest_part=SMALLEST_PART)


@dataclass(frozen=True, eq=False)
class SearchRows:
    """What every setting learns from.

    Attributes
    ----------
    of_models : list of RowsOfKernel
        For each model of the search; models of the same kernel share one.
    members : Membership or None
        None when there are no sensitive attributes.
    sensitive : dict of arrays
        The attributes themselves.
    folds : list of SearchFold
    """

    of_models: list[RowsOfKernel]
    members: Membership | None
    sensitive: dict[str, npt.NDArray[Any]]
    folds: list[SearchFold]


def read_search_rows(
    models: Sequence[FairModel],
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any,
    groups: Any,
    cv: Any,
) -> SearchRows:
    """Check what a user passed to `fit`, as each model's own `fit` would."""
    plain = models[0].epsilon is None and sensitive_features is None
    by_kernel: dict[Any, RowsOfKernel] = {}
    for model in models:
        if model.kernel not in by_kernel:
            own = read_rows(model, X, y, sample_weight, ensure_min_samples=1 if plain else 2)
            names = getattr(model, "feature_names_in_", None)
            points = FunctionSpace.of(model).find_points(own.X, names)
            by_kernel[model.kernel] = RowsOfKernel(own, points)
    model, rows = models[0], by_kernel[models[0].kernel].rows
    targets = model.labels.targets(rows.y)
    attributes = None if plain else read_sensitive(sensitive_features, rows, like=(X, y))
    members, constraint, _ = compare_for(model, rows, attributes, targets)
    splits = split_rows(cv, as_numpy(X), as_numpy(y), groups, classifier=is_classifier(model))

    def compare(some: Rows) -> tuple[Constraint, sparse.csr_array]:
        assert members is not None
        comparison = Comparison.of(model, y_bins=members.scheme.label_bins)
        return comparison.constrain(members.take(some), targets[0][some])

    parts = [_that_count(k, split, rows) for k, split in enumerate(splits)]
    if is_classifier(model):
        _require_two_classes(parts, rows.y, name_of(cv))
    return SearchRows(
        of_models=[by_kernel[model.kernel] for model in models],
        members=members,
        sensitive={column.name: column.values for column in attributes or ()},
        folds=[make_fold(*part, members, constraint, compare) for part in parts],
    )


def _that_count(k: int, split: tuple[Rows, Rows], rows: TrainingRows) -> tuple[Rows, Rows]:
    """Number the rows of a split among those of positive weight."""
    if rows.kept is None:
        return split
    place = np.where(rows.kept, np.cumsum(rows.kept) - 1, -1)
    train, test = (place[part][place[part] >= 0] for part in split)
    if not train.size or not test.size:
        part = "test" if train.size else "training"
        raise ValueError(
            f"sample_weight is zero for the whole {part} part of fold {k}; use fewer folds, or "
            "shuffle them."
        )
    return train, test


def _require_two_classes(parts: Sequence[tuple[Rows, Rows]], y: npt.NDArray[Any], cv: str) -> None:
    for k, (train, _) in enumerate(parts):
        classes = np.unique(y[train]).tolist()
        if len(classes) < 2:
            raise ValueError(
                f"{cv} leaves one class, {classes}, in the training part of fold {k}: there is "
                "nothing to tell apart. Use stratified or shuffled folds."
            )
