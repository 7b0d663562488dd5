"""The learning problem stated word for word in CVXPY: the oracle of tests and benchmarks.

    min over (w, b)   Σ w_i ℓ(y_i, f_i) + alpha ‖w‖²,   f = Φ w + b
    subject to        Σ over compared pairs |f̄_p − f̄_q| ≤ bound,

with Φ the features, or a square root of the kernel matrix (w = Φᵀα, ‖w‖² = αᵀKα). It shares
nothing with the solver but the matrices C and B, and has losses of its own; slow on purpose, exact
enough to be believed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gferm.arrays import Array
from tests.comparing import Compared


@dataclass(frozen=True, eq=False)
class ReferenceSolution:
    """What CVXPY found."""

    objective: float
    predictions: Array


def solve_reference(
    y: Array,
    contrasts: Compared | None,
    epsilon: float | None,
    alpha: float,
    *,
    features: Array | None = None,
    kernel_matrix: Array | None = None,
    weight: Array | None = None,
    fit_intercept: bool = True,
    loss: str = "squared",
    **solver_options: Any,
) -> ReferenceSolution:
    """Solve with Clarabel, from ``features`` or from ``kernel_matrix``; see `reference_loss`."""
    import cvxpy as cp

    if features is None:
        assert kernel_matrix is not None
        features = _square_root(kernel_matrix)
    w = cp.Variable(features.shape[1])
    b = cp.Variable() if fit_intercept else 0.0
    f = features @ w + b
    weight = np.ones_like(y) if weight is None else weight
    objective = reference_loss(cp, loss, y, f, weight) + alpha * cp.sum_squares(w)
    constraints = []
    if contrasts is not None and epsilon is not None:
        gaps = contrasts.pairs @ (contrasts.columns.toarray().T @ f - contrasts.offset)
        constraints.append(cp.norm1(gaps) <= epsilon * contrasts.scale)
    problem = cp.Problem(cp.Minimize(objective), constraints)
    problem.solve(solver=cp.CLARABEL, **solver_options)
    return ReferenceSolution(float(problem.value), np.asarray(f.value))


def reference_loss(cp: Any, loss: str, y: Array, f: Any, weight: Array) -> Any:
    """Σ w ℓ(y, f) in CVXPY's words, with the default parameters of each loss."""
    error, margin = f - y, cp.multiply(y, f)
    if loss == "squared":  # the form that Clarabel likes best
        return cp.sum_squares(cp.multiply(np.sqrt(weight), error))
    values = {
        "absolute": lambda: cp.abs(error),
        "huber": lambda: cp.huber(error, 1.35),
        "quantile": lambda: cp.maximum(0.5 * error, -0.5 * error),
        "epsilon_insensitive": lambda: cp.pos(cp.abs(error) - 0.1),
        "hinge": lambda: cp.pos(1 - margin),
        "squared_hinge": lambda: cp.square(cp.pos(1 - margin)),
        "log_loss": lambda: cp.logistic(-margin),
    }
    return weight @ values[loss]()


def _square_root(matrix: Array) -> Array:
    values, vectors = np.linalg.eigh(matrix)
    kept = values > len(values) * np.finfo(float).eps * values[-1]
    root: Array = vectors[:, kept] * np.sqrt(values[kept])
    return root
