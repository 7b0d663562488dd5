"""What every estimator with a kernel shares: its parameters, its training matrix, its tags."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_non_negative

from gferm.arrays import Array
from gferm.arrays.blocks import halve_until_it_fits, row_blocks
from gferm.arrays.device import CPU, Device
from gferm.features.kernel import (
    DENSE_ONLY,
    NONNEGATIVE_ONLY,
    Kernel,
    center_kernel,
    not_semidefinite_error,
    require_finite,
)
from gferm.solver.cholesky import is_positive_semidefinite

PRODUCT_BLOCK = 2**22  # doubles of the kernel between new and training rows held at once


class KernelMachine(BaseEstimator):  # type: ignore[misc]
    """An estimator whose kernel is named as in KernelRidge."""

    kernel: str | Callable[..., float]
    gamma: float | None
    degree: float
    coef0: float
    kernel_params: Mapping[str, Any] | None
    fit_intercept: bool

    _kernel_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions(set(PAIRWISE_KERNEL_FUNCTIONS) | {"precomputed"}), callable],
        "gamma": [Interval(Real, 0, None, closed="left"), None],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
    }

    def _kernel(self) -> Kernel:
        return Kernel(self.kernel, self.gamma, self.degree, self.coef0, self.kernel_params)

    def _require_suitable(self, X: Any) -> None:
        if self.kernel in NONNEGATIVE_ONLY:
            check_non_negative(X, f"X: kernel={self.kernel!r} takes counts, use another one")

    def _rows_for_kernel(self, X: Any) -> Any:
        """Kernel values need rows of doubles; a matrix that is given is converted later."""
        return X if self.kernel == "precomputed" else X.astype(np.float64, copy=False)

    def _training_matrix(self, X: Any, device: Device = CPU) -> tuple[Any, bool]:
        """Evaluate the kernel, and say whether it is positive semi-definite on these rows."""
        kernel, X = self._kernel(), self._rows_for_kernel(X)
        matrix = kernel.training_matrix(X, device)
        require_finite(matrix, kernel)
        known = kernel.is_semidefinite
        return matrix, known or is_positive_semidefinite(matrix, kernel.precision(X))

    def _svm_matrix(self, X: Any, weight: Array | None) -> tuple[Array, Array]:
        """Evaluate the kernel, centred if it must be; give its means, or zeros, with it."""
        matrix, semidefinite = self._training_matrix(X)
        if semidefinite:
            return matrix, np.zeros(len(matrix))
        means = center_kernel(matrix, weight)
        self._require_semidefinite(matrix, X)
        return matrix, means

    def _require_semidefinite(self, centred: Any, X: Any) -> None:
        """Centring keeps a matrix semi-definite and may make it so (additive_chi2)."""
        kernel = self._kernel()
        if not is_positive_semidefinite(centred, kernel.precision(X)):
            raise not_semidefinite_error(kernel, self.fit_intercept)

    def _kernel_products(
        self, X: Any, X_fit: Any, coefficients: Array, device: Device = CPU
    ) -> Array:
        """Multiply the kernel between X and X_fit with each row of coefficients, in blocks."""
        kernel, n_fit = self._kernel(), coefficients.shape[1]
        products, there = np.empty((len(coefficients), X.shape[0])), device.put(coefficients)
        if kernel.is_product(X, X_fit):
            X_fit = device.put(X_fit)  # once, and not for every block

        def fill(doubles: int) -> None:
            blocks = row_blocks(X.shape[0], n_fit, doubles)
            values = device.empty(blocks[0].stop, n_fit)
            for rows in blocks:
                block = values[: rows.stop - rows.start]
                kernel.fill(block, X[rows], X_fit)
                products[:, rows] = device.get(there @ block.T)

        halve_until_it_fits(fill, device.at_once(PRODUCT_BLOCK), (X.shape[0], n_fit), device)
        return products

    @property
    def _accept_sparse(self) -> tuple[str, ...] | bool:
        return False if self.kernel in DENSE_ONLY else ("csr", "csc")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = bool(self._accept_sparse)
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.positive_only = self.kernel in NONNEGATIVE_ONLY
        return tags
