"""What each column of a table is for: target, sensitive, weight, feature, or nothing.

    table → check names → check rows → LearningRows (X, y, sensitive, weight)

Sensitive columns are no features unless that is asked for. Rows without a target, a sensitive
attribute or a weight are an error, or dropped where the user says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from gferm.arrays import Array
from gferm.cli.columns import as_numbers, find_column, find_columns, first_word, kind_of, row
from gferm.cli.features import require_one_kind
from gferm.cli.terminal import InputError

Task = Literal["regression", "classification"]


@dataclass(frozen=True)
class Roles:
    """Names of columns by their use, all of them found in the table.

    Attributes
    ----------
    target : str
    sensitive, categorical : tuple of str
    weight : str or None
    features : tuple of str
        In the order of the table.
    """

    target: str
    sensitive: tuple[str, ...]
    categorical: tuple[str, ...]
    weight: str | None
    features: tuple[str, ...]

    @classmethod
    def find(
        cls,
        columns: Sequence[str],
        *,
        target: str,
        sensitive: Sequence[str],
        categorical: Sequence[str] = (),
        drop: Sequence[str] = (),
        weight: str | None = None,
        include_sensitive: bool = False,
    ) -> Roles:
        """Look the names up that a user gave.

        Raises
        ------
        InputError
            If one is no column, has two uses, or no feature is left.
        """
        columns = list(columns)
        target = find_column(target, columns, "--target")
        attributes = find_columns(sensitive, columns, "--sensitive")
        words = find_columns(categorical, columns, "--categorical")
        dropped = find_columns(drop, columns, "--drop")
        if weight is not None:
            find_column(weight, columns, "--weight")
        if not attributes:
            raise InputError("--sensitive names no column; name at least one.")
        for name, options in (
            (target, [("--sensitive", attributes), ("--drop", dropped), ("--weight", (weight,))]),
            (weight, [("--sensitive", attributes), ("--drop", dropped)]),
        ):
            for option, names in options:
                if name is not None and name in names:
                    use = "--target" if name == target else "--weight"
                    raise InputError(f"{use} {name!r} is also named by {option}; choose one use.")
        without = {target, weight, *dropped} | (set() if include_sensitive else set(attributes))
        features = tuple(name for name in columns if name not in without)
        if not features:
            raise InputError(
                "no column is left as a feature beside --target, --sensitive, --weight and --drop; "
                "drop fewer, or add --include-sensitive."
            )
        return cls(target, attributes, words, weight, features)


@dataclass(frozen=True, eq=False)
class LearningRows:
    """Rows with all that a fit needs.

    Attributes
    ----------
    X : data frame
        The features, missing values included.
    y : array of shape (n_rows,)
        Numbers, or for classes numbers or words.
    sensitive : data frame
    weight : array of shape (n_rows,) or None
    dropped : int
        Rows left out for want of a target, a sensitive attribute or a weight.
    """

    X: pd.DataFrame
    y: npt.NDArray[Any]
    sensitive: pd.DataFrame
    weight: Array | None
    dropped: int

    @classmethod
    def take(
        cls, table: pd.DataFrame, roles: Roles, task: Task, *, drop_missing: bool = False
    ) -> LearningRows:
        """Check the columns that decide what is learned, and split the table.

        Raises
        ------
        InputError
            If one of them has missing values (and ``drop_missing`` is False) or those of the
            wrong kind.
        """
        needed = dict.fromkeys((roles.target, *roles.sensitive))
        if roles.weight is not None:
            needed[roles.weight] = None
        table, dropped = keep_complete(table, tuple(needed), drop_missing=drop_missing)
        if len(table) < 2:
            raise InputError("there is a single row to learn from; give more.")
        return cls(
            X=table[list(roles.features)],
            y=read_target(table[roles.target], task),
            sensitive=read_sensitive(table, roles.sensitive, roles.categorical),
            weight=None if roles.weight is None else read_weight(table[roles.weight]),
            dropped=dropped,
        )


def keep_complete(
    table: pd.DataFrame, names: Sequence[str], *, drop_missing: bool
) -> tuple[pd.DataFrame, int]:
    """Return the rows in which none of these columns is missing, and the number of the others.

    Raises
    ------
    InputError
        If there are such rows and ``drop_missing`` is False, or none would be left.
    """
    missing = {name: table[name].isna().to_numpy() for name in names}
    for name, gaps in missing.items():
        if gaps.all():
            raise InputError(f"column {name!r} has no value in any row; choose another one.")
        if gaps.any() and not drop_missing:
            raise InputError(
                f"column {name!r} is missing in {int(gaps.sum())} rows, the first of them "
                f"{row(int(np.argmax(gaps)))}; fill them, or leave these rows out with "
                "--drop-missing."
            )
    gone = np.logical_or.reduce(list(missing.values()))
    if not gone.any():
        return table, 0
    if gone.all():
        raise InputError(f"no row has all of {', '.join(map(repr, names))}; nothing is left.")
    return table[~gone].reset_index(drop=True), int(gone.sum())


def read_target(values: pd.Series, task: Task, use: str = "target") -> npt.NDArray[Any]:
    """Return labels or predictions: finite numbers, or classes as words, integers or booleans."""
    kind = kind_of(values)
    if kind == "other":
        raise InputError(f"{use} {values.name!r} holds neither numbers nor words; convert it.")
    return _read_classes(values, use) if task == "classification" else read_numbers(values, use)


def read_numbers(values: pd.Series, use: str) -> Array:
    """Return a column of numbers that has a use; refuse words and what is infinite."""
    if kind_of(values) != "numbers":
        place = first_word(values) or 0
        remedy = "; fix it, or learn classes with --task classification" * (use == "target")
        raise InputError(
            f"{use} {values.name!r} is not numeric: {row(place)} holds "
            f"{str(values.iloc[place])!r:.40}{remedy or '; fix it'}."
        )
    numbers = as_numbers(values)
    infinite = np.isinf(numbers)
    if infinite.any():
        raise InputError(
            f"{use} {values.name!r} is infinite in {row(int(np.argmax(infinite)))}; fix it."
        )
    return numbers


def read_sensitive(
    table: pd.DataFrame, names: Sequence[str], categorical: Sequence[str] = ()
) -> pd.DataFrame:
    """Return the sensitive attributes; those that are ``categorical`` as groups by name."""
    chosen = table[list(names)].copy(deep=False)
    for name in names:
        if kind_of(chosen[name]) == "other" and name not in categorical:
            raise InputError(
                f"sensitive {name!r} holds neither numbers nor words; turn it into one of them, "
                "or take its values as groups with --categorical."
            )
        if name in categorical:
            chosen[name] = chosen[name].astype(str).astype("category")
        elif kind_of(chosen[name]) == "words" and chosen[name].dtype != "category":
            require_one_kind(chosen[name], name, "fix it, or take all as groups with --categorical")
    return chosen


def _read_classes(values: pd.Series, use: str) -> npt.NDArray[Any]:
    if kind_of(values) == "words":
        return np.asarray(values.astype(object).tolist(), dtype=np.str_)
    if pd.api.types.is_bool_dtype(values):
        return np.asarray(values, dtype=bool)
    numbers = read_numbers(values, use)
    between = numbers != np.round(numbers)
    if between.any():
        shown = numbers[np.argmax(between)]
        raise InputError(
            f"{use} {values.name!r} holds numbers such as {shown:g}, which are no classes; "
            f"{'learn numbers with --task regression, or ' * (use == 'target')}cut them into "
            "classes first."
        )
    return numbers.astype(np.int64)


def read_weight(values: pd.Series) -> Array:
    """Return weights: numbers, none of them negative."""
    weight = read_numbers(values, "weight")
    if (weight < 0).any():
        raise InputError(
            f"weight {values.name!r} is negative in {row(int(np.argmax(weight < 0)))}; fix it."
        )
    return weight
