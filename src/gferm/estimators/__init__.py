"""Estimators with the interface of scikit-learn."""

from gferm.estimators.regressor import FairRegressor

__all__ = ["FairRegressor"]
