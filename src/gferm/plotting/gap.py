"""GapDisplay: the gap of every compared pair, with its interval, against what chance alone gives.

A forest plot: a line a pair, sorted by label bin. Lines are numbered from the top; a heading, one
for each label bin, takes a line of its own. A dot outside its grey band is a gap that shuffled
groups hardly reach; of many pairs some dots fall outside by chance, and the legend says how many
that would be. Where lines are too many, those gaps are shown that are largest beside their noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from textwrap import fill
from typing import Any

import numpy as np

from gferm.arrays import Array
from gferm.auditing import Audit, Gap, audit
from gferm.plotting.layout import legend_above, place_axes, with_neighbours
from gferm.plotting.style import COLORS, as_text, attribute_text, axes, shortened

QUANTITIES = {
    "rate": "share predicted into the right label bin",
    "prediction": "mean prediction (units of y)",
    "residual": "mean residual, prediction minus label (units of y)",
    "error": "mean error",
}
MOST = 40  # gaps in a picture
LONGEST_GROUP = 24  # characters
BY_CHANCE = 0.05  # of the dots are outside their bands

PITCH, LEAST_PITCH = 17.0, 7.5  # points, of a line
WIDTH, WIDEST = 518.0, 30  # points, and characters of the lines' names that have room in it
CHARACTER, LEAST_LINE = 5.5, 24  # points, and how many there are in a line at least
HEAD, LEGEND = 95.0, 50.0  # points, of all that is above and below the lines; of the legend
THICKEST = 14.0  # points, of a band
LARGEST_FONT = 9.0
MARGIN = 0.04  # of the view, on either side

INSIDE, OUTSIDE = "0.3", COLORS[4]
BAND: dict[str, Any] = {"color": "0.86", "linewidth": 0, "zorder": 1}
ZERO = {"color": COLORS[-1], "linewidth": 0.8, "zorder": 2}
INTERVAL: dict[str, Any] = {"linewidth": 1.3, "zorder": 3}


class GapDisplay:
    """Differences between groups, with intervals, against the null.

    Parameters
    ----------
    gaps : sequence of Gap
        As given by ``audit.gaps(of)``, all of one kind.
    """

    def __init__(self, gaps: Sequence[Gap]) -> None:
        self.gaps = [gap for gap in gaps if np.isfinite(gap.value)]
        if not self.gaps:
            raise ValueError(
                "gaps is empty: no label bin holds two populated groups, so there is nothing to "
                "draw; use fewer bins (y_bins, s_bins)."
            )
        kinds = {gap.kind for gap in self.gaps}
        if len(kinds) > 1:
            raise ValueError(
                f"gaps has several kinds, {sorted(kinds)}, which have no axis in common; draw "
                "each with a GapDisplay of its own."
            )
        self.kind = kinds.pop()

    @classmethod
    def from_audit(cls, audit: Audit, of: str = "rate", ax: Any = None) -> GapDisplay:
        """Draw the gaps of an audit.

        Parameters
        ----------
        audit : Audit
        of : {"rate", "prediction", "residual", "error"}, default="rate"
        ax : matplotlib Axes, default=None
        """
        return cls(audit.gaps(of)).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        *,
        sensitive_features: Any,
        of: str = "rate",
        ax: Any = None,
        **options: Any,
    ) -> GapDisplay:
        """Draw the gaps of an audit of these predictions; ``options`` go to `gferm.audit`."""
        found = audit(y_true, y_pred, sensitive_features=sensitive_features, **options)
        return cls.from_audit(found, of, ax)

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, sensitive_features: Any, ax: Any = None, **options: Any
    ) -> GapDisplay:
        """Draw the gaps of an audit of what a model predicts for these rows."""
        return cls.from_predictions(
            y, model.predict(X), sensitive_features=sensitive_features, ax=ax, **options
        )

    def plot(self, ax: Any = None, *, most: int = MOST) -> GapDisplay:
        """Draw a line for each gap.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        most : int, default=40
            Of more gaps, or of more than can be read in the axes, only those are shown that are
            largest beside their noise; the axis says how many these are.
        """
        lines = lines_of(clearest(self.gaps, most))
        beside = max(len(line.text) for line in lines) - WIDEST
        size = (WIDTH + CHARACTER * max(beside, 0), HEAD + PITCH * (len(lines) + 1))
        ax = axes(ax, figsize=tuple(points / 72 for points in size))
        place_axes(ax)
        lines = self._readable_lines(ax, most)
        self.shown = [line.gap for line in lines if line.gap is not None]
        self._set_view(ax, len(lines))
        pitch = (_box_in_points(ax).height - LEGEND) / (len(lines) + 1)
        font = min(LARGEST_FONT, 0.8 * pitch)
        for place, line in enumerate(lines):
            if line.gap is not None:
                _draw_gap(ax, place, line.gap, thick=min(0.8, THICKEST / pitch))
        ax.vlines(0, -0.6, len(lines) - 0.4, **ZERO)
        self._name_axes(ax, lines, font)
        self._write_counts(ax, lines, font)
        legend_above(ax, self._legend_entries())
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.grid(axis="x", alpha=0.25)
        ax.set_axisbelow(True)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _readable_lines(self, ax: Any, most: int) -> list[Line]:
        """Return the lines of as many gaps as can be read, at least one."""
        room = (_box_in_points(ax).height - LEGEND) / LEAST_PITCH - 1
        for count in range(min(most, len(self.gaps)), 0, -1):
            lines = lines_of(clearest(self.gaps, count))
            if len(lines) <= room:
                break
        return lines

    def _set_view(self, ax: Any, n_lines: int) -> None:
        """Set limits that show all dots, all bands, and the intervals of all but small cells."""
        ends = [0.0]
        for gap in self.shown:
            ends += [gap.value, gap.null_low, gap.null_high]
            ends += [] if gap.small else [gap.low, gap.high]
        low, high = with_neighbours(ax, "x", np.nanmin(ends), np.nanmax(ends))
        step = MARGIN * (high - low or 1.0)
        ax.set_xlim(low - step, high + step)
        ax.set_ylim(n_lines - 0.4, -1.0)  # from the top, below the heading of the counts

    def _name_axes(self, ax: Any, lines: Sequence[Line], size: float) -> None:
        """Write what a gap is, and the name of each line."""
        pair = only_pair(self.shown)
        gap = "first − second" if pair is None else pair_text(pair)
        attributes = {attribute_text(gap.attribute) for gap in self.shown} - {""}
        if len(attributes) == 1:  # of several, each is in its headings
            gap = f"{attributes.pop()}: {gap}"
        name = [f"gap in {QUANTITIES[self.kind]}", gap]
        hidden = len(self.gaps) - len(self.shown)
        if hidden:
            name += [f"{hidden} of {len(self.gaps)} gaps not shown: small beside their noise"]
        across = max(int(_box_in_points(ax).width / CHARACTER), LEAST_LINE)
        ax.set_xlabel("\n".join(fill(line, across) for line in name))
        if pair is not None:
            ax.set_ylabel("label bin")
        ax.set_yticks(range(len(lines)), [line.text for line in lines], fontsize=size)
        ax.tick_params(axis="y", length=0)
        for label, line in zip(ax.get_yticklabels(), lines, strict=True):
            label.set_fontweight("bold" if line.gap is None else "normal")

    def _write_counts(self, ax: Any, lines: Sequence[Line], size: float) -> None:
        """Write the rows of both groups at the right, and widen the view to make room for them."""
        written = {-0.8: "rows"}
        for place, line in enumerate(lines):
            if line.gap is not None:
                written[place] = "{} | {}".format(*line.gap.counts)
        style = {"ha": "right", "va": "center", "fontsize": size, "color": INSIDE}
        texts = [
            ax.text(1.0, place, words, transform=ax.get_yaxis_transform(), **style)
            for place, words in written.items()
        ]
        place_axes(ax)
        widest = max(text.get_window_extent().width for text in texts)
        low, high = ax.get_xlim()
        share = min(1.1 * widest / ax.get_window_extent().width, 0.5)
        ax.set_xlim(low, low + (high - low) / (1.0 - share))

    def _legend_entries(self) -> dict[str, Any]:
        """Return the entries of the legend; one counts the gaps outside their bands."""
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        def dot(color: str, face: str) -> Any:
            style = INTERVAL | {"marker": "o", "markersize": 5, "markerfacecolor": face}
            return Line2D([], [], color=color, **style)

        judged = [gap for gap in self.gaps if np.isfinite(gap.null_low)]
        outside = sum(gap.beyond_chance for gap in judged)
        entries = {"gap, 95 % interval": dot(INSIDE, INSIDE)}
        if judged:
            entries["95 % of shuffled groups"] = Patch(**BAND)
            by_chance = _expected_by_chance(len(judged))
            text = f"outside: {outside} of {len(judged)} (by chance {by_chance})"
            entries[text] = dot(OUTSIDE, OUTSIDE)
        if any(gap.small for gap in self.shown):
            entries["a small cell"] = dot(INSIDE, "white")
        return entries


def _draw_gap(ax: Any, place: int, gap: Gap, thick: float) -> None:
    """Draw the band, the interval and the dot of a gap; an arrow where the view cuts it."""
    color = OUTSIDE if gap.beyond_chance else INSIDE
    if np.isfinite(gap.null_low):
        ax.barh(place, gap.null_high - gap.null_low, left=gap.null_low, height=thick, **BAND)
    left, right = ax.get_xlim()
    ax.hlines(place, max(gap.low, left), min(gap.high, right), color=color, **INTERVAL)
    for end, edge, arrow in ((left, gap.low < left, "<"), (right, gap.high > right, ">")):
        if edge:  # a small cell's interval may reach far
            ax.plot(end, place, arrow, color=color, markersize=3.5, clip_on=False)
    face = "white" if gap.small else color
    ax.scatter(gap.value, place, s=24, facecolors=face, edgecolors=color, zorder=4)


def _box_in_points(ax: Any) -> Any:
    """Return the box of the axes in points."""
    from matplotlib.transforms import Affine2D

    return ax.get_window_extent().transformed(Affine2D().scale(72.0 / ax.figure.dpi))


def _expected_by_chance(count: int) -> str:
    """Return how many of these are expected outside by chance, as text."""
    return f"{BY_CHANCE * count:.1f}".removesuffix(".0")


@dataclass(frozen=True)
class Line:
    """A line of the plot: a gap, or a heading without one."""

    text: str
    gap: Gap | None = None


def signal_to_noise(gaps: Sequence[Gap]) -> Array:
    """Return |gap| / noise of each gap, −1 where the noise is not known.

    The noise is the half-width of what chance alone gives or, where that is not known, of the
    interval.
    """
    values = np.array([gap.value for gap in gaps], dtype=float)
    chance = np.array([(gap.null_high - gap.null_low) / 2 for gap in gaps], dtype=float)
    interval = np.array([(gap.high - gap.low) / 2 for gap in gaps], dtype=float)
    noise = np.where(np.isfinite(chance), chance, interval)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.abs(values) / noise
    known: Array = np.nan_to_num(ratio, nan=-1.0, posinf=np.finfo(float).max)
    return known


def clearest(gaps: Sequence[Gap], most: int) -> list[Gap]:
    """Return the ``most`` gaps of largest signal to noise, in the order they came."""
    chosen = np.argsort(-signal_to_noise(gaps), kind="stable")[:most]
    return [gaps[i] for i in sorted(chosen)]


def only_pair(gaps: Sequence[Gap]) -> tuple[str, str] | None:
    """Return the compared groups if they are the same in every gap."""
    pairs = {(gap.attribute, gap.groups) for gap in gaps}
    return next(iter(pairs))[1] if len(pairs) == 1 else None


def lines_of(gaps: Sequence[Gap]) -> list[Line]:
    """Return a line for each gap: label bins where there is one pair, else pairs below headings."""
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
    """Return "first − second"."""
    pair = " − ".join(shortened(group, LONGEST_GROUP) for group in groups)
    return as_text(pair, len(pair), lines=1)
