"""Any convex loss: the square-loss core and the loss's prox take turns.

    min Σ w ℓ(y, u) + alpha ‖w‖²   s.t.   u = f,   Ω(Cᵀf − o) ≤ bound

Over-relaxed ADMM, written in the one vector v that decides an iteration (Douglas–Rachford):

    u = prox(v)                              the loss, elementwise
    f = fair ridge regression of 2u − v      with alpha' = 2 alpha / ρ (fair_ridge.py)
    v ← v + relaxation · (f − u)             accelerated (anderson.py)

Weights enter both steps alike, so weights are repetitions of rows. Every f meets the constraint,
and the slopes ρ (v − u) of the loss make a dual point, whose duality gap (certificate.py) decides
when to stop. ρ follows the balance of ‖f − u‖ and the change of u.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gferm.arrays import Array
from gferm.solver.anderson import Anderson
from gferm.solver.certificate import certify_fit, solution_of, zero_objective
from gferm.solver.choice import Settings
from gferm.solver.fair_ridge import FairRidge, Fit, first_rho, require_reachable
from gferm.solver.projection import Solution

RELAXATION = 1.6
CHECK_EVERY = 5
FIRST_BALANCE = 10  # iteration of the first look at ρ; later ones each time twice as late
WORTH_IT = 2.0  # factor from which on ρ is changed, at most tenfold


@dataclass(frozen=True, eq=False)
class State:
    """Where an iteration stands: enough to go on from, also for a neighbouring problem."""

    v: Array
    rho: float


def solve_by_splitting(
    core: FairRidge, settings: Settings, y: Array, *, start: State | None = None
) -> tuple[Solution, State]:
    """Iterate until the relative duality gap is at most ``tol``, or ``max_iter`` times.

    Of all certified points the best is returned, with the state to start from another time.
    """
    loss, alpha = settings.loss, settings.alpha
    v, rho = (y, first_rho(loss, y, core.weight)) if start is None else (start.v, start.rho)
    if not core.shift(2.0 * alpha / rho):
        rho = 2.0 * alpha / core.alpha
    anderson, best = Anderson(y.size, core.weight), None
    u, next_balance = v, FIRST_BALANCE
    for iteration in range(1, settings.max_iter + 1):
        before, u = u, loss.prox(y, v, rho)
        fit = core.fit(2.0 * u - v)
        if iteration == 1:
            require_reachable(core, fit)
            floor = zero_objective(core, settings, y, fit)
        if iteration == 1 or iteration % CHECK_EVERY == 0 or iteration == settings.max_iter:
            found = certify_fit(core, settings, y, fit, rho * (v - u), rho)
            if best is None or found.duality_gap < best.duality_gap:
                best = found
            if best.duality_gap <= settings.tol * max(best.objective, floor):
                break
        if iteration == next_balance:
            next_balance *= 2
            factor = _imbalance(fit, u, before, v, core.weight)
            unworthy = 1.0 / WORTH_IT < factor < WORTH_IT
            if not unworthy and core.shift(2.0 * alpha / (rho * factor)):
                v, rho = u + (v - u) / factor, rho * factor  # the slopes ρ (v − u) stay
                anderson.forget()
                continue
        move = RELAXATION * (fit.predictions - u)
        accelerated = anderson.step(v, move)
        # ρ is judged by what the plain step does: acceleration jumps.
        v = v + move if iteration + 1 == next_balance else accelerated
    assert best is not None
    return solution_of(core, best, y, floor, iteration), State(v, rho)


def _imbalance(fit: Fit, u: Array, before: Array, v: Array, weight: Array | None) -> float:
    """Return by which factor ρ should grow: f and u far apart ask for more, a moving u for less.

    Both are taken relative to what they will be at the end: the spread of f and u, and the slopes.
    """

    def norm(x: Array) -> float:
        return float(np.sqrt(x @ x if weight is None else (weight * x) @ x))

    f, level = fit.predictions, fit.level
    apart = norm(f - u) * norm(v - u)
    moving = norm(u - before) * max(norm(f - level), norm(u - level))
    if apart == 0.0 or moving == 0.0:
        return 1.0
    return float(np.clip(np.sqrt(apart / moving), 0.1, 10.0))
