"""Rows of Parquet files: a row group is a chunk, and bins and landmarks are those of all rows.

path → files → (file, row group, rows) …           from their metadata
row group → ArrowRoles → Chunk                     one at a time
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gferm.streaming.arrow_columns import ArrowRoles
from gferm.streaming.chunks import Chunk


class ParquetSource:
    """Chunks for `fit_stream`, one for each row group; needs pyarrow.

    Parameters
    ----------
    path : path, or sequence of paths
        A file, or a folder whose files end in .parquet, in the order of their names. For folders
        in folders, see `ArrowSource`.
    target : str
        The column of the labels.
    sensitive : str or sequence of str, default=()
        Columns of sensitive attributes. They are features only if ``features`` names them.
    weight : str, default=None
        The column of sample weights.
    features : sequence of str, default=None
        The features; by default every other column but the index of pandas, all of which must be
        numbers then.

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
        self.roles: ArrowRoles = ArrowRoles.read(target, sensitive, weight, features)
        self._parts: list[tuple[Path, int, int]] = []  # file, row group, rows
        for file_path in self.paths:
            with _opened(file_path) as file:
                groups = file.metadata
                self.roles = self.roles.settled(file.schema_arrow, str(file_path))
                sizes = [groups.row_group(j).num_rows for j in range(groups.num_row_groups)]
            self._parts += [(file_path, j, size) for j, size in enumerate(sizes) if size]
        if not self._parts:
            raise ValueError(f"path={path!r} holds no rows.")

    @property
    def features(self) -> tuple[str, ...]:
        """The columns of X, in their order."""
        return self.roles.features or ()

    @property
    def n_rows(self) -> int:
        """Rows in all files."""
        return sum(size for *_, size in self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __iter__(self) -> Iterator[Chunk]:
        names = self.roles.names
        for path, parts in groupby(self._parts, key=itemgetter(0)):
            with _opened(path) as file:
                for _, group, _ in parts:  # nothing of a chunk is held while another is read
                    yield self._chunk(file.read_row_group(group, columns=names), path, group)

    def outline(self) -> Chunk:
        """Return labels, attributes and weights of all rows, without features."""
        tables = []
        for path, parts in groupby(self._parts, key=itemgetter(0)):
            with _opened(path) as file:
                groups = [group for _, group, _ in parts]
                tables.append(file.read_row_groups(groups, columns=self.roles.labels))
        return self.roles.outline(tables)

    def take(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
        """Return the features of some rows, numbered from 0 in increasing order."""
        found, start = [], 0
        for path, group, size in self._parts:
            here = rows[(rows >= start) & (rows < start + size)] - start
            if here.size:
                with _opened(path) as file:
                    table = file.read_row_group(group, columns=list(self.features))
                X = self.roles.matrix([table], _place(path, group))
                found.append(X.to_numpy(dtype=np.float64)[here])
            start += size
        return np.concatenate(found)

    def _chunk(self, table: Any, path: Path, group: int) -> Chunk:
        return self.roles.chunk([table], _place(path, group))


def _place(path: Path, group: int) -> str:
    return f"{path}, row group {group}"


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


def _files(path: Any) -> list[Path]:
    if isinstance(path, (list, tuple)):
        found = [Path(one) for one in path]
    elif Path(path).is_dir():
        found = _files_of(Path(path))
    else:
        found = [Path(path)]
    if not found:
        raise ValueError(f"path={path!r} holds no file that ends in .parquet.")
    for file in found:
        if not file.exists():
            raise FileNotFoundError(f"There is no file {file}; check the path.")
    return found


def _files_of(folder: Path) -> list[Path]:
    """Return the files of a folder, which must be all there are: none is left out in silence."""
    files = sorted(file for file in folder.rglob("*.parquet") if file.is_file())
    deeper = [file.relative_to(folder) for file in files if file.parent != folder]
    nested = [file for file in deeper if not str(file).startswith(("_", "."))]  # such as _delta_log
    if nested:
        raise ValueError(
            f"path={str(folder)!r} holds files in folders, such as {str(nested[0])!r}, whose names "
            "may hold columns; read them all with ArrowSource(pyarrow.dataset.dataset("
            f"{str(folder)!r}, partitioning='hive'), ...), or give the one folder to be read."
        )
    return [file for file in files if file.parent == folder]
