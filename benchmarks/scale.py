"""More rows than fit: sums over chunks, and landmarks, beside the products they cannot do without.

Streaming: 10 million × 100 float32 rows in 80 chunks, 8 different ones held in memory. The rival is
the loop `total += X.T @ X` over the same chunks, in doubles (as the sums are) and as it stands
(float32: half of the work, and half of the digits); and over the row groups of a Parquet file.
Landmarks: the rival evaluates the kernel between rows and landmarks in the same blocks and
multiplies it with itself; and the model without fairness. Test errors are those of rows with four
hidden factors, at the alpha and gamma that cross-validation finds best for the exact model.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from benchmarks.measure import Row, peak_bytes, publish, seconds_side_by_side
from gferm import FairRegressor, FairRegressorCV
from gferm.arrays import Array
from gferm.arrays.device import CPU, row_blocks
from gferm.features.kernel import Kernel
from gferm.features.nystroem import KernelRows
from gferm.streaming import Chunk, ParquetSource, fit_stream

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
    with TemporaryDirectory() as folder:
        path = Path(folder, "people.parquet")
        _write(stream, path)
        ours, theirs = seconds_side_by_side(
            lambda: _fit_parquet(path), lambda: _products_of_parquet(path), repeats=3
        )
    rival = "X.T @ X of the same row groups, float32"
    yield Row(f"{what}, from Parquet", rival, ours, theirs, ours / theirs, 1.3)


def _write(stream: Stream, path: Path) -> None:
    names = [f"x{j}" for j in range(D)]
    writer = None
    for chunk in stream:
        columns = [*chunk.X.T, chunk.y, chunk.sensitive_features]
        table = pa.table(dict(zip([*names, "y", "s"], columns, strict=True)))
        writer = writer or parquet.ParquetWriter(path, table.schema, compression="lz4")
        writer.write_table(table)
    assert writer is not None
    writer.close()


def _fit_parquet(path: Path) -> FairRegressor:
    source = ParquetSource(path, target="y", sensitive="s")
    return fit_stream(FairRegressor(kernel="linear", y_bins=EDGES), source)


def _products_of_parquet(path: Path) -> Array:
    total = np.zeros((D, D), dtype=np.float32)
    with parquet.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, columns=[f"x{j}" for j in range(D)])
            X = np.column_stack([column.to_numpy() for column in table.columns])
            total += X.T @ X
    return total


def _products(stream: Stream, dtype: type) -> Array:
    total = np.zeros((D, D), dtype=dtype)
    for chunk in stream:
        X = chunk.X.astype(dtype, copy=False)
        total += X.T @ X
    return total


def _landmarks() -> Iterator[Row]:
    X, y, s = _curved(N)
    kernel: dict[str, Any] = {"kernel": "rbf", "gamma": 0.05, "alpha": 1.0, "y_bins": 5}
    points: dict[str, Any] = {"n_landmarks": LANDMARKS, "random_state": 0}

    def fit(epsilon: float | None) -> FairRegressor:
        return FairRegressor(**kernel, **points, epsilon=epsilon).fit(X, y, sensitive_features=s)

    what = f"fair fit, {LANDMARKS} landmarks, n = {N}, d = {X.shape[1]}"
    ours, theirs = seconds_side_by_side(lambda: fit(0.0), lambda: _kernel_products(X), repeats=1)
    yield Row(what, "its kernel blocks and their products", ours, theirs, ours / theirs, 1.3)
    ours, theirs = seconds_side_by_side(lambda: fit(0.0), lambda: fit(None), repeats=1)
    yield Row(what, "the same without fairness", ours, theirs, ours / theirs, 1.15)
    yield from _errors()


def _errors() -> Iterator[Row]:
    X, y, s = _hidden(FEW)
    X_new, y_new, _ = _hidden(20_000, seed=1)
    cases: dict[str, dict[str, Any]] = {
        "without fairness": {"epsilon": None, "y_bins": 1},
        "demographic parity": {"epsilon": 0.0, "y_bins": 1},
        "within 5 label bins, epsilon = 0.05": {"epsilon": 0.05, "y_bins": 5},
    }
    for name, case in cases.items():
        tried = {"gammas": [0.3, 0.1, 0.03, 0.01], "alphas": np.logspace(-4, 1, 11), "cv": 3}
        search = FairRegressorCV(
            **tried, epsilons=[case["epsilon"]], y_bins=case["y_bins"], selection="error"
        ).fit(X[:3_000], y[:3_000], sensitive_features=s[:3_000])
        best = {"kernel": "rbf", **case, **search.best_params_}
        errors = [
            float(np.sqrt(np.mean((model.predict(X_new) - y_new) ** 2)))
            for model in (
                FairRegressor(**best, n_landmarks=n_landmarks, random_state=0).fit(
                    X, y, sensitive_features=s
                )
                for n_landmarks in (LANDMARKS, None)
            )
        ]
        what = f"test error on {LANDMARKS} landmarks, {name}"
        rival = f"the exact model of the same {FEW} rows"
        yield Row(what, rival, *errors, errors[0] / errors[1], 1.02, "RMSE")


def _curved(n: int) -> tuple[Array, Array, Array]:
    """Draw twenty independent features."""
    rng = np.random.default_rng(0)
    X, s = rng.normal(size=(n, 20)), rng.integers(0, 2, n)
    return X, np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.3 * s + 0.1 * rng.normal(size=n), s


def _hidden(n: int, seed: int = 0) -> tuple[Array, Array, Array]:
    """Draw twenty features that four factors explain but for a tenth."""
    rng, loadings = np.random.default_rng(seed), np.random.default_rng(99).normal(size=(4, 20)) / 2
    factors, s = rng.normal(size=(n, 4)), rng.integers(0, 2, n)
    X = factors @ loadings + 0.1 * rng.normal(size=(n, 20))
    y = np.sin(2 * factors[:, 0]) + 0.3 * factors[:, 1] * factors[:, 2] + 0.3 * s
    return X, y + 0.1 * rng.normal(size=n), s


def _kernel_products(X: Array) -> Array:
    rows = KernelRows(X, X[:LANDMARKS], Kernel("rbf", gamma=0.05), CPU)
    total = np.zeros((LANDMARKS, LANDMARKS))
    for part in row_blocks(*rows.shape, 2 * LANDMARKS**2):
        block = rows[part]
        total += block.T @ block
    return total
