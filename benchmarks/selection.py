"""Choosing settings: FairRegressorCV beside its own eigendecompositions, and beside GridSearchCV.

The paper's grid on Communities and Crime: nine γ, seventeen λ, ten folds, fair (epsilon = 0). The
eigendecompositions are LAPACK's divide and conquer on the same kernels, in place; LAPACK's other
driver is up to ten times slower on some of them. GridSearchCV refits FairRegressor and scores both
measures, on the first 600 rows. The nested protocol is ten outer folds of fair and plain searches
together, linear and Gaussian.
"""

from __future__ import annotations

import os
import statistics
import time

import numpy as np
import sklearn
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, KFold

from benchmarks.measure import Row, peak_bytes, publish, seconds_side_by_side
from gferm import Bins, FairRegressor, FairRegressorCV, fairest_within
from gferm.arrays.threads import one_blas_at_a_time
from gferm.datasets import load_crime
from gferm.features.kernel import Kernel
from gferm.metrics import dgf
from gferm.solver.spectrum import Spectrum

ALPHAS = (10.0 ** np.arange(-4, 4.25, 0.5)).tolist()
GAMMAS = (10.0 ** np.arange(-4, 5)).tolist()
FOLDS = KFold(10, shuffle=True, random_state=0)

SEARCH = """
import numpy as np
from gferm import FairRegressorCV
rng = np.random.default_rng(0)
n = {n}
X = rng.normal(size=(n, 20))
s = rng.integers(0, 2, n)
y = X[:, 0] + s + rng.normal(size=n)
FairRegressorCV(gammas=[0.01, 0.1], cv={cv}).fit(X, y, sensitive_features=s)
"""


def search(**options: object) -> FairRegressorCV:
    return FairRegressorCV(alphas=ALPHAS, gammas=GAMMAS, cv=FOLDS, **options)


def beside_eigendecompositions(crime: object) -> list[Row]:
    X, y, s = crime.data, crime.target, crime.sensitive_features
    ours = search(y_bins=crime.y_bins)

    def decompose() -> None:
        with one_blas_at_a_time():
            while matrices:
                Spectrum.of(matrices.pop())

    ratios, seconds = [], []
    for _ in range(5):
        matrices = [Kernel("rbf", gamma).training_matrix(X) for gamma in GAMMAS]
        start = time.perf_counter()
        decompose()
        middle = time.perf_counter()
        ours.fit(X, y, sensitive_features=s)
        end = time.perf_counter()
        seconds.append((end - middle, middle - start))
        ratios.append((end - middle) / (middle - start))
    ours_s, theirs_s = np.median(seconds, axis=0)
    what = f"FairRegressorCV, CRIME n={len(y)}, 9 γ × 17 λ × 10 folds"
    rival = "its nine eigendecompositions"
    return [Row(what, rival, ours_s, theirs_s, statistics.median(ratios), 1.6)]


def beside_grid_search(crime: object, n: int = 600) -> list[Row]:
    X, y, s = crime.data[:n], crime.target[:n], crime.sensitive_features[:n]
    edges = Bins.edges(crime.y_bins)
    ours = search(y_bins=edges)
    with sklearn.config_context(enable_metadata_routing=True):
        fairness = make_scorer(dgf, greater_is_better=False, y_bins=edges)
        theirs = GridSearchCV(
            FairRegressor(y_bins=edges).set_fit_request(sensitive_features=True),
            {"gamma": GAMMAS, "alpha": ALPHAS},
            cv=FOLDS,
            scoring={
                "error": "neg_mean_absolute_error",
                "dgf": fairness.set_score_request(sensitive_features=True),
            },
            refit=fairest_within(),
        )
        seconds = seconds_side_by_side(
            lambda: ours.fit(X, y, sensitive_features=s),
            lambda: theirs.fit(X, y, sensitive_features=s),
            repeats=1,
        )
    errors = np.abs(theirs.cv_results_["mean_test_error"])
    apart = float(np.abs(errors - ours.cv_results_["mean_test_error"]).max())
    rival = "GridSearchCV(FairRegressor)"
    return [
        Row(
            f"the same search, n={n}: times faster",
            rival,
            *seconds,
            seconds[1] / seconds[0],
            50,
            at_most=False,
        ),
        Row(
            f"the same search, n={n}: largest difference of an error",
            rival,
            apart,
            0,
            apart,
            1e-8,
            "",
        ),
        Row(
            f"the same search, n={n}: index chosen",
            rival,
            ours.best_index_,
            theirs.best_index_,
            abs(ours.best_index_ - theirs.best_index_),
            0,
            "",
        ),
    ]


def nested(crime: object) -> list[Row]:
    """One repeat of the paper's protocol, fair and plain, linear and Gaussian."""
    X, y, s = crime.data, crime.target, crime.sensitive_features
    start = time.perf_counter()
    for train, _ in FOLDS.split(X):
        for kernel, gammas in (("linear", None), ("rbf", GAMMAS)):
            FairRegressorCV(
                kernel=kernel,
                alphas=ALPHAS,
                gammas=gammas,
                epsilons=[0, None],
                cv=FOLDS,
                y_bins=crime.y_bins,
            ).fit(X[train], y[train], sensitive_features=s[train])
    seconds = time.perf_counter() - start
    return [
        Row("nested 10 × 10 folds, one repeat, all methods", "150 s", seconds, 150, seconds, 150)
    ]


def memory(n: int = 7500) -> list[Row]:
    rows = []
    for cv in (10, 2):
        small = peak_bytes(SEARCH.format(n=300, cv=cv))  # the interpreter, and buffers of BLAS
        peak = peak_bytes(SEARCH.format(n=n, cv=cv)) - small
        what = f"FairRegressorCV, n={n}, {cv} folds: peak above n=300 / 8n²"
        rows.append(
            Row(what, "8n² bytes", peak / 2**20, 8 * n**2 / 2**20, peak / (8 * n**2), 3.1, "MiB")
        )
    return rows


def run() -> bool:
    crime = load_crime()
    rows = beside_eigendecompositions(crime) + beside_grid_search(crime)
    rows += nested(crime) + memory()
    return publish("selection", rows, threads=os.environ.get("OMP_NUM_THREADS", "all"))
