"""What all displays share: colours, axes and their dress."""

from __future__ import annotations

from typing import Any

# Okabe and Ito's colours, told apart by colour-blind readers; the first two overlap well
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442", "#000000")


def need_matplotlib() -> None:
    """Raise an ImportError with its remedy unless matplotlib is there."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError("Plots need matplotlib: pip install 'gferm[plot]'.") from error


def axes(ax: Any, **figure: Any) -> Any:
    """Give the axes to draw on: those of the caller, or those of a new ``figure``."""
    if ax is not None:
        return ax
    need_matplotlib()
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained", **figure)[1]


def tidy(ax: Any) -> None:
    """Leave two spines and a faint grid behind the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", alpha=0.25)
    ax.set_axisbelow(True)
