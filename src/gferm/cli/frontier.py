"""`gferm frontier`: what each step towards fairness costs, from the plain model to the fairest."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
)
from gferm.cli.terminal import console, print_json, printable, progress_wanted, tidy_command


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
        from gferm.cli.fitting import FitOptions
        from gferm.cli.learning_data import DataOptions
        from gferm.cli.tracing import draw, require_picture_name, table_of, trace_file
        from gferm.cli.write_table import require_table_name, write_table

        if out is not None:
            require_table_name(out, keep=[data])
        if picture is not None:
            require_picture_name(picture, keep=[data])
        traced = trace_file(
            data,
            DataOptions(
                target=target,
                sensitive=sensitive,
                categorical=categorical or (),
                drop=drop or (),
                weight=weight,
                drop_missing=drop_missing,
                include_sensitive=include_sensitive,
            ),
            FitOptions(
                task="regression",
                y_bins=y_bins,
                s_bins=tuple(s_bins or ()),
                params={
                    "kernel": kernel,
                    "gamma": gamma,
                    "alpha": alpha,
                    "match": match.value,
                    "intersectional": intersectional,
                    "min_cell_size": min_cell_size,
                },
            ),
            show=progress_wanted(as_json),
        )
        points = table_of(traced)
        if out is not None:
            write_table(points, out)
        if picture is not None:
            draw(traced, picture)
        if as_json:
            document = {
                "data": data,
                "rows": traced.cells.n_samples,
                "breakpoints": points.to_dict(orient="records"),
                "out": out,
                "picture": picture,
            }
            print_json({**document, "notes": list(notes)})
            return
        from rich.table import Table

        table = Table(title="Price of fairness", caption="price: training objective above plain")
        for column in ("epsilon", "training MSE", "price"):
            table.add_column(column, justify="right")
        for line in points.itertuples():
            table.add_row(f"{line.epsilon:.4g}", f"{line.mse:.4g}", f"{line.price_percent:.3g} %")
        console.print(table)
        for path in (out, picture):
            if path is not None:
                line = printable(f"Wrote {path}")
                console.print(line, markup=False, highlight=False, soft_wrap=True)
