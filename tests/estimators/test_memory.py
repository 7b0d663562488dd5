"""What a fit has worked with is let go when it ends, not when a collector comes by."""

import gc
import weakref

import numpy as np
import pytest

from gferm import FairClassifier, FairRegressor
from gferm.features.nystroem import KernelRows
from gferm.solver.cholesky import Cholesky

MODELS = {
    "square": FairRegressor(y_bins=2),
    "active": FairRegressor(y_bins=2, epsilon=0.02),
    "huber": FairRegressor("huber", y_bins=2),
    "linear": FairRegressor(kernel="linear", y_bins=2),
    "landmarks": FairRegressor(n_landmarks=20, random_state=0, y_bins=2),
    "absolute": FairRegressor("absolute", kernel="linear", y_bins=2),
    "classes": FairClassifier("log_loss", n_landmarks=20, random_state=0),
    "hinge": FairClassifier("hinge", kernel="linear", epsilon=0.05),
}


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.usefixtures("no_collector")
def test_a_fit_leaves_no_factor_and_no_kernel_values_behind(name, monkeypatch):
    made, factorize, remember = [], Cholesky.__init__, KernelRows.remembered

    def watched(self, *arguments):
        factorize(self, *arguments)
        made.append(weakref.ref(self))

    def watched_rows(self):
        values = remember(self)
        made.append(weakref.ref(values))
        return values

    monkeypatch.setattr(Cholesky, "__init__", watched)
    monkeypatch.setattr(KernelRows, "remembered", watched_rows)
    rng = np.random.default_rng(0)
    X, s = rng.normal(size=(120, 3)), rng.integers(0, 2, 120)
    y = X[:, 0] + 0.3 * s + 0.1 * rng.normal(size=120)
    labels = y > 0 if isinstance(MODELS[name], FairClassifier) else y
    MODELS[name].fit(X, labels, sensitive_features=s)
    assert made
    assert not any(one() is not None for one in made)
