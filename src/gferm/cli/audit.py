"""`gferm audit`: how a column of predictions, or a saved model, treats groups."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gferm.cli.options import (
    COLUMNS,
    FAIRNESS,
    OUTPUT,
    Categorical,
    Data,
    DropMissing,
    Intersectional,
    Json,
    JudgedSensitive,
    JudgedTarget,
    MinCellSize,
    SBins,
    TableOfAudit,
    Weight,
    YBins,
    read_bins_to_judge,
)
from gferm.cli.terminal import (
    UNFAIR,
    Harmless,
    console,
    print_json,
    progress_wanted,
    say,
    stage,
    tidy_command,
)
from gferm.exceptions import InputError

NOISE = "Noise"


def audit(
    data: Data,
    target: JudgedTarget = None,
    sensitive: JudgedSensitive = None,
    prediction: Annotated[
        str | None,
        typer.Option(help="Column of predictions of any model.", rich_help_panel=COLUMNS),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help="A file that gferm fit wrote, instead of --prediction.", rich_help_panel=COLUMNS
        ),
    ] = None,
    categorical: Categorical = None,
    weight: Weight = None,
    drop_missing: DropMissing = False,
    y_bins: YBins = None,
    s_bins: SBins = None,
    intersectional: Intersectional = True,
    min_cell_size: MinCellSize = 1,
    loss: Annotated[
        str,
        typer.Option(
            help="Of LGF: linear, squared, absolute, zero_one, half_margin, prediction.",
            rich_help_panel=FAIRNESS,
        ),
    ] = "linear",
    n_boot: Annotated[
        int, typer.Option(min=0, help="Bootstrap draws for intervals.", rich_help_panel=NOISE)
    ] = 1000,
    n_permutations: Annotated[
        int, typer.Option(min=0, help="Shuffles for chance.", rich_help_panel=NOISE)
    ] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Of both.", rich_help_panel=NOISE)] = 0,
    report: Annotated[
        Path | None, typer.Option(help="HTML page to write.", rich_help_panel=OUTPUT)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="CSV or Parquet for a table.", rich_help_panel=OUTPUT),
    ] = None,
    table: Annotated[
        TableOfAudit, typer.Option(help="Which table --out writes.", rich_help_panel=OUTPUT)
    ] = TableOfAudit.cells,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="End with code 1 if groups with equal outcomes are treated differently, beyond "
            "chance: for scripts.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Audit predictions of any model: whether it is fair, whether that is noise, and where.

    People whose labels lie in the same bin are compared, group by group. Every figure comes with
    its interval and with what chance alone gives. Rows that a model was fitted on flatter it.

    [bold]Examples[/bold]

      gferm audit scored.csv --target salary --prediction score --sensitive sex

      gferm audit scored.csv --target hired --prediction said --sensitive sex,age --report page.html

      gferm audit new.csv --model model.skops --check

    [bold]Exit codes[/bold]  0 done, 1 unfair (with --check), 2 wrong input, 130 stopped
    """
    with tidy_command() as notes:
        from gferm.auditing import audit as audit_predictions
        from gferm.fairness.fairness_losses import FAIRNESS_LOSSES
        from gferm.tables.columns import nearest
        from gferm.tables.labelled_rows import read_rows_to_judge
        from gferm.tables.model_file import load_model
        from gferm.tables.roles import AskedColumns
        from gferm.tables.write import require_table_name, require_writable, write_table

        if check and not n_permutations:
            raise InputError("--check asks what chance gives: it needs --n-permutations above 0.")
        if loss not in FAIRNESS_LOSSES:
            raise InputError(f"--loss {loss!r} is not known; {nearest(loss, FAIRNESS_LOSSES)}")
        if report is not None:
            require_writable(report, option="--report", keep=[data, model])
        if out is not None:
            require_table_name(out, keep=[data, model])
            if report is not None and report.resolve() == out.resolve():
                raise InputError(f"--report and --out both name {out}; choose another name.")
        if (prediction is None) == (model is None):
            raise InputError(
                "say whose predictions: give either --prediction COLUMN or --model FILE."
            )
        asked = AskedColumns(
            target=target,
            sensitive=sensitive,
            prediction=prediction,
            categorical=categorical,
            weight=weight,
            drop_missing=drop_missing,
        )
        show = progress_wanted(as_json)
        with stage(f"Reading {data}", show=show):
            saved = None if model is None else load_model(model)
            rows = read_rows_to_judge(data, asked, saved, y_bins)
        with stage(f"Auditing {len(rows.y)} rows", show=show):
            found = audit_predictions(
                rows.y,
                rows.predictions,
                **rows.groups_and_weight,
                **read_bins_to_judge(y_bins, s_bins, rows, saved),
                intersectional=intersectional,
                min_cell_size=min_cell_size,
                loss=loss,
                n_boot=n_boot,
                n_permutations=n_permutations,
                random_state=seed,
            )
        unfair = check and found.is_unfair  # before anything is written: it may not be known
        if report is not None:
            found.report(report, title=f"Audit of {data.name}")
        if out is not None:
            write_table(found.to_frame(table.value), out)
        if as_json:
            print_json(found.to_dict() | {"report": report, "out": out, "notes": list(notes)})
        else:
            console.print(Harmless(found))
            for path in filter(None, (report, out)):
                say(f"Wrote {path}.", to=console)
    if unfair:
        raise typer.Exit(UNFAIR)
