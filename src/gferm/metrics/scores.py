"""Figures that need no cells: the error of the paper's tables, and correlation."""

from __future__ import annotations

from typing import Any

import numpy as np

from gferm.arrays import Array
from gferm.fairness.sensitive import read_sensitive_features
from gferm.metrics.reading import read_numbers, read_weights, require_same_length


def sensitive_correlation(
    y_true: Any, y_pred: Any, *, sensitive_features: Any, sample_weight: Any = None
) -> float:
    """Return |Pearson correlation| of predictions and a numeric attribute.

    y_true is not used. With several attributes, the largest. NaN if either side is constant.
    """
    f = read_numbers(y_pred, "y_pred")
    columns = read_sensitive_features(sensitive_features, f.size, like=[y_true, y_pred])
    weight = read_weights(sample_weight, f)
    for column in columns:
        if column.values.dtype.kind not in "biuf":
            raise ValueError(
                f"sensitive_features ({column.name}) is not numeric, so it has no correlation; "
                "compare its groups with mean_distance or dgf."
            )
    return float(np.max([_correlation(f, c.values.astype(float), weight) for c in columns]))


def _correlation(f: Array, s: Array, weight: Array | None) -> float:
    if weight is not None:
        f, s, weight = f[weight > 0], s[weight > 0], weight[weight > 0]
    if np.ptp(f) == 0 or np.ptp(s) == 0:
        return float("nan")
    covariance = np.cov(f, s, aweights=weight)
    return float(abs(covariance[0, 1]) / np.sqrt(covariance[0, 0] * covariance[1, 1]))


def normalized_mae(
    y_true: Any,
    y_pred: Any,
    *,
    sample_weight: Any = None,
    y_range: tuple[float, float] | None = None,
) -> float:
    """Return 100 · mean |y − ŷ| / (length of ``y_range``).

    The range is that of y_true by default. This is the error of the paper's tables: on labels
    scaled to [0, 1] it is 100·MAE.
    """
    y_true, y_pred = read_numbers(y_true, "y_true"), read_numbers(y_pred, "y_pred")
    require_same_length(y_true, y_pred)
    low, high = (y_true.min(), y_true.max()) if y_range is None else y_range
    if not high > low:
        raise ValueError(f"y_range=({low}, {high}) has no length; pass y_range=(low, high).")
    errors = np.average(np.abs(y_true - y_pred), weights=read_weights(sample_weight, y_true))
    return float(100.0 * errors / (high - low))
