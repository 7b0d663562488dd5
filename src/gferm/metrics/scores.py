"""Figures that need no cells: the error of the paper's tables, and correlation."""

from __future__ import annotations

from typing import Any

import numpy as np

from gferm.metrics.reading import numbers, same_length, weights
from gferm.sensitive import read_sensitive_features


def sensitive_correlation(
    y_true: Any, y_pred: Any, *, sensitive_features: Any, sample_weight: Any = None
) -> float:
    """|Pearson correlation| of predictions and a numeric attribute; y_true is not used.

    With several attributes, the largest. NaN if either side is constant.
    """
    y_pred = numbers(y_pred, "y_pred")
    columns = read_sensitive_features(sensitive_features, y_pred.size, like=None)
    weight = weights(sample_weight, y_pred)
    correlations = []
    for column in columns:
        s = numbers(column.values, f"sensitive_features ({column.name})")
        covariance = np.cov(y_pred, s, aweights=weight)
        spread = np.sqrt(covariance[0, 0] * covariance[1, 1])
        correlations.append(abs(covariance[0, 1]) / spread if spread > 0 else np.nan)
    return float(np.max(correlations))


def normalized_mae(
    y_true: Any,
    y_pred: Any,
    *,
    sample_weight: Any = None,
    y_range: tuple[float, float] | None = None,
) -> float:
    """100 · mean |y − ŷ| / (length of ``y_range``), the range of y_true by default.

    The error of the paper's tables: on labels scaled to [0, 1] it is 100·MAE.
    """
    y_true, y_pred = numbers(y_true, "y_true"), numbers(y_pred, "y_pred")
    same_length(y_true, y_pred)
    low, high = (y_true.min(), y_true.max()) if y_range is None else y_range
    if not high > low:
        raise ValueError(f"y_range=({low}, {high}) has no length; pass y_range=(low, high).")
    errors = np.average(np.abs(y_true - y_pred), weights=weights(sample_weight, y_true))
    return float(100.0 * errors / (high - low))
