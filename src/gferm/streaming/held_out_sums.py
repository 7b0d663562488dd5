"""Judge every alpha and epsilon of a kernel by the sums of each fold; no row is needed.

    sums of all other folds → weights of every alpha and epsilon    (one decomposition)
    sums of the fold itself → their error and their mean gap

A squared error and a gap of means are quadratic and linear in the weights, so the sums of the
held-out rows give them exactly. Any other measure needs the predictions themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from gferm.arrays import Array
from gferm.arrays.foreign import device_for
from gferm.estimators.base import FairModel
from gferm.estimators.streaming import Stream
from gferm.exceptions import NothingToCompareError
from gferm.fairness.cells import CellScheme
from gferm.fairness.comparison import Comparison, no_contrasts
from gferm.fairness.constraint import Constraint
from gferm.features.summary import Summary, constrain, total
from gferm.model_selection.rows import SearchFold
from gferm.solver.crossval import Grid, solve_grid


def judge_by_sums(
    model: FairModel, streams: Sequence[Stream], grid: Grid
) -> tuple[Array, list[SearchFold]]:
    """Judge all settings of a kernel; ``streams`` holds a fold each.

    Returns
    -------
    figures : array of shape (n_folds, 3, n_settings)
        Error, mean gap, and whether there is a model.
    folds : list of SearchFold
        What each fold could compare.
    """
    agreement = streams[0].agreement
    summaries = [stream.summary for stream in streams]
    finish = agreement.features(device_for(model.device, None)).finish
    if finish is not None:
        summaries = [summary.finished(finish) for summary in summaries]
    compare = partial(_constraint, Comparison.of(model, epsilon_scale="mean"), agreement.scheme)
    everybody, _ = compare(total(summaries))
    figures, folds = [], []
    for k, held_out in enumerate(summaries):
        rest = total(summaries[:k] + summaries[k + 1 :])
        constraint, probe = compare(rest)
        fold = _fold(constraint, everybody, model.epsilon_scale)
        posed = rest.moments.system(probe, None, None, fit_intercept=model.fit_intercept)
        weights, intercepts = solve_grid(*posed, fold, grid)
        weights, intercepts = weights.reshape(-1, weights.shape[-1]), intercepts.ravel()
        judging, at = compare(held_out)
        gaps = np.full(len(weights), np.nan)
        if judging is not None:
            gaps = np.array([judging.violation_of(one) for one in weights @ at])
        errors = mean_squared_errors(held_out, weights, intercepts)
        usable = np.isfinite(errors)
        figures.append(np.array([errors, np.where(usable, gaps, np.nan), usable]))
        folds.append(fold)
    return np.array(figures), folds


def mean_squared_errors(summary: Summary, weights: Array, intercepts: Array) -> Array:
    """Return Σ w (f − y)² / Σ w of f = xᵀw + b for each row of weights, from the sums alone."""
    sums, origin = summary.moments, summary.moments.origin
    level = weights @ origin.x + intercepts - origin.y[0]  # f − y at the origin
    total_error = (
        np.einsum("ij,ij->i", weights @ sums.scatter, weights)
        + 2.0 * level * (weights @ sums.shift)
        + level**2 * sums.mass
        - 2.0 * weights @ sums.cross[:, 0]
        - 2.0 * level * sums.rise[0]
        + sums.square[0]
    )
    found: Array = np.maximum(total_error, 0.0) / sums.mass
    return found


def _constraint(
    comparison: Comparison, scheme: CellScheme | None, summary: Summary
) -> tuple[Constraint | None, Array]:
    """Return the constraint on these rows, and how its contrasts are read: XᵀC."""
    nothing = np.zeros((summary.moments.shift.size, 0))
    if scheme is None:
        return None, nothing
    try:
        _, constraint, probe = constrain(summary, scheme, comparison)
    except NothingToCompareError:
        return None, nothing
    return constraint, probe


def _fold(
    constraint: Constraint | None, everybody: Constraint | None, epsilon_scale: str
) -> SearchFold:
    """Return what one fold could compare, of the pairs that all rows compare."""
    nobody = np.zeros(0, dtype=np.intp)
    all_pairs = 0 if everybody is None else len(everybody.compared)
    own_pairs = 0 if constraint is None else len(constraint.compared)
    if constraint is not None and epsilon_scale == "sum":
        constraint = replace(constraint, scale=0.5)
    problem = "" if constraint is not None else "its training rows leave nobody to compare."
    dropped = all_pairs - own_pairs
    return SearchFold(nobody, nobody, constraint, no_contrasts(0), None, dropped, problem)
