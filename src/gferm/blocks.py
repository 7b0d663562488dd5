"""Blocks of rows: how passes over large arrays stay inside a core's cache."""

from __future__ import annotations


def row_blocks(n_rows: int, n_columns: int, doubles: int = 2**18) -> list[slice]:
    """Cut ``n_rows`` rows into blocks of about ``doubles`` numbers each."""
    step = max(doubles // max(n_columns, 1), 1)
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]
