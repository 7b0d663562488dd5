"""Blocks of rows: how passes over large arrays stay inside a core's cache."""

from __future__ import annotations

from typing import Any

import numpy as np

from gferm.arrays import Array
from gferm.device import device_of


def row_blocks(n_rows: int, n_columns: int, doubles: int = 2**18) -> list[slice]:
    """Cut ``n_rows`` rows into blocks of about ``doubles`` numbers each."""
    step = max(doubles // max(n_columns, 1), 1)
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


def dense(block: Any) -> Array:
    """Give rows, sparse or not, as a dense array of NumPy's doubles."""
    rows = block.toarray() if hasattr(block, "toarray") else device_of(block).get(block)
    return np.asarray(rows, dtype=np.float64)
