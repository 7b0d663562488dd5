"""The learning problems shared by the tests of the estimators."""

from typing import NamedTuple

import numpy as np
import pytest


class Problem(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    s: np.ndarray  # two groups, which the features and the label give away
    X_new: np.ndarray
    weight: np.ndarray


def read_only(problem):
    """No fit may write into these arrays."""
    for array in problem:
        array.setflags(write=False)
    return problem


@pytest.fixture(scope="session")
def problem():
    """Seventy biased rows and twenty new ones."""
    rng = np.random.default_rng(0)
    s = rng.integers(0, 2, 90)
    X = rng.standard_normal((90, 5)) + 0.8 * s[:, None]
    y = np.sin(X[:, 0]) + X @ [0.5, 1.0, -1.0, 0.2, 0.0] + s + 0.3 * rng.standard_normal(90)
    return read_only(Problem(X[:70], y[:70], s[:70], X[70:], rng.uniform(0.1, 3.0, 70)))


def problem_of_classes(names, seed=1):
    """A hundred biased rows and twenty new ones; each class likes some direction of X."""
    rng = np.random.default_rng(seed)
    s = rng.integers(0, 2, 120)
    X = rng.standard_normal((120, 8)) + 0.5 * s[:, None]
    score = X @ rng.standard_normal((8, len(names))) + np.outer(s, np.arange(len(names)))
    y = np.array(names)[(score + 0.5 * rng.standard_normal(score.shape)).argmax(axis=1)]
    return read_only(Problem(X[:100], y[:100], s[:100], X[100:], rng.uniform(0.1, 3.0, 100)))


@pytest.fixture(scope="session")
def binary():
    return problem_of_classes(["yes", "no"])


@pytest.fixture(scope="session")
def ternary():
    return problem_of_classes(["low", "mid", "high"])


@pytest.fixture(params=["binary", "ternary"])
def classes(request):
    """Two classes or three."""
    return request.getfixturevalue(request.param)
