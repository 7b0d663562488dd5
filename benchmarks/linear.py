"""A million rows, linear kernel: time and memory beside scikit-learn's Ridge."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import Ridge

from benchmarks.measure import Row, peak_bytes, publish, seconds_side_by_side
from gferm import FairRegressor

N, D = 1_000_000, 50

PEAK = """
import numpy as np
from gferm import FairRegressor
from sklearn.linear_model import Ridge
rng = np.random.default_rng(0)
n, d = {n}, {d}
X = rng.normal(size=(n, d))
s = rng.integers(0, 2, n)
y = X @ rng.normal(size=d) + s
{call}
"""


def run() -> bool:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    s = rng.integers(0, 2, N)
    y = X @ rng.normal(size=D) + s + rng.normal(size=N)
    plain = Ridge(solver="cholesky")
    rows = []
    gap = FairRegressor(kernel="linear", epsilon=None).fit(X, y, sensitive_features=s).violation_
    for epsilon in (0.0, gap / 3):
        fair = FairRegressor(kernel="linear", epsilon=epsilon)
        ours, theirs = seconds_side_by_side(
            lambda fair=fair: fair.fit(X, y, sensitive_features=s),
            lambda: plain.fit(X, y),
            repeats=5,
        )
        name = f"fit, n={N}, d={D}, epsilon={'0' if not epsilon else 'active'}"
        rows.append(Row(name, "Ridge(cholesky).fit", ours, theirs, ours / theirs, 1.5))
    fair_call = "FairRegressor(kernel='linear').fit(X, y, sensitive_features=s)"
    ridge_call = "Ridge(solver='cholesky').fit(X, y)"
    ours = peak_bytes(PEAK.format(n=N, d=D, call=fair_call)) / 2**20
    theirs = peak_bytes(PEAK.format(n=N, d=D, call=ridge_call)) / 2**20
    name = f"peak memory, n={N}, d={D} (X itself: {8 * N * D / 2**20:.0f} MiB)"
    rows.append(Row(name, "Ridge(cholesky).fit", ours, theirs, ours / theirs, 1.0, unit="MiB"))
    return publish("linear", rows)
