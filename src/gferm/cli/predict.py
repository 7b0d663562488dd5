"""`gferm predict`: a saved model and a table in, its predictions out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gferm.cli.options import OUTPUT, Data, Json, ModelPath
from gferm.cli.terminal import (
    console,
    print_json,
    printable,
    progress_wanted,
    stage,
    tidy_command,
)


def predict(
    model: ModelPath,
    data: Data,
    out: Annotated[
        Path | None,
        typer.Option(
            help="CSV (also .csv.gz) or Parquet to write; stdout gets a CSV without it.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    name: Annotated[
        str, typer.Option(help="Name of the column.", rich_help_panel=OUTPUT)
    ] = "prediction",
    identify: Annotated[
        list[str] | None,
        typer.Option(
            "--id",
            help="Columns of the data to keep; repeat or join with commas.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep all columns.", rich_help_panel=OUTPUT)
    ] = False,
    proba: Annotated[
        bool,
        typer.Option(
            "--proba",
            help="Add the probability of each class (models of --loss log_loss).",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Predict with a saved model; the sensitive attributes are not needed.

    The data need the columns that the model was fitted on; others are ignored. A CSV is safe to
    open: texts that a spreadsheet would take for formulas get an apostrophe.

    [bold]Examples[/bold]

      gferm predict model.skops new.csv --out predictions.csv

      gferm predict model.skops new.parquet --id person --out predictions.parquet

      gferm predict model.skops new.csv --proba --keep

    [bold]Exit codes[/bold]  0 done, 2 wrong input, 130 stopped
    """
    with tidy_command() as notes:
        from gferm.cli.model_file import load_model
        from gferm.cli.predicting import predict_table
        from gferm.cli.read_table import read_table
        from gferm.cli.write_table import require_table_name, write_table

        if out is not None:
            require_table_name(out, keep=[data, model])
        show = progress_wanted(as_json)
        saved = load_model(model)
        with stage(f"Reading {data}", show=show):
            table = read_table(data, as_text=saved.words)
        with stage(f"Predicting {len(table)} rows", show=show):
            predictions = predict_table(
                saved, table, name=name, identify=identify or (), keep=keep, proba=proba
            )
        if out is not None or not as_json:
            write_table(predictions, out)
        if as_json:
            values = None if out else predictions.to_dict(orient="list")
            document = {"rows": len(table), "predictions": values, "out": out}
            print_json({**document, "notes": list(notes)})
        elif out is not None:
            line = printable(f"Wrote {len(table)} predictions to {out}.")
            console.print(line, markup=False, highlight=False, soft_wrap=True)
