"""gferm: fair predictors for categorical, continuous and several sensitive attributes."""

import sklearn  # noqa: F401  # first: deep in a chain of imports, SciPy takes 0.3 s longer

from gferm import datasets, losses, metrics
from gferm.auditing import Audit, audit
from gferm.bounds import Certificate, certificate
from gferm.estimators import FairClassifier, FairKernelProjection, FairProjection, FairRegressor
from gferm.estimators.frontier import Frontier, frontier
from gferm.fairness.bins import Bins
from gferm.model_selection import FairClassifierCV, FairRegressorCV, fairest_within

__all__ = [
    "Audit",
    "Bins",
    "Certificate",
    "FairClassifier",
    "FairClassifierCV",
    "FairKernelProjection",
    "FairProjection",
    "FairRegressor",
    "FairRegressorCV",
    "Frontier",
    "audit",
    "certificate",
    "datasets",
    "fairest_within",
    "frontier",
    "losses",
    "metrics",
]
__version__ = "0.1.0"


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
