"""The rows of a search: read and checked once, sorted into cells, cut into folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import is_classifier

from gferm.arrays.foreign import as_numpy
from gferm.estimators.base import FairModel, compare_rows, comparison_of
from gferm.estimators.reading import TrainingRows, read_rows, read_sensitive
from gferm.exceptions import NothingToCompareError
from gferm.fairness.constraint import Constraint
from gferm.fairness.membership import Membership
from gferm.features.base import RowFeatures
from gferm.features.landmarks import Landmarks
from gferm.features.space import FunctionSpace
from gferm.model_selection.folds import SearchFold, make_fold, name_of, split_rows
from gferm.solver.crossval import Rows

SMALLEST_PART = 0.5  # of the rows, that a training part has


@dataclass(frozen=True, eq=False)
class KernelRows:
    """The rows as models of one kernel take them; parameters of the kernel may differ.

    Attributes
    ----------
    rows : TrainingRows
    landmarks : Landmarks or None
        Found once, and the same in every fold.
    """

    rows: TrainingRows
    landmarks: Landmarks | None

    def features(self, model: FairModel) -> RowFeatures:
        """Return the features of a model."""
        return self.rows.features(
            FunctionSpace.of(model), self.landmarks, smallest_part=SMALLEST_PART
        )


@dataclass(frozen=True, eq=False)
class SearchRows:
    """What every setting learns from.

    Attributes
    ----------
    of_models : list of KernelRows
        For each model of the search; models of the same kernel share one.
    members : Membership or None
        None when there are no sensitive attributes.
    sensitive : dict of arrays
        The attributes themselves.
    folds : list of SearchFold
    """

    of_models: list[KernelRows]
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
    by_kernel: dict[Any, KernelRows] = {}
    for model in models:
        if model.kernel not in by_kernel:
            own = read_rows(model, X, y, sample_weight, ensure_min_samples=1 if plain else 2)
            names = getattr(model, "feature_names_in_", None)
            landmarks = FunctionSpace.of(model).find_landmarks(own.X, names)
            by_kernel[model.kernel] = KernelRows(own, landmarks)
    model, rows = models[0], by_kernel[models[0].kernel].rows
    targets, comparison = model.labels.targets(rows.y), comparison_of(model, rows.y)
    sensitive: dict[str, npt.NDArray[Any]] = {}
    members: Membership | None = None
    constraint: Constraint | None = None
    if not plain:
        attributes = read_sensitive(sensitive_features, rows, like=(X, y))
        sensitive = {column.name: column.values for column in attributes}
        try:
            compared = compare_rows(comparison, rows.y, attributes, rows.weight, targets)
            members, constraint, _ = compared
        except NothingToCompareError:
            if model.epsilon is not None:  # else nothing is constrained
                raise
    splits = split_rows(cv, as_numpy(X), as_numpy(y), groups, classifier=is_classifier(model))

    def compare(some: Rows) -> tuple[Constraint, sparse.csr_array]:
        assert members is not None
        return comparison.constrain(members.take(some), targets[0][some])

    parts = [_that_count(k, split, rows) for k, split in enumerate(splits)]
    if is_classifier(model):
        _require_two_classes(parts, rows.y, name_of(cv))
    return SearchRows(
        of_models=[by_kernel[model.kernel] for model in models],
        members=members,
        sensitive=sensitive,
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
