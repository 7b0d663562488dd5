"""`gferm frontier`: what each step towards fairness costs, from the plain model to the fairest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.table import Table

from gferm.cli.options import (
    MODEL,
    OUTPUT,
    Categorical,
    Data,
    Drop,
    DropMissing,
    IncludeSensitive,
    Intersectional,
    Json,
    Kernel,
    Match,
    MatchOption,
    MinCellSize,
    SBins,
    Sensitive,
    Target,
    Weight,
    YBins,
    read_bins,
)
from gferm.cli.terminal import console, print_json, progress_wanted, say, stage, tidy_command
from gferm.exceptions import InputError

if TYPE_CHECKING:
    import pandas as pd

    from gferm.estimators.frontier import Frontier

PICTURES = (".png", ".svg", ".pdf")


def frontier(
    data: Data,
    target: Target,
    sensitive: Sensitive,
    out: Annotated[
        Path | None, typer.Option(help="CSV or Parquet for the table.", rich_help_panel=OUTPUT)
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="PNG, SVG or PDF of the curve.", rich_help_panel=OUTPUT)
    ] = None,
    categorical: Categorical = None,
    drop: Drop = None,
    weight: Weight = None,
    drop_missing: DropMissing = False,
    include_sensitive: IncludeSensitive = False,
    kernel: Kernel = "linear",
    gamma: Annotated[
        float | None,
        typer.Option(min=0, help="Of the kernel; 1/columns by default.", rich_help_panel=MODEL),
    ] = None,
    alpha: Annotated[
        float, typer.Option(min=0, help="Regularisation.", rich_help_panel=MODEL)
    ] = 1.0,
    y_bins: YBins = None,
    s_bins: SBins = None,
    match: MatchOption = Match.prediction,
    intersectional: Intersectional = True,
    min_cell_size: MinCellSize = 1,
    as_json: Json = False,
) -> None:
    """Trace the exact price of fairness: every epsilon, from one factorisation.

    Between two of the epsilons listed the model changes linearly. Price: the training objective, in
    per cent above the plain model's. Squared loss, numeric target.

    [bold]Examples[/bold]

      gferm frontier people.csv --target salary --sensitive sex

      gferm frontier people.csv --target salary --sensitive sex --out f.csv --picture f.png

    [bold]Exit codes[/bold]  0 done, 2 wrong input, 130 stopped
    """
    with tidy_command() as notes:
        from gferm.estimators.frontier import frontier as trace_frontier
        from gferm.tables.fitting import require_known, require_memory
        from gferm.tables.labelled_rows import read_rows_to_learn
        from gferm.tables.preparation import TablePreparation
        from gferm.tables.roles import AskedColumns
        from gferm.tables.write import require_table_name, write_table

        if out is not None:
            require_table_name(out, keep=[data])
        if picture is not None:
            _require_picture_name(picture, data)
        require_known("regression", {"kernel": kernel})
        show = progress_wanted(as_json)
        asked = AskedColumns(
            target=target,
            sensitive=sensitive,
            categorical=categorical,
            drop=drop,
            weight=weight,
            drop_missing=drop_missing,
            include_sensitive=include_sensitive,
        )
        with stage(f"Reading {data}", show=show):
            rows = read_rows_to_learn(data, asked, "regression")
            matrix = TablePreparation(rows.roles.categorical).fit_transform(rows.X)
        require_memory(matrix, kernel=kernel)
        attributes = rows.roles.sensitive
        bins = read_bins(y_bins, s_bins, task=rows.task, labels=rows.y, attributes=attributes)
        with stage("Tracing the frontier", show=show):
            traced = trace_frontier(
                matrix,
                rows.y,
                **rows.groups_and_weight,
                kernel=kernel,
                gamma=gamma,
                alpha=alpha,
                match=match.value,
                intersectional=intersectional,
                min_cell_size=min_cell_size,
                **bins,
            )
        points = _breakpoints(traced)
        if out is not None:
            write_table(points, out)
        if picture is not None:
            _draw(traced, picture)
        if as_json:
            document = {
                "data": data,
                "rows": len(rows.y),
                "breakpoints": points.to_dict(orient="records"),
                "out": out,
                "picture": picture,
            }
            print_json({**document, "notes": list(notes)})
            return
        table = Table(title="Price of fairness", caption="price: training objective above plain")
        for column in ("epsilon", "training MSE", "price"):
            table.add_column(column, justify="right")
        for line in points.itertuples():
            table.add_row(f"{line.epsilon:.4g}", f"{line.mse:.4g}", f"{line.price_percent:.3g} %")
        console.print(table)
        for path in filter(None, (out, picture)):
            say(f"Wrote {path}", to=console)


def _breakpoints(traced: Frontier) -> pd.DataFrame:
    """Return epsilon, training error and price at every breakpoint, from plain to fairest."""
    import pandas as pd

    objectives = traced.objectives
    plain = objectives[0] if objectives[0] > 0 else np.nan
    return pd.DataFrame(
        {
            "epsilon": traced.epsilons,
            "mse": traced.mean_squared_errors,
            "price_percent": 100 * (objectives / plain - 1),
        }
    )


def _require_picture_name(path: Path, data: Path) -> None:
    """Raise an error if a picture is of no known kind, or its place cannot be written to."""
    from gferm.tables.write import require_writable

    if path.suffix.lower() not in PICTURES:
        raise InputError(f"--picture {path} must end in one of {', '.join(PICTURES)}.")
    require_writable(path, option="--picture", keep=[data])


def _draw(traced: Frontier, path: Path) -> None:
    """Draw the curve into a file."""
    from matplotlib.figure import Figure

    from gferm.plotting import FrontierDisplay
    from gferm.tables.write import whole_file

    figure = Figure(figsize=(7.2, 4.8), layout="constrained")
    FrontierDisplay.from_frontier(traced, ax=figure.add_subplot())
    with whole_file(path) as part:
        figure.savefig(part, dpi=150, format=path.suffix[1:].lower())
