"""fit and search: each partition is read where it is, and its sums are added up on the way here.

    all partitions  ──plan──> what they agree on, and the number of every row   (scan_plan.py)
    every partition ──sum──> FoldSums ┐
    every partition ──sum──> FoldSums ┴─ + ──> … ──> one FoldSums               (partition_tasks.py)
    ──> a Stream for each kernel and fold ──> learn_by_sums.py

The fold of a row follows from its number among all rows, so partitions do not matter. The client
receives what is settled, and as many summaries as there are folds times kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from dask.delayed import delayed

from gferm.distributed.dask_partitions import DaskPartition, align_partitions
from gferm.distributed.partition_tasks import add_sums, join_as_tree, sum_partition
from gferm.distributed.scan_plan import NO_ROWS, plan_scan, settle_on_first
from gferm.estimators.base import check_parameters
from gferm.estimators.posing import OR_PLAIN
from gferm.estimators.regressor import FairRegressor
from gferm.estimators.streaming import Stream, can_stream
from gferm.fairness.sensitive import missing_error
from gferm.model_selection import FairRegressorCV
from gferm.model_selection.search import require_attributes
from gferm.streaming.learn_by_sums import fit_by_sums, read_search, search_by_sums
from gferm.streaming.source import FoldSums

Model = TypeVar("Model", bound=FairRegressor)
Search = TypeVar("Search", bound=FairRegressorCV)


@dataclass(frozen=True, eq=False)
class DaskSource:
    """A `gferm.streaming.source.Source` of partitions.

    Attributes
    ----------
    partitions : list of DaskPartition
    sensitive_features : dask collection, dict of them, or None
    """

    partitions: Sequence[DaskPartition]
    sensitive_features: Any

    @classmethod
    def of(cls, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> DaskSource:
        """Cut all arguments where X is cut."""
        partitions = align_partitions(X, y, sensitive_features, sample_weight)
        return cls(partitions, sensitive_features)

    def streams(self, models: Sequence[FairRegressor], n_folds: int = 1) -> list[list[Stream]]:
        """Return for each model the sums of every fold."""
        plan = plan_scan(models[0], self.partitions, self.sensitive_features, numbered=n_folds > 1)
        task = settle_on_first(models, n_folds, plan)
        # a node of the graph, which travels once, and not with each partition
        shared, take = delayed(task, traverse=False), delayed(sum_partition, pure=False)
        found = [
            take(part.number, shared, part.before or 0, *part.given) for part in plan.partitions
        ]
        sums: FoldSums | None = join_as_tree(found, add_sums)
        if sums is None:
            raise ValueError(NO_ROWS)
        return task.streams(sums, len(self.partitions))


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
    source = DaskSource.of(X, y, sensitive_features, sample_weight)
    return fit_by_sums(model, source)


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
    asked = read_search(search)
    require_attributes(search, sensitive_features, asked.grid, "search(search, X, y, ")
    source = DaskSource.of(X, y, sensitive_features, sample_weight)
    return search_by_sums(search, asked, source)


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
