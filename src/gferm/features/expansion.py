"""Expansions over the training rows: f = Σ_i α_i k(x_i, ·) + b, in n unknowns.

The system's matrix is the kernel, centred if there is an intercept, with rows scaled by √w. A
linear model with more features than rows is solved here as well, and gets its weights back in the
end (`WideFeatures`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gferm.arrays import Array
from gferm.arrays.device import CPU, Device
from gferm.features.base import Form, RowFeatures, Rows, Test, values_of
from gferm.features.geometry import KernelGeometry
from gferm.features.kernel import Kernel, center_kernel, not_semidefinite_error, require_finite
from gferm.features.system import System, Target


@dataclass(frozen=True, eq=False)
class KernelFeatures(RowFeatures):
    """All rows, each with a coefficient.

    Attributes
    ----------
    X_all : array or sparse matrix, or None
        The rows, those of weight zero among them; None if all of them count.
    kept : array of bool, or None
        Which of those count.
    """

    form: ClassVar[Form] = "kernel"
    X_all: Any = None
    kept: npt.NDArray[np.bool_] | None = None

    @property
    def n_unknowns(self) -> int:
        """As many as there are rows."""
        return int(self.X.shape[0])

    @property
    def support(self) -> Any:
        """The training rows."""
        return self.X if self.kept is None else self.X_all

    def system(
        self,
        target: Array,
        columns: sparse.csr_array,
        *,
        home: Device,
        is_convex: Test,
        revisits: bool,
    ) -> System:
        """Evaluate the kernel, and write the problem in the coefficients."""
        matrix, convex = self.evaluate(home, is_convex)
        system = kernel_system(
            matrix,
            target,
            columns,
            weight=self.weight,
            fit_intercept=self.fit_intercept,
            home=home,
            device=self.device,
        )
        if not convex:
            self._require_semidefinite(system.matrix, is_convex)
        return system

    def matrix(self, home: Device, is_convex: Test) -> Any:
        """Evaluate the kernel, which must be semi-definite, centred if there is an intercept."""
        matrix, convex = self.evaluate(home, is_convex)
        if not convex:
            centred = home.empty(*matrix.shape)
            centred[...] = matrix
            if self.fit_intercept:
                center_kernel(centred, self.weight, home)
            self._require_semidefinite(centred, is_convex)
        return matrix

    def semidefinite_matrix(self, home: Device, is_convex: Test) -> tuple[Any, Array]:
        """Evaluate the kernel, centred only if it is not semi-definite without.

        Returns
        -------
        matrix : array of shape (n, n)
        means : array of shape (n,)
            What centring took away; zeros if it did not.
        """
        matrix, convex = self.evaluate(home, is_convex)
        if convex:
            return matrix, np.zeros(len(matrix))
        means = center_kernel(matrix, self.weight, home)
        self._require_semidefinite(matrix, is_convex)
        return matrix, means

    def evaluate(self, home: Device, is_convex: Test) -> tuple[Any, bool]:
        """Evaluate the kernel, and tell whether it is positive semi-definite on these rows."""
        X = self.kernel.rows(self.X)
        matrix = self.kernel.training_matrix(X, home)
        require_finite(matrix, self.kernel, home)
        known = self.kernel.is_semidefinite
        return matrix, known or is_convex(matrix, self.kernel.precision(X))

    def _require_semidefinite(self, centred: Any, is_convex: Test) -> None:
        """Refuse what is not even semi-definite once it is centred, as additive_chi2 is."""
        if not is_convex(centred, self.kernel.precision(self.kernel.rows(self.X))):
            raise not_semidefinite_error(self.kernel, self.fit_intercept)

    def part(self, rows: Rows) -> KernelFeatures:
        """Return the features of some of the rows, all of which count."""
        weight = None if self.weight is None else self.weight[rows]
        return replace(self, X=self.kernel.part(self.X, rows), weight=weight, X_all=None, kept=None)

    def without_rows(self) -> KernelFeatures:
        """Return the same without weights: coefficients are those of rows."""
        return replace(self, weight=None)

    def expand(self, unknowns: Array, intercepts: Array) -> tuple[Array, Array]:
        """Return coefficients of all rows, zero for those of weight zero."""
        if self.kept is None:
            return unknowns, intercepts
        expanded = np.zeros((len(unknowns), self.kept.size))
        expanded[:, self.kept] = unknowns
        return expanded, intercepts

    def multiply(self, coefficients: Array) -> Array:
        """Multiply the kernel matrix, evaluated again as `predict` does, with rows of an array."""
        X = self.kernel.rows(self.X)
        return values_of(self.kernel, X, coefficients, X)

    def values_at(self, rows: Rows, coefficients: Array, learned_on: Rows) -> Array:
        """Evaluate models at some rows that were learned on others."""
        if self.kernel.is_given:
            return np.asarray(coefficients @ self.X[np.ix_(rows, learned_on)].T)
        X = self.kernel.rows(self.X)
        return values_of(self.kernel, X[rows], coefficients, X[learned_on], self.device)


@dataclass(frozen=True, eq=False)
class WideFeatures(KernelFeatures):
    """More features than rows: a linear model that is solved in the rows.

    Attributes
    ----------
    center : array of shape (n_features,) or float
        What was taken from every row of X, whose products it would swamp.
    """

    center: Array | float = 0.0

    @classmethod
    def about_the_mean(
        cls, kernel: Kernel, fit_intercept: bool, device: Device, X: Any, weight: Array | None
    ) -> WideFeatures:
        """Count rows from their mean, where an intercept makes up for it."""
        center: Any = 0.0
        if fit_intercept and isinstance(X, np.ndarray):
            X = np.asarray(X, dtype=np.float64)
            center = np.average(X, axis=0, weights=weight)
            X = X - center
        return cls(kernel, fit_intercept, device, X, weight, center=center)

    @property
    def support(self) -> Any:
        """A fitted model has weights of the features."""
        return None

    def expand(self, unknowns: Array, intercepts: Array) -> tuple[Array, Array]:
        """Return the weights of the features."""
        weights = np.asarray(unknowns @ self.X)
        return weights, intercepts - (weights * self.center).sum(axis=1)


def kernel_system(
    matrix: Any,
    y: Array,
    columns: sparse.csr_array,
    *,
    weight: Array | None = None,
    fit_intercept: bool = True,
    home: Device = CPU,
    device: Device | None = None,
) -> System:
    """Write the problem in the n coefficients of the kernel expansion.

    ``matrix`` lives at ``home`` and is overwritten: with the factor in its place, there is never
    more than one n×n array.
    ``device`` is where it will be factorised: where it lives, unless it is too large for that.
    """
    size = float(np.abs(home.get(matrix.diagonal())).max())
    level = float(np.average(y, weights=weight)) if fit_intercept else 0.0
    anchor, null = center_and_scale(matrix, weight, fit_intercept=fit_intercept, home=home)
    size = max(size, float(np.abs(anchor).max()))
    target, scale = y - level, None
    if weight is not None:
        scale = np.sqrt(weight)
        target, anchor = scale * target, scale * anchor
        columns = sparse.diags_array(1.0 / scale).tocsr() @ columns
    geometry = KernelGeometry(scale, size)
    probe = home.get(home.times_columns(matrix, home.put_columns(columns)))
    return System(
        matrix=matrix,
        target=Target(target, level, float(target @ target)),
        steering=columns.toarray(),
        probe=geometry.cleared(probe),
        anchor=anchor,
        null=null,
        weight=weight,
        centred=fit_intercept,
        geometry=geometry,
        device=home if device is None else device,
    )


def center_and_scale(
    matrix: Any, weight: Array | None, *, fit_intercept: bool, home: Device = CPU
) -> tuple[Array, Array | None]:
    """Turn K into A = √w∘(centred K)∘√w, in place.

    Returns the means that centring took away, and the unit vector that A then maps to zero.
    """
    n = len(matrix)
    means = center_kernel(matrix, weight, home) if fit_intercept else np.zeros(n)
    if weight is None:
        return means, np.full(n, n**-0.5) if fit_intercept else None
    scale = np.sqrt(weight)
    there = home.put(scale)
    for rows in home.row_blocks(n, n):
        matrix[rows] *= there[rows, None] * there
    return means, scale / np.sqrt(weight.sum()) if fit_intercept else None
