"""The m-dimensional projection that decides everything, and its certificate.

    min_c ½ (c − c₀)ᵀ G⁺ (c − c₀)   s.t.   Ω(c − o) ≤ bound

    bound = None     ν = 0, the plain model
    bound = 0        G ν = c₀ − o, one symmetric m×m solve of unknown rank
    else             the exact path (path.py), walked until the bound is met

Whatever ν is found, the duality gap of the whole learning problem is known in closed form,

    gap = price of the linear system's residual + 2 (bound · Ω°(ν) − νᵀ(c − o)),

with c read off the coefficients. It is reported with every solution.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gferm.arrays import Array
from gferm.exceptions import UnreachableEpsilonError
from gferm.fairness.constraint import Constraint
from gferm.solver.path import trace_path
from gferm.solver.reduction import Reduction

REFINEMENTS = 3
ACCEPTED_EXCESS = 1e-6  # over epsilon, as a share of the plain model's gap …
ROUNDED_SPREAD = 2e-9  # … or of the spread of labels and predictions


@dataclass(frozen=True, eq=False)
class Solution:
    """One fitted model.

    Attributes
    ----------
    coefficients : array of shape (p,)
        Of the kernel expansion, or of the features.
    intercept : float
    multipliers : array of shape (m,)
        What each contrast costs at the margin: minus the slope of the objective in the offset o.
        For the square loss that is 2ν.
    violation : float
        The left-hand side of the constraint, in the units of epsilon.
    objective : float
    duality_gap : float
        The objective is at most this far above the optimum.
    floor : float
        An objective below this is zero up to rounding.
    active : bool
        Whether the constraint changes the model at all.
    constant : bool
        Whether the constraint leaves nothing but the constant model.
    n_iter : int
        Iterations; 1 for a closed form, or the steps that refine a factor in float32.
    """

    coefficients: Array
    intercept: float
    multipliers: Array
    violation: float
    objective: float
    duality_gap: float
    floor: float
    active: bool
    constant: bool
    n_iter: int

    @property
    def relative_gap(self) -> float:
        """The gap beside the objective; a perfect fit, whose objective is zero, has a floor."""
        return self.duality_gap / max(self.objective, self.floor)


def project(reduction: Reduction, constraint: Constraint | None, epsilon: float | None) -> Solution:
    """Solve the learning problem for one epsilon."""
    nothing = np.zeros(reduction.contrasts.size)
    if constraint is None or epsilon is None:
        return certify(reduction, constraint, epsilon, nothing)
    plain = constraint.violation_of(reduction.contrasts)
    if plain <= epsilon:
        return certify(reduction, constraint, epsilon, nothing)
    if epsilon == 0:
        solution = certify(reduction, constraint, epsilon, meet_exactly(reduction, constraint))
        if is_met(solution.violation, epsilon, plain):
            return solution
    start, bound = reduction.contrasts - constraint.offset, epsilon * constraint.scale
    path = trace_path(reduction.gram, start, constraint.norm, stop=bound)
    solution = certify(reduction, constraint, epsilon, path.multipliers[-1])
    require_met(solution.violation, epsilon, plain, constraint)
    return solution


def is_met(violation: float, epsilon: float, plain_violation: float, spread: float = 0.0) -> bool:
    """Return whether the constraint holds, but for rounding.

    That is a share of the gap of the plain model, or of the spread of labels and predictions.
    """
    excess = ACCEPTED_EXCESS * max(plain_violation, epsilon)
    return violation <= epsilon + max(excess, ROUNDED_SPREAD * spread)


def require_met(
    violation: float,
    epsilon: float,
    plain_violation: float,
    constraint: Constraint,
    spread: float = 0.0,
) -> None:
    """Refuse a solution that breaks the constraint, and say why there is no better one."""
    if is_met(violation, epsilon, plain_violation, spread):
        return
    reached = f"epsilon={epsilon:g} cannot be met; the smallest that can is {violation:.6g}"
    if constraint.offset.any():
        raise UnreachableEpsilonError(
            f"{reached}. Matching residuals asks for {constraint.n_contrasts} contrasts and the "
            "model has fewer degrees of freedom: use a larger epsilon, fewer y_bins or s_bins, or "
            "a richer kernel."
        )
    raise UnreachableEpsilonError(
        f"{reached} in floating point: the problem is badly conditioned. Scale X, use a larger "
        "alpha, or try solver='spectrum'."
    )


def meet_exactly(reduction: Reduction, constraint: Constraint, near: Array | None = None) -> Array:
    """Find ν with c = o: solve G ν = c₀ − o, then correct what rounding left over.

    Where G is singular there are many such ν; the one nearest to ``near`` (0 by default) is found.
    """
    values, vectors = np.linalg.eigh(reduction.gram)
    cutoff = values.size * np.finfo(float).eps * values[-1]
    inverse = np.zeros_like(values)
    np.divide(1.0, values, out=inverse, where=values > cutoff)
    multipliers = np.zeros(values.size) if near is None else near.copy()
    for _ in range(REFINEMENTS):
        reached = reduction.contrasts_of(reduction.coefficients(multipliers))
        multipliers += vectors @ (inverse * (vectors.T @ (reached - constraint.offset)))
    return multipliers


def certify(
    reduction: Reduction, constraint: Constraint | None, epsilon: float | None, multipliers: Array
) -> Solution:
    """Turn multipliers into a solution with its violation and duality gap."""
    x = reduction.coefficients(multipliers)
    reached = reduction.contrasts_of(x)
    gap, objective = reduction.price_of_residual(multipliers), reduction.objective(multipliers)
    intercept, constant = reduction.intercepts(x), reduction.is_constant(multipliers)
    violation = np.nan
    if constraint is not None:
        violation = constraint.violation_of(reached)
        if epsilon is not None:
            bound = epsilon * constraint.scale
            pull = float(multipliers @ (reached - constraint.offset))
            gap += 2.0 * max(bound * constraint.norm.dual(multipliers) - pull, 0.0)
    return Solution(
        coefficients=reduction.restore(x),
        intercept=float(intercept),
        multipliers=2.0 * multipliers,
        violation=violation,
        objective=float(objective),
        duality_gap=float(gap),
        floor=np.finfo(float).eps * reduction.system.target.norm2 + np.finfo(float).tiny,
        active=bool(np.any(multipliers)),
        constant=constant,
        n_iter=reduction.steps,
    )
