"""`gferm report`: one page for people, with the price of fairness under a slider."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gferm.cli.options import (
    COLUMNS,
    MODEL,
    OUTPUT,
    Categorical,
    Data,
    Drop,
    DropMissing,
    IncludeSensitive,
    Intersectional,
    Json,
    JudgedSensitive,
    JudgedTarget,
    Match,
    MatchOption,
    MinCellSize,
    SBins,
    Weight,
    YBins,
)
from gferm.cli.terminal import console, print_json, printable, progress_wanted, tidy_command


def report(
    data: Data,
    target: JudgedTarget = None,
    sensitive: JudgedSensitive = None,
    out: Annotated[Path, typer.Option(help="The page to write.", rich_help_panel=OUTPUT)] = Path(
        "report.html"
    ),
    prediction: Annotated[
        str | None,
        typer.Option(
            help="Column of predictions to judge; those of a plain model by default.",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="A saved model to judge instead.", rich_help_panel=COLUMNS),
    ] = None,
    categorical: Categorical = None,
    drop: Drop = None,
    weight: Weight = None,
    drop_missing: DropMissing = False,
    include_sensitive: IncludeSensitive = False,
    kernel: Annotated[
        str | None,
        typer.Option(
            help="Of the frontier: linear, rbf, poly, …; that of --model, else linear.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    gamma: Annotated[
        float | None,
        typer.Option(
            min=0, help="Of the kernel; that of --model, else 1/columns.", rich_help_panel=MODEL
        ),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(min=0, help="Regularisation; that of --model, else 1.", rich_help_panel=MODEL),
    ] = None,
    test_size: Annotated[
        float,
        typer.Option(
            min=0.05,
            max=0.95,
            help="Share of rows to judge on; the frontier is learned on the others.",
            rich_help_panel=MODEL,
        ),
    ] = 0.33,
    y_bins: YBins = None,
    s_bins: SBins = None,
    match: MatchOption = Match.prediction,
    intersectional: Intersectional = True,
    min_cell_size: MinCellSize = 1,
    n_boot: Annotated[int, typer.Option(min=0, help="Bootstrap draws for intervals.")] = 1000,
    n_permutations: Annotated[int, typer.Option(min=0, help="Shuffles for chance.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Of the split, draws and shuffles.")] = 0,
    title: Annotated[str | None, typer.Option(help="Of the page.", rich_help_panel=OUTPUT)] = None,
    as_json: Json = False,
) -> None:
    """Write a page: the verdict, the price of fairness under a slider, every cell with its rows.

    The exact frontier is learned on some rows and judged on the others. One HTML file that needs no
    network. Before is a column of predictions, a saved model, or the plain model of the frontier.

    [bold]Examples[/bold]

      gferm report people.csv --target salary --sensitive sex

      gferm report people.csv --target salary --sensitive sex --prediction score --kernel rbf

      gferm report people.csv --model model.skops --out page.html

    [bold]Exit codes[/bold]  0 done, 2 wrong input, 130 stopped
    """
    with tidy_command() as notes:
        from gferm.cli.judging import AuditOptions
        from gferm.cli.reporting import ReportOptions, report_file
        from gferm.cli.whole_file import require_writable

        require_writable(out, keep=[data, model])
        options = ReportOptions(
            judged=AuditOptions(
                target=target,
                sensitive=tuple(sensitive or ()),
                prediction=prediction,
                model=model,
                categorical=tuple(categorical or ()),
                weight=weight,
                drop_missing=drop_missing,
                y_bins=y_bins,
                s_bins=tuple(s_bins or ()),
                params={
                    "intersectional": intersectional,
                    "min_cell_size": min_cell_size,
                    "n_boot": n_boot,
                    "n_permutations": n_permutations,
                    "random_state": seed,
                },
            ),
            drop=tuple(drop or ()),
            include_sensitive=include_sensitive,
            test_size=test_size,
            seed=seed,
            kernel={"kernel": kernel, "gamma": gamma, "alpha": alpha},
            match=match.value,
        )
        found = report_file(
            data,
            options,
            out,
            title=title or f"Fairness of {data.name}",
            show=progress_wanted(as_json),
        )
        if as_json:
            print_json(found.to_dict() | {"report": out, "notes": list(notes)})
        else:
            for one in found.verdict:
                console.print(printable(one.text), markup=False, highlight=False)
            line = printable(f"Wrote {out}; open it in a browser.")
            console.print(line, markup=False, highlight=False, soft_wrap=True, style="bold")
