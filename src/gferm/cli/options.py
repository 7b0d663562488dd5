"""Options that several commands share, so that a word means the same in each."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from gferm.cli.terminal import InputError

COLUMNS, FAIRNESS, MODEL, OUTPUT = "Columns", "Fairness", "Model", "Output"


class TaskName(StrEnum):
    """What is learned: numbers or classes."""

    regression = "regression"
    classification = "classification"


class SelectionRule(StrEnum):
    """How a setting is chosen."""

    nvp = "nvp"
    error = "error"


class Match(StrEnum):
    """Which cell means must agree: of predictions, or of prediction − target."""

    prediction = "prediction"
    residual = "residual"


class DeviceName(StrEnum):
    """Where to compute."""

    cpu = "cpu"
    cuda = "cuda"


class TableOfAudit(StrEnum):
    """Which of an audit's tables."""

    cells = "cells"
    groups = "groups"
    figures = "figures"
    gaps = "gaps"


Data = Annotated[
    Path, typer.Argument(metavar="DATA", help="CSV (also .gz) or Parquet, a column each feature.")
]
ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="A file that gferm fit wrote.")]

Target = Annotated[
    str, typer.Option("--target", help="Column to predict.", rich_help_panel=COLUMNS)
]
Sensitive = Annotated[
    list[str],
    typer.Option(
        "--sensitive",
        help="Column of a sensitive attribute; repeat it, or join names with commas.",
        rich_help_panel=COLUMNS,
    ),
]
JudgedTarget = Annotated[
    str | None,
    typer.Option(
        "--target",
        help="Column of the true labels; that of --model by default.",
        rich_help_panel=COLUMNS,
    ),
]
JudgedSensitive = Annotated[
    list[str] | None,
    typer.Option(
        "--sensitive",
        help="Column of a sensitive attribute; repeat it, or join names with commas. Those of "
        "--model by default.",
        rich_help_panel=COLUMNS,
    ),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        help="Columns of numbers to take as categories; repeat or join with commas.",
        rich_help_panel=COLUMNS,
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        help="Columns to leave out, such as names; repeat or join with commas.",
        rich_help_panel=COLUMNS,
    ),
]
Weight = Annotated[
    str | None, typer.Option(help="Column of the rows' weights.", rich_help_panel=COLUMNS)
]
DropMissing = Annotated[
    bool,
    typer.Option(
        "--drop-missing",
        help="Leave out rows without target, sensitive attribute or weight.",
        rich_help_panel=COLUMNS,
    ),
]
IncludeSensitive = Annotated[
    bool,
    typer.Option(
        "--include-sensitive",
        help="Use the sensitive columns as features too.",
        rich_help_panel=COLUMNS,
    ),
]
YBins = Annotated[
    str | None,
    typer.Option(
        help="Who is compared: people whose target is in the same bin. 10 (default), edges 0,5,9, "
        "quantile:5; 1 compares everybody. For classes: classes (default), 1, or names of some.",
        rich_help_panel=FAIRNESS,
    ),
]
SBins = Annotated[
    list[str] | None,
    typer.Option(
        help="Groups: auto (default), 5, edges, quantile:5, continuous; age=5 for one attribute.",
        rich_help_panel=FAIRNESS,
    ),
]
MatchOption = Annotated[
    Match, typer.Option("--match", help="What must agree.", rich_help_panel=FAIRNESS)
]
Intersectional = Annotated[
    bool,
    typer.Option(
        "--intersectional/--marginal",
        help="Several attributes: all their combinations, or each on its own.",
        rich_help_panel=FAIRNESS,
    ),
]
MinCellSize = Annotated[
    int,
    typer.Option(min=1, help="Smaller cells are not compared.", rich_help_panel=FAIRNESS),
]
Kernel = Annotated[
    str,
    typer.Option(
        help="linear for any number of rows; rbf, poly, laplacian, … for up to some 20 000, or on "
        "landmarks.",
        rich_help_panel=MODEL,
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="One JSON document on stdout.", rich_help_panel=OUTPUT)
]


def number_or_none(text: str, option: str) -> float | None:
    """Read a number of at least 0, or the word none."""
    return None if text.strip().lower() == "none" else at_least_zero(text, option)


def at_least_zero(text: str, option: str) -> float:
    """Read a number of at least 0."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise InputError(f"{option} {text!r} must be a number of 0 or larger.")
    return number


def several(text: str | None, option: str, read: Callable[[str, str], Any]) -> list[Any] | None:
    """Read values joined by commas."""
    return None if text is None else [read(part, option) for part in text.split(",")]
