"""Comparison: who is to be compared with whom, and how, as a user's parameters say it.

    rows ──resolve──> bins ──sort_rows──> membership ──constrain──> constraint, columns C

Fits, streams, searches, audits and saved models pass one `Comparison` on; whatever depends on the
rows follows from it here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gferm.arrays import Array
from gferm.fairness.bins import BinsLike
from gferm.fairness.cells import CellScheme, SensitiveBins
from gferm.fairness.constraint import Constraint
from gferm.fairness.contrasts import average_rows, combine_cells
from gferm.fairness.membership import Membership, sort_rows
from gferm.fairness.sensitive import SensitiveColumn

EPSILON_SCALES = ("mean", "sum")
MATCHES = ("prediction", "residual")


@dataclass(frozen=True)
class Comparison:
    """What a user asks for; see `FairRegressor` for the parameters."""

    y_bins: BinsLike
    s_bins: SensitiveBins = "auto"
    intersectional: bool = True
    match: str = "prediction"
    min_cell_size: int = 1
    epsilon_scale: str = "mean"

    @classmethod
    def of(cls, parameters: Any, **others: Any) -> Comparison:
        """Read the attributes of an estimator that bear these names; ``others`` replace them."""
        names = {field.name for field in fields(cls)} - set(others)
        own = {name: getattr(parameters, name) for name in names if hasattr(parameters, name)}
        return cls(**own, **others)

    def resolve(
        self, y: npt.NDArray[Any], columns: Sequence[SensitiveColumn], weight: Array | None = None
    ) -> CellScheme:
        """Settle the bins on these rows."""
        return CellScheme.resolve(
            y,
            columns,
            y_bins=self.y_bins,
            s_bins=self.s_bins,
            intersectional=self.intersectional,
            weight=weight,
        )

    def sort(
        self, y: npt.NDArray[Any], columns: Sequence[SensitiveColumn], weight: Array | None = None
    ) -> Membership:
        """Settle the bins on these rows, and sort the rows into them."""
        return sort_rows(self.resolve(y, columns, weight), y, columns, weight)

    def constrain(
        self, rows: Membership, target: Array | None = None
    ) -> tuple[Constraint, sparse.csr_array]:
        """Compare every pair of populated cells within each label bin.

        ``target`` are the numbers that predictions are compared with for match="residual".

        Returns
        -------
        constraint : Constraint
        columns : sparse array of shape (n_samples, m)
            C, its contrasts.

        Raises
        ------
        NothingToCompareError
            If there is a single group, or no label bin with two populated cells.
        """
        comparable = [rows.comparable(j, self.min_cell_size) for j in range(len(rows.scores))]
        averages = average_rows(rows, comparable)
        combination = combine_cells(rows.cells, comparable, self.min_cell_size)
        means = None
        if self.match == "residual":
            if target is None:
                raise ValueError("match='residual' compares predictions with y, which is missing.")
            means = np.asarray(averages.T @ target)
        columns = (averages @ combination.weights).tocsr()
        return combination.constraint(means, self.epsilon_scale), columns


def require_every_row_in_a_bin(
    rows: Membership,
    y: npt.NDArray[Any],
    columns: Sequence[SensitiveColumn],
    *,
    all_bins_filled: bool = True,
) -> None:
    """Refuse rows outside of the bins, and given bins without rows if all are to be filled."""
    bins = rows.scheme.label_bins
    # Leaving classes out of y_bins is a choice (equal opportunity); leaving the edges is a slip.
    if not bins.selective:
        _complain_about_outside(y, rows.label_codes < 0, "y", "y_bins")
    counts = rows.cells.label_counts
    if all_bins_filled and bins.explicit and (counts == 0).any():
        empty = [bins.labels[k] for k in np.flatnonzero(counts == 0)]
        remedy = (
            f"The values of y are {np.unique(y).tolist()[:20]}."
            if bins.selective
            else "Merge each with a neighbour, or give y_bins as a number."
        )
        raise ValueError(f"y_bins has bins without any row: {empty}. {remedy}")
    if not rows.scores and all((codes >= 0).all() for codes in rows.group_codes):
        return  # which is to be told apart only if somebody is missing
    for column, sensitive_bins in zip(columns, rows.scheme.sensitive_bins, strict=True):
        outside = sensitive_bins.assign(column.values) < 0
        name = f"sensitive_features ({column.name})"
        _complain_about_outside(column.values, outside, name, "s_bins")


def _complain_about_outside(
    values: npt.NDArray[Any], outside: npt.NDArray[np.bool_], name: str, argument: str
) -> None:
    if outside.any():
        raise ValueError(
            f"{name} has {int(outside.sum())} of {outside.size} values in none of the {argument}, "
            f"for example {values[outside][0]!s} in row {int(np.argmax(outside))}; widen the outer "
            "edges (they may be infinite) or name the missing categories."
        )
