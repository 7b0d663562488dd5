"""Columns by name: the ones a user meant, what their values are, and whether these are of one kind.

A column holds numbers, words or something else (`kind_of`). One that mixes numbers and words is an
error that names the first value in the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from gferm.arrays import Array
from gferm.exceptions import InputError
from gferm.printed.table import listed

Task = Literal["regression", "classification"]

Kind = Literal["numbers", "words", "other"]


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the end of a sentence that suggests the known name most like this one."""
    known = list(known)
    folded = {other.casefold(): other for other in reversed(known)}
    close = get_close_matches(name.strip().casefold(), folded, n=1, cutoff=0.5)
    if close:
        return f"did you mean {folded[close[0]]!r}?"
    return f"there are {listed([repr(other) for other in known], 8)}."


def find_column(name: str, columns: Sequence[str], option: str) -> str:
    """Return the name if there is such a column; raise an error that names the nearest if not."""
    if name not in columns:
        raise InputError(f"{option} {name!r} is no column of the data; {nearest(name, columns)}")
    return name


def find_columns(
    given: Sequence[str] | None, columns: Sequence[str], option: str
) -> tuple[str, ...]:
    """Return the columns of an option that is repeated, or has names joined by commas, or both."""
    found: list[str] = []
    for words in given or ():
        names = [words] if words in columns else split_names(words)
        found += [find_column(name, columns, option) for name in names]
    twice = {name for name in found if found.count(name) > 1}
    if twice:
        raise InputError(f"{option} names {min(twice)!r} more than once; name it once.")
    return tuple(found)


def split_names(words: str) -> list[str]:
    """Return the names in a text that joins them by commas."""
    return [name for name in (part.strip() for part in words.split(",")) if name]


def row_name(place: int) -> str:
    """Return a row's name as people count: from one, the line of column names left out."""
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
    """Return the place of the first value that is no number, in a column of texts."""
    return _first_place(~_are_numbers(values) & values.notna().to_numpy())


def first_number(values: pd.Series) -> int | None:
    """Return the place of the first value that is a number, in a column of texts."""
    return _first_place(_are_numbers(values))


def texts_of(values: pd.Series) -> tuple[npt.NDArray[np.intp], list[str]]:
    """Return the code of each row and the texts they stand for; −1 where a value is missing."""
    codes, found = pd.factorize(values)
    return codes, [_text_of(value) for value in found.tolist()]


def is_categorical(values: pd.Series, categorical: Sequence[str]) -> bool:
    """Return whether a feature is taken as words; raise an error if it is fit for neither."""
    name = str(values.name)
    if not values.notna().any():
        raise InputError(f"column {name!r} has no value in any row; leave it out with --drop.")
    kind = kind_of(values)
    if name in categorical:
        return True
    if kind == "words" and not isinstance(values.dtype, pd.CategoricalDtype):
        require_one_kind(values, "fix it, or take all as words with --categorical")
    elif kind == "numbers":
        require_numbers(values)
    elif kind == "other":
        dates = str(values.dtype).startswith("datetime")
        what = "dates" if dates else f"values such as {str(values.dropna().iloc[0])!r:.40}"
        raise InputError(
            f"column {name!r} holds {what}, neither numbers nor words; turn it into numbers, such "
            "as days, or leave it out with --drop."
        )
    return kind == "words"


def require_numbers(values: pd.Series, *, fitting: bool = True) -> None:
    """Raise an error if a feature has values that are no numbers, or infinite."""
    kind = kind_of(values)
    if kind == "words" and not values.notna().any():  # nothing there: all missing
        return
    if kind != "numbers":
        place = (first_word(values) if kind == "words" else None) or 0
        shown = values.dropna().iloc[0] if kind != "words" else values.iloc[place]
        raise InputError(
            f"column {values.name!r} must hold numbers, but {row_name(place)} holds "
            f"{str(shown)!r:.40}; fix it."
        )
    infinite = np.isinf(as_numbers(values))
    if infinite.any():
        remedy = "fix it, or leave the column out with --drop" if fitting else "fix it"
        raise InputError(
            f"column {values.name!r} is infinite in {row_name(int(np.argmax(infinite)))}; {remedy}."
        )


def require_one_kind(values: pd.Series, remedy: str) -> None:
    """Raise an error if a few words are among the numbers of a column, or the reverse."""
    numbers, words = first_number(values), first_word(values)
    if numbers is None or words is None:
        return
    mostly_numbers = 2 * _are_numbers(values).sum() >= values.notna().sum()
    what, place = ("numbers", words) if mostly_numbers else ("words", numbers)
    raise InputError(
        f"column {values.name!r} mixes numbers and words: it holds mostly {what}, but "
        f"{row_name(place)} holds {str(values.iloc[place])!r:.40}; {remedy}."
    )


def _are_numbers(values: pd.Series) -> npt.NDArray[np.bool_]:
    """Return which texts can be read as numbers."""
    found: npt.NDArray[np.bool_] = (
        pd.to_numeric(values.astype(object), errors="coerce").notna().to_numpy()
    )
    return found


def _first_place(where: npt.NDArray[np.bool_]) -> int | None:
    return int(np.argmax(where)) if where.any() else None


def _text_of(value: object) -> str:
    """Return a number as it is in a file: 1 for 1.0, which a missing value may have made of it."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
