"""docs/pictures/growth.png: time and memory against rows, from benchmarks/results/growth_*.json."""

from __future__ import annotations

import json
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt
from matplotlib.ticker import FuncFormatter

from gferm.plotting.style import look, tidy

RESULTS = Path(__file__).parent.parent / "benchmarks" / "results"
SECONDS = {0.01: "10 ms", 0.1: "0.1 s", 1: "1 s", 10: "10 s", 60: "1 min"}
BYTES = {1e7: "10 MB", 1e8: "100 MB", 1e9: "1 GB", 1e10: "10 GB", 1e11: "100 GB"}


def draw(path: Path) -> None:
    """Draw both panels: colours are ways to learn, hollow points are those of the GPU."""
    figure, (times, sizes) = plt.subplots(1, 2, figsize=(10.5, 4.4), layout="constrained")
    ways = list(_ways())
    for q, (label, on_gpu, points) in enumerate(ways):
        style: dict[str, Any] = look(q) | {"ms": 5, "lw": 1.4, "label": label}
        if on_gpu:
            style |= {"mfc": "white", "ls": "--"}
        for ax, value in ((times, "seconds"), (sizes, "bytes")):
            known = [point for point in points if point[value]]
            ax.plot([p["n"] for p in known], [p[value] for p in known], **style)
    for ax, ticks, title in (
        (times, SECONDS, "Time of a fair fit"),
        (sizes, BYTES, "Memory beyond the data"),
    ):
        tidy(ax)
        ax.set(xscale="log", yscale="log", xlabel="rows")
        ax.set_title(title, loc="left")
        ax.set_yticks(list(ticks), list(ticks.values()))
        ax.minorticks_off()
        ax.xaxis.set_major_formatter(FuncFormatter(_rows))
    sizes.set_ylim(bottom=3e6)
    figure.legend(*times.get_legend_handles_labels(), loc="outside right upper", frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _ways() -> Any:
    for name, where in (("growth_cpu", "2 cores"), ("growth_gpu", "one H200")):
        record = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
        for way, points in groupby(record["points"], itemgetter("way")):
            yield f"{way}, {where}", name == "growth_gpu", list(points)


def _rows(n: float, _: int) -> str:
    for size, unit in ((1e6, " million"), (1e3, " 000")):
        if n >= size:
            return f"{n / size:g}{unit}"
    return f"{n:g}"
