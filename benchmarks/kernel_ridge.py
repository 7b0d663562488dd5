"""Fair kernel regression beside scikit-learn's plain KernelRidge: fit, frontier, predict."""

from __future__ import annotations

import numpy as np
from sklearn.kernel_ridge import KernelRidge

from benchmarks.measure import Row, publish, seconds_side_by_side
from gferm import FairRegressor, frontier

N_FEATURES = 100
KERNEL = {"kernel": "rbf", "gamma": 1 / N_FEATURES, "alpha": 1.0}
LIMITS = {"fit": 1.25, "frontier": 1.5, "predict": 1.1}


def make_problem(n: int, n_groups: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    s = rng.integers(0, n_groups, n)
    X = rng.normal(size=(n, N_FEATURES)) + 0.3 * s[:, None] * rng.normal(size=N_FEATURES)
    y = X @ rng.normal(size=N_FEATURES) / 10 + np.sin(X[:, 0]) + 0.5 * s + rng.normal(size=n) / 5
    return X, y, s


def run(sizes: tuple[int, ...] = (2000, 5000)) -> bool:
    rows = []
    for n in sizes:
        for n_groups in (2, 5):
            X, y, s = make_problem(n, n_groups)
            plain = KernelRidge(**KERNEL)
            path = frontier(X, y, sensitive_features=s, **KERNEL)
            active = float(path.epsilons[0] / 3)
            for epsilon in (0.0, active):
                fair = FairRegressor(epsilon=epsilon, **KERNEL)
                ours, theirs = seconds_side_by_side(
                    lambda fair=fair: fair.fit(X, y, sensitive_features=s),
                    lambda: plain.fit(X, y),
                )
                name = f"fit, n={n}, {n_groups} groups, epsilon={'0' if not epsilon else 'active'}"
                rows.append(
                    Row(name, "KernelRidge.fit", ours, theirs, ours / theirs, LIMITS["fit"])
                )
            ours, theirs = seconds_side_by_side(
                lambda: frontier(X, y, sensitive_features=s, **KERNEL), lambda: plain.fit(X, y)
            )
            name = f"frontier, n={n}, {n_groups} groups, {len(path)} breakpoints"
            rows.append(
                Row(name, "KernelRidge.fit", ours, theirs, ours / theirs, LIMITS["frontier"])
            )
        ours, theirs = seconds_side_by_side(lambda: fair.predict(X), lambda: plain.predict(X))
        name = f"predict, n={n}, {n} rows"
        rows.append(
            Row(name, "KernelRidge.predict", ours, theirs, ours / theirs, LIMITS["predict"])
        )
    return publish("kernel_ridge", rows, settings=KERNEL | {"n_features": N_FEATURES})
