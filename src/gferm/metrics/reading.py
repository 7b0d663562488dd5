"""Reading the arguments that every metric takes, and telling classes from numbers."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import _check_sample_weight, check_array, column_or_1d

from gferm.arrays import Array
from gferm.arrays.foreign import as_numpy
from gferm.exceptions import OutsideBinsWarning, warn_user
from gferm.fairness.bins import Bins, CategoryBins
from gferm.fairness.cells import Cells
from gferm.fairness.comparison import Comparison
from gferm.fairness.membership import Membership
from gferm.fairness.sensitive import (
    NUMBERS,
    SensitiveColumn,
    is_missing,
    read_sensitive_features,
)

MOST_CLASSES_SHOWN = 20


@dataclass(frozen=True, eq=False)
class PredictedRows:
    """Labels and predictions of the rows that count, checked, and sorted into cells.

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
        """The table of these rows."""
        return self.membership.cells


def read_predicted_rows(
    y_true: Any, y_pred: Any, sensitive_features: Any, sample_weight: Any, comparison: Comparison
) -> PredictedRows:
    """Check everything and sort the rows into cells; a row of weight zero is no row."""
    y, predictions = read_labels(y_true, "y_true"), read_labels(y_pred, "y_pred")
    require_same_length(y, predictions)
    columns = read_sensitive_features(sensitive_features, y.size, like=[y_true, y_pred])
    weight = read_weights(sample_weight, y)
    kept = None
    if weight is not None and not weight.all():
        kept = weight > 0
        y, predictions, weight = y[kept], predictions[kept], weight[kept]
        columns = tuple(column.keep(kept) for column in columns)
    membership = comparison.sort(y, columns, weight)
    return PredictedRows(y, predictions, columns, weight, membership, kept)


def read_rows_of_cells(
    y_true: Any, y_pred: Any, sensitive_features: Any, sample_weight: Any, comparison: Comparison
) -> PredictedRows:
    """Read rows for a measure that compares cells; warn of values that lie in none."""
    rows = read_predicted_rows(y_true, y_pred, sensitive_features, sample_weight, comparison)
    require_groups(rows.cells)
    if rows.cells.scores:
        warn_user(
            f"{list(rows.cells.scores)} are taken as continuous and belong to no "
            "cell, so this measure does not judge them; use sensitive_correlation for these.",
            OutsideBinsWarning,
        )
    outside = rows.membership.n_outside
    if outside:
        warn_user(
            f"{outside} values of y_true or sensitive_features lie in no bin and are left "
            "out; widen the outer edges of y_bins or s_bins to count them.",
            OutsideBinsWarning,
        )
    return rows


def require_groups(cells: Cells) -> None:
    """Refuse attributes that are all taken as continuous: there is no cell to judge."""
    if not cells.partitions:
        raise ValueError(
            "s_bins='continuous' has no groups, so there are no cells; use "
            "gferm.metrics.sensitive_correlation, or give s_bins a number or edges."
        )


def read_labels(values: Any, name: str) -> npt.NDArray[Any]:
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
    return array if are_words(array) else read_numbers(array, name)


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


def read_numbers(values: Any, name: str) -> Array:
    """Read finite numbers in one dimension."""
    values = as_numpy(values)
    array: Array = check_array(values, ensure_2d=False, dtype=np.float64, input_name=name)
    return column_or_1d(array)  # type: ignore[no-any-return]


def require_same_length(y_true: npt.NDArray[Any], y_pred: npt.NDArray[Any]) -> None:
    """Refuse arrays of different lengths."""
    if y_true.shape != y_pred.shape:
        raise ValueError(f"y_true has {y_true.size} values but y_pred has {y_pred.size}.")


def read_weights(sample_weight: Any, like: npt.NDArray[Any]) -> Array | None:
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


def require_complete(values: Any, name: str) -> None:
    """Refuse gaps among words: NumPy would make a class "nan" of them, or fail without a name."""
    if values is None:
        raise ValueError(f"{name} is missing: pass one value for each row.")
    values = as_numpy(values)
    if not are_words(np.asarray(values)):
        return
    each = np.asarray(values, dtype=object).ravel()
    missing = [i for i, one in enumerate(each) if is_missing(one)]
    if missing:
        raise ValueError(
            f"{name} has {len(missing)} missing labels, the first in row {missing[0]}; drop these "
            "rows, in all arguments alike."
        )


def bins_of_labels(y_true: npt.NDArray[Any], y_pred: npt.NDArray[Any], y_bins: Any) -> Any:
    """Return the bins of the label: the classes if these are classes, else what was asked for."""
    if isinstance(y_bins, CategoryBins):
        _require_classes(y_pred, list(dict.fromkeys([*levels_of(y_true), *y_bins.levels])))
    if isinstance(y_bins, Bins) or not _are_classes(y_true, y_pred, y_bins):
        return y_bins
    classes = levels_of(y_true)
    _require_classes(y_pred, classes)
    if isinstance(y_bins, str) and y_bins not in ("classes", "auto"):
        raise ValueError(
            f"y_bins={y_bins!r} is unknown; labels that are classes take 'classes', or a list of "
            "those to compare."
        )
    if isinstance(y_bins, Integral) and y_bins == 1:  # whole groups: demographic parity
        return y_bins
    named = classes if isinstance(y_bins, (Integral, str)) else np.asarray(y_bins).tolist()
    unknown = [label for label in named if label not in classes]
    if unknown:
        raise ValueError(
            f"y_bins names {unknown}, but the classes of y_true are {classes}; name some of these."
        )
    return Bins.categories(named)


def are_words(values: npt.NDArray[Any]) -> bool:
    """Return whether labels are words (or objects), and not numbers."""
    return values.dtype.kind in "OUST"


def levels_of(values: npt.NDArray[Any]) -> list[Any]:
    """List the different values; whole numbers as integers: a class is called 1, not 1.0."""
    levels = np.unique(values)
    if levels.dtype.kind == "f" and (np.abs(levels) < 2**53).all() and not (levels % 1).any():
        levels = levels.astype(np.int64)
    return list(levels.tolist())


def _are_classes(y_true: npt.NDArray[Any], y_pred: npt.NDArray[Any], y_bins: Any) -> bool:
    """Return whether these are classes: words, and the same two numbers on both sides."""
    if are_words(y_true) or are_words(y_pred):
        return True
    if isinstance(y_bins, str) and y_bins == "classes":
        return True
    if not isinstance(y_bins, (Integral, str)):  # edges are for numbers
        return False
    levels = levels_of(y_true)
    return len(levels) <= 2 and set(levels_of(y_pred)) <= set(levels)


def _require_classes(y_pred: npt.NDArray[Any], classes: list[Any]) -> None:
    unseen = [label for label in levels_of(y_pred) if label not in classes]
    if unseen:
        raise ValueError(
            f"y_pred holds {unseen[:5]}, but the classes of y_true are "
            f"{classes[:MOST_CLASSES_SHOWN]}; pass predicted classes, not scores or their codes. "
            "A class that y_true does not hold can be named: y_bins=Bins.categories([...])."
        )
