"""`gferm fit`: learn a fair model from a table and save it."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from gferm.cli.options import (
    FAIRNESS,
    MODEL,
    OUTPUT,
    Categorical,
    Data,
    DeviceName,
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
    SelectionRule,
    Sensitive,
    Target,
    TaskName,
    Weight,
    YBins,
    at_least_zero,
    number_or_none,
    several,
)
from gferm.cli.terminal import InputError, console, print_json, progress_wanted, tidy_command

SEARCH = "Search (with --select)"


def fit(
    data: Data,
    target: Target,
    sensitive: Sensitive,
    out: Annotated[
        Path, typer.Option(help="The model file to write.", rich_help_panel=OUTPUT)
    ] = Path("model.skops"),
    categorical: Categorical = None,
    drop: Drop = None,
    weight: Weight = None,
    drop_missing: DropMissing = False,
    include_sensitive: IncludeSensitive = False,
    task: Annotated[
        TaskName, typer.Option(help="Learn numbers or classes.", rich_help_panel=MODEL)
    ] = TaskName.regression,
    loss: Annotated[
        str | None,
        typer.Option(
            help="squared (default), absolute, huber, quantile, epsilon_insensitive; for classes "
            "hinge (default), squared_hinge, log_loss (has probabilities), squared.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    kernel: Kernel = "linear",
    gamma: Annotated[
        float | None,
        typer.Option(min=0, help="Of the kernel; 1/columns by default.", rich_help_panel=MODEL),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(min=0, help="Regularisation; 1 by default.", rich_help_panel=MODEL),
    ] = None,
    landmarks: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Learn a kernel on so many rows instead of all: 2000, for more rows than 20 000.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    device: Annotated[
        DeviceName, typer.Option(help="Where to compute.", rich_help_panel=MODEL)
    ] = DeviceName.cpu,
    max_iter: Annotated[
        int | None,
        typer.Option(
            min=1, help="Most iterations, for losses that need any.", rich_help_panel=MODEL
        ),
    ] = None,
    epsilon: Annotated[
        str,
        typer.Option(
            help="Mean gap between groups that is allowed, in units of the target; none switches "
            "fairness off.",
            rich_help_panel=FAIRNESS,
        ),
    ] = "0",
    y_bins: YBins = None,
    s_bins: SBins = None,
    match: MatchOption = Match.prediction,
    intersectional: Intersectional = True,
    min_cell_size: MinCellSize = 1,
    select: Annotated[
        SelectionRule | None,
        typer.Option(
            help="Choose alpha, gamma and epsilon by cross-validation: nvp takes the fairest of "
            "those with nearly the lowest error, error the lowest error.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    alphas: Annotated[
        str | None,
        typer.Option(
            help="To try: 0.1,1,10. By default --alpha, else seventeen from 1e-4 to 1e4.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    gammas: Annotated[
        str | None,
        typer.Option(
            help="To try. By default --gamma, else 0.1, 1 and 10 over the number of columns.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    epsilons: Annotated[
        str | None,
        typer.Option(
            help="To try: 0,0.5,none. By default --epsilon alone.", rich_help_panel=SEARCH
        ),
    ] = None,
    cv: Annotated[int, typer.Option(min=2, help="Folds.", rich_help_panel=SEARCH)] = 5,
    tolerance: Annotated[
        float,
        typer.Option(
            min=0, max=0.99, help="Of nvp: errors up to best / (1 − this).", rich_help_panel=SEARCH
        ),
    ] = 0.1,
    as_json: Json = False,
) -> None:
    """Learn a fair model from a table and save it.

    Every column is a feature, but for target, sensitive attributes, weight and those to drop.
    Numbers: a missing one becomes the median; then all are scaled. Words: an indicator for each; a
    missing one is a word of its own.

    [bold]Examples[/bold]

      gferm fit people.csv --target salary --sensitive sex

      gferm fit people.csv --target salary --sensitive sex,age --s-bins age=4 --epsilon 500

      gferm fit people.parquet --target hired --task classification --loss log_loss --sensitive sex

      gferm fit people.csv --target salary --sensitive sex --kernel rbf --select nvp

      gferm fit people.parquet --target salary --sensitive sex --kernel rbf --landmarks 200

    [bold]Exit codes[/bold]  0 done, 2 wrong input, 130 stopped
    """
    started = perf_counter()
    with tidy_command() as notes:
        from gferm.cli.fit_summary import summary_of_fit
        from gferm.cli.fitting import FitOptions, Search, fit_file
        from gferm.cli.learning_data import DataOptions
        from gferm.cli.whole_file import require_writable

        require_writable(out, keep=[data])
        asked = {
            "alphas": several(alphas, "--alphas", at_least_zero),
            "gammas": several(gammas, "--gammas", at_least_zero),
            "epsilons": several(epsilons, "--epsilons", number_or_none),
        }
        if select is None and any(values is not None for values in asked.values()):
            raise InputError("--alphas, --gammas and --epsilons are tried with --select only.")
        params = {
            "loss": loss,
            "gamma": gamma,
            "alpha": alpha,
            "max_iter": max_iter,
            "n_landmarks": landmarks,
            "random_state": None if landmarks is None else 0,  # the same landmarks every night
        }
        summary = fit_file(
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
                task=task.value,
                y_bins=y_bins,
                s_bins=tuple(s_bins or ()),
                params={
                    **{name: value for name, value in params.items() if value is not None},
                    "kernel": kernel,
                    "epsilon": number_or_none(epsilon, "--epsilon"),
                    "match": match.value,
                    "intersectional": intersectional,
                    "min_cell_size": min_cell_size,
                    "device": device.value,
                },
                search=None
                if select is None
                else Search(rule=select.value, folds=cv, tolerance=tolerance, **asked),
            ),
            out,
            show=progress_wanted(as_json),
        )
        summary |= {"seconds": perf_counter() - started, "notes": list(notes)}
        if as_json:
            print_json(summary)
        else:
            console.print(summary_of_fit(summary))
