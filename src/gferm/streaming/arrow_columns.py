"""Columns of Arrow tables: which is what, and what it holds as numbers.

    ArrowRoles + schema → ArrowRoles with settled features    names and types are checked
    ArrowRoles + tables → Chunk                               X in the order of the features

Where the tables come from is said in parquet.py and arrow.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

import numpy as np
import numpy.typing as npt

from gferm.streaming.chunks import Chunk

ColumnValues = npt.NDArray[Any]


@dataclass(frozen=True)
class ArrowRoles:
    """Which column is what.

    Attributes
    ----------
    target : str
    sensitive : tuple of str
    weight : str or None
    features : tuple of str, or None
        None until they are settled: every column without another role.
    """

    target: str
    sensitive: tuple[str, ...] = ()
    weight: str | None = None
    features: tuple[str, ...] | None = None

    @classmethod
    def read(
        cls,
        target: str,
        sensitive: str | Sequence[str],
        weight: str | None,
        features: str | Sequence[str] | None,
    ) -> ArrowRoles:
        """Take what a user passed to a source; one name may stand for a sequence of one."""
        chosen = None if features is None else _names(features)
        if chosen is not None and target in chosen:
            raise ValueError(f"features has the target {target!r}; leave it out.")
        return cls(target, _names(sensitive), weight, chosen)

    @property
    def labels(self) -> list[str]:
        """All columns but the features."""
        weight = [] if self.weight is None else [self.weight]
        return list(dict.fromkeys([self.target, *self.sensitive, *weight]))

    @property
    def names(self) -> list[str]:
        """All columns, once each."""
        return list(dict.fromkeys([*(self.features or ()), *self.labels]))

    def settled(self, schema: Any, place: str) -> ArrowRoles:
        """Settle the features on a schema, or require that it has what they were settled to be."""
        features = self.features
        if features is None:
            index = (schema.pandas_metadata or {}).get("index_columns", ())
            features = tuple(name for name in schema.names if name not in (*self.labels, *index))
        found = replace(self, features=features)
        _require_once(place, schema.names, found.names)
        _require_numbers(place, schema, features)
        return found

    def chunk(self, tables: Sequence[Any], place: str) -> Chunk:
        """Read some tables as one chunk."""
        return self._labelled(self.matrix(tables, place), tables, place)

    def outline(self, tables: Sequence[Any]) -> Chunk:
        """Read all columns but the features."""
        return self._labelled(None, tables)

    def matrix(self, tables: Sequence[Any], place: str) -> Any:
        """Return the features as one frame over one array, so that their names are kept."""
        import pandas as pd

        names = self.features or ()
        found = [[read_column(table, name, number=True) for name in names] for table in tables]
        kinds = {column.dtype for columns in found for column in columns}
        rows = sum(table.num_rows for table in tables)
        values = np.empty((rows, len(names)), np.result_type(*kinds, np.float32), order="F")
        start = 0
        for table, columns in zip(tables, found, strict=True):
            for j, column in enumerate(columns):
                values[start : start + column.size, j] = column
            start += table.num_rows
        for j, name in enumerate(names):
            _require_finite(place, name, values[:, j])
        return pd.DataFrame(values, columns=list(names), copy=False)

    def _labelled(self, X: Any, tables: Sequence[Any], place: str | None = None) -> Chunk:
        columns = {
            name: _joined([read_column(table, name) for table in tables]) for name in self.labels
        }
        return Chunk(
            X,
            columns[self.target],
            {name: columns[name] for name in self.sensitive} or None,
            None if self.weight is None else columns[self.weight],
            place,
        )


def read_column(table: Any, name: str, *, number: bool = False) -> ColumnValues:
    """Return a column's values; NumPy knows no decimals, and no booleans with gaps."""
    from pyarrow import float64, types

    column = table.column(name)
    kind = _value_type(column.type)
    if types.is_decimal(kind) or (number and types.is_boolean(kind)):
        column = column.cast(float64())
    values: ColumnValues = column.to_numpy()
    return values


def _joined(columns: Sequence[ColumnValues]) -> ColumnValues:
    return columns[0] if len(columns) == 1 else np.concatenate(columns)


def _names(given: str | Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _require_once(place: str, there: Sequence[str], needed: Sequence[str]) -> None:
    counts = Counter(there)
    for name in needed:
        if counts[name] > 1:
            raise ValueError(
                f"{place} has {counts[name]} columns {name!r}; rename all of them but one."
            )
        if not counts[name]:
            near = get_close_matches(name, there, n=1)
            remedy = f"did you mean {near[0]!r}?" if near else f"there are {list(there)[:20]}."
            raise ValueError(f"{place} has no column {name!r}; {remedy}")


def _require_numbers(place: str, schema: Any, features: Sequence[str]) -> None:
    kinds = {name: schema.field(name).type for name in features}
    words = [f"{name} ({kind})" for name, kind in kinds.items() if not _is_number(kind)]
    if words:
        raise ValueError(
            f"{place} has columns that are not numbers: {', '.join(words[:5])}; encode them "
            "first, or leave them out with features=[...]."
        )


def _require_finite(place: str, name: str, column: ColumnValues) -> None:
    """Name the column: later on, it is one of many in X."""
    with np.errstate(invalid="ignore", over="ignore"):
        if np.isfinite(column.sum()):
            return
    missing = np.flatnonzero(~np.isfinite(column))
    if missing.size:  # or else the sum alone is too large
        raise ValueError(
            f"{place}: column {name!r} has {missing.size} values that are missing or infinite, "
            f"the first in row {missing[0]}; drop or impute these rows, or leave the column out "
            "with features=[...]."
        )


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    tests = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
    return any(test(_value_type(kind)) for test in tests)


def _value_type(kind: Any) -> Any:
    from pyarrow import types

    return kind.value_type if types.is_dictionary(kind) else kind
