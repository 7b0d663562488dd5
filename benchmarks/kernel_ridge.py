"""Fair kernel regression beside scikit-learn's plain KernelRidge: fit, frontier, predict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.kernel_ridge import KernelRidge

from benchmarks.measure import Row, publish, seconds_side_by_side
from gferm import FairRegressor, frontier

N_FEATURES = 100
KERNEL = {"kernel": "rbf", "gamma": 1 / N_FEATURES, "alpha": 1.0}


def make_problem(n: int, n_groups: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    s = rng.integers(0, n_groups, n)
    X = rng.normal(size=(n, N_FEATURES)) + 0.3 * s[:, None] * rng.normal(size=N_FEATURES)
    y = X @ rng.normal(size=N_FEATURES) / 10 + np.sin(X[:, 0]) + 0.5 * s + rng.normal(size=n) / 5
    return X, y, s


def compare_fits(n: int, n_groups: int) -> list[Row]:
    X, y, s = make_problem(n, n_groups)
    plain = KernelRidge(**KERNEL)
    path = frontier(X, y, sensitive_features=s, **KERNEL)
    problem = f"n={n}, {n_groups} groups"

    def compare(name: str, ours: Callable[[], Any], limit: float) -> Row:
        seconds = seconds_side_by_side(ours, lambda: plain.fit(X, y))
        return Row(
            f"{name}, {problem}", "KernelRidge.fit", *seconds, seconds[0] / seconds[1], limit
        )

    exact = FairRegressor(epsilon=0.0, **KERNEL)
    active = FairRegressor(epsilon=path.epsilons[0] / 3, **KERNEL)
    return [
        compare("fit, epsilon=0", lambda: exact.fit(X, y, sensitive_features=s), 1.25),
        compare("fit, active epsilon", lambda: active.fit(X, y, sensitive_features=s), 1.25),
        compare(
            f"frontier, {len(path)} breakpoints",
            lambda: frontier(X, y, sensitive_features=s, **KERNEL),
            1.5,
        ),
    ]


def compare_predictions(n: int) -> Row:
    X, y, s = make_problem(n, 2)
    plain = KernelRidge(**KERNEL).fit(X, y)
    fair = FairRegressor(**KERNEL).fit(X, y, sensitive_features=s)
    seconds = seconds_side_by_side(lambda: fair.predict(X), lambda: plain.predict(X), repeats=11)
    return Row(f"predict, n={n}", "KernelRidge.predict", *seconds, seconds[0] / seconds[1], 1.1)


def run(sizes: tuple[int, ...] = (2000, 5000)) -> bool:
    rows = [row for n in sizes for n_groups in (2, 5) for row in compare_fits(n, n_groups)]
    rows += [compare_predictions(n) for n in sizes]
    return publish("kernel_ridge", rows, settings=KERNEL | {"n_features": N_FEATURES})
