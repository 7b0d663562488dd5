"""Rows of Parquet files, a row group at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gferm.streaming.learn import Chunk


class ParquetSource:
    """Chunks for `fit_stream`, one for each row group; needs pyarrow.

    Parameters
    ----------
    path : path, or sequence of paths
        A file, or a folder whose files end in .parquet, in the order of their names.
    target : str
        The column of the labels.
    sensitive : str or sequence of str, default=()
        Columns of sensitive attributes. They are features only if ``features`` names them.
    weight : str, default=None
        The column of sample weights.
    features : sequence of str, default=None
        The features; by default every other column, all of which must be numbers then.

    Examples
    --------
    >>> from gferm.streaming import ParquetSource
    >>> source = ParquetSource("people/", target="salary", sensitive="sex")  # doctest: +SKIP
    >>> model = fit_stream(FairRegressor(kernel="linear"), source, verbose=1)  # doctest: +SKIP
    """

    def __init__(
        self,
        path: Any,
        *,
        target: str,
        sensitive: str | Sequence[str] = (),
        weight: str | None = None,
        features: Sequence[str] | None = None,
    ) -> None:
        self.paths = _files(path)
        self.target, self.weight = target, weight
        self.sensitive = (sensitive,) if isinstance(sensitive, str) else tuple(sensitive)
        used = (target, *self.sensitive, *([] if weight is None else [weight]))
        if features is not None and target in features:
            raise ValueError(f"features has the target {target!r}; leave it out.")
        self._parts: list[tuple[Path, int, int]] = []  # file, row group, rows
        for file_path in self.paths:
            with _opened(file_path) as file:
                schema, groups = file.schema_arrow, file.metadata
                if features is None:
                    features = [name for name in schema.names if name not in used]
                _require_columns(file_path, schema, used, features)
                sizes = [groups.row_group(j).num_rows for j in range(groups.num_row_groups)]
            self._parts += [(file_path, j, size) for j, size in enumerate(sizes) if size]
        self.features = tuple(features or ())
        if not self._parts:
            raise ValueError(f"path={path!r} holds no rows.")

    @property
    def n_rows(self) -> int:
        """Rows in all files."""
        return sum(size for *_, size in self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __iter__(self) -> Iterator[Chunk]:
        names = list(dict.fromkeys([*self.features, *self._labels]))
        for path, parts in groupby(self._parts, key=itemgetter(0)):
            with _opened(path) as file:
                for _, group, _ in parts:  # nothing of a chunk is held while another is read
                    yield self._chunk(file.read_row_group(group, columns=names))

    def outline(self) -> Chunk:
        """Give labels, attributes and weights of all rows, without features."""
        found: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in self._labels}
        for path, parts in groupby(self._parts, key=itemgetter(0)):
            with _opened(path) as file:
                table = file.read_row_groups([group for _, group, _ in parts], columns=[*found])
            for name, columns in found.items():
                columns.append(_column(table, name))
        whole = {name: np.concatenate(columns) for name, columns in found.items()}
        return self._labelled(None, whole)

    def take(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
        """Give the features of some rows, numbered from 0 in increasing order."""
        found, start = [], 0
        for path, group, size in self._parts:
            here = rows[(rows >= start) & (rows < start + size)] - start
            if here.size:
                with _opened(path) as file:
                    table = file.read_row_group(group, columns=list(self.features))
                found.append(self._matrix(table).to_numpy(dtype=np.float64)[here])
            start += size
        return np.concatenate(found)

    @property
    def _labels(self) -> list[str]:
        weight = [] if self.weight is None else [self.weight]
        return list(dict.fromkeys([self.target, *self.sensitive, *weight]))

    def _chunk(self, table: Any) -> Chunk:
        return self._labelled(
            self._matrix(table), {name: _column(table, name) for name in self._labels}
        )

    def _labelled(self, X: Any, columns: dict[str, npt.NDArray[Any]]) -> Chunk:
        return Chunk(
            X,
            columns[self.target],
            {name: columns[name] for name in self.sensitive} or None,
            None if self.weight is None else columns[self.weight],
        )

    def _matrix(self, table: Any) -> Any:
        """Give the features as one frame over one array, so that their names are kept."""
        import pandas as pd

        columns = [_column(table, name, number=True) for name in self.features]
        dtype = np.result_type(*(column.dtype for column in columns), np.float32)
        values = np.empty((table.num_rows, len(columns)), dtype=dtype, order="F")
        for j, column in enumerate(columns):
            values[:, j] = column
        return pd.DataFrame(values, columns=list(self.features), copy=False)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Open a file for a while: a folder may hold more of them than may be open at once."""
    try:
        from pyarrow import ArrowInvalid
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise ImportError("ParquetSource needs pyarrow: pip install 'gferm[cli]'.") from error
    try:
        file = ParquetFile(path)
    except ArrowInvalid as error:
        raise ValueError(f"{path} is no Parquet file: {error}") from error
    with file:
        yield file


def _column(table: Any, name: str, *, number: bool = False) -> npt.NDArray[Any]:
    from pyarrow import float64, types

    column = table.column(name)
    if types.is_decimal(column.type) or (number and types.is_boolean(column.type)):
        column = column.cast(float64())  # a boolean may have gaps
    values: npt.NDArray[Any] = column.to_numpy()
    return values


def _require_columns(path: Path, schema: Any, used: Sequence[str], features: Sequence[str]) -> None:
    for name in (*used, *features):
        if name not in schema.names:
            near = get_close_matches(name, schema.names, n=1)
            remedy = f"did you mean {near[0]!r}?" if near else f"there are {schema.names[:20]}."
            raise ValueError(f"{path} has no column {name!r}; {remedy}")
    words = [name for name in features if not _is_number(schema.field(name).type)]
    if words:
        raise ValueError(
            f"{path} has columns that are not numbers: {words[:5]}; encode them first, or leave "
            "them out with features=[...]."
        )


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    tests = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
    return any(test(kind) for test in tests)


def _files(path: Any) -> list[Path]:
    if isinstance(path, (list, tuple)):
        found = [Path(one) for one in path]
    elif Path(path).is_dir():
        found = sorted(Path(path).glob("*.parquet"))
    else:
        found = [Path(path)]
    if not found:
        raise ValueError(f"path={path!r} holds no file that ends in .parquet.")
    for file in found:
        if not file.exists():
            raise FileNotFoundError(f"There is no file {file}; check the path.")
    return found
