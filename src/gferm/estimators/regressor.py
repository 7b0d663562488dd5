"""FairRegressor: regression under a fairness constraint, as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.base import RegressorMixin, _fit_context
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from gferm.estimators.base import FairModel
from gferm.estimators.export import as_kernel_ridge, as_ridge
from gferm.estimators.labels import Labels, NumberLabels
from gferm.estimators.streaming import can_stream, learn_chunk


class FairRegressor(RegressorMixin, FairModel):  # type: ignore[misc]
    """Kernel or linear regression with a bound on group differences.

    Minimises ``Σ ℓ(y, f(x)) + alpha ‖w‖²`` over ``f(x) = ⟨w, φ(x)⟩ + b`` subject to: within every
    bin of the label, the mean prediction of any two sensitive groups differs, on average over the
    compared pairs, by at most ``epsilon``. A duality gap proves the optimum; for the square loss
    it is exact.

    Parameters
    ----------
    loss : str or gferm.losses.Loss, default="squared"
        "squared", or robust: "absolute", "huber", "quantile", "epsilon_insensitive". A loss with
        parameters is an object, such as ``gferm.losses.Huber(delta=1.0)`` or ``Quantile(0.9)``.
    kernel : str or callable, default="rbf"
        Any kernel of scikit-learn's KernelRidge, a callable, or "precomputed". "linear" is solved
        in the features and never forms an n×n matrix when there are more rows than features.
    gamma, degree, coef0, kernel_params
        Parameters of the kernel, as in KernelRidge.
    n_landmarks : int, default=None
        Learn a function on this many points instead of all rows (Nyström's method): time and
        memory grow with n·m² and m², not n³ and n². None is the exact model.
    landmarks : {"uniform", "leverage", "kmeans"} or array of points, default="uniform"
        How they are found: rows drawn alike, rows drawn by their ridge leverage, centres of
        clusters; or the points themselves.
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
    solver : {"auto", "cholesky", "spectrum", "refined"}, default="auto"
        The factorisation; `gferm.solver.choose_solver` tells what "auto" means. "refined" is a
        Cholesky factor in float32 with the digits of float64 restored by iterations, which
        ``n_iter_`` counts: faster where float32 is, and an error where alpha is too small for it.
    tol : float, default=1e-6
        The relative duality gap at which iterations stop; one above this is a
        ConvergenceWarning.
    max_iter : int, default=5000
        Most iterations of the losses other than the square, which has a closed form.
    device : {"cpu", "cuda"} or None, default=None
        Where kernels, their factorisation and sums over rows are computed. None is where X is: a
        GPU if it is a torch tensor on one, else the CPU. A kernel matrix that is too large for the
        GPU is factorised from memory, block by block.
    random_state : int, RandomState or None, default=None
        Of the choice of landmarks; nothing else is random.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        Weights of the features; only for kernel="linear".
    dual_coef_, X_fit_ : arrays
        Kernel expansion and training rows, or landmarks; for all other kernels.
    intercept_ : float
    multipliers_ : array of shape (m,)
        Marginal cost of each contrast: minus the slope of the objective in its target.
    cells_ : Cells
        Who was compared with whom, with counts; None when epsilon is None and no
        ``sensitive_features`` were given.
    contrasts_ : Constraint
        The constraint: compared and skipped pairs.
    violation_ : float
        The constraint's left-hand side reached on the training rows, in the units of epsilon, as
        the solver computes it; ``contrasts_.gaps(model.predict(X), y, s)`` looks from outside.
    active_ : bool
        False when the plain model already meets the constraint.
    objective_, duality_gap_ : float
        Value of the objective and relative bound on its distance from the optimum.
    n_iter_ : int
        Iterations; 1 for the closed form.
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

    labels: ClassVar[Labels] = NumberLabels()

    @available_if(can_stream)  # type: ignore[untyped-decorator]
    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> FairRegressor:
        """Learn from one more chunk of the rows; the model is that of all rows so far.

        For loss="squared" with kernel="linear", or with landmarks. Sums are kept, not rows. Bins
        and landmarks that are not given as such (``y_bins`` and ``s_bins`` as edges or Bins,
        ``landmarks`` as points) are settled on the first chunk, and a later value outside of them
        is an error. With them given, the model is that of `fit` on all rows, in whatever chunks
        they come. Until a label bin has rows of two groups there is no model. After `fit`,
        it starts afresh.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sensitive_features : array, Series, data frame or dict of columns
        sample_weight : array of shape (n_samples,), default=None

        Returns
        -------
        self : FairRegressor
        """
        learn_chunk(self, X, y, sensitive_features, sample_weight)
        return self

    def to_sklearn(self) -> Any:
        """Return the same predictor as a plain scikit-learn object, so serving needs no gferm.

        Returns
        -------
        Ridge, KernelRidge or TransformedTargetRegressor
            A linear model is a Ridge. A kernel model is a KernelRidge; where it has an intercept,
            which KernelRidge lacks, a TransformedTargetRegressor adds it to KernelRidge's output.
        """
        check_is_fitted(self)
        return as_ridge(self) if hasattr(self, "coef_") else as_kernel_ridge(self)
