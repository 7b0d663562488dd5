"""Threads: how NumPy, SciPy and our own share the cores.

Wheels of NumPy and SciPy bring a BLAS each, and the idle threads of one spin for a while before
they sleep: a factorisation in SciPy right after a product in NumPy gets half the cores. So where a
large SciPy factorisation is the main work,

    `one_blas_at_a_time`   keeps NumPy's BLAS on one thread; SciPy's stays as it is;
    `for_each_block`       runs NumPy's large work (kernels, exp, copies) in threads of our own,
                           which leave nothing spinning behind.

Both respect the limits that the user, joblib or threadpoolctl have set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path

from joblib import cpu_count
from sklearn import config_context
from threadpoolctl import ThreadpoolController


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


@cache
def _blas_of_numpy() -> ThreadpoolController:
    """NumPy's own library, as wheels have it; else the one that all share."""
    paths = [library["filepath"] for library in _blas().info()]
    own = [path for path in paths if Path(path).parent.name == "numpy.libs"]
    return _blas().select(filepath=own or paths)


@contextmanager
def one_blas_at_a_time() -> Iterator[None]:
    """Leave the cores to SciPy's BLAS, if NumPy has another one."""
    shared = len(_blas_of_numpy().info()) == len(_blas().info())
    with nullcontext() if shared else _blas_of_numpy().limit(limits=1):
        yield


def for_each_block(work: Callable[[slice], None], blocks: Sequence[slice]) -> None:
    """Run ``work`` on every block, on as many threads as BLAS may use now."""
    allowed = max((library["num_threads"] for library in _blas().info()), default=1)
    n_threads = min(allowed, cpu_count(), len(blocks))

    def quietly(block: slice) -> None:
        with config_context(assume_finite=True):  # configuration is per thread; X was checked
            work(block)

    if n_threads <= 1:
        for block in blocks:
            quietly(block)
        return
    with _blas_of_numpy().limit(limits=1), ThreadPoolExecutor(n_threads) as threads:
        for _ in threads.map(quietly, blocks):
            pass
