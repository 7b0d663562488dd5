"""The settings of a search: kernels × alphas × epsilons, in the order of GridSearchCV."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid

from gferm.exceptions import warn_user
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
    """Check the grids that a user gave, and multiply them out; what is there twice, once."""
    twice: dict[str, list[Any]] = {}
    kernel_grids = [{}] if kernel_grid is None else _as_list_of_grids(kernel_grid, twice)
    if gammas is not None:
        if any("gamma" in one for one in kernel_grids):
            raise ValueError(
                "gammas and kernel_grid both name values of gamma; leave gammas out, or gamma out "
                "of kernel_grid."
            )
        values = _values(gammas, "gammas", twice, optional="the kernel's default")
        kernel_grids = [{"gamma": values, **one} for one in kernel_grids]
    shared = {
        "alpha": _values(PAPER_ALPHAS if alphas is None else alphas, "alphas", twice),
        "epsilon": _values(epsilons, "epsilons", twice, optional="no constraint"),
    }
    if twice:
        found = ", ".join(f"{name} has {values} more than once" for name, values in twice.items())
        warn_user(f"{found}; each value is tried once.", UserWarning)
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


def _values(
    given: Any, name: str, twice: dict[str, list[Any]], *, optional: str | None = None
) -> list[Any]:
    """Read one list of numbers of at least 0, or None where it has a meaning."""
    if _is_no_list(given):
        alone = isinstance(given, Real) or (given is None and optional)
        example = repr(given) if alone else "0.1, 1.0"
        raise ValueError(f"{name}={given!r} must be a list of numbers, such as {name}=[{example}].")
    values = list(given)
    if not values:
        raise ValueError(f"{name}={given!r} is empty: there is nothing to try; give it a value.")
    for value in values:
        number = isinstance(value, Real) and 0 <= float(value) < np.inf
        if not number and not (value is None and optional):
            also = f", or None for {optional}" if optional else ""
            raise ValueError(f"{name} has {value!r}; use finite numbers of 0 or larger{also}.")
    return _distinct([None if value is None else float(value) for value in values], name, twice)


def _as_list_of_grids(kernel_grid: Any, twice: dict[str, list[Any]]) -> list[dict[str, Any]]:
    grids = [kernel_grid] if isinstance(kernel_grid, Mapping) else kernel_grid
    if isinstance(grids, str) or not isinstance(grids, Iterable):
        grids = [None]
    grids = list(grids)
    if not grids:
        raise ValueError("kernel_grid=[] is empty: leave it out, or give it a dict of values.")
    if not all(isinstance(grid, Mapping) for grid in grids):
        raise ValueError(
            f"kernel_grid={kernel_grid!r} must be a dict of lists, such as "
            "{'degree': [2, 3]}, or a list of such dicts."
        )
    return [_read_kernels(grid, twice) for grid in grids]


def _read_kernels(grid: Mapping[str, Any], twice: dict[str, list[Any]]) -> dict[str, Any]:
    unknown = [name for name in grid if name not in KERNEL_PARAMETERS]
    if unknown:
        raise ValueError(
            f"kernel_grid names {unknown}; it may name {list(KERNEL_PARAMETERS)}. The others "
            "have grids of their own: alphas, epsilons."
        )
    read: dict[str, Any] = {}
    for name, values in grid.items():
        where = f"kernel_grid[{name!r}]"
        if _is_no_list(values):
            raise ValueError(f"{where}={values!r} must be a list, such as [{values!r}].")
        read[name] = _distinct(list(values), where, twice)
        if not read[name]:
            raise ValueError(
                f"{where}={values!r} is empty: there is nothing to try; leave {name!r} out, or "
                "give it a value."
            )
    return read


def _is_no_list(given: Any) -> bool:
    single = isinstance(given, (str, Mapping)) or not isinstance(given, Iterable)
    return single or getattr(given, "ndim", 1) == 0


def _distinct(values: list[Any], name: str, twice: dict[str, list[Any]]) -> list[Any]:
    """Keep the first of equal values, and note the others."""
    kept: list[Any] = []
    for value in values:
        if not any(_are_equal(value, other) for other in kept):
            kept.append(value)
        elif not any(_are_equal(value, other) for other in twice.setdefault(name, [])):
            twice[name].append(value)
    return kept


def _are_equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except ValueError:  # dicts of arrays do not say
        return False
