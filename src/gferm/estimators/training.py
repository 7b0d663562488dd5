"""From what a user passes to `fit` to what the solver takes: checked, aligned, weighted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import _check_sample_weight, validate_data

from gferm.arrays import Array
from gferm.cells import Cells, CellScheme
from gferm.contrasts import Contrasts, build_contrasts
from gferm.sensitive import SensitiveColumn, read_sensitive_features


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Rows with positive weight, ready for the solver.

    Attributes
    ----------
    X, y : the rows that count
    X_all : all rows
    weight : array or None
    kept : array of bool of shape (n_samples,), or None
        Which of the user's rows these are; None for all of them.
    """

    X: Any
    X_all: Any
    y: Array
    weight: Array | None
    kept: npt.NDArray[np.bool_] | None

    @property
    def sum_of_squares(self) -> float:
        """Σ w y², what the model that predicts zero would cost."""
        square = self.y**2 if self.weight is None else self.weight * self.y**2
        return float(square.sum())

    def expand(self, coefficients: Array) -> Array:
        """Give rows of weight zero the coefficient zero."""
        if self.kept is None:
            return coefficients
        expanded = np.zeros((*coefficients.shape[:-1], self.kept.size))
        expanded[..., self.kept] = coefficients
        return expanded


def compare_cells(
    estimator: Any, y: Array, columns: tuple[SensitiveColumn, ...], weight: Array | None
) -> tuple[Cells, Contrasts]:
    """Settle the estimator's bins on these rows and build its constraint."""
    scheme = CellScheme.resolve(
        y,
        columns,
        y_bins=estimator.y_bins,
        s_bins=estimator.s_bins,
        intersectional=estimator.intersectional,
        weight=weight,
    )
    cells = scheme.assign(y, columns, weight)
    _require_every_row_in_a_bin(scheme, cells, y, columns)
    contrasts = build_contrasts(
        cells,
        y,
        match=estimator.match,
        min_cell_size=estimator.min_cell_size,
        epsilon_scale=estimator.epsilon_scale,
    )
    return cells, contrasts


def read_training_data(
    estimator: Any, X: Any, y: Any, sample_weight: Any, **checks: Any
) -> TrainingData:
    """Validate X, y and sample_weight, and drop rows of weight zero."""
    original = X
    try:
        X, y = validate_data(estimator, X, y, y_numeric=True, **checks)
    except (TypeError, ValueError) as error:
        columns = _columns_that_are_not_numbers(original)
        if not columns:
            raise
        raise ValueError(
            f"X has columns that are not numbers: {columns}. Encode them first, for example with "
            "OneHotEncoder in a ColumnTransformer."
        ) from error
    y = np.asarray(y, dtype=np.float64)
    if sample_weight is None:
        return TrainingData(X, X, y, None, None)
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    kept = weight > 0
    if not kept.any():
        raise ValueError("sample_weight is zero everywhere; give at least one row a weight.")
    if kept.all():
        return TrainingData(X, X, y, weight, None)
    counted = X[kept][:, kept] if estimator.kernel == "precomputed" else X[kept]
    return TrainingData(counted, X, y[kept], weight[kept], kept)


def read_sensitive(
    sensitive_features: Any, data: TrainingData, like: Sequence[Any]
) -> tuple[SensitiveColumn, ...]:
    """Read the sensitive attributes of the rows that count."""
    if sensitive_features is None:
        raise ValueError(
            "sensitive_features is missing: pass fit(X, y, sensitive_features=...), one row per "
            "sample, or set epsilon=None to train without a fairness constraint on purpose."
        )
    n_samples = data.y.size if data.kept is None else data.kept.size
    columns = read_sensitive_features(sensitive_features, n_samples, like=like)
    if data.kept is None:
        return columns
    return tuple(column.keep(data.kept) for column in columns)


def _require_every_row_in_a_bin(
    scheme: CellScheme, cells: Cells, y: Array, columns: tuple[SensitiveColumn, ...]
) -> None:
    bins = scheme.label_bins
    # Leaving classes out of y_bins is a choice (equal opportunity); leaving the edges is a slip.
    if not bins.selective:
        _complain_about_outside(y, cells.label_codes < 0, "y", "y_bins")
    if bins.explicit and (cells.label_counts == 0).any():
        empty = [bins.labels[k] for k in np.flatnonzero(cells.label_counts == 0)]
        raise ValueError(
            f"y_bins has bins without any row: {empty}. Merge each with a neighbour, or give "
            "y_bins as a number."
        )
    for column, sensitive_bins in zip(columns, scheme.sensitive_bins, strict=True):
        outside = sensitive_bins.assign(column.values) < 0
        name = f"sensitive_features ({column.name})"
        _complain_about_outside(column.values, outside, name, "s_bins")


def _complain_about_outside(
    values: npt.NDArray[Any], outside: npt.NDArray[np.bool_], name: str, argument: str
) -> None:
    if outside.any():
        raise ValueError(
            f"{name} has {int(outside.sum())} of {outside.size} values in none of the {argument}, "
            f"for example {values[outside][0]!s} in row {int(np.argmax(outside))}; widen the outer "
            "edges (they may be infinite) or name the missing categories."
        )


def _columns_that_are_not_numbers(X: Any) -> list[str]:
    if not hasattr(X, "columns"):
        return []
    return [str(name) for name in X.columns if not _are_numbers(np.asarray(X[name]))]


def _are_numbers(values: npt.NDArray[Any]) -> bool:
    if values.dtype.kind in "mM":  # a date would become its count of nanoseconds
        return False
    try:
        values.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True
