"""`gferm fit`: learn a fair model from a table, save it, and say what it is.

The summary is plain data first: --json prints it as it is, people get tables of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

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
    read_bins,
    several,
)
from gferm.cli.terminal import (
    console,
    print_json,
    printable_texts,
    progress_wanted,
    stage,
    tidy_command,
)
from gferm.exceptions import InputError
from gferm.printed.table import listed

if TYPE_CHECKING:
    from gferm.tables.columns import Task
    from gferm.tables.fitting import Search
    from gferm.tables.roles import AskedColumns

SEARCH = "Search (with --select)"
WIDEST = 8  # groups beside each other in the summary; more are summed up in a sentence
FEW = 20  # rows; cells with fewer are marked


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
        from gferm.tables.fitting import Search, require_known
        from gferm.tables.roles import AskedColumns
        from gferm.tables.write import require_writable

        require_writable(out, keep=[data])
        grids = {
            "alphas": several(alphas, "--alphas", at_least_zero),
            "gammas": several(gammas, "--gammas", at_least_zero),
            "epsilons": several(epsilons, "--epsilons", number_or_none),
        }
        if select is None and any(values is not None for values in grids.values()):
            raise InputError("--alphas, --gammas and --epsilons are tried with --select only.")
        search = None
        if select is not None:
            search = Search(rule=select.value, folds=cv, tolerance=tolerance, **grids)
        by_default = {
            "loss": loss,
            "gamma": gamma,
            "alpha": alpha,
            "max_iter": max_iter,
            "n_landmarks": landmarks,
            "random_state": None if landmarks is None else 0,  # the same landmarks every night
        }
        params = {
            **{name: value for name, value in by_default.items() if value is not None},
            "kernel": kernel,
            "epsilon": number_or_none(epsilon, "--epsilon"),
            "match": match.value,
            "intersectional": intersectional,
            "min_cell_size": min_cell_size,
            "device": device.value,
        }
        require_known(task.value, params)
        asked = AskedColumns(
            target=target,
            sensitive=sensitive,
            categorical=categorical,
            drop=drop,
            weight=weight,
            drop_missing=drop_missing,
            include_sensitive=include_sensitive,
        )
        show = progress_wanted(as_json)
        bins = {"y_bins": y_bins, "s_bins": s_bins or []}
        found = _fit_and_save(data, asked, task.value, bins, params, search, out, show)
        found |= {"seconds": perf_counter() - started, "notes": list(notes)}
        if as_json:
            print_json(found)
        else:
            console.print(_summary(printable_texts(found)))


def _fit_and_save(
    data: Path,
    asked: AskedColumns,
    task: Task,
    written_bins: dict[str, Any],
    params: dict[str, Any],
    search: Search | None,
    out: Path,
    show: bool,
) -> dict[str, Any]:
    """Return what was learned, as plain data, once the model file is written."""
    from sklearn.pipeline import Pipeline

    from gferm.tables.fitting import (
        describe_model,
        describe_price,
        describe_search,
        fit_model,
        require_memory,
    )
    from gferm.tables.labelled_rows import read_rows_to_learn
    from gferm.tables.model_file import SavedModel, save_model
    from gferm.tables.preparation import RULE, TablePreparation

    with stage(f"Reading {data}", show=show):
        rows = read_rows_to_learn(data, asked, task)
        roles, preparation = rows.roles, TablePreparation(rows.roles.categorical)
        matrix = preparation.fit_transform(rows.X)
    require_memory(matrix, kernel=params["kernel"], n_landmarks=params.get("n_landmarks"))
    bins = read_bins(**written_bins, task=task, labels=rows.y, attributes=roles.sensitive)
    searched = None if search is None else search.run(params | bins, matrix, rows, verbose=show)
    with stage(f"Fitting {len(rows.y)} rows", show=show):
        model = searched.best_estimator_ if searched else fit_model(params | bins, matrix, rows)
        price = describe_price(model, matrix, rows)
        model.set_params(device=None)  # it will be used where there may be no GPU
    saved = SavedModel(
        pipeline=Pipeline([("prepare", preparation), ("model", model)]),
        task=task,
        target=roles.target,
        sensitive=roles.sensitive,
        categorical=roles.categorical,
        features=roles.features,
        words=tuple(preparation.words_),
        settings=written_bins | params,
    )
    save_model(saved, out)
    return {
        "data": str(data),
        "rows": len(rows.y),
        "rows_left_out": rows.left_out,
        "target": roles.target,
        "sensitive": list(roles.sensitive),
        "features": list(roles.features),
        "categorical_features": list(preparation.words_),
        "columns_of_matrix": matrix.shape[1],
        "preparation": RULE,
        **describe_model(model, task),
        **price,
        "selection": None if searched is None else describe_search(searched),
        "model": str(out),
    }


def _summary(found: Mapping[str, Any]) -> RenderableType:
    """Return what people read: the facts, then a table of cells for each attribute."""
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="bold", no_wrap=True)
    facts.add_column(overflow="fold")
    for name, value in _facts(found):
        facts.add_row(Text(name), Text(value))
    cells = [_cells(part, found["min_cell_size"]) for part in found["cells"]]
    footer = f"Wrote {found['model']} in {found['seconds']:.1f} s."
    return Group(facts, *cells, Text(footer, style="bold"))


def _facts(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    words = found["categorical_features"]
    also = f", {len(words)} of them categorical ({listed(words, 5)})" if words else ""
    left_out = f" ({found['rows_left_out']} left out)" if found["rows_left_out"] else ""
    facts = [
        ("rows", f"{found['rows']}{left_out}"),
        ("target", found["target"]),
        ("sensitive", ", ".join(found["sensitive"])),
        ("features", f"{len(found['features'])}{also}; {found['columns_of_matrix']} columns"),
        ("preparation", found["preparation"]),
        ("model", _model(found)),
    ]
    if found["selection"]:
        facts.append(("chosen", _chosen(found["selection"])))
    facts.append(("fairness", _fairness(found)))
    if found["price_percent"] is not None:
        price = f"{found['price_percent']:.3g} % of the training objective above the plain model"
        facts.append(("price", price))
    proof = f"{found['solver']}; relative duality gap {found['duality_gap']:.1e}"
    facts.append(("solver", proof))
    return facts


def _model(found: Mapping[str, Any]) -> str:
    gamma = "" if found["gamma"] is None else f", gamma {found['gamma']:.4g}"
    points = "" if found["n_landmarks"] is None else f" on {found['n_landmarks']} landmarks"
    return (
        f"{found['task']}, {found['loss']} loss, {found['kernel']} kernel{points}, "
        f"alpha {found['alpha']:g}{gamma}, epsilon {_number(found['epsilon'])}"
    )


def _chosen(search: Mapping[str, Any]) -> str:
    params = ", ".join(f"{name} {_number(value)}" for name, value in search["chosen"].items())
    return (
        f"{params}; from {search['settings']} settings on {search['folds']} folds: held-out error "
        f"{search['held_out_error']:.4g}, {search['unfairness_measure']} "
        f"{search['held_out_unfairness']:.4g}"
    )


def _fairness(found: Mapping[str, Any]) -> str:
    compared, skipped = found["pairs_compared"], found["pairs_not_compared"]
    plain = found["plain_violation"]
    before = "" if plain is None else f", {plain:.4g} in the plain model"
    also = f", {skipped} not" if skipped else ""
    continuous = found["continuous"]
    scores = f"; {', '.join(continuous)} by covariance" if continuous else ""
    violation = found["violation"] if found["violation"] > 1e-9 else 0
    return (
        f"mean gap {violation:.4g} on the training rows{before} "
        f"({compared} pairs of groups compared{also}{scores})"
    )


def _cells(part: Mapping[str, Any], smallest: int) -> RenderableType:
    groups, labels, counts = part["groups"], part["label_bins"], part["rows"]
    if len(groups) > WIDEST:
        rows = [count for line in counts for count in line]
        few = sum(count < FEW for count in rows)
        text = (
            f"{part['attribute']}: {len(groups)} groups in {len(labels)} label bins, {few} of "
            f"{len(rows)} cells with fewer than {FEW} rows; --json lists them all."
        )
        return Text(text)
    table = Table(
        title=Text(f"{part['attribute']}: rows in each cell"),
        caption=Text(f"* fewer than {FEW} rows: mostly chance. – not compared."),
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("label bin")
    for group in groups:
        table.add_column(Text(group), justify="right", overflow="fold")
    for label, line in zip(labels, counts, strict=True):
        table.add_row(Text(label), *(_count(count, smallest) for count in line))
    return table


def _count(count: int, smallest: int) -> Text:
    mark = " –" if count < max(smallest, 1) else " *" if count < FEW else "  "
    return Text(f"{count}{mark}", style="yellow" if mark.strip() else "")


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.4g}"
