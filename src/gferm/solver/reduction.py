"""From n rows to m numbers: the square loss, reduced to its contrasts.

A factorised system (features/system.py) gives x = x₀ − X_C ν and Cᵀf = c₀ − G ν with

    x₀ = (A + alpha I)⁻¹ t,    X_C = (A + alpha I)⁻¹ R,    c₀ = Vᵀx₀,    G = VᵀX_C:

everything about fairness is in the m×m matrix G and the m numbers c₀. Another constraint needs
other R and V, and m solves; the factorisation stays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from gferm.arrays import Array
from gferm.features.geometry import QuadraticForms
from gferm.features.system import System
from gferm.solver.cholesky import Factorization, cholesky
from gferm.solver.refined import Refined
from gferm.solver.spectrum import Spectrum


@dataclass(frozen=True, eq=False)
class FactorizedSystem:
    """A system with A + alpha I ready to be solved."""

    system: System
    factorization: Factorization

    @classmethod
    def by_cholesky(cls, system: System, alpha: float) -> FactorizedSystem:
        """Factorise for this one alpha, in the memory of A."""
        factor = cholesky(system.matrix, alpha, system.device)
        return cls(_without_matrix(system), factor)

    @classmethod
    def in_single(cls, system: System, alpha: float) -> FactorizedSystem:
        """Factorise in float32, to be refined."""
        factor = Refined(system.matrix, alpha, system.device)
        return cls(_without_matrix(system), factor)

    @classmethod
    def by_spectrum(cls, system: System, alpha: float) -> FactorizedSystem:
        """Factorise once for every alpha, in the basis of the eigenvectors."""
        spectrum = Spectrum.of(system.matrix)
        rotated = _without_matrix(system).rotated(spectrum.vectors)
        return cls(rotated, spectrum.shifted(alpha))

    def shifted(self, alpha: float) -> FactorizedSystem:
        """Take another alpha, in the same memory: this object must not be used any more."""
        return replace(self, factorization=self.factorization.shifted(alpha))

    def aimed_at(self, values: Array) -> FactorizedSystem:
        """Take other values for the rows; the factorisation is shared."""
        return replace(self, system=replace(self.system, target=self.system.aim(values)))

    def with_columns(self, columns: sparse.csr_array) -> FactorizedSystem:
        """Take other contrasts; the factorisation is shared."""
        return replace(self, system=self.system.with_columns(columns, self.factorization.apply))

    def solve(self, sources: Array) -> Array:
        """Solve (A + alpha I) x = sources, one in each column."""
        x = self.factorization.solve(sources)
        null = self.system.null
        if null is not None:
            x -= np.outer(null, null @ x)
        return x

    def reduce(self) -> Reduction:
        """Solve for the plain model and for the effect of each contrast."""
        system, alpha = self.system, self.factorization.alpha
        sources = np.column_stack([system.target.vector, system.steering])
        x = self.solve(sources)
        applied = self.factorization.apply(x)
        residuals = sources - applied - alpha * x
        targets = np.zeros_like(sources)
        targets[:, 0] = system.target.vector
        return Reduction(
            gram=without_noise(system.probe.T @ x[:, 1:]),
            contrasts=system.probe.T @ x[:, 0],
            plain=x[:, 0],
            correction=x[:, 1:],
            alpha=alpha,
            forms=system.geometry.forms(
                x, applied, targets, system.target.norm2, residuals, self.factorization
            ),
            system=system,
            steps=self.factorization.steps,
        )


@dataclass(frozen=True, eq=False)
class Reduction:
    """All that the projection needs: G and c₀, and the way back to coefficients.

    Attributes
    ----------
    gram : array of shape (m, m)
        G.
    contrasts : array of shape (m,)
        c₀, the contrasts of the plain model.
    plain, correction : arrays of shape (p,) and (p, m)
        x = plain − correction ν.
    steps : int
        Iterations of the linear solve.
    """

    gram: Array
    contrasts: Array
    plain: Array
    correction: Array
    alpha: float
    forms: QuadraticForms
    system: System
    steps: int

    def without_rows(self) -> Reduction:
        """Forget labels, contrasts and rows that the way to coefficients does not take."""
        nothing = np.empty((0, 0))
        target = replace(self.system.target, vector=np.empty(0))
        lean = replace(self.system, target=target, steering=nothing, weight=None, null=None)
        return replace(self, system=replace(lean, geometry=lean.geometry.without_rows()))

    def coefficients(self, multipliers: Array) -> Array:
        """Return x for one ν, or one row for each row of ν, in the basis of the factorisation."""
        return self.plain - multipliers @ self.correction.T

    def contrasts_of(self, x: Array) -> Array:
        """Read Cᵀf = Vᵀx off coefficients, rather than trusting c₀ − G ν."""
        return x @ self.system.probe

    def intercepts(self, x: Array) -> Array:
        """Return the intercept of each row of coefficients."""
        return self.system.target.level - x @ self.system.anchor

    def restore(self, x: Array) -> Array:
        """Leave the basis of the factorisation and the scale of the weights."""
        return self.system.geometry.restore(x)

    def risk(self, multipliers: Array) -> Array:
        """Return Σ w (y − f)² for one ν or each row of ν."""
        return _evaluate(self.forms.risk, multipliers)

    def objective(self, multipliers: Array) -> Array:
        """Return Σ w (y − f)² + alpha ‖w‖²."""
        return self.risk(multipliers) + self.alpha * _evaluate(self.forms.penalty, multipliers)

    def is_constant(self, multipliers: Array) -> bool:
        """Return whether ‖w‖² has vanished beside that of the plain model."""
        plain = _evaluate(self.forms.penalty, np.zeros_like(multipliers))
        return bool(_evaluate(self.forms.penalty, multipliers) <= 1e-12 * plain)

    def price_of_residual(self, multipliers: Array) -> Array:
        """Bound what the rounding of the linear solve adds to the objective."""
        return np.maximum(_evaluate(self.forms.residual, multipliers), 0.0)


def _without_matrix(system: System) -> System:
    """Let the p×p array go to its factorisation."""
    return replace(system, matrix=np.empty((0, 0)))


def without_noise(gram: Array) -> Array:
    """Make G symmetric, and drop eigenvalues that its own asymmetry shows to be rounding."""
    if gram.size == 0:
        return gram
    values, vectors = noise_free_spectrum(gram)
    if values.all():
        return (gram + gram.T) / 2
    return np.asarray((vectors * values) @ vectors.T)


def noise_free_spectrum(gram: Array) -> tuple[Array, Array]:
    """Return the eigenvalues of G, zero where they are rounding, and its eigenvectors.

    Takes one G or a stack of them, shape (..., m, m).
    """
    transposed = np.swapaxes(gram, -1, -2)
    values, vectors = np.linalg.eigh((gram + transposed) / 2)
    rounding = gram.shape[-1] * np.finfo(float).eps * values[..., -1]
    asymmetry = np.abs(gram - transposed).max(axis=(-1, -2))
    values[values <= np.maximum(rounding, 4.0 * asymmetry)[..., None]] = 0.0
    return values, vectors


def _evaluate(form: Array, multipliers: Array) -> Array:
    """Return vᵀ form v with v = (1, −ν)."""
    ones = np.ones((*multipliers.shape[:-1], 1))
    v = np.concatenate([ones, -multipliers], axis=-1)
    value: Array = np.einsum("...i,ij,...j->...", v, form, v)
    return value
