"""Held-out predictions of one kernel, every alpha and every epsilon.

The square loss is never refitted (solver/crossval.py): features whose sums add are summed once,
and of a kernel one decomposition serves all folds. Other losses are learned on each training part,
with one factorisation for all settings and a warm start from the last alpha, strong to weak.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gferm.arrays import Array
from gferm.arrays.device import Device
from gferm.arrays.memory import explain_out_of_memory, with_room_for
from gferm.arrays.threads import one_blas_at_a_time
from gferm.estimators.base import FairModel
from gferm.exceptions import UnreachableEpsilonError
from gferm.features.base import RowFeatures
from gferm.features.expansion import KernelFeatures
from gferm.features.linear import LandmarkFeatures, LinearFeatures
from gferm.features.moments import training_moments
from gferm.losses import LOSSES, as_loss
from gferm.solver.choice import Settings
from gferm.solver.cholesky import is_positive_semidefinite, panel_size
from gferm.solver.crossval import Fold, Grid, HeldOutKernel, solve_grid
from gferm.solver.problem import LearningProblem
from gferm.solver.spectrum import Spectrum

NEVER = 1e3  # below all other decisions: a class that was never seen is never predicted


class HeldOut:
    """All rows of a search under one kernel, from which parts are held out.

    Parameters
    ----------
    model : FairModel
        With the parameters of the kernel; its alpha and epsilon do not matter.
    features : RowFeatures
    y : array of shape (n_samples,)

    Attributes
    ----------
    unconverged : int
        Models whose duality gap stayed above ``tol``.
    """

    def __init__(self, model: FairModel, features: RowFeatures, y: npt.NDArray[Any]) -> None:
        loss = as_loss(model.loss, model.labels.losses)
        # libsvm, which is for epsilon=0, has no warm start
        self.settings = Settings(loss, 1.0, epsilon=1.0, tol=model.tol, max_iter=model.max_iter)
        self.is_squared = loss == LOSSES["squared"]
        if isinstance(features, LandmarkFeatures) and not self.is_squared:
            features = features.evaluated()  # iterations go back to them
        self.features, self.unconverged = features, 0
        self.targets = np.column_stack(model.labels.targets(y))

    def predict(self, folds: Sequence[Fold], grid: Grid) -> list[Array]:
        """Predict the test rows of every fold: (n_alphas, n_epsilons, n_models, n_test) each."""
        features = self.features
        with explain_out_of_memory(features.device):
            if not self.is_squared:
                predictions = [self._learn(fold, grid) for fold in folds]
            elif isinstance(features, LinearFeatures):
                predictions = self._by_moments(features, folds, grid)
            else:
                assert isinstance(features, KernelFeatures)
                predictions = self._by_hat_matrix(features, folds, grid)
        for fold, values in zip(folds, predictions, strict=True):
            there = self._classes_of(fold)
            lowest = values[..., there, :].min(axis=(-2, -1), keepdims=True)
            values[..., ~there, :] = lowest - NEVER
        return predictions

    def _by_moments(
        self, features: LinearFeatures, folds: Sequence[Fold], grid: Grid
    ) -> list[Array]:
        """Solve in the features, with sums over the rows that are taken once."""
        on_landmarks = features.finish is not None
        parts = training_moments(
            features.summed,
            self.targets,
            features.weight,
            [(fold.train, fold.spread_columns(features.n_rows)) for fold in folds],
            alpha=0.0 if on_landmarks else float(grid.alphas.min()),
            fit_intercept=features.fit_intercept,
            device=features.device,
        )
        predictions = []
        for fold, (moments, probe) in zip(folds, parts, strict=True):
            system, targets = features.pose(moments, probe)
            predictions.append(self._evaluate(fold, *solve_grid(system, targets, fold, grid)))
        return predictions

    def _by_hat_matrix(
        self, features: KernelFeatures, folds: Sequence[Fold], grid: Grid
    ) -> list[Array]:
        """Decompose the kernel of all rows once; parts that it cannot serve are solved alone."""

        def serve(home: Device) -> tuple[Any, dict[int, Array]]:
            with one_blas_at_a_time():
                whole = HeldOutKernel(  # nothing else may hold the matrix
                    features.matrix(home, is_positive_semidefinite),
                    self.targets,
                    features.weight,
                    fit_intercept=features.fit_intercept,
                )
            clear = grid.alphas >= whole.hat.smallest_alpha
            served = [k for k, fold in enumerate(folds) if clear.any() and whole.serves(fold)]
            known = replace(grid, alphas=grid.alphas[clear])
            found = whole.predict([folds[k] for k in served], known)
            return clear, dict(zip(served, found, strict=True))

        clear, by_fold = with_room_for(
            features.n_rows,
            features.device,
            serve,
            matrices=Spectrum.matrices,
            workspace=panel_size,
        )
        predictions = []
        for k, fold in enumerate(folds):
            known = clear if k in by_fold else np.zeros_like(clear)
            shape = (len(clear), len(grid.epsilons), self.targets.shape[1], len(fold.test))
            values = np.empty(shape)
            if known.any():
                values[known] = by_fold[k]
            if not known.all():
                rest = replace(grid, alphas=grid.alphas[~known])
                values[~known] = self._alone(features, fold, rest)
            predictions.append(values)
        return predictions

    def _alone(self, features: KernelFeatures, fold: Fold, grid: Grid) -> Array:
        """Decompose the kernel of one training part."""
        part, targets = features.part(fold.train), list(self.targets[fold.train].T)

        def solve(home: Device) -> tuple[Array, Array]:
            system = part.system(
                targets[0],
                fold.columns,
                home=home,
                is_convex=is_positive_semidefinite,
                revisits=False,
            )
            return solve_grid(system, [system.aim(y) for y in targets], fold, grid)

        with one_blas_at_a_time():
            found = with_room_for(
                part.n_rows, part.device, solve, matrices=Spectrum.matrices, workspace=panel_size
            )
        return self._evaluate(fold, *found)

    def _learn(self, fold: Fold, grid: Grid) -> Array:
        """Learn a loss without a closed form: alphas from strong to weak, each from the last."""
        part, there = self.features.part(fold.train), self._classes_of(fold)
        targets = list(self.targets[np.ix_(fold.train, there)].T)
        strongest = replace(self.settings, alpha=float(grid.alphas.max()))
        problem = LearningProblem(
            part, list(self.targets[fold.train].T), fold.constraint, fold.columns, strongest
        )
        learner = problem.learner(many_alphas=True)
        shape = (len(grid.alphas), len(grid.epsilons), len(there))
        coefficients = np.full((*shape, part.n_unknowns), np.nan)
        intercepts = np.full(shape, np.nan)
        for e, epsilon in enumerate(grid.epsilons):
            if epsilon is not None and fold.constraint is None:
                continue
            learner.forget()
            for a in np.argsort(-grid.alphas):
                setting = replace(self.settings, alpha=float(grid.alphas[a]), epsilon=epsilon)
                try:
                    solutions = learner.learn(targets, setting)
                except UnreachableEpsilonError:
                    continue
                self.unconverged += any(one.relative_gap > setting.tol for one in solutions)
                coefficients[a, e, there] = [solution.coefficients for solution in solutions]
                intercepts[a, e, there] = [solution.intercept for solution in solutions]
        return self._evaluate(fold, coefficients, intercepts)

    def _classes_of(self, fold: Fold) -> npt.NDArray[np.bool_]:
        """Return which models a training part can teach: one of several classes may be missing."""
        if self.targets.shape[1] == 1:
            return np.ones(1, dtype=bool)
        return np.asarray((self.targets[fold.train] > 0).any(axis=0))

    def _evaluate(self, fold: Fold, coefficients: Array, intercepts: Array) -> Array:
        """Evaluate models of the training rows at the test rows."""
        flat = coefficients.reshape(-1, coefficients.shape[-1])
        usable = np.isfinite(flat).all(axis=1)
        values = np.full((len(flat), len(fold.test)), np.nan)
        values[usable] = self.features.values_at(fold.test, flat[usable], fold.train)
        return values.reshape(*coefficients.shape[:-1], -1) + intercepts[..., None]
