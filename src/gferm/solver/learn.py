"""Several targets on one factorisation, by projection, by Newton's method or by splitting.

A classifier of many classes has a target of signs for each class and one system for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gferm.arrays import Array
from gferm.fairness.constraint import Contrasts
from gferm.losses import LOSSES
from gferm.solver.fair_ridge import FairRidge
from gferm.solver.newton import solve_by_newton
from gferm.solver.projection import Solution, project, require_met
from gferm.solver.splitting import State, solve_by_splitting
from gferm.solver.start import first_rho
from gferm.solver.system import FactorizedSystem
from gferm.solver.task import Task


def first_shift(task: Task, y: Array, weight: Array | None) -> float:
    """Return the alpha with which the system is first factorised."""
    if task.loss == LOSSES["squared"]:
        return task.alpha
    return 2.0 * task.alpha / first_rho(task.loss, y, weight)


def learn(
    factorized: FactorizedSystem, targets: Sequence[Array], task: Task, method: str
) -> list[Solution]:
    """Solve for every target; the system was assembled for the first of them."""
    if method == "projection":
        aimed = [factorized, *(factorized.aimed_at(y) for y in targets[1:])]
        return [project(one.reduce(), task.contrasts, task.epsilon) for one in aimed]
    return Learner(factorized, task.contrasts, method).learn(targets, task)


class Learner:
    """Learns with iterations, each setting from where a neighbouring one ended.

    Parameters
    ----------
    factorized : FactorizedSystem
        It is used up.
    contrasts : Contrasts or None
    method : {"splitting", "newton"}
    """

    def __init__(
        self, factorized: FactorizedSystem, contrasts: Contrasts | None, method: str
    ) -> None:
        self._method = method  # its name: a method kept here would keep all of this alive
        self._core = FairRidge(factorized, contrasts, None)
        self._states: dict[int, State] = {}
        self._slopes: dict[int, Array] = {}

    def forget(self) -> None:
        """Start afresh: what comes next is no neighbour."""
        self._states.clear()
        self._slopes.clear()

    def learn(self, targets: Sequence[Array], task: Task) -> list[Solution]:
        """Solve for every target."""
        core = self._core
        core.epsilon = task.epsilon
        # Numbers far from zero would lose digits; with an intercept they may as well be near it.
        moves = core.fit_intercept and not task.loss.takes_classes
        levels = [float(np.average(y, weights=core.weight)) if moves else 0.0 for y in targets]
        solve = self._by_newton if self._method == "newton" else self._by_splitting
        solutions = [
            solve(k, y - level, task)
            for k, (y, level) in enumerate(zip(targets, levels, strict=True))
        ]
        for solution in solutions:
            _require_fair(solution, task)
        return [
            replace(solution, intercept=solution.intercept + level)
            for solution, level in zip(solutions, levels, strict=True)
        ]

    def _by_splitting(self, k: int, y: Array, task: Task) -> Solution:
        solution, self._states[k] = solve_by_splitting(
            self._core, task, y, start=self._states.get(k)
        )
        return solution

    def _by_newton(self, k: int, y: Array, task: Task) -> Solution:
        """Use Newton's method, and splitting where rounding stopped it short of the optimum."""
        self._core.shift(first_shift(task, y, self._core.weight))
        solution, self._slopes[k] = solve_by_newton(self._core, task, y, slopes=self._slopes.get(k))
        left = task.max_iter - solution.n_iter
        if solution.relative_gap <= task.tol or left <= 0:
            return solution
        other, _ = solve_by_splitting(self._core, replace(task, max_iter=left), y)
        if other.duality_gap < solution.duality_gap:
            solution = other
        return replace(solution, n_iter=task.max_iter - left + other.n_iter)


def _require_fair(solution: Solution, task: Task) -> None:
    """Refuse a model that nothing is known of because it breaks the constraint."""
    if task.contrasts is None or task.epsilon is None:
        return
    if np.isinf(solution.duality_gap):
        require_met(solution.violation, task.epsilon, 0.0, task.contrasts)
