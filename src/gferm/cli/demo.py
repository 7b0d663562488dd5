"""`gferm demo`: plain against fair kernel regression on Communities and Crime.

Every row is predicted by a model that did not see it (ten folds). Tables go to the terminal, two
pictures and a page to a folder.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape
from rich.progress import track
from rich.table import Table
from sklearn.model_selection import KFold, train_test_split

from gferm.arrays import Array
from gferm.auditing import audit
from gferm.cli.terminal import console, errors, stage, tidy_command
from gferm.datasets import load_crime
from gferm.estimators.frontier import Frontier, frontier
from gferm.exceptions import InputError
from gferm.metrics import CellValues, cell_rates, dgf, loss_general_fairness, normalized_mae
from gferm.metrics.chance import chance_of_dgf

SETTINGS = {"kernel": "rbf", "gamma": 0.1, "alpha": 0.3}
N_FOLDS = 10
N_EPSILONS = 25
N_PERMUTATIONS = 500
AVERAGE_NAMES = {"pairs": "bins alike", "weighted": "by rows"}
GROUPS = ("racepctblack ≤ 0.06", "racepctblack > 0.06")


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
    console.print(_summary_table(result))
    console.print(_rates_table(result))
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


def _summary_table(result: HeldOut) -> Table:
    """Return error and unfairness of the plain, a middling and the fairest model."""
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


def _rates_table(result: HeldOut) -> Table:
    """Return how often each group is predicted right, bin by bin."""
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


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Out-of-fold predictions along the frontier, from the plain model to the fairest.

    Attributes
    ----------
    shares : array of shape (n_models,)
        Epsilon as a share of the plain model's gap in each fold, from 1 down to 0.
    predictions : array of shape (n_models, n_samples)
    errors : array of shape (n_models, n_folds)
        100·MAE of each fold.
    example : Frontier
        The training frontier of the first fold.
    """

    data: Any
    shares: Array
    predictions: Array
    errors: Array
    example: Frontier

    def error(self, model: int) -> float:
        """Return 100·MAE over all rows."""
        return normalized_mae(self.data.target, self.predictions[model], y_range=(0, 1))

    def dgf(self, model: int, average: str) -> float:
        """Return the DGF over all rows."""
        return dgf(self.data.target, self.predictions[model], average=average, **self.cells())

    def mean_gap(self, model: int) -> float:
        """Return what epsilon bounds, over all rows: the mean gap of cells' mean predictions."""
        return loss_general_fairness(
            self.data.target,
            self.predictions[model],
            loss="prediction",
            average="pairs",
            **self.cells(),
        )

    def rates(self, model: int) -> CellValues:
        """Return P̂^{k,q} of one model over all rows."""
        return cell_rates(self.data.target, self.predictions[model], **self.cells())

    def chance(self, model: int, average: str) -> Array:
        """Return the DGFs that chance alone produces: groups shuffled within each label bin."""
        rates = self.rates(model)
        hits = np.rint(np.nan_to_num(rates.values) * rates.counts)
        rng = np.random.default_rng(0)
        return chance_of_dgf(
            hits, rates.counts, n_permutations=N_PERMUTATIONS, average=average, rng=rng
        ).values

    def cells(self) -> dict[str, Any]:
        """Return what tells who is compared with whom."""
        return {
            "sensitive_features": self.data.sensitive_features,
            "y_bins": self.data.y_bins,
            "s_bins": self.data.s_bins,
        }


def predict_held_out(track: Any = iter) -> HeldOut:
    """Trace one frontier a fold and predict its held-out rows; ``track`` wraps the folds."""
    crime = load_crime()
    X, y, s = crime.data, crime.target, crime.sensitive_features
    shares = np.linspace(1.0, 0.0, N_EPSILONS)
    predictions = np.empty((N_EPSILONS, y.size))
    errors, example = [], None
    bins = {"y_bins": crime.y_bins, "s_bins": crime.s_bins}
    folds = list(KFold(N_FOLDS, shuffle=True, random_state=0).split(X))
    for train, test in track(folds):
        path = frontier(X[train], y[train], sensitive_features=s[train], **bins, **SETTINGS)
        predictions[:, test] = path.predict(X[test], shares * path.epsilons[0])
        example = example or path
        errors.append([normalized_mae(y[test], f, y_range=(0, 1)) for f in predictions[:, test]])
    assert example is not None
    return HeldOut(crime, shares, predictions, np.array(errors).T, example)


def draw_histograms(result: HeldOut, path: Path) -> None:
    """Draw the paper's figure: P̂^{k,q} of both groups, plain and fair."""
    import matplotlib.pyplot as plt

    from gferm.plotting import CellRatesDisplay

    figure, axes = plt.subplots(1, 2, figsize=(13, 4.4), sharey=True, layout="constrained")
    for ax, model, name in ((axes[0], 0, "plain"), (axes[1], -1, "fair (epsilon = 0)")):
        CellRatesDisplay(result.rates(model)).plot(ax, group_names=GROUPS)
        unfairness = result.dgf(model, "pairs")
        ax.set_title(f"{name}: 100·MAE {result.error(model):.2f}, DGF {unfairness:.3f}")
    axes[1].set_ylabel("")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def draw_frontier(result: HeldOut, path: Path) -> None:
    """Draw the exact training frontier and what it buys on held-out rows."""
    import matplotlib.pyplot as plt

    from gferm.plotting import FrontierDisplay

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    FrontierDisplay.from_frontier(result.example, ax=left)
    left.set_title("training rows: the exact frontier of one fold")
    FrontierDisplay.from_predictions(
        result.data.target,
        result.predictions,
        names=["plain", *[""] * (len(result.shares) - 2), "epsilon = 0"],
        error=partial(normalized_mae, y_range=(0, 1)),
        ax=right,
        **result.cells(),
    )
    right.set(ylabel="error, 100·MAE", title="held-out rows: error against unfairness")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def write_report(path: Path) -> None:
    """Write the page: a frontier of two thirds of the communities, judged on the others."""
    crime = load_crime()
    X, y, s = crime.data, crime.target, np.array(GROUPS)[crime.sensitive_features]
    learned, judged = train_test_split(np.arange(y.size), test_size=1 / 3, random_state=0)
    exact = frontier(
        X[learned], y[learned], sensitive_features=s[learned], y_bins=crime.y_bins, **SETTINGS
    )
    plain = exact.predict(X[judged])[0]
    found = audit(
        y[judged], plain, sensitive_features={"racepctblack": s[judged]}, y_bins=crime.y_bins
    )
    title = "Communities and Crime: kernel regression, before and after"
    found.report(path, frontier=exact, X=X[judged], title=title)
