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
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from threading import Lock, local
from typing import TypeVar

from joblib import cpu_count
from sklearn import config_context, get_config
from threadpoolctl import ThreadpoolController

T = TypeVar("T")
R = TypeVar("R")


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


@cache
def _blas_of_numpy() -> ThreadpoolController:
    """Return NumPy's own library, which wheels bring, or the one that all share."""
    paths = [library["filepath"] for library in _blas().info()]
    own = [path for path in paths if Path(path).parent.name == "numpy.libs"]
    return _blas().select(filepath=own or paths)


class _OneThread:
    """Keeps BLAS libraries on one thread while anybody needs it, and restores what they had."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._users: dict[str, int] = {}
        self._before: dict[str, int] = {}

    @contextmanager
    def __call__(self, libraries: ThreadpoolController) -> Iterator[None]:
        """Limit the libraries. The first user notes what they had, and the last one restores it."""
        with self._lock:
            for library in libraries.lib_controllers:
                users = self._users.get(library.filepath, 0)
                if not users:
                    self._before[library.filepath] = library.num_threads
                    library.set_num_threads(1)
                self._users[library.filepath] = users + 1
        try:
            yield
        finally:
            with self._lock:
                for library in libraries.lib_controllers:
                    self._users[library.filepath] -= 1
                    if not self._users[library.filepath]:
                        library.set_num_threads(self._before.pop(library.filepath))

    def allowed(self) -> int:
        """Return the most threads that any library has, or had before it was limited here."""
        with self._lock:
            found = [
                self._before.get(library.filepath, library.num_threads)
                for library in _blas().lib_controllers
            ]
        return max(found, default=1)


_one_thread = _OneThread()
_this_thread = local()  # is_worker: whether `map_ahead` runs it, on one core


def _allowed_threads() -> int:
    """Return how many threads the calling thread may use."""
    if getattr(_this_thread, "is_worker", False):
        return 1
    return int(min(_one_thread.allowed(), cpu_count()))


def one_blas_at_a_time() -> AbstractContextManager[None]:
    """Keep NumPy's BLAS on one thread where SciPy has its own, which then has all cores."""
    shared = len(_blas_of_numpy().info()) == len(_blas().info())
    return nullcontext() if shared else _one_thread(_blas_of_numpy())


def for_each(work: Callable[[T], None], items: Sequence[T], *, alone: bool = False) -> None:
    """Run ``work`` on every item, on as many threads as BLAS may use now.

    With ``alone`` it runs on one item at a time, with BLAS on all cores.
    """
    n_threads = 1 if alone else min(_allowed_threads(), len(items))

    def without_checks(item: T) -> None:
        with config_context(assume_finite=True):  # configuration is per thread; X was checked
            work(item)

    if n_threads <= 1:
        for item in items:
            without_checks(item)
        return
    with _one_thread(_blas_of_numpy()), ThreadPoolExecutor(n_threads) as threads:
        for _ in threads.map(without_checks, items):
            pass


def map_ahead(work: Callable[[T], R], items: Iterable[T], *, room: int) -> Generator[R, None, None]:
    """Yield ``work(item)`` for each item, in order; several run while the next item is read.

    At most ``room`` items run at once, and at most as many as BLAS may use threads. No item is kept
    once its result is known. If items fail, the error of the first one is raised.
    """
    n_threads = min(_allowed_threads(), room)
    if n_threads <= 1:
        yield from map(work, items)
        return
    waiting: deque[Future[R]] = deque()
    config = get_config()  # that of scikit-learn is one for each thread

    def work_alone(item: T) -> R:
        _this_thread.is_worker = True
        with config_context(**config):
            return work(item)

    with _one_thread(_blas()), ThreadPoolExecutor(n_threads) as threads:
        try:
            for item in items:
                waiting.append(threads.submit(work_alone, item))
                del item
                while len(waiting) >= n_threads or (waiting and waiting[0].done()):
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
