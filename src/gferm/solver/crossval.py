"""Held-out predictions for every (alpha, epsilon), exactly those of refitting, without refitting.

    kernel   one hat matrix of all rows (hat.py) serves every fold and every alpha
    linear   the moments of a training part are those of all rows minus those of the rest, and one
             d×d eigendecomposition serves every alpha
    else     a training part that is a small or repeated part of the rows, or an alpha below the
             precision of the eigenvalues: one eigendecomposition of that part

In all of them m numbers for each alpha decide the rest: G and c₀ of the training part give ν for
every epsilon (epsilon_grid.py), and predictions are those of the labels minus those of C ν.

Predictions have the shape (n_alphas, n_epsilons, n_targets, n_test); NaN where the constraint
cannot be met, or where a training part has nobody to compare.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from gferm.arrays import Array
from gferm.arrays.device import device_of
from gferm.arrays.threads import for_each
from gferm.fairness.constraint import Constraint
from gferm.features.base import Rows
from gferm.features.expansion import center_and_scale
from gferm.features.system import System, Target
from gferm.solver.epsilon_grid import multipliers_of_grid
from gferm.solver.hat import FEW_TIMES, HatMatrix
from gferm.solver.reduction import FactorizedSystem

COLUMNS_AT_ONCE = 0.25  # of n: right-hand sides that are rotated together


@dataclass(frozen=True, eq=False)
class Fold:
    """A training part and a test part of n rows.

    Attributes
    ----------
    train, test : arrays of int
    constraint : Constraint or None
        Of the training part; None if it has nobody to compare.
    columns : sparse array of shape (n_train, m)
        C of the training part, row by row; without a column if there is no constraint.
    """

    train: Rows
    test: Rows
    constraint: Constraint | None
    columns: sparse.csr_array

    def spread_columns(self, n: int) -> sparse.csr_array:
        """Return C as columns over all n rows, zero outside the training part."""
        columns = self.columns.tocoo()
        place = (self.train[columns.row], columns.col)
        return sparse.csr_array((columns.data, place), shape=(n, columns.shape[1]))


@dataclass(frozen=True, eq=False)
class Grid:
    """The settings that share a kernel."""

    alphas: Array
    epsilons: tuple[float | None, ...]

    def multipliers(self, grams: Array, plain: Array, fold: Fold) -> Array:
        """Return ν for every alpha and epsilon; NaN if it asks for what nobody can be given."""
        if fold.constraint is not None:
            return multipliers_of_grid(grams, plain, fold.constraint, self.epsilons)
        nothing = np.array([0.0 if epsilon is None else np.nan for epsilon in self.epsilons])
        return np.broadcast_to(nothing[:, None], (len(grams), len(nothing), 1))


class HeldOutKernel:
    """Held-out predictions from the hat matrix of all rows.

    Parameters
    ----------
    matrix : array of shape (n, n)
        The kernel; it is overwritten.
    targets : array of shape (n, n_targets)
    weight : array of shape (n,) or None
    fit_intercept : bool
    """

    def __init__(
        self, matrix: Any, targets: Array, weight: Array | None, *, fit_intercept: bool
    ) -> None:
        self.scale = np.ones(len(matrix)) if weight is None else np.sqrt(weight)
        self.level = np.average(targets, axis=0, weights=weight) if fit_intercept else 0.0
        self.labels = self.scale[:, None] * (targets - self.level)
        home = device_of(matrix)
        diagonal = home.get(matrix.diagonal())
        self.size = float(np.abs(self.scale**2 * diagonal).max())
        _, null = center_and_scale(matrix, weight, fit_intercept=fit_intercept, home=home)
        self.hat = HatMatrix.of(matrix, null)

    def serves(self, fold: Fold) -> bool:
        """Return whether less is held out than is left, and nothing is there twice."""
        times = np.bincount(fold.train, minlength=len(self.labels))
        seen = times[fold.test].any()
        return not seen and times.max() == 1 and 2 * len(fold.train) >= len(self.labels)

    def predict(self, folds: Sequence[Fold], grid: Grid) -> list[Array]:
        """Predict the test part of every fold."""
        n, predictions = len(self.labels), [np.empty(0)] * len(folds)

        def work(job: tuple[int, Array, Array]) -> None:
            k, sources, rotated = job
            predictions[k] = self._predict(folds[k], sources, rotated, grid)

        for group in _groups(folds, self.labels.shape[1], int(COLUMNS_AT_ONCE * n)):
            sources = [self._sources(folds[k]) for k in group]
            ends = np.cumsum([source.shape[1] for source in sources])
            rotated = np.split(self.hat.rotate(np.hstack(sources)), ends[:-1], axis=1)
            largest = n - min(len(folds[k].train) for k in group)
            jobs = list(zip(group, sources, rotated, strict=True))
            for_each(work, jobs, alone=FEW_TIMES * largest > n)
        return predictions

    def _sources(self, fold: Fold) -> Array:
        """Return R = [labels, C] of the training part, zero elsewhere."""
        labels = np.zeros_like(self.labels)
        labels[fold.train] = self.labels[fold.train]
        columns = fold.spread_columns(len(labels)).toarray() / self.scale[:, None]
        return np.hstack([labels, columns])

    def _predict(self, fold: Fold, sources: Array, rotated: Array, grid: Grid) -> Array:
        held = np.setdiff1d(np.arange(len(self.labels)), fold.train)
        gram, t = sources.T @ sources, self.labels.shape[1]
        # Where groups agree exactly, contrasts are rounding, and it must not be inverted.
        seen = self.hat.sees(rotated, gram.diagonal(), self.size)
        seen[:t] = True
        gram *= np.outer(seen, seen)
        at_held, forms = self.hat.hold_out(held, seen * rotated, gram, grid.alphas)
        at_test = at_held[:, np.searchsorted(held, fold.test)] / self.scale[fold.test, None]
        plain, effects = np.swapaxes(at_test[:, :, :t], 1, 2), np.swapaxes(at_test[:, :, t:], 1, 2)
        shape = (len(grid.alphas), len(grid.epsilons), t, len(fold.test))
        predictions = np.empty(shape)
        for j in range(t):
            nu = grid.multipliers(forms[:, t:, t:], forms[:, t:, j], fold)
            predictions[:, :, j] = plain[:, None, j] - _apply(nu, effects)
        predictions += np.reshape(self.level, (-1, 1))
        return predictions


def solve_grid(
    system: System, targets: Sequence[Target], fold: Fold, grid: Grid
) -> tuple[Array, Array]:
    """Solve the learning problem of a training part for every setting, from one decomposition.

    ``targets`` are those of the features. Returns the coefficients, shape (n_alphas, n_epsilons,
    n_targets, p), and the intercepts.
    """
    first = float(grid.alphas[0])
    factorized = FactorizedSystem.by_spectrum(system, first)
    rotated = factorized.system
    vectors = rotated.rotation.T @ np.column_stack([target.vector for target in targets])
    t = len(targets)
    x = np.stack(
        [
            factorized.shifted(float(alpha)).solve(np.hstack([vectors, rotated.steering]))
            for alpha in grid.alphas
        ]
    )
    effects = np.swapaxes(x[:, :, t:], 1, 2)
    found = np.empty((len(grid.alphas), len(grid.epsilons), t, len(vectors)))
    for j in range(t):
        plain = x[:, :, j]
        nu = grid.multipliers(rotated.probe.T @ x[:, :, t:], plain @ rotated.probe, fold)
        found[:, :, j] = plain[:, None] - _apply(nu, effects)
    levels = np.array([target.level for target in targets])
    intercepts = levels - found @ rotated.anchor
    return rotated.geometry.restore(found), intercepts


def _apply(nu: Array, effects: Array) -> Array:
    """Return Σ ν effects for every alpha: (A, E, m) by (A, m, p); NaN where ν is."""
    if effects.shape[1] == 0:  # nobody to compare: ν says only whether that is an answer
        return nu[:, :, :1] * np.ones(effects.shape[2])
    return nu @ effects


def _groups(folds: Sequence[Fold], n_targets: int, limit: int) -> list[list[int]]:
    """Put folds together whose right-hand sides number at most ``limit``."""
    groups: list[list[int]] = []
    size = limit + 1
    for k, fold in enumerate(folds):
        own = n_targets + fold.columns.shape[1]
        if size + own > limit:
            groups.append([])
            size = 0
        groups[-1].append(k)
        size += own
    return groups
