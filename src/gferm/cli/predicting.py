"""`gferm predict` without the terminal: a model and a table in, a table of predictions out."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import pandas as pd

from gferm.cli.columns import find_columns
from gferm.cli.model_file import SavedModel
from gferm.cli.terminal import InputError


def predict_table(
    saved: SavedModel,
    table: pd.DataFrame,
    *,
    name: str = "prediction",
    identify: Sequence[str] = (),
    keep: bool = False,
    proba: bool = False,
) -> pd.DataFrame:
    """Predict every row; say which words the model has never seen.

    Parameters
    ----------
    saved : SavedModel
    table : data frame
        With the columns the model was fitted on; others are ignored.
    name : str
        Of the column of predictions.
    identify : sequence of str
        Columns to keep beside the predictions.
    keep : bool
        Whether to keep all of them.
    proba : bool
        Whether to add a column for the probability of each class.
    """
    kept = (
        list(table.columns) if keep else list(find_columns(identify, list(table.columns), "--id"))
    )
    if proba and not hasattr(saved.model, "predict_proba"):
        raise InputError(
            f"--proba needs a model fitted with --task classification --loss log_loss, and this is "
            f"a {saved.task} with --loss {saved.model.loss}."
        )
    matrix = saved.preparation.transform(table)
    _note_unseen(saved, table)
    columns: dict[str, Any] = {name: saved.model.predict(matrix)}
    if proba:
        shares = saved.model.predict_proba(matrix).T
        labels = saved.model.classes_.tolist()
        columns |= {f"probability of {c}": p for c, p in zip(labels, shares, strict=True)}
    for column in columns:
        if column in kept:
            raise InputError(f"the data have a column {column!r} already; use another --name.")
    return table[kept].assign(**columns)


def _note_unseen(saved: SavedModel, table: pd.DataFrame) -> None:
    for column, (rows, word) in saved.preparation.unseen(table).items():
        warnings.warn(
            f"column {column!r} has {rows} rows with words not seen in training, such as "
            f"{word!r:.40}; they count as none of its categories.",
            stacklevel=3,
        )
