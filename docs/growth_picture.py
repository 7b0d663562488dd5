"""docs/pictures/growth.png: time and memory against rows, from benchmarks/results/growth_*.json."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt
from matplotlib.lines import Line2D

from gferm.plotting.style import group_style, tidy

RESULTS = Path(__file__).parent.parent / "benchmarks" / "results"
ROWS = {1e3: "1 k", 1e4: "10 k", 1e5: "100 k", 1e6: "1 M", 1e7: "10 M", 1e8: "100 M"}
SECONDS = {0.01: "10 ms", 0.1: "0.1 s", 1: "1 s", 10: "10 s", 60: "1 min"}
BYTES = {1e7: "10 MB", 1e8: "100 MB", 1e9: "1 GB", 1e10: "10 GB", 1e11: "100 GB"}
WAYS = {  # what they are called in the results: the colour and the shape, and the legend
    "exact": (0, "exact kernel"),
    "2000 landmarks": (1, "2000 landmarks (GPU: 4000)"),
    "4000 landmarks": (1, ""),
    "classes, 500 landmarks": (2, "classes, 500 landmarks"),
    "linear": (3, "linear"),
    "linear, streamed": (4, "linear, streamed"),
    "linear, Dask": (5, "linear, Dask"),
}
ON_GPU: dict[str, Any] = {"mfc": "white", "ls": (0, (4, 2))}


def draw(path: Path) -> None:
    """Draw both panels: colours are ways to learn; those of the GPU are hollow and dashed."""
    figure, panels = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
    for way, on_gpu, points in _curves():
        style: dict[str, Any] = group_style(WAYS[way][0]) | {"ms": 5.5, "lw": 1.5}
        if on_gpu:
            style |= ON_GPU
        for ax, value in zip(panels, ("seconds", "bytes"), strict=True):
            known = [point for point in points if point[value]]
            ax.plot([p["n"] for p in known], [p[value] for p in known], **style)
    titles = ("Time of a fair fit", "Memory beyond the data (GPU: on it)")
    for ax, ticks, title in zip(panels, (SECONDS, BYTES), titles, strict=True):
        tidy(ax)
        ax.set(xscale="log", yscale="log", xlabel="rows")
        ax.set_title(title, loc="left")
        ax.set_xticks(list(ROWS), list(ROWS.values()))
        ax.set_yticks(list(ticks), list(ticks.values()))
        ax.minorticks_off()
    panels[1].set_ylim(bottom=5e6)
    ways = [
        Line2D([], [], ls="-", label=name, **group_style(q)) for q, name in WAYS.values() if name
    ]
    places = [
        Line2D([], [], color="0.35", marker="o", label="2 cores"),
        Line2D([], [], color="0.35", marker="o", label="one H200", **ON_GPU),
    ]
    figure.legend(handles=[*ways, *places], loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _curves() -> Iterator[tuple[str, bool, list[dict[str, Any]]]]:
    for place in ("cpu", "gpu"):
        text = (RESULTS / f"growth_{place}.json").read_text(encoding="utf-8")
        for way, points in groupby(json.loads(text)["points"], itemgetter("way")):
            yield way, place == "gpu", list(points)
