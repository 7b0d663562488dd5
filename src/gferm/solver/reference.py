"""The learning problem stated word for word in CVXPY: the oracle of tests and benchmarks.

    min over (w, b)   Σ w_i (y_i − f_i)² + alpha ‖w‖²,   f = Φ w + b
    subject to        Σ over compared pairs |f̄_p − f̄_q| ≤ bound,

with Φ the features, or a square root of the kernel matrix (w = Φᵀα, ‖w‖² = αᵀKα). It shares
nothing with the solver but the matrices C and B; slow on purpose, exact enough to be believed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gferm.arrays import Array
from gferm.contrasts import Contrasts


@dataclass(frozen=True, eq=False)
class ReferenceSolution:
    """What CVXPY found."""

    objective: float
    predictions: Array


def solve_reference(
    y: Array,
    contrasts: Contrasts | None,
    epsilon: float | None,
    alpha: float,
    *,
    features: Array | None = None,
    kernel_matrix: Array | None = None,
    weight: Array | None = None,
    fit_intercept: bool = True,
    **solver_options: Any,
) -> ReferenceSolution:
    """Solve with Clarabel, from ``features`` or from ``kernel_matrix``."""
    import cvxpy as cp

    if features is None:
        assert kernel_matrix is not None
        features = _square_root(kernel_matrix)
    w = cp.Variable(features.shape[1])
    b = cp.Variable() if fit_intercept else 0.0
    f = features @ w + b
    root = np.ones_like(y) if weight is None else np.sqrt(weight)
    objective = cp.sum_squares(cp.multiply(root, y - f)) + alpha * cp.sum_squares(w)
    constraints = []
    if contrasts is not None and epsilon is not None:
        gaps = contrasts.pairs @ (contrasts.columns.toarray().T @ f - contrasts.offset)
        constraints.append(cp.norm1(gaps) <= epsilon * contrasts.scale)
    problem = cp.Problem(cp.Minimize(objective), constraints)
    problem.solve(solver=cp.CLARABEL, **solver_options)
    return ReferenceSolution(float(problem.value), np.asarray(f.value))


def _square_root(matrix: Array) -> Array:
    values, vectors = np.linalg.eigh(matrix)
    kept = values > len(values) * np.finfo(float).eps * values[-1]
    root: Array = vectors[:, kept] * np.sqrt(values[kept])
    return root
