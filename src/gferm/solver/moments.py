"""Sums over rows that hold a linear problem: they add over parts of the data, and subtract.

    mass = Σ w    shift = Σ w x    scatter = Σ w x xᵀ    cross = Σ w x y    rise = Σ w y    …

with x and y counted from fixed origins near their means, so that centring cancels few digits. A
model of a part of the rows costs d³ then, whatever the number of rows: `system` writes its
learning problem in the d weights of the features.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gferm.arrays import Array
from gferm.blocks import dense, row_blocks
from gferm.solver.geometry import LinearGeometry
from gferm.solver.system import System, Target

ROUNDING = 256 * np.finfo(float).eps  # of a mean, as a share of the size of what it averages
LEAST_LEFT = 1e-4  # of a sum, from which on a subtraction keeps the digits of what is left


@dataclass(frozen=True, eq=False)
class Origin:
    """Where x and the targets y are counted from; zero without an intercept."""

    x: Array
    y: Array

    @classmethod
    def near_the_mean(
        cls,
        X: Any,
        targets: Array,
        weight: Array | None,
        rows: npt.NDArray[np.intp] | None = None,
        *,
        fit_intercept: bool,
    ) -> Origin:
        """Take the mean of the first block of all rows, or some; of the targets the exact means."""
        if not fit_intercept:
            return cls(np.zeros(X.shape[1]), np.zeros(targets.shape[1]))
        some = slice(None) if rows is None else rows
        share = None if weight is None else weight[some]
        first = row_blocks(X.shape[0] if rows is None else rows.size, X.shape[1])[0]
        near = dense(X[first if rows is None else rows[first]]).mean(axis=0)
        return cls(near, np.average(targets[some], axis=0, weights=share))


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over some rows, for t targets at once.

    Attributes
    ----------
    origin : Origin
        Where they are counted from.
    mass : float
    shift : array of shape (d,)
    scatter : array of shape (d, d)
    cross : array of shape (d, t)
    rise : array of shape (t,)
    square : array of shape (t,)
        Σ w y².
    """

    origin: Origin
    mass: float
    shift: Array
    scatter: Array
    cross: Array
    rise: Array
    square: Array

    def __sub__(self, other: Moments) -> Moments:
        left = (mine - its for mine, its in zip(self._sums, other._sums, strict=True))
        return Moments(self.origin, *left)

    @property
    def _sums(self) -> tuple[Any, ...]:
        return self.mass, self.shift, self.scatter, self.cross, self.rise, self.square

    def spread(self, *, fit_intercept: bool) -> Array:
        """Give Σ w x² of every feature, about its mean if there is an intercept."""
        squares = self.scatter.diagonal()
        return squares - self.shift**2 / self.mass if fit_intercept else squares

    def system(
        self, probe: Array, X: Any, weight: Array | None, *, fit_intercept: bool
    ) -> tuple[System, list[Target]]:
        """Write the problem in d unknowns; the system aims at the first of the targets.

        ``probe`` is XᵀC. ``X`` and ``weight`` are the rows themselves, for losses that go back
        to them.
        """
        matrix, cross, square, origin = self.scatter, self.cross, self.square, self.origin
        spread = np.maximum(matrix.diagonal(), 0.0)  # of a difference, it may be rounding
        probe = above_rounding(probe, ROUNDING * np.sqrt(spread / self.mass))
        levels = origin.y
        anchor = np.zeros(len(matrix))
        if fit_intercept:
            mean, rise = self.shift / self.mass, self.rise / self.mass
            matrix = matrix - self.mass * np.outer(mean, mean)
            cross = cross - np.outer(mean, self.rise)
            square = square - rise * self.rise
            anchor, levels = origin.x + mean, origin.y + rise
        targets = [
            Target(np.ascontiguousarray(vector), float(level), float(norm2))
            for vector, level, norm2 in zip(cross.T, levels, square, strict=True)
        ]
        system = System(
            matrix=matrix,
            target=targets[0],
            steering=probe,
            probe=probe,
            anchor=anchor,
            null=None,
            weight=weight,
            centred=fit_intercept,
            geometry=LinearGeometry(X, anchor),
        )
        return system, targets


def sum_over(
    X: Any,
    targets: Array,
    weight: Array | None,
    origin: Origin,
    columns: sparse.csr_array | None = None,
    rows: npt.NDArray[np.intp] | None = None,
) -> tuple[Moments, Array]:
    """Take the sums over all rows, or some, in one pass over blocks; and Xᵀ·columns with them."""
    n, d = (X.shape[0] if rows is None else rows.size), X.shape[1]
    mass, shift, scatter = 0.0, np.zeros(d), np.zeros((d, d))
    cross, rise, square = (np.zeros((*shape, targets.shape[1])) for shape in ((d,), (), ()))
    probe = np.zeros((d, 0 if columns is None else columns.shape[1]))
    for part in row_blocks(n, d):
        here = part if rows is None else rows[part]
        x = dense(X[here]) - origin.x
        y = targets[here] - origin.y
        if columns is not None:
            probe += (columns[here].T @ x).T
        if weight is not None:
            root = np.sqrt(weight[here])
            mass += float(weight[here].sum())
            shift += weight[here] @ x
            rise += weight[here] @ y
            x *= root[:, None]
            y = root[:, None] * y
        else:
            mass += float(len(x))
            shift += x.sum(axis=0)
            rise += y.sum(axis=0)
        scatter += x.T @ x
        cross += x.T @ y
        square += (y * y).sum(axis=0)
    return Moments(origin, mass, shift, scatter, cross, rise, square), probe


def training_moments(
    X: Any,
    targets: Array,
    weight: Array | None,
    parts: Sequence[tuple[npt.NDArray[np.intp], sparse.csr_array]],
    *,
    alpha: float,
    fit_intercept: bool,
) -> Iterator[tuple[Moments, Array]]:
    """Give the moments of several overlapping parts, each by what it lacks if that is less.

    A part is its rows and its columns over all rows; Xᵀ·columns comes with its moments. A part is
    summed on its own, from its own origin, where a subtraction would lose digits that ``alpha``,
    the smallest in use, does not outweigh: rows that were taken away were all there was of a
    feature, or far larger than those that are left.
    """
    options: dict[str, Any] = {"fit_intercept": fit_intercept}
    origin = Origin.near_the_mean(X, targets, weight, **options)
    columns = sparse.hstack([own for _, own in parts], format="csr")
    whole, probe = sum_over(X, targets, weight, origin, columns)
    enough = LEAST_LEFT * whole.spread(**options) - alpha
    ends = np.cumsum([own.shape[1] for _, own in parts])
    for (rows, own), seen in zip(parts, np.split(probe, ends[:-1], axis=1), strict=True):
        times = np.bincount(rows, minlength=len(targets))
        lacking = np.flatnonzero(times == 0)
        if lacking.size <= rows.size and times.max(initial=0) <= 1:
            moments = whole - sum_over(X, targets, weight, origin, rows=lacking)[0]
            if (moments.spread(**options) >= enough).all():
                yield moments, seen
                continue
        share = weight
        if times.max(initial=0) > 1:  # to be there twice is to weigh twice
            share = times * (np.ones(times.size) if weight is None else weight)
        there = np.flatnonzero(times)
        near = Origin.near_the_mean(X, targets, share, there, **options)
        yield sum_over(X, targets, share, near, own, there)


def above_rounding(probe: Array, floor: Array) -> Array:
    """Clear contrasts that are rounding: where groups agree exactly, noise must not be inverted.

    ``floor`` is, for each row of the probe, what rounding makes of a difference of two means.
    """
    return np.where(np.abs(probe) > floor[:, None], probe, 0.0)
