"""Timing, memory and the results file, shared by all benchmarks."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy
import scipy
import sklearn
from rich.console import Console
from rich.table import Table

import gferm

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Row:
    """One figure: ours beside the rival's, and the limit it must keep."""

    what: str
    rival: str
    ours: float
    theirs: float | None
    figure: float
    limit: float
    unit: str = "s"
    at_most: bool = True

    @property
    def kept(self) -> bool:
        return self.figure <= self.limit if self.at_most else self.figure >= self.limit


def seconds_side_by_side(
    ours: Callable[[], Any], theirs: Callable[[], Any], *, repeats: int = 7
) -> tuple[float, float]:
    """Median seconds of both, run in turn so that a noisy minute hits them alike."""
    pairs: list[tuple[float, float]] = []
    ours(), theirs()
    for _ in range(repeats):
        pairs.append((_seconds(ours), _seconds(theirs)))
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)


def _seconds(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def peak_bytes(code: str) -> int:
    """Peak resident memory of a fresh interpreter that runs ``code`` (Linux)."""
    # not ru_maxrss: a child inherits that from the process that started it
    script = f"{code}\nprint(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])"
    script = f"import re\n{script}"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=os.environ
    )
    return int(done.stdout.split()[-1]) * 1024


def publish(name: str, rows: list[Row], **details: Any) -> bool:
    """Print a table, write benchmarks/results/<name>.json, and say whether all limits held."""
    table = Table(title=name)
    for column in ("what", "rival", "ours", "theirs", "figure", "limit", ""):
        table.add_column(column, justify="left" if column in ("what", "rival") else "right")
    for row in rows:
        sign = "≤" if row.at_most else "≥"
        table.add_row(
            row.what,
            row.rival,
            f"{row.ours:.4g} {row.unit}",
            "–" if row.theirs is None else f"{row.theirs:.4g} {row.unit}",
            f"{row.figure:.3g}",
            f"{sign} {row.limit:g}",
            "[green]kept[/green]" if row.kept else "[red]missed[/red]",
        )
    Console(width=120).print(table)
    record = {
        "benchmark": name,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}",
        "python": platform.python_version(),
        "versions": {m.__name__: m.__version__ for m in (gferm, numpy, scipy, sklearn)},
        "rows": [asdict(row) | {"kept": bool(row.kept)} for row in rows],
        **details,
    }
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False, default=float) + "\n"
    (RESULTS / f"{name}.json").write_text(text, encoding="utf-8")
    return all(row.kept for row in rows)
