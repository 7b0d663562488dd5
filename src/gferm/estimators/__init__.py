"""Estimators with the interface of scikit-learn."""

from gferm.estimators.classifier import FairClassifier
from gferm.estimators.kernel_projection import FairKernelProjection
from gferm.estimators.projection import FairProjection
from gferm.estimators.regressor import FairRegressor

__all__ = ["FairClassifier", "FairKernelProjection", "FairProjection", "FairRegressor"]
