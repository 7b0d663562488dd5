"""Time and memory of every way to learn, as rows grow: the numbers behind docs/scaling.md.

Twenty features, five label bins (or two classes: logistic loss), two groups, an active epsilon. On
the CPU every point is a process of its own, and memory is what `fit` took beyond the data; on a GPU
it is what torch took there.

``python -m benchmarks growth`` writes growth_cpu.json, and where there is CUDA growth_gpu.json too.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import gferm
from benchmarks.measure import RESULTS
from gferm import FairClassifier, FairRegressor

EDGES = [-np.inf, -0.6, -0.2, 0.2, 0.6, np.inf]
KERNEL: dict[str, Any] = {"kernel": "rbf", "gamma": 0.02}
MODEL: dict[str, Any] = {"y_bins": EDGES, "s_bins": [-0.5, 0.5, 1.5], "epsilon": 0.05}
CHUNK = 100_000
ON_CPU = {
    "exact": (1_000, 2_000, 4_000, 8_000, 16_000),
    "2000 landmarks": (4_000, 16_000, 64_000, 256_000, 1_000_000),
    "classes, 500 landmarks": (4_000, 16_000, 64_000, 256_000),
    "linear": (10_000, 100_000, 1_000_000, 10_000_000),
    "linear, streamed": (1_000_000, 10_000_000, 100_000_000),
    "linear, Dask": (1_000_000, 10_000_000),
}
ON_GPU = {
    "exact": (1_000, 4_000, 16_000, 50_000, 100_000),
    "4000 landmarks": (10_000, 100_000, 1_000_000, 10_000_000),
    "classes, 500 landmarks": (10_000, 100_000, 1_000_000),
    "linear": (100_000, 1_000_000, 10_000_000),
}


def run() -> bool:
    if not _has_cuda():
        _write("growth_cpu", platform.machine(), list(_grow(ON_CPU)))
        return True
    import torch

    _write("growth_gpu", torch.cuda.get_device_name(), list(_grow_on_gpu()))
    return True


def people(n: int) -> tuple[Any, Any, Any]:
    """Draw rows."""
    rng = np.random.default_rng(0)
    X, s = rng.standard_normal((n, 20)), rng.integers(0, 2, n)
    return X, np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.3 * s + 0.1 * rng.standard_normal(n), s


def learn(way: str, data: Any, n: int, device: str = "cpu") -> None:
    """Fit once."""
    X, y, s = data
    many = re.search(r"(\d+) landmarks", way)
    options = MODEL | ({"kernel": "linear"} if way.startswith("linear") else KERNEL)
    if many:
        options |= {"n_landmarks": int(many[1]), "random_state": 0}
    if way.startswith("classes"):
        options |= {"y_bins": "classes", "epsilon": 0.02}
        FairClassifier("log_loss", **options, device=device).fit(X, y > 0, sensitive_features=s)
        return
    model = FairRegressor(**options, device=device)
    if way == "linear, streamed":
        from gferm.streaming import Chunk, fit_stream

        fit_stream(model, (Chunk(X, y, s) for _ in range(n // CHUNK)))
    elif way == "linear, Dask":
        from gferm import distributed

        distributed.fit(model, X, y, sensitive_features=s)
    else:
        model.fit(X, y, sensitive_features=s)


def measure(way: str, n: int) -> dict[str, Any]:
    """Measure one point in this process."""
    if way == "linear, Dask":
        return _measure_dask(n)
    data = people(CHUNK if way.endswith("streamed") else n)
    learn(way, [one[:CHUNK] for one in people(2_500)], CHUNK)  # imports, threads
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak starts anew
    before = _memory("VmRSS")
    start = time.perf_counter()
    learn(way, data, n)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "bytes": max(_memory("VmHWM") - before, 0)}


def _measure_dask(n: int) -> dict[str, Any]:
    import dask.array as da
    from dask import delayed
    from dask.distributed import Client, LocalCluster, wait

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        drawn = [delayed(people, nout=3, pure=False)(CHUNK) for _ in range(n // CHUNK)]
        spread = [
            da.concatenate([da.from_delayed(part[j], shape, dtype=float) for part in drawn])
            for j, shape in enumerate([(CHUNK, 20), (CHUNK,), (CHUNK,)])
        ]
        spread = list(client.persist(spread))
        wait(spread)
        learn("linear, Dask", [one[:CHUNK] for one in spread], CHUNK)
        start = time.perf_counter()
        learn("linear, Dask", spread, n)
        return {"seconds": time.perf_counter() - start, "bytes": None}


def _memory(field: str) -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    found = re.search(rf"{field}:\s+(\d+)", status)
    assert found
    return int(found[1]) * 1024


def _grow(ways: dict[str, tuple[int, ...]]) -> Iterator[dict[str, Any]]:
    for way, sizes in ways.items():
        for n in sizes:
            code = (
                f"import json, benchmarks.growth as g; print(json.dumps(g.measure({way!r}, {n})))"
            )
            done = subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True
            )
            yield _told({"way": way, "n": n, **json.loads(done.stdout.splitlines()[-1])})


def _grow_on_gpu() -> Iterator[dict[str, Any]]:
    import torch

    data = people(max(max(sizes) for sizes in ON_GPU.values()))
    for way, sizes in ON_GPU.items():
        learn(way, [one[: sizes[0]] for one in data], sizes[0], device="cuda")  # wakes the GPU
        for n in sizes:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            start = time.perf_counter()
            learn(way, [one[:n] for one in data], n, device="cuda")
            seconds = time.perf_counter() - start
            most = torch.cuda.max_memory_allocated()
            yield _told({"way": way, "n": n, "seconds": seconds, "bytes": most})


def _told(point: dict[str, Any]) -> dict[str, Any]:
    print(*point.values(), flush=True)
    return point


def _has_cuda() -> bool:
    if find_spec("torch") is None:
        return False
    import torch

    return bool(torch.cuda.is_available())


def _write(name: str, machine: str, points: list[dict[str, Any]]) -> None:
    record = {
        "benchmark": name,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": f"{os.cpu_count()} cores, {machine}",
        "versions": {"gferm": gferm.__version__, "numpy": np.__version__},
        "points": points,
    }
    (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
