"""The terminal: what commands print, and how they end.

stdout   the result: tables, or one JSON document, or a CSV
stderr   notes, progress and errors, each error one line
code     0 done, 1 unfair (audit --check), 2 wrong input, 130 stopped with Ctrl-C
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import typer
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment

from gferm.exceptions import InputError
from gferm.json_ready import json_text

console = Console()
errors = Console(stderr=True)

UNFAIR, WRONG_INPUT, INTERRUPTED = 1, 2, 130

# What the library calls its arguments, and the command line its options.
OPTION_OF = {
    "sensitive_features": "--sensitive",
    "sample_weight": "--weight",
    "y_bins": "--y-bins",
    "s_bins": "--s-bins",
    "min_cell_size": "--min-cell-size",
    "intersectional=False": "--marginal",
    "n_boot=0": "--n-boot 0",
    "n_boot": "--n-boot",
    "n_permutations=0": "--n-permutations 0",
    "n_permutations": "--n-permutations",
    "y_true": "--target",
    "y_pred": "--prediction",
    "max_iter": "--max-iter",
    "kernel='linear'": "--kernel linear",
    "kernel='rbf'": "--kernel rbf",
    "n_landmarks": "--landmarks",
    "device='cpu'": "--device cpu",
    "device='cuda'": "--device cuda",
    "epsilon=None": "--epsilon none",
    "FairRegressor": "--task regression",
    "FairClassifier": "--task classification",
}
# … but not within quotes: a column may be called y_pred.
NAMED = re.compile("|".join(rf"(?<![\w'\"-]){re.escape(name)}(?!\w)" for name in OPTION_OF))


@contextmanager
def one_line_errors(*kinds: type[Exception]) -> Iterator[None]:
    """End with one line on stderr and exit code 2, where a user can do something about it."""
    try:
        yield
    except kinds as error:
        say(f"Error: {error}", "red")
        raise typer.Exit(WRONG_INPUT) from error


@dataclass(frozen=True, eq=False)
class Notes:
    """What a user should know of a command that went well: the warnings so far, each once."""

    caught: Sequence[warnings.WarningMessage]

    def __iter__(self) -> Iterator[str]:
        said = (in_options(str(warning.message)) for warning in self.caught)
        return iter(dict.fromkeys(said))


@contextmanager
def tidy_command() -> Iterator[Notes]:
    """Run a command: errors become one line and a code, warnings become notes on stderr."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            yield (notes := Notes(caught))
        for note in notes:
            say(f"Note: {note}", "yellow")
    except KeyboardInterrupt:
        say("Stopped.", "yellow")
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:  # whoever read our output has seen enough
        raise
    except InputError as error:
        say(f"Error: {error}", "red")
        raise typer.Exit(WRONG_INPUT) from error
    except (ValueError, OSError, ImportError, MemoryError) as error:
        say(f"Error: {in_options(str(error) or type(error).__name__)}", "red")
        raise typer.Exit(WRONG_INPUT) from error


def progress_wanted(as_json: bool) -> bool:
    """Return whether somebody is there to see how far it is; a log or a program is not."""
    return errors.is_terminal and not as_json


@contextmanager
def stage(what: str, *, show: bool = True) -> Iterator[None]:
    """Show on stderr what is being done."""
    if show:
        with errors.status(printable(what)):
            yield
    else:
        yield


def say(sentence: str, style: str = "", *, to: Console = errors) -> None:
    """Write one line, whatever it holds, on stderr unless another console is named."""
    to.print(
        printable(sentence), style=style, markup=False, highlight=False, emoji=False, soft_wrap=True
    )


def printable(text: str) -> str:
    """Return a text from a file or a library in one line that cannot steer the terminal.

    A name may hold line ends, or escape sequences that clear the screen or hide what follows.
    """
    return _visible(" ".join(line.strip() for line in text.splitlines() if line.strip()))


def printable_texts(value: Any) -> Any:
    """Return plain data with every text in it made printable."""
    if isinstance(value, Mapping):
        return {name: printable_texts(one) for name, one in value.items()}
    if isinstance(value, list):
        return [printable_texts(one) for one in value]
    return printable(value) if isinstance(value, str) else value


class Harmless:
    """Anything that rich can print, with nothing in its lines that steers the terminal."""

    def __init__(self, shown: RenderableType) -> None:
        self.shown = shown

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for part in console.render(self.shown, options):
            lines = part.text.split("\n")
            yield Segment("\n".join(map(_visible, lines)), part.style, part.control)


def _visible(line: str) -> str:
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)


def in_options(message: str) -> str:
    """Return a message with the library's arguments named as the command line does."""
    return NAMED.sub(lambda found: OPTION_OF[found[0]], message)


def print_json(document: Mapping[str, Any]) -> None:
    """Write one JSON document on stdout; what is not finite becomes null."""
    sys.stdout.write(f"{json_text(document)}\n")
