"""Which gaps a forest plot shows, and in which lines.

A gap is loud if it is large beside its noise: the half-width of what chance alone gives or, where
that is not known, of its interval. Lines are numbered from the top; a heading, one for each label
bin, takes a line of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from gferm.arrays import Array
from gferm.auditing import Gap
from gferm.plotting.style import as_text, shortened

LONGEST_GROUP = 24  # characters


@dataclass(frozen=True)
class Line:
    """A line of the plot: a gap, or a heading without one."""

    text: str
    gap: Gap | None = None


def loudness(gaps: Sequence[Gap]) -> Array:
    """Return |gap| / noise of each gap; −1 where the noise is not known."""
    values = np.array([gap.value for gap in gaps], dtype=float)
    chance = np.array([(gap.null_high - gap.null_low) / 2 for gap in gaps], dtype=float)
    interval = np.array([(gap.high - gap.low) / 2 for gap in gaps], dtype=float)
    noise = np.where(np.isfinite(chance), chance, interval)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.abs(values) / noise
    known: Array = np.nan_to_num(ratio, nan=-1.0, posinf=np.finfo(float).max)
    return known


def loudest(gaps: Sequence[Gap], most: int) -> list[Gap]:
    """Return the ``most`` loudest gaps, in the order they came."""
    chosen = np.argsort(-loudness(gaps), kind="stable")[:most]
    return [gaps[i] for i in sorted(chosen)]


def only_pair(gaps: Sequence[Gap]) -> tuple[str, str] | None:
    """Return the compared groups if they are the same in every line."""
    pairs = {(gap.attribute, gap.groups) for gap in gaps}
    return next(iter(pairs))[1] if len(pairs) == 1 else None


def lines_of(gaps: Sequence[Gap]) -> list[Line]:
    """Arrange gaps in lines: label bins where there is one pair, else pairs below headings."""
    if only_pair(gaps) is not None:
        return [Line(as_text(gap.label_bin, LONGEST_GROUP, lines=1), gap) for gap in gaps]
    lines = []
    several = len({gap.attribute for gap in gaps}) > 1
    for (attribute, label_bin), members in groupby(gaps, lambda g: (g.attribute, g.label_bin)):
        heading = f"{attribute}, label {label_bin}" if several else f"label {label_bin}"
        lines.append(Line(as_text(heading, 2 * LONGEST_GROUP, lines=1)))
        lines += [Line(pair_text(gap.groups), gap) for gap in members]
    return lines


def pair_text(groups: tuple[str, str]) -> str:
    """Write "first − second"."""
    pair = " − ".join(shortened(group, LONGEST_GROUP) for group in groups)
    return as_text(pair, len(pair), lines=1)
