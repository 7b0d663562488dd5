"""Writing a table: a pandas data frame to a CSV or Parquet file, or a CSV to stdout.

A spreadsheet takes a cell that begins with = + - @, a tab or a carriage return for a formula, and a
formula may start a program. In a CSV an apostrophe before such a text, or such a name of a column,
makes it a text again. Numbers are left alone, also as text; Parquet has types and needs no guard.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from gferm.cli.read_table import PARQUET_NAMES
from gferm.cli.terminal import InputError
from gferm.cli.whole_file import require_writable, whole_file

CSV_NAMES = {".csv", ".tsv", ".txt"}
PACKED = {".gz", ".bz2", ".zst"}
FORMULA = re.compile(r"[=+\-@\t\r\n]")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def require_table_name(
    path: Path, *, option: str = "--out", keep: Sequence[Path | None] = ()
) -> None:
    """Refuse a name that says neither CSV nor Parquet, or a place that cannot be written to."""
    if _kind_of(path) not in CSV_NAMES | PARQUET_NAMES:
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
        if _kind_of(path) in PARQUET_NAMES:
            table.to_parquet(part, index=False)
            return
        safe_for_spreadsheets(table).to_csv(
            part,
            index=False,
            lineterminator="\n",
            sep="\t" if _kind_of(path) == ".tsv" else ",",
            compression={"method": _packing_of(path)} if _packing_of(path) else None,
        )


def safe_for_spreadsheets(table: pd.DataFrame) -> pd.DataFrame:
    """Put an apostrophe before every text and every name that a spreadsheet would run."""
    safe = table.copy(deep=False)
    for name in table.columns:
        if not pd.api.types.is_numeric_dtype(table[name]):
            safe[name] = table[name].astype(object).map(_guarded)
    return safe.rename(columns=_guarded)


def _guarded(value: Any) -> Any:
    if not isinstance(value, str) or not FORMULA.match(value) or NUMBER.fullmatch(value):
        return value
    return f"'{value}"


def _kind_of(path: Path) -> str:
    suffix = path.suffix.lower()
    return path.with_suffix("").suffix.lower() if suffix in PACKED else suffix


def _packing_of(path: Path) -> str | None:
    names = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
    return names.get(path.suffix.lower())
