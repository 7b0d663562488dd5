"""Columns by name: the ones a user meant, and what their values are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from gferm.arrays import Array
from gferm.cli.terminal import InputError

Kind = Literal["numbers", "words", "other"]


def nearest(name: str, known: Iterable[str]) -> str:
    """Suggest the known name that is most like this one, as the end of a sentence."""
    known = list(known)
    folded = {other.casefold(): other for other in reversed(known)}
    close = get_close_matches(name.strip().casefold(), folded, n=1, cutoff=0.5)
    if close:
        return f"did you mean {folded[close[0]]!r}?"
    more = ", …" if len(known) > 8 else ""
    return f"there are {', '.join(map(repr, known[:8]))}{more}."


def find_column(name: str, columns: Sequence[str], option: str) -> str:
    """Return the name back if there is such a column, else say which is nearest."""
    if name not in columns:
        raise InputError(f"{option} {name!r} is no column of the data; {nearest(name, columns)}")
    return name


def find_columns(given: Sequence[str], columns: Sequence[str], option: str) -> tuple[str, ...]:
    """Read an option that is repeated, or has names joined by commas, or both."""
    found: list[str] = []
    for words in given:
        names = [words] if words in columns else split_names(words)
        found += [find_column(name, columns, option) for name in names]
    twice = {name for name in found if found.count(name) > 1}
    if twice:
        raise InputError(f"{option} names {min(twice)!r} more than once; name it once.")
    return tuple(found)


def split_names(words: str) -> list[str]:
    """Take names joined by commas apart."""
    return [name for name in (part.strip() for part in words.split(",")) if name]


def row(place: int) -> str:
    """Name a row as people count them: from one, the names of the columns left out."""
    return f"row {place + 1}"


def kind_of(values: pd.Series) -> Kind:
    """Return what a column holds, missing values aside."""
    types = pd.api.types
    if isinstance(values.dtype, pd.CategoricalDtype):
        return "words"
    if types.is_bool_dtype(values) or types.is_numeric_dtype(values):
        return "other" if types.is_complex_dtype(values) else "numbers"
    inferred = pd.api.types.infer_dtype(values, skipna=True)
    return "words" if inferred in ("string", "empty") else "other"


def as_numbers(values: pd.Series) -> Array:
    """Return a column of numbers as doubles, NaN where there is none."""
    if values.dtype == np.float64:  # as it is, without a copy
        return np.asarray(values)
    numbers: Array = values.to_numpy(dtype=np.float64, na_value=np.nan)
    return numbers


def first_word(values: pd.Series) -> int | None:
    """Find the first value that is no number, in a column of texts."""
    numbers = pd.to_numeric(values.astype(object), errors="coerce")
    words = (numbers.isna() & values.notna()).to_numpy()
    return int(np.argmax(words)) if words.any() else None


def first_number(values: pd.Series) -> int | None:
    """Find the first value that is a number, in a column of texts."""
    numbers = pd.to_numeric(values.astype(object), errors="coerce").notna().to_numpy()
    return int(np.argmax(numbers)) if numbers.any() else None


def texts_of(values: pd.Series) -> tuple[npt.NDArray[np.intp], list[str]]:
    """Return the code of each row and the texts they stand for; −1 where a value is missing."""
    codes, found = pd.factorize(values)
    return codes, [_text_of(value) for value in found.tolist()]


def _text_of(value: object) -> str:
    """Write a number as a file does: 1 for 1.0, which a missing value may have made of it."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
