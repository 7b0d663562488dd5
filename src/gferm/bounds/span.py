"""The range of y, and of f once it is clipped: a mean without one has no distribution-free bound.

In this order: what the user states; the outer edges of y_bins; for classes −1 and +1; the range of
the labels given. Edges that were read off the training rows are as good as stated ones for held-out
rows, which had no part in them, but not for the theorem, which is about the training rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gferm.arrays import Array
from gferm.fairness.bins import Bins


@dataclass(frozen=True)
class Span:
    """A range of numbers, and where it comes from.

    Attributes
    ----------
    low, high : float
    source : str
    assumed_in_training, assumed_held_out : bool
        Whether it is an assumption that the labels of the population lie inside, because it was
        read off the training rows, or off the held-out rows.
    """

    low: float
    high: float
    source: str
    assumed_in_training: bool = False
    assumed_held_out: bool = False

    @property
    def width(self) -> float:
        """Its length."""
        return self.high - self.low

    def __str__(self) -> str:
        return f"[{self.low:.4g}, {self.high:.4g}], {self.source}"


CLASSES = Span(-1.0, 1.0, "the signs of two classes")


def choose_span(bins: Bins, y: Array | None, given: tuple[float, float] | None) -> Span:
    """Choose the range; ``y`` is None for classes."""
    if given is not None:
        return _stated(given, y)
    if y is None:
        return CLASSES
    edges = np.asarray(getattr(bins, "boundaries", (np.inf,)), dtype=float)
    if np.isfinite(edges[[0, -1]]).all():
        low, high = edges[[0, -1]].tolist()
        if bins.explicit:
            return Span(low, high, "the outer edges of y_bins")
        return Span(low, high, "the range of y in the training rows", assumed_in_training=True)
    low, high = float(y.min()), float(y.max())
    if low == high:
        raise ValueError(f"y is constant, {low:g}, and has no range; pass y_range=(low, high).")
    return Span(low, high, "the range of y in the rows given", True, True)


def _stated(given: tuple[float, float], y: Array | None) -> Span:
    low, high = (float(end) for end in given)
    if not (np.isfinite([low, high]).all() and low < high):
        raise ValueError(f"y_range={given!r} must be finite numbers (low, high), low below high.")
    if y is not None and ((y < low) | (y > high)).any():
        worst = float(y[np.argmax(np.maximum(low - y, y - high))])
        raise ValueError(
            f"y_range={given!r} does not hold: y has {worst:g}. Give a range that holds for every "
            "label there can be, or None."
        )
    return Span(low, high, "y_range")
