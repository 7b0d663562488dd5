"""fit_stream: chunks in, a fitted model out, solved once: the sums of one kernel and one fold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from gferm.estimators.messages import unchanged_on_error, warn_about_fit
from gferm.estimators.parameters import check_parameters
from gferm.estimators.regressor import FairRegressor
from gferm.estimators.streaming import Stream, can_stream, solve_stream
from gferm.streaming.chunks import Chunk, read_sums

Model = TypeVar("Model", bound=FairRegressor)


def fit_stream(model: Model, chunks: Iterable[Chunk], *, verbose: bool | int = False) -> Model:
    """Fit a model on chunks of rows, holding at most as many at a time as there are cores.

    Parameters
    ----------
    model : FairRegressor
        With loss="squared", and kernel="linear" or landmarks. It is fitted in place.
    chunks : iterable of Chunk, or ParquetSource
        Bins and landmarks that are not given as such are settled on all rows of a ParquetSource,
        as `fit` does, and on the first chunk of any other iterable.
    verbose : bool or int, default=False
        Whether to show a progress bar.

    Returns
    -------
    model
        The same object, fitted; `partial_fit` may go on from there.

    Examples
    --------
    >>> import numpy as np
    >>> from gferm import FairRegressor
    >>> from gferm.datasets import make_fair_regression
    >>> from gferm.streaming import Chunk, fit_stream
    >>> X, y, s = make_fair_regression(600, random_state=0, return_X_y=True)
    >>> parts = np.array_split(np.arange(600), 5)
    >>> model = FairRegressor(kernel="linear", y_bins=[-np.inf, 0, np.inf])
    >>> model = fit_stream(model, (Chunk(X[rows], y[rows], s[rows]) for rows in parts))
    >>> whole = FairRegressor(kernel="linear", y_bins=[-np.inf, 0, np.inf])
    >>> whole = whole.fit(X, y, sensitive_features=s)
    >>> bool(np.allclose(model.coef_, whole.coef_))
    True
    """
    if not isinstance(model, FairRegressor):
        raise TypeError(
            f"{type(model).__name__} cannot be fitted on a stream: only a FairRegressor can. For "
            "two classes, give it the labels 0 and 1."
        )
    check_parameters(model)
    can_stream(model)
    with unchanged_on_error(model):
        sums = read_sums([model], chunks, verbose=verbose)
        (agreement,), ((summary,),) = sums.agreements, sums.of_folds
        model.stream_ = Stream(agreement, summary, sums.n_chunks)
        solution = solve_stream(model)
    warn_about_fit(model, [solution])
    return model
