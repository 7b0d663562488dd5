"""Multipliers for a grid: every alpha and every epsilon, with m numbers each.

G and c₀ of one learning problem and many alphas come as stacks. epsilon = 0 is one symmetric solve
for all alphas together; all positive epsilons of one alpha lie on one path (path.py), and with two
groups the alphas walk theirs together (two_groups.py).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gferm.arrays import Array
from gferm.arrays.device import open_device
from gferm.fairness.constraint import Constraint
from gferm.solver.path import trace_path
from gferm.solver.projection import ACCEPTED_EXCESS
from gferm.solver.reduction import noise_free_spectrum
from gferm.solver.two_groups import two_group_multipliers


def multipliers_of_grid(
    grams: Array, plain: Array, constraint: Constraint, epsilons: Sequence[float | None]
) -> Array:
    """Return ν for each alpha and epsilon, shape (n_alphas, n_epsilons, m).

    NaN where an epsilon cannot be met. ``grams`` are the G, shape (n_alphas, m, m), and ``plain``
    the c₀, shape (n_alphas, m).
    """
    values, vectors = noise_free_spectrum(grams)
    start = plain - constraint.offset
    sizes = constraint.norm.values(start)
    found = np.zeros((len(grams), len(epsilons), start.shape[1]))
    for j, epsilon in enumerate(epsilons):
        if epsilon == 0:
            found[:, j] = _meet_exactly(values, vectors, start, sizes, constraint)
    positive = [j for j, epsilon in enumerate(epsilons) if epsilon]
    if positive:
        bounds = constraint.scale * np.array([epsilons[j] for j in positive], dtype=float)
        active = sizes > bounds.min()
        together = active & (values[:, 0] > 0.0) & (max(constraint.sizes, default=0) == 1)
        if together.any():
            found[np.ix_(together, positive)] = two_group_multipliers(
                open_device("cpu"),
                grams[together],
                start[together],
                np.broadcast_to(bounds, (together.sum(), len(bounds))),
            )
        for i in np.flatnonzero(active & ~together):
            gram = (vectors[i] * values[i]) @ vectors[i].T
            found[i, positive] = _on_the_path(gram, start[i], bounds, constraint)
    for j, epsilon in enumerate(epsilons):
        if epsilon is not None:  # what G and rounding make of ν may be something else
            bound = constraint.scale * epsilon
            left = constraint.norm.values(_left_of(start, grams, found[:, j]))
            found[left > bound + ACCEPTED_EXCESS * np.maximum(bound, sizes), j] = np.nan
    return found


def _left_of(start: Array, grams: Array, multipliers: Array) -> Array:
    """Return c₀ − o − G ν for every alpha."""
    return np.asarray(start - np.einsum("aij,aj->ai", grams, multipliers))


def _meet_exactly(
    values: Array, vectors: Array, start: Array, sizes: Array, constraint: Constraint
) -> Array:
    """Solve G ν = c₀ − o for every alpha, in the directions that G moves."""
    moved = values > 0.0
    inverse = np.zeros_like(values)
    np.divide(1.0, values, out=inverse, where=moved)
    along = np.einsum("aji,aj->ai", vectors, start)
    nu: Array = np.einsum("aij,aj->ai", vectors, inverse * along)
    left = np.einsum("aij,aj->ai", vectors, np.where(moved, 0.0, along))
    for i in np.flatnonzero(constraint.norm.values(left) > ACCEPTED_EXCESS * sizes):
        gram = (vectors[i] * values[i]) @ vectors[i].T
        nu[i] = _on_the_path(gram, start[i], np.zeros(1), constraint)[0]
    return nu


def _on_the_path(gram: Array, start: Array, bounds: Array, constraint: Constraint) -> Array:
    """Interpolate one path at several bounds; NaN beyond its end."""
    path = trace_path(gram, start, constraint.norm, stop=float(bounds.min()))
    nu = path.at(bounds)
    slack = ACCEPTED_EXCESS * np.maximum(bounds, path.totals[0])
    nu[bounds < path.totals[-1] - slack] = np.nan
    return nu
