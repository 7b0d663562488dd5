"""JSON: what NumPy, paths and NaN become there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any


def json_ready(value: Any) -> Any:
    """Return a value as JSON has it.

    Arrays, NumPy's numbers and tuples become lists and numbers, what is not finite becomes None,
    and anything else that JSON does not know (a path, a date) becomes text.
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): json_ready(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_ready(one) for one in value]
    return value if value is None or isinstance(value, (str, int)) else str(value)


def json_text(value: Any, *, indent: int | None = 2) -> str:
    """Return a value as a JSON document."""
    return json.dumps(json_ready(value), indent=indent, ensure_ascii=False, allow_nan=False)
