"""The same predictor as a plain scikit-learn object."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from gferm.arrays import Array
from gferm.estimators.base import FairModel
from gferm.features.kernel import Kernel
from gferm.losses import LOSSES, Loss

OF_NAMED_KERNELS = ("gamma", "degree", "coef0")


def as_ridge(model: FairModel) -> Ridge:
    """Return a linear model as a Ridge."""
    ridge = Ridge(alpha=model.alpha, fit_intercept=model.fit_intercept)
    ridge.coef_, ridge.intercept_ = model.coef_.copy(), model.intercept_
    return _with_features_of(model, ridge)


def as_kernel_ridge(model: FairModel) -> KernelRidge | TransformedTargetRegressor:
    """Return a kernel model as a KernelRidge, and its intercept as a shift of the output."""
    names = ("alpha", "kernel", "kernel_params", *OF_NAMED_KERNELS)
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


def as_classifier(model: FairModel, loss: Loss) -> Any:
    """Return a linear model as the classifier of its loss, a kernel model after its expansion."""
    if hasattr(model, "coef_"):
        plain = _linear_classifier(model, loss, model.coef_.copy())
        for one in getattr(plain, "estimators_", ()):
            _with_features_of(model, one)
        return _with_features_of(model, plain)
    decide = _linear_classifier(model, loss, np.eye(len(model.dual_coef_)))
    return Pipeline([("expansion", _kernel_expansion(model)), ("classifier", decide)])


def _kernel_expansion(model: FairModel) -> Nystroem:
    """Return Σ αᵢ κ(x, xᵢ), one column for each model.

    Nystroem computes K(x, components) Nᵀ, so with the dual coefficients for N it is the whole
    expansion, and all that is left to the classifier after it are the intercepts.
    """
    expansion = Nystroem(kernel=model.kernel, n_components=len(model.dual_coef_))
    if Kernel.of(model).is_named:
        expansion.set_params(**{name: getattr(model, name) for name in OF_NAMED_KERNELS})
    else:
        expansion.set_params(kernel_params=model.kernel_params)
    expansion.components_ = model.X_fit_
    expansion.component_indices_ = np.arange(model.X_fit_.shape[0])
    expansion.normalization_ = model.dual_coef_.copy()
    expansion._n_features_out = len(model.dual_coef_)
    return _with_features_of(model, expansion)


def _linear_classifier(model: FairModel, loss: Loss, coef: Array) -> Any:
    """Return the classifier of the loss with these weights.

    It is fitted to one row of zeros a class, so that it knows its classes whatever the version of
    scikit-learn keeps of them; then it is given the weights.
    """
    C, fit_intercept = 1.0 / (2.0 * (model.alpha or 1.0)), model.fit_intercept
    zeros, classes = np.zeros((model.classes_.size, coef.shape[1])), model.classes_
    if loss == LOSSES["log_loss"] and len(coef) > 1:
        plain = OneVsRestClassifier(LogisticRegression(C=C, fit_intercept=fit_intercept))
        plain.fit(zeros, classes)
        for one, weights, intercept in zip(plain.estimators_, coef, model.intercept_, strict=True):
            one.coef_, one.intercept_ = weights[None], np.array([intercept])
        return plain
    if loss == LOSSES["log_loss"]:
        plain = LogisticRegression(C=C, fit_intercept=fit_intercept)
    elif loss == LOSSES["squared"]:
        plain = RidgeClassifier(fit_intercept=fit_intercept)
    else:
        name = "hinge" if loss == LOSSES["hinge"] else "squared_hinge"
        plain = LinearSVC(loss=name, C=C, fit_intercept=fit_intercept)
    plain.fit(zeros, classes)
    if loss == LOSSES["squared"]:
        plain.set_params(alpha=model.alpha)  # zeros cannot be fitted with alpha=0
    plain.coef_, plain.intercept_ = coef, model.intercept_.copy()
    return plain


def _with_features_of(model: FairModel, plain: Any) -> Any:
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(model, name):
            setattr(plain, name, getattr(model, name))
    return plain
