"""Rows of a table with labels, sensitive attributes and weights, to learn from or to judge.

    file → table (read.py) → roles (roles.py) → rows without gaps in what decides

Rows without a target, a prediction, a sensitive attribute or a weight are an error, or left out
where the user says so. Features may have gaps (preparation.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from gferm.arrays import Array
from gferm.exceptions import InputError, warn_user
from gferm.printed.table import listed
from gferm.tables.columns import Task, first_number, kind_of, row_name, split_names
from gferm.tables.model_file import SavedModel
from gferm.tables.read import read_table
from gferm.tables.roles import (
    AskedColumns,
    Roles,
    read_sensitive,
    read_target,
    read_weight,
)


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows with all that a fit or an audit needs.

    Attributes
    ----------
    roles : Roles
    task : {"regression", "classification"}
    table : data frame
        All columns of these rows.
    y : array of shape (n_rows,)
        Numbers, or for classes numbers or words.
    sensitive : data frame
    weight : array of shape (n_rows,) or None
    left_out : int
        Rows of the file that lack something and are not among these.
    predictions : array of shape (n_rows,) or None
        Of somebody's model, to be judged.
    """

    roles: Roles
    task: Task
    table: pd.DataFrame
    y: npt.NDArray[Any]
    sensitive: pd.DataFrame
    weight: Array | None
    left_out: int
    predictions: npt.NDArray[Any] | None = None

    @property
    def X(self) -> pd.DataFrame:
        """The features, missing values included."""
        return self.table[list(self.roles.features)]

    @property
    def groups_and_weight(self) -> dict[str, Any]:
        """The arguments that a fit and an audit take beside labels and predictions."""
        return {"sensitive_features": self.sensitive, "sample_weight": self.weight}

    def part(self, places: npt.NDArray[np.intp]) -> LabelledRows:
        """Return some of the rows."""
        return replace(
            self,
            table=self.table.iloc[places],
            y=self.y[places],
            sensitive=self.sensitive.iloc[places],
            weight=None if self.weight is None else self.weight[places],
            predictions=None if self.predictions is None else self.predictions[places],
        )


def read_rows_to_learn(path: Path, asked: AskedColumns, task: Task) -> LabelledRows:
    """Return the rows of a file to learn from.

    Raises
    ------
    InputError
        If a column is not there, has gaps (and ``drop_missing`` is False), or holds the wrong kind
        of values.
    """
    table = read_table(path, as_text=asked.words)
    roles = Roles.to_learn(list(table.columns), asked)
    complete, left_out = _complete(table, roles, asked)
    if len(complete) < 2:
        raise InputError("there is a single row to learn from; give more.")
    rows = LabelledRows(
        roles=roles,
        task=task,
        table=complete,
        y=read_target(complete[roles.target], task),
        sensitive=read_sensitive(complete, roles),
        weight=read_weight(complete, roles),
        left_out=left_out,
    )
    if left_out:
        warn_user(
            f"{left_out} of {len(table)} rows are left out: they lack the target, a sensitive "
            "attribute or the weight.",
        )
    return rows


def read_rows_to_judge(
    path: Path, asked: AskedColumns, saved: SavedModel | None, y_bins: str | None
) -> LabelledRows:
    """Return the rows of a file to audit, with the predictions of a column or of a saved model.

    Parameters
    ----------
    path : Path
    asked : AskedColumns
    saved : SavedModel or None
        Whose target and sensitive attributes are those by default.
    y_bins : str or None
        As it was written: names of classes there make the target one of classes.

    Raises
    ------
    InputError
        If a column is not there, has gaps (and ``drop_missing`` is False), or holds the wrong kind
        of values.
    """
    table = read_table(path, as_text=asked.words | set(saved.as_text if saved else ()))
    roles = Roles.to_judge(list(table.columns), asked, saved)
    table, left_out = _complete(table, roles, asked)
    if left_out:
        warn_user(
            f"{left_out} rows are left out: they lack a label, a prediction, a sensitive attribute "
            "or the weight.",
        )
    column = None if roles.prediction is None else table[roles.prediction]
    task = _task_of(table[roles.target], column, y_bins) if saved is None else saved.task
    y, predictions = read_target(table[roles.target], task, use="target column"), None
    if saved is not None:
        predictions = saved.model.predict(saved.prepare(table))
    elif column is not None:
        predictions = read_target(column, task, use="prediction")
        if task == "classification":
            _require_classes(predictions, y, roles, y_bins)
    return LabelledRows(
        roles=roles,
        task=task,
        table=table,
        y=y,
        sensitive=read_sensitive(table, roles),
        weight=read_weight(table, roles),
        left_out=left_out,
        predictions=predictions,
    )


def _complete(table: pd.DataFrame, roles: Roles, asked: AskedColumns) -> tuple[pd.DataFrame, int]:
    """Return the rows that lack nothing they need, and the number of the others."""
    missing = {name: table[name].isna().to_numpy() for name in roles.needed}
    for name, gaps in missing.items():
        if gaps.all():
            raise InputError(f"column {name!r} has no value in any row; choose another one.")
        if gaps.any() and not asked.drop_missing:
            raise InputError(
                f"column {name!r} is missing in {int(gaps.sum())} rows, the first of them "
                f"{row_name(int(np.argmax(gaps)))}; fill them, or leave these rows out with "
                "--drop-missing."
            )
    gone = np.logical_or.reduce(list(missing.values()))
    if not gone.any():
        return table, 0
    if gone.all():
        names = ", ".join(map(repr, roles.needed))
        raise InputError(f"no row has all of {names}; nothing is left.")
    return table[~gone].reset_index(drop=True), int(gone.sum())


def _task_of(target: pd.Series, prediction: pd.Series | None, y_bins: str | None) -> Task:
    """Return what is judged: words are classes, and so is what --y-bins names as such.

    So are the same two whole numbers on both sides, as in `gferm.audit`.
    """
    if kind_of(target) == "words":  # or numbers, with a slip among them
        numbers = prediction is None or kind_of(prediction) == "numbers"
        slip = numbers and first_number(target) is not None
        return "regression" if slip else "classification"
    if kind_of(target) == "other":
        return "regression"
    if y_bins is not None:
        return "classification" if y_bins == "classes" or y_bins.endswith(",") else "regression"
    levels = set(target.unique())
    same = prediction is not None and len(levels) <= 2 and levels.issuperset(prediction.unique())
    return "classification" if same and all(not level % 1 for level in levels) else "regression"


def _require_classes(
    predictions: npt.NDArray[Any], y: npt.NDArray[Any], roles: Roles, y_bins: str | None
) -> None:
    """Raise an error if a prediction is a class that no label has and --y-bins does not name."""
    classes, named = set(y.tolist()), split_names(y_bins or "")
    strange = [one for one in set(predictions.tolist()) - classes if str(one) not in named]
    if strange:
        shown = listed([repr(one) for one in sorted(classes)], 8)
        raise InputError(
            f"prediction {roles.prediction!r} holds {min(strange)!r:.40}, which is no class of "
            f"target {roles.target!r}: there are {shown}. Name a column of predicted classes, or "
            "all classes with --y-bins if there are more."
        )
