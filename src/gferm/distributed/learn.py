"""fit: each partition is read where it is, and its sums are added up on the way here.

    all partitions  ──look ahead──> what they agree on             (ahead.py)
    every partition ──sum──> Summary ┐
    every partition ──sum──> Summary ┴─ + ──> … ──> one Summary    (tree.py) ──> model

The client receives what is settled, and one Summary.
"""

from __future__ import annotations

from typing import Any, TypeVar

from gferm.distributed.ahead import look_ahead, open_first
from gferm.distributed.parts import align
from gferm.distributed.tree import sum_parts
from gferm.estimators.messages import unchanged_on_error, warn_about_fit
from gferm.estimators.parameters import check_parameters
from gferm.estimators.reading import OR_PLAIN
from gferm.estimators.regressor import FairRegressor
from gferm.estimators.streaming import Stream, can_stream, solve_stream
from gferm.fairness.sensitive import missing_error

Model = TypeVar("Model", bound=FairRegressor)


def fit(
    model: Model, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
) -> Model:
    """Fit a model on the partitions of dask collections, where they are.

    The model is that of `FairRegressor.fit` on all rows: bins that are not given as such are
    settled on all rows, and uniform landmarks are the same rows for the same ``random_state``.
    Quantiles of more than 100 000 different values are those of an even selection of the values.

    Parameters
    ----------
    model : FairRegressor
        With loss="squared", and kernel="linear" or landmarks. It is fitted in place.
    X : dask array or data frame of shape (n_samples, n_features)
    y : dask array or Series of shape (n_samples,)
    sensitive_features : dask array, Series, data frame or dict of columns
        Required unless the model's epsilon is None.
    sample_weight : dask array or Series of shape (n_samples,), default=None

    Returns
    -------
    model
        The same object, fitted; `partial_fit` may go on from there.

    Raises
    ------
    ValueError
        If a partition is not as it should be, which the message numbers from 0, or if partitions
        cannot be matched.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from gferm import FairRegressor, distributed
    >>> from gferm.datasets import make_fair_regression
    >>> X, y, s = make_fair_regression(600, random_state=0, return_X_y=True)
    >>> parts = [da.from_array(np.asarray(one), chunks=100) for one in (X, y, s)]
    >>> model = FairRegressor(kernel="linear", y_bins=4)
    >>> model = distributed.fit(model, parts[0], parts[1], sensitive_features=parts[2])
    >>> whole = FairRegressor(kernel="linear", y_bins=4).fit(X, y, sensitive_features=s)
    >>> bool(np.allclose(model.coef_, whole.coef_))
    True
    """
    _require_learnable(model, sensitive_features)
    with unchanged_on_error(model):
        parts = align(X, y, sensitive_features, sample_weight)
        agenda = look_ahead(model, parts, sensitive_features)
        (agreement,) = open_first([model], agenda)
        ((summary,),) = sum_parts([model], [agreement], agenda.parts)
        model.stream_ = Stream(agreement, summary, len(parts))
        solution = solve_stream(model)
    warn_about_fit(model, [solution])
    return model


def _require_learnable(model: Any, sensitive_features: Any) -> None:
    """Refuse what cannot be learned from sums, before anything is read."""
    if not isinstance(model, FairRegressor):
        raise ValueError(
            f"{type(model).__name__} cannot be learned from sums; use a FairRegressor."
        )
    check_parameters(model)
    try:
        can_stream(model)
    except AttributeError as error:  # for a method that is missing; this is a model that is wrong
        raise ValueError(str(error)) from None
    if sensitive_features is None and model.epsilon is not None:
        raise missing_error(f"fit(model, X, y, sensitive_features=...), {OR_PLAIN}")
