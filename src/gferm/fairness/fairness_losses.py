"""Losses ℓ_k(ŷ, y) whose cell means are compared by the loss-general fairness measure.

linear       ŷ − y           first moment of the error (paper, section 3.3)
squared      (ŷ − y)²
absolute     |ŷ − y|
zero_one     1{y ŷ ≤ 0}      labels −1 and +1: equalized odds
half_margin  (1 − y ŷ)/2     labels −1 and +1: the linear relaxation of zero_one
prediction   ŷ               Mean Distance
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gferm.arrays import Array

FairnessLoss = Callable[[Array, Array], Array]


def _margin(y_pred: Array, y_true: Array) -> Array:
    """Return y ŷ; with labels 0 and 1 it would call every error on class 0 equal."""
    if not np.isin(y_true, (-1, 1)).all():
        raise ValueError(
            f"This loss needs labels −1 and +1, got {np.unique(y_true)[:5].tolist()}; recode y as "
            "2 y − 1 if it is 0 and 1, or use equalized_odds_difference, which takes any classes."
        )
    return y_pred * y_true


FAIRNESS_LOSSES: dict[str, FairnessLoss] = {
    "linear": lambda y_pred, y_true: y_pred - y_true,
    "squared": lambda y_pred, y_true: (y_pred - y_true) ** 2,
    "absolute": lambda y_pred, y_true: np.abs(y_pred - y_true),
    "zero_one": lambda y_pred, y_true: (_margin(y_pred, y_true) <= 0).astype(float),
    "half_margin": lambda y_pred, y_true: (1.0 - _margin(y_pred, y_true)) / 2.0,
    "prediction": lambda y_pred, y_true: y_pred,
}


def fairness_loss(loss: str | FairnessLoss) -> FairnessLoss:
    """Look a loss up by name; a callable ``loss(y_pred, y_true)`` stands for itself."""
    if callable(loss):
        return loss
    if not isinstance(loss, str) or loss not in FAIRNESS_LOSSES:
        raise ValueError(
            f"loss={loss!r} is unknown; use one of {sorted(FAIRNESS_LOSSES)} or a callable "
            "loss(y_pred, y_true)."
        )
    return FAIRNESS_LOSSES[loss]
