"""Anderson acceleration of a fixed-point iteration v ← v + move(v).

The next point is the combination of the last few that would have moved least, were the map linear:
with the differences of moves in the rows of ΔM and of points in ΔV,

    γ = argmin ‖move − ΔMᵀγ‖,      v ← v + move − (ΔV + ΔM)ᵀγ.

A point that moves much more than the one before it is taken back, for the plain step and a new
memory: the iteration converges whatever the acceleration does.
"""

from __future__ import annotations

import numpy as np

from gferm.arrays import Array

MEMORY = 10
GROWTH = 2.0  # of ‖move‖, from which on an accelerated point is taken back
RIDGE = 1e-10  # of the least squares, as a share of its trace


class Anderson:
    """The memory of one iteration.

    Parameters
    ----------
    weight : array of shape (n,) or None
        Weights of the norm.
    """

    def __init__(self, weight: Array | None = None) -> None:
        self._weight = weight
        self.forget()

    def forget(self) -> None:
        """Start anew: the map has changed."""
        self._moves: list[Array] = []  # differences of moves …
        self._jumps: list[Array] = []  # … and of points plus moves
        self._products = np.zeros((0, 0))
        self._last: tuple[Array, Array] | None = None
        self._plain: Array | None = None
        self._norm = np.inf

    def step(self, v: Array, move: Array) -> Array:
        """Give the next point."""
        norm = float(np.sqrt(self._inner(move, move)))
        if self._plain is not None and norm > GROWTH * self._norm:
            plain = self._plain
            self.forget()
            return plain
        if self._last is not None:
            self._remember(v - self._last[0], move - self._last[1])
        self._last, self._norm = (v, move), norm
        plain = v + move
        if len(self._moves) < 2:
            return plain
        self._plain = plain
        ridge = RIDGE * float(np.trace(self._products)) * np.eye(len(self._moves))
        onto = np.array([self._inner(m, move) for m in self._moves])
        gamma = np.linalg.lstsq(self._products + ridge, onto, rcond=None)[0]
        accelerated = plain.copy()
        for g, jump in zip(gamma, self._jumps, strict=True):
            accelerated -= g * jump
        return accelerated

    def _remember(self, jump: Array, move: Array) -> None:
        self._moves.append(move)
        self._jumps.append(jump + move)
        row = np.array([self._inner(m, move) for m in self._moves])
        grown = np.empty((len(row), len(row)))
        grown[:-1, :-1] = self._products
        grown[-1], grown[:, -1] = row, row
        first = max(len(row) - MEMORY, 0)
        self._products = grown[first:, first:]
        self._moves, self._jumps = self._moves[first:], self._jumps[first:]

    def _inner(self, a: Array, b: Array) -> float:
        return float(a @ b if self._weight is None else (self._weight * a) @ b)
