"""Choose landmarks: points that stand for all rows in Nyström's features (nystroem.py).

They are rows drawn alike ("uniform"), rows drawn by how much of the kernel they carry ("leverage"),
or centres of clusters ("kmeans").
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.cluster import MiniBatchKMeans
from sklearn.utils import check_array, check_random_state

from gferm.arrays import Array, Codes
from gferm.arrays.device import CPU, Device, row_blocks
from gferm.features.kernel import DENSE_ONLY, Kernel, not_semidefinite_error, require_finite
from gferm.features.nystroem import (
    FeatureRows,
    KernelRows,
    count_to_solve,
    factorize_points,
    inverse_of_lower,
)

WAYS = ("uniform", "leverage", "kmeans")
PILOTS = 400  # rows from which leverages are judged
KERNEL_BLOCK = 2**22  # doubles


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Points, and what makes features of the kernel between them and a row.

    Attributes
    ----------
    points : array or sparse matrix of shape (m, d)
        In the order of the pivots.
    kernel : Kernel
    factor : array of shape (m, m)
        L, of the kernel between the points.
    solved : int
        h.
    """

    points: Any
    kernel: Kernel
    factor: Array
    solved: int

    @classmethod
    def at(cls, points: Any, kernel: Kernel) -> Landmarks:
        """Evaluate the kernel between the points, and keep those that the others do not explain."""
        factor, kept = factorize_points(kernel, points)
        return cls(points[kept], kernel, factor, count_to_solve(factor))

    def features(self, X: Any, device: Device = CPU) -> FeatureRows:
        """Return ψ(x) of each row."""
        rows = _by_rows(X), self.points, self.kernel, device
        return FeatureRows(*rows, self.factor, self.solved)

    def values(self, X: Any, device: Device = CPU) -> KernelRows:
        """Return k_m(x) of each row."""
        return KernelRows(_by_rows(X), self.points, self.kernel, device)

    def finish(self, sums: Array, device: Device = CPU) -> Array:
        """Turn ψ into φ, in the rows of an array of shape (m, …); a device does it faster."""
        finished, tail = sums.copy(), slice(self.solved, None)
        if self.solved < len(sums):
            factor, rest = device.put(self.factor[tail, tail]), device.put(sums[tail])
            finished[tail] = device.get(device.solve_lower(factor, rest))
        return finished

    @cached_property
    def basis(self) -> Array:
        """Return L⁻ᵀ: φ(x) = k_m(x)·basis, and β = basis·w."""
        return inverse_of_lower(self.factor).T


def _by_rows(X: Any) -> Any:
    return X.tocsr() if hasattr(X, "tocsr") else X  # rows of a CSC matrix are slow to cut out


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


def require_own_columns(landmarks: Any, names: Any) -> None:
    """Refuse a frame of landmarks whose columns are not those of X, in their order."""
    given = getattr(landmarks, "columns", None)
    if names is not None and given is not None and list(given) != list(names):
        raise ValueError(
            f"landmarks has the columns {list(given)[:10]}, but X has {list(names)[:10]}; give the "
            "same in the same order, such as landmarks[X.columns]."
        )


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
    """Return each row's share of the ridge leverage: what the kernel of a few pilots leaves of it.

    The leverage of row i is about (k_ii − k_iPᵀ (K_PP + α (p/n) I)⁻¹ k_Pi), large where no pilot is
    near (Alaoui and Mahoney 2015).
    """
    n = X.shape[0]
    pilots = X[np.sort(rng.choice(n, size=min(PILOTS, n), replace=False))]
    matrix = kernel.training_matrix(pilots)
    require_finite(matrix, kernel)
    shift = max(alpha * len(matrix) / n, 1e-8 * float(np.trace(matrix)))
    try:
        factor = linalg.cho_factor(matrix + shift * np.eye(len(matrix)), lower=True)
    except linalg.LinAlgError:
        raise not_semidefinite_error(kernel, fit_intercept=True) from None
    left = np.empty(n)
    rows_of_pilots = KernelRows(X, pilots, kernel, CPU)
    for rows in row_blocks(n, len(matrix), KERNEL_BLOCK):
        values = rows_of_pilots[rows]
        explained = np.einsum("ij,ji->i", values, linalg.cho_solve(factor, values.T))
        left[rows] = kernel.diagonal(X[rows]) - explained
    left = np.maximum(left, 1e-6 * left.max(initial=0.0)) + np.finfo(float).tiny
    shares: Array = left / left.sum()
    return shares
