"""Naive rows of the paper's first table on Communities and Crime, beside the published figures.

Nested ten-fold cross-validation over the paper's grid of λ (and γ), hyperparameters chosen by the
inner error; error is 100·MAE. The published DGF is an average of the terms of its formula. A test
fold leaves about three label bins of ten with one group only; such a bin adds nothing to the
formula's sum, so it counts 0 in the average that is compared here. The mean over the bins with both
groups alone, which is larger, is in the results file too. The inner folds need no refit
(FairRegressorCV).
"""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import KFold

from benchmarks.measure import Row, publish
from gferm import FairRegressorCV
from gferm.datasets import load_crime
from gferm.metrics import dgf, normalized_mae

ALPHAS = 10.0 ** np.arange(-4, 4.25, 0.5)
GAMMAS = 10.0 ** np.arange(-4, 5)
PUBLISHED = {  # mean and standard deviation, sensitive feature not in the model
    "Naive RLS": {"error": (9.1, 0.5), "DGF": (0.19, 0.06)},
    "Naive KRLS": {"error": (8.7, 0.4), "DGF": (0.18, 0.05)},
}
FIGURES = {  # what is measured, and the published column that it is compared with
    "error": "error",
    "DGF": "DGF",
    "DGF, bins with both groups": None,
}


def nested(kernel: str, crime: object, seed: int) -> np.ndarray:
    X, y, s = crime.data, crime.target, crime.sensitive_features
    search = FairRegressorCV(
        kernel=kernel,
        alphas=ALPHAS,
        gammas=None if kernel == "linear" else GAMMAS,
        epsilons=[None],
        selection="error",
        cv=KFold(10, shuffle=True, random_state=seed + 1),
    )
    figures = []
    for train, test in KFold(10, shuffle=True, random_state=seed).split(X):
        f = search.fit(X[train], y[train]).predict(X[test])
        cells = {
            "sensitive_features": s[test],
            "y_bins": crime.y_bins,
            "s_bins": crime.s_bins,
        }
        n_bins = len(crime.y_bins) - 1
        figures.append(
            (
                normalized_mae(y[test], f, y_range=(0, 1)),
                dgf(y[test], f, average="sum", **cells) / (2 * n_bins),  # ordered pairs: twice
                dgf(y[test], f, average="pairs", **cells),
            )
        )
    return np.array(figures)


def run(repeats: int = 1) -> bool:
    crime = load_crime()
    groups = np.bincount(crime.sensitive_features)
    rows = [
        Row("rows with s = 1", "paper", groups[1], 970, abs(groups[1] - 970), 0, unit=""),
        Row("rows with s = 0", "paper", groups[0], 1024, abs(groups[0] - 1024), 0, unit=""),
    ]
    details = {}
    for method, kernel in (("Naive RLS", "linear"), ("Naive KRLS", "rbf")):
        figures = np.vstack([nested(kernel, crime, seed) for seed in range(repeats)])
        details[method] = {
            "mean": figures.mean(0).tolist(),
            "std": figures.std(0).tolist(),
            "figures": list(FIGURES),
        }
        for j, (name, column) in enumerate(FIGURES.items()):
            if column is None:
                continue
            published, deviation = PUBLISHED[method][column]
            ours = float(figures[:, j].mean())
            rows.append(
                Row(
                    f"{method}, {name}: published standard deviations apart",
                    "paper",
                    ours,
                    published,
                    abs(ours - published) / deviation,
                    1.0,
                    unit="",
                )
            )
    return publish("crime_table", rows, repeats=repeats, folds=details)
