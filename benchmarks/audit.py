"""`audit` with 1000 bootstrap draws and 1000 shuffles, beside the peer that has intervals.

fairlearn's MetricFrame draws the rows again for its intervals and has no shuffles: it is given the
same two columns, label bin and group, and one metric, the share of hits. It makes 20 draws, because
1000 take minutes; its time for as many as ours is that of 20 times 50, less what it takes without.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from fairlearn.metrics import MetricFrame

from benchmarks.measure import Row, peak_bytes, publish, seconds_side_by_side
from gferm import audit
from gferm.arrays import Array

N, N_BINS, N_GROUPS = 20_000, 10, 5
DRAWS, THEIR_DRAWS = 1000, 20
LIMIT = 5.0  # seconds on two cores
MEMORY = f"""
import numpy as np
import gferm
from benchmarks.audit import make
y, f, s = make()
if {{audited}}:
    gferm.audit(y, f, sensitive_features=s, y_bins={N_BINS})
"""


def run() -> bool:
    y, f, s = make()
    ours, theirs = seconds_side_by_side(
        lambda: audit(y, f, sensitive_features=s, y_bins=N_BINS), lambda: _frame(y, f, s), repeats=5
    )
    plain, _ = seconds_side_by_side(lambda: _frame(y, f, s, draws=None), lambda: None, repeats=5)
    thousand = plain + (theirs - plain) * DRAWS / THEIR_DRAWS
    size = f"n = {N}, K = {N_BINS}, Q = {N_GROUPS}"
    rival = f"fairlearn MetricFrame, one metric, {DRAWS} draws (from {THEIR_DRAWS})"
    rows = [
        Row(f"audit, {DRAWS} draws and {DRAWS} shuffles, {size}", rival, ours, thousand, ours,
            LIMIT),
        Row("their time over ours", rival, ours, thousand, thousand / ours, 1.0, at_most=False),
    ]  # fmt: skip
    used, empty = (peak_bytes(MEMORY.format(audited=audited)) for audited in (True, False))
    mebibytes = (used - empty) / 2**20
    rows.append(
        Row("memory on top of imports and data", "–", mebibytes, None, mebibytes, 500.0, "MiB")
    )
    return publish("audit", rows)


def make() -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(0)
    s = rng.integers(0, N_GROUPS, N)
    y = rng.uniform(0, 1, N)
    return y, y + 0.02 * s + rng.normal(0, 0.1, N), s


def _frame(y: Array, f: Array, s: Array, draws: int | None = THEIR_DRAWS) -> MetricFrame:
    bins = np.linspace(0, 1, N_BINS + 1)[1:-1]
    of_label, of_prediction = np.digitize(y, bins), np.digitize(f, bins)
    return MetricFrame(
        metrics=_share_of_hits,
        y_true=of_label,
        y_pred=of_prediction,
        sensitive_features=pd.DataFrame({"bin": of_label, "group": s}),
        n_boot=draws,
        ci_quantiles=[0.025, 0.975] if draws else None,
        random_state=0,
    )


def _share_of_hits(y_true: Array, y_pred: Array) -> float:
    return float(np.mean(y_true == y_pred))
