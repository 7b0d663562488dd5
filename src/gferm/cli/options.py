"""Options that several commands share, so that a word means the same in each.

Bins are one word of a command line:

    10            ten bins of equal width           quantile:5    five with equal numbers of rows
    0,0.5,1       between these edges               -inf,0,inf    open at both ends
    auto          as the library chooses            continuous    no groups: --s-bins only
    age=5         --s-bins of one attribute; others keep theirs

For classes --y-bins takes ``classes`` (within each), ``1`` (all as one), or names of classes joined
by commas; a single name that is a number ends in a comma: ``1,``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from gferm.exceptions import InputError
from gferm.fairness.bins import WORDS, Bins, BinsLike

if TYPE_CHECKING:  # pandas, which they need, takes its time: help comes without
    from gferm.tables.columns import Task
    from gferm.tables.labelled_rows import LabelledRows
    from gferm.tables.model_file import SavedModel

COLUMNS, FAIRNESS, MODEL, OUTPUT = "Columns", "Fairness", "Model", "Output"
HOW_TO_BIN = "give a number of bins, edges such as 0,0.5,1, or quantile:5"


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
    """Return a number of at least 0; None for the word none."""
    return None if text.strip().lower() == "none" else at_least_zero(text, option)


def at_least_zero(text: str, option: str) -> float:
    """Return a number of at least 0."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise InputError(f"{option} {text!r} must be a number of 0 or larger.")
    return number


def several(text: str | None, option: str, read: Callable[[str, str], Any]) -> list[Any] | None:
    """Return values joined by commas, each read on its own."""
    return None if text is None else [read(part, option) for part in text.split(",")]


def read_bins(
    y_bins: str | None,
    s_bins: Sequence[str] | None,
    *,
    task: Task,
    labels: npt.NDArray[Any],
    attributes: Sequence[str],
) -> dict[str, Any]:
    """Return y_bins and s_bins as the library takes them, those of them that were given."""
    found: dict[str, Any] = {}
    if y_bins is not None and task == "classification":
        found["y_bins"] = _read_class_bins(y_bins, labels)
    elif y_bins is not None:
        found["y_bins"] = _read_rule(y_bins, "--y-bins", words=())
    if s_bins:
        found["s_bins"] = _read_group_bins(s_bins, attributes)
    return found


def read_bins_to_judge(
    y_bins: str | None,
    s_bins: Sequence[str] | None,
    rows: LabelledRows,
    saved: SavedModel | None,
) -> dict[str, Any]:
    """Return y_bins and s_bins of an audit: those given, else those the model was fitted with."""
    attributes = rows.roles.sensitive
    labels = rows.y if rows.predictions is None else np.append(rows.y, rows.predictions)
    found = {} if saved is None else saved.bins(attributes)
    found |= read_bins(y_bins, s_bins, task=rows.task, labels=labels, attributes=attributes)
    if rows.task == "classification" and isinstance(found.get("y_bins"), list):
        found["y_bins"] = Bins.categories(found["y_bins"])
    return found


def _read_class_bins(text: str, y: npt.NDArray[Any]) -> Any:
    """Return --y-bins of a classification with the classes ``y``."""
    from gferm.tables.columns import nearest, split_names

    if text == "classes":
        return text
    if text.strip() == "1":
        return 1
    classes = {str(label): label for label in np.unique(y).tolist()}
    names = [text] if text in classes else split_names(text)
    for name in names:
        if name not in classes:
            raise InputError(f"--y-bins {name!r} is no class; {nearest(name, classes)}")
    return [classes[name] for name in names]


def _read_group_bins(given: Sequence[str], attributes: Sequence[str]) -> dict[str, BinsLike]:
    """Return --s-bins by attribute: one rule for all of them, or some by name."""
    from gferm.tables.columns import nearest

    by_name: dict[str, BinsLike] = {}
    for text in given:
        name, _, rule = text.rpartition("=")
        if name and name not in attributes:
            raise InputError(
                f"--s-bins {text!r}: {name!r} is no --sensitive column; {nearest(name, attributes)}"
            )
        for attribute in (name,) if name else attributes:
            by_name[attribute] = _read_rule(rule, f"--s-bins {name}".strip(), words=tuple(WORDS))
    return by_name


def _read_rule(text: str, option: str, words: Sequence[str]) -> BinsLike:
    rule, text = text.strip(), text.strip()
    if rule in words:
        return rule
    head, _, count = rule.partition(":")
    try:
        if head == "quantile":
            return Bins.quantile(int(count))
        if "," in rule:
            return Bins.edges([float(edge) for edge in rule.split(",")])
        number = int(rule)
    except ValueError as error:
        reason = f" ({error})" if str(error).startswith(("Bin", "bin")) else ""
        also = f", or {' or '.join(words)}" if words else ""
        raise InputError(
            f"{option} {text!r} is no way to make bins{reason}; {HOW_TO_BIN}{also}."
        ) from error
    if number < 1:
        raise InputError(f"{option} {text!r} is no number of bins; {HOW_TO_BIN}.")
    return number
