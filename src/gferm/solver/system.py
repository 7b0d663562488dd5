"""From n rows to m numbers: the square loss, reduced to its contrasts.

Both ways to write the problem end in one p×p system with few right-hand sides,

    (A + alpha I) x = t − R ν,        contrasts Cᵀf = Vᵀ x,

             p   A (p×p)          t       R        V         coefficients
    kernel   n   centred kernel   y       C        A C       α = √w ∘ x
    linear   d   XᵀX, centred     Xᵀy     XᵀC      XᵀC       w = x

(the rows scaled by √w for sample weights, C by 1/√w, so that contrasts stay weighted means). So
x = x₀ − X_C ν and Cᵀf = c₀ − G ν with x₀ = (A + alpha I)⁻¹ t, X_C = (A + alpha I)⁻¹ R, G = VᵀX_C:
everything about fairness is in the m×m matrix G and the m numbers c₀.

An unpenalised intercept is exactly a centred problem: the contrasts sum to zero, so they do not
notice. It comes back at the end as ȳ − anchorᵀ·coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from gferm.arrays import Array
from gferm.solver.factorization import Cholesky, Factorization, Spectrum


@dataclass(frozen=True, eq=False)
class QuadraticForms:
    """Quadratic forms in v = (1, −ν) that hold a whole family of models x = X v.

    Attributes
    ----------
    risk, penalty : arrays of shape (1 + m, 1 + m)
        Σ w (y − f)² and ‖w‖².
    residual : array of shape (1 + m, 1 + m)
        A bound on what the rounding of the linear solve adds to the objective.
    """

    risk: Array
    penalty: Array
    residual: Array


class Geometry(Protocol):
    """How objective values are read off x; the kernel and the linear form differ only here."""

    def forms(
        self, x: Array, applied: Array, target: Array, rho: Array, factorization: Factorization
    ) -> QuadraticForms:
        """Build the forms from X, A X, the targets of X's columns and their residuals."""


@dataclass(frozen=True)
class KernelGeometry:
    """x are dual coefficients: f = A x, ‖w‖² = xᵀA x."""

    def forms(
        self, x: Array, applied: Array, target: Array, rho: Array, factorization: Factorization
    ) -> QuadraticForms:
        """Give ‖t − A x‖², xᵀA x and ρᵀA (A + alpha I)⁻¹ρ, or its bound ‖ρ‖²."""
        errors = target - applied
        return QuadraticForms(errors.T @ errors, x.T @ applied, rho.T @ factorization.shrink(rho))


@dataclass(frozen=True)
class LinearGeometry:
    """x are the weights themselves: ‖w‖² = xᵀx, Σ w (y − f)² = ‖y‖² − 2 tᵀx + xᵀA x."""

    target_norm2: float

    def forms(
        self, x: Array, applied: Array, target: Array, rho: Array, factorization: Factorization
    ) -> QuadraticForms:
        """Give the risk, xᵀx, and ρᵀ(A + alpha I)⁻¹ρ, exactly the loss of an inexact solve."""
        cross = target.T @ x
        risk = x.T @ applied - cross - cross.T
        risk[0, 0] += self.target_norm2
        return QuadraticForms(risk, x.T @ x, rho.T @ factorization.solve(rho))


@dataclass(frozen=True, eq=False)
class System:
    """A, t, R and V of the table above, before any alpha is chosen.

    Attributes
    ----------
    matrix : array of shape (p, p)
        A; factorising uses it up.
    target : array of shape (p,)
    steering : array of shape (p, m)
        R, how multipliers act.
    probe : array of shape (p, m)
        V, how contrasts are read.
    anchor, level : array of shape (p,), float
        The intercept is ``level − anchorᵀ x``.
    scale : array of shape (p,) or None
        The coefficients are ``scale ∘ x``.
    null : array of shape (p,) or None
        A unit vector that A maps to zero and every solution is orthogonal to: the constant that
        centring a kernel removes. Rounding is kept from putting it back.
    geometry : Geometry
    """

    matrix: Array
    target: Array
    steering: Array
    probe: Array
    anchor: Array
    level: float
    scale: Array | None
    null: Array | None
    geometry: Geometry

    def reduce(self, alpha: float) -> Reduction:
        """Factorise by Cholesky for this one alpha."""
        factorization = Cholesky(self.matrix, alpha)
        return Reduction.of(self, factorization, alpha, basis=None)

    def diagonalize(self) -> SpectralSystem:
        """Factorise once for every alpha."""
        spectrum = Spectrum.of(self.matrix)
        into = spectrum.vectors.T
        rotated = System(
            matrix=np.empty((0, 0)),
            target=into @ self.target,
            steering=into @ self.steering,
            probe=into @ self.probe,
            anchor=into @ self.anchor,
            level=self.level,
            scale=self.scale,
            null=None if self.null is None else into @ self.null,
            geometry=self.geometry,
        )
        return SpectralSystem(spectrum, rotated)


@dataclass(frozen=True, eq=False)
class SpectralSystem:
    """The same system in the basis of the eigenvectors: any alpha costs O(p m²)."""

    spectrum: Spectrum
    rotated: System

    def reduce(self, alpha: float) -> Reduction:
        """Solve for one more alpha."""
        return Reduction.of(
            self.rotated, self.spectrum.shifted(alpha), alpha, basis=self.spectrum.vectors
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
    """

    gram: Array
    contrasts: Array
    plain: Array
    correction: Array
    alpha: float
    forms: QuadraticForms
    system: System
    basis: Array | None

    @classmethod
    def of(
        cls, system: System, factorization: Factorization, alpha: float, basis: Array | None
    ) -> Reduction:
        """Solve for the plain model and for the effect of each contrast."""
        sources = np.column_stack([system.target, system.steering])
        x = factorization.solve(sources)
        if system.null is not None:
            x -= np.outer(system.null, system.null @ x)
        applied = factorization.apply(x)
        residuals = sources - applied - alpha * x
        targets = np.zeros_like(sources)
        targets[:, 0] = system.target
        return cls(
            gram=_without_noise(system.probe.T @ x[:, 1:]),
            contrasts=system.probe.T @ x[:, 0],
            plain=x[:, 0],
            correction=x[:, 1:],
            alpha=alpha,
            forms=system.geometry.forms(x, applied, targets, residuals, factorization),
            system=replace(system, matrix=np.empty((0, 0))),  # let the p×p array go
            basis=basis,
        )

    def coefficients(self, multipliers: Array) -> Array:
        """Give x for one ν, or one row for each row of ν, in the basis of the factorisation."""
        return self.plain - multipliers @ self.correction.T

    def contrasts_of(self, x: Array) -> Array:
        """Read Cᵀf = Vᵀx off coefficients, rather than trusting c₀ − G ν."""
        return x @ self.system.probe

    def intercepts(self, x: Array) -> Array:
        """Give the intercept of each row of coefficients."""
        return self.system.level - x @ self.system.anchor

    def restore(self, x: Array) -> Array:
        """Leave the basis of the factorisation and the scale of the weights."""
        x = x if self.basis is None else x @ self.basis.T
        return x if self.system.scale is None else x * self.system.scale

    def risk(self, multipliers: Array) -> Array:
        """Give Σ w (y − f)² for one ν or each row of ν."""
        return _evaluate(self.forms.risk, multipliers)

    def objective(self, multipliers: Array) -> Array:
        """Give Σ w (y − f)² + alpha ‖w‖²."""
        return self.risk(multipliers) + self.alpha * _evaluate(self.forms.penalty, multipliers)

    def is_constant(self, multipliers: Array) -> bool:
        """Say whether ‖w‖² has vanished beside that of the plain model."""
        plain = _evaluate(self.forms.penalty, np.zeros_like(multipliers))
        return bool(_evaluate(self.forms.penalty, multipliers) <= 1e-12 * plain)

    def price_of_residual(self, multipliers: Array) -> Array:
        """Bound what the rounding of the linear solve adds to the objective."""
        return np.maximum(_evaluate(self.forms.residual, multipliers), 0.0)


def _without_noise(gram: Array) -> Array:
    """Make G symmetric, and drop eigenvalues that its own asymmetry shows to be rounding."""
    symmetric = (gram + gram.T) / 2
    if gram.size == 0:
        return symmetric
    values, vectors = np.linalg.eigh(symmetric)
    rounding = len(gram) * np.finfo(float).eps * values[-1]
    noise = values <= max(rounding, 4 * float(np.abs(gram - gram.T).max()))
    if not noise.any():
        return symmetric
    values[noise] = 0.0
    return np.asarray((vectors * values) @ vectors.T)


def _evaluate(form: Array, multipliers: Array) -> Array:
    """Give vᵀ form v with v = (1, −ν)."""
    ones = np.ones((*multipliers.shape[:-1], 1))
    v = np.concatenate([ones, -multipliers], axis=-1)
    value: Array = np.einsum("...i,ij,...j->...", v, form, v)
    return value
