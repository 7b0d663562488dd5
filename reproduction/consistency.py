"""Consistency: risk and unfairness of G-FERM as the sample grows, beside the paper's theorem.

The data are those of ``make_fair_regression``: Z ~ N(0, I), s of mean m and variance v,
p = s + N(0, σ_p²), y = Zβ + bs + N(0, σ²). The fair optimum f* has weights [β, 0] and intercept bm.
A linear model with weights [u, w] and intercept c errs by Z(β−u) + (b−w)(s−m) − w(p−s) + t plus
noise, with t = bm − wm − c, and all of these are uncorrelated. So, without sampling anything,

    L(f) − L(f*) = ‖u − β‖² + t²  +  w²(v + σ_p²) − 2bvw,         excess = estimation + trade
    U(f) = |w| · mean |m_p − m_q| over the pairs of groups,       m_q the mean of s in group q.

The trade is what the proxy buys. It is of first order in w and has either sign: a model that is
slightly unfair may have less risk than f*. The estimation is never negative.

The theorem (thm:mainresult1) bounds both L(f̂) − L(f*) and U(f̂) by O(n^(−1/2)), where f̂ meets the
constraint on the sample up to ε̂ = O(n^(−1/2)), wide enough to admit f*. Its own ε̂ needs bounded
features; here it is two standard errors of a gap of f*, 2 ‖β‖ √(2Q/n) for Q groups of n/Q rows.
Beside it stand ε̂ = 0, whose risk the theorem says nothing about since f* need not meet it on the
sample, and the plain model.

This file runs the experiment and writes its numbers; consistency_figure.py draws them.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch, check_scalar

from gferm.arrays import Array
from gferm.datasets import make_fair_regression
from gferm.estimators import FairRegressor
from gferm.exceptions import InactiveConstraintWarning
from gferm.plotting.style import need_matplotlib
from gferm.progress import progress
from reproduction.consistency_figure import BAND, Panel, draw, log_slope
from reproduction.journal import (
    Journal,
    lock_folder,
    open_folder,
    require_enough_repeats,
    write_whole,
)
from reproduction.paper import BINARY, CONTINUOUS, REPEATS

SIZES = (100, 316, 1000, 3162, 10_000, 31_623, 100_000)
PROBLEM: dict[str, Any] = {"n_features": 5, "bias": 5.0, "proxy_noise": 0.1, "noise": 0.5}
ALPHA = 1.0  # shrinks the weights by a part of order 1/n, below any rate in question
MEAN = 1 / 2  # of s, in both studies
VARIANCE = {BINARY: 1 / 4, CONTINUOUS: 1 / 12}
STUDIES = {BINARY: "Two groups", CONTINUOUS: "Continuous attribute in five bins"}
ZERO, RELAXED, PLAIN = "zero", "relaxed", "plain"
MODELS = {ZERO: "fair, ε̂ = 0", RELAXED: "fair, ε̂ ∝ 1/√n", PLAIN: "plain"}
MEASURES = {
    "excess": "excess risk",
    "estimation": "excess risk but for the trade",
    "unfairness": "unfairness",
    "sample_unfairness": "unfairness on the training rows",
}
DECIMALS = 10  # of a measure: what is zero but for rounding errors is written as zero


def draw_problem(study: str, n: int, seed: int) -> Bunch:
    """Draw a sample; the same seed has the same β at every size and in both studies."""
    continuous = study == CONTINUOUS
    return make_fair_regression(n, continuous=continuous, random_state=seed, **PROBLEM)


def population_measures(made: Bunch, study: str, coef: Array, intercept: float) -> dict[str, float]:
    """Return excess, estimation and unfairness of a linear model, exactly.

    Parameters
    ----------
    made : Bunch
        Any draw of `draw_problem`; only what it knows about the population is used.
    study : {"binary", "continuous"}
    coef : array of shape (n_features,)
        The weight of the proxy last.
    intercept : float
    """
    *_, proxy = coef
    shift = made.intercept_fair - proxy * MEAN - intercept
    estimation = np.sum((coef - made.coef_fair)[:-1] ** 2) + shift**2
    variance, bias, proxy_noise = VARIANCE[study], PROBLEM["bias"], PROBLEM["proxy_noise"]
    trade = proxy**2 * (variance + proxy_noise**2) - 2 * bias * variance * proxy
    # s is uniform in every bin, or sits in the middle of it
    centres = np.convolve(made.s_bins, [0.5, 0.5], "valid")
    first, second = np.triu_indices(centres.size, 1)
    distance = np.abs(centres[first] - centres[second]).mean()
    return {
        "excess": float(estimation + trade),
        "estimation": float(estimation),
        "unfairness": float(abs(proxy) * distance),
    }


def measure(study: str, n: int, seed: int) -> dict[str, dict[str, float]]:
    """Draw a sample, learn the models on it and judge them."""
    made = draw_problem(study, n, seed)
    n_groups = len(made.s_bins) - 1
    width = 2 * float(np.linalg.norm(made.coef_fair)) * (2 * n_groups / n) ** 0.5
    found = {}
    for name, epsilon in ((ZERO, 0.0), (RELAXED, width), (PLAIN, None)):
        model = FairRegressor(
            kernel="linear", alpha=ALPHA, epsilon=epsilon, y_bins=1, s_bins=made.s_bins
        )
        # in a small sample the plain model may be as fair as ε̂ asks: a result, not a mistake
        with warnings.catch_warnings(action="ignore", category=InactiveConstraintWarning):
            model.fit(made.data, made.target, sensitive_features=made.sensitive_features)
        measures = population_measures(made, study, model.coef_, model.intercept_)
        measures["sample_unfairness"] = float(model.violation_)
        found[name] = {key: round(value, DECIMALS) for key, value in measures.items()}
    return found


@dataclass(frozen=True, eq=False)
class Consistency:
    """Measures of all models, for samples of every size.

    Attributes
    ----------
    sizes : tuple of int
        Rows of a sample.
    values : dict of (study, model, measure) to array of shape (n_sizes, repeats)
    """

    sizes: tuple[int, ...]
    values: Mapping[tuple[str, str, str], Array]

    @classmethod
    def from_records(
        cls, records: Sequence[Mapping[str, Any]], sizes: Sequence[int], repeats: int
    ) -> Consistency:
        """Return the measures that the lines of a journal hold."""
        found = {(record["n"], record["seed"]): record for record in records}
        values = {
            (study, model, key): np.array(
                [[found[n, seed][study][model][key] for seed in range(repeats)] for n in sizes]
            )
            for study, model, key in product(STUDIES, MODELS, MEASURES)
        }
        return cls(tuple(sizes), values)

    def slope(self, study: str, model: str, key: str) -> tuple[float, float]:
        """Return the slope of log median |measure| in log n, and its standard error."""
        return log_slope(self.sizes, np.abs(self.values[study, model, key]))


def run_consistency(
    folder: Path,
    *,
    repeats: int = REPEATS,
    sizes: Sequence[int] = SIZES,
    show_progress: bool = True,
) -> Consistency:
    """Measure excess risk and unfairness for growing samples; write a table and a picture.

    Stopped at any moment, even by kill -9, the same call goes on where it was and leaves the same
    files; one that asks for more repeats adds them.

    Parameters
    ----------
    folder : Path
        Receives ``consistency.jsonl`` (every draw), ``consistency.md`` and ``consistency.png``.
    repeats : int, default=30
        Draws for each size. The seed of a draw is its number, at every size, so that β is the same
        while the sample grows.
    sizes : sequence of int, default=SIZES
        Rows of the samples, increasing, at least two.
    show_progress : bool, default=True

    Returns
    -------
    Consistency

    Raises
    ------
    ExperimentError
        If the folder holds the results of other settings or of more repeats, or cannot be written
        to.
    """
    check_scalar(repeats, "repeats", Integral, min_val=1)
    repeats, sizes = int(repeats), [int(n) for n in sizes]  # NumPy's have no JSON
    if len(sizes) < 2 or np.any(np.diff(sizes) <= 0):
        raise ValueError(f"sizes={sizes!r} must be at least two numbers that increase.")
    need_matplotlib()  # now rather than after all the work
    # all sizes of a draw before the next draw: steps of equal length make an honest progress bar
    tasks = [(n, seed) for seed in range(repeats) for n in sizes]
    bar = progress(len(tasks), "consistency", show=show_progress)
    with lock_folder(folder), bar as advance:
        stamp = open_folder(folder, {"sizes": sizes, "alpha": ALPHA, **PROBLEM})
        journal = Journal(folder / "consistency.jsonl", stamp)
        require_enough_repeats(journal, repeats, len(sizes))
        done = {(record["n"], record["seed"]) for record in journal.records}
        for n, seed in tasks:
            if (n, seed) not in done:
                found = {study: measure(study, n, seed) for study in STUDIES}
                journal.append({"n": n, "seed": seed, **found})
            advance(1)
    result = Consistency.from_records(journal.records, sizes, repeats)
    write_whole(folder / "consistency.md", _page(result, repeats))
    write_whole(folder / "consistency.png", draw(result.sizes, _panels(result)))
    return result


def _panels(result: Consistency) -> list[Panel]:
    """Return the panels of the picture: for each study risk, then unfairness."""
    labels = {
        "excess": "|risk − that of the fair optimum|",
        "unfairness": "unfairness (mean |gap|)",
    }
    return [
        Panel(
            title=title,
            y_label=label,
            curves={
                name: np.abs(result.values[study, model, key]) for model, name in MODELS.items()
            },
            beside=MODELS[RELAXED],
        )
        for study, title in STUDIES.items()
        for key, label in labels.items()
    ]


PAGE = """\
# Consistency

{repeats} draws of `make_fair_regression` for each n. The excess risk is that over the best fair
predictor f*; unfairness is the mean |gap| between the mean predictions of groups. Both are those of
the population, in closed form: median and 10–90 % of the draws. ε̂ ∝ 1/√n is two standard errors of
a gap of f*, in place of the theorem's ε̂.

{tables}
## Slopes in log n

Of the logarithm of the median size, ± standard error. The theorem's rate is −0.5.

{slopes}
The dashed line of the picture is the rate 1/√n through the first point of the model with
ε̂ ∝ 1/√n, not the theorem's bound, which needs bounded features.
"""


def _page(result: Consistency, repeats: int) -> str:
    columns = [(model, key) for key in ("excess", "unfairness") for model in MODELS]
    tables = "\n".join(
        f"## {title}\n\n"
        + _table(
            ["n", *(f"{MEASURES[key]}: {MODELS[model]}" for model, key in columns)],
            [
                [f"{n:,}", *(_spread(result.values[study, *column][i]) for column in columns)]
                for i, n in enumerate(result.sizes)
            ],
        )
        for study, title in STUDIES.items()
    )
    slopes = _table(
        ["", *MEASURES.values()],
        [
            [
                f"{STUDIES[study]}: {MODELS[model]}",
                *(_slope(*result.slope(study, model, key)) for key in MEASURES),
            ]
            for study, model in product(STUDIES, MODELS)
        ],
    )
    return PAGE.format(repeats=repeats, tables=tables, slopes=slopes)


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---:"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _spread(values: Array) -> str:
    low, middle, high = np.quantile(values, BAND)
    return f"{middle:.2g} ({low:.2g} to {high:.2g})".replace("-", "−")


def _slope(slope: float, error: float) -> str:
    if np.isnan(slope):
        return "zero"
    spread = "" if np.isnan(error) else f" ± {error:.2f}"
    return f"{slope:.2f}{spread}".replace("-", "−")
