"""Fair features: epsilon = 0 as a change of features, for any linear model.

The contrasts of a linear model f = Xw + b are Cᵀf = Aᵀw with A = XᵀC (d×m), for the columns of C
sum to zero. The model is fair if w is orthogonal to A, and every w is as good as orthogonal if the
features are

    x ↦ x − Q Qᵀx,        Q (d×r) an orthonormal basis of the columns of A.

This file finds Q and applies it, in blocks of rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, sparse

from gferm.arrays import Array
from gferm.arrays.device import dense, row_blocks
from gferm.arrays.threads import for_each

ROUNDING = 256 * np.finfo(float).eps  # of a mean, as a share of the size of what it averages


def contrast_directions(X: Any, columns: sparse.csr_array) -> Array:
    """Return Q, shape (d, r), for the rows X and the contrasts C.

    The rank is judged with every feature in units of its own size, and every contrast in units of
    its own: there, what rounding makes of equal means is a few eps.
    """
    contrasts, size = _sparse_sums(X, columns) if sparse.issparse(X) else _sums(X, columns)
    size = np.where(size > 0.0, size, 1.0)
    relative = contrasts / size[:, None] / np.asarray(abs(columns).sum(axis=0))
    if not np.isfinite(relative).all():
        raise ValueError(
            "X is so large that its cell means are not finite; scale X, for example with a "
            "StandardScaler in a Pipeline."
        )
    left, values, _ = linalg.svd(relative, full_matrices=False)
    basis, _ = linalg.qr(size[:, None] * left[:, values > ROUNDING], mode="economic")
    return np.ascontiguousarray(basis)


def used_up(directions: Array) -> Any:
    """Return which features lie in the span of Q: projecting leaves only rounding of them."""
    return 1.0 - np.einsum("ij,ij->i", directions, directions) <= ROUNDING


def project_features(X: Any, directions: Array) -> Array:
    """Return X − X Q Qᵀ, dense and in the precision of X; the arithmetic is in float64."""
    out = np.empty(X.shape, dtype=X.dtype)
    nothing_left = used_up(directions)

    def project(rows: slice) -> None:
        block = dense(X[rows])
        block = block - (block @ directions) @ directions.T
        block[:, nothing_left] = 0.0  # a scaler that follows must not blow up rounding
        out[rows] = block

    for_each(project, row_blocks(*X.shape))
    return out


def _sums(X: Any, columns: sparse.csr_array) -> tuple[Array, Array]:
    """Return XᵀC and the mean size of each feature, about a point near the middle of the rows.

    Contrasts do not notice where the origin is, but far from it they would lose digits.
    """
    n, d = X.shape
    blocks = row_blocks(n, d)
    origin = dense(X[blocks[0]]).mean(axis=0)
    contrasts, size = np.zeros((d, columns.shape[1])), np.zeros(d)
    for rows in blocks:
        block = dense(X[rows]) - origin
        contrasts += (columns[rows].T @ block).T
        size += np.abs(block).sum(axis=0)
    return contrasts, size / n


def _sparse_sums(X: Any, columns: sparse.csr_array) -> tuple[Array, Array]:
    """Return the same for sparse rows, whose origin is zero."""
    contrasts = np.asarray((columns.T @ X).toarray(), dtype=np.float64).T
    return contrasts, np.asarray(abs(X).sum(axis=0), dtype=np.float64).ravel() / X.shape[0]
