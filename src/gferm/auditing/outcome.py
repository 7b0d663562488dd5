"""What is audited: numbers or classes, and what each row contributes to a cell.

    rate         1 if the prediction falls into the label's own bin (is the right class)
    prediction   f              label   y           residual   f − y
    error        |f − y|, or 1 if the class is wrong
    loss         a loss of fairness_losses.py, for LGF

Two classes that are words are counted as 0 and 1, 1 for the second in sorted order; more than two
have no mean prediction, only rates and errors. Bins that hold every number have no rates: everybody
is in the right one, and that would read as perfectly fair.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from gferm.arrays import Array
from gferm.arrays.foreign import as_numpy
from gferm.fairness.bins import Bins, CategoryBins
from gferm.fairness.fairness_losses import FairnessLoss, fairness_loss
from gferm.metrics.reading import Rows

NUMBERS, CLASSES = "numbers", "classes"
MOST_CLASSES_SHOWN = 20


@dataclass(frozen=True, eq=False)
class Outcome:
    """What the rows contribute.

    Attributes
    ----------
    task : {"numbers", "classes"}
    quantities : dict of arrays of shape (n_samples,)
    positive : str or None
        Which of two classes counts as 1 …
    positive_bin : int or None
        … and its label bin, if it has one of its own.
    """

    task: str
    quantities: dict[str, Array]
    positive: str | None = None
    positive_bin: int | None = None


def bins_of_labels(y_true: npt.NDArray[Any], y_pred: npt.NDArray[Any], y_bins: Any) -> Any:
    """Return the bins of the label: the classes if these are classes, else what was asked for."""
    if isinstance(y_bins, CategoryBins):
        _require_classes(y_pred, list(dict.fromkeys([*_levels(y_true), *y_bins.levels])))
    if isinstance(y_bins, Bins) or not _are_classes(y_true, y_pred, y_bins):
        return y_bins
    classes = _levels(y_true)
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


def require_complete(values: Any, name: str) -> None:
    """Refuse gaps among words: NumPy would make a class "nan" of them, or fail without a name."""
    if values is None:
        raise ValueError(f"{name} is missing: pass one value for each row.")
    values = as_numpy(values)
    if not _are_words(np.asarray(values)):
        return
    each = np.asarray(values, dtype=object).ravel()
    missing = [i for i, one in enumerate(each) if _is_missing(one)]
    if missing:
        raise ValueError(
            f"{name} has {len(missing)} missing labels, the first in row {missing[0]}; drop these "
            "rows, in all arguments alike."
        )


def read_outcome(rows: Rows, loss: str | FairnessLoss) -> Outcome:
    """Compute what each row contributes."""
    y, f, bins = rows.y, rows.predictions, rows.cells.label_bins
    hits = (bins.assign(f) == bins.assign(y)).astype(float)
    task = CLASSES if bins.selective or _are_words(y) else NUMBERS
    found = {} if hold_everything(bins) else {"rate": hits}
    positive = positive_bin = None
    if task == CLASSES:
        found["error"] = (f != y).astype(float)
        classes = _levels(y)
        if len(classes) > 2:
            return Outcome(task, found)
        positive = str(classes[-1])
        code = int(bins.assign(np.asarray(classes[-1:]))[0])
        positive_bin = code if bins.selective and code >= 0 else None
        if _are_words(y):
            y, f = (y == classes[-1]).astype(float), (f == classes[-1]).astype(float)
    else:
        found["error"] = np.abs(f - y)
    found |= {"label": y, "prediction": f, "residual": f - y}
    found["loss"] = _losses(loss, f, y)
    return Outcome(task, found, positive, positive_bin)


def hold_everything(bins: Bins) -> bool:
    """Return whether there is one bin, in which every number lies."""
    return (
        bins.n_bins == 1
        and not bins.selective
        and bool((bins.assign([-np.inf, np.inf]) == 0).all())
    )


def _losses(loss: str | FairnessLoss, f: Array, y: Array) -> Array:
    found = np.asarray(fairness_loss(loss)(f, y))
    numeric = found.dtype.kind in "biuf"
    if found.shape != y.shape or not numeric or not np.isfinite(found).all():
        raise ValueError(
            f"loss={getattr(loss, '__name__', loss)!r} must give one finite number for each of the "
            f"{y.size} rows, but gave {found.tolist()!r:.60}; write it for arrays: "
            "loss(y_pred, y_true)."
        )
    return found.astype(float)


def _require_classes(y_pred: npt.NDArray[Any], classes: list[Any]) -> None:
    unseen = [label for label in _levels(y_pred) if label not in classes]
    if unseen:
        raise ValueError(
            f"y_pred holds {unseen[:5]}, but the classes of y_true are "
            f"{classes[:MOST_CLASSES_SHOWN]}; pass predicted classes, not scores or their codes. "
            "A class that y_true does not hold can be named: y_bins=Bins.categories([...])."
        )


def _are_classes(y_true: npt.NDArray[Any], y_pred: npt.NDArray[Any], y_bins: Any) -> bool:
    """Words are classes, and so are the same two numbers on both sides."""
    if _are_words(y_true) or _are_words(y_pred):
        return True
    if isinstance(y_bins, str) and y_bins == "classes":
        return True
    named = isinstance(y_bins, (Integral, str))  # edges are for numbers
    return named and len(_levels(y_true)) <= 2 and set(_levels(y_pred)) <= set(_levels(y_true))


def _are_words(values: npt.NDArray[Any]) -> bool:
    return values.dtype.kind in "OUST"


def _is_missing(value: Any) -> bool:
    gap = value is None or type(value).__name__ in ("NAType", "NaTType")
    return gap or bool(value != value)


def _levels(values: npt.NDArray[Any]) -> list[Any]:
    """List the different values; whole numbers as integers: a class is called 1, not 1.0."""
    levels = np.unique(values)
    if levels.dtype.kind == "f" and (np.abs(levels) < 2**53).all() and not (levels % 1).any():
        levels = levels.astype(np.int64)
    return list(levels.tolist())
