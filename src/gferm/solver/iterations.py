"""Iterations for losses without a closed form, each setting from where a neighbouring one ended.

A classifier of many classes has a target of signs for each class and one system for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gferm.arrays import Array
from gferm.fairness.constraint import Constraint
from gferm.losses import LOSSES
from gferm.solver.choice import Settings
from gferm.solver.fair_ridge import FairRidge, first_rho
from gferm.solver.newton import solve_by_newton
from gferm.solver.projection import Solution, require_met
from gferm.solver.reduction import FactorizedSystem
from gferm.solver.splitting import State, solve_by_splitting


def first_shift(settings: Settings, y: Array, weight: Array | None) -> float:
    """Return the alpha with which the system is first factorised."""
    if settings.loss == LOSSES["squared"]:
        return settings.alpha
    return 2.0 * settings.alpha / first_rho(settings.loss, y, weight)


class Learner:
    """Learns with iterations, each setting from where a neighbouring one ended.

    Parameters
    ----------
    factorized : FactorizedSystem
        It is used up.
    constraint : Constraint or None
    method : {"splitting", "newton"}
    """

    def __init__(
        self, factorized: FactorizedSystem, constraint: Constraint | None, method: str
    ) -> None:
        self._method = method  # its name: a method kept here would keep all of this alive
        self._core = FairRidge(factorized, constraint, None)
        self._states: dict[int, State] = {}
        self._slopes: dict[int, Array] = {}

    def constrain(self, constraint: Constraint | None, columns: Any) -> None:
        """Take another constraint; the factorisation and where iterations stand are kept."""
        self._core.constrain(constraint, columns)

    def forget(self) -> None:
        """Start afresh: what comes next is no neighbour."""
        self._states.clear()
        self._slopes.clear()

    def learn(self, targets: Sequence[Array], settings: Settings) -> list[Solution]:
        """Solve for every target."""
        core = self._core
        core.epsilon = settings.epsilon
        # Numbers far from zero would lose digits; with an intercept they may as well be near it.
        moves = core.fit_intercept and not settings.loss.takes_classes
        levels = [float(np.average(y, weights=core.weight)) if moves else 0.0 for y in targets]
        solve = self._by_newton if self._method == "newton" else self._by_splitting
        solutions = [
            solve(k, y - level, settings)
            for k, (y, level) in enumerate(zip(targets, levels, strict=True))
        ]
        for solution in solutions:  # of a model that breaks the constraint nothing is known
            constraint, epsilon = core.constraint, settings.epsilon
            if np.isinf(solution.duality_gap) and constraint is not None and epsilon is not None:
                require_met(solution.violation, epsilon, 0.0, constraint)
        return [
            replace(solution, intercept=solution.intercept + level)
            for solution, level in zip(solutions, levels, strict=True)
        ]

    def _by_splitting(self, k: int, y: Array, settings: Settings) -> Solution:
        solution, self._states[k] = solve_by_splitting(
            self._core, settings, y, start=self._states.get(k)
        )
        return solution

    def _by_newton(self, k: int, y: Array, settings: Settings) -> Solution:
        """Use Newton's method, and splitting where rounding stopped it short of the optimum."""
        self._core.shift(first_shift(settings, y, self._core.weight))
        solution, self._slopes[k] = solve_by_newton(
            self._core, settings, y, slopes=self._slopes.get(k)
        )
        left = settings.max_iter - solution.n_iter
        if solution.relative_gap <= settings.tol or left <= 0:
            return solution
        other, _ = solve_by_splitting(self._core, replace(settings, max_iter=left), y)
        if other.duality_gap < solution.duality_gap:
            solution = other
        return replace(solution, n_iter=settings.max_iter - left + other.n_iter)
