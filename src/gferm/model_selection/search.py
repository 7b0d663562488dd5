"""What FairRegressorCV and FairClassifierCV share: the way of a search.

grids → settings                      kernels × alphas × epsilons (grid.py)
rows → cells, folds → contrasts       bins are settled once, on all rows (rows.py, folds.py)
kernel → held-out predictions         one factorisation for all of its settings (held_out.py)
predictions → error and unfairness    (judge.py, measures.py)
table → rule → one setting → one fit  (results.py, rules.py)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from joblib.parallel import get_active_backend
from sklearn.utils._param_validation import Interval, InvalidParameterError, StrOptions
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from gferm.arrays import Array
from gferm.arrays.foreign import as_numpy
from gferm.estimators.base import FairModel
from gferm.estimators.kernel_machine import KernelMachine
from gferm.estimators.outcome import unchanged_on_error
from gferm.fairness.cells import SensitiveBins
from gferm.losses import LOSSES, Loss, as_loss
from gferm.model_selection.failures import require_an_answer, speak_up
from gferm.model_selection.grid import KernelGrid, SearchGrid, read_grid
from gferm.model_selection.judge import Judge, judge_kernel
from gferm.model_selection.measures import error_measure, unfairness_measure
from gferm.model_selection.results import tabulate
from gferm.model_selection.rows import SearchRows, read_rows
from gferm.model_selection.rules import fairest_within, lowest_error, pareto_set
from gferm.progress import progress

Selection = str | Callable[[Mapping[str, Any]], int]

PASSED_ON = (
    *("loss", "kernel", "degree", "coef0", "kernel_params", "n_landmarks", "landmarks"),
    *("fit_intercept", "tol", "max_iter", "device", "random_state"),
    *("epsilon_scale", "y_bins", "s_bins", "intersectional", "match", "min_cell_size"),
)


class FairSearch(KernelMachine, ABC):
    """Base of FairRegressorCV and FairClassifierCV; see there for the parameters."""

    _model: ClassVar[type[FairModel]]
    _default_scoring: ClassVar[str]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "cv": ["cv_object"],
        "scoring": [str, callable, None],
        "unfairness": [str, callable],
        "selection": [StrOptions({"nvp", "error"}), callable],
        "tolerance": [Interval(Real, 0, 1, closed="left")],
        "n_jobs": [Integral, None],
        "verbose": [Interval(Integral, 0, None, closed="left"), "boolean"],
    }

    def __init__(
        self,
        loss: str | Loss,
        *,
        alphas: Any,
        gammas: Any,
        epsilons: Any,
        kernel: str | Callable[..., float],
        kernel_grid: KernelGrid | None,
        degree: float,
        coef0: float,
        kernel_params: Mapping[str, Any] | None,
        n_landmarks: int | None,
        landmarks: Any,
        epsilon_scale: str,
        y_bins: Any,
        s_bins: SensitiveBins,
        intersectional: bool,
        match: str,
        min_cell_size: int,
        fit_intercept: bool,
        tol: float,
        max_iter: int,
        cv: Any,
        scoring: Any,
        unfairness: Any,
        selection: Selection,
        tolerance: float,
        device: str | None,
        random_state: Any,
        n_jobs: int | None,
        verbose: int,
    ) -> None:
        self.loss = loss
        self.alphas = alphas
        self.gammas = gammas
        self.epsilons = epsilons
        self.kernel = kernel
        self.kernel_grid = kernel_grid
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.epsilon_scale = epsilon_scale
        self.y_bins = y_bins
        self.s_bins = s_bins
        self.intersectional = intersectional
        self.match = match
        self.min_cell_size = min_cell_size
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.cv = cv
        self.scoring = scoring
        self.unfairness = unfairness
        self.selection = selection
        self.tolerance = tolerance
        self.device = device
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @abstractmethod
    def _make_echo(self, rows: SearchRows) -> FairModel:
        """Return a model that predicts what it is given, for scorers."""

    def predict(self, X: Any) -> Any:
        """Predict with the chosen model; the sensitive attributes are not needed.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            For kernel="precomputed", the kernel between these and the training rows.

        Returns
        -------
        array of shape (n_samples,)
        """
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    def set_params(self, **params: Any) -> Self:
        """Set parameters; where to compute is one of the chosen model, too, which predicts."""
        super().set_params(**params)
        if "device" in params and hasattr(self, "best_estimator_"):
            self.best_estimator_.set_params(device=self.device)
        return self

    def to_sklearn(self) -> Any:
        """Return the chosen predictor as a plain scikit-learn object, so serving needs no gferm."""
        check_is_fitted(self)
        return self.best_estimator_.to_sklearn()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    def _fit(
        self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, groups: Any
    ) -> Self:
        grid = read_grid(self.alphas, self.gammas, self.epsilons, self.kernel_grid)
        models = self._models(grid)
        if self.selection == "nvp" and sensitive_features is None:
            raise ValueError(
                "sensitive_features is missing: selection='nvp' looks for the fairest setting; "
                "pass fit(X, y, sensitive_features=...). To choose by error alone, set "
                "selection='error', and epsilons=[None] to train without a constraint."
            )
        if sensitive_features is None and set(grid.shared.epsilons) != {None}:
            raise ValueError(
                f"sensitive_features is missing, but epsilons={list(grid.shared.epsilons)} ask for "
                "fairness: pass fit(X, y, sensitive_features=...), or set epsilons=[None] to train "
                "without a constraint on purpose."
            )
        given = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
        rows = read_rows(models, X, y, **given, groups=as_numpy(groups), cv=self.cv)
        if self.selection == "nvp" and rows.cells is None and not callable(self.unfairness):
            raise ValueError(
                "sensitive_features and y leave nobody to compare, so selection='nvp' has nothing "
                "to choose by. Check sensitive_features, s_bins and y_bins, or set "
                "selection='error'."
            )
        name, unfairness = unfairness_measure(self.unfairness, rows.cells)
        echo = self._make_echo(rows)
        error = error_measure(self.scoring or self._default_scoring, echo)
        judge = Judge(echo, error, unfairness, rows.sensitive)
        figures, unconverged = self._judge_all(models, rows, grid, judge)
        require_an_answer(grid.params, figures, rows.folds)
        with unchanged_on_error(self):
            self.cv_results_ = tabulate(grid.params, figures, rows.folds, name)
            self.n_splits_, self.unfairness_ = len(rows.folds), name
            self._choose()
            self.best_estimator_ = self._template(self.best_params_).fit(X, y, **given)
            for attribute in ("n_features_in_", "feature_names_in_", "classes_", "n_iter_"):
                self.__dict__.pop(attribute, None)
                with suppress(AttributeError):
                    setattr(self, attribute, getattr(self.best_estimator_, attribute))
        speak_up(grid.params, figures, rows.folds, unconverged, self.tol)
        return self

    def _models(self, grid: SearchGrid) -> list[FairModel]:
        """Return one model for each kernel, and check its parameters."""
        constrained = [epsilon for epsilon in grid.shared.epsilons if epsilon is not None]
        epsilon = constrained[0] if constrained else None
        models = [self._template({**kernel, "epsilon": epsilon}) for kernel in grid.kernels]
        for model, kernel in zip(models, grid.kernels, strict=True):
            try:
                model._validate_params()
            except InvalidParameterError as error:
                raise ValueError(f"kernel_grid has {kernel}, which cannot be: {error}") from error
            if grid.shared.alphas.min() == 0 and as_loss(model.loss, model._losses) != SQUARED:
                raise ValueError(
                    f"alphas has 0, which is possible with loss='squared' only, not with "
                    f"{model.loss!r}; use positive alphas."
                )
        return models

    def _template(self, params: Mapping[str, Any]) -> FairModel:
        own = {name: getattr(self, name) for name in PASSED_ON}
        return self._model(**{**own, **params})

    def _judge_all(
        self, models: Sequence[FairModel], rows: SearchRows, grid: SearchGrid, judge: Judge
    ) -> tuple[Array, int]:
        """Return the figures, shape (n_folds, 3, n_settings), and the number of unconverged models.

        A kernel is one task where it serves all folds at once; else a fold is.
        """
        at_once = as_loss(self.loss, self._model._losses) == SQUARED
        parts = [rows.folds] if at_once else [[fold] for fold in rows.folds]
        tasks = [
            delayed(judge_kernel)(model, data, folds, grid.shared, judge)
            for model, data in zip(models, rows.data, strict=True)
            for folds in parts
        ]
        found, unconverged = [], 0
        n_models = len(grid.params) * len(rows.folds)
        with progress(n_models, "models judged", show=bool(self.verbose)) as advance:
            for figures, late in Parallel(n_jobs=self.n_jobs, **_as_they_come())(tasks):
                found.append(figures)
                unconverged += late
                advance(figures[:, 0].size)
        by_kernel = np.concatenate(found).reshape(len(models), len(rows.folds), 3, -1)
        return np.concatenate(list(by_kernel), axis=-1)[..., grid.order], unconverged

    def _choose(self) -> None:
        """Apply the rule to the table."""
        results, column = self.cv_results_, f"mean_test_{self.unfairness_}"
        self.rule_ = self._rule(column)
        index, n_settings = self.rule_(results), len(results["params"])
        is_number = isinstance(index, Integral) and not isinstance(index, bool)
        if not is_number or not 0 <= int(index) < n_settings:
            raise ValueError(
                f"selection={self.selection!r} gave {index!r}; a callable must give the index of "
                f"a setting, from 0 to {n_settings - 1}."
            )
        self.best_index_ = int(index)
        self.best_params_ = results["params"][self.best_index_]
        self.best_error_ = float(results["mean_test_error"][self.best_index_])
        self.best_unfairness_ = float(results[column][self.best_index_])
        self.pareto_ = pareto_set(results["mean_test_error"], results[column])

    def _rule(self, column: str) -> Any:
        if callable(self.selection):
            return self.selection
        if self.selection == "error":
            return lowest_error()
        return fairest_within(self.tolerance, unfairness=column)


SQUARED = LOSSES["squared"]


def _as_they_come() -> dict[str, str]:
    """Ask joblib for one result after the other, where its backend can (loky, threads, Dask)."""
    backend, _ = get_active_backend()
    can = getattr(backend, "supports_return_generator", False)
    return {"return_as": "generator"} if can else {}
