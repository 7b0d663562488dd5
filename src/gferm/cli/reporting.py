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
from gferm.cells import CellScheme
from gferm.cli.columns import find_columns
from gferm.cli.features import TablePreparation
from gferm.cli.judging import AuditOptions, JudgedRows, bins_of_audit, read_judged_rows
from gferm.cli.model_file import load_model
from gferm.cli.terminal import InputError, stage
from gferm.frontier import Frontier, frontier
from gferm.sensitive import read_sensitive_features

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
    params : dict
        Of the frontier's models.
    """

    judged: AuditOptions
    drop: tuple[str, ...] = ()
    include_sensitive: bool = False
    test_size: float = 0.33
    seed: int = 0
    params: Mapping[str, Any] = field(default_factory=dict)


def report_file(
    path: Path, options: ReportOptions, out: Path, *, title: str | None = None, show: bool = True
) -> Audit:
    """Read, learn a frontier, judge, and write the page; give the audit."""
    asked = options.judged
    if asked.prediction is not None and asked.model is not None:
        raise InputError("--prediction and --model both say what to judge; give one of them.")
    with stage(f"Reading {path}", show=show):
        saved = None if asked.model is None else load_model(asked.model)
        rows = read_judged_rows(path, asked, saved)
    bins = bins_of_audit(asked, rows, saved)
    if rows.task == "classification":
        if rows.predictions is None:
            raise InputError(
                f"target {rows.target!r} holds classes, and a frontier is for numbers: say whose "
                "predictions to judge, with --prediction COLUMN or --model FILE."
            )
        found = _audit(rows, np.arange(len(rows.y)), rows.predictions, bins, asked.params)
        found.report(out, title=title)
        return found
    learned, judged = _split(len(rows.y), options)
    bins = _settle(rows, bins, asked.params)
    with stage(f"Tracing the frontier on {learned.size} rows", show=show):
        traced, matrix = _trace(rows, learned, options, bins)
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
    except ValueError as error:
        raise InputError(f"--test-size {options.test_size:g} of {n_rows} rows: {error}") from error
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
    rows: JudgedRows, learned: Rows, options: ReportOptions, bins: Mapping[str, Any]
) -> tuple[Frontier, Array]:
    """Learn the preparation and the frontier on one part; prepare all rows."""
    asked = options.judged
    used = {rows.target, asked.prediction, asked.weight, *find_columns(
        options.drop, list(rows.table.columns), "--drop"
    )}  # fmt: skip
    if not options.include_sensitive:
        used |= set(rows.attributes)
    features = [name for name in rows.table.columns if name not in used]
    if not features:
        raise InputError("no column is left as a feature; drop fewer, or add --include-sensitive.")
    preparation = TablePreparation(find_columns(asked.categorical, list(rows.table.columns), ""))
    preparation.fit(rows.table[features].iloc[learned])
    matrix = preparation.transform(rows.table[features])
    traced = frontier(
        matrix[learned],
        rows.y[learned],
        sensitive_features=rows.sensitive.iloc[learned],
        sample_weight=None if rows.weight is None else rows.weight[learned],
        intersectional=asked.params["intersectional"],
        min_cell_size=asked.params["min_cell_size"],
        **options.params,
        **bins,
    )
    return traced, matrix


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
