"""`gferm audit` without the terminal: a file with labels and predictions in, an Audit out."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from gferm.auditing import Audit, audit
from gferm.cli.bins_option import read_class_bins, read_group_bins, read_label_bins
from gferm.cli.columns import find_column, find_columns, first_number, kind_of, nearest, split_names
from gferm.cli.model_file import SavedModel, load_model
from gferm.cli.predicting import predict_table
from gferm.cli.read_table import read_table
from gferm.cli.roles import Task, keep_complete, read_sensitive, read_target, read_weight
from gferm.cli.terminal import InputError, stage
from gferm.fairness.bins import Bins
from gferm.fairness.fairness_losses import FAIRNESS_LOSSES

PREDICTION = "prediction of the model"


@dataclass(frozen=True)
class AuditOptions:
    """What a user asked of an audit; either ``prediction`` or ``model`` says whose.

    Attributes
    ----------
    y_bins, s_bins
        As they were written; those of the model where there are none.
    params : dict
        Further arguments of `gferm.audit`.
    """

    target: str | None
    sensitive: Sequence[str]
    prediction: str | None = None
    model: Path | None = None
    categorical: Sequence[str] = ()
    weight: str | None = None
    drop_missing: bool = False
    y_bins: str | None = None
    s_bins: tuple[str, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Rows with labels, groups and, where somebody made them, predictions.

    Attributes
    ----------
    table : data frame
        All columns of these rows.
    y : array of shape (n_rows,)
    predictions : array of shape (n_rows,), or None
    sensitive : data frame
    weight : array of shape (n_rows,), or None
    task : {"regression", "classification"}
    """

    table: pd.DataFrame
    y: npt.NDArray[Any]
    predictions: npt.NDArray[Any] | None
    sensitive: pd.DataFrame
    weight: Any
    task: Task
    target: str
    attributes: tuple[str, ...]


def require_loss(name: str) -> None:
    """Refuse a loss that does not exist, naming the nearest."""
    if name not in FAIRNESS_LOSSES:
        raise InputError(f"--loss {name!r} is not known; {nearest(name, FAIRNESS_LOSSES)}")


def audit_file(path: Path, options: AuditOptions, *, show: bool = True) -> Audit:
    """Read, predict if a model is given, and audit; ``show`` is for progress on stderr."""
    if (options.prediction is None) == (options.model is None):
        raise InputError("say whose predictions: give either --prediction COLUMN or --model FILE.")
    with stage(f"Reading {path}", show=show):
        saved = None if options.model is None else load_model(options.model)
        rows = read_judged_rows(path, options, saved)
    assert rows.predictions is not None
    with stage(f"Auditing {len(rows.y)} rows", show=show):
        return audit(
            rows.y,
            rows.predictions,
            sensitive_features=rows.sensitive,
            sample_weight=rows.weight,
            **bins_of_audit(options, rows, saved),
            **options.params,
        )


def read_judged_rows(
    path: Path, options: AuditOptions, saved: SavedModel | None = None
) -> JudgedRows:
    """Read a table and the columns that an audit needs.

    Raises
    ------
    InputError
        If a column is not there, has gaps, or holds the wrong kind of values.
    """
    given = {name for words in options.categorical for name in (words, *split_names(words))}
    of_model = {*saved.words, *saved.categorical} if saved else set()
    table = read_table(path, as_text=given | of_model)
    columns = list(table.columns)
    target = find_column(_named(options.target, saved), columns, "--target")
    named = options.sensitive or (saved.sensitive if saved else ())
    attributes = find_columns(named, columns, "--sensitive")
    if not attributes:
        raise InputError("--sensitive names no column; name at least one.")
    words = {*find_columns(options.categorical, columns, "--categorical"), *of_model}
    needed = dict.fromkeys((target, *attributes))
    for name, option in ((options.prediction, "--prediction"), (options.weight, "--weight")):
        if name is not None:
            needed[find_column(name, columns, option)] = None
    _require_one_use(target, attributes, options)
    table, dropped = keep_complete(table, tuple(needed), drop_missing=options.drop_missing)
    if dropped:
        warnings.warn(
            f"{dropped} rows are left out: they lack a label, a prediction, a sensitive attribute "
            "or the weight.",
            stacklevel=2,
        )
    given_by = None if options.prediction is None else table[options.prediction]
    task = _task_of(table[target], given_by, options.y_bins)
    if saved is not None:
        task = saved.task  # type: ignore[assignment]
    y, predictions = read_target(table[target], task, use="target column"), None
    if saved is not None:
        predictions = predict_table(saved, table, name=PREDICTION)[PREDICTION].to_numpy()
    elif given_by is not None:
        predictions = read_target(given_by, task, use="prediction")
        if task == "classification":
            _require_classes(predictions, y, options)
    return JudgedRows(
        table=table,
        y=y,
        predictions=predictions,
        sensitive=read_sensitive(table, attributes, tuple(words)),
        weight=None if options.weight is None else read_weight(table[options.weight]),
        task=task,
        target=target,
        attributes=attributes,
    )


def bins_of_audit(
    options: AuditOptions, rows: JudgedRows, saved: SavedModel | None = None
) -> dict[str, Any]:
    """Return y_bins and s_bins: what was asked for, else what the model was fitted with."""
    found: dict[str, Any] = {}
    if saved is not None and saved.model.cells_ is not None:
        scheme = saved.model.cells_.scheme
        found["y_bins"] = scheme.label_bins
        if rows.attributes == tuple(scheme.names):
            found["s_bins"] = dict(zip(scheme.names, scheme.sensitive_bins, strict=True))
    if rows.task == "classification":
        known = rows.y if rows.predictions is None else np.append(rows.y, rows.predictions)
        y_bins = read_class_bins(options.y_bins, known)
        if isinstance(y_bins, list):
            y_bins = Bins.categories(y_bins)
    else:
        y_bins = read_label_bins(options.y_bins)
    if y_bins is not None:
        found["y_bins"] = y_bins
    if options.s_bins:
        found["s_bins"] = read_group_bins(options.s_bins, rows.attributes)
    return found


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


def _require_one_use(target: str, attributes: Sequence[str], options: AuditOptions) -> None:
    uses = {
        "--target": (target,),
        "--prediction": (options.prediction,),
        "--sensitive": tuple(attributes),
        "--weight": (options.weight,),
    }
    for (one, names), (other, others) in combinations(uses.items(), 2):
        twice = [name for name in names if name is not None and name in others]
        if twice:
            raise InputError(f"{one} {twice[0]!r} is also named by {other}; choose one use.")


def _require_classes(
    predictions: npt.NDArray[Any], y: npt.NDArray[Any], options: AuditOptions
) -> None:
    """Refuse predictions of classes that no label has, unless --y-bins names them."""
    classes = set(y.tolist())
    named = split_names(options.y_bins or "")
    strange = [one for one in set(predictions.tolist()) - classes if str(one) not in named]
    if strange:
        shown = ", ".join(map(repr, sorted(classes)[:8])) + (", …" if len(classes) > 8 else "")
        raise InputError(
            f"prediction {options.prediction!r} holds {min(strange)!r:.40}, which is no class of "
            f"target {options.target!r}: there are {shown}. Name a column of predicted classes, or "
            "all classes with --y-bins if there are more."
        )


def _named(given: str | None, saved: SavedModel | None) -> str:
    name = saved.target if given is None and saved is not None else given
    if name is None:
        raise InputError("--target is missing: name the column of the true labels.")
    return name
