"""FairRegressor: regression under a fairness constraint, as a scikit-learn estimator.

`fit` reads as the method: rows → cells → contrasts; rows → system → reduction; projection;
coefficients. Each arrow is a module of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from gferm.arrays import Array
from gferm.bins import Bins, BinsLike
from gferm.blocks import row_blocks
from gferm.cells import Cells, SensitiveBins
from gferm.contrasts import EPSILON_SCALES, MATCHES, Contrasts, no_contrasts
from gferm.estimators.export import as_kernel_ridge, as_ridge
from gferm.estimators.outcome import speak_up, unchanged_on_error
from gferm.estimators.training import (
    TrainingData,
    compare_cells,
    read_sensitive,
    read_training_data,
)
from gferm.exceptions import NothingToCompareError
from gferm.kernels import (
    DENSE_ONLY,
    NONNEGATIVE_ONLY,
    Kernel,
    not_semidefinite_error,
    require_finite,
)
from gferm.solver.assemble import kernel_system, linear_system
from gferm.solver.choice import SOLVERS, SolverChoice, choose_solver, reduce_system
from gferm.solver.factorization import is_positive_semidefinite
from gferm.solver.projection import Solution, project
from gferm.solver.system import Reduction
from gferm.threads import one_blas_at_a_time

PREDICT_BLOCK = 2**22  # doubles of the kernel between new and training rows held at once


class FairRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Kernel or linear ridge regression with a bound on group differences.

    Minimises ``Σ (y − f(x))² + alpha ‖w‖²`` over ``f(x) = ⟨w, φ(x)⟩ + b`` subject to: within every
    bin of the label, the mean prediction of any two sensitive groups differs, on average over the
    compared pairs, by at most ``epsilon``. The optimum is exact; a duality gap proves it.

    Parameters
    ----------
    loss : {"squared"}, default="squared"
        The loss of the risk.
    kernel : str or callable, default="rbf"
        Any kernel of scikit-learn's KernelRidge, a callable, or "precomputed". "linear" is solved
        in the features and never forms an n×n matrix when there are more rows than features.
    gamma, degree, coef0, kernel_params
        Parameters of the kernel, as in KernelRidge.
    alpha : float, default=1.0
        Strength of the regularisation, the paper's λ; as in KernelRidge and Ridge.
    epsilon : float or None, default=0.0
        How much unfairness is allowed; 0 asks for equal means in every cell. None switches the
        constraint off, and only then may ``sensitive_features`` be left out of `fit`.
    epsilon_scale : {"mean", "sum"}, default="mean"
        "mean": epsilon bounds the mean |gap| over compared pairs, in units of y. "sum": the
        paper's sum over label bins and ordered pairs.
    y_bins : int, sequence of edges or Bins, default=10
        Bins of the label. A number means uniform bins over the range of the rows given to `fit`
        (give edges to keep the same bins in every fold of a search); 1 compares whole groups
        (demographic parity).
    s_bins : "auto", "continuous", int, edges, Bins, or dict of these by column, default="auto"
        Groups of the sensitive attribute. "auto": categories for words or at most ten values,
        else five quantile bins. "continuous": no groups; the covariance with the attribute is
        bounded instead.
    intersectional : bool, default=True
        With several sensitive attributes: compare all their combinations (True) or the groups
        of each attribute on its own (False). Continuous attributes are never combined.
    match : {"prediction", "residual"}, default="prediction"
        Which cell means must agree: those of f (paper, section 4) or of f − y (section 3).
    min_cell_size : int, default=1
        Cells with fewer rows, whatever their weight, are not compared; see
        ``contrasts_.skipped``.
    fit_intercept : bool, default=True
        Whether to add an unpenalised intercept.
    solver : {"auto", "cholesky", "spectrum"}, default="auto"
        The factorisation; `gferm.solver.choose_solver` tells what "auto" means.
    tol : float, default=1e-6
        A relative duality gap above this is a ConvergenceWarning.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        Weights of the features; only for kernel="linear".
    dual_coef_, X_fit_ : arrays
        Kernel expansion and training rows; for all other kernels.
    intercept_ : float
    multipliers_ : array of shape (m,)
        Marginal cost of each contrast.
    cells_ : Cells
        Who was compared with whom, with counts; None when epsilon is None and no
        ``sensitive_features`` were given.
    contrasts_ : Contrasts
        The constraint: compared and skipped pairs.
    violation_ : float
        The constraint's left-hand side reached on the training rows, in the units of epsilon, as
        the solver computes it; ``contrasts_.gaps(model.predict(X))`` looks from outside.
    active_ : bool
        False when the plain model already meets the constraint.
    objective_, duality_gap_ : float
        Value of the objective and relative bound on its distance from the optimum.
    solver_ : SolverChoice
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from gferm import FairRegressor
    >>> from gferm.datasets import make_fair_regression
    >>> X, y, s = make_fair_regression(300, random_state=0, return_X_y=True)
    >>> model = FairRegressor(kernel="linear", y_bins=1).fit(X, y, sensitive_features=s)
    >>> means = [model.predict(X)[s == group].mean() for group in (0, 1)]
    >>> bool(abs(means[0] - means[1]) < 1e-9)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [StrOptions({"squared"})],
        "kernel": [StrOptions(set(PAIRWISE_KERNEL_FUNCTIONS) | {"precomputed"}), callable],
        "gamma": [Interval(Real, 0, None, closed="left"), None],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
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
    }

    def __init__(
        self,
        loss: str = "squared",
        *,
        kernel: str | Callable[..., float] = "rbf",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: Mapping[str, Any] | None = None,
        alpha: float = 1.0,
        epsilon: float | None = 0.0,
        epsilon_scale: str = "mean",
        y_bins: BinsLike = 10,
        s_bins: SensitiveBins = "auto",
        intersectional: bool = True,
        match: str = "prediction",
        min_cell_size: int = 1,
        fit_intercept: bool = True,
        solver: str = "auto",
        tol: float = 1e-6,
    ) -> None:
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
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

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(
        self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> FairRegressor:
        """Learn the model.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Training rows, or the kernel matrix for kernel="precomputed".
        y : array of shape (n_samples,)
            Target.
        sensitive_features : array, Series, data frame or dict of columns
            The sensitive attributes, one row per sample; required unless epsilon is None.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the risk and of the cell means.

        Returns
        -------
        self : FairRegressor
        """
        with unchanged_on_error(self):
            data, cells, contrasts = self._read(X, y, sensitive_features, sample_weight)
            reduction, choice = self._reduce(data, contrasts)
            solution = project(reduction, contrasts, self.epsilon)
            self._accept(data, cells, contrasts, choice, solution)
        speak_up(self, solution, reduction)
        return self

    def predict(self, X: Any) -> Array:
        """Predict; the sensitive attributes are not needed.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            For kernel="precomputed", the kernel between these and the training rows.

        Returns
        -------
        array of shape (n_samples,)
        """
        check_is_fitted(self)
        coefficients = self.coef_ if self.kernel == "linear" else self.dual_coef_
        predictions = self._predict_all(
            X, coefficients[None], np.array([self.intercept_]), getattr(self, "X_fit_", None)
        )
        return np.asarray(predictions[0])

    def to_sklearn(self) -> Any:
        """Give the same predictor as a plain scikit-learn object, so serving needs no gferm.

        Returns
        -------
        Ridge, KernelRidge or TransformedTargetRegressor
            A linear model is a Ridge. A kernel model is a KernelRidge; where it has an intercept,
            which KernelRidge lacks, a TransformedTargetRegressor adds it to KernelRidge's output.
        """
        check_is_fitted(self)
        return as_ridge(self) if self.kernel == "linear" else as_kernel_ridge(self)

    def _read(
        self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any
    ) -> tuple[TrainingData, Cells | None, Contrasts | None]:
        # Kernel values need float64 rows; a linear pass converts block by block instead.
        as_given = self.kernel in ("linear", "precomputed")
        dtype = (np.float64, np.float32) if as_given else np.float64
        plain = self.epsilon is None and sensitive_features is None
        data = read_training_data(
            self,
            X,
            y,
            sample_weight,
            dtype=dtype,
            accept_sparse=self._accept_sparse,
            ensure_min_samples=1 if plain else 2,
        )
        if self.kernel in NONNEGATIVE_ONLY:
            check_non_negative(data.X, f"X: kernel={self.kernel!r} takes counts, use another one")
        if plain:
            return data, None, None
        columns = read_sensitive(sensitive_features, data, like=(X, y))
        try:
            return data, *compare_cells(self, data.y, columns, data.weight)
        except NothingToCompareError:
            if self.epsilon is None:  # nothing was to be constrained
                return data, None, None
            raise

    def _reduce(
        self, data: TrainingData, contrasts: Contrasts | None
    ) -> tuple[Reduction, SolverChoice]:
        """Do the one factorisation."""
        n_samples, n_features = data.X.shape
        choice = choose_solver(
            kernel=self.kernel,
            n_samples=n_samples,
            n_features=n_features,
            alpha=self.alpha,
            solver=self.solver,
        )
        columns = no_contrasts(n_samples) if contrasts is None else contrasts.columns
        options: dict[str, Any] = {"weight": data.weight, "fit_intercept": self.fit_intercept}
        kernel, strict = self._kernel(), self.solver == "cholesky"
        if choice.form == "linear":
            system = linear_system(data.X, data.y, columns, **options)
            require_finite(system.matrix, kernel)
            return reduce_system(system, self.alpha, choice, strict=strict)
        X = data.X if self.kernel == "precomputed" else data.X.astype(np.float64, copy=False)
        with one_blas_at_a_time():
            matrix, precision = kernel.training_matrix(X), kernel.precision(X)
            require_finite(matrix, kernel)
            # Centring keeps a matrix semi-definite and may make it so (additive_chi2).
            semidefinite = kernel.is_semidefinite or is_positive_semidefinite(matrix, precision)
            system = kernel_system(matrix, data.y, columns, **options)
            if not semidefinite and not is_positive_semidefinite(system.matrix, precision):
                raise not_semidefinite_error(kernel, self.fit_intercept)
            return reduce_system(system, self.alpha, choice, strict=strict)

    def _accept(
        self,
        data: TrainingData,
        cells: Cells | None,
        contrasts: Contrasts | None,
        choice: SolverChoice,
        solution: Solution,
    ) -> None:
        """Set every fitted attribute; nothing before this does."""
        coefficients = self._from_solver(data, choice, solution.coefficients)
        for name in ("coef_", "dual_coef_", "X_fit_"):  # of an earlier fit with another kernel
            self.__dict__.pop(name, None)
        if self.kernel == "linear":
            self.coef_ = coefficients
        else:
            self.dual_coef_, self.X_fit_ = coefficients, data.X_all
        self.intercept_ = solution.intercept
        self.multipliers_ = solution.multipliers
        self.cells_ = cells
        self.contrasts_ = contrasts
        self.violation_ = solution.violation
        self.active_ = solution.active
        self.objective_ = solution.objective
        # An interpolating model has the objective zero up to rounding: relative to that, any gap
        # would look large.
        rounding = np.finfo(float).eps * data.sum_of_squares + np.finfo(float).tiny
        self.duality_gap_ = solution.duality_gap / max(solution.objective, float(rounding))
        self.solver_ = choice

    def _from_solver(self, data: TrainingData, choice: SolverChoice, coefficients: Array) -> Array:
        """Turn the solver's unknowns (one row a model) into weights or dual coefficients."""
        if choice.form == "linear":
            return coefficients
        if self.kernel == "linear":
            return np.asarray(coefficients @ data.X)
        return data.expand(coefficients)

    def _predict_all(self, X: Any, coefficients: Array, intercepts: Array, X_fit: Any) -> Array:
        """Predict with several models, one a row, evaluating the kernel once."""
        X = validate_data(self, X, accept_sparse=self._accept_sparse, reset=False)
        if self.kernel == "linear":
            return np.asarray(X @ coefficients.T).T + intercepts[:, None]
        kernel, n_fit = self._kernel(), coefficients.shape[1]
        predictions = np.empty((len(coefficients), X.shape[0]))
        blocks = row_blocks(X.shape[0], n_fit, PREDICT_BLOCK)
        values = np.empty((blocks[0].stop, n_fit))
        for rows in blocks:
            block = values[: rows.stop - rows.start]
            kernel.fill(block, X[rows], X_fit)
            predictions[:, rows] = coefficients @ block.T
        return predictions + intercepts[:, None]

    @property
    def _accept_sparse(self) -> tuple[str, ...] | bool:
        return False if self.kernel in DENSE_ONLY else ("csr", "csc")

    def _kernel(self) -> Kernel:
        return Kernel(self.kernel, self.gamma, self.degree, self.coef0, self.kernel_params)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "intercept_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = bool(self._accept_sparse)
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.positive_only = self.kernel in NONNEGATIVE_ONLY
        return tags
