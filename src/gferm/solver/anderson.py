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
    size : int
        n, the length of v.
    weight : array of shape (n,) or None
        Weights of the norm.
    """

    def __init__(self, size: int, weight: Array | None = None) -> None:
        self._weight = weight
        self._moves = np.empty((MEMORY, size))  # ΔM …
        self._jumps = np.empty((MEMORY, size))  # … and ΔV + ΔM, the oldest overwritten
        self._products = np.zeros((MEMORY, MEMORY))
        self.forget()

    def forget(self) -> None:
        """Start anew: the map has changed."""
        self._count = 0
        self._last: tuple[Array, Array] | None = None
        self._plain: Array | None = None
        self._norm = np.inf

    def step(self, v: Array, move: Array) -> Array:
        """Return the next point."""
        weighted = move if self._weight is None else self._weight * move
        norm = float(np.sqrt(weighted @ move))
        if self._plain is not None and norm > GROWTH * self._norm:
            plain = self._plain
            self.forget()
            return plain
        if self._last is not None:
            self._remember(v - self._last[0], move - self._last[1])
        self._last, self._norm = (v, move), norm
        plain, held = v + move, min(self._count, MEMORY)
        products = self._products[:held, :held]
        ridge = RIDGE * float(np.trace(products))
        if held < 2 or ridge == 0.0:
            return plain
        self._plain = plain
        gamma = np.linalg.solve(products + ridge * np.eye(held), self._moves[:held] @ weighted)
        return plain - gamma @ self._jumps[:held]

    def _remember(self, jump: Array, move: Array) -> None:
        place = self._count % MEMORY
        self._count += 1
        held = min(self._count, MEMORY)
        self._moves[place] = move
        np.add(jump, move, out=self._jumps[place])
        weighted = move if self._weight is None else self._weight * move
        products = self._moves[:held] @ weighted
        self._products[place, :held] = self._products[:held, place] = products
