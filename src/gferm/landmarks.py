"""Landmarks: a kernel machine whose functions live on m chosen points, whatever n is.

Nyström's method looks for f = Σ_j β_j k(z_j, ·) + b on landmarks z_1 … z_m instead of all n rows.
With K_mm = V Λ Vᵀ and T = V Λ^{-1/2}, the features

    φ(x) = Tᵀ k_m(x),      k_m(x) = (k(z_1, x), …, k(z_m, x))

make a linear problem of it: ‖w‖ is the norm of f in the kernel's own space, and β = T w. Sums are
taken over φ(x). Sums over k_m(x), turned by T at the end, would save a product, but T is as large
as K_mm^{-1/2}: the rounding of a squared sum, multiplied by it twice, drowns a small alpha.

Landmarks are rows drawn alike ("uniform"), rows drawn by how much of the kernel they carry
("leverage"), or centres of clusters ("kmeans").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.cluster import MiniBatchKMeans
from sklearn.utils import check_array, check_random_state

from gferm.arrays import Array, Codes
from gferm.blocks import row_blocks
from gferm.kernels import DENSE_ONLY, Kernel, not_semidefinite_error, require_finite

WAYS = ("uniform", "leverage", "kmeans")
PILOTS = 400  # rows from which leverages are judged
SMALLEST = 1e-11  # eigenvalue of K_mm that is kept, beside the largest: less is mostly rounding
KERNEL_BLOCK = 2**22  # doubles


@dataclass(frozen=True, eq=False)
class KernelRows:
    """The matrix k_m(x), or φ(x), a row for each row of X, evaluated only where somebody looks.

    Attributes
    ----------
    X : array or sparse matrix of shape (n, d)
    points : array or sparse matrix of shape (m, d)
    kernel : Kernel
    basis : array of shape (m, r), default=None
        T, for φ(x).
    """

    X: Any
    points: Any
    kernel: Kernel
    basis: Array | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(n, m) or (n, r)."""
        return self.X.shape[0], (self.points if self.basis is None else self.basis.T).shape[0]

    def __getitem__(self, rows: Any) -> Array:
        """Evaluate some of the rows."""
        some = self.X[rows]
        values = np.empty((some.shape[0], self.points.shape[0]))
        self.kernel.fill(values, some, self.points)
        return values if self.basis is None else values @ self.basis


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Points, and what makes features of the kernel between them and a row.

    Attributes
    ----------
    points : array or sparse matrix of shape (m, d)
    kernel : Kernel
    basis : array of shape (m, r)
        T.
    """

    points: Any
    kernel: Kernel
    basis: Array

    @classmethod
    def at(cls, points: Any, kernel: Kernel) -> Landmarks:
        """Evaluate the kernel between the points."""
        return cls(points, kernel, whitening(kernel, points))

    def features(self, X: Any) -> KernelRows:
        """Give φ(x) of each row."""
        return KernelRows(_by_rows(X), self.points, self.kernel, self.basis)

    def values(self, X: Any) -> KernelRows:
        """Give k_m(x) of each row."""
        return KernelRows(_by_rows(X), self.points, self.kernel)


def _by_rows(X: Any) -> Any:
    return X.tocsr() if hasattr(X, "tocsr") else X  # rows of a CSC matrix are slow to cut out


def whitening(kernel: Kernel, landmarks: Any) -> Array:
    """Give T, shape (m, r), without the directions that are rounding."""
    matrix = _matrix(kernel, landmarks)
    values, vectors = linalg.eigh((matrix + matrix.T) / 2.0, driver="evd", check_finite=False)
    largest = float(values[-1])
    if values[0] < -1e-9 * max(largest, 1e-300):
        raise not_semidefinite_error(kernel, fit_intercept=True)
    kept = values > SMALLEST * largest
    whitened: Array = vectors[:, kept] / np.sqrt(values[kept])
    return whitened


def _matrix(kernel: Kernel, points: Any) -> Array:
    """Evaluate the kernel between points in the way that rows meet them."""
    matrix = kernel.training_matrix(points)
    require_finite(matrix, kernel)
    return matrix


def find_landmarks(
    X: Any, n_landmarks: int | None, landmarks: Any, kernel: Kernel, random_state: Any, alpha: float
) -> Any:
    """Choose landmarks among the rows of X, or near them; or check those that are given.

    Raises
    ------
    ValueError
        If there are fewer rows than landmarks, or the points given have other features.
    """
    if not isinstance(landmarks, str):
        return _check_points(landmarks, n_landmarks, X.shape[1], kernel)
    assert n_landmarks is not None
    if landmarks == "uniform":
        return X[draw_rows(X.shape[0], n_landmarks, random_state)]
    _require_few(n_landmarks, X.shape[0])
    rng = _generator(random_state)
    if landmarks == "kmeans":
        return _centres(X, n_landmarks, rng)
    chances = leverages(X, kernel, rng, alpha)
    return X[np.sort(rng.choice(X.shape[0], size=n_landmarks, replace=False, p=chances))]


def _check_points(landmarks: Any, n_landmarks: int | None, n_features: int, kernel: Kernel) -> Any:
    points = check_array(
        landmarks,
        accept_sparse=False if kernel.metric in DENSE_ONLY else "csr",
        dtype=np.float64,
        copy=True,  # the model keeps them
        input_name="landmarks",
    )
    if points.shape[1] != n_features:
        raise ValueError(
            f"landmarks has {points.shape[1]} columns, but X has {n_features} features; give "
            "points like the rows of X."
        )
    if n_landmarks not in (None, points.shape[0]):
        raise ValueError(
            f"n_landmarks={n_landmarks}, but {points.shape[0]} landmarks are given; leave "
            "n_landmarks out."
        )
    return points


def draw_rows(n_rows: int, n_landmarks: int, random_state: Any) -> Codes:
    """Draw the numbers of the rows that are landmarks="uniform", in increasing order."""
    _require_few(n_landmarks, n_rows)
    rng = _generator(random_state)
    return np.sort(rng.choice(n_rows, size=n_landmarks, replace=False))


def _generator(random_state: Any) -> np.random.Generator:
    return np.random.default_rng(check_random_state(random_state).randint(2**31))


def _require_few(n_landmarks: int, n_rows: int) -> None:
    if n_landmarks > n_rows:
        raise ValueError(
            f"n_landmarks={n_landmarks} is more than the {n_rows} rows to choose from; use at most "
            f"{n_rows}, or None for the exact model."
        )


def _centres(X: Any, n_landmarks: int, rng: np.random.Generator) -> Array:
    if sparse.issparse(X):
        raise ValueError(
            "landmarks='kmeans' makes dense centres of sparse rows; use 'uniform' or 'leverage'."
        )
    clusters = MiniBatchKMeans(
        n_landmarks, random_state=int(rng.integers(2**31)), n_init=1, batch_size=4096
    )
    return np.asarray(clusters.fit(X).cluster_centers_, dtype=np.float64)


def leverages(X: Any, kernel: Kernel, rng: np.random.Generator, alpha: float) -> Array:
    """Give each row's share of the ridge leverage: what the kernel of a few pilots leaves of it.

    The leverage of row i is about (k_ii − k_iPᵀ (K_PP + α (p/n) I)⁻¹ k_Pi), large where no pilot is
    near (Alaoui and Mahoney 2015).
    """
    n = X.shape[0]
    pilots = X[np.sort(rng.choice(n, size=min(PILOTS, n), replace=False))]
    matrix = _matrix(kernel, pilots)
    shift = max(alpha * len(matrix) / n, 1e-8 * float(np.trace(matrix)))
    try:
        factor = linalg.cho_factor(matrix + shift * np.eye(len(matrix)), lower=True)
    except linalg.LinAlgError:
        raise not_semidefinite_error(kernel, fit_intercept=True) from None
    left = np.empty(n)
    rows_of_pilots = KernelRows(X, pilots, kernel)
    for rows in row_blocks(n, len(matrix), KERNEL_BLOCK):
        values = rows_of_pilots[rows]
        explained = np.einsum("ij,ji->i", values, linalg.cho_solve(factor, values.T))
        left[rows] = _diagonal(kernel, X[rows]) - explained
    left = np.maximum(left, 1e-6 * left.max(initial=0.0)) + np.finfo(float).tiny
    shares: Array = left / left.sum()
    return shares


def _diagonal(kernel: Kernel, X: Any) -> Array:
    """k(x, x) of each row."""
    if kernel.metric in ("rbf", "laplacian", "chi2", "cosine"):
        return np.ones(X.shape[0])
    step = 1 if callable(kernel.metric) else 32  # a call costs more than a few values
    starts = range(0, X.shape[0], step)
    return np.concatenate([kernel(X[i : i + step]).diagonal() for i in starts])
