"""Predictions on Dask are those of the model, and lazy."""

import dask
import numpy as np
import pytest

from gferm import FairClassifier, FairRegressor, distributed
from tests.distributed.rows import CHUNKS, KINDS, LINEAR, NAMES, S, X, Y, as_dask, frame, spoiled


def test_predictions_are_lazy_and_those_of_the_model():
    def fail(*_, **__):
        raise AssertionError("computed")

    rows = as_dask(X, CHUNKS["empty and one row"])
    model = FairRegressor(**KINDS["points"]).fit(X, Y, sensitive_features=S)
    expected = model.predict(X)
    with dask.config.set(scheduler=fail):
        y_pred = distributed.predict(model, rows)
        named = distributed.predict(model, rows[rows[:, 0] > 3])
    model.fit(X, 2 * Y, sensitive_features=S)  # later
    assert y_pred.chunks == (rows.chunks[0],)
    np.testing.assert_allclose(y_pred.compute(), expected, rtol=1e-12)
    np.testing.assert_allclose(named.compute(), expected[X[:, 0] > 3], rtol=1e-12)


def test_predicted_classes():
    words = np.where(np.median(Y) < Y, "yes", "no")
    model = FairClassifier(kernel="linear").fit(X, words, sensitive_features=S)
    found = distributed.predict(model, as_dask(X, CHUNKS["empty and one row"]))
    assert found.dtype == words.dtype
    np.testing.assert_array_equal(found.compute(), model.predict(X))


def test_predicting_with_other_features():
    model = LINEAR(y_bins=3).fit(X, Y, sensitive_features=S)
    with pytest.raises(ValueError, match="X has 3 features, but FairRegressor is expecting 9"):
        distributed.predict(model, as_dask(X[:, :3], CHUNKS["even"]))
    rows = frame(CHUNKS["even"])
    model.fit(rows[NAMES].compute(), Y, sensitive_features=S)
    with pytest.raises(ValueError, match="feature names"):
        distributed.predict(model, rows[NAMES[::-1]])
    broken = frame(CHUNKS["even"], a=spoiled(X[:, 0], 210, np.nan))
    with pytest.raises(ValueError, match=r"Partition 2: .*NaN"):
        distributed.predict(model, broken[NAMES]).compute()
    model.fit(X, Y, sensitive_features=S)
    with pytest.raises(ValueError, match=r"Partition 2: .*NaN"):
        distributed.predict(model, as_dask(spoiled(X, 210, np.nan), CHUNKS["even"])).compute()
