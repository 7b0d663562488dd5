"""Gram matrices: the kernels of scikit-learn's KernelRidge, checked where they may be wrong.

The learning problem is convex only if the kernel is positive semi-definite. Most named kernels
are; a precomputed matrix, a callable, the sigmoid kernel and a few parameter choices need not be,
and are tested. With an intercept it is enough that the centred matrix is (additive_chi2).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.linalg import blas
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import check_non_negative

from gferm.arrays import Array
from gferm.arrays.device import CPU, Device, device_of, row_blocks
from gferm.arrays.equality import are_equal
from gferm.arrays.memory import halve_until_it_fits
from gferm.arrays.threads import for_each

ALWAYS_SEMIDEFINITE = frozenset({"linear", "rbf", "laplacian", "chi2", "cosine"})
BOUNDED_BY_ONE = frozenset({"rbf", "laplacian", "chi2", "cosine", "sigmoid"})
WITH_GAMMA = frozenset({"rbf", "laplacian", "poly", "polynomial", "sigmoid", "chi2"})
ONE_AT_ITSELF = BOUNDED_BY_ONE - {"sigmoid"}
NONNEGATIVE_ONLY = frozenset({"chi2", "additive_chi2"})
DENSE_ONLY = NONNEGATIVE_ONLY | {"precomputed"}
SYMMETRY_TOLERANCE = 1e-10
Product = Callable[[Any, Any, Any], None]
KERNEL_BLOCK = 2**20  # doubles evaluated at once
PRODUCT_BLOCK = 2**22  # doubles of the kernel between new and training rows held at once


@dataclass(frozen=True, eq=False)
class Kernel:
    """A kernel with its parameters settled, named as in KernelRidge."""

    metric: str | Callable[..., float]
    gamma: float | None = None
    degree: float = 3
    coef0: float = 1
    params: Mapping[str, Any] | None = None

    def __eq__(self, other: object) -> bool:
        """Compare parameters, which may be arrays."""
        if not isinstance(other, Kernel):
            return NotImplemented
        mine, its = (
            (kernel.metric, kernel.gamma, kernel.degree, kernel.coef0) for kernel in (self, other)
        )
        return mine == its and are_equal(self.params or {}, other.params or {})

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def of(cls, parameters: Any) -> Kernel:
        """Read the attributes of an estimator that name its kernel."""
        names = ("kernel", "gamma", "degree", "coef0", "kernel_params")
        return cls(*(getattr(parameters, name) for name in names))

    @property
    def is_linear(self) -> bool:
        """Whether functions have a weight for each feature, and no kernel is needed."""
        return self.metric == "linear"

    @property
    def is_given(self) -> bool:
        """Whether X is the matrix itself, and nobody knows k at other points."""
        return self.metric == "precomputed"

    @property
    def is_named(self) -> bool:
        """Whether gamma, degree and coef0 are its parameters."""
        return not (callable(self.metric) or self.is_given)

    @property
    def has_gamma(self) -> bool:
        """Whether gamma changes it."""
        return self.metric in WITH_GAMMA

    @property
    def needs_intercept(self) -> bool:
        """Whether the matrix is positive semi-definite only once it is centred."""
        return self.metric == "additive_chi2"

    @property
    def takes_counts(self) -> bool:
        """Whether X must not have negative values."""
        return self.metric in NONNEGATIVE_ONLY

    @property
    def accept_sparse(self) -> tuple[str, ...] | bool:
        """What scikit-learn's validation calls the sparse matrices that X may be."""
        return False if self.metric in DENSE_ONLY else ("csr", "csc")

    @property
    def dtype(self) -> Any:
        """The types of X that are read as they are; a linear pass converts block by block."""
        in_blocks = self.is_linear or self.is_given
        return (np.float64, np.float32) if in_blocks else np.float64

    @property
    def bound(self) -> float | None:
        """The largest k(x, x) of any x, or None if that depends on x."""
        return 1.0 if self.metric in BOUNDED_BY_ONE else None

    def form(self, n_samples: int, n_features: int) -> Literal["kernel", "linear"]:
        """Return in what a problem is solved: a linear one in the rows if these are fewer."""
        return "linear" if self.is_linear and n_features <= n_samples else "kernel"

    @property
    def is_semidefinite(self) -> bool:
        """Whether the matrix is positive semi-definite whatever the data."""
        if self.metric in ("poly", "polynomial"):
            return self.coef0 >= 0 and float(self.degree).is_integer()
        return self.metric in ALWAYS_SEMIDEFINITE

    def __call__(self, X: Any, Y: Any = None) -> Array:
        """Evaluate the kernel between the rows of X and Y (X itself by default)."""
        if self.takes_counts:  # scikit-learn's loop refuses joblib's read-only memory
            X, Y = (None if Z is None else np.require(Z, requirements="W") for Z in (X, Y))
        if callable(self.metric):
            params = dict(self.params or {})
        else:
            params = {"degree": self.degree, "coef0": self.coef0}
            if self.gamma is not None:  # else each kernel has a default of its own
                params["gamma"] = self.gamma
        matrix = pairwise_kernels(X, Y, metric=self.metric, filter_params=True, **params)
        return np.asarray(matrix, dtype=np.float64)

    def require_suitable(self, X: Any) -> None:
        """Refuse rows that the kernel is not made for."""
        if self.takes_counts:
            check_non_negative(X, f"X: kernel={self.metric!r} takes counts, use another one")

    def rows(self, X: Any) -> Any:
        """Return rows of doubles; a matrix that is given is converted later."""
        return X if self.is_given else X.astype(np.float64, copy=False)

    def part(self, X: Any, rows: Any) -> Any:
        """Return the training rows numbered ``rows``, or that part of a matrix that is given."""
        return X[rows][:, rows] if self.is_given else X[rows]

    def diagonal(self, X: Any) -> Array:
        """Return k(x, x) of each row; of a matrix that is given, its diagonal."""
        if self.is_given:
            return np.asarray(X.diagonal())
        if self.metric in ONE_AT_ITSELF:
            return np.ones(X.shape[0])
        if self.is_linear:
            return np.asarray(row_norms(X, squared=True))
        if self.metric in ("poly", "polynomial"):
            gamma = 1.0 / X.shape[1] if self.gamma is None else self.gamma
            return np.asarray((gamma * row_norms(X, squared=True) + self.coef0) ** self.degree)
        step = 1 if callable(self.metric) else 32  # a call costs more than a few values
        starts = range(0, X.shape[0], step)
        return np.concatenate([self(X[i : i + step]).diagonal() for i in starts])

    def products(self, X: Any, support: Any, coefficients: Array, device: Device = CPU) -> Array:
        """Multiply the kernel between X and the support with each row of coefficients, in blocks.

        Returns
        -------
        array of shape (n_models, n_samples)
        """
        n_support = coefficients.shape[1]
        products, there = np.empty((len(coefficients), X.shape[0])), device.put(coefficients)
        if self.is_product(X, support):
            support = device.put(support)  # once, and not for every block

        def fill(doubles: int) -> None:
            blocks = row_blocks(X.shape[0], n_support, doubles)
            values = device.empty(blocks[0].stop, n_support)
            for rows in blocks:
                block = values[: rows.stop - rows.start]
                self.fill(block, X[rows], support, device)
                products[:, rows] = device.get(there @ block.T)

        at_once = device.at_once(PRODUCT_BLOCK)
        halve_until_it_fits(fill, at_once, (X.shape[0], n_support), device)
        return products

    def precision(self, X: Any) -> float:
        """Relative precision of the matrix: its own if it is given, else that of float64."""
        return float(np.finfo(X.dtype if self.is_given else np.float64).eps)

    def fill(
        self, out: Any, X: Any, Y: Any, device: Device = CPU, product: Product | None = None
    ) -> None:
        """Evaluate the kernel between the rows of X and Y into ``out``, on the device.

        ``product`` says whose BLAS multiplies: NumPy's, or that of what follows (threads.py).
        """
        if self.is_product(X, Y):
            gamma = 1.0 / Y.shape[1] if self.gamma is None else self.gamma
            there = device.put(X), device.put(Y)
            _fill_gaussian(out, *there, gamma, device, product or multiply)
            return

        def evaluate(rows: slice) -> None:
            out[rows] = device.put(self(X[rows], Y))

        for_each(evaluate, row_blocks(len(out), out.shape[1], KERNEL_BLOCK))

    def is_product(self, X: Any, Y: Any) -> bool:
        """Return whether `fill` multiplies the rows, wherever they are, without scikit-learn."""
        return self.metric == "rbf" and not (sparse.issparse(X) or sparse.issparse(Y))

    def training_matrix(self, X: Any, device: Device = CPU) -> Any:
        """Evaluate the kernel on the training rows, in memory that may be overwritten."""
        if self.is_given:
            _check_square(X)
            _check_symmetric(X, self.precision(X))
            n = X.shape[0]
            matrix = device.empty(n, n)
            for rows in device.row_blocks(n, n):
                matrix[rows] = device.put(X[rows])
            return matrix
        if callable(self.metric):
            # scikit-learn evaluates one triangle and mirrors it: the other is looked at in a sample
            few = np.linspace(0, X.shape[0] - 1, min(X.shape[0], 8)).astype(int)
            _check_symmetric(self(X[few], X[few].copy()), self.precision(X))
            return device.put(np.ascontiguousarray(self(X)))
        matrix = device.empty(X.shape[0], X.shape[0])
        self.fill(matrix, X, X, device, product_by_scipy if device.is_cpu else None)
        if self.metric == "rbf":  # the product leaves rounding, which a large gamma amplifies
            matrix.reshape(-1)[:: len(matrix) + 1] = 1.0
        return matrix


def multiply(left: Any, right: Any, out: Any) -> None:
    """Write left·rightᵀ into ``out``, with NumPy's BLAS or on a device."""
    device_of(out).xp.matmul(left, right.T, out=out)


def product_by_scipy(left: Array, right: Array, out: Array) -> None:
    """Write left·rightᵀ into ``out``, which in Fortran's order is its transpose, right·leftᵀ."""
    blas.dgemm(1.0, right.T, left.T, trans_a=1, c=out.T, overwrite_c=1)


def _fill_gaussian(
    out: Any, X: Any, Y: Any, gamma: float, device: Device, product: Product
) -> None:
    """Fold −γ‖x − y‖² into one matrix product, [√2γ x, −γ‖x‖², 1]·[√2γ y, 1, −γ‖y‖²].

    It is taken in blocks of ``out``, which are still in cache when exp reads them. The rows are
    moved to the mean of Y first, which changes no distance and keeps digits.
    """
    xp, center, root = device.xp, Y.mean(0), (2.0 * gamma) ** 0.5

    def extend(rows: Any, extended: Any) -> Any:
        scaled = xp.subtract(rows, center, out=extended[:, :-2])
        scaled *= root
        return -0.5 * xp.einsum("ij,ij->i", scaled, scaled)

    both = device.empty(len(X) + len(Y), Y.shape[1] + 2)
    left, right = both[: len(X)], both[len(X) :]
    left_norms, right_norms = extend(X, left), extend(Y, right)
    left[:, -2], left[:, -1] = left_norms, 1.0
    right[:, -2], right[:, -1] = 1.0, right_norms
    for rows in device.row_blocks(len(out), out.shape[1]):
        block = out[rows]
        product(left[rows], right, block)
        xp.clip(block, None, 0.0, out=block)
        xp.exp(block, out=block)


def not_semidefinite_error(kernel: Kernel, fit_intercept: bool) -> ValueError:
    """Explain that the learning problem has no unique optimum with this kernel."""
    remedy = "use another kernel, or other gamma, degree and coef0"
    if kernel.is_given:
        remedy = "check how the matrix passed as X was made; K + c·I or its positive part may do"
    elif kernel.needs_intercept and not fit_intercept:
        remedy = "set fit_intercept=True, with which this kernel is admissible"
    return ValueError(
        f"kernel={kernel.metric!r} is not positive semi-definite on these data: its matrix has "
        f"negative eigenvalues beyond rounding, so the learning problem is not convex; {remedy}."
    )


def require_finite(matrix: Any, kernel: Kernel, device: Device = CPU) -> None:
    """Refuse a matrix that overflowed, before a factorisation turns it into a model of NaN."""
    blocks = device.row_blocks(len(matrix), matrix.shape[1])
    if not all(bool(device.xp.isfinite(matrix[rows]).all()) for rows in blocks):
        raise ValueError(
            f"kernel={kernel.metric!r} gives values that are not finite on these data. Scale X, "
            "for example with a StandardScaler in a Pipeline, or check the kernel and its gamma, "
            "degree and coef0."
        )


def center_kernel(matrix: Any, weight: Array | None, device: Device = CPU) -> Array:
    """Centre a kernel matrix in feature space, in place; return its (weighted) row means."""
    n = len(matrix)
    share = device.put(np.full(n, 1.0 / n) if weight is None else weight / weight.sum())
    means = matrix @ share
    shift = means - 0.5 * float(means @ share)
    for rows in device.row_blocks(n, n):
        matrix[rows] -= shift[rows, None] + shift  # in one go: symmetric to the last digit
    return device.get(means)


def _check_square(matrix: Any) -> None:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            "kernel='precomputed' needs a square X of shape (n_samples, n_samples) in fit, got "
            f"{matrix.shape}; pass the kernel between all pairs of training rows."
        )


def _check_symmetric(matrix: Array, precision: float) -> None:
    size = float(np.abs(matrix).max(initial=0.0))
    for rows in row_blocks(len(matrix), len(matrix)):
        difference = float(np.abs(matrix[rows] - matrix[:, rows].T).max(initial=0.0))
        if difference > max(SYMMETRY_TOLERANCE, 100 * precision) * size:
            raise ValueError(
                f"The kernel matrix is not symmetric: entries differ by up to {difference:.3g} "
                "across the diagonal. Check the kernel, or pass (K + K.T) / 2."
            )
