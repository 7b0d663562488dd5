"""`gferm fit` on a CSV of 100 000 × 50: beside what pandas needs to read it, and the fit alone."""

from __future__ import annotations

import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from benchmarks.measure import Row, publish, seconds_side_by_side
from gferm import FairRegressor
from gferm.cli.fit import fit

N, D = 100_000, 50

BY_HAND = """
import sys
import pandas as pd
from gferm import FairRegressor
table = pd.read_csv(sys.argv[1])
X = table.drop(columns=["y", "s"])
FairRegressor(kernel="linear").fit(X, table["y"], sensitive_features=table["s"])
"""


def run() -> bool:
    with TemporaryDirectory() as folder:
        path, out = Path(folder, "people.csv"), Path(folder, "model.skops")
        _make().to_csv(path, index=False)
        size = f"{N} × {D}, {path.stat().st_size / 2**20:.0f} MiB"
        rows = []
        command = ["-m", "gferm", "fit", str(path), "--target", "y", "--sensitive", "s"]
        ours, theirs = seconds_side_by_side(
            lambda: _start(*command, "--out", str(out)),
            lambda: _start("-c", BY_HAND, str(path)),
        )
        rival = "pandas.read_csv and fit"
        rows.append(Row(f"gferm fit, a process, {size}", rival, ours, theirs, ours / theirs, 2.0))
        ours, theirs = seconds_side_by_side(lambda: _run_here(path, out), lambda: _by_hand(path))
        rows.append(
            Row(f"the same without imports, {size}", rival, ours, theirs, ours / theirs, 2.0)
        )
    return publish("command_line", rows)


def _make() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    s = rng.integers(0, 2, N)
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(D)])
    return table.assign(y=X @ rng.normal(size=D) + s + rng.normal(size=N), s=s)


def _run_here(path: Path, out: Path) -> None:
    with redirect_stdout(StringIO()):
        fit(path, "y", ["s"], out, as_json=True)


def _by_hand(path: Path) -> None:
    table = pd.read_csv(path)
    X = table.drop(columns=["y", "s"])
    FairRegressor(kernel="linear").fit(X, table["y"], sensitive_features=table["s"])


def _start(*words: str) -> None:
    subprocess.run([sys.executable, *words], check=True, capture_output=True)
