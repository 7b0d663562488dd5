"""Whether two parameters are the same; they may be arrays, or hold some."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse


def are_equal(one: Any, other: Any) -> bool:
    """Compare numbers, words, objects, arrays (sparse or not), and mappings of any of these."""
    if one is other:
        return True
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(are_equal(one[key], other[key]) for key in one)
    if sparse.issparse(one) or sparse.issparse(other):
        same = type(one) is type(other) and one.shape == other.shape
        return same and not (one != other).nnz
    if _has_items(one) or _has_items(other):
        return type(one) is type(other) and bool(np.array_equal(np.asarray(one), np.asarray(other)))
    return bool(one == other)


def _has_items(value: Any) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, str)
