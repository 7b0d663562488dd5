"""A dataset with sensitive attributes: read as columns, handed out in the shape that was asked for.

    CSV file → columns by name → Dataset → Bunch or (X, y, sensitive_features), arrays or frames

A file is gzip or plain, with a header row; an empty field is a missing value. An attribute that a
file holds as codes or as 0/1 columns becomes words by `decode` or `decode_one_hot`. What is a
feature, a target or an attribute, and in which bins, is up to each loader.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Collection, Iterable, Mapping, Sequence
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
def read_bundled(filename: str) -> Columns:
    """Read a file of the package, as `read_csv` does."""
    return read_csv(resources.files("gferm.datasets") / "data" / filename)


def read_csv(path: Path | Traversable) -> Columns:
    """Read the columns of a CSV file by name: floats where every field is a number, else words."""
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


def decode(codes: NDArray[Any], words: NDArray[np.str_]) -> NDArray[np.str_]:
    """Return the word of each row from its code 0, 1, ..."""
    chosen: NDArray[np.str_] = words[codes.astype(int)]
    return chosen


def one_hot_columns(columns: Columns, prefix: str) -> dict[str, NDArray[np.float64]]:
    """Return the 0/1 columns of an attribute: those whose names begin with `prefix`."""
    return {name: column for name, column in columns.items() if name.startswith(prefix)}


def decode_one_hot(columns: Columns, prefix: str) -> NDArray[np.str_]:
    """Return the category of each row from 0/1 columns, exactly one of which is 1 in every row."""
    chosen = one_hot_columns(columns, prefix)
    words = np.array([name.removeprefix(prefix) for name in chosen])
    return decode(np.argmax(list(chosen.values()), axis=0), words)


def check_sensitive(name: object, valid: Collection[str]) -> None:
    """Raise a ValueError that lists the valid names unless `name` is one of them."""
    if not isinstance(name, str) or name not in valid:
        raise ValueError(f"sensitive={name!r} is unknown; valid: {', '.join(map(repr, valid))}.")


def choose_sensitive(sensitive: str | Sequence[str], valid: Collection[str]) -> list[str]:
    """Return the names of the chosen attributes, checked: at least one, all valid, none twice."""
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


@dataclass(frozen=True, eq=False)
class Attribute:
    """A sensitive attribute.

    Attributes
    ----------
    values : array of shape (n_samples,)
    features : collection of str
        The features that hold it.
    bins : "auto" or tuple of float
        Its groups.
    """

    values: NDArray[Any]
    features: Collection[str]
    bins: BinsSpec = "auto"


@dataclass(frozen=True, eq=False)
class Dataset:
    """A dataset by columns, before attributes are chosen.

    Attributes
    ----------
    features : dict of arrays of shape (n_samples,)
        All of them, those that hold attributes too.
    target_name : str
    target : array of shape (n_samples,)
        Numbers, or the words of classes.
    attributes : dict of Attribute
        Those that can be chosen.
    y_bins : "auto" or tuple of float
    description : str
    """

    features: Columns
    target_name: str
    target: NDArray[Any]
    attributes: Mapping[str, Attribute]
    y_bins: BinsSpec
    description: str

    def load(
        self,
        sensitive: str | Sequence[str],
        *,
        include_sensitive: bool,
        return_X_y: bool,
        as_frame: bool,
    ) -> Loaded:
        """Return fresh copies of everything; the parameters are those of every loader."""
        chosen = {n: self.attributes[n] for n in choose_sensitive(sensitive, self.attributes)}
        several = not isinstance(sensitive, str)  # a sequence of one is two-dimensional, too
        left_out = {f for a in chosen.values() for f in a.features if not include_sensitive}
        features = {name: c for name, c in self.features.items() if name not in left_out}
        X: Any = np.column_stack(list(features.values())).astype(np.float64, copy=False)
        y: Any = self.target.copy()
        s: Any = {name: attribute.values.copy() for name, attribute in chosen.items()}
        if as_frame:
            pd = _import_pandas()
            X, y = pd.DataFrame(X, columns=list(features)), pd.Series(y, name=self.target_name)
            s = pd.DataFrame(s) if several else pd.Series(s[sensitive], name=sensitive)
        elif several:  # object: attributes may be of different kinds, and numbers must stay numbers
            s = np.array([values.astype(object) for values in s.values()]).T
        else:
            s = s[sensitive]
        if return_X_y:
            return X, y, s
        bins = [attribute.bins for attribute in chosen.values()]
        # the columns of an array have no names, so its bins go by position
        keys = chosen if as_frame else range(len(chosen))
        return Bunch(
            data=X,
            target=y,
            sensitive_features=s,
            feature_names=list(features),
            target_name=self.target_name,
            sensitive_names=list(chosen),
            y_bins=self.y_bins,
            s_bins=dict(zip(keys, bins, strict=True)) if several else bins[0],
            DESCR=self.description,
        )


def _import_pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            "as_frame=True needs pandas: pip install pandas, or pip install 'gferm[cli]'. "
            "With as_frame=False the loader gives NumPy arrays and needs neither."
        ) from error
    return pandas
