"""gferm: fair predictors for categorical, continuous and several sensitive attributes."""

from gferm import datasets, metrics
from gferm.bins import Bins
from gferm.estimators import FairRegressor
from gferm.frontier import Frontier, frontier

__all__ = ["Bins", "FairRegressor", "Frontier", "datasets", "frontier", "metrics"]
__version__ = "0.1.0"
