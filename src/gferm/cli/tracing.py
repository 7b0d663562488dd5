"""`gferm frontier` without the terminal: a file in, the frontier, its table and a picture out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from gferm.cli.features import TablePreparation
from gferm.cli.fitting import FitOptions, estimator_params, given, require_known
from gferm.cli.learning_data import DataOptions, read_learning_data
from gferm.cli.terminal import InputError, stage
from gferm.cli.whole_file import require_writable, whole_file
from gferm.estimators.frontier import Frontier, frontier

PICTURES = (".png", ".svg", ".pdf")


def trace_file(
    path: Path, data: DataOptions, options: FitOptions, *, show: bool = True
) -> Frontier:
    """Trace the frontier of a table, its features prepared as for a fit."""
    require_known(options)
    with stage(f"Reading {path}", show=show):
        roles, rows = read_learning_data(path, data, options.task)
        matrix = TablePreparation(roles.categorical).fit_transform(rows.X)
    params = estimator_params(options, roles, rows, matrix)
    with stage("Tracing the frontier", show=show):
        return frontier(matrix, **given(rows), **params)


def table_of(traced: Frontier) -> pd.DataFrame:
    """Return epsilon, training error and price at every breakpoint, from plain to fairest."""
    objectives = traced.objectives
    plain = objectives[0] if objectives[0] > 0 else np.nan
    return pd.DataFrame(
        {
            "epsilon": traced.epsilons,
            "mse": traced.mean_squared_errors,
            "price_percent": 100 * (objectives / plain - 1),
        }
    )


def require_picture_name(path: Path, *, keep: Sequence[Path | None]) -> None:
    """Refuse a picture of no known kind, or a place that cannot be written to."""
    if path.suffix.lower() not in PICTURES:
        raise InputError(f"--picture {path} must end in one of {', '.join(PICTURES)}.")
    require_writable(path, option="--picture", keep=keep)


def draw(traced: Frontier, path: Path) -> None:
    """Draw the curve into a file."""
    from matplotlib.figure import Figure

    from gferm.plotting import FrontierDisplay

    figure = Figure(figsize=(7.2, 4.8), layout="constrained")
    FrontierDisplay.from_frontier(traced, ax=figure.add_subplot())
    with whole_file(path) as part:
        figure.savefig(part, dpi=150, format=path.suffix[1:].lower())
