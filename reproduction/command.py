"""The command: the tables and the figure of the paper, and an experiment for its theorem."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from gferm.cli import flowing
from gferm.cli.terminal import INTERRUPTED, console, errors, one_line_errors
from gferm.printed.terminal import to_terminal
from reproduction import ExperimentError
from reproduction.consistency import run_consistency
from reproduction.paper import ALL, REPEATS, TARGETS
from reproduction.problems import PROBLEMS
from reproduction.reproduce import check_known, page_name, reproduce

CONSISTENCY = "consistency"
DETAILS = "claims-"  # every single comparison: for the page, too long for a terminal


app = typer.Typer(
    add_completion=False, pretty_exceptions_show_locals=False, rich_markup_mode="rich"
)


def command(
    context: typer.Context,
    target: Annotated[
        str, typer.Argument(help=f"What to reproduce: {', '.join((*TARGETS, CONSISTENCY))}.")
    ] = ALL,
    data: Annotated[
        str, typer.Option(help=f"The data: {', '.join(PROBLEMS)} (stands in for UNIGE).")
    ] = "crime",
    repeats: Annotated[
        int, typer.Option(min=1, help="Repeats of the nested cross-validation, or draws.")
    ] = REPEATS,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    jobs: Annotated[int | None, typer.Option(min=1, help="Cores to use; all by default.")] = None,
    out: Annotated[
        Path, typer.Option(help="Results go to a folder in it, named like the data.")
    ] = Path("reproduced"),
) -> None:
    """Reproduce the experiments of the paper, its numbers beside ours.

    Safe to stop at any time: the same command goes on with the first repeat that is not finished,
    so what is lost is one repeat at most. One of everything takes a few minutes on two cores, all
    thirty take as many on a large GPU.
    The consistency experiment knows --repeats and --out only.

    [bold]Examples[/bold]

      python -m reproduction table-results --repeats 1

      python -m reproduction all --data pupils --device cuda

      python -m reproduction consistency

    [bold]Exit codes[/bold]  0 done, 2 wrong input, 130 stopped
    """
    with one_line_errors(ExperimentError, ImportError):
        try:
            check_known("target", target, (*TARGETS, CONSISTENCY))
            if target == CONSISTENCY:
                _refuse_options(context, "data", "device", "jobs")
                _reproduce_consistency(out / CONSISTENCY, repeats)
            else:
                _reproduce_tables(target, data, repeats, device, jobs, out)
        except KeyboardInterrupt:
            errors.print(
                f"Stopped. Finished repeats are in {out}; run the same command again to go on.",
                highlight=False,
                markup=False,
                soft_wrap=True,
            )
            raise typer.Exit(INTERRUPTED) from None


def _reproduce_tables(
    target: str, data: str, repeats: int, device: str, jobs: int | None, out: Path
) -> None:
    found = reproduce(target, data=data, repeats=repeats, device=device, jobs=jobs, out=out)
    for sheet in found.sheets:
        if not sheet.name.startswith(DETAILS):
            console.print(to_terminal(sheet, width=console.width), crop=False)
    if found.computed:
        console.print(f"Computed {found.computed} outer folds in {found.seconds:.0f} s.")
    else:
        console.print("Every outer fold was there; nothing was computed.")
    console.print(
        f"Wrote [bold]{escape(str(found.folder / page_name(target)))}[/bold], tables and figures "
        "beside it.",
        soft_wrap=True,
    )


def _refuse_options(context: typer.Context, *names: str) -> None:
    """Refuse options that would change nothing."""
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise ExperimentError(
                f"{CONSISTENCY} makes its own data and runs on the cpu: it knows --repeats and "
                f"--out only, not --{name}."
            )


def _reproduce_consistency(folder: Path, repeats: int) -> None:
    run_consistency(folder, repeats=repeats)
    for name in ("consistency.md", "consistency.png"):
        console.print(f"Wrote [bold]{escape(str(folder / name))}[/bold]", soft_wrap=True)


app.command(help=flowing(command.__doc__))(command)
