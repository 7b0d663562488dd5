"""FairKernelProjection: fairness as a change of kernel.

After it, any kernel machine is fair on the training cells (epsilon = 0): the functions that tell
the cells apart are gone, and no machine can put them back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, _fit_context
from sklearn.utils.validation import check_is_fitted, validate_data

from gferm.arrays import Array
from gferm.arrays.device import CPU, row_blocks
from gferm.arrays.foreign import as_numpy, back_to
from gferm.arrays.threads import one_blas_at_a_time
from gferm.estimators.base import KernelMachine
from gferm.estimators.messages import unchanged_on_error
from gferm.estimators.projection import FairTransformer
from gferm.fairness.bins import BinsLike
from gferm.fairness.cells import SensitiveBins
from gferm.features.expansion import KernelFeatures
from gferm.features.fair_kernel import FairKernel
from gferm.features.kernel import Kernel, not_semidefinite_error
from gferm.solver.cholesky import is_positive_semidefinite

NOTHING = 1e-12  # share of κ(x, x) below which nothing is left of a kernel


class FairKernelProjection(ClassNamePrefixFeaturesOutMixin, KernelMachine, FairTransformer):  # type: ignore[misc]
    """Turn rows into a fair kernel matrix, for machines with kernel="precomputed".

    The fair kernel is the kernel without the functions that distinguish the compared cells,
    ``κ_fair(z, z') = κ(z, z') − a(z)ᵀ (CᵀKC)⁺ a(z')`` with ``a(z) = Cᵀk(z)``. Any kernel machine on
    it, with or without an intercept, has equal mean predictions in all compared cells of the
    training rows.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        Any kernel of scikit-learn's KernelRidge, a callable, or "precomputed".
    gamma, degree, coef0, kernel_params
        Parameters of the kernel, as in KernelRidge.
    y_bins, s_bins, intersectional, min_cell_size
        Who is compared with whom, as in `FairProjection`.

    Attributes
    ----------
    fair_kernel_ : FairKernel
        The projection; ``to_original`` turns coefficients on the fair kernel into coefficients on
        the original one.
    X_fit_ : array or sparse matrix
        The training rows, or their kernel matrix for kernel="precomputed".
    cells_ : Cells
        Who was compared with whom, with counts.
    contrasts_ : Constraint
        Compared and skipped pairs.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Scale X first: where kernel values differ by many orders of magnitude, as with a polynomial of
    unscaled columns, projecting costs the digits that fairness lives on.

    Use `fit_transform`, or a Pipeline, for the training matrix: it evaluates the kernel once, and
    the matrix is exactly symmetric.

    A GaussianProcessRegressor takes the matrix with ``kernel=PairwiseKernel(metric="precomputed")
    + WhiteKernel(noise)`` and ``optimizer=None``. (Without the sum, scikit-learn adds its ``alpha``
    to that kernel twice.) It cannot know κ_fair(z, z), so the variance of new rows is
    ``projection.diagonal(X_new) - (solve_triangular(gp.L_, K_new.T, lower=True) ** 2).sum(axis=0)``
    rather than ``return_std``.

    Examples
    --------
    >>> from gferm import FairKernelProjection
    >>> from gferm.datasets import make_fair_regression
    >>> from sklearn.svm import SVR
    >>> X, y, s = make_fair_regression(300, random_state=0, return_X_y=True)
    >>> projection = FairKernelProjection(y_bins=1)
    >>> K_fair = projection.fit_transform(X, y, sensitive_features=s)
    >>> f = SVR(kernel="precomputed").fit(K_fair, y).predict(projection.transform(X))
    >>> bool(abs(f[s == 0].mean() - f[s == 1].mean()) < 1e-9)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelMachine._kernel_constraints,
        **FairTransformer._parameter_constraints,
    }

    def __init__(
        self,
        kernel: str | Callable[..., float] = "rbf",
        *,
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: Mapping[str, Any] | None = None,
        y_bins: BinsLike = "auto",
        s_bins: SensitiveBins = "auto",
        intersectional: bool = True,
        min_cell_size: int = 1,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.y_bins = y_bins
        self.s_bins = s_bins
        self.intersectional = intersectional
        self.min_cell_size = min_cell_size

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(
        self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> FairKernelProjection:
        """Find the functions that distinguish the cells.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Training rows, or the kernel matrix for kernel="precomputed".
        y : array of shape (n_samples,)
            Numbers or classes.
        sensitive_features : array, Series, data frame or dict of columns
            The sensitive attributes, one row per sample; required.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the cell means.

        Returns
        -------
        self : FairKernelProjection
        """
        self._learn(X, y, sensitive_features, sample_weight)
        return self

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit_transform(
        self, X: Any, y: Any = None, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> Array:
        """Fit, and give the fair kernel matrix of the training rows.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight
            As in `fit`.

        Returns
        -------
        array of shape (n_samples, n_samples)
            Exactly symmetric, and positive semi-definite up to rounding.
        """
        matrix = self._learn(X, y, sensitive_features, sample_weight)
        with one_blas_at_a_time():
            self.fair_kernel_.project_training(matrix)
        projected: Array = back_to(matrix, X)
        return projected

    def transform(self, X: Any) -> Array:
        """Return the fair kernel between rows and the training rows.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            For kernel="precomputed", the kernel between these and the training rows.

        Returns
        -------
        array of shape (n_samples, n_training_rows)
        """
        rows = self._kernel_rows(self._validate(X))
        self.fair_kernel_.project_rows(rows)
        projected: Array = back_to(rows, X)
        return projected

    def diagonal(self, X: Any) -> Array:
        """Return κ_fair(z, z) for each row z, the prior variance of a Gaussian process.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        if Kernel.of(self).is_given:
            raise ValueError(
                "kernel='precomputed' does not tell κ(z, z); give it yourself: "
                "fair_kernel_.diagonal(values, kernel_with_training_rows)."
            )
        rows, kernel = self._validate(X), Kernel.of(self)
        out = np.empty(rows.shape[0])
        for part in row_blocks(rows.shape[0], self._n_features_out):
            values = kernel.diagonal(rows[part])
            out[part] = self.fair_kernel_.diagonal(values, self._kernel_rows(rows[part]))
        diagonal: Array = back_to(out, X)
        return diagonal

    def _learn(self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> Array:
        """Set every fitted attribute and give the original kernel matrix."""
        kernel = Kernel.of(self)
        with unchanged_on_error(self):
            compared = self._compare(
                X,
                y,
                sensitive_features,
                sample_weight,
                dtype=kernel.dtype if kernel.is_given else np.float64,
                accept_sparse=kernel.accept_sparse,
            )
            with one_blas_at_a_time():
                kernel.require_suitable(compared.X)
                rows = KernelFeatures(kernel, False, CPU, compared.X, None)
                matrix, convex = rows.evaluate(CPU, is_positive_semidefinite)
                if not convex:
                    raise not_semidefinite_error(kernel, fit_intercept=True)
                self.fair_kernel_ = FairKernel.of(matrix, compared.columns)
            self.X_fit_ = compared.X
            self.cells_, self.contrasts_ = compared.cells, compared.constraint
        whole, along = matrix.diagonal(), self.fair_kernel_.coordinates
        if (whole - np.einsum("ij,ij->i", along, along) <= NOTHING * whole.max()).all():
            compared.warn_that_nothing_is_left("kernel")
        return np.asarray(matrix)

    def _validate(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(
            self,
            as_numpy(X),
            dtype=np.float64,
            accept_sparse=Kernel.of(self).accept_sparse,
            reset=False,
        )

    def _kernel_rows(self, X: Any) -> Array:
        rows = np.empty((X.shape[0], self._n_features_out))
        Kernel.of(self).fill(rows, X, self.X_fit_)
        return rows

    @property
    def _n_features_out(self) -> int:
        return int(self.X_fit_.shape[0])
