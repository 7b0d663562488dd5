"""Labels: what differs between learning numbers and learning classes.

y ──check──> labels ──targets──> numbers to be learned, one array a model
──bins─────> who is compared within what
values of the models ──answers──> what `predict` returns
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from gferm.arrays import Array
from gferm.estimators.posing import read_label
from gferm.fairness.bins import Bins
from gferm.losses import CLASSIFICATION_LOSSES, REGRESSION_LOSSES


class Labels(Protocol):
    """One kind of label; estimators bear it as ``labels``."""

    losses: tuple[str, ...]
    """Names of the losses that learn it."""
    are_classes: bool

    def check(self, y: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Refuse labels of the wrong kind, and return them as the cells take them."""

    def targets(self, y: npt.NDArray[Any]) -> list[Array]:
        """Return what is learned: one array of numbers or signs for each model."""

    def bins(self, y: npt.NDArray[Any], y_bins: Any) -> Any:
        """Return the bins of the label, as far as these labels settle them."""

    def answers(self, values: Array, classes: npt.NDArray[Any] | None) -> npt.NDArray[Any]:
        """Turn the values of the models, (..., n_models, n_samples), into predictions."""

    def shape(self, values: Any) -> Any:
        """Turn one value for each model into a fitted attribute."""

    def learned(self, y: npt.NDArray[Any]) -> Mapping[str, Any]:
        """Return the fitted attributes that follow from the labels alone."""


class NumberLabels:
    """Labels that are numbers: one model."""

    losses = REGRESSION_LOSSES
    are_classes = False

    def check(self, y: npt.NDArray[Any]) -> Array:
        """Take them as doubles."""
        return y.astype(np.float64, copy=False)

    def targets(self, y: Array) -> list[Array]:
        """Return the numbers themselves."""
        return [y]

    def bins(self, y: Array, y_bins: Any) -> Any:
        """Return what was asked for."""
        return y_bins

    def answers(self, values: Array, classes: npt.NDArray[Any] | None) -> Array:
        """Return the values of the only model."""
        return values[..., 0, :]

    def shape(self, values: Array) -> Any:
        """Leave out the axis of the models."""
        return values[0]

    def learned(self, y: Array) -> Mapping[str, Any]:
        """Return nothing."""
        return {}


class ClassLabels:
    """Labels that are classes: one model for two of them, else one for each against the rest."""

    losses = CLASSIFICATION_LOSSES
    are_classes = True

    def check(self, y: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Refuse numbers that are no classes, and a single class."""
        given, y = y, read_label(y)
        if given.dtype.kind == "O" and y.dtype.kind == "U":
            _require_words(given)
        kind, classes = type_of_target(y, input_name="y"), np.unique(y)
        if kind not in ("binary", "multiclass"):
            raise ValueError(
                f"Unknown label type: {kind}. y has {classes.size} different values such as "
                f"{classes.tolist()[0]!r}, which are no classes. Use FairRegressor to learn "
                "numbers, or cut y into classes first."
            )
        check_classification_targets(y)  # warns of more classes than half the rows
        if classes.size < 2:
            raise ValueError(
                f"y has one class, {classes.tolist()}: there is nothing to tell apart. Check "
                "y, and sample_weight if there is one."
            )
        return y

    def targets(self, y: npt.NDArray[Any]) -> list[Array]:
        """Return signs: 1 for the class of the model."""
        classes = np.unique(y)
        positive = classes[1:] if classes.size == 2 else classes
        return [np.where(y == label, 1.0, -1.0) for label in positive]

    def bins(self, y: npt.NDArray[Any], y_bins: Any) -> Any:
        """Return a bin for each class, or for each that is named."""
        classes = np.unique(y).tolist()
        if isinstance(y_bins, (Integral, Bins)):
            return y_bins
        if isinstance(y_bins, str):
            return Bins.categories(classes)
        named = np.asarray(y_bins).tolist()
        unknown = [label for label in named if label not in classes]
        if unknown:
            raise ValueError(f"y_bins names {unknown}, but the classes of y are {classes}.")
        return Bins.categories(named)

    def answers(self, values: Array, classes: npt.NDArray[Any] | None) -> npt.NDArray[Any]:
        """Return the class whose model is surest."""
        assert classes is not None
        one = values.shape[-2] == 1
        best = (values[..., 0, :] > 0).astype(int) if one else values.argmax(axis=-2)
        return np.asarray(classes[best])

    def shape(self, values: Array) -> Any:
        """Keep one row a model, also when there is one, as scikit-learn has it."""
        return values

    def learned(self, y: npt.NDArray[Any]) -> Mapping[str, Any]:
        """Return the classes."""
        return {"classes_": np.unique(y)}


def _require_words(y: npt.NDArray[Any]) -> None:
    """Refuse objects that would come back from `predict` as something else."""
    others = [value for value in y if not isinstance(value, str)]
    if others:
        raise ValueError(
            f"Unknown label type: unknown. y has classes that are neither all words nor all "
            f"numbers, such as {others[0]!r}; convert y first, for example with y.astype(str)."
        )
