"""What every fair estimator shares: its parameters, and the way of a fit.

    rows → cells → contrasts        who is compared with whom
    rows → system → factorisation   the only cubic work
    targets → solutions             by the solver that choice.py names
    solutions → fitted attributes

Each arrow is a module of its own. Estimators differ in their labels (`_targets`, `_label_bins`) and
in the shape of what they learn (`_shape`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import validate_data

from gferm.arrays import Array
from gferm.arrays.blocks import halve_until_it_fits, row_blocks
from gferm.arrays.device import CPU, DEVICES, Device
from gferm.arrays.foreign import as_numpy, device_for
from gferm.arrays.memory import explain_out_of_memory, with_room_for
from gferm.arrays.threads import one_blas_at_a_time
from gferm.estimators.kernel_machine import KernelMachine
from gferm.estimators.outcome import speak_up, unchanged_on_error
from gferm.estimators.training import (
    TrainingData,
    compare_cells,
    read_sensitive,
    read_training_data,
)
from gferm.exceptions import NothingToCompareError
from gferm.fairness.bins import Bins
from gferm.fairness.cells import Cells, SensitiveBins
from gferm.fairness.constraint import EPSILON_SCALES, MATCHES, Contrasts, no_contrasts
from gferm.features.kernel import (
    require_finite,
)
from gferm.features.landmarks import WAYS, find_landmarks, require_own_columns
from gferm.features.nystroem import Landmarks
from gferm.losses import Loss, as_loss
from gferm.solver.assemble import kernel_system, linear_system
from gferm.solver.choice import (
    FACTORIZATIONS,
    SOLVERS,
    SolverChoice,
    choose_solver,
    factorize_system,
)
from gferm.solver.cholesky import panel_size
from gferm.solver.learn import first_shift, learn
from gferm.solver.projection import Solution
from gferm.solver.support_vectors import solve_by_libsvm
from gferm.solver.system import FactorizedSystem
from gferm.solver.task import Task


class FairModel(KernelMachine, ABC):
    """Base of FairRegressor and FairClassifier; see there for the parameters."""

    _losses: ClassVar[tuple[str, ...]]
    _label_checks: ClassVar[dict[str, Any]]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [str, Loss],  # as_loss says it better than a type check
        **KernelMachine._kernel_constraints,
        "n_landmarks": [Interval(Integral, 1, None, closed="left"), None],
        "landmarks": [StrOptions(set(WAYS)), "array-like", "sparse matrix"],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "epsilon": [Interval(Real, 0, None, closed="left"), None],
        "epsilon_scale": [StrOptions(set(EPSILON_SCALES))],
        "y_bins": [Interval(Integral, 1, None, closed="left"), "array-like", Bins],
        "s_bins": [str, Interval(Integral, 1, None, closed="left"), "array-like", Bins, dict],
        "intersectional": ["boolean"],
        "match": [StrOptions(set(MATCHES))],
        "min_cell_size": [Interval(Integral, 1, None, closed="left")],
        "fit_intercept": ["boolean"],
        "solver": [StrOptions(set(SOLVERS))],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "device": [StrOptions(set(DEVICES)), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        loss: str | Loss,
        *,
        kernel: str | Callable[..., float],
        gamma: float | None,
        degree: float,
        coef0: float,
        kernel_params: Mapping[str, Any] | None,
        n_landmarks: int | None,
        landmarks: Any,
        alpha: float,
        epsilon: float | None,
        epsilon_scale: str,
        y_bins: Any,
        s_bins: SensitiveBins,
        intersectional: bool,
        match: str,
        min_cell_size: int,
        fit_intercept: bool,
        solver: str,
        tol: float,
        max_iter: int,
        device: str | None,
        random_state: Any,
    ) -> None:
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.alpha = alpha
        self.epsilon = epsilon
        self.epsilon_scale = epsilon_scale
        self.y_bins = y_bins
        self.s_bins = s_bins
        self.intersectional = intersectional
        self.match = match
        self.min_cell_size = min_cell_size
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.device = device
        self.random_state = random_state

    @abstractmethod
    def _check_labels(self, y: Any) -> Any:
        """Refuse labels of the wrong kind; give them as the cells take them."""

    @abstractmethod
    def _targets(self, y: Any) -> list[Array]:
        """Return what is learned: one array of numbers or signs for each model."""

    @abstractmethod
    def _label_bins(self, y: Any) -> Any:
        """Return the bins of the label."""

    @abstractmethod
    def _answers(self, values: Array) -> npt.NDArray[Any]:
        """Turn the values of the models, (..., n_models, n_samples), into what `predict` gives."""

    @abstractmethod
    def _shape(self, values: Any) -> Any:
        """Turn one value for each model into a fitted attribute."""

    def _fit(self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> Self:
        with unchanged_on_error(self):
            self.__dict__.pop("stream_", None)
            data, cells, contrasts = self._read(X, y, sensitive_features, sample_weight)
            solutions, choice = self._solve(data, contrasts)
            self._accept(data, cells, contrasts, choice, solutions)
        speak_up(self, solutions)
        return self

    def _read(
        self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any
    ) -> tuple[TrainingData, Cells | None, Contrasts | None]:
        plain = self.epsilon is None and sensitive_features is None
        data = self._read_rows(X, y, sample_weight, ensure_min_samples=1 if plain else 2)
        data = replace(data, landmarks=self._find_landmarks(data.X))
        wide = self.kernel == "linear" and data.X.shape[1] > data.X.shape[0]
        if wide and self.fit_intercept and isinstance(data.X, np.ndarray):
            data = data.centred()
        if plain:
            return data, None, None
        columns = read_sensitive(sensitive_features, data, like=(X, y))
        try:
            bins, target = self._label_bins(data.y), self._targets(data.y)[0]
            return data, *compare_cells(self, data.y, columns, data.weight, bins, target)
        except NothingToCompareError:
            if self.epsilon is None:  # nothing was to be constrained
                return data, None, None
            raise

    def _read_rows(self, X: Any, y: Any, sample_weight: Any, **checks: Any) -> TrainingData:
        # Kernel values need float64 rows; a linear pass converts block by block instead.
        as_given, device = self.kernel in ("linear", "precomputed"), device_for(self.device, X)
        data = read_training_data(
            self,
            as_numpy(X),
            as_numpy(y),
            as_numpy(sample_weight),
            dtype=(np.float64, np.float32) if as_given else np.float64,
            accept_sparse=self._accept_sparse,
            **self._label_checks,
            **checks,
        )
        data = replace(data, y=self._check_labels(data.y), device=device)
        self._require_suitable(data.X)
        return data

    def _find_landmarks(self, X: Any) -> Landmarks | None:
        """Return the landmarks, or None for a model on all rows."""
        if self.n_landmarks is None and isinstance(self.landmarks, str):
            if self.landmarks != "uniform":
                raise ValueError(
                    f"landmarks={self.landmarks!r} says how to find landmarks but not how many; "
                    "set n_landmarks, such as n_landmarks=1000."
                )
            return None
        if self.kernel in ("linear", "precomputed"):
            raise ValueError(
                f"Landmarks approximate a kernel, and kernel={self.kernel!r} cannot have any; use "
                "another one, such as kernel='rbf', or no landmarks."
            )
        require_own_columns(self.landmarks, getattr(self, "feature_names_in_", None))
        kernel = self._kernel()
        given = as_numpy(self.landmarks)
        points = find_landmarks(X, self.n_landmarks, given, kernel, self.random_state, self.alpha)
        return Landmarks.at(points, kernel)

    def _target_table(self, y: Any) -> Array:
        """Return the targets as columns."""
        return np.column_stack(self._targets(y))

    def _landmark_features(self, data: TrainingData) -> Array:
        """Return the features φ(x) of all rows, (n, r), in blocks."""
        assert data.landmarks is not None
        # a search finds the points once, for several kernels
        landmarks = Landmarks.at(data.landmarks.points, self._kernel())
        device, rows = data.device, landmarks.features(data.X, data.device)
        features = np.empty(rows.shape)

        def fill(doubles: int) -> None:
            for part in row_blocks(*rows.shape, doubles):
                features[part] = landmarks.finish(device.get(rows[part]).T).T

        halve_until_it_fits(fill, device.at_once(2**22), rows.shape, device)
        return features

    def _choose(self, data: TrainingData) -> SolverChoice:
        return self._choose_for(data.X.shape, data.landmarks, data.device)

    def _choose_for(
        self, shape: tuple[int, int], landmarks: Landmarks | None, device: Device = CPU
    ) -> SolverChoice:
        n_samples, n_features = shape
        return choose_solver(
            kernel=self.kernel,
            n_samples=n_samples,
            n_features=n_features,
            n_landmarks=None if landmarks is None else landmarks.points.shape[0],
            alpha=self.alpha,
            solver=self.solver,
            loss=as_loss(self.loss, self._losses),
            epsilon=self.epsilon,
            match=self.match,
            fit_intercept=self.fit_intercept,
            device=device.kind,
        )

    def _solve(
        self, data: TrainingData, contrasts: Contrasts | None
    ) -> tuple[list[Solution], SolverChoice]:
        choice, targets = self._choose(data), self._targets(data.y)
        task = Task(
            loss=as_loss(self.loss, self._losses),
            alpha=self.alpha,
            contrasts=contrasts,
            epsilon=self.epsilon,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        # The features are multiplied by NumPy, kernel matrices by SciPy.
        blas = one_blas_at_a_time() if choice.form == "kernel" else nullcontext()
        with blas, explain_out_of_memory(data.device):
            if choice.method == "libsvm":
                matrix, means = self._svm_matrix(data.X, data.weight)
                X = self._rows_for_kernel(data.X)
                multiply = partial(self._kernel_products, X, X, device=CPU)
                return solve_by_libsvm(matrix, means, multiply, targets, task, data.weight), choice
            shift = first_shift(task, targets[0], data.weight)
            factorized, choice = self._factorize(data, targets[0], contrasts, choice, shift)
            return learn(factorized, targets, task, choice.method), choice

    def _factorize(
        self,
        data: TrainingData,
        target: Array,
        contrasts: Contrasts | None,
        choice: SolverChoice,
        shift: float,
    ) -> tuple[FactorizedSystem, SolverChoice]:
        """Do the one factorisation."""
        columns = no_contrasts(target.size) if contrasts is None else contrasts.columns
        options: dict[str, Any] = {"weight": data.weight, "fit_intercept": self.fit_intercept}
        finally_: dict[str, Any] = {"alpha": self.alpha, "strict": self.solver == "cholesky"}
        device, landmarks = data.device, data.landmarks
        if choice.form == "linear":
            system = linear_system(data.X, target, columns, device=device, **options)
            require_finite(system.matrix, self._kernel())
            return factorize_system(system, shift, choice, **finally_)
        if landmarks is not None:
            options |= {"finish": partial(landmarks.finish, device=device), "device": device}
            system = linear_system(landmarks.features(data.X, device), target, columns, **options)
            require_finite(system.matrix, self._kernel())
            values = landmarks.values(data.X, device)
            if choice.method != "projection":  # iterations go back to the rows
                values = values.remembered()
            system = system.read_by(values, landmarks.basis)
            return factorize_system(system, shift, choice, **finally_)

        def by_kernel(home: Device) -> tuple[FactorizedSystem, SolverChoice]:
            """Solve in the rows, with the matrix at home on the device or in memory."""
            matrix, semidefinite = self._training_matrix(data.X, home)
            system = kernel_system(matrix, target, columns, device=device, **options)
            if not semidefinite:
                self._require_semidefinite(system.matrix, data.X)
            return factorize_system(system, shift, choice, **finally_)

        with one_blas_at_a_time():
            needed = FACTORIZATIONS[str(choice.factorization)].matrices
            return with_room_for(
                len(target), device, by_kernel, matrices=needed, workspace=panel_size
            )

    def _accept(
        self,
        data: TrainingData,
        cells: Cells | None,
        contrasts: Contrasts | None,
        choice: SolverChoice,
        solutions: Sequence[Solution],
    ) -> None:
        """Set every fitted attribute; nothing before this does."""
        coefficients, intercepts = self._from_solver(
            data,
            choice,
            np.array([solution.coefficients for solution in solutions]),
            np.array([solution.intercept for solution in solutions]),
        )
        for name in ("coef_", "dual_coef_", "X_fit_"):  # of an earlier fit with another kernel
            self.__dict__.pop(name, None)
        if self.kernel == "linear":
            self.coef_ = self._shape(coefficients)
        else:
            self.dual_coef_, self.X_fit_ = self._shape(coefficients), data.support
        self.intercept_ = self._shape(intercepts)
        self.multipliers_ = self._shape(np.array([s.multipliers for s in solutions]))
        self.cells_ = cells
        self.contrasts_ = contrasts
        self.violation_ = max(solution.violation for solution in solutions)
        self.active_ = any(solution.active for solution in solutions)
        self.objective_ = sum(solution.objective for solution in solutions)
        self.duality_gap_ = max(solution.relative_gap for solution in solutions)
        self.n_iter_ = max(solution.n_iter for solution in solutions)
        self.solver_ = choice

    def _from_solver(
        self, data: TrainingData, choice: SolverChoice, unknowns: Array, intercepts: Array
    ) -> tuple[Array, Array]:
        """Turn the solver's unknowns (one row a model) into weights or dual coefficients."""
        if choice.form != "kernel":
            return unknowns, intercepts
        if self.kernel == "linear":
            weights = np.asarray(unknowns @ data.X)
            return weights, intercepts - (weights * data.center).sum(axis=1)
        return data.expand(unknowns), intercepts

    def _predict_models(self, X: Any) -> Array:
        """Return the value of each model at each row, shape (n_models, n_samples)."""
        coefficients = self.coef_ if self.kernel == "linear" else self.dual_coef_
        return self._predict_all(
            X,
            np.atleast_2d(coefficients),
            np.atleast_1d(self.intercept_),
            getattr(self, "X_fit_", None),
        )

    def _predict_all(self, X: Any, coefficients: Array, intercepts: Array, X_fit: Any) -> Array:
        """Predict with several models, one a row, evaluating the kernel once."""
        rows = validate_data(self, as_numpy(X), accept_sparse=self._accept_sparse, reset=False)
        if self.kernel == "linear":  # whatever the device, and so without it
            return np.asarray(rows @ coefficients.T).T + intercepts[:, None]
        device = device_for(self.device, X)
        with explain_out_of_memory(device):
            return self._kernel_products(rows, X_fit, coefficients, device) + intercepts[:, None]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "intercept_")
