"""Assemble a System from data, in the two ways of system.py: by kernel and by features."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from gferm.arrays import Array
from gferm.arrays.blocks import row_blocks
from gferm.arrays.device import CPU, Device, device_of
from gferm.features.kernel import center_kernel
from gferm.solver.geometry import KernelGeometry
from gferm.solver.moments import ROUNDING, Finish, above_rounding, sum_over
from gferm.solver.origin import Origin
from gferm.solver.system import System, Target


def kernel_system(
    matrix: Any,
    y: Array,
    columns: sparse.csr_array,
    *,
    weight: Array | None = None,
    fit_intercept: bool = True,
    device: Device | None = None,
) -> System:
    """Write the problem in the n coefficients of the kernel expansion.

    ``matrix`` is overwritten; with the factor in its place, one n×n array is all there ever is.
    ``device`` is where it will be factorised: where it lives, unless it is too large for that.
    """
    n, home = len(y), device_of(matrix)
    size = float(np.abs(home.get(matrix.diagonal())).max())
    level = float(np.average(y, weights=weight)) if fit_intercept else 0.0
    anchor, null = center_and_scale(matrix, weight, fit_intercept=fit_intercept)
    size = max(size, float(np.abs(anchor).max()))
    target, scale = y - level, None
    if weight is not None:
        scale = np.sqrt(weight)
        target, anchor = scale * target, scale * anchor
        columns = sparse.diags_array(1.0 / scale).tocsr() @ columns
    probe = home.get(home.times_columns(matrix, home.put_columns(columns)))
    floor = np.full(n, ROUNDING * size) if scale is None else ROUNDING * size * scale
    return System(
        matrix=matrix,
        target=Target(target, level, float(target @ target)),
        steering=columns.toarray(),
        probe=above_rounding(probe, floor),
        anchor=anchor,
        null=null,
        weight=weight,
        centred=fit_intercept,
        geometry=KernelGeometry(scale),
        device=home if device is None else device,
    )


def center_and_scale(
    matrix: Any, weight: Array | None, *, fit_intercept: bool
) -> tuple[Array, Array | None]:
    """Turn K into A = √w∘(centred K)∘√w, in place.

    Returns the means that centring took away, and the unit vector that A then maps to zero.
    """
    n, device = len(matrix), device_of(matrix)
    means = center_kernel(matrix, weight) if fit_intercept else np.zeros(n)
    if weight is None:
        return means, np.full(n, n**-0.5) if fit_intercept else None
    scale = np.sqrt(weight)
    there = device.put(scale)
    for rows in row_blocks(n, n, device.at_once()):
        matrix[rows] *= there[rows, None] * there
    return means, scale / np.sqrt(weight.sum()) if fit_intercept else None


def linear_system(
    X: Any,
    y: Array,
    columns: sparse.csr_array,
    *,
    weight: Array | None = None,
    fit_intercept: bool = True,
    finish: Finish | None = None,
    device: Device = CPU,
) -> System:
    """Write the problem in the d coefficients of the features, in one pass over blocks of rows.

    Neither a centred copy of X nor an n×n array is made. ``finish`` makes the features themselves
    of those that are summed, which happens on ``device``.
    """
    X = X.tocsr() if hasattr(X, "tocsr") else X  # rows of a CSC matrix are slow to cut out
    targets = y[:, None]
    origin = Origin.near_the_mean(X, targets, weight, fit_intercept=fit_intercept)
    moments, probe = sum_over(X, targets, weight, origin, columns, device=device)
    if finish is not None:
        moments, probe = moments.finished(finish), finish(probe)
    system, _ = moments.system(probe, X, weight, fit_intercept=fit_intercept)
    return system
