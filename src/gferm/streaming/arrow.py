"""Rows of whatever speaks Arrow: datasets, tables, readers, batches of other engines.

    Dataset, Table              read as often as needed: bins and landmarks are those of all rows
    reader, stream, batches     read once:               … those of the first chunk

Chunks have the same number of rows, however the rows arrive: small batches are joined, so that the
first chunk is worth settling bins on, and large ones are cut, so that a chunk fits into memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count, islice
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.metaestimators import available_if

from gferm.streaming.arrow_columns import ArrowRoles
from gferm.streaming.chunks import Chunk


def _can_be_read_again(source: ArrowSource) -> bool:
    if source._dataset is None:
        raise AttributeError(
            f"a {type(source._data).__name__} gives its rows once, and there is no looking ahead; "
            "pass a pyarrow Dataset or Table."
        )
    return True


class ArrowSource:
    """Chunks for `fit_stream` from Arrow data; needs pyarrow and pandas.

    Parameters
    ----------
    data : pyarrow Dataset, Table or RecordBatchReader, or an iterable of record batches
        A Dataset may have many files, folders of partitions, formats other than Parquet, and a
        filter. Anything with the Arrow stream interface is read as a reader is: a data frame of
        polars or Spark, a relation of DuckDB. Batches may be whatever `pyarrow.table` takes.
        Bins and landmarks that are not given as such are settled on all rows of a Dataset or
        Table, as `fit` does, and on the first chunk of anything else.
    target : str
        The column of the labels.
    sensitive : str or sequence of str, default=()
        Columns of sensitive attributes. They are features only if ``features`` names them.
    weight : str, default=None
        The column of sample weights.
    features : sequence of str, default=None
        The features; by default every other column but the index of pandas, all of which must be
        numbers then.
    chunk_rows : int, default=131072
        The rows of a chunk.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from gferm import FairRegressor
    >>> from gferm.datasets import make_fair_regression
    >>> from gferm.streaming import ArrowSource, fit_stream
    >>> X, y, s = make_fair_regression(600, random_state=0, return_X_y=True)
    >>> names = ["age", "rooms", "garden", "years", "floor", "proxy"]
    >>> table = pa.table([*X.T, y, s], names=[*names, "salary", "sex"])
    >>> source = ArrowSource(table, target="salary", sensitive="sex", chunk_rows=100)
    >>> model = fit_stream(FairRegressor(kernel="linear", y_bins=4), source)
    >>> whole = FairRegressor(kernel="linear", y_bins=4).fit(X, y, sensitive_features=s)
    >>> bool(abs(model.coef_ - whole.coef_).max() < 1e-8)
    True

    Folders of partitions, of which only some rows are read:

    >>> from pyarrow import dataset
    >>> people = dataset.dataset("people/", partitioning="hive")  # doctest: +SKIP
    >>> people = people.filter(dataset.field("year") >= 2020)  # doctest: +SKIP
    >>> source = ArrowSource(people, target="salary", sensitive="sex")  # doctest: +SKIP
    """

    def __init__(
        self,
        data: Any,
        *,
        target: str,
        sensitive: str | Sequence[str] = (),
        weight: str | None = None,
        features: Sequence[str] | None = None,
        chunk_rows: int = 131_072,
    ) -> None:
        if not isinstance(chunk_rows, Integral) or chunk_rows < 1:
            raise ValueError(f"chunk_rows={chunk_rows!r} must be a number of rows, 1 or more.")
        self.chunk_rows: int = int(chunk_rows)
        self.roles: ArrowRoles = ArrowRoles.read(target, sensitive, weight, features)
        self._data: Any = data
        self._dataset: Any = _as_dataset(data)
        self._spent: bool = False
        if self._dataset is not None:
            self.roles = self.roles.settled(self._dataset.schema, "data")
            for path, schema in _files(self._dataset):  # a gap would stand in for what is missing
                self.roles.settled(schema, path)

    def __iter__(self) -> Iterator[Chunk]:
        tables = self._stream() if self._dataset is None else self._scan(self.roles.names)
        return map(self._chunk, in_chunks(tables, self.chunk_rows), count(1))

    @property
    def features(self) -> tuple[str, ...]:
        """The columns of X, in their order; those of a stream are known from its first batch."""
        return self.roles.features or ()

    @available_if(_can_be_read_again)  # type: ignore[untyped-decorator]
    def outline(self) -> Chunk:
        """Return labels, attributes and weights of all rows, without features."""
        tables = list(self._scan(self.roles.labels))
        if not tables:
            raise ValueError("data holds no rows, or its filter leaves none.")
        return self.roles.outline(tables)

    @available_if(_can_be_read_again)  # type: ignore[untyped-decorator]
    def take(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
        """Return the features of some rows, numbered from 0 in increasing order."""
        chunk_of, found = rows // self.chunk_rows, []
        chunks = in_chunks(self._scan([*self.features]), self.chunk_rows)
        for k, tables in enumerate(islice(chunks, chunk_of[-1] + 1)):
            here = rows[chunk_of == k] - k * self.chunk_rows
            if here.size:
                X = self.roles.matrix(tables, f"Chunk {k + 1}")
                found.append(X.to_numpy(dtype=np.float64)[here])
        return np.concatenate(found)

    def _chunk(self, tables: Sequence[Any], number: int) -> Chunk:
        # its number is the place, which errors give anyway
        return replace(self.roles.chunk(tables, f"Chunk {number}"), place=None)

    def _scan(self, columns: Sequence[str]) -> Iterator[Any]:
        """Read a dataset, in the order of its files, without reading far ahead."""
        from pyarrow import ArrowInvalid, ArrowNotImplementedError, ArrowTypeError, Table

        assert self._dataset is not None
        try:
            for batch in self._dataset.to_batches(
                columns=columns,
                batch_size=self.chunk_rows,
                batch_readahead=1,
                fragment_readahead=1,
            ):
                yield Table.from_batches([batch])
        except (ArrowInvalid, ArrowNotImplementedError, ArrowTypeError) as error:
            hint = "".join(_differences(self._dataset, columns)[:1])
            raise ValueError(f"data cannot be read: {error}. {hint}") from error

    def _stream(self) -> Iterator[Any]:
        """Read batches as they come."""
        if self._spent:
            raise ValueError(
                f"data is a {type(self._data).__name__}, which gives its rows once, and they have "
                "been read; open a new one, or pass a pyarrow Dataset or Table."
            )
        self._spent = hasattr(self._data, "__next__")
        return map(self._read_batch, _batches(self._data), count(1))

    def _read_batch(self, batch: Any, number: int) -> Any:
        """Return a batch's columns; the first one that has rows settles the features."""
        table = _as_table(batch, number)
        if not table.num_rows:
            return table
        self.roles = self.roles.settled(table.schema, f"Batch {number}")
        return table.select(self.roles.names)


def in_chunks(tables: Iterable[Any], rows: int) -> Iterator[list[Any]]:
    """Return tables together that have so many rows, all but the last ones."""
    waiting: list[Any] = []
    missing = rows
    for table in tables:
        while table.num_rows >= missing:
            waiting.append(table.slice(0, missing))
            table = table.slice(missing)
            yield waiting
            waiting, missing = [], rows
        if table.num_rows:
            waiting.append(table)
            missing -= table.num_rows
        del table  # nothing of a chunk is held while another is read
    if waiting:
        yield waiting


def _as_dataset(data: Any) -> Any:
    """Return what can be read more than once as a dataset; None for anything else."""
    from pyarrow import RecordBatch, Table
    from pyarrow.dataset import Dataset, dataset

    if isinstance(data, Dataset):
        return data
    if isinstance(data, (Table, RecordBatch)):
        return dataset(data)
    stream = hasattr(data, "__arrow_c_stream__") or hasattr(data, "__iter__")
    if not stream or isinstance(data, (str, Mapping)):
        raise TypeError(
            f"data is a {type(data).__name__}; pass a pyarrow Dataset, Table or RecordBatchReader, "
            "or an iterable of record batches. Files and folders are opened by "
            "pyarrow.dataset.dataset(path, partitioning='hive')."
        )
    return None


def _files(dataset: Any) -> Iterator[tuple[str, Any]]:
    """Return each file's path and schema, with what the names of its folders tell."""
    from pyarrow import schema
    from pyarrow.dataset import get_partition_keys

    try:
        parts = list(dataset.get_fragments())
    except ValueError:  # of a dataset with a filter pyarrow does not tell
        return
    for part in parts:
        keys = get_partition_keys(part.partition_expression)
        told = [field for field in dataset.schema if field.name in keys]
        own = [field for field in part.physical_schema if field.name not in keys]
        yield getattr(part, "path", "data"), schema([*own, *told])


def _differences(dataset: Any, columns: Sequence[str]) -> list[str]:
    """List in which files columns have other types than the dataset says."""
    return [
        f"{path} stores {name!r} as {schema.field(name).type}, and the dataset takes it for "
        f"{dataset.schema.field(name).type}: give pyarrow.dataset.dataset a schema=... that holds "
        "all files."
        for path, schema in _files(dataset)
        for name in columns
        if schema.field(name).type != dataset.schema.field(name).type
    ]


def _batches(data: Any) -> Iterable[Any]:
    """Return the batches of a stream; data frames, too, would else be gone through by columns."""
    from pyarrow import RecordBatchReader

    stream = hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__next__")
    batches: Iterable[Any] = RecordBatchReader.from_stream(data) if stream else data
    return batches


def _as_table(batch: Any, number: int) -> Any:
    import pyarrow as pa

    try:
        return pa.table(batch)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"Batch {number} of data is a {type(batch).__name__} that pyarrow.table does not take: "
            f"{error}"
        ) from error
