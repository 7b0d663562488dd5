"""The square-loss core for one target after another.

    min over f   Σ w (t − f)² + alpha ‖w‖²   s.t.   Ω(Cᵀf − o) ≤ bound

G and X_C = (A + alpha I)⁻¹R are found once for an alpha. Then every target t costs one solve of
the factorised system and m-dimensional work; the predictions come for free, because
A x = t − R ν − alpha x at the solution.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gferm.arrays import Array
from gferm.fairness.constraint import Constraint
from gferm.features.system import System
from gferm.losses import Loss
from gferm.solver.cholesky import NotPositiveDefiniteError
from gferm.solver.path import trace_path
from gferm.solver.projection import require_met
from gferm.solver.reduction import FactorizedSystem, without_noise

ROUNDING = 1e-8  # of contrasts that a linear solve should have made zero


@dataclass(frozen=True, eq=False)
class Fit:
    """The fair model nearest to a target.

    Attributes
    ----------
    x : array of shape (p,)
        The unknowns of the solver.
    level : float
        The mean of the predictions; zero without an intercept.
    predictions : array of shape (n,)
    multipliers : array of shape (m,)
        ν.
    norm2 : float
        ‖w‖².
    """

    x: Array
    level: float
    predictions: Array
    multipliers: Array
    norm2: float


class FairRidge:
    """A factorised system with its constraint.

    Parameters
    ----------
    factorized : FactorizedSystem
        It is used up: `shift` factorises anew in its memory.
    constraint : Constraint or None
    epsilon : float or None
    """

    def __init__(
        self,
        factorized: FactorizedSystem,
        constraint: Constraint | None,
        epsilon: float | None,
    ) -> None:
        self.constraint, self.epsilon = constraint, epsilon
        self._factorized = factorized
        self._prepare()

    @property
    def system(self) -> System:
        """What is being solved."""
        return self._factorized.system

    @property
    def weight(self) -> Array | None:
        """Sample weights."""
        return self.system.weight

    @property
    def fit_intercept(self) -> bool:
        """Whether there is an intercept."""
        return self.system.centred

    @property
    def alpha(self) -> float:
        """The regularisation at present."""
        return self._factorized.factorization.alpha

    def constrain(self, constraint: Constraint | None, columns: Any) -> None:
        """Take another constraint, at the price of m solves."""
        self.constraint = constraint
        self._factorized = self._factorized.with_columns(columns)
        self._prepare()

    def shift(self, alpha: float) -> bool:
        """Take another alpha: free with a spectrum, a factorisation with Cholesky.

        False if alpha is too small for Cholesky; then nothing has changed.
        """
        if alpha == self.alpha:
            return True
        before = self.alpha
        try:
            self._factorized = self._factorized.shifted(alpha)
        except NotPositiveDefiniteError:
            self._factorized = self._factorized.shifted(before)
            return False
        self._prepare()
        return True

    def fit(self, t: Array) -> Fit:
        """Find the fair model nearest to ``t``."""
        system = self.system
        target = system.aim(t)
        plain = self._factorized.solve(target.vector[:, None])[:, 0]
        multipliers = project_contrasts(
            self._gram, system.probe.T @ plain, self.constraint, self.epsilon, self._inverse
        )
        x = plain - self._correction @ multipliers
        image = target.vector - system.steering @ multipliers - self.alpha * x
        return Fit(
            x=x,
            level=target.level,
            predictions=target.level + system.geometry.predictions(x, image),
            multipliers=multipliers,
            norm2=system.geometry.norm2(x, image),
        )

    def recomputed(self, fit: Fit) -> Fit:
        """Return the same model with predictions computed from its coefficients.

        Those of `fit` trust the linear solve, and lose digits where it is badly conditioned.
        """
        image = self._factorized.factorization.apply(fit.x[:, None])[:, 0]
        geometry = self.system.geometry
        return replace(
            fit,
            predictions=fit.level + geometry.predictions(fit.x, image),
            norm2=geometry.norm2(fit.x, image),
        )

    def contrasts_of(self, fit: Fit) -> Array:
        """Read Cᵀf off the coefficients."""
        return fit.x @ self.system.probe

    def plain_contrasts_of(self, fit: Fit) -> Array:
        """Return Cᵀf of the model nearest to the same target without the constraint."""
        return self.contrasts_of(fit) + self._gram @ fit.multipliers

    def norm2_of_rows(self, g: Array, multipliers: Array) -> float:
        """Return ‖Φᵀ(g + C ν)‖² for a vector g over the rows."""
        system = self.system
        q = system.geometry.pull(g) + system.steering @ multipliers
        image = self._factorized.factorization.apply(q[:, None])[:, 0]
        return system.geometry.norm2(q, image)

    def coefficients(self, fit: Fit) -> tuple[Array, float]:
        """Return the coefficients and the intercept."""
        system = self.system
        return system.geometry.restore(fit.x), fit.level - float(system.anchor @ fit.x)

    def _prepare(self) -> None:
        self._correction = self._factorized.solve(self.system.steering)
        self._gram = without_noise(self.system.probe.T @ self._correction)
        self._inverse = np.asarray(np.linalg.pinv(self._gram, hermitian=True), dtype=float)


def project_contrasts(
    gram: Array,
    plain: Array,
    constraint: Constraint | None,
    epsilon: float | None,
    inverse: Array,
) -> Array:
    """Return the ν that moves the contrasts of the plain model, by G ν, onto the constraint."""
    nothing = np.zeros(plain.size)
    if constraint is None or epsilon is None:
        return nothing
    start, norm = plain - constraint.offset, constraint.norm
    bound, size = epsilon * constraint.scale, norm.value(start)
    if size <= bound:
        return nothing
    if bound == 0.0:
        multipliers = inverse @ start
        left = start - gram @ multipliers
        if norm.value(left) <= ROUNDING * size:
            return np.asarray(multipliers + inverse @ left)
    path = trace_path(gram, start, norm, stop=bound)
    return np.asarray(path.multipliers[-1])


def first_rho(loss: Loss, y: Array, weight: Array | None) -> float:
    """Return the slope of the loss at a constant prediction, beside the spread of the labels."""
    level = np.full(y.shape, np.average(y, weights=weight))
    spread = float(np.sqrt(np.average((y - level) ** 2, weights=weight)))
    if spread == 0.0:
        return 1.0
    step = 1e-3 * spread
    rise = loss.value(y, level + step) - loss.value(y, level - step)
    slope = float(np.sqrt(np.average(rise**2, weights=weight))) / (2.0 * step)
    return slope / spread if slope > 0.0 else 1.0


def require_reachable(core: FairRidge, fit: Fit) -> None:
    """Refuse an epsilon that no model meets, before iterating in vain."""
    constraint, epsilon = core.constraint, core.epsilon
    if constraint is not None and epsilon is not None:
        reached = constraint.violation_of(core.contrasts_of(fit))
        plain = constraint.violation_of(core.plain_contrasts_of(fit))
        require_met(reached, epsilon, plain, constraint, float(np.ptp(fit.predictions)))
