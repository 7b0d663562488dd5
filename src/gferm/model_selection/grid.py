"""The settings of a search: kernels × alphas × epsilons, in the order of GridSearchCV."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid

from gferm.solver.crossval import Grid

PAPER_ALPHAS = tuple((10.0 ** np.arange(-4, 4.25, 0.5)).tolist())
KERNEL_PARAMETERS = ("kernel", "gamma", "degree", "coef0", "kernel_params")
KernelGrid = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]]


@dataclass(frozen=True, eq=False)
class SearchGrid:
    """What is tried.

    Attributes
    ----------
    kernels : list of dict
        Kernel parameters, each with every alpha and epsilon.
    shared : Grid
        The alphas and epsilons.
    params : list of dict
        The parameters of every setting, in GridSearchCV's order.
    order : list of int
        The place of each setting among kernels × alphas × epsilons.
    """

    kernels: list[dict[str, Any]]
    shared: Grid
    params: list[dict[str, Any]]
    order: list[int]


def read_grid(
    alphas: Any, gammas: Any, epsilons: Any, kernel_grid: KernelGrid | None
) -> SearchGrid:
    """Check the grids that a user gave, and multiply them out."""
    kernel_grids = [{}] if kernel_grid is None else _as_list_of_grids(kernel_grid)
    if gammas is not None:
        if any("gamma" in one for one in kernel_grids):
            raise ValueError(
                "gammas and kernel_grid both name values of gamma; leave gammas out, or gamma out "
                "of kernel_grid."
            )
        values = _values(gammas, "gammas", optional="the kernel's default")
        kernel_grids = [{"gamma": values, **one} for one in kernel_grids]
    shared = {
        "alpha": _values(PAPER_ALPHAS if alphas is None else alphas, "alphas"),
        "epsilon": _values(epsilons, "epsilons", optional="no constraint"),
    }
    kernels: list[dict[str, Any]] = []
    params: list[dict[str, Any]] = []
    order: list[int] = []
    for grid in kernel_grids:
        whole = {**grid, **shared}
        first = len(kernels)
        kernels += list(ParameterGrid(grid))
        sizes = [len(grid[name]) for name in sorted(grid)]
        # numbers in place of values, which may be dicts or functions
        for place in ParameterGrid({name: range(len(values)) for name, values in whole.items()}):
            params.append({name: whole[name][i] for name, i in place.items()})
            kernel = first
            if sizes:
                kernel += int(np.ravel_multi_index([place[name] for name in sorted(grid)], sizes))
            setting = kernel * len(shared["alpha"]) + place["alpha"]
            order.append(setting * len(shared["epsilon"]) + place["epsilon"])
    both = Grid(np.array(shared["alpha"], dtype=float), tuple(shared["epsilon"]))
    return SearchGrid(kernels, both, params, order)


def _values(given: Any, name: str, *, optional: str | None = None) -> list[Any]:
    """Read one list of numbers of at least 0, or None where it has a meaning."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ValueError(f"{name}={given!r} must be a list of numbers, such as {name}=[{given!r}].")
    values = list(given)
    if not values:
        raise ValueError(f"{name}={given!r} is empty: there is nothing to try; give it a value.")
    for value in values:
        number = isinstance(value, Real) and 0 <= float(value) < np.inf
        if not number and not (value is None and optional):
            also = f", or None for {optional}" if optional else ""
            raise ValueError(f"{name} has {value!r}; use finite numbers of 0 or larger{also}.")
    return _distinct([None if value is None else float(value) for value in values], name)


def _as_list_of_grids(kernel_grid: Any) -> list[dict[str, Any]]:
    grids = [kernel_grid] if isinstance(kernel_grid, Mapping) else list(kernel_grid)
    if not grids:
        raise ValueError("kernel_grid=[] is empty: leave it out, or give it a dict of values.")
    for grid in grids:
        unknown = [name for name in grid if name not in KERNEL_PARAMETERS]
        if unknown:
            raise ValueError(
                f"kernel_grid names {unknown}; it may name {list(KERNEL_PARAMETERS)}. The others "
                "have grids of their own: alphas, epsilons."
            )
        empty = [name for name, values in grid.items() if len(values) == 0]
        if empty:
            raise ValueError(f"kernel_grid has no values for {empty}: there is nothing to try.")
    return [
        {name: _distinct(list(values), f"kernel_grid[{name!r}]") for name, values in grid.items()}
        for grid in grids
    ]


def _distinct(values: list[Any], name: str) -> list[Any]:
    kept: list[Any] = []
    for value in values:
        if value not in kept:
            kept.append(value)
    if len(kept) < len(values):
        warnings.warn(
            f"{name} has {len(values) - len(kept)} values twice; each is tried once.",
            UserWarning,
            stacklevel=6,
        )
    return kept
