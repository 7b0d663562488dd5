"""Sums over rows that hold a linear problem: they add over parts of the data, and subtract.

    mass = Σ w    shift = Σ w x    scatter = Σ w x xᵀ    cross = Σ w x y    rise = Σ w y    …

with x and y counted from origins near their means, so that centring cancels few digits; sums about
different origins add up about the mean of both. A model of a part of the rows costs d³ then,
whatever the number of rows: `system` writes its learning problem in the d weights of the features.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from joblib import cpu_count
from scipy import sparse

from gferm.arrays import Array
from gferm.arrays.device import CPU, Device, row_blocks
from gferm.arrays.memory import halve_until_it_fits
from gferm.arrays.threads import for_each
from gferm.features.geometry import ROUNDING, LinearGeometry, above_rounding
from gferm.features.origin import Origin
from gferm.features.system import System, Target

Finish: TypeAlias = Callable[[Array], Array]
"""A linear map of the features, applied to the rows of an array of shape (d, …)."""

BLOCK = 2**19  # doubles of a block
THREADS = min(cpu_count(), 8)  # each adds to sums of its own …
ROOM = 2**25  # … if all of them together take no more doubles
LEAST_LEFT = 1e-4  # of a sum, from which on a subtraction keeps the digits of what is left


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

    @classmethod
    def of_products(cls, origin: Origin, products: Array) -> Moments:
        """Read the sums off Σ w z zᵀ, z = (x, y, 1)."""
        d = len(origin.x)
        return cls(
            origin,
            mass=float(products[-1, -1]),
            shift=products[:d, -1].copy(),
            scatter=np.ascontiguousarray(products[:d, :d]),
            cross=products[:d, d:-1].copy(),
            rise=products[d:-1, -1].copy(),
            square=products[d:-1, d:-1].diagonal().copy(),
        )

    def __add__(self, other: Moments) -> Moments:
        if not self.origin.is_at(other.origin):
            common = self.origin_with(other)
            return self.counted_from(common) + other.counted_from(common)
        both = (mine + its for mine, its in zip(self._sums, other._sums, strict=True))
        return Moments(self.origin, *both)

    def __sub__(self, other: Moments) -> Moments:
        left = (mine - its for mine, its in zip(self._sums, other._sums, strict=True))
        return Moments(self.origin, *left)

    def origin_with(self, other: Moments) -> Origin:
        """Return the mean of the rows of both, from where sums of both lose the fewest digits."""
        mass = self.mass + other.mass
        away_x, away_y = other.origin.x - self.origin.x, other.origin.y - self.origin.y
        return Origin(
            self.origin.x + (self.shift + other.shift + other.mass * away_x) / mass,
            self.origin.y + (self.rise + other.rise + other.mass * away_y) / mass,
        )

    def counted_from(self, origin: Origin) -> Moments:
        """Return the same sums about another point."""
        x, y = self.origin.x - origin.x, self.origin.y - origin.y
        moved = np.outer(self.shift + 0.5 * self.mass * x, x)
        return Moments(
            origin,
            self.mass,
            self.shift + self.mass * x,
            self.scatter + moved + moved.T,
            self.cross + np.outer(self.shift, y) + np.outer(x, self.rise + self.mass * y),
            self.rise + self.mass * y,
            self.square + y * (2.0 * self.rise + self.mass * y),
        )

    @property
    def _sums(self) -> tuple[Any, ...]:
        return self.mass, self.shift, self.scatter, self.cross, self.rise, self.square

    def finished(self, finish: Finish) -> Moments:
        """Return the sums of other features, linear in these."""
        x = finish(self.origin.x[:, None])[:, 0]
        return replace(
            self,
            origin=replace(self.origin, x=x),
            shift=finish(self.shift[:, None])[:, 0],
            scatter=finish(finish(self.scatter).T),
            cross=finish(self.cross),
        )

    def spread(self, *, fit_intercept: bool) -> Array:
        """Return Σ w x² of every feature, about its mean if there is an intercept."""
        squares = self.scatter.diagonal()
        return squares - self.shift**2 / self.mass if fit_intercept else squares

    def variation(self, *, fit_intercept: bool) -> Array:
        """Return Σ w y² of every target, about its mean if there is an intercept."""
        return self.square - self.rise**2 / self.mass if fit_intercept else self.square

    def system(
        self, probe: Array, X: Any, weight: Array | None, *, fit_intercept: bool
    ) -> tuple[System, list[Target]]:
        """Write the problem in d unknowns; the system aims at the first of the targets.

        ``probe`` is XᵀC. ``X`` and ``weight`` are the rows themselves, for losses that go back
        to them.
        """
        matrix, cross, square, origin = self.scatter, self.cross, self.square, self.origin
        spread = np.maximum(matrix.diagonal(), 0.0)  # of a difference, it may be rounding
        floor = ROUNDING * np.sqrt(spread / self.mass)
        probe = above_rounding(probe, floor)
        levels = origin.y
        anchor = np.zeros(len(matrix))
        if fit_intercept:
            mean, rise = self.shift / self.mass, self.rise / self.mass
            matrix = matrix - self.mass * np.outer(mean, mean)
            cross = cross - np.outer(mean, self.rise)
            square = square - rise * self.rise
            anchor, levels = origin.x + mean, origin.y + rise
        else:
            matrix = matrix.copy()  # factorising uses it up, and these sums may go on growing
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
            geometry=LinearGeometry(X, anchor, floor, origin=anchor),
        )
        return system, targets


def sum_over(
    X: Any,
    targets: Array,
    weight: Array | None,
    origin: Origin,
    columns: sparse.csr_array | None = None,
    rows: npt.NDArray[np.intp] | None = None,
    device: Device = CPU,
) -> tuple[Moments, Array]:
    """Take the sums over all rows, or some, in one pass over blocks; and Xᵀ·columns with them."""
    moments, seen = sum_with_columns(X, targets, weight, origin, columns, rows, device)
    return moments, seen[: X.shape[1]]


def sum_with_columns(
    X: Any,
    targets: Array,
    weight: Array | None,
    origin: Origin,
    columns: sparse.csr_array | None = None,
    rows: npt.NDArray[np.intp] | None = None,
    device: Device = CPU,
) -> tuple[Moments, Array]:
    """Take the same sums, and Zᵀ·columns with them, where the rows of Z are (x, y, 1).

    The products are taken on the device, and the sums come back from there.
    """
    n, d = (X.shape[0] if rows is None else rows.size), X.shape[1]
    width = d + targets.shape[1] + 1
    n_columns = 0 if columns is None else columns.shape[1]
    crowded = THREADS * width * (width + n_columns) > ROOM  # BLAS uses the threads then
    alone = crowded or not device.is_cpu

    def take(doubles: int) -> tuple[Moments, Array]:
        blocks = row_blocks(n, width, doubles)
        shares = [
            _Sums(origin, n_columns, device)
            for _ in range(1 if alone else max(min(THREADS, len(blocks)), 1))
        ]

        def add(j: int) -> None:
            room = _room_like(X, blocks[0].stop if blocks else 0, width, device)
            for part in blocks[j :: len(shares)]:
                here = part if rows is None else rows[part]
                shares[j].add(
                    room[: part.stop - part.start],
                    partial(X.__getitem__, here),
                    targets[here],
                    None if weight is None else weight[here],
                    None if columns is None else columns[here],
                )

        for_each(add, range(len(shares)))
        products = device.get(sum((share.products for share in shares[1:]), shares[0].products))
        seen = device.get(sum((share.seen for share in shares[1:]), shares[0].seen))
        return Moments.of_products(origin, products), seen

    at_once = max(device.at_once(BLOCK), 2 * width**2)  # sums are smaller
    return halve_until_it_fits(take, at_once, (n, width), device)


def _room_like(X: Any, n_rows: int, width: int, device: Device) -> Any:
    """Take memory for rows, column by column if X has them so, as data frames do."""
    flags = getattr(X, "flags", None)
    if flags is not None and flags.f_contiguous and not flags.c_contiguous:
        return device.empty(width, n_rows).T
    return device.empty(n_rows, width)


class _Sums:
    """One thread's share of all sums: those of z zᵀ, for z = (x, y, 1), and of z·columns."""

    def __init__(self, origin: Origin, n_columns: int, device: Device) -> None:
        d, n_targets = len(origin.x), len(origin.y)
        self.device, self.from_x, self.from_y = device, device.put(origin.x), origin.y
        self.products = device.zeros(d + n_targets + 1, d + n_targets + 1)
        self.seen = device.zeros(d + n_targets + 1, n_columns)

    def add(
        self,
        room: Any,
        evaluate: Callable[[], Any],
        y: Array,
        weight: Array | None,
        columns: sparse.csr_array | None,
    ) -> None:
        """Add some rows; ``room`` is memory for z that is there already: new pages are slow.

        A GPU may still be at work on the rows before, so what the host prepares comes first.
        """
        device, d = self.device, len(self.from_x)
        placed = None if columns is None else device.put_columns(columns)
        scale = None if weight is None else device.put(np.sqrt(weight))[:, None]
        room[:, d:-1] = device.put(y - self.from_y)
        room[:, -1] = 1.0
        x = evaluate()
        room[:, :d] = device.put(x.toarray() if hasattr(x, "toarray") else x)
        room[:, :d] -= self.from_x
        if placed is not None:
            self.seen += device.times_columns(room, placed)
        if scale is not None:
            room *= scale
        self.products += room.T @ room


def training_moments(
    X: Any,
    targets: Array,
    weight: Array | None,
    parts: Sequence[tuple[npt.NDArray[np.intp], sparse.csr_array]],
    *,
    alpha: float,
    fit_intercept: bool,
    device: Device = CPU,
) -> Iterator[tuple[Moments, Array]]:
    """Return the moments of several overlapping parts, each by what it lacks if that is less.

    A part is its rows and its columns over all rows; Xᵀ·columns comes with its moments. A part is
    summed on its own, from its own origin, where a subtraction would lose digits that ``alpha``,
    the smallest in use, does not outweigh: rows that were taken away were all there was of a
    feature, or far larger than those that are left.
    """
    options: dict[str, Any] = {"fit_intercept": fit_intercept}
    origin = Origin.near_the_mean(X, targets, weight, **options)
    columns = sparse.hstack([own for _, own in parts], format="csr")
    whole, probe = sum_over(X, targets, weight, origin, columns, device=device)
    enough = LEAST_LEFT * whole.spread(**options) - alpha
    ends = np.cumsum([own.shape[1] for _, own in parts])
    for (rows, own), seen in zip(parts, np.split(probe, ends[:-1], axis=1), strict=True):
        times = np.bincount(rows, minlength=len(targets))
        lacking = np.flatnonzero(times == 0)
        if lacking.size <= rows.size and times.max(initial=0) <= 1:
            moments = whole - sum_over(X, targets, weight, origin, rows=lacking, device=device)[0]
            clear = moments.variation(**options) >= LEAST_LEFT * whole.variation(**options)
            if (moments.spread(**options) >= enough).all() and clear.all():
                yield moments, seen
                continue
        share = weight
        if times.max(initial=0) > 1:  # to be there twice is to weigh twice
            share = times * (np.ones(times.size) if weight is None else weight)
        there = np.flatnonzero(times)
        near = Origin.near_the_mean(X, targets, share, there, **options)
        yield sum_over(X, targets, share, near, own, there, device)
