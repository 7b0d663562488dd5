"""Peak memory of an exact kernel fit, against the bytes of one kernel matrix."""

from __future__ import annotations

from benchmarks.measure import Row, peak_bytes, publish

FIT = """
import numpy as np
from gferm import FairRegressor, frontier
from sklearn.kernel_ridge import KernelRidge
rng = np.random.default_rng(0)
n = {n}
X = rng.normal(size=(n, 100))
s = rng.integers(0, 2, n)
y = X[:, 0] + s + rng.normal(size=n)
{call}
"""
CALLS = {
    "fit": "FairRegressor(gamma=0.01).fit(X, y, sensitive_features=s)",
    "frontier": "frontier(X, y, sensitive_features=s, gamma=0.01)",
}


def run(n: int = 10_000) -> bool:
    matrix = 8 * n**2
    rival = peak_bytes(FIT.format(n=n, call="KernelRidge(kernel='rbf', gamma=0.01).fit(X, y)"))
    rows = []
    for name, call in CALLS.items():
        peak = peak_bytes(FIT.format(n=n, call=call))
        what = f"{name}, n={n}: peak of the whole process / 8n²"
        rows.append(
            Row(what, "8n² bytes", peak / 2**20, matrix / 2**20, peak / matrix, 2.2, unit="MiB")
        )
    return publish("memory", rows, kernel_ridge_over_matrix=rival / matrix)
