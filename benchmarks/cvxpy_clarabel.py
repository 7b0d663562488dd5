"""The same fair problem in CVXPY with Clarabel: speed, objective and constraint."""

from __future__ import annotations

import statistics
import time

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from tests.comparing import compared_by
from tests.oracle import solve_reference

from benchmarks.measure import Row, publish
from gferm import FairRegressor
from gferm.datasets import load_crime

SETTINGS = {"kernel": "rbf", "gamma": 0.1, "alpha": 0.3}


def run(n: int = 1000) -> bool:
    crime = load_crime()
    rows = np.random.default_rng(0).permutation(crime.target.size)[:n]
    X, y, s = crime.data[rows], crime.target[rows], crime.sensitive_features[rows]
    results = []
    for epsilon in (0.0, 0.03):
        model = FairRegressor(epsilon=epsilon, y_bins=crime.y_bins, s_bins=crime.s_bins, **SETTINGS)
        times = []
        for _ in range(7):
            start = time.perf_counter()
            model.fit(X, y, sensitive_features=s)
            times.append(time.perf_counter() - start)
        ours = statistics.median(times)
        start = time.perf_counter()
        reference = solve_reference(
            y,
            compared_by(model, y, s),
            epsilon,
            SETTINGS["alpha"],
            kernel_matrix=rbf_kernel(X, gamma=SETTINGS["gamma"]),
        )
        theirs = time.perf_counter() - start
        name = f"fit, n={n}, epsilon={epsilon:g}"
        results.append(
            Row(name, "CVXPY + Clarabel", ours, theirs, theirs / ours, 300, at_most=False)
        )
        difference = abs(model.objective_ - reference.objective) / reference.objective
        results.append(
            Row(
                f"objective, epsilon={epsilon:g}: relative difference",
                "CVXPY + Clarabel",
                model.objective_,
                reference.objective,
                difference,
                1e-6,
                unit="",
            )
        )
        gap = float(np.abs(model.contrasts_.gaps(model.predict(X), y, s)).mean())
        results.append(
            Row(
                f"constraint, epsilon={epsilon:g}: excess of the mean gap",
                "epsilon",
                gap,
                epsilon,
                max(gap - epsilon, 0.0),
                1e-8,
                unit="",
            )
        )
    return publish("cvxpy_clarabel", results, settings=SETTINGS | {"n": n, "data": "crime"})
