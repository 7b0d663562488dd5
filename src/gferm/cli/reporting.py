"""`gferm report` without the terminal: a file in, a page out.

    rows → a part to learn the frontier on, a part to judge on
    judged part: predictions of a column, of a saved model, or of the frontier's plain model → Audit
    Audit + frontier → page

The bins are settled on all rows, so both parts have the same. Classes have no frontier: their page
is the audit alone, of all rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import train_test_split

from gferm.arrays import Array
from gferm.auditing import Audit, audit
from gferm.cli.columns import find_columns
from gferm.cli.features import TablePreparation, is_categorical
from gferm.cli.fitting import FitOptions, require_known, require_memory
from gferm.cli.judging import AuditOptions, JudgedRows, bins_of_audit, read_judged_rows
from gferm.cli.model_file import SavedModel, load_model
from gferm.cli.terminal import InputError, stage
from gferm.estimators.frontier import Frontier, frontier
from gferm.fairness.cells import CellScheme
from gferm.fairness.sensitive import read_sensitive_features

Rows = npt.NDArray[np.intp]


@dataclass(frozen=True)
class ReportOptions:
    """What a user asked of a report.

    Attributes
    ----------
    judged : AuditOptions
        Columns, bins and noise; without ``prediction`` and ``model`` the plain model is judged.
    drop : sequence of str
        Columns that are no features.
    include_sensitive : bool
    test_size : float
        The share of rows to judge on.
    seed : int
        Of the split.
    kernel : dict
        kernel, gamma and alpha of the frontier; None stands for those of the model.
    match : {"prediction", "residual"}
    """

    judged: AuditOptions
    drop: tuple[str, ...] = ()
    include_sensitive: bool = False
    test_size: float = 0.33
    seed: int = 0
    kernel: Mapping[str, Any] = field(default_factory=dict)
    match: str = "prediction"


def report_file(
    path: Path, options: ReportOptions, out: Path, *, title: str | None = None, show: bool = True
) -> Audit:
    """Read, learn a frontier, judge, and write the page; give the audit."""
    asked = options.judged
    if asked.prediction is not None and asked.model is not None:
        raise InputError("--prediction and --model both say what to judge; give one of them.")
    require_known(FitOptions(task="regression", params=options.kernel))
    with stage(f"Reading {path}", show=show):
        saved = None if asked.model is None else load_model(asked.model)
        rows = read_judged_rows(path, asked, saved)
    if rows.task == "classification" and rows.predictions is None:
        raise InputError(
            f"target {rows.target!r} holds classes, and a frontier is for numbers: say whose "
            "predictions to judge, with --prediction COLUMN or --model FILE."
        )
    bins = bins_of_audit(asked, rows, saved)
    if rows.predictions is not None and rows.task == "classification":
        found = _audit(rows, np.arange(len(rows.y)), rows.predictions, bins, asked.params)
        found.report(out, title=title)
        return found
    learned, judged = _split(len(rows.y), options)
    bins = _settle(rows, bins, asked.params)
    with stage(f"Tracing the frontier on {learned.size} rows", show=show):
        traced, matrix = _trace(rows, learned, options, bins, saved)
    predictions = traced.predict(matrix[judged])[0]
    if rows.predictions is not None:
        predictions = rows.predictions[judged]
    with stage(f"Auditing {judged.size} rows", show=show):
        found = _audit(rows, judged, predictions, bins, asked.params)
    found.report(out, frontier=traced, X=matrix[judged], title=title, verbose=show)
    return found


def _split(n_rows: int, options: ReportOptions) -> tuple[Rows, Rows]:
    try:
        learned, judged = train_test_split(
            np.arange(n_rows), test_size=options.test_size, random_state=options.seed
        )
    except ValueError:
        learned = judged = np.zeros(0, dtype=np.intp)
    if min(learned.size, judged.size) < 2:
        raise InputError(
            f"--test-size {options.test_size:g} of {n_rows} rows leaves too few to learn from or "
            "to judge on; give more rows."
        )
    return np.sort(learned), np.sort(judged)


def _settle(rows: JudgedRows, bins: dict[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
    """Resolve the bins on all rows."""
    scheme = CellScheme.resolve(
        rows.y,
        read_sensitive_features(rows.sensitive, len(rows.y)),
        y_bins=bins.get("y_bins", 10),
        s_bins=bins.get("s_bins", "auto"),
        intersectional=params["intersectional"],
        weight=rows.weight,
    )
    by_name = dict(zip(scheme.names, scheme.sensitive_bins, strict=True))
    return {"y_bins": scheme.label_bins, "s_bins": by_name}


def _trace(
    rows: JudgedRows,
    learned: Rows,
    options: ReportOptions,
    bins: Mapping[str, Any],
    saved: SavedModel | None,
) -> tuple[Frontier, Array]:
    """Learn the preparation and the frontier on one part; prepare all rows."""
    params = _kernel_of(options, saved)
    if params["kernel"] != "linear":
        require_memory(len(rows.y))
    asked, columns = options.judged, list(rows.table.columns)
    features = _features(rows, options, saved)
    words = find_columns(asked.categorical, columns, "--categorical")
    words = (*words, *(saved.words if saved else ()))
    for name in features:  # a slip may be in the rows that are not learned from
        is_categorical(rows.table[name], words)
    preparation = TablePreparation(words)
    preparation.fit(rows.table[features].iloc[learned])
    matrix = preparation.transform(rows.table[features])
    traced = frontier(
        matrix[learned],
        rows.y[learned],
        sensitive_features=rows.sensitive.iloc[learned],
        sample_weight=None if rows.weight is None else rows.weight[learned],
        intersectional=asked.params["intersectional"],
        min_cell_size=asked.params["min_cell_size"],
        match=options.match,
        **params,
        **bins,
    )
    return traced, matrix


def _kernel_of(options: ReportOptions, saved: SavedModel | None) -> dict[str, Any]:
    """Return kernel, gamma and alpha: as asked for, else the saved model's, else the usual ones."""
    found = {"kernel": "linear", "gamma": None, "alpha": 1.0}
    if saved is not None:
        found = {name: getattr(saved.model, name) for name in found}
    return found | {name: value for name, value in options.kernel.items() if value is not None}


def _features(rows: JudgedRows, options: ReportOptions, saved: SavedModel | None) -> list[str]:
    """Return the columns to learn the frontier from: the saved model's, or all that have no use."""
    asked, columns = options.judged, list(rows.table.columns)
    dropped = find_columns(options.drop, columns, "--drop")
    offered = set(columns) - set(rows.attributes) if saved is None else set(saved.features)
    if options.include_sensitive:
        offered |= set(rows.attributes)
    offered -= {rows.target, asked.prediction, asked.weight, *dropped}
    features = [name for name in columns if name in offered]
    if not features:
        raise InputError("no column is left as a feature; drop fewer, or add --include-sensitive.")
    return features


def _audit(
    rows: JudgedRows,
    judged: Rows,
    predictions: npt.NDArray[Any],
    bins: Mapping[str, Any],
    params: Mapping[str, Any],
) -> Audit:
    return audit(
        rows.y[judged],
        predictions,
        sensitive_features=rows.sensitive.iloc[judged],
        sample_weight=None if rows.weight is None else rows.weight[judged],
        **bins,
        **params,
    )
