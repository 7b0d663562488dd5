"""The figures of an audit, as data: what each one is called, means, and how it follows from means.

A measure reads the `Means` of any number of draws and gives one number a draw, so the figure of the
sample, its interval and its chance come from the same three lines. One that does not apply (rates
where everybody is in the right bin, groups where the attribute is continuous) gives None. A new
figure is one entry of MEASURES.

``shuffled`` says which shuffle takes the unfairness away: within label bins for what compares equal
outcomes, among everybody for what compares whole groups.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gferm.arrays import Array
from gferm.auditing.evidence import EVERYBODY, WITHIN_BINS, Means
from gferm.auditing.outcome import CLASSES
from gferm.metrics.cell_values import CellValues, average_gaps

SHARE, UNITS, PLAIN = "share", "units of y", ""

Value = Callable[[Means], Array | None]


@dataclass(frozen=True)
class Measure:
    """One figure.

    Attributes
    ----------
    name, title, meaning : str
        For programs, for headings, and in a sentence.
    value : callable
        means → array of shape (n_draws,), or None where it does not apply.
    quantity : str
        What is averaged: rounding is relative to its size.
    unit : {"share", "units of y", ""}
    shuffled : {"within label bins", "among everybody"} or None
        The null hypothesis; None where chance alone has no say.
    least, largest : float
        What the figure can be.
    """

    name: str
    title: str
    meaning: str
    value: Value
    quantity: str = "rate"
    unit: str = SHARE
    shuffled: str | None = WITHIN_BINS
    least: float = 0.0
    largest: float = np.inf


def _in_cells(quantity: str, average: str) -> Value:
    """Average the gaps between cells of one label bin."""

    def value(means: Means) -> Array | None:
        values = means.cells.get(quantity)
        return None if values is None else _mean_gap(values, average, means.min_cell_size)

    return value


def _in_groups(quantity: str) -> Value:
    """Average the gaps between whole groups."""

    def value(means: Means) -> Array | None:
        values = means.groups.get(quantity)
        return None if values is None else _mean_gap(values, "pairs", 1)

    return value


def _mean_gap(values: CellValues, average: str, min_cell_size: int) -> Array:
    found = average_gaps(values, average, min_cell_size)
    return np.full(len(values.tables[0]), np.nan) if found is None else found


def _largest_gap_of_rates(means: Means) -> Array | None:
    rates = means.cells.get("rate")
    if rates is None or means.outcome.task != CLASSES:
        return None
    return _largest(rates.signed_gaps(means.min_cell_size))


def _gap_of_positive_rates(means: Means) -> Array | None:
    rates, positive = means.cells.get("rate"), means.outcome.positive_bin
    if rates is None or positive is None:
        return None
    of_positive = [k == positive for _, k, _, _ in rates.compared(means.min_cell_size)]
    return _largest(rates.signed_gaps(means.min_cell_size)[:, np.array(of_positive, dtype=bool)])


def _largest(gaps: Array) -> Array:
    return np.abs(gaps).max(axis=-1) if gaps.shape[-1] else np.full(len(gaps), np.nan)


def _delta(means: Means) -> Array | None:
    rates, residuals = _in_cells("rate", "sum")(means), _in_cells("residual", "sum")(means)
    return None if rates is None or residuals is None else rates - residuals


def _covariance(means: Means) -> Array | None:
    found = means.covariances
    if found is None:
        return None
    return np.abs(found).mean(axis=1) if found.shape[1] else np.full(len(found), np.nan)


def _correlation(means: Means) -> Array | None:
    found = means.correlations
    return None if found is None else np.asarray(np.abs(found).max(axis=1))


RATE_GAPS = "the groups' shares predicted into their label's own bin differ"

MEASURES: tuple[Measure, ...] = (
    Measure(
        "error",
        "error",
        "mean |prediction − label|; for classes, the share predicted wrongly",
        lambda means: means.error,
        quantity="error",
        unit=UNITS,
        shuffled=None,
    ),
    Measure(
        "dgf",
        "DGF",
        f"by how much {RATE_GAPS}: mean over pairs of groups, each label bin counting alike",
        _in_cells("rate", "pairs"),
        largest=1.0,
    ),
    Measure(
        "dgf_weighted",
        "DGF, by rows",
        f"by how much {RATE_GAPS}: mean over pairs, weighed by the rows behind them",
        _in_cells("rate", "weighted"),
        largest=1.0,
    ),
    Measure(
        "general_fairness",
        "GF",
        "the paper's definition: 1/(K Q²) Σ over bins and ordered pairs, empty ones counting 0",
        _in_cells("rate", "definition"),
        largest=1.0,
    ),
    Measure(
        "dgf_sum",
        "DGF, literal sum",
        "the sum over bins and ordered pairs, which grows with their number",
        _in_cells("rate", "sum"),
    ),
    Measure(
        "equalized_odds_difference",
        "equalized odds difference",
        "largest difference between groups in the share of a class that is recognised",
        _largest_gap_of_rates,
        largest=1.0,
    ),
    Measure(
        "equal_opportunity_difference",
        "equal opportunity difference",
        "largest difference between groups in the true positive rate",
        _gap_of_positive_rates,
        largest=1.0,
    ),
    Measure(
        "mean_gap",
        "mean gap of predictions",
        "by how much the groups' mean predictions differ within a label bin: what epsilon bounds",
        _in_cells("prediction", "pairs"),
        quantity="prediction",
        unit=UNITS,
    ),
    Measure(
        "residual_gap",
        "mean gap of errors",
        "by how much the groups' mean residuals differ within a label bin (match='residual')",
        _in_cells("residual", "pairs"),
        quantity="residual",
        unit=UNITS,
    ),
    Measure(
        "loss_general_fairness",
        "LGF",
        "the paper's definition for a loss: 1/(K Q²) Σ |difference of the cells' mean losses|",
        _in_cells("loss", "definition"),
        quantity="loss",
        unit=PLAIN,
    ),
    Measure(
        "delta_hat",
        "Δ̂",
        "Σ |gap of rates| − |gap of mean errors|: how far the convex surrogate is from GF",
        _delta,
        quantity="residual",
        unit=PLAIN,
        shuffled=None,
        least=-np.inf,
    ),
    Measure(
        "covariance",
        "mean covariance",
        "mean |covariance| with a continuous attribute (in standard deviations) within a label bin",
        _covariance,
        quantity="prediction",
        unit=UNITS,
    ),
    Measure(
        "mean_distance",
        "mean distance",
        "by how much the mean predictions of whole groups differ, whatever the labels",
        _in_groups("prediction"),
        quantity="prediction",
        unit=UNITS,
        shuffled=EVERYBODY,
    ),
    Measure(
        "error_gap",
        "gap of the groups' errors",
        "by how much the error of whole groups differs",
        _in_groups("error"),
        quantity="error",
        unit=UNITS,
        shuffled=EVERYBODY,
    ),
    Measure(
        "correlation",
        "correlation",
        "largest |correlation| of the predictions with a numeric attribute",
        _correlation,
        quantity="",
        unit=PLAIN,
        shuffled=EVERYBODY,
        largest=1.0,
    ),
)
