"""Equalized odds and equal opportunity: class labels only, real-valued targets are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target, unique_labels

from gferm.arrays import Array
from gferm.arrays.foreign import as_numpy
from gferm.fairness.bins import Bins
from gferm.fairness.cells import SensitiveBins
from gferm.metrics.cell_values import warn_of_nothing_to_compare
from gferm.metrics.general import cell_rates


def equalized_odds_difference(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    s_bins: SensitiveBins = "auto",
    intersectional: bool = True,
    agg: str = "worst_case",
) -> float:
    """Return the largest difference between groups of P(ŷ = k | y = k), over the classes k.

    With two classes this is the larger of the differences in true and in false positive rate.
    ``agg="mean"`` averages over the classes instead.
    """
    if agg not in ("worst_case", "mean"):
        raise ValueError(f"agg={agg!r} is unknown; use 'worst_case' or 'mean'.")
    ranges = _ranges_of_recall(
        y_true, y_pred, None, sensitive_features, sample_weight, s_bins, intersectional
    )
    return float(np.max(ranges) if agg == "worst_case" else np.mean(ranges))


def equal_opportunity_difference(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    s_bins: SensitiveBins = "auto",
    intersectional: bool = True,
    pos_label: Any = 1,
) -> float:
    """Return the largest difference between groups of P(ŷ = pos | y = pos), the recall."""
    ranges = _ranges_of_recall(
        y_true, y_pred, pos_label, sensitive_features, sample_weight, s_bins, intersectional
    )
    return float(np.max(ranges))


def _ranges_of_recall(
    y_true: Any,
    y_pred: Any,
    pos_label: Any,
    sensitive_features: Any,
    sample_weight: Any,
    s_bins: SensitiveBins,
    intersectional: bool,
) -> Array:
    """Return the largest minus the smallest group recall, for each class and partition."""
    y_true, y_pred = as_numpy(y_true), as_numpy(y_pred)
    for name, values in (("y_true", y_true), ("y_pred", y_pred)):
        kind = type_of_target(values)
        if kind not in ("binary", "multiclass"):
            raise ValueError(
                f"{name} is {kind}, but equalized odds compare classes; for a real-valued target "
                "use gferm.metrics.dgf, for scores apply a threshold first."
            )
    unique_labels(y_true, y_pred)  # refuses words on one side and numbers on the other
    classes = np.unique(np.asarray(y_true)).tolist() if pos_label is None else [pos_label]
    if pos_label is not None and pos_label not in np.unique(np.asarray(y_true)):
        raise ValueError(
            f"pos_label={pos_label!r} is not among the labels {np.unique(y_true).tolist()}."
        )
    rates = cell_rates(
        y_true,
        y_pred,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        y_bins=Bins.categories(classes),
        s_bins=s_bins,
        intersectional=intersectional,
    )
    ranges = [
        np.ptp(row[~np.isnan(row)])
        for table in rates.tables
        for row in table
        if (~np.isnan(row)).sum() >= 2
    ]
    return np.asarray(ranges if ranges else [warn_of_nothing_to_compare()])
