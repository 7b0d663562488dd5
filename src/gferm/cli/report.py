"""`gferm report`: one page for people, with the price of fairness under a slider.

    rows → a part to learn the frontier on, a part to judge on
    judged part: predictions of a column, of a saved model, or of the frontier's plain model → Audit
    Audit + frontier → page

The bins are settled on all rows, so both parts have the same. Classes have no frontier: their page
is the audit alone, of all rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import numpy.typing as npt
import typer
from sklearn.model_selection import train_test_split

from gferm.arrays import Array
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
    read_bins_to_judge,
)
from gferm.cli.terminal import (
    console,
    print_json,
    printable,
    progress_wanted,
    say,
    stage,
    tidy_command,
)
from gferm.exceptions import InputError
from gferm.fairness.cells import CellScheme
from gferm.fairness.sensitive import read_sensitive_features

if TYPE_CHECKING:
    from gferm.tables.labelled_rows import LabelledRows
    from gferm.tables.model_file import SavedModel

Places = npt.NDArray[np.intp]


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
        from gferm.auditing import audit
        from gferm.estimators.frontier import frontier
        from gferm.tables.fitting import require_known, require_memory
        from gferm.tables.labelled_rows import read_rows_to_judge
        from gferm.tables.model_file import load_model
        from gferm.tables.roles import AskedColumns
        from gferm.tables.write import require_writable

        require_writable(out, keep=[data, model])
        if prediction is not None and model is not None:
            raise InputError("--prediction and --model both say what to judge; give one of them.")
        require_known("regression", {"kernel": kernel})
        asked = AskedColumns(
            target=target,
            sensitive=sensitive,
            prediction=prediction,
            categorical=categorical,
            drop=drop,
            weight=weight,
            drop_missing=drop_missing,
            include_sensitive=include_sensitive,
        )
        show = progress_wanted(as_json)
        with stage(f"Reading {data}", show=show):
            saved = None if model is None else load_model(model)
            rows = read_rows_to_judge(data, asked, saved, y_bins)
        if rows.task == "classification" and rows.predictions is None:
            raise InputError(
                f"target {rows.roles.target!r} holds classes, and a frontier is for numbers: say "
                "whose predictions to judge, with --prediction COLUMN or --model FILE."
            )
        bins = read_bins_to_judge(y_bins, s_bins, rows, saved)
        cells: dict[str, Any] = {"intersectional": intersectional, "min_cell_size": min_cell_size}
        judged, predictions, traced, matrix = rows, rows.predictions, None, None
        if rows.task == "regression":
            learned, others = _split(len(rows.y), test_size, seed)
            judged, bins = rows.part(others), _settle(rows, bins, intersectional)
            with stage(f"Tracing the frontier on {learned.size} rows", show=show):
                matrix = _prepare(rows, learned)
                params = _kernel_of(saved, {"kernel": kernel, "gamma": gamma, "alpha": alpha})
                require_memory(matrix, kernel=params["kernel"])
                part = rows.part(learned)
                traced = frontier(
                    matrix[learned],
                    part.y,
                    **part.groups_and_weight,
                    **params,
                    **bins,
                    **cells,
                    match=match.value,
                )
            matrix = matrix[others]
            plain = traced.predict(matrix)[0]
            predictions = plain if judged.predictions is None else judged.predictions
        with stage(f"Auditing {len(judged.y)} rows", show=show):
            found = audit(
                judged.y,
                predictions,
                **judged.groups_and_weight,
                **bins,
                **cells,
                n_boot=n_boot,
                n_permutations=n_permutations,
                random_state=seed,
            )
        page = title or f"Fairness of {data.name}"
        found.report(out, frontier=traced, X=matrix, title=page, verbose=show)
        if as_json:
            print_json(found.to_dict() | {"report": out, "notes": list(notes)})
        else:
            for one in found.verdict:
                console.print(printable(one.text), markup=False, highlight=False)
            say(f"Wrote {out}; open it in a browser.", "bold", to=console)


def _split(n_rows: int, test_size: float, seed: int) -> tuple[Places, Places]:
    """Return the places of rows to learn from and of rows to judge on."""
    try:
        learned, judged = train_test_split(
            np.arange(n_rows), test_size=test_size, random_state=seed
        )
    except ValueError:
        learned = judged = np.zeros(0, dtype=np.intp)
    if min(learned.size, judged.size) < 2:
        raise InputError(
            f"--test-size {test_size:g} of {n_rows} rows leaves too few to learn from or to judge "
            "on; give more rows."
        )
    return np.sort(learned), np.sort(judged)


def _settle(rows: LabelledRows, bins: Mapping[str, Any], intersectional: bool) -> dict[str, Any]:
    """Return the bins resolved on all rows."""
    scheme = CellScheme.resolve(
        rows.y,
        read_sensitive_features(rows.sensitive, len(rows.y)),
        y_bins=bins.get("y_bins", 10),
        s_bins=bins.get("s_bins", "auto"),
        intersectional=intersectional,
        weight=rows.weight,
    )
    by_name = dict(zip(scheme.names, scheme.sensitive_bins, strict=True))
    return {"y_bins": scheme.label_bins, "s_bins": by_name}


def _prepare(rows: LabelledRows, learned: Places) -> Array:
    """Return the matrix of all rows, prepared by a rule learned on some of them."""
    from gferm.tables.columns import is_categorical
    from gferm.tables.preparation import TablePreparation

    categorical, features = rows.roles.categorical, rows.X
    if features.empty:
        raise InputError("no column is left as a feature; drop fewer, or add --include-sensitive.")
    for name in features:  # a slip may be in the rows that are not learned from
        is_categorical(features[name], categorical)
    return TablePreparation(categorical).fit(features.iloc[learned]).transform(features)


def _kernel_of(saved: SavedModel | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return kernel, gamma and alpha: as given, else the saved model's, else the usual ones."""
    found = {"kernel": "linear", "gamma": None, "alpha": 1.0}
    if saved is not None:
        found = {name: getattr(saved.model, name) for name in found}
    return found | {name: value for name, value in given.items() if value is not None}
