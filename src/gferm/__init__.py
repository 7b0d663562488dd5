"""gferm: fair predictors for categorical, continuous and several sensitive attributes."""

from gferm import datasets, losses, metrics
from gferm.bins import Bins
from gferm.estimators import FairClassifier, FairKernelProjection, FairProjection, FairRegressor
from gferm.frontier import Frontier, frontier

__all__ = [
    "Bins",
    "FairClassifier",
    "FairKernelProjection",
    "FairProjection",
    "FairRegressor",
    "Frontier",
    "datasets",
    "frontier",
    "losses",
    "metrics",
]
__version__ = "0.1.0"
