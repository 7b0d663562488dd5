"""Run benchmarks: ``python -m benchmarks [name ...]``; all of them by default."""

from __future__ import annotations

import sys
from importlib import import_module

NAMES = (
    "kernel_ridge",
    "cvxpy_clarabel",
    "linear",
    "losses",
    "classification",
    "selection",
    "memory",
    "small_cells",
    "reproduction",
    "audit",
    "command_line",
    "scale",
    "dask_cluster",
    "growth",
)
ON_REQUEST = ("gpu",)  # needs CUDA


def main(names: list[str]) -> int:
    known = (*NAMES, *ON_REQUEST)
    unknown = sorted(set(names) - set(known))
    if unknown:
        print(f"unknown benchmark {unknown}; choose from {', '.join(known)}", file=sys.stderr)
        return 2
    kept = [import_module(f"benchmarks.{name}").run() for name in names or NAMES]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
