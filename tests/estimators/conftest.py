"""The learning problem shared by the tests of the estimators."""

from typing import NamedTuple

import numpy as np
import pytest


class Problem(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    s: np.ndarray  # two groups, which the features and the label give away
    X_new: np.ndarray
    weight: np.ndarray


@pytest.fixture(scope="session")
def problem():
    """Seventy biased rows and twenty new ones; read-only, so that no fit may write into them."""
    rng = np.random.default_rng(0)
    s = rng.integers(0, 2, 90)
    X = rng.standard_normal((90, 5)) + 0.8 * s[:, None]
    y = np.sin(X[:, 0]) + X @ [0.5, 1.0, -1.0, 0.2, 0.0] + s + 0.3 * rng.standard_normal(90)
    made = Problem(X[:70], y[:70], s[:70], X[70:], rng.uniform(0.1, 3.0, 70))
    for array in made:
        array.setflags(write=False)
    return made
