"""The paper's figure, and the one it could not draw: error against DGF along the exact frontier.

figure-histogram   P̂^{k,q} = Σ hits / Σ counts over all folds of all whole repeats
figure-frontier    a point is a share of the plain model's gap; its error and its DGF are means over
                   the outer folds. Dotted: the same models after shuffling the groups, so what
                   lies between the two lines is more than chance. The bar at the fair end is one
                   standard error of the mean change in DGF from the plain model, to either side,
                   folds paired and corrected as in claims.py. The error has none: beside the noise
                   of the DGF its own would not be seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any

import numpy as np

from gferm.fairness.bins import Bins
from gferm.plotting.cell_rates import draw_cell_rates
from gferm.plotting.style import COLORS, tidy
from reproduction.claims import corrected_error
from reproduction.paper import COMPARED, FIGURE_METHODS, FOLDS
from reproduction.summary import (
    MethodSummary,
    Record,
    pool,
    summarize,
    whole_repeats,
)

GROUPS = {
    "crime": ("racepctblack ≤ 0.06", "racepctblack > 0.06"),
    "pupils": ("sex = 0", "sex = 1"),
}
FEATURES = {"without s": COLORS[0], "with s": COLORS[4]}
END: dict[str, Any] = {"marker": "s", "s": 45}  # of a frontier
CHANCE: dict[str, Any] = {"linestyle": ":", "linewidth": 1.3}
DPI = 150


def draw_histogram(
    records: Sequence[Record], *, groups: Sequence[str] | None = None, n_folds: int = FOLDS
) -> bytes:
    """Draw P̂^{k,q} of both groups: NVM KRLS on the left, NVM Fair KRLS on the right.

    Parameters
    ----------
    records : sequence of dict
        Those of the binary study.
    groups : sequence of str, default=None
        Names of the groups; None for those of the data.
    n_folds : int, default=10
        Outer folds of a whole repeat. Before the first is whole, all folds are drawn.

    Returns
    -------
    bytes
        A PNG.
    """
    from matplotlib.figure import Figure  # not pyplot: no window, no figure left open

    summary = summarize(records, n_folds=n_folds)
    repeats = whole_repeats(records, n_folds)
    drawn = [record for folds in repeats for record in folds] or list(records)
    figure = Figure(figsize=(13, 4.6), layout="constrained", dpi=DPI)
    axes = figure.subplots(1, 2, sharey=True)
    for ax, method in zip(axes, FIGURE_METHODS, strict=True):
        hits, counts = pool(drawn, method.key)
        names = groups or GROUPS.get(summary.data) or [str(q + 1) for q in range(counts.shape[1])]
        draw_cell_rates(
            ax,
            hits / np.maximum(counts, 1),  # no row, no bar
            counts // max(len(repeats), 1),  # every whole repeat holds each row once
            labels=Bins.uniform(0, 1, len(counts)).labels,
            groups=names,
        )
        ax.set_title(f"{method.name}\n{_in_words(summary.methods[method.key])}", fontsize="medium")
    axes[1].set_ylabel("")
    axes[1].get_legend().remove()
    return _png(figure)


def draw_frontier(records: Sequence[Record]) -> bytes:
    """Draw held-out error against held-out DGF, side by side for each learner.

    Parameters
    ----------
    records : sequence of dict
        Those of one study.

    Returns
    -------
    bytes
        A PNG.
    """
    from matplotlib.figure import Figure

    learners = list(dict.fromkeys(name.split(", ")[0] for name in records[0]["frontier"]))
    figure = Figure(figsize=(6.5 * len(learners), 5), layout="constrained", dpi=DPI)
    axes = figure.subplots(1, len(learners), sharex=True, sharey=True, squeeze=False)[0]
    for ax, learner in zip(axes, learners, strict=True):
        for features, color in FEATURES.items():
            _draw_line(ax, records, learner, features, color)
        for facecolor, name in (("white", "plain model"), ("black", "epsilon = 0")):
            ax.scatter([], [], facecolor=facecolor, edgecolor="black", label=name, **END)
        ax.plot([], [], color="black", label="by chance: groups shuffled", **CHANCE)
        ax.set_xlabel("DGF on held-out rows")
        ax.set_title(learner, fontsize="medium")
        tidy(ax)
        ax.grid(axis="x", alpha=0.25)
    axes[0].set_ylabel("error on held-out rows, 100·MAE")
    axes[0].legend(frameon=False, loc="lower left")  # a frontier goes from the top left down
    figure.suptitle(
        f"The exact frontier on held-out rows, mean of {len(records)} folds,\n"
        "at the settings chosen for epsilon = 0. Bars: standard error of the change in DGF",
        fontsize="medium",
    )
    return _png(figure)


def _draw_line(ax: Any, records: Sequence[Record], learner: str, features: str, color: str) -> None:
    name, dashes = f"{learner}, {features}", "--" if features == "with s" else "-"
    errors, unfairness, chance = (
        np.array([record["frontier"][name][measure] for record in records], dtype=float)
        for measure in ("error", "dgf", "chance")
    )
    known = ~np.isnan(unfairness).any(axis=1)  # else no label bin of the fold holds two groups
    x, y = unfairness[known].mean(axis=0), errors.mean(axis=0)
    ax.plot(x, y, color=color, linestyle=dashes, marker="o", markersize=3, label=features, zorder=3)
    ax.plot(chance[known].mean(axis=0), y, color=color, zorder=2, **CHANCE)
    if known.sum() > 1:
        share = float(np.mean([record["n_test"] / record["n_train"] for record in records]))
        error = corrected_error(unfairness[known, -1] - unfairness[known, 0], share)
        ax.hlines(y[-1], x[-1] - error, x[-1] + error, color=color, alpha=0.5, linewidth=2.5)
    for point, facecolor in ((0, "white"), (-1, color)):
        ax.scatter(x[point], y[point], facecolor=facecolor, edgecolor=color, zorder=4, **END)


def _png(figure: Any) -> bytes:
    file = BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()


def _in_words(found: MethodSummary) -> str:
    if found.pooled is None:
        return f"error {found.error.mean:.2f}, DGF {found.dgf[COMPARED].mean:.3f}, mean of folds"
    pooled = found.pooled
    return (
        f"error {pooled.error.mean:.2f}, DGF {pooled.dgf[COMPARED].mean:.3f} "
        f"(by chance {pooled.chance:.3f}, p {pooled.p:.3f})"
    )
