"""`gferm demo`: plain against fair regression on Communities and Crime."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.markup import escape
from rich.progress import track
from rich.table import Table

from gferm.cli.terminal import InputError, console, errors, stage, tidy_command
from gferm.demo import (
    AVERAGE_NAMES,
    GROUPS,
    HeldOut,
    draw_frontier,
    draw_histograms,
    predict_held_out,
    write_report,
)


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the pictures and the report.")] = Path(
        "demo"
    ),
) -> None:
    """Compare plain and fair kernel regression on Communities and Crime, on held-out folds.

    [bold]Examples[/bold]

      gferm demo

      gferm demo --out pictures

    [bold]Exit codes[/bold]  0 done, 2 wrong input, 130 stopped
    """
    with tidy_command():
        if out.exists() and not out.is_dir():
            raise InputError(f"--out {out} is a file; give a folder.")
        _run(out)


def _run(out: Path) -> None:
    started = time.perf_counter()
    result = predict_held_out(
        lambda folds: track(
            folds,
            description="Tracing one frontier a fold",
            console=errors,
            disable=not errors.is_terminal,
        )
    )
    console.print(_summary(result))
    console.print(_rates(result))
    console.print(
        f"[dim]The frontier of the first fold has {len(result.example)} breakpoints; every epsilon "
        f"between them is an exact model, from one factorisation.[/dim]"
    )
    out.mkdir(parents=True, exist_ok=True)
    for draw, name in ((draw_frontier, "frontier.png"), (draw_histograms, "histogram.png")):
        draw(result, out / name)
        console.print(f"Wrote [bold]{escape(str(out / name))}[/bold]", soft_wrap=True)
    with stage("Writing the report", show=errors.is_terminal):
        write_report(out / "report.html")
    console.print(f"Done in {time.perf_counter() - started:.1f} s. The report, for any browser:")
    console.print(f"[bold]{escape(str((out / 'report.html').resolve()))}[/bold]", soft_wrap=True)


def _summary(result: HeldOut) -> Table:
    table = Table(
        title="Communities and Crime, 1994 rows, ten held-out folds",
        caption=(
            "Mean gap: difference of the groups' mean predictions, over label bins.\n"
            "On training rows it is free, halved, or 0.\n"
            "DGF: difference of the groups' shares predicted into the label's own bin.\n"
            "(In brackets) what chance alone gives: groups shuffled within label bins;\n"
            "p: the share of shuffles that reach the DGF seen."
        ),
    )
    table.add_column("model")
    table.add_column("100·MAE", justify="right")
    table.add_column("mean gap", justify="right")
    for name in AVERAGE_NAMES.values():
        table.add_column(f"DGF, {name}", justify="right")
    for model, name in (
        (0, "plain"),
        (len(result.shares) // 2, "half the gap"),
        (-1, "epsilon = 0"),
    ):
        cells = []
        for average in AVERAGE_NAMES:
            seen, null = result.dgf(model, average), result.chance(model, average)
            p = (1 + np.sum(null >= seen)) / (1 + null.size)
            cells.append(f"{seen:.3f}\n[dim]({null.mean():.3f}) p {p:.3f}[/dim]")
        errors = result.errors[model]
        error = f"{errors.mean():.2f} ± {errors.std():.2f}"
        table.add_row(name, error, f"{result.mean_gap(model):.3f}", *cells)
    return table


def _rates(result: HeldOut) -> Table:
    table = Table(
        title="P(prediction in the label's bin), by group",
        caption="Rows in brackets; bins with a handful of rows are mostly noise.",
    )
    table.add_column("label bin")
    for name in ("plain", "epsilon = 0"):
        for group in GROUPS:
            table.add_column(f"{name}\n{group.replace(' ', chr(10), 1)}", justify="right")
    plain, fair = result.rates(0), result.rates(-1)
    for k, label in enumerate(plain.cells.label_bins.labels):
        cells = [
            f"{rates.values[k, q]:.2f} [dim]({rates.counts[k, q]})[/dim]"
            for rates in (plain, fair)
            for q in range(2)
        ]
        table.add_row(label.replace("[", r"\["), *cells)
    return table
