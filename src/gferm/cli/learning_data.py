"""From a file and the options that name its columns to rows that can be learned from."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gferm.cli.columns import split_names
from gferm.cli.read_table import read_table
from gferm.cli.roles import LearningRows, Roles, Task


@dataclass(frozen=True)
class DataOptions:
    """What a user said about the columns, as it was given."""

    target: str
    sensitive: Sequence[str]
    categorical: Sequence[str] = ()
    drop: Sequence[str] = ()
    weight: str | None = None
    drop_missing: bool = False
    include_sensitive: bool = False


def read_learning_data(path: Path, options: DataOptions, task: Task) -> tuple[Roles, LearningRows]:
    """Read a table, find the columns, and check those that decide what is learned."""
    words = {name for given in options.categorical for name in (given, *split_names(given))}
    table = read_table(path, as_text=words)
    roles = Roles.find(
        list(table.columns),
        target=options.target,
        sensitive=options.sensitive,
        categorical=options.categorical,
        drop=options.drop,
        weight=options.weight,
        include_sensitive=options.include_sensitive,
    )
    rows = LearningRows.take(table, roles, task, drop_missing=options.drop_missing)
    if rows.dropped:
        warnings.warn(
            f"{rows.dropped} of {len(table)} rows are left out: they lack the target, a sensitive "
            "attribute or the weight.",
            stacklevel=2,
        )
    return roles, rows
