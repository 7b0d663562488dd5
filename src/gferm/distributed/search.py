"""search: cross-validation by sums that are taken where the partitions are.

    all partitions  ──look ahead──> what they agree on, and the number of every row   (ahead.py)
    every partition ──sum──> a Summary of each fold and kernel ┐
    every partition ──sum──> a Summary of each fold and kernel ┴─ + ──> … ──> one     (tree.py)
    these sums ──> every setting judged, one chosen and solved           (streaming/choosing.py)

The fold of a row follows from its number among all rows, so partitions do not matter. The client
receives as many summaries as there are folds times kernels.
"""

from __future__ import annotations

from typing import Any, TypeVar

from gferm.distributed.ahead import look_ahead, open_first
from gferm.distributed.parts import align
from gferm.distributed.tree import sum_parts
from gferm.model_selection import FairRegressorCV
from gferm.model_selection.search import require_attributes
from gferm.streaming.choosing import choose_by_sums, read_settings

Search = TypeVar("Search", bound=FairRegressorCV)


def search(
    search: Search, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
) -> Search:
    """Choose alpha, gamma and epsilon by cross-validation on the partitions of dask collections.

    Every partition is read once for its labels, if bins, landmarks or the numbers of its rows are
    not known, and once to be summed. The search is that of `gferm.streaming.search_stream` on the
    same rows, whatever the partitions, and that of `FairRegressorCV.fit` with the same folds and
    measures.

    Parameters
    ----------
    search : FairRegressorCV
        With loss="squared", kernel="linear" or landmarks, and ``cv`` a number of folds. The error
        is the mean squared error and the unfairness the mean gap between groups on held-out rows,
        what epsilon bounds in training: sums know no other measures. It is fitted in place.
    X : dask array or data frame of shape (n_samples, n_features)
    y : dask array or Series of shape (n_samples,)
    sensitive_features : dask array, Series, data frame or dict of columns
        Required unless ``epsilons`` is [None] and ``selection`` is not "nvp".
    sample_weight : dask array or Series of shape (n_samples,), default=None
        A row of weight zero does not count, but has a number.

    Returns
    -------
    search
        The same object, fitted, with ``cv_results_`` and all else that `FairRegressorCV.fit` gives.

    Raises
    ------
    ValueError
        If sums cannot tell what the search asks for, if a partition is not as it should be, which
        the message numbers from 0, or if partitions cannot be matched.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from gferm import FairRegressorCV, distributed
    >>> from gferm.datasets import make_fair_regression
    >>> X, y, s = make_fair_regression(600, random_state=0, return_X_y=True)
    >>> parts = [da.from_array(np.asarray(one), chunks=100) for one in (X, y, s)]
    >>> grid = FairRegressorCV(kernel="linear", epsilons=[0, None], y_bins=3, cv=4)
    >>> grid = distributed.search(grid, parts[0], parts[1], sensitive_features=parts[2])
    >>> len(grid.cv_results_["params"])  # 17 alphas, 2 epsilons
    34
    >>> sorted(grid.best_params_)
    ['alpha', 'epsilon']
    """
    settings = read_settings(search)
    models: Any = settings.models
    require_attributes(search, sensitive_features, settings.grid, "search(search, X, y, ")
    parts = align(X, y, sensitive_features, sample_weight)
    agenda = look_ahead(models[0], parts, sensitive_features, numbered=True)
    agreements = open_first(models, agenda)
    sums = sum_parts(models, agreements, agenda.parts, settings.n_folds)
    choose_by_sums(search, settings, agreements, sums, len(parts))
    return search
