"""The main job on real data: plain against fair kernel regression on Communities and Crime.

Every row is predicted by a model that did not see it (ten folds). Tables go to the terminal, two
pictures and a page to a folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, train_test_split

from gferm.arrays import Array
from gferm.auditing import audit
from gferm.datasets import load_crime
from gferm.estimators.frontier import Frontier, frontier
from gferm.metrics import CellValues, cell_rates, dgf, loss_general_fairness, normalized_mae
from gferm.metrics.chance import chance_of_dgf

SETTINGS = {"kernel": "rbf", "gamma": 0.1, "alpha": 0.3}
N_FOLDS = 10
N_EPSILONS = 25
N_PERMUTATIONS = 500
AVERAGE_NAMES = {"pairs": "bins alike", "weighted": "by rows"}
GROUPS = ("racepctblack ≤ 0.06", "racepctblack > 0.06")


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
