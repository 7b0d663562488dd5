"""Piecewise linear losses in few unknowns: an augmented Lagrangian, minimised by Newton's method.

With the slopes g of the last round and a stiffness ρ, a round minimises over w, b

    alpha ‖w‖² + Σ w_i env(f_i + g_i/ρ),   env(v) = min_u ℓ(u) + ρ/2 (u − v)²,
    subject to the fairness constraint,

and then takes the slopes ρ (v − prox(v)) it ends with. The envelope is quadratic near the kinks of
the loss and linear elsewhere, so a Newton step is the square-loss core on the few rows at a kink:
a d×d system, then the m-dimensional projection. A round ends when the set of these rows stands;
ρ grows from round to round. A hundred steps do what takes splitting thousands of iterations, and a
step costs two passes over the features; curved losses need none of this.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import linalg

from gferm.arrays import Array
from gferm.features.geometry import LinearGeometry
from gferm.solver.certificate import Certificate, certify_fit, solution_of, zero_objective
from gferm.solver.choice import Settings
from gferm.solver.fair_ridge import FairRidge, Fit, first_rho, project_contrasts, require_reachable
from gferm.solver.projection import Solution
from gferm.solver.reduction import without_noise

GROWTH = 2.0  # of ρ, from round to round
LEAST_PIVOT = 1e-9  # share of the diagonal: below it the system has lost its digits, and ρ stays
LONGEST_ROUND = 200  # steps; ten are usual
PATIENCE = 5  # rounds without a smaller gap
DESCENT = 1e-4  # share of the promised decrease that a step must bring
SHORTEST = 1e-9  # step; a shorter one is rounding
FLAT = 1e-14  # promised decrease, as a share of the objective, that is rounding


@dataclass(frozen=True, eq=False)
class Step:
    """A Newton step: its effect on weights, level and predictions, with the multipliers."""

    x: Array
    level: float
    predictions: Array
    multipliers: Array
    promise: float


class _Lagrangian:
    """The augmented Lagrangian, round after round, and where its minimisation stands."""

    def __init__(self, core: FairRidge, settings: Settings, y: Array, fit: Fit) -> None:
        assert isinstance(core.system.geometry, LinearGeometry)
        self.core, self.settings, self.y = core, settings, y
        self.geometry = core.system.geometry
        self.weight = np.ones_like(y) if core.weight is None else core.weight
        self.x, self.level, self.f = fit.x, fit.level, fit.predictions
        self.multipliers = np.zeros(core.system.probe.shape[1])
        self.given, self.rho = np.zeros_like(y), first_rho(settings.loss, y, core.weight)
        self.stiff = False

    def value(self, x: Array, f: Array) -> float:
        v = f + self.given / self.rho
        u = self.settings.loss.prox(self.y, v, self.rho)
        with np.errstate(over="ignore"):  # a step may be huge before it is shortened
            envelope = self.settings.loss.value(self.y, u) + self.rho / 2.0 * (u - v) ** 2
            return float(self.weight @ envelope) + self.settings.alpha * float(x @ x)

    def slopes(self) -> Array:
        v = self.f + self.given / self.rho
        return self.rho * (v - self.settings.loss.prox(self.y, v, self.rho))

    def advance(self, step: Step) -> float:
        """Go down the step, as far as it descends; say how far, 0 if it is not worth going."""
        start, length = self.value(self.x, self.f), 1.0
        while length >= SHORTEST:
            x, f = self.x + length * step.x, self.f + length * step.predictions
            enough = start - DESCENT * length * step.promise + FLAT * start
            if self.value(x, f) <= enough:
                self.x, self.f, self.level = x, f, self.level + length * step.level
                self.multipliers = step.multipliers
                return length
            length /= 2.0
        return 0.0

    def descend(self, slopes: Array) -> bool:
        """Take the step of splitting: it treats every row as if at a kink, and always descends."""
        if not self.core.shift(2.0 * self.settings.alpha / self.rho):
            return False
        fit = self.core.fit(self.f - slopes / self.rho)
        self.x, self.level, self.f = fit.x, fit.level, fit.predictions
        self.multipliers = self.rho * fit.multipliers
        return True

    def close(self) -> Certificate:
        """Take the slopes for the next round, and see how near the optimum they are."""
        self.given = self.slopes()
        fit = Fit(self.x, self.level, self.f, self.multipliers, float(self.x @ self.x))
        found = certify_fit(self.core, self.settings, self.y, fit, self.given, 1.0)
        self.f = found.fit.predictions  # what the steps have summed up, without their rounding
        return found


def solve_by_newton(
    core: FairRidge, settings: Settings, y: Array, *, slopes: Array | None = None
) -> tuple[Solution, Array]:
    """Minimise round by round until the duality gap is small, in ``max_iter`` Newton steps.

    It stops before when rounding lets it go no further: the gap stays, or a round does not end.
    ``slopes`` are those that a neighbouring problem ended with; they are given back for the next.
    """
    fit = core.fit(y)
    require_reachable(core, fit)
    floor = zero_objective(core, settings, y, fit)
    state, best = _Lagrangian(core, settings, y, fit), None
    if slopes is not None:
        state.given = slopes
    iteration = rounds_in_vain = 0
    while iteration < settings.max_iter:
        before, whole = np.empty(0, dtype=np.intp), False
        last = min(iteration + LONGEST_ROUND, settings.max_iter)
        while iteration < last:
            slopes = state.slopes()
            kinks = np.flatnonzero(settings.loss.at_kink(y, slopes))
            if whole and np.array_equal(kinks, before):
                break  # the quadratic that was minimised is the function itself
            iteration += 1
            try:
                step = _newton_step(state, slopes, kinks)
            except linalg.LinAlgError:  # ρ is past what doubles can hold
                last = iteration
                break
            if abs(step.promise) <= FLAT * state.value(state.x, state.f):
                break
            length = state.advance(step)
            whole, before = length == 1.0, kinks
            if length == 0.0 and not state.descend(slopes):
                last = iteration
                break
        found = state.close()
        rounds_in_vain += 1
        if best is None or found.duality_gap < best.duality_gap:
            best, rounds_in_vain = found, 0
        done = best.duality_gap <= settings.tol * max(best.objective, floor)
        if done or rounds_in_vain == PATIENCE or iteration == last:
            break
        state.rho *= 1.0 if state.stiff else GROWTH
    assert best is not None
    return solution_of(core, best, y, floor, iteration), state.given


def _newton_step(state: _Lagrangian, slopes: Array, kinks: npt.NDArray[np.intp]) -> Step:
    """Minimise the quadratic that touches the augmented Lagrangian, within the constraint.

    The intercept is eliminated: the rows at a kink are taken from their own mean.
    """
    core, alpha, rho = state.core, state.settings.alpha, state.rho
    system, weighted = core.system, state.weight * slopes
    scatter, mean, mass = state.geometry.moments(kinks, state.weight, centred=system.centred)
    gradient = 2.0 * alpha * state.x + state.geometry.pull(weighted)
    level_gradient = float(weighted.sum()) if system.centred else 0.0
    matrix = rho * scatter
    matrix.flat[:: len(matrix) + 1] += 2.0 * alpha
    diagonal = matrix.diagonal().copy()
    factor = linalg.cho_factor(matrix, overwrite_a=True, check_finite=False)
    # What a pivot has lost of its diagonal does not depend on the units of the features.
    state.stiff = bool((factor[0].diagonal() ** 2 < LEAST_PIVOT * diagonal).any())
    sources = np.column_stack([mean * level_gradient - gradient, system.probe])
    solved = linalg.cho_solve(factor, sources, check_finite=False)
    plain, correction = solved[:, 0], solved[:, 1:]
    gram = without_noise(system.probe.T @ correction)
    multipliers = project_contrasts(
        gram,
        system.probe.T @ (state.x + plain),
        core.constraint,
        core.epsilon,
        np.asarray(np.linalg.pinv(gram, hermitian=True), dtype=float),
    )
    x = plain - correction @ multipliers
    level = -level_gradient / (rho * mass) - float(mean @ x) if system.centred else 0.0
    return Step(
        x=x,
        level=level,
        predictions=level + state.geometry.predictions(x, x),
        multipliers=multipliers,
        promise=-float(gradient @ x) - level_gradient * level,
    )
