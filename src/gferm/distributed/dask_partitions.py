"""Partitions of X, with the rows of y, attributes and weights that belong to them.

    X  | y  | sensitive_features | sample_weight        dask arrays and data frames
    X₀ | y₀ | s₀                 | w₀                   one DaskPartition: what one task reads
    X₁ | y₁ | s₁                 | w₁

Arrays whose chunks are known are cut where X is cut, and data frames whose divisions are known
where X is divided. Of anything else nobody knows how many rows a partition has before it is read:
it goes partition by partition, and rows are counted on the workers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from dask.base import is_dask_collection


@dataclass(frozen=True, eq=False)
class DaskPartition:
    """One partition of every argument, not read yet.

    Attributes
    ----------
    number : int
    X, y, sensitive_features, sample_weight
    before : int or None
        Rows in the partitions before it, whatever their weight; None if nobody has counted them.
    """

    number: int
    X: Any
    y: Any
    sensitive_features: Any
    sample_weight: Any
    before: int | None = None

    @property
    def given(self) -> tuple[Any, Any, Any, Any]:
        """All four, in the order of `fit`."""
        return self.X, *self.labels

    @property
    def labels(self) -> tuple[Any, Any, Any]:
        """All but the features."""
        return self.y, self.sensitive_features, self.sample_weight


def align_partitions(
    X: Any, y: Any, sensitive_features: Any, sample_weight: Any
) -> list[DaskPartition]:
    """Cut all arguments where X is cut.

    Raises
    ------
    ValueError
        If they have other rows than X, or partitions that cannot be matched.
    """
    X = require_table(X)
    s = sensitive_features
    many = isinstance(s, Mapping)
    columns = {f"sensitive_features ({k})": v for k, v in s.items()} if many else {}
    blocks_of_columns = [_blocks(column, X, name) for name, column in columns.items()]
    blocks = [
        _blocks(argument, X, name)
        for name, argument in (
            ("X", X),
            ("y", y),
            ("sensitive_features", None if many else s),
            ("sample_weight", sample_weight),
        )
    ]
    if many:
        blocks[2] = [
            dict(zip(s, of_part, strict=True)) for of_part in zip(*blocks_of_columns, strict=True)
        ]
    parts = [DaskPartition(k, *given) for k, given in enumerate(zip(*blocks, strict=True))]
    sizes = _sizes(X)
    return parts if sizes is None else number_rows(parts, sizes)


def number_rows(parts: Sequence[DaskPartition], sizes: Sequence[int]) -> list[DaskPartition]:
    """Set how many rows come before each partition."""
    before = np.cumsum([0, *sizes[:-1]], dtype=np.intp)
    return [replace(part, before=int(n)) for part, n in zip(parts, before, strict=True)]


def require_table(X: Any) -> Any:
    """Require rows of features, and return them with all features in one partition."""
    _require_dask(X, "X")
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimension; pass a table, one row per sample.")
    return _whole_rows(X)


def count_attributes(sensitive_features: Any) -> int:
    """Count the columns without reading them."""
    s = sensitive_features
    if isinstance(s, Mapping):
        return len(s)
    return 1 if getattr(s, "ndim", 1) < 2 else s.shape[1]


@contextmanager
def errors_in_partition(number: int) -> Iterator[None]:
    """Name the partition in which an error arose."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise ValueError(f"Partition {number}: {error}") from error


def is_frame(collection: Any) -> bool:
    """Return whether this is a data frame or a column of one, not an array."""
    return hasattr(collection, "divisions")


def _blocks(argument: Any, X: Any, name: str) -> list[Any]:
    """Return the partitions of an argument that go with those of X."""
    if argument is None:
        return [None] * X.npartitions
    _require_dask(argument, name)
    cut = _cut_like(_whole_rows(argument), X, name)
    if cut.npartitions != X.npartitions:
        raise ValueError(
            f"{name} has {cut.npartitions} partitions, but X has {X.npartitions}, and how many "
            "rows they hold is not known. Take both from one collection, or count the rows: "
            "compute_chunk_sizes() of a dask array, to_dask_array(lengths=True) of a data frame."
        )
    blocks = cut.to_delayed()
    if len(blocks) != cut.npartitions:  # dask would read several small files as one
        blocks = cut.to_delayed(optimize_graph=False)
    return list(np.ravel(blocks)) if hasattr(blocks, "ravel") else list(blocks)


def _cut_like(argument: Any, X: Any, name: str) -> Any:
    """Move rows between partitions where it is known which rows these are."""
    if is_frame(argument) and is_frame(X):
        known = argument.known_divisions and X.known_divisions
        if not known or argument.divisions == X.divisions:
            return argument
        ends, expected = ((one.divisions[0], one.divisions[-1]) for one in (argument, X))
        if ends != expected:
            raise ValueError(
                f"{name} has an index from {ends[0]} to {ends[1]}, but that of X goes from "
                f"{expected[0]} to {expected[1]}; their rows do not belong together."
            )
        return argument.repartition(divisions=X.divisions)
    sizes, expected_sizes = _sizes(argument), _sizes(X)
    if sizes is None or expected_sizes is None:
        return argument
    if sum(sizes) != sum(expected_sizes):
        raise ValueError(
            f"{name} has {sum(sizes)} rows, but X has {sum(expected_sizes)}; pass one for each "
            "row of X, in the same order."
        )
    return argument.rechunk({0: expected_sizes})


def _sizes(collection: Any) -> tuple[int, ...] | None:
    """Return the rows of each partition, if they are known."""
    chunks = None if is_frame(collection) else collection.chunks[0]
    return None if chunks is None or np.isnan(chunks).any() else chunks


def _whole_rows(collection: Any) -> Any:
    whole = is_frame(collection) or collection.ndim < 2
    return collection if whole else collection.rechunk({1: -1})


def _require_dask(argument: Any, name: str) -> None:
    if not is_dask_collection(argument) or not hasattr(argument, "npartitions"):
        raise ValueError(
            f"{name} is a {type(argument).__name__}, and gferm.distributed takes dask arrays and "
            f"data frames; use dask.array.from_array({name.split()[0]}, chunks=...), or fit the "
            "model itself if all rows are here."
        )
