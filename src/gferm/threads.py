"""Threads: how NumPy, SciPy and our own share the cores.

Wheels of NumPy and SciPy bring a BLAS each, and the idle threads of one spin for a while before
they sleep: a factorisation in SciPy right after a product in NumPy gets half the cores. So where a
large SciPy factorisation is the main work,

    `one_blas_at_a_time`   keeps NumPy's BLAS on one thread; SciPy's stays as it is;
    `for_each`             runs NumPy's large work (kernels, exp, copies) in threads of our own,
                           which leave nothing spinning behind;
    `map_ahead`            the same for items that are read one after another, each in one thread.

All respect the limits that the user, joblib or threadpoolctl have set.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TypeVar

from joblib import cpu_count
from sklearn import config_context
from threadpoolctl import ThreadpoolController

T = TypeVar("T")
R = TypeVar("R")


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


@cache
def _blas_of_numpy() -> ThreadpoolController:
    """NumPy's own library, as wheels have it; else the one that all share."""
    paths = [library["filepath"] for library in _blas().info()]
    own = [path for path in paths if Path(path).parent.name == "numpy.libs"]
    return _blas().select(filepath=own or paths)


def _allowed_threads() -> int:
    allowed = max((library["num_threads"] for library in _blas().info()), default=1)
    return int(min(allowed, cpu_count()))


class _OneThreadForNumPy:
    """Limits NumPy's BLAS while anybody needs it: the first to enter limits, the last restores."""

    def __init__(self) -> None:
        self._lock, self._inside, self._limit = Lock(), 0, None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limit = _blas_of_numpy().limit(limits=1)
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0 and self._limit is not None:
                self._limit.restore_original_limits()


_one_thread_for_numpy = _OneThreadForNumPy()


def one_blas_at_a_time() -> AbstractContextManager[None]:
    """Leave the cores to SciPy's BLAS, if NumPy has another one."""
    shared = len(_blas_of_numpy().info()) == len(_blas().info())
    return nullcontext() if shared else _one_thread_for_numpy


def for_each(work: Callable[[T], None], items: Sequence[T], *, alone: bool = False) -> None:
    """Run ``work`` on every item, on as many threads as BLAS may use now.

    ``alone``: one item at a time, with BLAS on all cores.
    """
    n_threads = 1 if alone else min(_allowed_threads(), len(items))

    def quietly(item: T) -> None:
        with config_context(assume_finite=True):  # configuration is per thread; X was checked
            work(item)

    if n_threads <= 1:
        for item in items:
            quietly(item)
        return
    with _one_thread_for_numpy, ThreadPoolExecutor(n_threads) as threads:
        for _ in threads.map(quietly, items):
            pass


def map_ahead(work: Callable[[T], R], items: Iterable[T], *, room: int) -> Generator[R, None, None]:
    """Run ``work`` on items in their order, on several while the next one is being read.

    No more than ``room`` are in work at once, nor more than BLAS may use threads; an item is let go
    when its result is there. The first item that fails is the one whose error is raised.
    """
    n_threads = min(_allowed_threads(), room)
    if n_threads <= 1:
        yield from map(work, items)
        return
    waiting: deque[Future[R]] = deque()
    with _blas().limit(limits=1), ThreadPoolExecutor(n_threads) as threads:
        try:
            for item in items:
                waiting.append(threads.submit(work, item))
                del item
                while len(waiting) >= n_threads or (waiting and waiting[0].done()):
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
