"""From what a user passes to `fit` to what the solver takes: checked, aligned, weighted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import _check_sample_weight, validate_data

from gferm.arrays import Array
from gferm.arrays.device import CPU, Device
from gferm.fairness.bins import BinsLike
from gferm.fairness.cells import Cells, CellScheme
from gferm.fairness.constraint import Contrasts, build_contrasts
from gferm.fairness.sensitive import SensitiveColumn, read_sensitive_features
from gferm.features.nystroem import Landmarks


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
    center : array of shape (n_features,) or float
        What was taken from every row of X.
    landmarks : Landmarks or None
    device : Device
        Where to compute.
    """

    X: Any
    X_all: Any
    y: npt.NDArray[Any]
    weight: Array | None
    kept: npt.NDArray[np.bool_] | None
    center: Array | float = 0.0
    landmarks: Landmarks | None = None
    device: Device = CPU

    @property
    def support(self) -> Any:
        """The points that a kernel model is expanded on."""
        return self.X_all if self.landmarks is None else self.landmarks.points

    def centred(self) -> TrainingData:
        """Take the mean from the rows that count, whose products it would swamp."""
        X = np.asarray(self.X, dtype=np.float64)
        center = np.average(X, axis=0, weights=self.weight)
        return replace(self, X=X - center, center=center)

    def expand(self, coefficients: Array) -> Array:
        """Return rows of weight zero the coefficient zero."""
        if self.kept is None:
            return coefficients
        expanded = np.zeros((*coefficients.shape[:-1], self.kept.size))
        expanded[..., self.kept] = coefficients
        return expanded


def compare_cells(
    estimator: Any,
    y: npt.NDArray[Any],
    columns: tuple[SensitiveColumn, ...],
    weight: Array | None,
    y_bins: BinsLike,
    target: Array | None = None,
) -> tuple[Cells, Contrasts]:
    """Settle the bins on the rows and build the estimator's constraint.

    ``target`` are the numbers that predictions are compared with for match="residual".
    """
    scheme = resolve_scheme(estimator, y, columns, weight, y_bins)
    cells = scheme.assign(y, columns, weight)
    require_every_row_in_a_bin(scheme, cells, y, columns)
    contrasts = build_contrasts(
        cells,
        target,
        match=estimator.match,
        min_cell_size=estimator.min_cell_size,
        epsilon_scale=estimator.epsilon_scale,
    )
    return cells, contrasts


def resolve_scheme(
    estimator: Any,
    y: npt.NDArray[Any],
    columns: tuple[SensitiveColumn, ...],
    weight: Array | None,
    y_bins: BinsLike,
) -> CellScheme:
    """Settle the estimator's bins on these rows."""
    return CellScheme.resolve(
        y,
        columns,
        y_bins=y_bins,
        s_bins=estimator.s_bins,
        intersectional=estimator.intersectional,
        weight=weight,
    )


def validate_rows(estimator: Any, X: Any, y: Any, **checks: Any) -> tuple[Any, npt.NDArray[Any]]:
    """Validate X and y, and name the columns of X that are not numbers."""
    try:
        X_checked, y_checked = validate_data(estimator, X, y, **checks)
        if checks.get("y_numeric") and y_checked.dtype.kind in "US":  # scikit-learn lets text pass
            y_checked = y_checked.astype(np.float64)
    except (TypeError, ValueError) as error:
        columns = _columns_that_are_not_numbers(X)
        labels = np.asarray(y)
        if checks.get("y_numeric") and _are_words(labels):
            raise ValueError(
                f"y has labels that are not numbers, such as {str(labels.flat[0])!r}: a "
                "regressor learns numbers. Use FairClassifier to learn classes."
            ) from error
        if not checks.get("y_numeric") and labels.dtype.kind == "O" and labels.ndim == 1:
            require_no_missing(labels)
        if not columns:
            raise
        raise ValueError(
            f"X has columns that are not numbers: {columns}. Encode them first, for example with "
            "OneHotEncoder in a ColumnTransformer."
        ) from error
    return X_checked, y_checked


def require_no_missing(y: npt.NDArray[Any]) -> None:
    """Refuse labels that are None, NaN or pandas' NA; ``y`` holds objects."""
    missing = [
        value is None or type(value).__name__ == "NAType" or bool(value != value) for value in y
    ]
    if any(missing):
        raise ValueError(
            f"y has {sum(missing)} missing values, the first in row {missing.index(True)}; drop "
            "these rows, or give 'unknown' a class of its own."
        )


def read_training_data(
    estimator: Any, X: Any, y: Any, sample_weight: Any, **checks: Any
) -> TrainingData:
    """Validate X, y and sample_weight, and drop rows of weight zero."""
    X, y = validate_rows(estimator, X, y, **checks)
    weight = read_weight(sample_weight, X)
    if weight is None:
        return TrainingData(X, X, y, None, None)
    kept = weight > 0
    if kept.all():
        return TrainingData(X, X, y, weight, None)
    counted = X[kept][:, kept] if estimator.kernel == "precomputed" else X[kept]
    return TrainingData(counted, X, y[kept], weight[kept], kept)


def read_label(y: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Read classes or numbers, none missing; numbers kept as objects become numbers."""
    if y.dtype.kind != "O":
        return y
    require_no_missing(y)
    if all(isinstance(value, (Real, np.bool_)) for value in y):
        numbers = np.asarray(y.tolist())  # bool, int or float, as the objects are
        return numbers if numbers.dtype.kind in "biuf" else y.astype(np.float64)
    return np.asarray([str(value) for value in y])


def read_weight(sample_weight: Any, X: Any) -> Array | None:
    """Check sample_weight against the rows."""
    if sample_weight is None:
        return None
    weight: Array = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    if not weight.any():
        raise ValueError("sample_weight is zero everywhere; give at least one row a weight.")
    return weight


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


def require_every_row_in_a_bin(
    scheme: CellScheme,
    cells: Cells,
    y: npt.NDArray[Any],
    columns: tuple[SensitiveColumn, ...],
    *,
    all_bins_filled: bool = True,
) -> None:
    """Refuse rows outside of the bins, and given bins without rows if all are to be filled."""
    bins = scheme.label_bins
    # Leaving classes out of y_bins is a choice (equal opportunity); leaving the edges is a slip.
    if not bins.selective:
        _complain_about_outside(y, cells.label_codes < 0, "y", "y_bins")
    if all_bins_filled and bins.explicit and (cells.label_counts == 0).any():
        empty = [bins.labels[k] for k in np.flatnonzero(cells.label_counts == 0)]
        remedy = (
            f"The values of y are {np.unique(y).tolist()[:20]}."
            if bins.selective
            else "Merge each with a neighbour, or give y_bins as a number."
        )
        raise ValueError(f"y_bins has bins without any row: {empty}. {remedy}")
    if not cells.scores and all((part.codes >= 0).all() for part in cells.partitions):
        return  # which is to be told apart only if somebody is missing
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


def _are_words(values: npt.NDArray[Any]) -> bool:
    """Return whether these are texts, not all of which are numbers."""
    texts = values.dtype.kind in "OUST" and all(isinstance(value, str) for value in values.flat)
    return texts and not _are_numbers(values)


def _are_numbers(values: npt.NDArray[Any]) -> bool:
    if values.dtype.kind in "mM":  # a date would become its count of nanoseconds
        return False
    try:
        values.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True
