"""Evidence: the tables of the sample, of rows drawn again and of groups shuffled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gferm.arrays import Array
from gferm.auditing.measures import EVERYBODY, WITHIN_BINS, Question
from gferm.auditing.outcome import Outcome
from gferm.auditing.plan import Plan
from gferm.auditing.resampling import bootstrap, observed, shuffles
from gferm.auditing.sums import (
    MASS,
    SQUARED,
    STANDARD,
    Strata,
    Sums,
    Tables,
    Term,
    moments_with,
    squared,
)
from gferm.metrics.reading import Rows

OF_GROUPS = ("prediction", "error")  # the quantities that whole groups are compared by


@dataclass(frozen=True, eq=False)
class Evidence:
    """What figures are read from.

    Attributes
    ----------
    rows : Rows
    question : Question
    seen : Tables
        One draw: the sample itself.
    drawn : Tables or None
    shuffled : dict of Tables
        By which shuffle.
    levels : tuple of float
        The quantiles of intervals.
    small : int
        Cells with fewer rows are small.
    sizes : dict of float
        The largest |value| of each quantity, as a yardstick for rounding.
    """

    rows: Rows
    question: Question
    seen: Tables
    drawn: Tables | None
    shuffled: dict[str, Tables]
    levels: tuple[float, ...]
    small: int
    sizes: dict[str, float]


def gather(rows: Rows, outcome: Outcome, plan: Plan) -> Evidence:
    """Sum over the rows, over rows that are drawn again, and over shuffles."""
    question = _ask(rows, outcome, plan.min_cell_size)
    rng = plan.stream()
    strata = Strata.of(rows.membership)
    terms, spread = _terms(rows, outcome, question)

    def tables(sums: Sums) -> Tables:
        return Tables(rows.membership, strata, sums, spread)

    shuffled = {}
    if plan.n_permutations:
        pooled = {MASS, *OF_GROUPS, STANDARD, SQUARED}
        pooled |= {name for one in question.numeric for name in (*moments_with(one), squared(one))}
        of_groups = {name: term for name, term in terms.items() if name in pooled}
        shuffled[WITHIN_BINS] = tables(shuffles(strata, terms, plan.n_permutations, rng))
        shuffled[EVERYBODY] = tables(
            shuffles(strata, of_groups, plan.n_permutations, rng, everybody=True)
        )
    return Evidence(
        rows=rows,
        question=question,
        seen=tables(observed(strata, terms)),
        drawn=tables(bootstrap(strata, terms, plan.n_boot, rng)) if plan.n_boot else None,
        shuffled=shuffled,
        levels=plan.ci_quantiles,
        small=plan.small_cell_size,
        sizes={name: float(np.abs(one).max()) for name, one in outcome.quantities.items()},
    )


def _ask(rows: Rows, outcome: Outcome, min_cell_size: int) -> Question:
    return Question(
        task=outcome.task,
        quantities=frozenset(outcome.quantities),
        min_cell_size=min_cell_size,
        positive_bin=outcome.positive_bin,
        continuous=rows.cells.scores,
        numeric=tuple(
            column.name
            for column in rows.columns
            if column.values.dtype.kind in "biuf" and not column.nominal
        ),
    )


def _terms(rows: Rows, outcome: Outcome, question: Question) -> tuple[dict[str, Term], float]:
    """Return the products whose sums are needed, and the standard deviation of the predictions."""
    weight = rows.weight
    terms = {name: Term(values, weight) for name, values in outcome.quantities.items()}
    if weight is not None:
        terms[MASS] = Term(np.ones(rows.y.size), weight)
    if "prediction" not in outcome.quantities or not question.numeric:
        return terms, 1.0
    f, spread = _standardise(outcome.quantities["prediction"], weight)
    terms |= {STANDARD: Term(f, weight), SQUARED: Term(f**2, weight)}
    share, one = 1.0 if weight is None else weight, np.ones(rows.y.size)
    for column in rows.columns:
        if column.name in question.numeric:
            s, _ = _standardise(column.values.astype(float), weight)
            _, first, mixed = moments_with(column.name)
            terms[first] = Term(one, share * s)
            terms[mixed] = Term(f, share * s)
            terms[squared(column.name)] = Term(one, share * s**2)
    return terms, spread


def _standardise(values: Array, weight: Array | None) -> tuple[Array, float]:
    """Return values in deviations from their mean (zeros if constant), and the deviation."""
    centred = values - np.average(values, weights=weight)
    spread = float(np.sqrt(np.average(centred**2, weights=weight)))
    if spread <= 1e-12 * np.abs(values).max():
        return np.zeros_like(centred), spread
    return centred / spread, spread
