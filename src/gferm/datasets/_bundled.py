"""Read the bundled files and hand a dataset out as the caller wants it.

A bundled file is a gzip CSV with a header row; an empty field is a missing value. ``read_columns``
reads one, ``read_csv`` reads such a file from anywhere, and ``Dataset.hand_out`` gives a Bunch or a
tuple, as NumPy arrays or pandas objects. An attribute that a file holds as codes or as 0/1 columns
becomes words with ``in_words`` or ``categories``. Which columns are features, target or sensitive
is each loader's own business, not this file's.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

Columns: TypeAlias = Mapping[str, NDArray[Any]]
Edges: TypeAlias = tuple[float, ...]
BinsSpec: TypeAlias = str | Edges  # "auto": one bin or group for each category

# A Bunch or a tuple (X, y, sensitive_features). scikit-learn ships no type hints, so a union of
# the two would tell callers nothing and make them cast.
Loaded: TypeAlias = Any

GZIP_MAGIC = b"\x1f\x8b"


@cache
def read_columns(filename: str) -> Columns:
    """Columns of a bundled file by name: float where every field is a number, else str."""
    return read_csv(resources.files("gferm.datasets") / "data" / filename)


def read_csv(path: Path | Traversable) -> Columns:
    """Columns of a CSV file, gzip or plain, by name: float where every field is a number."""
    content = path.read_bytes()
    if content.startswith(GZIP_MAGIC):
        content = gzip.decompress(content)
    header, *rows = csv.reader(io.StringIO(content.decode("utf-8"), newline=""))
    fields = zip(*rows, strict=True)
    return MappingProxyType({n: _parse(f) for n, f in zip(header, fields, strict=True)})


def _parse(fields: Sequence[str]) -> NDArray[Any]:
    try:
        column: NDArray[Any] = np.array([float(field) if field else np.nan for field in fields])
    except ValueError:
        column = np.array(fields)
    column.flags.writeable = False  # the cache is shared by all callers
    return column


def in_words(words: NDArray[np.str_], codes: NDArray[Any]) -> NDArray[np.str_]:
    """Return the word of each row from its code 0, 1, ..."""
    chosen: NDArray[np.str_] = words[codes.astype(int)]
    return chosen


def flags(columns: Columns, prefix: str) -> dict[str, NDArray[np.float64]]:
    """Return the 0/1 columns of an attribute: those whose names begin with `prefix`."""
    return {name: column for name, column in columns.items() if name.startswith(prefix)}


def categories(columns: Columns, prefix: str) -> NDArray[np.str_]:
    """Return the category of each row from 0/1 columns, exactly one of which is 1 in every row."""
    chosen = flags(columns, prefix)
    words = np.array([name.removeprefix(prefix) for name in chosen])
    return in_words(words, np.argmax(list(chosen.values()), axis=0))


def check_sensitive(name: object, valid: Sequence[str]) -> None:
    """Raise a ValueError that lists the valid names unless `name` is one of them."""
    if not isinstance(name, str) or name not in valid:
        raise ValueError(f"sensitive={name!r} is unknown; valid: {', '.join(map(repr, valid))}.")


def choose_sensitive(sensitive: str | Sequence[str], valid: Sequence[str]) -> list[str]:
    """Names of the chosen attributes, checked: known, at least one, none twice."""
    alone = isinstance(sensitive, str) or not isinstance(sensitive, Iterable)
    names: list[str] = [sensitive] if alone else list(sensitive)  # type: ignore[list-item]
    for name in names:
        check_sensitive(name, valid)
    if not names or len(set(names)) < len(names):
        raise ValueError(
            f"sensitive={sensitive!r} must name at least one attribute and none twice; "
            f"valid: {', '.join(map(repr, valid))}."
        )
    return names


@dataclass(frozen=True)
class Dataset:
    """A dataset by columns, before its shape is chosen."""

    features: Columns
    target_name: str
    target: NDArray[Any]  # numbers, or the words of classes
    sensitive: Columns
    several: bool  # the attributes were asked for as a sequence: keep them two-dimensional
    y_bins: BinsSpec
    s_bins: Sequence[BinsSpec]  # one for each sensitive attribute
    description: str

    def hand_out(self, *, return_X_y: bool, as_frame: bool) -> Loaded:
        """Fresh copies of everything, as a Bunch or as (X, y, sensitive_features)."""
        X, y, s = self._frames() if as_frame else self._arrays()
        if return_X_y:
            return X, y, s
        # the columns of an array have no names, so its bins go by position
        keys = self.sensitive if as_frame else range(len(self.sensitive))
        return Bunch(
            data=X,
            target=y,
            sensitive_features=s,
            feature_names=list(self.features),
            target_name=self.target_name,
            sensitive_names=list(self.sensitive),
            y_bins=self.y_bins,
            s_bins=dict(zip(keys, self.s_bins, strict=True)) if self.several else self.s_bins[0],
            DESCR=self.description,
        )

    def _arrays(self) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[Any]]:
        X = np.column_stack(list(self.features.values())).astype(np.float64, copy=False)
        columns = [column.copy() for column in self.sensitive.values()]
        # object: the attributes may be of different kinds, and a number must stay a number
        s = np.array([c.astype(object) for c in columns]).T if self.several else columns[0]
        return X, self.target.copy(), s

    def _frames(self) -> tuple[Any, Any, Any]:
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "as_frame=True needs pandas: pip install pandas, or pip install 'gferm[cli]'. "
                "With as_frame=False the loader gives NumPy arrays and needs neither."
            ) from error
        X, y, _ = self._arrays()
        s = pd.DataFrame({name: column.copy() for name, column in self.sensitive.items()})
        return (
            pd.DataFrame(X, columns=list(self.features)),
            pd.Series(y, name=self.target_name),
            s if self.several else s.iloc[:, 0],
        )
