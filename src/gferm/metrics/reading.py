"""Reading the arguments that every metric takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import _check_sample_weight, check_array, column_or_1d

from gferm.arrays import Array
from gferm.arrays.foreign import as_numpy
from gferm.exceptions import OutsideBinsWarning, warn_user
from gferm.fairness.bins import BinsLike
from gferm.fairness.cells import Cells, SensitiveBins
from gferm.fairness.comparison import Comparison
from gferm.fairness.membership import Membership
from gferm.fairness.sensitive import NUMBERS, SensitiveColumn, read_sensitive_features


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows that count, checked, and sorted into cells.

    Attributes
    ----------
    y, predictions : arrays of shape (n_samples,)
    columns : tuple of SensitiveColumn
    weight : array of shape (n_samples,) or None
    membership : Membership
    kept : array of bool, or None
        Which of the user's rows these are; None for all of them.
    """

    y: npt.NDArray[Any]
    predictions: npt.NDArray[Any]
    columns: tuple[SensitiveColumn, ...]
    weight: Array | None
    membership: Membership
    kept: npt.NDArray[np.bool_] | None

    @property
    def cells(self) -> Cells:
        """The table of their cells."""
        return self.membership.cells


def read_rows(
    y_true: Any,
    y_pred: Any,
    sensitive_features: Any,
    sample_weight: Any,
    y_bins: BinsLike,
    s_bins: SensitiveBins,
    intersectional: bool,
) -> Rows:
    """Check everything and sort the rows into cells."""
    y, predictions = labels(y_true, "y_true"), labels(y_pred, "y_pred")
    same_length(y, predictions)
    columns = read_sensitive_features(sensitive_features, y.size, like=[y_true, y_pred])
    weight = weights(sample_weight, y)
    kept = None
    if weight is not None and not weight.all():  # a row of weight zero is no row
        kept = weight > 0
        y, predictions, weight = y[kept], predictions[kept], weight[kept]
        columns = tuple(column.keep(kept) for column in columns)
    membership = Comparison(y_bins, s_bins, intersectional).sort(y, columns, weight)
    return Rows(y, predictions, columns, weight, membership, kept)


def sort_into_cells(
    y_true: Any,
    y_pred: Any,
    sensitive_features: Any,
    sample_weight: Any,
    y_bins: BinsLike,
    s_bins: SensitiveBins,
    intersectional: bool,
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], Membership]:
    """Return y_true, y_pred and their cells, checked; warn of values that lie in no bin."""
    rows = read_rows(
        y_true, y_pred, sensitive_features, sample_weight, y_bins, s_bins, intersectional
    )
    cells, outside = rows.cells, rows.membership.n_outside
    if not cells.partitions:
        raise ValueError(
            "s_bins='continuous' has no groups, so there are no cells; use sensitive_correlation, "
            "or give s_bins a number."
        )
    if cells.scores:
        warn_user(
            f"{list(cells.scores)} are taken as continuous and belong to no "
            "cell, so this measure does not judge them; use sensitive_correlation for these.",
            OutsideBinsWarning,
        )
    if outside:
        warn_user(
            f"{outside} values of y_true or sensitive_features lie in no bin and are left "
            "out; widen the outer edges of y_bins or s_bins to count them.",
            OutsideBinsWarning,
        )
    return rows.y, rows.predictions, rows.membership


def labels(values: Any, name: str) -> npt.NDArray[Any]:
    """Read class labels or numbers."""
    values = as_numpy(values)
    if np.ma.is_masked(values):
        raise ValueError(
            f"{name} has {int(np.ma.getmaskarray(values).sum())} masked values; drop these rows, "
            "in all arguments alike."
        )
    found = np.asarray(values).dtype
    if found.kind in "cmM":
        raise ValueError(f"{name} holds values of type {found}; pass numbers, or classes as words.")
    try:
        array = column_or_1d(values)
    except ValueError:
        shape = np.asarray(values, dtype=object).shape
        raise ValueError(
            f"{name} must be one-dimensional, but has shape {shape}; pass one value for each row."
        ) from None
    if not array.size:
        raise ValueError(f"{name} has no rows; pass at least one.")
    if array.dtype.kind == "O":
        array = _numbers_or_words(array, name)
    return array if array.dtype.kind in "OUST" else numbers(array, name)


def _numbers_or_words(array: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """Undo object dtype: numbers kept as objects must not become one class a value."""
    if all(isinstance(value, NUMBERS) for value in array):
        return array.astype(float)
    if {isinstance(value, str) for value in array} == {True, False}:
        odd = next(value for value in array if not isinstance(value, str))
        raise ValueError(
            f"{name} mixes words with other values, such as {odd!r}; write all of its classes as "
            "words."
        )
    return array


def numbers(values: Any, name: str) -> Array:
    """Read finite numbers in one dimension."""
    values = as_numpy(values)
    array: Array = check_array(values, ensure_2d=False, dtype=np.float64, input_name=name)
    return column_or_1d(array)  # type: ignore[no-any-return]


def same_length(y_true: npt.NDArray[Any], y_pred: npt.NDArray[Any]) -> None:
    """Refuse arrays of different lengths."""
    if y_true.shape != y_pred.shape:
        raise ValueError(f"y_true has {y_true.size} values but y_pred has {y_pred.size}.")


def weights(sample_weight: Any, like: npt.NDArray[Any]) -> Array | None:
    """Read non-negative weights."""
    if sample_weight is None:
        return None
    try:
        weight: Array = _check_sample_weight(
            as_numpy(sample_weight), like, dtype=np.float64, ensure_non_negative=True
        )
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"sample_weight must be {like.size} numbers of at least 0, not all of them 0: {error}"
        ) from None
    return weight
