"""Words and bars for a picture, read from the ``cv_results_`` of a search."""

from __future__ import annotations

import re
from collections.abc import Mapping
from textwrap import shorten
from typing import Any

import numpy as np

from gferm.arrays import Array
from gferm.model_selection import fairest_within
from gferm.model_selection.results import PREFIX

LONGEST_VALUE = 24  # characters


def measure_name(column: str, *, from_one: bool = False) -> str:
    """Return what a column measures: "mean_test_neg_max_error" is "max error"."""
    words = column.removeprefix(PREFIX).removeprefix("neg_").replace("_", " ")
    return f"1 − {words}" if from_one else words


def describe_settings(cv_results: Mapping[str, Any]) -> list[str] | None:
    """Return the parameters of each setting as text, without those that never change."""
    if "params" not in cv_results:
        return None
    settings = [
        {name: _as_short_text(value) for name, value in setting.items()}
        for setting in cv_results["params"]
    ]
    names = {name: None for setting in settings for name in setting}  # a set that keeps the order
    varied = [name for name in names if len({setting.get(name) for setting in settings}) > 1]
    short = {name: name.rpartition("__")[2] for name in varied}  # the step of a pipeline is known
    if len(set(short.values())) < len(short):
        short = {name: name for name in varied}
    return [
        ", ".join(f"{short[name]} = {setting[name]}" for name in varied if name in setting)
        for setting in settings
    ]


def standard_errors(cv_results: Mapping[str, Any], column: str) -> Array | None:
    """Return the standard error of a mean over folds, std / √folds; None if it is not there."""
    name = column.removeprefix(PREFIX)
    pattern = re.compile(rf"split\d+_test_{re.escape(name)}")
    folds = [cv_results[key] for key in cv_results if pattern.fullmatch(key)]
    if not folds or f"std_test_{name}" not in cv_results:
        return None
    counts = np.isfinite(np.asarray(folds, dtype=float)).sum(axis=0)
    spread: Array = np.asarray(cv_results[f"std_test_{name}"], dtype=float)
    errors: Array = spread / np.sqrt(np.maximum(counts, 1))
    return errors


def unfairness_beside(cv_results: Mapping[str, Any], error: str) -> str:
    """Return the column of the unfairness if no rule names it: the usual one, or the only one."""
    others = [name for name in cv_results if name.startswith(PREFIX) and name != error]
    if fairest_within.unfairness in others:
        return fairest_within.unfairness
    if len(others) != 1:
        raise ValueError(
            f"beside error={error!r} the search has {others}, so which one is the unfairness? Draw "
            "it by from_cv_results(search.cv_results_, rule=fairest_within(unfairness=...))."
        )
    return others[0]


def _as_short_text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    if hasattr(value, "get_params"):
        return type(value).__name__
    return shorten(str(value), LONGEST_VALUE, placeholder="…")
