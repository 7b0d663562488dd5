"""Many lasso paths at once: the exact multipliers of two groups, for stacks of small problems.

With two groups every block has one contrast, Ω(c) = Σ |c_k|, and the path (path.py) is that of a
lasso. For a price τ each contrast is in one of two states:

    apart   c_k ≠ 0,  ν_k = τ s_k,  s_k its sign
    equal   c_k = 0,  ν_k anything within ± τ

While the states stand ν = A + τ B and c = c₀ − G ν are lines in τ. A contrast that reaches zero
becomes equal; an equal one whose ν_k reaches ± τ comes apart. All problems of the stack take a step
at a time, each with its own τ; m×m systems are all the work. Runs on any `Device`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gferm.arrays.device import Device
from gferm.fairness.pair_norm import PairNorm
from gferm.solver.path import trace_path

STEPS_PER_CONTRAST = 4  # paths take little more than one; beyond it path.py takes over


def two_group_multipliers(device: Device, grams: Any, start: Any, bounds: Any) -> Any:
    """Return ν with Σ |c₀ − G ν| = bound for each problem and bound, shape (N, n_bounds, m).

    Parameters
    ----------
    device : Device
    grams : array of shape (N, m, m)
        G, positive definite but for rows and columns of zeros, whose ν stays zero.
    start : array of shape (N, m)
        c₀.
    bounds : array of shape (N, n_bounds)
        Positive. Where Σ |c₀| is no larger ν = 0.
    """
    walk = _Walk(device.xp, grams, start, bounds)
    for _ in range(STEPS_PER_CONTRAST * (start.shape[-1] + 1)):
        if not walk.step():
            return walk.found
    for i in walk.unfinished():  # ties
        walk.found[i] = device.put(
            _one_after_another(*(device.get(part[i]) for part in (grams, start, bounds)))
        )
    return walk.found


class _Walk:
    """The stack as it stands: τ and the states of every problem that is not finished."""

    def __init__(self, xp: Any, grams: Any, start: Any, bounds: Any) -> None:
        self.xp = xp
        self.bounds = bounds
        self.found = xp.zeros_like(bounds[:, :, None] * start[:, None, :])
        going = xp.sum(xp.abs(start), -1) > xp.amin(bounds, -1)
        self.places = xp.where(going)[0]
        self.gram, self.start = grams[going], start[going]
        self.sign = xp.sign(self.start)
        self.price = 0.0 * self.start[:, 0]

    def unfinished(self) -> Any:
        """Return the numbers of the problems whose path has not reached its last bound."""
        return self.places.tolist()

    def step(self) -> bool:
        """Go to the next event of every problem; False when all are finished."""
        if not len(self.places):
            return False
        xp = self.xp
        nu, slope = self._lines()
        c = self.start - _apply(self.gram, nu)
        fall = -_apply(self.gram, slope)
        next_price, event = self._next_event(nu, slope, c, fall)
        total, rate = xp.sum(self.sign * c, -1), xp.sum(self.sign * fall, -1)
        self._meet_bounds(nu, slope, total, rate)
        more = xp.isfinite(next_price)
        self.price = xp.where(more, next_price, 0.0)
        end = total + self.price * rate
        going = more & (end > xp.amin(self.bounds[self.places], -1))
        self._change_states(nu, slope, event)
        for name in ("places", "gram", "start", "sign", "price"):
            setattr(self, name, getattr(self, name)[going])
        return True

    def _lines(self) -> tuple[Any, Any]:
        """Return ν as A and B of A + τ B while the states stand."""
        xp, apart = self.xp, self.sign != 0
        equal = ~apart
        both = equal[:, :, None] & equal[:, None, :]
        system = xp.where(both, self.gram, 0.0)
        system = xp.where(self._identity() & (apart | self._silent())[:, None, :], 1.0, system)
        right = xp.stack([self.start, -_apply(self.gram, self.sign)], -1)
        right = xp.where(equal[:, :, None], right, 0.0)
        lines = xp.linalg.solve(system, right)
        return lines[..., 0], lines[..., 1] + self.sign

    def _identity(self) -> Any:
        """Return which entries of the m×m matrices are on the diagonal."""
        place = _positions(self.xp, self.sign)
        return place[:, :, None] == place[:, None, :]

    def _silent(self) -> Any:
        """Return which contrasts are not there: their row and column of G is zero."""
        xp = self.xp
        return xp.amax(xp.abs(self.gram), -1) == 0

    def _next_event(self, nu: Any, slope: Any, c: Any, fall: Any) -> tuple[Any, Any]:
        """Return the price of the next change of state, and whose it is."""
        xp = self.xp
        apart = self.sign != 0
        closing = apart & (self.sign * fall < 0.0)
        meet = xp.where(closing, -c / xp.where(closing, fall, 1.0), np.inf)
        up, down = slope - 1.0, -slope - 1.0  # how |ν_k| − τ grows, on either side
        leaves_up, leaves_down = ~apart & (up > 0.0), ~apart & (down > 0.0)
        above = xp.where(leaves_up, -nu / xp.where(leaves_up, up, 1.0), np.inf)
        below = xp.where(leaves_down, nu / xp.where(leaves_down, down, 1.0), np.inf)
        prices = xp.where(apart, meet, xp.minimum(above, below))
        prices = xp.maximum(prices, self.price[:, None])  # ties: rounding leads no way back
        return xp.amin(prices, -1), xp.argmin(prices, -1)

    def _meet_bounds(self, nu: Any, slope: Any, total: Any, rate: Any) -> None:
        """Keep ν where this line meets the bounds below it; later lines know better."""
        xp = self.xp
        bounds, falling = self.bounds[self.places], (rate < 0)[:, None]
        below = bounds < (total + self.price * rate)[:, None]
        meet = (bounds - total[:, None]) / xp.where(falling, rate[:, None], -1.0)
        price = xp.where(falling, meet, self.price[:, None])
        value = nu[:, None, :] + price[:, :, None] * slope[:, None, :]
        self.found[self.places] = xp.where(below[:, :, None], value, self.found[self.places])

    def _change_states(self, nu: Any, slope: Any, event: Any) -> None:
        """An apart contrast becomes equal; an equal one comes apart, to the side of its ν."""
        xp = self.xp
        side = xp.sign(nu + self.price[:, None] * slope)
        place = event[:, None] == _positions(xp, self.sign)
        changed = xp.where(self.sign != 0, 0.0, side)
        self.sign = xp.where(place, changed, self.sign)


def _apply(matrices: Any, vectors: Any) -> Any:
    return (matrices @ vectors[:, :, None])[:, :, 0]


def _positions(xp: Any, values: Any) -> Any:
    """Return 0, 1, 2, … along the last axis."""
    return xp.cumsum(xp.ones_like(values), -1) - 1.0


def _one_after_another(gram: Any, start: Any, bounds: Any) -> Any:
    """Let the general walk find ν for one problem."""
    path = trace_path(gram, start, PairNorm((1,) * len(start)), stop=float(bounds.min()))
    return path.at(bounds)
