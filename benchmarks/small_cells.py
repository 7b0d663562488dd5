"""What exact fairness costs: by the smallness of cells, their width, or the number of contrasts.

NVM Fair RLS (epsilon = 0, linear, the paper's λ and validation rule), ten outer folds, without the
sensitive feature. Two ways to m contrasts: leave out pairs with small cells, or merge the upper
label bins so that no cell is small. Two things to make equal: mean predictions, or mean errors
ŷ − y. They differ where a bin is so wide that the groups' labels differ within it.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
from reproduction.paper import BINARY, FOLDS, LAMBDAS
from reproduction.problems import PROBLEMS
from sklearn.model_selection import KFold

from gferm import FairRegressorCV
from gferm.metrics.chance import dgf_of_counts

MATCHES = ("prediction", "residual")
TENTHS = [k / 10 for k in range(11)]
NINE = [0.0, *TENTHS[2:]]  # only two pupils score below 0.1, and in some folds none
CASES = {  # the label bins, and the smallest cell that is compared
    "crime": [
        ("ten bins, every cell", TENTHS, 1),
        ("ten bins, cells from 5 rows", TENTHS, 5),
        ("seven bins, 0.6 to 1 merged", [*TENTHS[:7], 1.0], 1),
        ("ten bins, cells from 20 rows", TENTHS, 20),
        ("four bins, 0.3 to 1 merged", [*TENTHS[:4], 1.0], 1),
        ("ten bins, cells from 60 rows", TENTHS, 60),
        ("three bins, 0.2 to 1 merged", [*TENTHS[:3], 1.0], 1),
    ],
    "pupils": [
        ("nine bins, every cell", NINE, 1),
        ("nine bins, cells from 20 rows", NINE, 20),
        ("eight bins, 0 to 0.3 merged", [0.0, *TENTHS[3:]], 1),
        ("five bins", TENTHS[::2], 1),
        ("nine bins, cells from 120 rows", NINE, 120),
        ("four bins, 0 to 0.6 and 0.8 to 1 merged", [0.0, 0.6, 0.7, 0.8, 1.0], 1),
    ],
}


def run() -> bool:
    found = []
    each = ((data, *case, match) for data in CASES for case in CASES[data] for match in MATCHES)
    for data, name, edges, smallest, match in each:
        row = {"data": data, "cells": name, "match": match}
        row |= measure(data, edges, smallest, match)
        found.append(row)
        print(
            f"{data:7s} {name:40s} {match:10s} {row['contrasts']:4.1f} contrasts   error "
            f"{row['error']:5.2f}   DGF {row['dgf']:.3f}",
            flush=True,
        )
    path = Path(__file__).parent / "results" / "small_cells.json"
    path.write_text(json.dumps({"benchmark": "small_cells", "rows": found}, indent=2) + "\n")
    return True


def measure(data: str, edges: list[float], smallest: int, match: str) -> dict[str, float]:
    """Return error, DGF in ten bins and contrasts of the chosen models, means over outer folds."""
    problem = PROBLEMS[data]()
    study, y = problem.studies[BINARY], problem.y
    X, s = study.features(with_s=False), study.values
    cells = problem.members(BINARY, 10)
    figures = []
    for train, test in KFold(FOLDS, shuffle=True, random_state=0).split(X):
        search = FairRegressorCV(
            kernel="linear",
            alphas=LAMBDAS,
            epsilons=[0.0],
            cv=KFold(FOLDS, shuffle=True, random_state=1000),
            y_bins=edges,
            s_bins=study.bins,
            min_cell_size=smallest,
            match=match,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # constant models at the largest λ
            search.fit(X[train], y[train], sensitive_features=s[train])
        f, here = search.predict(X[test]), cells.take(test)
        hit = here.scheme.label_bins.assign(f) == here.label_codes
        (codes,), counts = here.cell_codes, here.cells.partitions[0].counts
        hits = np.bincount(codes[hit], minlength=counts.size).reshape(counts.shape)
        unfairness = dgf_of_counts(hits, counts, "all_bins")
        m = search.best_estimator_.contrasts_.n_contrasts
        figures.append((100 * np.abs(f - y[test]).mean(), float(unfairness), m))
    error, unfairness, m = np.mean(figures, axis=0)
    return {"contrasts": float(m), "error": float(error), "dgf": float(unfairness)}
