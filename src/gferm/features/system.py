"""The linear system that every learning problem comes down to, before any alpha is chosen.

Both ways to write the problem end in p unknowns and few right-hand sides,

    (A + alpha I) x = t − R ν,        contrasts Cᵀf = Vᵀ x,

             p   A (p×p)          t       R        V         coefficients
    kernel   n   centred kernel   y       C        A C       α = √w ∘ x
    linear   d   XᵀX, centred     Xᵀy     XᵀC      XᵀC       w = x

(the rows scaled by √w for sample weights, C by 1/√w, so that contrasts stay weighted means).

An unpenalised intercept is exactly a centred problem: the contrasts sum to zero, so they do not
notice. It comes back at the end as ȳ − anchorᵀ·coefficients.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from gferm.arrays import Array
from gferm.arrays.device import CPU, Device
from gferm.features.geometry import Geometry


@dataclass(frozen=True, eq=False)
class Target:
    """What the rows should be, as the unknowns see it.

    Attributes
    ----------
    vector : array of shape (p,)
        t.
    level : float
        The (weighted) mean of the values, where an intercept takes it up.
    norm2 : float
        Σ w (value − level)².
    """

    vector: Array
    level: float
    norm2: float


@dataclass(frozen=True, eq=False)
class System:
    """A, t, R and V of the table above.

    Attributes
    ----------
    matrix : array of shape (p, p)
        A, on a device or NumPy's; factorising uses it up.
    target : Target
        t.
    steering : array of shape (p, m)
        R, how multipliers act.
    probe : array of shape (p, m)
        V, how contrasts are read.
    anchor : array of shape (p,)
        The intercept is ``level − anchorᵀ x``.
    null : array of shape (p,) or None
        A unit vector that A maps to zero and every solution is orthogonal to: the constant that
        centring a kernel removes. Rounding is kept from putting it back.
    weight : array of shape (n,) or None
    centred : bool
        Whether there is an intercept.
    geometry : Geometry
        What the unknowns mean at the rows.
    device : Device
        Where A is factorised by Cholesky; it may live elsewhere.
    rotation : array of shape (p, p) or None
        The orthonormal basis in which all of this is written; None for its own.
    """

    matrix: Any
    target: Target
    steering: Array
    probe: Array
    anchor: Array
    null: Array | None
    weight: Array | None
    centred: bool
    geometry: Geometry
    device: Device = CPU
    rotation: Any = None

    def aim(self, values: Array) -> Target:
        """Take other values for the rows."""
        level = float(np.average(values, weights=self.weight)) if self.centred else 0.0
        residual = values - level
        pull = residual if self.weight is None else self.weight * residual
        return Target(self.geometry.pull(pull), level, float(pull @ residual))

    def with_columns(self, columns: sparse.csr_array, multiply: Callable[[Array], Array]) -> System:
        """Take other contrasts C; ``multiply`` is the product with A, which may be factorised."""

        def product(own: Array) -> Array:
            return self._out_of_rotation(multiply(self._into_rotation(own)))

        steering, probe = self.geometry.contrasts(columns, product)
        return replace(
            self, steering=self._into_rotation(steering), probe=self._into_rotation(probe)
        )

    def rotated(self, basis: Any) -> System:
        """Write all but the matrix in another orthonormal basis of the unknowns."""
        into = basis.T
        return replace(
            self,
            target=replace(self.target, vector=into @ self.target.vector),
            steering=into @ self.steering,
            probe=into @ self.probe,
            anchor=into @ self.anchor,
            null=None if self.null is None else into @ self.null,
            geometry=self.geometry.rotated(basis),
            rotation=basis,
        )

    def _into_rotation(self, vectors: Array) -> Array:
        return vectors if self.rotation is None else self.rotation.T @ vectors

    def _out_of_rotation(self, vectors: Array) -> Array:
        return vectors if self.rotation is None else self.rotation @ vectors
