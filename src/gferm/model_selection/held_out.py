"""Held-out predictions of one kernel, every alpha and every epsilon.

The square loss is never refitted (solver/crossval.py). Other losses are learned on each training
part, with one factorisation for all settings and a warm start from the last alpha, strong to weak.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from gferm.arrays import Array
from gferm.arrays.device import CPU, Device
from gferm.arrays.memory import explain_out_of_memory, with_room_for
from gferm.arrays.threads import one_blas_at_a_time
from gferm.estimators.base import FairModel
from gferm.estimators.training import TrainingData
from gferm.exceptions import UnreachableEpsilonError
from gferm.features.kernel import center_kernel
from gferm.features.nystroem import Landmarks
from gferm.losses import LOSSES, as_loss
from gferm.solver.assemble import kernel_system, linear_system
from gferm.solver.choice import choose_solver
from gferm.solver.cholesky import panel_size
from gferm.solver.crossval import Fold, Grid, HeldOutKernel, Rows, solve_grid
from gferm.solver.learn import Learner, first_shift
from gferm.solver.moments import training_moments
from gferm.solver.spectrum import Spectrum
from gferm.solver.system import FactorizedSystem
from gferm.solver.task import Task

NEVER = 1e3  # below all other decisions: a class that was never seen is never predicted


class HeldOut:
    """All rows of a search under one kernel, from which parts are held out.

    Parameters
    ----------
    model : FairModel
        With the parameters of the kernel; its alpha and epsilon do not matter.
    data : TrainingData

    Attributes
    ----------
    unconverged : int
        Models whose duality gap stayed above ``tol``.
    """

    def __init__(self, model: FairModel, data: TrainingData) -> None:
        # On landmarks, a model is linear in their features; they are the same in every fold.
        self.loss = as_loss(model.loss, model._losses)
        self.on_landmarks, self.landmarks = data.landmarks is not None, None
        self.in_features = model.kernel == "linear" or self.on_landmarks
        if data.landmarks is not None and self.loss == LOSSES["squared"]:
            self.landmarks = Landmarks.at(data.landmarks.points, model._kernel())
        elif self.on_landmarks:  # iterations go back to the features
            data = replace(data, X=model._landmark_features(data), landmarks=None)
        n_samples, n_features = data.X.shape
        self.wide = 2 * n_features > n_samples and model.kernel == "linear"
        is_linear = self.in_features and isinstance(data.X, np.ndarray)
        if is_linear and self.wide and model.fit_intercept:
            data = data.centred()
        self.model, self.data, self.unconverged = model, data, 0
        self.targets = np.column_stack(model._targets(data.y))
        self.options: dict[str, Any] = {"fit_intercept": model.fit_intercept}

    def predict(self, folds: Sequence[Fold], grid: Grid) -> list[Array]:
        """Predict the test rows of every fold: (n_alphas, n_epsilons, n_models, n_test) each."""
        with explain_out_of_memory(self.data.device):
            if self.loss != LOSSES["squared"]:
                predictions = [self._learn(fold, grid) for fold in folds]
            elif self.in_features and not self.wide:
                predictions = self._by_moments(folds, grid)
            else:
                predictions = self._by_hat_matrix(folds, grid)
        for fold, values in zip(folds, predictions, strict=True):
            there = self._classes_of(fold)
            lowest = values[..., there, :].min(axis=(-2, -1), keepdims=True)
            values[..., ~there, :] = lowest - NEVER
        return predictions

    def _by_moments(self, folds: Sequence[Fold], grid: Grid) -> list[Array]:
        """Solve in the features, with sums over the rows that are taken once."""
        X = self.data.X.tocsr() if hasattr(self.data.X, "tocsr") else self.data.X
        weight, landmarks, alpha = self.data.weight, self.landmarks, float(grid.alphas.min())
        if landmarks is not None:  # evaluated block by block, and never held
            X, alpha = landmarks.features(X, self.data.device), 0.0
        parts = training_moments(
            X,
            self.targets,
            weight,
            [(fold.train, fold.spread_columns(X.shape[0])) for fold in folds],
            alpha=alpha,
            device=self.data.device,
            **self.options,
        )
        predictions = []
        for fold, (moments, probe) in zip(folds, parts, strict=True):
            if landmarks is not None:
                finish = partial(landmarks.finish, device=self.data.device)
                moments, probe = moments.finished(finish), finish(probe)
            system, targets = moments.system(probe, X, weight, **self.options)
            weights, intercepts = solve_grid(system, targets, fold, grid)
            if landmarks is None:
                predictions.append(_evaluate_linear(X[fold.test], weights, intercepts))
            else:
                coefficients = weights @ landmarks.basis.T
                predictions.append(self._evaluate_kernel(fold, coefficients, intercepts))
        return predictions

    def _by_hat_matrix(self, folds: Sequence[Fold], grid: Grid) -> list[Array]:
        """Decompose the kernel of all rows once; parts that it cannot serve are solved alone."""

        def serve(home: Device) -> tuple[Any, dict[int, Array]]:
            with one_blas_at_a_time():
                whole = HeldOutKernel(  # nothing else may hold the matrix
                    self._kernel_matrix(self.data, home),
                    self.targets,
                    self.data.weight,
                    **self.options,
                )
            clear = grid.alphas >= whole.hat.smallest_alpha
            served = [k for k, fold in enumerate(folds) if clear.any() and whole.serves(fold)]
            known = replace(grid, alphas=grid.alphas[clear])
            found = whole.predict([folds[k] for k in served], known)
            return clear, dict(zip(served, found, strict=True))

        n, device = len(self.targets), self.data.device
        clear, by_fold = with_room_for(
            n, device, serve, matrices=Spectrum.matrices, workspace=panel_size
        )
        predictions = []
        for k, fold in enumerate(folds):
            known = clear if k in by_fold else np.zeros_like(clear)
            shape = (len(clear), len(grid.epsilons), self.targets.shape[1], len(fold.test))
            values = np.empty(shape)
            if known.any():
                values[known] = by_fold[k]
            if not known.all():
                values[~known] = self._alone(fold, replace(grid, alphas=grid.alphas[~known]))
            predictions.append(values)
        return predictions

    def _alone(self, fold: Fold, grid: Grid) -> Array:
        """Decompose the kernel of one training part."""
        part, targets = self._part(fold.train), list(self.targets[fold.train].T)
        options = {"weight": part.weight, **self.options}

        def solve(home: Device) -> tuple[Array, Array]:
            matrix = self._kernel_matrix(part, home)
            system = kernel_system(matrix, targets[0], fold.columns, **options)
            return solve_grid(system, [system.aim(y) for y in targets], fold, grid)

        with one_blas_at_a_time():
            device = self.data.device
            found = with_room_for(
                len(targets[0]), device, solve, matrices=Spectrum.matrices, workspace=panel_size
            )
        return self._evaluate_kernel(fold, *found)

    def _learn(self, fold: Fold, grid: Grid) -> Array:
        """Learn a loss without a closed form: alphas from strong to weak, each from the last."""
        part, there = self._part(fold.train), self._classes_of(fold)
        targets = list(self.targets[np.ix_(fold.train, there)].T)
        shape = (len(grid.alphas), len(grid.epsilons), len(there))
        task = Task(self.loss, 1.0, fold.contrasts, None, self.model.tol, self.model.max_iter)
        learner, is_linear = self._learner(part, fold, task)
        size = part.X.shape[1] if is_linear else part.y.size
        coefficients, intercepts = np.full((*shape, size), np.nan), np.full(shape, np.nan)
        for e, epsilon in enumerate(grid.epsilons):
            if epsilon is not None and fold.contrasts is None:
                continue
            learner.forget()
            for a in np.argsort(-grid.alphas):
                alpha = float(grid.alphas[a])
                try:
                    solutions = learner.learn(targets, replace(task, alpha=alpha, epsilon=epsilon))
                except UnreachableEpsilonError:
                    continue
                self.unconverged += any(one.relative_gap > task.tol for one in solutions)
                coefficients[a, e, there] = [solution.coefficients for solution in solutions]
                intercepts[a, e, there] = [solution.intercept for solution in solutions]
        if is_linear:
            return _evaluate_linear(self.data.X[fold.test], coefficients, intercepts)
        return self._evaluate_kernel(fold, coefficients, intercepts)

    def _learner(self, part: TrainingData, fold: Fold, task: Task) -> tuple[Learner, bool]:
        """Factorise once; say whether the unknowns are weights of features."""
        choice = choose_solver(
            kernel="linear" if self.in_features else self.model.kernel,
            # features of landmarks have no kernel to go to, however few rows there are
            n_samples=max(part.X.shape) if self.on_landmarks else part.X.shape[0],
            n_features=part.X.shape[1],
            alpha=task.alpha,
            loss=self.loss,
            epsilon=1.0,  # libsvm, which is for epsilon=0, has no warm start
        )
        options = {"weight": part.weight, **self.options}
        target = self.targets[fold.train, 0]
        shift = first_shift(task, target, part.weight)
        newton = choice.method == "newton"  # looks at the features in their own basis

        def factorize(home: Device) -> FactorizedSystem:
            if choice.form == "linear":
                system = linear_system(part.X, target, fold.columns, device=part.device, **options)
            else:
                matrix = self._kernel_matrix(part, home)
                system = kernel_system(matrix, target, fold.columns, **options)
            return system.factorize(shift) if newton else system.diagonalize(shift)

        with one_blas_at_a_time():
            if choice.form == "linear":
                factorized = factorize(CPU)
            else:
                n = len(target)
                factorized = with_room_for(
                    n, part.device, factorize, matrices=Spectrum.matrices, workspace=panel_size
                )
        return Learner(factorized, task.contrasts, choice.method), choice.form == "linear"

    def _classes_of(self, fold: Fold) -> npt.NDArray[np.bool_]:
        """Return which models a training part can teach: one of several classes may be missing."""
        if self.targets.shape[1] == 1:
            return np.ones(1, dtype=bool)
        return np.asarray((self.targets[fold.train] > 0).any(axis=0))

    def _part(self, rows: Rows) -> TrainingData:
        X = self.data.X
        X = X[np.ix_(rows, rows)] if self.model.kernel == "precomputed" else X[rows]
        weight = None if self.data.weight is None else self.data.weight[rows]
        return TrainingData(X, X, self.data.y[rows], weight, None, device=self.data.device)

    def _kernel_matrix(self, part: TrainingData, device: Device) -> Any:
        matrix, semidefinite = self.model._training_matrix(part.X, device)
        if not semidefinite:  # then centring must make it so
            centred = device.empty(*matrix.shape)
            centred[...] = matrix
            if self.model.fit_intercept:
                center_kernel(centred, part.weight)
            self.model._require_semidefinite(centred, part.X)
        return matrix

    def _evaluate_kernel(self, fold: Fold, coefficients: Array, intercepts: Array) -> Array:
        """Evaluate kernel expansions over training rows or landmarks at the test rows."""
        X, flat = self.data.X, coefficients.reshape(-1, coefficients.shape[-1])
        usable = np.isfinite(flat).all(axis=1)
        values = np.full((len(flat), len(fold.test)), np.nan)
        if self.model.kernel == "precomputed":
            values[usable] = flat[usable] @ X[np.ix_(fold.test, fold.train)].T
        else:
            rows, points = self.model._rows_for_kernel(X), self.landmarks
            support = rows[fold.train] if points is None else points.points
            values[usable] = self.model._kernel_products(
                rows[fold.test], support, flat[usable], self.data.device
            )
        return values.reshape(*coefficients.shape[:-1], -1) + intercepts[..., None]


def _evaluate_linear(X: Any, coefficients: Array, intercepts: Array) -> Array:
    values = np.asarray(X @ coefficients.reshape(-1, X.shape[1]).T).T
    return values.reshape(*coefficients.shape[:-1], -1) + intercepts[..., None]
