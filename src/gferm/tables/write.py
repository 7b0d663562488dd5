"""Writing: files that are there whole or not at all, and tables as CSV or Parquet, or to stdout.

A file is written beside its place, then renamed.

A spreadsheet takes a cell that begins with = + - @, a tab or a carriage return for a formula, and a
formula may start a program. In a CSV an apostrophe before such a text, or such a name of a column,
makes it a text again. Numbers are left alone, also as text; Parquet has types and needs no guard.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from gferm.exceptions import InputError
from gferm.tables.read import PARQUET_NAMES

CSV_NAMES = {".csv", ".tsv", ".txt"}
PACKED = {".gz", ".bz2", ".zst"}
FORMULA = re.compile(r"[=+\-@\t\r\n]")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def require_writable(
    path: Path, *, option: str = "--out", keep: Sequence[Path | None] = ()
) -> None:
    """Raise an error if a place cannot be written to, before the work is done.

    Parameters
    ----------
    path : Path
    option : str
        What the user called it.
    keep : sequence of Path or None
        What is read, and must not be written over.
    """
    folder = path.parent
    if path.is_dir():
        raise InputError(f"{option} {path} is a folder; give the name of a file in it.")
    if path.exists() and not path.is_file():  # renaming would put a file in place of a device
        raise InputError(f"{option} {path} is no ordinary file; choose another name.")
    if not folder.is_dir():
        raise InputError(f"{option} {path}: there is no folder {folder}; make it first.")
    if not os.access(folder, os.W_OK):
        raise InputError(f"{option} {path}: {folder} cannot be written to; choose another place.")
    for read in keep:
        if read is not None and path.exists() and read.exists() and path.samefile(read):
            raise InputError(f"{option} {path} is a file that is read; choose another name.")


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Return a path to write to, which becomes ``path`` if all goes well and is removed if not."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        part.replace(path)
    except OSError as error:
        raise InputError(f"{path} could not be written: {error.strerror or error}.") from error
    finally:
        part.unlink(missing_ok=True)


def require_table_name(
    path: Path, *, option: str = "--out", keep: Sequence[Path | None] = ()
) -> None:
    """Raise an error if a name says neither CSV nor Parquet, or its place cannot be written to."""
    if _ending_of(path) not in CSV_NAMES | PARQUET_NAMES:
        raise InputError(
            f"{option} {path} does not say what to write; end its name in .csv, .csv.gz or "
            ".parquet."
        )
    require_writable(path, option=option, keep=keep)


def write_table(table: pd.DataFrame, path: Path | None) -> None:
    """Write a table whole or not at all, as the ending of its name says; to stdout without one."""
    if path is None:
        safe_for_spreadsheets(table).to_csv(sys.stdout, index=False, lineterminator="\n")
        return
    with whole_file(path) as part:
        if _ending_of(path) in PARQUET_NAMES:
            table.to_parquet(part, index=False)
            return
        safe_for_spreadsheets(table).to_csv(
            part,
            index=False,
            lineterminator="\n",
            sep="\t" if _ending_of(path) == ".tsv" else ",",
            compression={"method": _packing_of(path)} if _packing_of(path) else None,
        )


def safe_for_spreadsheets(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with an apostrophe before what a spreadsheet would run, names included."""
    safe = table.copy(deep=False)
    for name in table.columns:
        if not pd.api.types.is_numeric_dtype(table[name]):
            safe[name] = table[name].astype(object).map(_guarded)
    return safe.rename(columns=_guarded)


def _guarded(value: Any) -> Any:
    if not isinstance(value, str) or not FORMULA.match(value) or NUMBER.fullmatch(value):
        return value
    return f"'{value}"


def _ending_of(path: Path) -> str:
    suffix = path.suffix.lower()
    return path.with_suffix("").suffix.lower() if suffix in PACKED else suffix


def _packing_of(path: Path) -> str | None:
    names = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
    return names.get(path.suffix.lower())
