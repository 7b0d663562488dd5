"""More rows than fit: sums over chunks, and landmarks, beside the products they cannot do without.

Streaming: 10 million × 100 float32 rows in 80 chunks, 8 different ones held in memory. The rival is
the loop `total += X.T @ X` over the same chunks, in doubles (as the sums are) and as it stands
(float32: half of the work, and half of the digits). Landmarks: the rival evaluates the kernel
between rows and landmarks in the same blocks and multiplies it with itself; and the model without
fairness.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.measure import Row, peak_bytes, publish, seconds_side_by_side
from gferm import FairRegressor
from gferm.arrays import Array
from gferm.blocks import row_blocks
from gferm.device import CPU
from gferm.kernels import Kernel
from gferm.nystroem import KernelRows
from gferm.streaming import Chunk, fit_stream

ROWS, D, N_CHUNKS, RESIDENT = 125_000, 100, 80, 8
EDGES = np.linspace(-1, 1, 11)
MEMORY = """
from benchmarks.scale import Stream, fit_linear
stream = Stream()
if {fitted}:
    fit_linear(stream)
"""
N, FEW, LANDMARKS = 500_000, 6_000, 2_000


class Stream:
    """Chunks that come again and again, so that most of them are not in memory."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        slopes = rng.normal(size=D) / D
        self.parts = []
        for _ in range(RESIDENT):
            X = rng.normal(size=(ROWS, D)).astype(np.float32)
            s = rng.integers(0, 2, ROWS)
            y = np.clip(X @ slopes + 0.2 * s + 0.1 * rng.normal(size=ROWS), -1, 1)
            self.parts.append(Chunk(X, y, s))

    def __iter__(self) -> Iterator[Chunk]:
        for k in range(N_CHUNKS):
            yield self.parts[k % RESIDENT]


def fit_linear(stream: Stream) -> FairRegressor:
    return fit_stream(FairRegressor(kernel="linear", y_bins=EDGES), stream)


def run() -> bool:
    return publish("scale", [*_streaming(), *_landmarks()])


def _streaming() -> Iterator[Row]:
    stream = Stream()
    what = f"fit_stream, {N_CHUNKS * ROWS // 1_000_000} million × {D} float32"
    for dtype in (np.float64, np.float32):
        ours, theirs = seconds_side_by_side(
            lambda: fit_linear(stream), lambda dtype=dtype: _products(stream, dtype), repeats=3
        )
        rival = f"X.T @ X of the same chunks, {np.dtype(dtype).name}"
        yield Row(what, rival, ours, theirs, ours / theirs, 1.3)
    peak = peak_bytes(MEMORY.format(fitted=True)) / 2**20
    empty = peak_bytes(MEMORY.format(fitted=False)) / 2**20
    rival = "the process with its 8 chunks alone"
    yield Row("peak memory, 8 chunks held", rival, peak, empty, peak, 1024.0, "MiB")


def _products(stream: Stream, dtype: type) -> Array:
    total = np.zeros((D, D), dtype=dtype)
    for chunk in stream:
        X = chunk.X.astype(dtype, copy=False)
        total += X.T @ X
    return total


def _landmarks() -> Iterator[Row]:
    X, y, s = _curved(N)
    kernel = {"kernel": "rbf", "gamma": 0.05, "alpha": 1.0, "y_bins": 5}
    points = {"n_landmarks": LANDMARKS, "random_state": 0}

    def fit(epsilon: float | None) -> FairRegressor:
        return FairRegressor(**kernel, **points, epsilon=epsilon).fit(X, y, sensitive_features=s)

    what = f"fair fit, {LANDMARKS} landmarks, n = {N}, d = {X.shape[1]}"
    ours, theirs = seconds_side_by_side(lambda: fit(0.0), lambda: _kernel_products(X), repeats=1)
    yield Row(what, "its kernel blocks and their products", ours, theirs, ours / theirs, 1.3)
    ours, theirs = seconds_side_by_side(lambda: fit(0.0), lambda: fit(None), repeats=1)
    yield Row(what, "the same without fairness", ours, theirs, ours / theirs, 1.15)
    X_new, y_new, _ = _curved(20_000, seed=1)
    few = {"sensitive_features": s[:FEW]}
    exact = FairRegressor(**kernel, epsilon=0.0).fit(X[:FEW], y[:FEW], **few)
    approximate = FairRegressor(**kernel, **points, epsilon=0.0).fit(X[:FEW], y[:FEW], **few)
    errors = [np.sqrt(np.mean((m.predict(X_new) - y_new) ** 2)) for m in (approximate, exact)]
    rival = f"the exact model of the same {FEW} rows"
    yield Row("test error on landmarks", rival, *errors, errors[0] / errors[1], 1.02, "RMSE")


def _curved(n: int, seed: int = 0) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    X, s = rng.normal(size=(n, 20)), rng.integers(0, 2, n)
    return X, np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.3 * s + 0.1 * rng.normal(size=n), s


def _kernel_products(X: Array) -> Array:
    rows = KernelRows(X, X[:LANDMARKS], Kernel("rbf", gamma=0.05), CPU)
    total = np.zeros((LANDMARKS, LANDMARKS))
    for part in row_blocks(*rows.shape, 2 * LANDMARKS**2):
        block = rows[part]
        total += block.T @ block
    return total
