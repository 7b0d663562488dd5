"""GF, LGF, DGF, Δ̂ and Mean Distance: everything that compares cells pair by pair."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gferm.fairness.bins import Bins, BinsLike
from gferm.fairness.cells import SensitiveBins
from gferm.fairness.comparison import Comparison
from gferm.fairness.fairness_losses import FairnessLoss, fairness_loss
from gferm.fairness.membership import Membership
from gferm.metrics.cell_values import CellValues, average_gap
from gferm.metrics.reading import read_rows_of_cells


def cell_rates(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    y_bins: BinsLike = 10,
    s_bins: SensitiveBins = "auto",
    intersectional: bool = True,
) -> CellValues:
    """Return the share of each cell whose prediction falls into the bin of its label.

    P̂^{k,q} = mean over the cell of 1{t_k ≤ ŷ < t_{k+1}}.

    Parameters
    ----------
    y_true, y_pred : arrays of shape (n_samples,)
    sensitive_features : array, Series, data frame or dict of columns
    sample_weight : array of shape (n_samples,), default=None
    y_bins, s_bins, intersectional
        As in `FairRegressor`.

    Returns
    -------
    CellValues
    """
    comparison = Comparison(y_bins, s_bins, intersectional)
    rows = read_rows_of_cells(y_true, y_pred, sensitive_features, sample_weight, comparison)
    return rates_of(rows.membership, rows.predictions)


def rates_of(rows: Membership, predictions: npt.NDArray[Any]) -> CellValues:
    """Return the cell rates of one predictor, or of each row of a stack of predictions."""
    hit = rows.scheme.label_bins.assign(predictions) == rows.label_codes
    return CellValues(rows.cells, rows.means(hit.astype(float)))


def cell_risks(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    loss: str | FairnessLoss = "linear",
    y_bins: BinsLike = 10,
    s_bins: SensitiveBins = "auto",
    intersectional: bool = True,
) -> CellValues:
    """Return the mean loss L̂^{k,q} of each cell.

    ``loss`` is a name of fairness_losses.py, or a callable (y_pred, y_true).
    """
    comparison = Comparison(y_bins, s_bins, intersectional)
    rows = read_rows_of_cells(y_true, y_pred, sensitive_features, sample_weight, comparison)
    return risks_of(rows.membership, rows.y, rows.predictions, loss)


def risks_of(
    rows: Membership,
    y: npt.NDArray[Any],
    predictions: npt.NDArray[Any],
    loss: str | FairnessLoss = "linear",
) -> CellValues:
    """Return the cell risks of one predictor, or of each row of a stack of predictions."""
    values = np.asarray(fairness_loss(loss)(predictions, y), dtype=float)
    return CellValues(rows.cells, rows.means(values))


def dgf(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    average: str = "pairs",
    min_cell_size: int = 1,
    **bins: Any,
) -> float:
    """Return the difference of general fairness: |P̂^{k,p} − P̂^{k,q}|, averaged over pairs.

    Parameters
    ----------
    y_true, y_pred, sensitive_features, sample_weight
        As in `cell_rates`.
    average : {"pairs", "definition", "sum", "weighted"}, default="pairs"
    min_cell_size : int, default=1
        Cells with fewer rows take part in no pair.
    **bins
        ``y_bins``, ``s_bins`` and ``intersectional``, as in `cell_rates`.

    Returns
    -------
    float
        NaN if there is no pair to compare.
    """
    rates = cell_rates(
        y_true, y_pred, sensitive_features=sensitive_features, sample_weight=sample_weight, **bins
    )
    return average_gap(rates, average, min_cell_size)


def general_fairness(
    y_true: Any, y_pred: Any, *, sensitive_features: Any, sample_weight: Any = None, **bins: Any
) -> float:
    """Return GF of the paper's definition: 1/(K Q²) Σ_k Σ_{p,q} |P̂^{k,p} − P̂^{k,q}|."""
    return dgf(
        y_true,
        y_pred,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        average="definition",
        **bins,
    )


def loss_general_fairness(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    loss: str | FairnessLoss = "linear",
    average: str = "definition",
    min_cell_size: int = 1,
    **bins: Any,
) -> float:
    """Return LGF of the paper's definition: 1/(K Q²) Σ_k Σ_{p,q} |L̂^{k,p} − L̂^{k,q}|."""
    risks = cell_risks(
        y_true,
        y_pred,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        loss=loss,
        **bins,
    )
    return average_gap(risks, average, min_cell_size)


def delta_hat(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    average: str = "sum",
    min_cell_size: int = 1,
    **bins: Any,
) -> float:
    """Return Δ̂ of the paper's proposition: Σ_k Σ_{p,q} |ΔP̂| − |ΔL̂| with the linear loss."""
    shared = {"sensitive_features": sensitive_features, "sample_weight": sample_weight, **bins}
    rates, risks = cell_rates(y_true, y_pred, **shared), cell_risks(y_true, y_pred, **shared)
    return average_gap(rates, average, min_cell_size) - average_gap(risks, average, min_cell_size)


def mean_distance(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    s_bins: SensitiveBins = "auto",
    intersectional: bool = True,
) -> float:
    """Return the mean |difference of the groups' mean predictions| over pairs of groups.

    y_true is not used. With two groups, the Mean Distance of Calders et al. (2013).
    """
    risks = cell_risks(
        y_pred,  # stands in for the labels, all in one bin
        y_pred,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        loss="prediction",
        y_bins=Bins.edges([-np.inf, np.inf]),
        s_bins=s_bins,
        intersectional=intersectional,
    )
    return average_gap(risks, "pairs", 1)
