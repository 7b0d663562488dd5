"""The learning problem, min Σ ℓ(y, f) + α‖w‖²  subject to  Ω(Cᵀf − o) ≤ ε, as an object.

    features + targets  →  one factorisation          the only cubic work
    … + constraint      →  solutions, or the frontier

Fits, frontiers, streams, and searches of losses without a closed form, pose their problems here.
The constraint may be changed after the factorisation, at the price of m solves.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from gferm.arrays import Array
from gferm.arrays.device import CPU, Device
from gferm.arrays.memory import explain_out_of_memory, with_room_for
from gferm.arrays.threads import one_blas_at_a_time
from gferm.fairness.constraint import Constraint
from gferm.features.base import Features, RowFeatures
from gferm.features.expansion import KernelFeatures
from gferm.solver.choice import (
    FACTORIZATIONS,
    Settings,
    SolverChoice,
    choose_method,
    factorize_system,
)
from gferm.solver.cholesky import is_positive_semidefinite, panel_size
from gferm.solver.iterations import Learner, first_shift
from gferm.solver.libsvm import solve_by_libsvm
from gferm.solver.path import trace_path
from gferm.solver.projection import Solution, certify, is_met, meet_exactly, project
from gferm.solver.reduction import FactorizedSystem, Reduction


class LearningProblem:
    """Features, targets and a constraint, factorised when somebody asks for a solution.

    Parameters
    ----------
    features : Features
    targets : sequence of arrays of shape (n_samples,)
        One for each model that is learned; of sums, which hold their target, an empty array.
    constraint : Constraint or None
        None when nobody is compared.
    columns : sparse array of shape (n_samples, m)
        C, as the features take it.
    settings : Settings

    Attributes
    ----------
    choice : SolverChoice
        What runs, and in the end what ran.
    """

    def __init__(
        self,
        features: Features,
        targets: Sequence[Array],
        constraint: Constraint | None,
        columns: Any,
        settings: Settings,
    ) -> None:
        self.features, self.targets, self.settings = features, targets, settings
        self.constraint, self.columns = constraint, columns
        self.choice = choose_method(
            features.form,
            features.n_unknowns,
            settings.loss,
            alpha=settings.alpha,
            solver=settings.solver,
            epsilon=settings.epsilon,
            match="prediction" if constraint is None else constraint.match,
            fit_intercept=features.fit_intercept,
            device=features.device.kind,
        )

    def with_constraint(self, constraint: Constraint | None, columns: Any) -> LearningProblem:
        """Return the problem under another constraint, which shares a factorisation made by now."""
        other = LearningProblem(self.features, self.targets, constraint, columns, self.settings)
        if "factorized" in vars(self):
            other.choice = self.choice
            other.factorized = self.factorized.with_columns(self.features.contrasts(columns))
        return other

    def solve(self) -> list[Solution]:
        """Learn one model for each target."""
        settings = self.settings
        with self._one_blas(), explain_out_of_memory(self.features.device):
            if self.choice.method == "libsvm":
                assert isinstance(self.features, KernelFeatures)
                return solve_by_libsvm(
                    self.features, self.targets, self.constraint, self.columns, settings
                )
            if self.choice.method != "projection":
                return self.learner().learn(self.targets, settings)
            return [
                project(aimed.reduce(), self.constraint, settings.epsilon)
                for aimed in [
                    self.factorized,
                    *(self.factorized.aimed_at(y) for y in self.targets[1:]),
                ]
            ]

    def learner(self, *, many_alphas: bool = False) -> Learner:
        """Return what iterates, for this alpha or for many; it uses a factorisation up."""
        if self.choice.method in ("libsvm", "projection"):
            raise ValueError(f"{self.choice.method} does not iterate.")
        # Newton's method looks at the features in their own basis
        spectral = many_alphas and self.choice.method == "splitting"
        with self._one_blas():
            factorized = self._factorize("spectrum" if spectral else None)
        return Learner(factorized, self.constraint, self.choice.method)

    def trace(self) -> TracedPath:
        """Walk from the plain model to the fairest: every epsilon of the square loss."""
        constraint = self.constraint
        assert constraint is not None
        with self._one_blas(), explain_out_of_memory(self.features.device):
            reduction = self.factorized.reduce()
        start = reduction.contrasts - constraint.offset
        path = trace_path(reduction.gram, start, constraint.norm)
        nu, epsilons = path.multipliers, path.totals / constraint.scale
        fairest = meet_exactly(reduction, constraint, near=nu[-1])  # the walk's end, made exact
        if is_met(certify(reduction, constraint, 0.0, fairest).violation, 0.0, epsilons[0]):
            nu[-1], epsilons[-1] = fairest, 0.0
        return TracedPath(epsilons, nu, reduction.without_rows())

    @cached_property
    def factorized(self) -> FactorizedSystem:
        """The one factorisation."""
        return self._factorize()

    def _factorize(self, factorization: str | None = None) -> FactorizedSystem:
        features, choice, settings = self.features, self.choice, self.settings
        choice = choice if factorization is None else replace(choice, factorization=factorization)
        shift = settings.alpha
        if choice.method != "projection":
            assert isinstance(features, RowFeatures)  # of sums only the square loss is known
            shift = first_shift(settings, self.targets[0], features.weight)

        def work(home: Device) -> tuple[FactorizedSystem, SolverChoice]:
            """Solve with the matrix at home on the device or in memory."""
            system = features.system(
                self.targets[0],
                self.columns,
                home=home,
                is_convex=is_positive_semidefinite,
                revisits=choice.method != "projection",
            )
            strict = settings.solver == "cholesky"
            return factorize_system(system, shift, choice, alpha=settings.alpha, strict=strict)

        if choice.form != "kernel":
            found, self.choice = work(CPU)
            return found
        needed = FACTORIZATIONS[str(choice.factorization)].matrices
        found, self.choice = with_room_for(
            features.n_unknowns, features.device, work, matrices=needed, workspace=panel_size
        )
        return found

    def _one_blas(self) -> AbstractContextManager[None]:
        """Return what leaves the cores to SciPy, which multiplies kernel matrices."""
        return one_blas_at_a_time() if self.choice.form == "kernel" else nullcontext()


@dataclass(frozen=True, eq=False)
class TracedPath:
    """The exact path in epsilon.

    Attributes
    ----------
    epsilons : array of shape (n_breakpoints,)
        Decreasing.
    multipliers : array of shape (n_breakpoints, m)
        ν.
    reduction : Reduction
        The way back to coefficients.
    """

    epsilons: Array
    multipliers: Array
    reduction: Reduction

    def at(self, epsilons: Array) -> Array:
        """Interpolate ν."""
        increasing = self.epsilons[::-1]
        columns = [np.interp(epsilons, increasing, nu) for nu in self.multipliers[::-1].T]
        return np.array(columns).T
