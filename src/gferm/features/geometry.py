"""How rows and unknowns talk to each other: by kernel or by features.

The solver works with p unknowns x, A x and few numbers else; a geometry knows what they are.

             unknowns             A x                    a vector g over the rows acts as
    kernel   x, dual, α = √w∘x    √w∘(f − level)         g / √w
    linear   x, the weights       XᵀW(f − level)         Xᵀg

In the basis of the eigenvectors (spectrum) all of these are rotated; rows never are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gferm.arrays import Array
from gferm.arrays.device import dense, row_blocks

ROUNDING = 256 * np.finfo(float).eps  # of a mean, as a share of the size of what it averages


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


class Solves(Protocol):
    """What a factorised A + alpha I does."""

    def solve(self, rhs: Array) -> Array:
        """Solve (A + alpha I) x = rhs."""

    def shrink(self, x: Array) -> Array:
        """Multiply A (A + alpha I)⁻¹ x, or return x itself: xᵀA (A + alpha I)⁻¹x ≤ xᵀx."""


class Geometry(Protocol):
    """What differs between the kernel and the linear form."""

    @property
    def basis(self) -> Array | None:
        """The orthonormal basis of the unknowns; None for their own."""

    def rotated(self, basis: Array) -> Geometry:
        """Return the same for unknowns in another orthonormal basis."""

    def pull(self, g: Array) -> Array:
        """Let a vector over the rows act on the unknowns: Φᵀg."""

    def contrasts(
        self, columns: sparse.csr_array, multiply: Callable[[Array], Array]
    ) -> tuple[Array, Array]:
        """Return R and V of contrasts C, in the unknowns' own basis; ``multiply`` is A's product.

        A contrast that is rounding becomes zero: noise must not be inverted.
        """

    def without_rows(self) -> Geometry:
        """Return what restoring coefficients takes."""

    def predictions(self, x: Array, image: Array) -> Array:
        """Return f − level at the training rows, from x and A x."""

    def norm2(self, x: Array, image: Array) -> float:
        """Return ‖w‖² from x and A x."""

    def restore(self, x: Array) -> Array:
        """Leave the basis of the factorisation and the scale of the weights."""

    def forms(
        self,
        x: Array,
        applied: Array,
        target: Array,
        target_norm2: float,
        rho: Array,
        factorization: Solves,
    ) -> QuadraticForms:
        """Build the forms from X, A X, the targets of X's columns and their residuals."""


@dataclass(frozen=True, eq=False)
class KernelGeometry:
    """x are dual coefficients: f = A x, ‖w‖² = xᵀA x.

    Attributes
    ----------
    scale : array of shape (n,) or None
        √w.
    size : float
        That of the kernel's values before they were centred, by which rounding is judged.
    basis : array of shape (n, n) or None
    """

    scale: Array | None
    size: float
    basis: Array | None = None

    def rotated(self, basis: Array) -> KernelGeometry:
        """Return the same in another basis."""
        return KernelGeometry(self.scale, self.size, basis)

    def pull(self, g: Array) -> Array:
        """Return g / √w."""
        return _into(self.basis, g if self.scale is None else g / self.scale)

    def contrasts(
        self, columns: sparse.csr_array, multiply: Callable[[Array], Array]
    ) -> tuple[Array, Array]:
        """Return C / √w, and A times that."""
        if self.scale is not None:
            columns = sparse.diags_array(1.0 / self.scale).tocsr() @ columns
        steering = columns.toarray()
        return steering, self.cleared(multiply(steering))

    def cleared(self, probe: Array) -> Array:
        """Clear V of contrasts that are rounding."""
        scale = np.ones(len(probe)) if self.scale is None else self.scale
        return above_rounding(probe, ROUNDING * self.size * scale)

    def without_rows(self) -> KernelGeometry:
        """Return itself: the unknowns are coefficients of rows."""
        return self

    def predictions(self, x: Array, image: Array) -> Array:
        """Return A x / √w."""
        f = _out_of(self.basis, image)
        return f if self.scale is None else f / self.scale

    def norm2(self, x: Array, image: Array) -> float:
        """Return xᵀA x."""
        return max(float(x @ image), 0.0)

    def restore(self, x: Array) -> Array:
        """Return the coefficients of the kernel expansion."""
        x = _out_of(self.basis, x)
        return x if self.scale is None else x * self.scale

    def forms(
        self,
        x: Array,
        applied: Array,
        target: Array,
        target_norm2: float,
        rho: Array,
        factorization: Solves,
    ) -> QuadraticForms:
        """Return ‖t − A x‖², xᵀA x and ρᵀA (A + alpha I)⁻¹ρ, or its bound ‖ρ‖²."""
        errors = target - applied
        return QuadraticForms(errors.T @ errors, x.T @ applied, rho.T @ factorization.shrink(rho))


@dataclass(frozen=True, eq=False)
class LinearGeometry:
    """x are the weights themselves: ‖w‖² = xᵀx, Σ w (y − f)² = ‖y‖² − 2 tᵀx + xᵀA x.

    Attributes
    ----------
    X : array or sparse matrix of shape (n, d)
    center : array of shape (p,)
        What the (weighted) means of the features are to the unknowns; zero without an intercept.
    floor : array of shape (p,)
        What rounding makes of a difference of means, in the unknowns' own basis.
    basis : array of shape (d, p) or None
        From the unknowns to the weights of the features.
    own_basis : array of shape (d, p) or None
        The same before the unknowns were rotated.
    origin : array of shape (d,) or float
        A point near the rows of X.
    """

    X: Any
    center: Array
    floor: Array
    basis: Array | None = None
    own_basis: Array | None = None
    origin: Array | float = 0.0

    def rotated(self, basis: Array) -> LinearGeometry:
        """Return the same in another basis."""
        whole = basis if self.basis is None else self.basis @ basis
        return replace(self, center=basis.T @ self.center, basis=whole)

    def pull(self, g: Array) -> Array:
        """Return Xᵀg for centred features."""
        total = np.zeros(self.X.shape[1])
        for rows in self._blocks:
            total += g[rows] @ self.X[rows]
        pulled: Array = _into(self.basis, total) - g.sum() * self.center
        return pulled

    def contrasts(
        self, columns: sparse.csr_array, multiply: Callable[[Array], Array]
    ) -> tuple[Array, Array]:
        """Return XᵀC, twice; without rows, columns are XᵀC already."""
        if self.X is None:
            known = above_rounding(columns, self.floor)
            return known, known
        total = np.zeros((columns.shape[1], self.X.shape[1]))
        # Columns sum to zero and notice no origin; near the rows fewer digits are lost.
        for rows in row_blocks(*self.X.shape):
            block = self.X[rows]
            if self.own_basis is None:
                block = dense(block) - self.origin
            total += columns[rows].toarray().T @ block
        seen = total.T if self.own_basis is None else self.own_basis.T @ total.T
        cleared = above_rounding(seen, self.floor)
        return cleared, cleared

    def without_rows(self) -> LinearGeometry:
        """Return the same without X."""
        return replace(self, X=None)

    def predictions(self, x: Array, image: Array) -> Array:
        """Return X x for centred features."""
        weights = _out_of(self.basis, x)
        f = np.concatenate([self.X[rows] @ weights for rows in self._blocks])
        f -= self.center @ x
        return f

    def norm2(self, x: Array, image: Array) -> float:
        """Return xᵀx."""
        return float(x @ x)

    def moments(
        self, rows: npt.NDArray[np.intp], weight: Array, *, centred: bool
    ) -> tuple[Array, Array, float]:
        """Return scatter, mean and mass of some rows: about their mean, or about zero."""
        d = self.center.size
        scatter, total, mass = np.zeros((d, d)), np.zeros(d), float(weight[rows].sum())
        for part in row_blocks(rows.size, d):
            block = dense(self.X[rows[part]]) - self.center
            total += weight[rows[part]] @ block
            scatter += block.T @ (weight[rows[part], None] * block)
        if not centred:
            return scatter, np.zeros(d), mass
        if mass == 0.0:  # nothing holds the level: let it move as one row would
            return scatter, total, float(weight.mean())
        mean = total / mass
        return scatter - mass * np.outer(mean, mean), mean, mass

    def restore(self, x: Array) -> Array:
        """Return the weights of the features."""
        return _out_of(self.basis, x)

    def forms(
        self,
        x: Array,
        applied: Array,
        target: Array,
        target_norm2: float,
        rho: Array,
        factorization: Solves,
    ) -> QuadraticForms:
        """Return the risk, xᵀx, and ρᵀ(A + alpha I)⁻¹ρ, exactly the loss of an inexact solve."""
        cross = target.T @ x
        risk = x.T @ applied - cross - cross.T
        risk[0, 0] += target_norm2
        return QuadraticForms(risk, x.T @ x, rho.T @ factorization.solve(rho))

    @property
    def _blocks(self) -> list[slice]:
        """One block, or several where a whole copy would be made: of float32, of kernel values."""
        n, d = self.X.shape
        there = hasattr(self.X, "tocsr") or getattr(self.X, "dtype", None) == np.float64
        at_once = max(getattr(self.X, "at_once", 2**18), d * d)
        return [slice(None)] if there else row_blocks(n, d, at_once)


def _into(basis: Array | None, vector: Array) -> Array:
    return vector if basis is None else basis.T @ vector


def _out_of(basis: Array | None, vectors: Array) -> Array:
    """Leave the basis, for one vector or one in each row."""
    return vectors if basis is None else vectors @ basis.T


def above_rounding(probe: Array, floor: Array) -> Array:
    """Clear contrasts that are rounding: where groups agree exactly, noise must not be inverted.

    ``floor`` is, for each row of the probe, what rounding makes of a difference of two means.
    """
    return np.where(np.abs(probe) > floor[:, None], probe, 0.0)
