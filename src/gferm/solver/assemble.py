"""Assemble a System from data, in the two ways of system.py: by kernel and by features."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from gferm.arrays import Array
from gferm.blocks import dense, row_blocks
from gferm.kernels import center_kernel
from gferm.solver.geometry import KernelGeometry, LinearGeometry
from gferm.solver.system import System, Target

ROUNDING = 256 * np.finfo(float).eps  # of a mean, as a share of the size of what it averages


def kernel_system(
    matrix: Array,
    y: Array,
    columns: sparse.csr_array,
    *,
    weight: Array | None = None,
    fit_intercept: bool = True,
) -> System:
    """Write the problem in the n coefficients of the kernel expansion.

    ``matrix`` is overwritten; with the factor in its place, one n×n array is all there ever is.
    """
    n = len(y)
    size = float(np.abs(matrix.diagonal()).max())
    level, anchor = 0.0, np.zeros(n)
    if fit_intercept:
        level = float(np.average(y, weights=weight))
        anchor = center_kernel(matrix, weight)
        size = max(size, float(np.abs(anchor).max()))
    target, scale, null = y - level, None, np.full(n, n**-0.5)
    if weight is not None:
        scale = np.sqrt(weight)
        for rows in row_blocks(n, n):
            matrix[rows] *= scale[rows, None] * scale
        target, anchor, null = scale * target, scale * anchor, scale / np.sqrt(weight.sum())
        columns = sparse.diags_array(1.0 / scale).tocsr() @ columns
    floor = np.full(n, ROUNDING * size) if scale is None else ROUNDING * size * scale
    return System(
        matrix=matrix,
        target=Target(target, level, float(target @ target)),
        steering=columns.toarray(),
        probe=_above_rounding(np.asarray(columns.T @ matrix).T, floor),
        anchor=anchor,
        null=null if fit_intercept else None,
        weight=weight,
        centred=fit_intercept,
        geometry=KernelGeometry(scale),
    )


def linear_system(
    X: Any,
    y: Array,
    columns: sparse.csr_array,
    *,
    weight: Array | None = None,
    fit_intercept: bool = True,
) -> System:
    """Write the problem in the d coefficients of the features, in one pass over blocks of rows.

    Sums are taken about the mean of the first block, close enough to the mean of all for the
    final correction to cancel nothing; neither a centred copy of X nor an n×n array is made.
    """
    n, d = X.shape
    X = X.tocsr() if hasattr(X, "tocsr") else X  # rows of a CSC matrix are slow to cut out
    blocks = row_blocks(n, d)
    level = float(np.average(y, weights=weight)) if fit_intercept else 0.0
    centred = y - level
    origin = dense(X[blocks[0]]).mean(axis=0) if fit_intercept else np.zeros(d)
    matrix, total = np.zeros((d, d)), np.zeros(d)
    target, probe = np.zeros(d), np.zeros((d, columns.shape[1]))
    for rows in blocks:
        block = dense(X[rows]) - origin
        probe += (columns[rows].T @ block).T
        block_y = centred[rows]
        if weight is not None:
            root = np.sqrt(weight[rows])
            total += weight[rows] @ block
            block *= root[:, None]
            block_y = root * block_y
        else:
            total += block.sum(axis=0)
        target += block_y @ block
        matrix += block.T @ block
    mass = n if weight is None else float(weight.sum())
    probe = _above_rounding(probe, ROUNDING * np.sqrt(matrix.diagonal() / mass))
    anchor = np.zeros(d)
    if fit_intercept:
        shift = total / mass
        matrix -= mass * np.outer(shift, shift)
        anchor = origin + shift
    square = centred**2 if weight is None else weight * centred**2
    return System(
        matrix=matrix,
        target=Target(target, level, float(square.sum())),
        steering=probe,
        probe=probe,
        anchor=anchor,
        null=None,
        weight=weight,
        centred=fit_intercept,
        geometry=LinearGeometry(X, anchor),
    )


def _above_rounding(probe: Array, floor: Array) -> Array:
    """Clear contrasts that are rounding: where groups agree exactly, noise must not be inverted.

    ``floor`` is, for each row of the probe, what rounding makes of a difference of two means.
    """
    return np.where(np.abs(probe) > floor[:, None], probe, 0.0)
