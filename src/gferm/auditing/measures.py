"""The figures of an audit, as data: what each one is called, means, and how it follows from tables.

A measure reads `Tables` of any number of draws and gives one number a draw, so the figure of the
sample, its interval and its chance come from the same three lines. One that does not apply (rates
where everybody is in the right bin, groups where the attribute is continuous) gives None.

``shuffled`` says which shuffle takes the unfairness away: within label bins for what compares equal
outcomes, among everybody for what compares whole groups.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gferm.arrays import Array
from gferm.auditing.outcome import CLASSES
from gferm.auditing.sums import Tables
from gferm.metrics.cell_values import CellValues, average_gaps

WITHIN_BINS, EVERYBODY = "within label bins", "among everybody"
SHARE, UNITS, PLAIN = "share", "units of y", ""


@dataclass(frozen=True)
class Question:
    """What is audited, as far as measures need it.

    Attributes
    ----------
    task : {"numbers", "classes"}
    quantities : frozenset of str
        What each row contributes.
    min_cell_size : int
    positive_bin : int or None
        The label bin of the positive of two classes.
    continuous, numeric : tuple of str
        The attributes taken as continuous, and all that are numbers.
    """

    task: str
    quantities: frozenset[str]
    min_cell_size: int
    positive_bin: int | None
    continuous: tuple[str, ...]
    numeric: tuple[str, ...]


Value = Callable[[Tables, Question], Array | None]


@dataclass(frozen=True)
class Measure:
    """One figure.

    Attributes
    ----------
    name, title, meaning : str
        For programs, for headings, and in a sentence.
    unit : {"share", "units of y", ""}
    quantity : str
        What is averaged: rounding is relative to its size.
    value : callable
        (tables, question) → array of shape (n_draws,), or None where it does not apply.
    shuffled : {"within label bins", "among everybody"} or None
        The null hypothesis; None where chance alone has no say.
    least, largest : float
        What the figure can be.
    """

    name: str
    title: str
    meaning: str
    unit: str
    quantity: str
    value: Value
    shuffled: str | None = None
    least: float = 0.0
    largest: float = np.inf


def _has(question: Question, tables: Tables, quantity: str) -> bool:
    return quantity in question.quantities and bool(tables.cells.partitions)


def _mean_of_gaps(values: CellValues, average: str, min_cell_size: int) -> Array:
    found = average_gaps(values, average, min_cell_size)
    return np.full(values.tables[0].shape[0], np.nan) if found is None else np.asarray(found)


def _in_cells(quantity: str, average: str) -> Value:
    """Average the gaps between cells of one label bin."""

    def value(tables: Tables, question: Question) -> Array | None:
        if not _has(question, tables, quantity):
            return None
        return _mean_of_gaps(tables.of(quantity), average, question.min_cell_size)

    return value


def _in_groups(quantity: str) -> Value:
    """Average the gaps between whole groups."""

    def value(tables: Tables, question: Question) -> Array | None:
        if not _has(question, tables, quantity):
            return None
        return _mean_of_gaps(tables.groups(quantity), "pairs", 1)

    return value


def _largest_gap_of_rates(tables: Tables, question: Question) -> Array | None:
    if question.task != CLASSES or not _has(question, tables, "rate"):
        return None
    gaps = np.abs(tables.of("rate").signed_gaps(question.min_cell_size))
    return np.asarray(gaps.max(axis=-1)) if gaps.shape[-1] else np.full(len(gaps), np.nan)


def _gap_of_positive_rates(tables: Tables, question: Question) -> Array | None:
    if question.positive_bin is None or not _has(question, tables, "rate"):
        return None
    rates = tables.of("rate")
    pairs = rates.compared(question.min_cell_size)
    positive = [i for i, (_, k, _, _) in enumerate(pairs) if k == question.positive_bin]
    gaps = np.abs(rates.signed_gaps(question.min_cell_size)[:, positive])
    return np.asarray(gaps.max(axis=-1)) if positive else np.full(len(gaps), np.nan)


def _delta(tables: Tables, question: Question) -> Array | None:
    rates = _in_cells("rate", "sum")(tables, question)
    residuals = _in_cells("residual", "sum")(tables, question)
    return None if rates is None or residuals is None else rates - residuals


def _covariance(tables: Tables, question: Question) -> Array | None:
    if "prediction" not in question.quantities or not question.continuous:
        return None
    each = [
        np.abs(tables.covariances(name)[:, tables.rows.comparable(j, question.min_cell_size)])
        for j, name in enumerate(tables.cells.scores)
    ]
    found = np.concatenate(each, axis=1)
    return found.mean(axis=1) if found.shape[1] else np.full(len(found), np.nan)


def _correlation(tables: Tables, question: Question) -> Array | None:
    if "prediction" not in question.quantities or not question.numeric:
        return None
    return np.asarray(np.max([np.abs(tables.correlations(n)) for n in question.numeric], axis=0))


def _error(tables: Tables, question: Question) -> Array | None:
    return tables.total("error")


RATE_GAPS = "the groups' shares predicted into their label's own bin differ"

MEASURES: tuple[Measure, ...] = (
    Measure(
        "error",
        "error",
        "mean |prediction − label|; for classes, the share predicted wrongly",
        UNITS,
        "error",
        _error,
    ),
    Measure(
        "dgf",
        "DGF",
        f"by how much {RATE_GAPS}: mean over pairs of groups, each label bin counting alike",
        SHARE,
        "rate",
        _in_cells("rate", "pairs"),
        WITHIN_BINS,
        largest=1.0,
    ),
    Measure(
        "dgf_weighted",
        "DGF, by rows",
        f"by how much {RATE_GAPS}: mean over pairs, weighed by the rows behind them",
        SHARE,
        "rate",
        _in_cells("rate", "weighted"),
        WITHIN_BINS,
        largest=1.0,
    ),
    Measure(
        "general_fairness",
        "GF",
        "the paper's definition: 1/(K Q²) Σ over bins and ordered pairs, empty ones counting 0",
        SHARE,
        "rate",
        _in_cells("rate", "definition"),
        WITHIN_BINS,
        largest=1.0,
    ),
    Measure(
        "dgf_sum",
        "DGF, literal sum",
        "the sum over bins and ordered pairs, which grows with their number",
        SHARE,
        "rate",
        _in_cells("rate", "sum"),
        WITHIN_BINS,
    ),
    Measure(
        "equalized_odds_difference",
        "equalized odds difference",
        "largest difference between groups in the share of a class that is recognised",
        SHARE,
        "rate",
        _largest_gap_of_rates,
        WITHIN_BINS,
        largest=1.0,
    ),
    Measure(
        "equal_opportunity_difference",
        "equal opportunity difference",
        "largest difference between groups in the true positive rate",
        SHARE,
        "rate",
        _gap_of_positive_rates,
        WITHIN_BINS,
        largest=1.0,
    ),
    Measure(
        "mean_gap",
        "mean gap of predictions",
        "by how much the groups' mean predictions differ within a label bin: what epsilon bounds",
        UNITS,
        "prediction",
        _in_cells("prediction", "pairs"),
        WITHIN_BINS,
    ),
    Measure(
        "residual_gap",
        "mean gap of errors",
        "by how much the groups' mean residuals differ within a label bin (match='residual')",
        UNITS,
        "residual",
        _in_cells("residual", "pairs"),
        WITHIN_BINS,
    ),
    Measure(
        "loss_general_fairness",
        "LGF",
        "the paper's definition for a loss: 1/(K Q²) Σ |difference of the cells' mean losses|",
        PLAIN,
        "loss",
        _in_cells("loss", "definition"),
        WITHIN_BINS,
    ),
    Measure(
        "delta_hat",
        "Δ̂",
        "Σ |gap of rates| − |gap of mean errors|: how far the convex surrogate is from GF",
        PLAIN,
        "residual",
        _delta,
        least=-np.inf,
    ),
    Measure(
        "covariance",
        "mean covariance",
        "mean |covariance| with a continuous attribute (in standard deviations) within a label bin",
        UNITS,
        "prediction",
        _covariance,
        WITHIN_BINS,
    ),
    Measure(
        "mean_distance",
        "mean distance",
        "by how much the mean predictions of whole groups differ, whatever the labels",
        UNITS,
        "prediction",
        _in_groups("prediction"),
        EVERYBODY,
    ),
    Measure(
        "error_gap",
        "gap of the groups' errors",
        "by how much the error of whole groups differs",
        UNITS,
        "error",
        _in_groups("error"),
        EVERYBODY,
    ),
    Measure(
        "correlation",
        "correlation",
        "largest |correlation| of the predictions with a numeric attribute",
        PLAIN,
        "",
        _correlation,
        EVERYBODY,
        largest=1.0,
    ),
)
