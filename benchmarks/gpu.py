"""One GPU: exact kernels, landmarks, the frontier, cross-validation, and too little memory.

Data are NumPy's arrays on the host, before and after; every time is that of a whole `fit`. The
plain rival of landmarks is a ridge regression on them in a dozen lines of torch: no fairness, no
intervals, raw kernel values. Needs CUDA; it is not among the benchmarks that run by default.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.measure import Row, publish
from gferm import FairRegressor, FairRegressorCV, frontier
from gferm.arrays import Array

EXACT = ((50_000, 4.0), (100_000, 25.0))
MANY, LANDMARKS, BLOCK = 10_000_000, 4_000, 100_000
BOTH = 5_000  # rows that the CPU learns from, too
CROWDED = 30_000
SETTINGS: dict[str, Any] = {"kernel": "rbf", "gamma": 0.02, "y_bins": 5}
SEARCHED: dict[str, Any] = {"gammas": [0.01, 0.05], "epsilons": [0, 0.05, None], "cv": 5}


def run() -> bool:
    import torch

    data = people(MANY)
    rows = [*_agreement(data), *_exact(data), *_crowded(data), *_landmarks(data)]
    return publish("gpu", rows, device=torch.cuda.get_device_name(), torch=torch.__version__)


def people(n: int) -> tuple[Array, Array, Any]:
    """Draw rows with twenty features."""
    rng = np.random.default_rng(0)
    X, s = rng.standard_normal((n, 20)), rng.integers(0, 2, n)
    return X, np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.3 * s + 0.1 * rng.standard_normal(n), s


def learn(data: Any, n: int, method: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Fit on the first n rows; or trace the frontier."""
    X, y, s = (one[:n] for one in data)
    options = SETTINGS | {"device": "cuda"} | options
    if method is not None:
        return method(X, y, sensitive_features=s, **options)
    return FairRegressor(**options).fit(X, y, sensitive_features=s)


def _agreement(data: Any) -> Iterator[Row]:
    """Compare the models of both devices: also what wakes the GPU up."""
    new = data[0][-BOTH:]
    ways: dict[str, dict[str, Any]] = {
        "exact": {},
        "exact, epsilon=0.05": {"epsilon": 0.05},
        "exact, in float32 and refined": {"solver": "refined", "alpha": 10.0},
        "500 landmarks": {"n_landmarks": 500, "random_state": 0},
        "linear": {"kernel": "linear", "gamma": None},
    }
    for name, options in ways.items():
        there = learn(data, BOTH, **options).predict(new)
        here = learn(data, BOTH, **options, device="cpu").predict(new)
        apart = float(np.abs(there - here).max() / np.ptp(here))
        yield Row(f"{name}, n = {BOTH}", "predictions of the CPU", apart, None, apart, 1e-8, "")
    seconds, figures = [], []
    for device in ("cuda", "cpu"):
        search = FairRegressorCV(**SEARCHED, y_bins=5, device=device)
        X, y, s = (one[:BOTH] for one in data)
        took, search = _seconds(lambda: search.fit(X, y, sensitive_features=s))  # noqa: B023
        seconds.append(took)
        figures.append(search.cv_results_["mean_test_error"])
    apart = float(np.abs(figures[0] - figures[1]).max() / figures[1].max())
    what = f"cross-validation, {len(figures[0])} settings, n = {BOTH}"
    yield Row(what, "errors of the CPU", apart, None, apart, 1e-8, "")
    yield Row(what, "the CPU", *seconds, seconds[0] / seconds[1], 1.0)


def _exact(data: Any) -> Iterator[Row]:
    for n, limit in EXACT:
        for name, method, options in (
            ("fair fit", None, {"epsilon": 0.05}),
            ("frontier", frontier, {}),
            ("fair fit in float32, refined", None, {"epsilon": 0.05, "solver": "refined"}),
        ):
            took, found = _seconds(lambda: learn(data, n, method, **options))  # noqa: B023
            note = f" ({len(found)} breakpoints)" if method else f", gap {found.duality_gap_:.0e}"
            yield Row(f"{name}, n = {n}{note}", "seconds", took, None, took, limit)
            del found


def _crowded(data: Any) -> Iterator[Row]:
    """Leave too little memory for the kernel: it is factorised from the host's."""
    import torch

    roomy = _seconds(lambda: learn(data, CROWDED))
    new = data[0][-BOTH:]
    expected = roomy[1].predict(new)
    torch.cuda.empty_cache()
    free, _ = torch.cuda.mem_get_info()
    ballast = torch.empty(free - 6 * CROWDED**2, dtype=torch.uint8, device="cuda")
    crowded = _seconds(lambda: learn(data, CROWDED))
    apart = float(np.abs(crowded[1].predict(new) - expected).max() / np.ptp(expected))
    del ballast
    what = f"out of core, n = {CROWDED}, {6 * CROWDED**2 / 1e9:.1f} GB free"
    yield Row(what, "predictions in core", apart, None, apart, 1e-8, "")
    alone, _ = _seconds(lambda: learn(data, CROWDED, device="cpu"))
    rival = f"the CPU's {os.cpu_count()} cores (in core: {roomy[0]:.2f} s)"
    yield Row(what, rival, crowded[0], alone, crowded[0] / alone, 1.0)


def _landmarks(data: Any) -> Iterator[Row]:
    points: dict[str, Any] = {"n_landmarks": LANDMARKS, "random_state": 0}
    what = f"{LANDMARKS} landmarks, n = {MANY}, d = {data[0].shape[1]}"
    fair, model = _seconds(lambda: learn(data, MANY, **points, epsilon=0.05))
    yield Row(f"fair fit, {what}", "seconds", fair, None, fair, 60.0)
    unfair, _ = _seconds(lambda: learn(data, MANY, **points, epsilon=None))
    yield Row(f"fair fit, {what}", "the same without fairness", fair, unfair, fair / unfair, 1.15)
    plain, _ = _seconds(lambda: plain_ridge(*data[:2], model.X_fit_))
    yield Row(f"fair fit, {what}", "a plain ridge in torch", fair, plain, fair / plain, 1.15)
    whole, path = _seconds(lambda: learn(data, MANY, frontier, **points))
    what = f"frontier ({len(path)} breakpoints), {what}"
    yield Row(what, "seconds", whole, None, whole, 60.0)


def plain_ridge(X: Array, y: Array, points: Array) -> Any:
    """Ridge regression on kernel values, as one would write it for a GPU in float64."""
    import torch

    z, gamma = torch.as_tensor(points, device="cuda"), SETTINGS["gamma"]
    square = torch.zeros((len(z), len(z)), dtype=torch.float64, device="cuda")
    cross = torch.zeros(len(z), dtype=torch.float64, device="cuda")
    norms = (z * z).sum(1)
    for at in range(0, len(X), BLOCK):
        x = torch.as_tensor(X[at : at + BLOCK], device="cuda")
        values = torch.addmm(norms + (x * x).sum(1)[:, None], x, z.T, alpha=-2.0)
        values = values.clamp_(min=0.0).mul_(-gamma).exp_()
        square.addmm_(values.T, values)
        cross += values.T @ torch.as_tensor(y[at : at + BLOCK], device="cuda")
    between = torch.exp(-gamma * torch.cdist(z, z) ** 2)
    return torch.linalg.solve(square + between, cross).cpu()


def _seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    import torch

    torch.cuda.empty_cache()
    start = time.perf_counter()
    done = work()
    torch.cuda.synchronize()
    return time.perf_counter() - start, done
