"""The certificate of any convex loss: how far a fair model is from the best one.

For slopes g, one for each row and unit of weight, and multipliers λ the dual value is

    D = − Σ w ℓ*(y, g) − ‖Φᵀ(w∘g + C λ)‖² / (4 alpha) − λᵀo − bound · Ω°(λ),

never above the optimum as long as g stays between the loss's slopes and, with an intercept,
Σ w g = 0. Both are arranged here, so objective − D bounds the distance from the optimum whatever
the iteration that found g and λ. The bound is for models that keep the constraint: predictions are
computed anew from the coefficients, and one that breaks it has an infinite gap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from gferm.arrays import Array
from gferm.solver.choice import Settings
from gferm.solver.fair_ridge import FairRidge, Fit
from gferm.solver.projection import Solution, is_met

ZERO = 1e-7  # an objective below this share of the first one is zero
CONSTANT = 1e-10  # a spread of the predictions below this share of the labels' is rounding


@dataclass(frozen=True, eq=False)
class Certificate:
    """A fair model with a dual point.

    Attributes
    ----------
    fit : Fit
    multipliers : array of shape (m,)
        λ.
    objective, duality_gap : float
    """

    fit: Fit
    multipliers: Array
    objective: float
    duality_gap: float


def certify_fit(
    core: FairRidge, settings: Settings, y: Array, fit: Fit, slopes: Array, rho: float
) -> Certificate:
    """Bound the distance of a fit from the optimum, by ``slopes`` of the loss near it."""
    loss, alpha = settings.loss, settings.alpha
    weight = np.ones_like(y) if core.weight is None else core.weight
    fit, multipliers = core.recomputed(fit), rho * fit.multipliers
    objective = settings.objective(y, fit.predictions, core.weight, fit.norm2)
    low, high = loss.slopes(y)
    g = np.clip(slopes, low, high)
    if core.fit_intercept:
        g = balance(g, low, high, weight)
    dual = -float(weight @ loss.conjugate(y, g))
    dual -= core.norm2_of_rows(weight * g, multipliers) / (4.0 * alpha)
    if core.constraint is not None and core.epsilon is not None:
        bound = core.epsilon * core.constraint.scale
        dual -= float(multipliers @ core.constraint.offset)
        dual -= bound * core.constraint.norm.dual(multipliers)
    certain = np.isfinite(dual) and is_fair(core, fit, y)
    gap = max(objective - dual, 0.0) if certain else np.inf
    return Certificate(fit, multipliers, objective, gap)


def is_fair(core: FairRidge, fit: Fit, y: Array) -> bool:
    """Return whether a fit keeps the constraint, but for rounding beside labels and predictions."""
    if core.constraint is None or core.epsilon is None:
        return True
    violation = core.constraint.violation_of(core.contrasts_of(fit))
    return is_met(violation, core.epsilon, 0.0, spread_of(y, fit.predictions))


def solution_of(
    core: FairRidge, certificate: Certificate, y: Array, floor: float, n_iter: int
) -> Solution:
    """Leave the solver's unknowns."""
    fit, multipliers = certificate.fit, certificate.multipliers
    coefficients, intercept = core.coefficients(fit)
    constraint = core.constraint
    return Solution(
        coefficients=coefficients,
        intercept=intercept,
        multipliers=multipliers,
        violation=np.nan if constraint is None else constraint.violation_of(core.contrasts_of(fit)),
        objective=certificate.objective,
        duality_gap=certificate.duality_gap,
        floor=floor,
        active=bool(multipliers.any()),
        constant=is_constant(fit.predictions, y),
        n_iter=n_iter,
    )


def spread_of(y: Array, predictions: Array) -> float:
    """Return the size of what rounding is judged by."""
    return float(max(np.ptp(y), np.ptp(predictions)))


def zero_objective(core: FairRidge, settings: Settings, y: Array, fit: Fit) -> float:
    """Return what counts as an objective of zero, from the first fit: a perfect one has no gap."""
    first = settings.objective(y, fit.predictions, core.weight, fit.norm2)
    return ZERO * first + np.finfo(float).tiny


def is_constant(predictions: Array, y: Array) -> bool:
    """Return whether a model predicts the same for everybody."""
    return bool(np.ptp(predictions) <= CONSTANT * np.ptp(y))


def balance(g: Array, low: Array, high: Array, weight: Array) -> Array:
    """Shift all slopes alike, within their bounds, until Σ w g = 0."""

    def total(shift: float) -> float:
        return float(weight @ np.clip(g + shift, low, high))

    reach = 2.0 * abs(total(0.0)) / float(weight.sum()) + np.finfo(float).tiny
    while total(-reach) > 0.0 or total(reach) < 0.0:
        reach *= 4.0
        if reach > 1e12:  # all slopes of the loss have one sign, and its risk has no minimum
            return np.full_like(g, np.nan)
    shift = float(brentq(total, -reach, reach, xtol=1e-15))
    return np.clip(g + shift, low, high)
