"""The terminal: what commands print, and how they end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console

console = Console()
errors = Console(stderr=True)

WRONG_INPUT, INTERRUPTED = 2, 130


@contextmanager
def one_line_errors(*kinds: type[Exception]) -> Iterator[None]:
    """End with one line on stderr and exit code 2, where a user can do something about it."""
    try:
        yield
    except kinds as error:
        errors.print(f"Error: {error}", style="red", markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(WRONG_INPUT) from error
