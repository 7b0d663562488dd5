"""predict: a lazy column of predictions, partition by partition, where the rows are."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from dask.delayed import delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from gferm.distributed.dask_partitions import errors_in_partition, is_frame, require_table


def predict(model: Any, X: Any) -> Any:
    """Predict on the partitions of a dask collection; nothing is computed yet.

    Parameters
    ----------
    model : FairRegressor, FairClassifier or a fitted search
        It is taken as it is now: a later fit does not change these predictions.
    X : dask array or data frame of shape (n_samples, n_features)

    Returns
    -------
    dask array, or dask Series with the index of X, of shape (n_samples,)

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from gferm import FairRegressor, distributed
    >>> X = np.arange(12.0).reshape(6, 2)
    >>> model = FairRegressor(kernel="linear", epsilon=None).fit(X, X[:, 0])
    >>> y_pred = distributed.predict(model, da.from_array(X, chunks=(2, 2)))
    >>> bool(np.allclose(y_pred.compute(), model.predict(X)))
    True
    """
    check_is_fitted(model)
    X = require_table(X)
    kind = getattr(model, "classes_", np.empty(0)).dtype
    if is_frame(X):
        _require_features(model, X._meta)
        return X.map_partitions(_of_frame, _for_workers(model), kind, meta=("prediction", kind))
    if not np.isnan(X.shape[1]):
        _require_features(model, np.empty((0, X.shape[1])))
    return X.map_blocks(
        _of_block,
        model=_for_workers(model),
        kind=kind,
        drop_axis=1,
        dtype=kind,
        meta=np.empty(0, kind),
    )


def _for_workers(model: Any) -> Any:
    """Return the model as one node of the graph, without what predictions do not need."""
    lean = copy(getattr(model, "best_estimator_", model))  # which predicts for a search
    lean.__dict__.pop("stream_", None)  # sums, of p × p numbers
    return delayed(lean, traverse=False)


def _require_features(model: Any, nobody: Any) -> None:
    """Compare the features with those of the fit, before anything is computed."""
    validate_data(model, nobody, reset=False, ensure_min_samples=0, dtype=None)


def _of_block(block: Any, model: Any, kind: Any, block_id: tuple[int, ...] = (0,)) -> Any:
    with errors_in_partition(block_id[0]):
        return model.predict(block) if block.shape[0] else np.empty(0, dtype=kind)


def _of_frame(frame: Any, model: Any, kind: Any, partition_info: Any = None) -> Any:
    import pandas as pd

    with errors_in_partition((partition_info or {"number": 0})["number"]):
        values = model.predict(frame) if len(frame) else np.empty(0, dtype=kind)
    return pd.Series(values, index=frame.index, name="prediction")
