"""The hinge at epsilon = 0 or None: libsvm on the projected kernel.

On κ_fair (fair_kernel.py) every function has equal cell means, so the constraint is gone and a
plain support vector machine, ½‖w‖² + c Σ hinge with c = 1/(2 alpha), is the fair one. Its dual
coefficients β are slopes of the loss, g = −2 alpha β, so the duality gap costs one product.

libsvm keeps its kernel in single precision. Where that is too coarse for ``tol`` (a small alpha),
splitting goes on from libsvm's answer, on the same projected kernel. What is reported in the end is
read off the original kernel, with which the model predicts: projecting may have cost digits.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from gferm.arrays import Array
from gferm.arrays.device import CPU
from gferm.fairness.comparison import no_contrasts
from gferm.fairness.constraint import Constraint
from gferm.features.expansion import KernelFeatures, kernel_system
from gferm.features.fair_kernel import FairKernel, project_kernel
from gferm.solver.certificate import ZERO, is_constant, spread_of
from gferm.solver.choice import Settings, SolverChoice, factorize_system
from gferm.solver.cholesky import is_positive_semidefinite
from gferm.solver.fair_ridge import FairRidge, first_rho
from gferm.solver.projection import Solution, require_met
from gferm.solver.splitting import State, solve_by_splitting

FINEST = 1e-6  # tolerance below which single precision goes round in circles
ITERATIONS_PER_ROW = 200  # far more than it takes, unless it does


@dataclass(frozen=True, eq=False)
class Machine:
    """A support vector machine on the projected kernel: f = K_fair β + level."""

    beta: Array
    level: float
    objective: float
    dual: float
    n_iter: int

    @property
    def gap(self) -> float:
        """How far the objective is from the dual value, on the projected kernel."""
        return self.objective - self.dual


def solve_by_libsvm(
    features: KernelFeatures,
    targets: Sequence[Array],
    constraint: Constraint | None,
    columns: sparse.csr_array,
    settings: Settings,
) -> list[Solution]:
    """Train one machine for each target, on features of the kernel form."""
    matrix, anchor = features.semidefinite_matrix(CPU, is_positive_semidefinite)
    unconstrained = constraint is None or settings.epsilon is None
    fair = project_kernel(matrix, no_contrasts(len(matrix)) if unconstrained else columns)
    back, solutions = _Original(features, anchor, fair, constraint, columns), []
    for y in targets:
        machine = _train(matrix, y, settings, features.weight)
        if machine.gap > settings.tol * machine.objective:
            machine = _go_on(matrix, y, settings, features.weight, machine)
        solutions.append(back.solution(y, settings, machine))
    return solutions


def _train(matrix: Array, y: Array, settings: Settings, weight: Array | None) -> Machine:
    svc = SVC(
        C=1.0 / (2.0 * settings.alpha),
        kernel="precomputed",
        tol=max(settings.tol, FINEST),
        max_iter=ITERATIONS_PER_ROW * len(y),
    )
    with config_context(assume_finite=True), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the gap will tell
        svc.fit(matrix, y, sample_weight=weight)
    beta, level = np.zeros_like(y), float(svc.intercept_[0])
    beta[svc.support_] = svc.dual_coef_[0]
    image = matrix[:, svc.support_] @ svc.dual_coef_[0]
    norm2 = max(float(beta @ image), 0.0)
    objective = settings.objective(y, image + level, weight, norm2)
    dual = settings.alpha * (2.0 * float(y @ beta) - norm2)
    return Machine(beta, level, objective, dual, int(svc.n_iter_[0]))


def _go_on(
    matrix: Array, y: Array, settings: Settings, weight: Array | None, machine: Machine
) -> Machine:
    """Improve a machine in double precision, without constraint on the projected kernel."""
    rho = first_rho(settings.loss, y, weight)
    slopes = -2.0 * settings.alpha * machine.beta
    v = matrix @ machine.beta + machine.level
    v += (slopes if weight is None else slopes / weight) / rho
    system = kernel_system(matrix.copy(), y, no_contrasts(y.size), weight=weight)
    choice = SolverChoice("splitting", "kernel", "cholesky")
    factorized, _ = factorize_system(
        system, 2.0 * settings.alpha / rho, choice, alpha=settings.alpha, strict=False
    )
    free = replace(settings, epsilon=None)
    better, _ = solve_by_splitting(FairRidge(factorized, None, None), free, y, start=State(v, rho))
    if better.duality_gap >= machine.gap:
        return machine
    return Machine(
        better.coefficients,
        better.intercept,
        better.objective,
        better.objective - better.duality_gap,
        machine.n_iter + better.n_iter,
    )


@dataclass(frozen=True, eq=False)
class _Original:
    """The original kernel, evaluated as `predict` does, and the way back to it."""

    features: KernelFeatures
    anchor: Array
    fair: FairKernel
    constraint: Constraint | None
    columns: sparse.csr_array

    def solution(self, y: Array, settings: Settings, machine: Machine) -> Solution:
        coefficients = self.fair.to_original(machine.beta)
        intercept = machine.level - float(self.anchor @ coefficients)
        image = self.features.multiply(coefficients[None])[0]
        norm2 = max(float(coefficients @ image), 0.0)
        multipliers = 2.0 * settings.alpha * self.fair.multipliers(machine.beta)
        constraint, violation, weight = self.constraint, np.nan, self.features.weight
        if constraint is not None:
            violation = constraint.violation_of(self.columns.T @ image)
            if settings.epsilon is None:
                multipliers = np.zeros(constraint.n_contrasts)
            else:
                require_met(violation, settings.epsilon, 0.0, constraint, spread_of(y, image))
        objective = settings.objective(y, image + intercept, weight, norm2)
        return Solution(
            coefficients=coefficients,
            intercept=intercept,
            multipliers=multipliers,
            violation=violation,
            objective=objective,
            duality_gap=max(objective - machine.dual, 0.0),
            floor=ZERO * settings.objective(y, np.zeros_like(y), weight, 0.0),
            active=bool(multipliers.any()),
            constant=is_constant(image, y),
            n_iter=machine.n_iter,
        )
