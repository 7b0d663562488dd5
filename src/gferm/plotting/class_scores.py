"""One number for each row from a classifier: a probability, or else a decision value."""

from __future__ import annotations

from typing import Any

import numpy as np

from gferm.arrays import Array


def class_to_show(model: Any, pos_label: Any) -> Any:
    """Return the class whose share is predicted: the second of two, or the one asked for."""
    classes = np.asarray(model.classes_).tolist()
    if pos_label is None and len(classes) == 2:
        return classes[1]
    if pos_label not in classes:
        raise ValueError(
            f"pos_label={pos_label!r} is not among the classes {classes} of the model; name the "
            "one whose share is predicted."
        )
    return pos_label


def scores_of(model: Any, X: Any, label: Any) -> tuple[Array, bool]:
    """Return the score of a class for each row, and whether it is a probability."""
    place = np.asarray(model.classes_).tolist().index(label)
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X))[:, place], True
    if hasattr(model, "decision_function"):
        values = np.asarray(model.decision_function(X))
        # of two classes there is one value, that of the second
        each = np.stack([-values, values], axis=-1) if values.ndim == 1 else values
        return each[:, place], False
    raise ValueError(
        f"model={type(model).__name__} has neither predict_proba nor decision_function; pass "
        "numbers of your own to from_predictions."
    )
