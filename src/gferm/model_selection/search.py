"""What FairRegressorCV and FairClassifierCV share: the way of a search.

grids → settings                      kernels × alphas × epsilons (grid.py)
rows → cells, folds → contrasts       bins are settled once, on all rows (rows.py)
kernel → held-out predictions         one factorisation for all of its settings (held_out.py)
predictions → error and unfairness    (judge.py, measures.py)
table → rule → one setting → one fit  (results.py, rules.py)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from inspect import signature
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from joblib.parallel import get_active_backend
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, InvalidParameterError, StrOptions
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from gferm.arrays import Array
from gferm.arrays.foreign import as_numpy
from gferm.estimators.base import FairModel, SharedParameters, check_parameters
from gferm.estimators.messages import unchanged_on_error
from gferm.fairness.sensitive import missing_error
from gferm.losses import LOSSES, as_loss
from gferm.model_selection.failures import require_an_answer, warn_about_search
from gferm.model_selection.grid import KernelGrid, SearchGrid, read_grid
from gferm.model_selection.judge import Judge, judge_kernel, make_echo
from gferm.model_selection.measures import error_measure, unfairness_measure
from gferm.model_selection.results import tabulate
from gferm.model_selection.rows import SearchRows, read_search_rows
from gferm.model_selection.rules import fairest_within, lowest_error, pareto_set
from gferm.progress import progress

Selection = str | Callable[[Mapping[str, Any]], int]
SQUARED = LOSSES["squared"]


class FairSearch(SharedParameters):
    """Base of FairRegressorCV and FairClassifierCV; see there for the parameters."""

    model: ClassVar[type[FairModel]]
    default_scoring: ClassVar[str]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: constraint
            for name, constraint in SharedParameters._parameter_constraints.items()
            if name != "gamma"
        },
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
        loss: Any = "squared",
        *,
        alphas: Any = None,
        gammas: Any = None,
        epsilons: Any = (0.0,),
        kernel_grid: KernelGrid | None = None,
        cv: Any = None,
        scoring: Any = None,
        unfairness: Any = "auto",
        selection: Selection = "nvp",
        tolerance: float = 0.1,
        n_jobs: int | None = None,
        verbose: int = 0,
        **shared: Any,
    ) -> None:
        super().__init__(loss, **shared)
        self.alphas = alphas
        self.gammas = gammas
        self.epsilons = epsilons
        self.kernel_grid = kernel_grid
        self.cv = cv
        self.scoring = scoring
        self.unfairness = unfairness
        self.selection = selection
        self.tolerance = tolerance
        self.n_jobs = n_jobs
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> Self:
        """Try every setting on held-out rows, choose one, and fit it on all rows.

        Parameters
        ----------
        X, y, sensitive_features
            As in `FairRegressor.fit` and `FairClassifier.fit`.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows, in training and in both measures.
        groups : array of shape (n_samples,), default=None
            For splitters such as GroupKFold.

        Returns
        -------
        self
        """
        grid = read_grid(self.alphas, self.gammas, self.epsilons, self.kernel_grid)
        models = models_of(self, grid)
        require_attributes(self, sensitive_features, grid, "fit(X, y, ")
        given = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
        rows = read_search_rows(models, X, y, **given, groups=as_numpy(groups), cv=self.cv)
        if self.selection == "nvp" and rows.members is None and not callable(self.unfairness):
            raise ValueError(
                "sensitive_features and y leave nobody to compare, so selection='nvp' has nothing "
                "to choose by. Check sensitive_features, s_bins and y_bins, or set "
                "selection='error'."
            )
        cells = None if rows.members is None else rows.members.cells
        name, unfairness = unfairness_measure(self.unfairness, cells)
        echo = make_echo(models[0], rows.of_models[0].rows.y)
        error = error_measure(self.scoring or self.default_scoring, echo)
        judge = Judge(echo, error, unfairness, rows.sensitive)
        figures, unconverged = _judge_all(self, models, rows, grid, judge)
        require_an_answer(grid.params, figures, rows.folds)
        with unchanged_on_error(self):
            self.cv_results_ = tabulate(grid.params, figures, rows.folds, name)
            self.n_splits_, self.unfairness_ = len(rows.folds), name
            choose_setting(self)
            self.best_estimator_ = model_with(self, self.best_params_).fit(X, y, **given)
            for attribute in ("n_features_in_", "feature_names_in_", "classes_", "n_iter_"):
                self.__dict__.pop(attribute, None)
                with suppress(AttributeError):
                    setattr(self, attribute, getattr(self.best_estimator_, attribute))
            warn_about_search(grid.params, figures, rows.folds, unconverged, self.tol)
        return self

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


def require_attributes(
    search: FairSearch, sensitive_features: Any, grid: SearchGrid, call: str
) -> None:
    """Refuse a search for fairness without sensitive attributes; ``call`` is how it was called."""
    epsilons = grid.shared.epsilons
    if sensitive_features is not None:
        return
    if search.selection == "nvp":
        raise missing_error(
            f"{call}sensitive_features=...). To choose by error alone, set selection='error', and "
            "epsilons=[None] to train without a constraint",
            ": selection='nvp' looks for the fairest setting",
        )
    if set(epsilons) != {None}:
        raise missing_error(
            f"{call}sensitive_features=...), or set epsilons=[None] to train without a constraint "
            "on purpose",
            f", but epsilons={list(epsilons)} ask for fairness",
        )


def models_of(search: FairSearch, grid: SearchGrid) -> list[FairModel]:
    """Return one model for each kernel, with checked parameters."""
    constrained = [epsilon for epsilon in grid.shared.epsilons if epsilon is not None]
    epsilon = constrained[0] if constrained else None
    models = [model_with(search, {**kernel, "epsilon": epsilon}) for kernel in grid.kernels]
    for model, kernel in zip(models, grid.kernels, strict=True):
        try:
            check_parameters(model)
        except InvalidParameterError as error:
            raise ValueError(f"kernel_grid has {kernel}, which cannot be: {error}") from error
        if grid.shared.alphas.min() == 0 and as_loss(model.loss, model.labels.losses) != SQUARED:
            raise ValueError(
                f"alphas has 0, which is possible with loss='squared' only, not with "
                f"{model.loss!r}; use positive alphas."
            )
    return models


def model_with(search: FairSearch, params: Mapping[str, Any]) -> FairModel:
    """Return the model of a setting, with the parameters that the search passes on."""
    own = signature(search.model).parameters.keys() & signature(type(search)).parameters.keys()
    return search.model(**{**{name: getattr(search, name) for name in own}, **params})


def choose_setting(search: FairSearch) -> None:
    """Apply the rule to the table, and set what it chooses."""
    results, column = search.cv_results_, f"mean_test_{search.unfairness_}"
    search.rule_ = _rule(search, column)
    index, n_settings = search.rule_(results), len(results["params"])
    is_number = isinstance(index, Integral) and not isinstance(index, bool)
    if not is_number or not 0 <= int(index) < n_settings:
        raise ValueError(
            f"selection={search.selection!r} gave {index!r}; a callable must give the index of "
            f"a setting, from 0 to {n_settings - 1}."
        )
    search.best_index_ = int(index)
    search.best_params_ = results["params"][search.best_index_]
    search.best_error_ = float(results["mean_test_error"][search.best_index_])
    search.best_unfairness_ = float(results[column][search.best_index_])
    search.pareto_ = pareto_set(results["mean_test_error"], results[column])


def _rule(search: FairSearch, column: str) -> Any:
    if callable(search.selection):
        return search.selection
    if search.selection == "error":
        return lowest_error()
    return fairest_within(search.tolerance, unfairness=column)


def _judge_all(
    search: FairSearch,
    models: Sequence[FairModel],
    rows: SearchRows,
    grid: SearchGrid,
    judge: Judge,
) -> tuple[Array, int]:
    """Return the figures, shape (n_folds, 3, n_settings), and the number of unconverged models.

    A kernel is one task where it serves all folds at once; else a fold is.
    """
    at_once = as_loss(search.loss, search.model.labels.losses) == SQUARED
    parts = [rows.folds] if at_once else [[fold] for fold in rows.folds]
    tasks = [
        delayed(judge_kernel)(model, own, folds, grid.shared, judge)
        for model, own in zip(models, rows.of_models, strict=True)
        for folds in parts
    ]
    found, unconverged = [], 0
    n_models = len(grid.params) * len(rows.folds)
    with progress(n_models, "models judged", show=bool(search.verbose)) as advance:
        for figures, late in Parallel(n_jobs=search.n_jobs, **_as_they_come())(tasks):
            found.append(figures)
            unconverged += late
            advance(figures[:, 0].size)
    by_kernel = np.concatenate(found).reshape(len(models), len(rows.folds), 3, -1)
    return np.concatenate(list(by_kernel), axis=-1)[..., grid.order], unconverged


def _as_they_come() -> dict[str, str]:
    """Ask joblib for one result after the other, where its backend can (loky, threads, Dask)."""
    backend, _ = get_active_backend()
    can = getattr(backend, "supports_return_generator", False)
    return {"return_as": "generator"} if can else {}
