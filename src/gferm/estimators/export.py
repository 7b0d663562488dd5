"""The same predictor as a plain scikit-learn object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

if TYPE_CHECKING:
    from gferm.estimators.regressor import FairRegressor


def as_ridge(model: FairRegressor) -> Ridge:
    """Give a linear model as a Ridge."""
    ridge = Ridge(alpha=model.alpha, fit_intercept=model.fit_intercept)
    ridge.coef_, ridge.intercept_ = model.coef_.copy(), model.intercept_
    return _with_features_of(model, ridge)


def as_kernel_ridge(model: FairRegressor) -> KernelRidge | TransformedTargetRegressor:
    """Give a kernel model as a KernelRidge, and its intercept as a shift of the output."""
    names = ("alpha", "kernel", "gamma", "degree", "coef0", "kernel_params")
    ridge = KernelRidge(**{name: getattr(model, name) for name in names})
    ridge.dual_coef_, ridge.X_fit_ = model.dual_coef_.copy(), model.X_fit_
    _with_features_of(model, ridge)
    if not model.fit_intercept:
        return ridge
    # Undoing a StandardScaler of mean b and no spread adds b: KernelRidge has no intercept.
    shift = StandardScaler(with_std=False)
    shift.mean_, shift.scale_, shift.var_ = np.array([model.intercept_]), None, None
    shift.n_features_in_ = 1
    shifted = TransformedTargetRegressor(ridge, transformer=StandardScaler(with_std=False))
    shifted.regressor_, shifted.transformer_, shifted._training_dim = ridge, shift, 1
    if hasattr(model, "feature_names_in_"):
        shifted.feature_names_in_ = model.feature_names_in_
    return shifted


def _with_features_of(model: FairRegressor, plain: Any) -> Any:
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(model, name):
            setattr(plain, name, getattr(model, name))
    return plain
