"""Reading: a CSV or Parquet file in, a pandas data frame without two columns of a name out.

A CSV has names in its first line, is in UTF-8 with or without a byte order mark, may be packed
(.gz, .bz2, .zst) and separates by comma, semicolon, tab or bar, whichever its first line has most
of. Where it is a semicolon, numbers may have a decimal comma. Empty cells and the words of MISSING
are missing values.

roles.py and preparation.py check which column is what, and whether its values are fit for that.
"""

from __future__ import annotations

import mmap
import re
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from gferm.exceptions import InputError

MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None", "<NA>")
SEPARATORS = ",;\t|"
PARQUET_NAMES = {".parquet", ".pq", ".parq"}
PARQUET_START = b"PAR1"
PEEK = 2**16  # bytes that tell what a file is like
BLOCK = 2**22  # bytes read at once: a line must fit into it
INDEX_NAME = re.compile(r"__index_level_\d+__")  # pandas keeps an index in a Parquet file


def read_table(path: Path, *, as_text: Collection[str] = ()) -> pd.DataFrame:
    """Return the table in a CSV or Parquet file.

    Parameters
    ----------
    path : Path
    as_text : collection of str
        Columns of a CSV whose values are words even where they look like numbers or dates: 01 is
        not 1.

    Raises
    ------
    InputError
        If it cannot be read, holds no rows, or its columns cannot be told apart by name.
    """
    start = _first_bytes(path)
    try:
        if start.startswith(PARQUET_START):
            table = _without_index(pa_parquet.ParquetFile(path).read())
        elif path.suffix.lower() in PARQUET_NAMES:
            raise InputError(f"{path} is no Parquet file, whatever its name says; check it.")
        else:
            table = _read_csv(path, as_text)
    except pa.ArrowInvalid as error:
        raise InputError(f"{path} cannot be read: {error}") from error
    except (pa.ArrowException, OSError, EOFError) as error:
        raise InputError(f"{path} is damaged and cannot be read: {error}") from error
    _require_different(table.column_names, path)
    if table.num_rows == 0:
        raise InputError(f"{path} has names of columns but no rows.")
    return _to_pandas(table)


def _first_bytes(path: Path) -> bytes:
    if path.is_dir():
        raise InputError(f"{path} is a folder; give a CSV or Parquet file.")
    if path.exists() and not path.is_file():  # it is read more than once
        raise InputError(f"{path} is a pipe or a device; save the table in a file first.")
    try:
        with path.open("rb") as file:
            start = file.read(PEEK)
    except FileNotFoundError as error:
        raise InputError(f"There is no file {path}; check the path.") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    if not start:
        raise InputError(f"{path} is empty (0 bytes); give a CSV or Parquet file with rows.")
    return start


def _read_csv(path: Path, as_text: Collection[str]) -> pa.Table:
    start = _first_text(path)
    head = start.splitlines()[0] if start.strip() else ""
    if not head.strip():
        raise InputError(f"{path} is empty, or its first line is; put the names of columns there.")
    separator = _separator_of(head)
    parse = pa_csv.ParseOptions(delimiter=separator, newlines_in_values='"' in start)
    convert = pa_csv.ConvertOptions(
        column_types={name: pa.string() for name in as_text},
        null_values=MISSING,
        strings_can_be_null=True,
        decimal_point="," if separator == ";" and _has_decimal_commas(start) else ".",
    )
    try:
        table = pa_csv.read_csv(
            path, pa_csv.ReadOptions(block_size=BLOCK), parse_options=parse, convert_options=convert
        )
    except pa.ArrowInvalid:  # again, in order: now the message has the number of the line
        slowly = pa_csv.ReadOptions(block_size=BLOCK, use_threads=False)
        table = pa_csv.read_csv(path, slowly, parse_options=parse, convert_options=convert)
    if not parse.newlines_in_values and _may_be_cut(table) and _has_quotes(path):
        parse.newlines_in_values = True
        table = pa_csv.read_csv(path, parse_options=parse, convert_options=convert)
    _require_header(table.column_names, path)
    for field in table.schema:
        if pa.types.is_binary(field.type):  # what is no UTF-8 is read as bytes
            raise InputError(f"{path} is not in UTF-8 (column {field.name!r}); save it as UTF-8.")
    if not table.column_names[0]:
        if table.num_columns == 1:
            raise InputError(f"{path} has no names of columns; put them in its first line.")
        table = table.remove_column(0)  # pandas writes its index so
    return table


def _first_text(path: Path) -> str:
    """Return the start of a file, unpacked and decoded."""
    try:
        with pa.input_stream(path, compression="detect") as stream:
            start: bytes = stream.read(PEEK)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path} is damaged and cannot be unpacked: {error}") from error
    if b"\0" in start:
        raise InputError(f"{path} is neither a CSV in UTF-8 nor a Parquet file; convert it first.")
    try:
        # the last letter may be cut in two
        return start.decode("utf-8-sig", errors="strict" if len(start) < PEEK else "ignore")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not in UTF-8; save it as UTF-8.") from error


def _separator_of(head: str) -> str:
    outside_quotes = re.sub(r'"[^"]*"', "", head)
    counts = Counter(letter for letter in outside_quotes if letter in SEPARATORS)
    return max(SEPARATORS, key=lambda letter: counts[letter])  # a comma where there is none


def _may_be_cut(table: pa.Table) -> bool:
    """Return whether there are texts: only these hold line ends, which slow the reading down."""
    return any(pa.types.is_string(kind) or pa.types.is_binary(kind) for kind in table.schema.types)


def _has_quotes(path: Path) -> bool:
    """Return whether a text may hold line ends; looking costs less than allowing for it."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        packed = content[:2] == b"\x1f\x8b" or path.suffix.lower() in {".gz", ".bz2", ".zst"}
        return packed or content.find(b'"') >= 0


def _has_decimal_commas(start: str) -> bool:
    """Return whether the cells of the first lines have numbers like 1,5 and none like 1.5."""
    cells = [cell.strip() for line in start.splitlines()[1:-1] for cell in line.split(";")]
    cells = cells or [cell.strip() for cell in start.splitlines()[-1].split(";")]
    return any(re.fullmatch(r"[+-]?\d+,\d+", cell) for cell in cells) and not any(
        re.fullmatch(r"[+-]?\d+\.\d+", cell) for cell in cells
    )


def _require_header(names: list[str], path: Path) -> None:
    """Raise an error if the first line is nothing but numbers: it is a row, and would be lost."""
    given = [name for name in names if name]
    if given and all(_is_number(name) for name in given):
        shown = ", ".join(given[:3])
        raise InputError(
            f"{path} has no names of columns: its first line holds numbers ({shown}). Put a line "
            "of names above it."
        )


def _require_different(names: list[str], path: Path) -> None:
    nameless = [str(place) for place, name in enumerate(names, start=1) if not name.strip()]
    if nameless:
        raise InputError(
            f"{path} has columns without a name, such as column {nameless[0]}; name them in the "
            "file."
        )
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise InputError(
            f"{path} has {len(twice)} names of columns more than once, such as {twice[0]!r}; "
            "rename them in the file."
        )


def _without_index(table: pa.Table) -> pa.Table:
    kept = [name for name in table.column_names if not INDEX_NAME.fullmatch(name)]
    return table.select(kept) if len(kept) < table.num_columns else table


def _to_pandas(table: pa.Table) -> pd.DataFrame:
    """Return a data frame; decimals, and columns without any value, become doubles."""
    for place, field in enumerate(table.schema):
        column, kind = table.column(place), field.type
        if pa.types.is_null(kind) or pa.types.is_decimal(kind):
            table = table.set_column(place, field.name, column.cast(pa.float64()))
        elif pa.types.is_boolean(kind) and column.null_count:
            table = table.set_column(place, field.name, column.cast(pa.int8()).cast(pa.float64()))
    options: dict[str, Any] = {"date_as_object": False, "ignore_metadata": True}
    return table.to_pandas(split_blocks=True, **options)


def _is_number(text: str) -> bool:
    try:
        float(text.strip())
    except ValueError:
        return False
    return True
