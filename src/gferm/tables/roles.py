"""What each column of a table is for, and whether its values are fit for that.

    names as a user gave them (`AskedColumns`) → columns by their use (`Roles`)

A column has one use. Sensitive columns are no features unless that is asked for. Targets,
predictions and weights are read here; an error names the first value that is not fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from gferm.arrays import Array
from gferm.exceptions import InputError
from gferm.tables.columns import (
    Task,
    as_numbers,
    find_column,
    find_columns,
    first_word,
    kind_of,
    require_one_kind,
    row_name,
    split_names,
)

if TYPE_CHECKING:
    from gferm.tables.model_file import SavedModel


@dataclass(frozen=True)
class AskedColumns:
    """What a user said about the columns, as it was given."""

    target: str | None
    sensitive: Sequence[str] | None
    prediction: str | None = None
    categorical: Sequence[str] | None = None
    drop: Sequence[str] | None = None
    weight: str | None = None
    drop_missing: bool = False
    include_sensitive: bool = False

    @property
    def words(self) -> set[str]:
        """What may be names of categorical columns, before it is known which columns there are."""
        return {name for text in self.categorical or () for name in (text, *split_names(text))}


@dataclass(frozen=True)
class Roles:
    """Names of columns by their use, all of them found in the table.

    Attributes
    ----------
    target : str
    sensitive, categorical : tuple of str
    weight, prediction : str or None
    features : tuple of str
        In the order of the table.
    """

    target: str
    sensitive: tuple[str, ...]
    categorical: tuple[str, ...]
    weight: str | None
    prediction: str | None
    features: tuple[str, ...]

    @classmethod
    def to_learn(cls, columns: Sequence[str], asked: AskedColumns) -> Roles:
        """Return the roles of the columns of a fit.

        Raises
        ------
        InputError
            If a name is no column, one has two uses, or no feature is left.
        """
        found = cls._find(columns, asked, asked.target, asked.sensitive)
        dropped = find_columns(asked.drop, columns, "--drop")
        _require_one_use(
            {
                "--target": (found.target,),
                "--weight": (found.weight,),
                "--sensitive": found.sensitive,
                "--drop": dropped,
            }
        )
        if not found.features:
            raise InputError(
                "no column is left as a feature beside --target, --sensitive, --weight and --drop; "
                "drop fewer, or add --include-sensitive."
            )
        return found

    @classmethod
    def to_judge(
        cls, columns: Sequence[str], asked: AskedColumns, saved: SavedModel | None
    ) -> Roles:
        """Return the roles of the columns of an audit; a saved model has its own by default.

        Raises
        ------
        InputError
            If a name is missing or no column, or one has two uses.
        """
        sensitive = asked.sensitive or (saved.sensitive if saved else ())
        target = saved.target if asked.target is None and saved else asked.target
        found = cls._find(columns, asked, target, sensitive, saved)
        _require_one_use(
            {
                "--target": (found.target,),
                "--prediction": (found.prediction,),
                "--sensitive": found.sensitive,
                "--weight": (found.weight,),
            }
        )
        return found

    @classmethod
    def _find(
        cls,
        columns: Sequence[str],
        asked: AskedColumns,
        target: str | None,
        sensitive: Sequence[str] | None,
        saved: SavedModel | None = None,
    ) -> Roles:
        """Return the roles; features are a saved model's, or all columns without another use."""
        if target is None:
            raise InputError("--target is missing: name the column of the true labels.")
        target = find_column(target, columns, "--target")
        attributes = find_columns(sensitive, columns, "--sensitive")
        if not attributes:
            raise InputError("--sensitive names no column; name at least one.")
        categorical = find_columns(asked.categorical, columns, "--categorical")
        dropped = find_columns(asked.drop, columns, "--drop")
        for name, option in ((asked.prediction, "--prediction"), (asked.weight, "--weight")):
            if name is not None:
                find_column(name, columns, option)
        offered = set(columns) - set(attributes)
        if saved is not None:
            offered, categorical = set(saved.features), (*categorical, *saved.as_text)
        if asked.include_sensitive:
            offered |= set(attributes)
        offered -= {target, asked.prediction, asked.weight, *dropped}
        features = tuple(name for name in columns if name in offered)
        return cls(target, attributes, categorical, asked.weight, asked.prediction, features)

    @property
    def needed(self) -> tuple[str, ...]:
        """Columns that have a value in every row."""
        names = (self.target, *self.sensitive, self.prediction, self.weight)
        return tuple(dict.fromkeys(name for name in names if name is not None))


def _require_one_use(uses: Mapping[str, Sequence[str | None]]) -> None:
    for (one, names), (other, others) in combinations(uses.items(), 2):
        twice = [name for name in names if name is not None and name in others]
        if twice and (one, other) != ("--sensitive", "--drop"):  # which is no feature either way
            raise InputError(f"{one} {twice[0]!r} is also named by {other}; choose one use.")


def read_target(values: pd.Series, task: Task, use: str = "target") -> npt.NDArray[Any]:
    """Return labels or predictions: finite numbers, or classes as words, integers or booleans."""
    kind = kind_of(values)
    if kind == "other":
        raise InputError(f"{use} {values.name!r} holds neither numbers nor words; convert it.")
    return _read_classes(values, use) if task == "classification" else _read_numbers(values, use)


def read_sensitive(table: pd.DataFrame, roles: Roles) -> pd.DataFrame:
    """Return the sensitive attributes; those that are categorical as groups by name."""
    chosen = table[list(roles.sensitive)].copy(deep=False)
    for name in roles.sensitive:
        kind = kind_of(chosen[name])
        if name in roles.categorical:
            chosen[name] = chosen[name].astype(str).astype("category")
        elif kind == "other":
            raise InputError(
                f"sensitive {name!r} holds neither numbers nor words; turn it into one of them, "
                "or take its values as groups with --categorical."
            )
        elif kind == "words" and chosen[name].dtype != "category":
            require_one_kind(chosen[name], "fix it, or take all as groups with --categorical")
    return chosen


def read_weight(table: pd.DataFrame, roles: Roles) -> Array | None:
    """Return weights, none of them negative; None where no column holds any."""
    if roles.weight is None:
        return None
    weight = _read_numbers(table[roles.weight], "weight")
    negative = weight < 0
    if negative.any():
        where = row_name(int(np.argmax(negative)))
        raise InputError(f"weight {roles.weight!r} is negative in {where}; fix it.")
    return weight


def _read_numbers(values: pd.Series, use: str) -> Array:
    """Return a column of finite numbers that has a use."""
    if kind_of(values) != "numbers":
        place = first_word(values) or 0
        remedy = "; fix it, or learn classes with --task classification" * (use == "target")
        raise InputError(
            f"{use} {values.name!r} is not numeric: {row_name(place)} holds "
            f"{str(values.iloc[place])!r:.40}{remedy or '; fix it'}."
        )
    numbers = as_numbers(values)
    infinite = np.isinf(numbers)
    if infinite.any():
        raise InputError(
            f"{use} {values.name!r} is infinite in {row_name(int(np.argmax(infinite)))}; fix it."
        )
    return numbers


def _read_classes(values: pd.Series, use: str) -> npt.NDArray[Any]:
    if kind_of(values) == "words":
        return np.asarray(values.astype(object).tolist(), dtype=np.str_)
    if pd.api.types.is_bool_dtype(values):
        return np.asarray(values, dtype=bool)
    numbers = _read_numbers(values, use)
    between = numbers != np.round(numbers)
    if between.any():
        shown = numbers[np.argmax(between)]
        raise InputError(
            f"{use} {values.name!r} holds numbers such as {shown:g}, which are no classes; "
            f"{'learn numbers with --task regression, or ' * (use == 'target')}cut them into "
            "classes first."
        )
    return numbers.astype(np.int64)
