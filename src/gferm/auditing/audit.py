"""audit: predictions of any model in, `Audit` out.

rows → cells, and what each row contributes                    metrics/reading.py, outcome.py
→ sums of the sample, of a thousand draws and a thousand shuffles                     draws.py
→ means of cells and groups                                                        evidence.py
→ figures, cells, gaps                                              measures.py, findings.py
→ sentences, tables                                             verdict.py, presentation.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gferm.auditing.draws import Strata
from gferm.auditing.evidence import gather_evidence
from gferm.auditing.findings import GAP_KINDS, find_cells, find_figures, find_gaps, find_groups
from gferm.auditing.outcome import read_outcome
from gferm.auditing.records import AuditParameters
from gferm.auditing.result import Audit
from gferm.exceptions import NothingToCompareError
from gferm.fairness.cells import SensitiveBins
from gferm.fairness.comparison import Comparison
from gferm.fairness.fairness_losses import FairnessLoss
from gferm.metrics.reading import (
    PredictedRows,
    bins_of_labels,
    read_labels,
    read_predicted_rows,
    require_complete,
    require_same_length,
)

MOST_PAIRS = 50_000  # whose draws still fit into memory …
MOST_SUMS = 20_000_000  # … and sums of a term, over draws and strata: 160 MB, some 3 GB in all


def audit(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    y_bins: Any = 10,
    s_bins: SensitiveBins = "auto",
    intersectional: bool = True,
    loss: str | FairnessLoss = "linear",
    min_cell_size: int = 1,
    small_cell_size: int = 10,
    n_boot: int = 1000,
    ci_quantiles: Sequence[float] = (0.025, 0.975),
    n_permutations: int = 1000,
    random_state: Any = 0,
) -> Audit:
    """Audit any model's predictions: how groups are treated, and whether it is more than noise.

    Parameters
    ----------
    y_true, y_pred : arrays of shape (n_samples,)
        Labels and predictions: numbers, or classes on both sides.
    sensitive_features : array, Series, data frame or dict of columns
        One row per sample; several attributes, categorical or continuous.
    sample_weight : array of shape (n_samples,), default=None
    y_bins : int, edges, Bins, "classes" or list of classes, default=10
        Bins of the label, as in `FairRegressor`. Words, and the same two numbers on both sides, are
        classes. 1 compares whole groups.
    s_bins, intersectional
        As in `FairRegressor`; with s_bins="continuous" an attribute is compared by covariance.
    loss : str or callable, default="linear"
        The loss of LGF: a name of `gferm.metrics` or ``loss(y_pred, y_true)``.
    min_cell_size : int, default=1
        Cells with fewer rows are not compared.
    small_cell_size : int, default=10
        Cells with fewer rows are reported as small.
    n_boot, n_permutations : int, default=1000
        Draws for the intervals, shuffles for the chance; 0 leaves them out.
    ci_quantiles : sequence of float, default=(0.025, 0.975)
        Increasing quantiles of the intervals.
    random_state : int, RandomState or None, default=0
        An audit gives the same numbers each time, unless this is None.

    Returns
    -------
    Audit

    Examples
    --------
    >>> import gferm
    >>> X, y, s = gferm.datasets.load_law(return_X_y=True)
    >>> model = gferm.FairRegressor(kernel="linear", epsilon=None).fit(X[::2], y[::2])
    >>> found = gferm.audit(y[1::2], model.predict(X[1::2]), sensitive_features=s[1::2], y_bins=5)
    >>> found.figures["mean_gap"].chance.p < 0.01
    True
    """
    parameters = AuditParameters(
        intersectional=intersectional,
        loss=loss,
        min_cell_size=min_cell_size,
        small_cell_size=small_cell_size,
        n_boot=n_boot,
        ci_quantiles=_read_quantiles(ci_quantiles),
        n_permutations=n_permutations,
        random_state=random_state,
    )
    for name, values in (("y_true", y_true), ("y_pred", y_pred)):
        require_complete(values, name)
    _require_same_index(
        {"y_true": y_true, "y_pred": y_pred, "sample_weight": sample_weight}
        | _sensitive_columns(sensitive_features)
    )
    y, predictions = read_labels(y_true, "y_true"), read_labels(y_pred, "y_pred")
    require_same_length(y, predictions)
    comparison = Comparison(bins_of_labels(y, predictions, y_bins), s_bins, intersectional)
    rows = read_predicted_rows(y_true, y_pred, sensitive_features, sample_weight, comparison)
    _require_two_groups(rows)
    if n_boot or n_permutations:
        _require_few_pairs(rows)
        _require_few_sums(rows, max(n_boot, n_permutations))
    outcome = read_outcome(rows, loss)
    evidence = gather_evidence(rows, outcome, parameters)
    kinds = [kind for kind in GAP_KINDS if kind in evidence.seen.cells]
    return Audit(
        rows=rows,
        parameters=parameters,
        task=outcome.task,
        positive=outcome.positive,
        figures={figure.name: figure for figure in find_figures(evidence)},
        cells=tuple(find_cells(evidence)),
        groups=tuple(find_groups(evidence)),
        all_gaps=tuple(gap for kind in kinds for gap in find_gaps(evidence, kind)),
    )


def _read_quantiles(ci_quantiles: Sequence[float]) -> tuple[float, ...]:
    try:
        levels = np.asarray(ci_quantiles, dtype=float)
    except (TypeError, ValueError):
        levels = np.empty(0)
    increasing = levels.ndim == 1 and levels.size > 1 and bool((np.diff(levels) > 0).all())
    if not increasing or levels[0] <= 0 or levels[-1] >= 1:
        raise ValueError(
            f"ci_quantiles={ci_quantiles!r} must be at least two increasing numbers between 0 and "
            "1, such as (0.025, 0.975)."
        )
    return tuple(levels.tolist())


def _sensitive_columns(features: Any) -> dict[str, Any]:
    """Return by name what may have an index of its own."""
    if isinstance(features, Mapping):
        return {f"sensitive_features[{name!r}]": values for name, values in features.items()}
    return {"sensitive_features": features}


def _require_same_index(arguments: Mapping[str, Any]) -> None:
    """Refuse pandas objects with other indexes: their rows may not belong together."""
    indexed = [name for name, values in arguments.items() if hasattr(values, "iloc")]
    for name in indexed[1:]:
        if not arguments[name].index.equals(arguments[indexed[0]].index):
            raise ValueError(
                f"{name} and {indexed[0]} have different indexes, so their rows may not belong "
                f"together; align them with {name}.loc[{indexed[0]}.index], or drop both indexes "
                "with reset_index(drop=True)."
            )


def _require_two_groups(rows: PredictedRows) -> None:
    """Refuse a single group: it has nobody to be compared with, and that must not read as fair."""
    if not (rows.membership.label_codes >= 0).any():
        raise NothingToCompareError(
            f"y_bins={list(rows.cells.label_bins.labels)}: no label of y_true lies in these bins; "
            f"its first is {rows.y[:1].tolist()[0]!r}. Give bins that hold the labels."
        )
    for part, codes in zip(rows.cells.partitions, rows.membership.group_codes, strict=True):
        populated = [part.groups[q] for q in np.unique(codes[codes >= 0])]
        if len(populated) < 2:
            raise NothingToCompareError(
                f"sensitive_features ({part.name}) has rows in {len(populated)} of its groups, "
                f"{populated}: there is nobody to compare with. Check the column and s_bins."
            )


def _require_few_pairs(rows: PredictedRows) -> None:
    """Refuse more pairs than draws of which fit into memory."""
    n_pairs = sum(
        part.counts.shape[0] * len(part.groups) * (len(part.groups) - 1) // 2
        for part in rows.cells.partitions
    )
    if n_pairs > MOST_PAIRS:
        raise ValueError(
            f"{n_pairs} pairs of cells are too many to be drawn again: make fewer groups (s_bins, "
            "intersectional=False), or leave intervals and chance out: n_boot=0, n_permutations=0."
        )


def _require_few_sums(rows: PredictedRows, n_draws: int) -> None:
    """Refuse too many strata: the crossings of all attributes can be as many as the rows."""
    n_strata = Strata.of(rows.membership).starts.size
    if n_strata * n_draws > MOST_SUMS:
        raise ValueError(
            f"the label and {len(rows.cells.partitions)} attributes split the rows into {n_strata} "
            f"strata, too many to be drawn {n_draws} times: audit fewer attributes at once, make "
            f"fewer bins, or set n_boot and n_permutations to {MOST_SUMS // n_strata} or less."
        )
