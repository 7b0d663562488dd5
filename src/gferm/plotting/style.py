"""What all displays share: colours, axes and their dress."""

from __future__ import annotations

from typing import Any

# Okabe and Ito's colours, told apart by colour-blind readers; the first two overlap well
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442", "#000000")


def axes(ax: Any, **figure: Any) -> Any:
    """Give the axes to draw on: those of the caller, or those of a new ``figure``."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Plots need matplotlib: pip install 'gferm[plot]'.") from error
    return plt.subplots(layout="constrained", **figure)[1]


def tidy(ax: Any) -> None:
    """Leave two spines and a faint grid behind the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", alpha=0.25)
    ax.set_axisbelow(True)
