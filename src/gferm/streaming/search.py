"""search_stream: cross-validation on rows that come in chunks, read once.

    chunk → fold of each row → sums of every fold and kernel     (folds.py)
    sums of all other folds → every alpha and epsilon            (judging.py)
    sums of the fold itself → its error and its mean gap
    table → rule → one setting → its model, from the same sums   (choosing.py)

Which fold a row is in depends on its number alone, not on the chunks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from gferm.model_selection import FairRegressorCV
from gferm.streaming.choosing import choose_by_sums, read_settings
from gferm.streaming.chunks import Chunk, read_sums

Search = TypeVar("Search", bound=FairRegressorCV)


def search_stream(
    search: Search, chunks: Iterable[Chunk], *, verbose: bool | int = False
) -> Search:
    """Choose alpha, gamma and epsilon on held-out rows of a stream, and fit the choice on all.

    Parameters
    ----------
    search : FairRegressorCV
        With loss="squared", kernel="linear" or landmarks, and ``cv`` a number of folds. The error
        is the mean squared error and the unfairness the mean gap between groups on held-out rows,
        what epsilon bounds in training: sums know no other measures.
    chunks : iterable of Chunk, or ParquetSource
        Read once; as in `fit_stream`.
    verbose : bool or int, default=False
        Whether to show a progress bar.

    Returns
    -------
    search
        The same object, fitted, with ``cv_results_`` and all else that `FairRegressorCV.fit` gives.

    Examples
    --------
    >>> import numpy as np
    >>> from gferm import FairRegressorCV
    >>> from gferm.datasets import make_fair_regression
    >>> from gferm.streaming import Chunk, search_stream
    >>> X, y, s = make_fair_regression(600, random_state=0, return_X_y=True)
    >>> parts = np.array_split(np.arange(600), 5)
    >>> search = FairRegressorCV(kernel="linear", epsilons=[0, None], y_bins=[-np.inf, 0, np.inf])
    >>> search = search_stream(search, (Chunk(X[rows], y[rows], s[rows]) for rows in parts))
    >>> sorted(search.best_params_)
    ['alpha', 'epsilon']
    """
    settings = read_settings(search)
    sums = read_sums(settings.models, chunks, settings.n_folds, verbose=verbose)
    choose_by_sums(search, settings, sums.agreements, sums.of_folds, sums.n_chunks)
    return search
