"""`gferm predict`: a saved model and a table in, its predictions out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gferm.cli.options import OUTPUT, Data, Json, ModelPath
from gferm.cli.terminal import console, print_json, progress_wanted, say, stage, tidy_command
from gferm.exceptions import InputError

if TYPE_CHECKING:
    import pandas as pd

    from gferm.tables.model_file import SavedModel


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
        from gferm.tables.columns import find_columns
        from gferm.tables.model_file import load_model
        from gferm.tables.read import read_table
        from gferm.tables.write import require_table_name, write_table

        if out is not None:
            require_table_name(out, keep=[data, model])
        show = progress_wanted(as_json)
        saved = load_model(model)
        with stage(f"Reading {data}", show=show):
            table = read_table(data, as_text=saved.words)
        columns = list(table.columns)
        kept = columns if keep else list(find_columns(identify, columns, "--id"))
        with stage(f"Predicting {len(table)} rows", show=show):
            found = _predict(saved, table, name, proba)
        for column in found:
            if column in kept:
                raise InputError(f"the data have a column {column!r} already; use another --name.")
        predictions = table[kept].assign(**found)
        if out is not None or not as_json:
            write_table(predictions, out)
        if as_json:
            values = None if out else predictions.to_dict(orient="list")
            document = {"rows": len(table), "predictions": values, "out": out}
            print_json({**document, "notes": list(notes)})
        elif out is not None:
            say(f"Wrote {len(table)} predictions to {out}.", to=console)


def _predict(
    saved: SavedModel, table: pd.DataFrame, name: str, with_probabilities: bool
) -> dict[str, Any]:
    """Return the column of predictions, and one for the probability of each class if asked for."""
    if with_probabilities and not hasattr(saved.model, "predict_proba"):
        raise InputError(
            f"--proba needs a model fitted with --task classification --loss log_loss, and this is "
            f"a {saved.task} with --loss {saved.model.loss}."
        )
    matrix = saved.prepare(table)
    found: dict[str, Any] = {name: saved.model.predict(matrix)}
    if with_probabilities:
        shares = saved.model.predict_proba(matrix).T
        labels = saved.model.classes_.tolist()
        found |= {f"probability of {c}": p for c, p in zip(labels, shares, strict=True)}
    return found
