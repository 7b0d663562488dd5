"""Fairness measures of any predictor: pure functions of (y_true, y_pred, sensitive_features).

With P̂^{k,q} = share of the cell's rows whose prediction falls into label bin k (the bin of their
own label), and L̂^{k,q} = mean loss of the cell:

    general_fairness        1/(K Q²) Σ_k Σ_{p,q} |P̂^{k,p} − P̂^{k,q}|       paper, definition GF
    loss_general_fairness   the same with L̂                                paper, definition LGF
    dgf                     the DGF of the experiments, in four averages
    delta_hat               Σ_k Σ_{p,q} |ΔP̂| − |ΔL̂|: how far the convex surrogate is from GF

Empty cells take part in no pair; if no pair is left the answer is NaN, never 0. Labels outside the
bins are left out with a warning.
"""

from gferm.metrics.cell_values import AVERAGES, CellValues
from gferm.metrics.classes import equal_opportunity_difference, equalized_odds_difference
from gferm.metrics.general import (
    cell_rates,
    cell_risks,
    delta_hat,
    dgf,
    general_fairness,
    loss_general_fairness,
    mean_distance,
)
from gferm.metrics.scores import normalized_mae, sensitive_correlation

__all__ = [
    "AVERAGES",
    "CellValues",
    "cell_rates",
    "cell_risks",
    "delta_hat",
    "dgf",
    "equal_opportunity_difference",
    "equalized_odds_difference",
    "general_fairness",
    "loss_general_fairness",
    "mean_distance",
    "normalized_mae",
    "sensitive_correlation",
]
