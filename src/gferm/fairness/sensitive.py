"""Reading ``sensitive_features``: any container in, named one-dimensional columns out.

A missing, misaligned or incomplete sensitive attribute is an error here, once and for all, so that
nothing downstream can train or judge a model on the wrong groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from gferm.arrays.foreign import as_numpy

UNNAMED = "sensitive"  # what a column is called that came without a name
NUMBERS = (Real, Decimal, np.bool_)


@dataclass(frozen=True, eq=False)
class SensitiveColumn:
    """One sensitive attribute: its name and its values, none missing.

    ``nominal`` columns were declared categorical (pandas, polars): their numbers are only names.
    """

    name: str
    values: npt.NDArray[Any]
    nominal: bool = False

    def keep(self, rows: npt.NDArray[np.bool_]) -> SensitiveColumn:
        """Return some of the rows."""
        return SensitiveColumn(self.name, self.values[rows], self.nominal)


def read_sensitive_features(
    sensitive_features: Any, n_samples: int, *, like: Sequence[Any] = ()
) -> tuple[SensitiveColumn, ...]:
    """Split ``sensitive_features`` into columns and check each one.

    Parameters
    ----------
    sensitive_features : array, Series, DataFrame or mapping of columns
        One row per sample.
    n_samples : int
        The number of rows it must have.
    like : sequence of objects
        The X and y it belongs to; pandas objects must agree in their index.
    """
    if sensitive_features is None:
        raise missing_error("sensitive_features=..., one row per sample")
    parts = _split(sensitive_features)
    for (_, values), other in product(parts, like):
        _check_same_index(values, other)
    columns = tuple(
        SensitiveColumn(name, _clean(values, name), _is_nominal(values)) for name, values in parts
    )
    if not columns:
        raise ValueError("sensitive_features has no column; pass at least one attribute.")
    for column in columns:
        if column.values.shape != (n_samples,):
            raise ValueError(
                f"sensitive_features ({column.name}) has {column.values.shape[0]} rows but there "
                f"are {n_samples} samples; pass one row per sample, in the same order."
            )
    return columns


def match_by_name(
    columns: tuple[SensitiveColumn, ...], names: tuple[str, ...]
) -> tuple[SensitiveColumn, ...]:
    """Return the attributes in the order of training."""
    by_name = {column.name: column for column in columns}
    if set(by_name) == set(names):
        return tuple(by_name[name] for name in names)
    if len(names) == len(columns) == 1 and UNNAMED in (columns[0].name, names[0]):
        return columns
    raise ValueError(
        f"sensitive_features has the attributes {list(by_name)}, but the model was trained with "
        f"{list(names)}; pass the same ones."
    )


def missing_error(what_to_pass: str, why: str = "") -> ValueError:
    """Return the error for attributes that were left out, by a slip or not."""
    return ValueError(f"sensitive_features is missing{why}: pass {what_to_pass}.")


def _split(features: Any) -> list[tuple[str, Any]]:
    if isinstance(features, Mapping) or hasattr(features, "columns"):  # pandas, polars and others
        keys = list(getattr(features, "columns", features))
        names = [str(key) for key in keys]
        if len(set(names)) < len(names):
            raise ValueError(
                f"sensitive_features has a column name twice: {names}; rename or drop one."
            )
        return [(name, features[key]) for name, key in zip(names, keys, strict=True)]
    name = getattr(features, "name", None)
    array = _as_array(features)
    if array.ndim <= 1:
        return [(UNNAMED if name in (None, "") else str(name), features)]
    if array.ndim > 2:
        raise ValueError(f"sensitive_features has {array.ndim} dimensions; pass one or two.")
    return [(f"{UNNAMED}{j}" if array.shape[1] > 1 else UNNAMED, c) for j, c in enumerate(array.T)]


def _as_array(values: Any) -> npt.NDArray[Any]:
    """Read a container, keeping the gaps and numbers that NumPy would write out as text."""
    array = np.asarray(as_numpy(values))
    if np.ma.is_masked(values):
        array = array.astype(object)
        array[np.ma.getmaskarray(values)] = None
    if array.dtype.kind in "US" and not hasattr(values, "dtype"):  # ["a", nan], [["a", 1]]
        array = np.asarray(values, dtype=object)
    return array


def _clean(values: Any, name: str) -> npt.NDArray[Any]:
    array = _as_array(values)
    if array.ndim != 1:
        raise ValueError(
            f"sensitive_features ({name}) must be one-dimensional, got {values!r:.60}; pass the "
            "values of the attribute, one for each row, not its name."
        )
    if array.dtype.kind == "O":
        missing = np.array([is_missing(v) or _is_infinite(v) for v in array], dtype=bool)
        if not missing.any():
            array = _numbers_or_strings(array)
    elif array.dtype.kind == "f":
        missing = ~np.isfinite(array)
    elif array.dtype.kind == "m":
        missing = np.isnat(array)
    elif array.dtype.kind == "M":
        missing, array = np.isnat(array), np.datetime_as_string(array, unit="auto")
    elif array.dtype.kind == "c":
        raise ValueError(f"sensitive_features ({name}) holds complex numbers.")
    else:
        missing = np.zeros(array.shape, dtype=bool)
    if missing.any():
        raise ValueError(
            f"sensitive_features ({name}) has {int(missing.sum())} missing or infinite values, "
            f"the first in row {int(np.argmax(missing))}; drop or impute these rows, or give "
            "'unknown' a category of its own."
        )
    return array


def _is_nominal(values: Any) -> bool:
    return str(getattr(values, "dtype", "")).lower().startswith(("category", "categorical", "enum"))


def _numbers_or_strings(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Undo object dtype: numbers kept as objects must not become one group a value."""
    if all(isinstance(v, NUMBERS) for v in array):
        return array.astype(float)
    return np.asarray([str(v) for v in array])


def is_missing(value: Any) -> bool:
    """Return whether a value is a gap: None, NaN, or what pandas writes for one."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (*NUMBERS, np.generic)) and bool(value != value)


def _is_infinite(value: Any) -> bool:
    return isinstance(value, NUMBERS) and not isfinite(value)


def _check_same_index(features: Any, like: Any) -> None:
    if (
        hasattr(features, "iloc")
        and hasattr(like, "iloc")
        and not features.index.equals(like.index)
    ):
        raise ValueError(
            "sensitive_features and X (or y) have different indexes, so their rows may not belong "
            "together; align them with sensitive_features.loc[X.index], or drop both indexes "
            "with reset_index(drop=True)."
        )
