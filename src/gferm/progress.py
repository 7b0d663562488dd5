"""A progress bar for long work: rich's on a terminal, else a line for every tenth."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

Advance = Callable[[int], None]


@contextmanager
def progress(total: int | None, what: str, *, show: bool) -> Iterator[Advance]:
    """Show on stderr how many of ``total`` steps are done.

    Yields
    ------
    advance : callable
        To be called with the number of steps just done.
    """
    if not show:
        yield lambda steps: None
        return
    try:
        from rich import progress as bars
        from rich.console import Console
    except ImportError:
        yield _LineForEveryTenth(total, what)
        return
    console = Console(stderr=True)
    if not (console.is_terminal or console.is_jupyter):  # a log, where a bar shows at its end only
        yield _LineForEveryTenth(total, what)
        return
    with bars.Progress(
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TimeElapsedColumn(),
        bars.TimeRemainingColumn(),
        console=console,
    ) as bar:
        task = bar.add_task(what, total=total)
        yield lambda steps: bar.advance(task, steps)


class _LineForEveryTenth:
    """Plain text, for logs, and for terminals without rich."""

    def __init__(self, total: int | None, what: str) -> None:
        self.total, self.what, self.done, self.start = total, what, 0, perf_counter()

    def __call__(self, steps: int) -> None:
        before, self.done = self.done, self.done + steps
        spent = perf_counter() - self.start
        if self.total is None:  # nobody knows how many there are: every tenth
            if self.done // 10 > before // 10:
                print(f"{self.what}: {self.done}, {spent:.0f} s", file=sys.stderr, flush=True)
        elif self.done * 10 // self.total > before * 10 // self.total:
            left = spent / self.done * (self.total - self.done)
            print(
                f"{self.what}: {self.done}/{self.total}, {spent:.0f} s, about {left:.0f} s left",
                file=sys.stderr,
                flush=True,
            )
