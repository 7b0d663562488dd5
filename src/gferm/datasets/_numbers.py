"""Check the numbers that describe a synthetic problem."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_scalar


def check_number(
    name: str,
    value: Any,
    kind: type,
    low: float | None = None,
    high: float | None = None,
    *,
    boundaries: str = "both",
) -> None:
    """Raise an error that names the argument unless `value` is finite and within its limits."""
    check_scalar(value, name, kind, min_val=low, max_val=high, include_boundaries=boundaries)
    if not np.isfinite(value):  # nan passes every comparison above
        raise ValueError(f"{name} == {value}, must be finite.")
