"""The rows of a search: read and checked once, sorted into cells, cut into folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier

from gferm.arrays.foreign import as_numpy
from gferm.estimators.base import FairModel
from gferm.estimators.training import TrainingData, read_sensitive
from gferm.fairness.cells import Cells
from gferm.fairness.constraint import Contrasts, build_contrasts
from gferm.model_selection.folds import SearchFold, make_fold, name_of, split_rows
from gferm.solver.crossval import Rows


@dataclass(frozen=True, eq=False)
class SearchRows:
    """What every setting learns from.

    Attributes
    ----------
    data : list of TrainingData
        For each model of the search; models of the same kernel share one.
    cells : Cells or None
        None when there are no sensitive attributes.
    sensitive : dict of arrays
        The attributes themselves.
    folds : list of SearchFold
    """

    data: list[TrainingData]
    cells: Cells | None
    sensitive: dict[str, npt.NDArray[Any]]
    folds: list[SearchFold]


def read_rows(
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
    by_kernel: dict[Any, TrainingData] = {}
    for model in models:
        if model.kernel not in by_kernel:
            read = model._read(X, y, sensitive_features, sample_weight)
            by_kernel[model.kernel], cells, contrasts = read
    model, data = models[0], by_kernel[models[0].kernel]
    sensitive = {}
    if sensitive_features is not None:
        columns = read_sensitive(sensitive_features, data, like=(X, y))
        sensitive = {column.name: column.values for column in columns}
    splits = split_rows(cv, as_numpy(X), as_numpy(y), groups, classifier=is_classifier(model))

    def build(rows: Rows) -> Contrasts:
        assert cells is not None
        return build_contrasts(
            cells.take(rows),
            model._targets(data.y)[0][rows],
            match=model.match,
            min_cell_size=model.min_cell_size,
            epsilon_scale=model.epsilon_scale,
        )

    parts = [_that_count(k, split, data) for k, split in enumerate(splits)]
    if is_classifier(model):
        _require_two_classes(parts, data.y, name_of(cv))
    return SearchRows(
        data=[by_kernel[model.kernel] for model in models],
        cells=cells,
        sensitive=sensitive,
        folds=[make_fold(*part, cells, contrasts, build) for part in parts],
    )


def _that_count(k: int, split: tuple[Rows, Rows], data: TrainingData) -> tuple[Rows, Rows]:
    """Number the rows of a split among those of positive weight."""
    if data.kept is None:
        return split
    place = np.where(data.kept, np.cumsum(data.kept) - 1, -1)
    train, test = (place[rows][place[rows] >= 0] for rows in split)
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
