"""The verdict: what the figures of an audit say, in sentences, with how sure that is.

A difference counts as seen where fewer than 5 % of the shuffles reach it. That is evidence, not a
size: whether it matters is for people to decide, so each sentence gives the size, what chance alone
would give, and the rows behind it. No evidence is not a proof of fairness; the upper end of the
interval says how much unfairness these rows cannot exclude.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gferm.arrays import Array
from gferm.auditing.evidence import WITHIN_BINS
from gferm.auditing.outcome import NUMBERS
from gferm.auditing.presentation import write_figure
from gferm.auditing.records import Figure, Findings, Gap, Statement
from gferm.printed.table import listed, significant

LEVEL = 0.05  # the p-value below which a difference counts as seen
MOST_NAMED = 3  # cells that a sentence names

# What is judged: equal treatment at equal outcome first, then whole groups.
JUDGED = (
    "equalized_odds_difference",
    "dgf_weighted",
    "dgf",
    "mean_gap",
    "covariance",
    "mean_distance",
)
WORDS = {
    "rate": "rate of right predictions",
    "prediction": "mean prediction",
    "residual": "mean residual",
    "error": "mean error",
}


def write_verdict(audit: Findings) -> Iterator[Statement]:
    """Return the sentences, the most important first."""
    known = [audit.figures[name] for name in JUDGED if name in audit.figures]
    yield _headline(audit, known)
    for figure in known:
        yield _judgement_of(figure, audit.parameters.n_permutations)
    yield from _where(audit)
    yield from _cautions(audit)


def _headline(audit: Findings, figures: list[Figure]) -> Statement:
    """Return the answer for equal outcomes, corrected for asking more than one figure (Bonferroni).

    Where one bin holds every label, the answer is for whole groups. What cannot be told is said
    first: it must not read as fair.
    """
    chances = [
        figure.chance.p
        for figure in figures
        if figure.chance is not None and figure.chance.shuffled == WITHIN_BINS
    ]
    n, n_shuffles = len(chances), audit.parameters.n_permutations
    if not n_shuffles:
        return Statement(
            "caution",
            "Chance was not computed (n_permutations=0), so differences may be noise or more.",
        )
    if not n:
        why = "no label bin holds two groups with enough rows" if figures else "no figure applies"
        return Statement("caution", f"Nothing could be compared: {why}.")
    if not _can_be_seen(n_shuffles, n):
        return Statement(
            "caution",
            f"{n_shuffles} shuffles are too few to tell {_many(n, 'figure')} from chance, whatever "
            f"they are: use n_permutations={round(n / LEVEL)} or more.",
        )
    p = min(n * min(chances), 1.0)
    asked = f"smallest p of {n} figures, times {n}: {p:.3f}" if n > 1 else f"p = {p:.3f}"
    whole = audit.rows.cells.label_bins.holds_everything
    groups = "groups, whatever their outcomes," if whole else "groups with equal outcomes"
    if p < LEVEL:
        text = f"{groups.capitalize()} are treated differently, beyond chance ({asked})."
        return Statement("unfair", text)
    text = f"No difference between {groups} is beyond chance ({asked})."
    return Statement("fair", f"{text} That is no proof of fairness.")


def _can_be_seen(n_shuffles: int, n_figures: int = 1) -> bool:
    """Return whether the smallest p of so many shuffles is below the level at all."""
    return n_figures / (1 + n_shuffles) < LEVEL


def _judgement_of(figure: Figure, n_shuffles: int) -> Statement:
    what = f"{figure.title[0].upper()}{figure.title[1:]}"
    if figure.value != figure.value:  # NaN
        return Statement(
            "caution",
            f"{what}: no label bin holds two groups with enough rows, so nothing is known.",
        )
    written, chance = write_figure(figure), figure.chance
    size = f"{what} is {written.value}"
    if figure.interval is not None:
        size += f" (interval {written.low} to {written.high})"
    if chance is None:
        return Statement("fact", f"{size}; chance was not computed.")
    p = f"p = {written.p}" if chance.p >= 0.001 else "p < 0.001"
    shuffles = (
        f"groups shuffled {chance.shuffled} give {written.mean} on average and 95 % of shuffles "
        f"stay below {written.top} ({p})"
    )
    if chance.p < LEVEL:
        return Statement("unfair", f"{size}, more than chance: {shuffles}.")
    text = f"{size}, no more than chance: {shuffles}."
    if figure.interval is not None:
        text += f" These rows cannot exclude up to {written.high}."
    return Statement("fair" if _can_be_seen(n_shuffles) else "fact", text)


def _where(audit: Findings) -> Iterator[Statement]:
    """Return the largest gaps of rates that lie outside of what chance gives."""
    kinds = [gap.kind for gap in audit.all_gaps]
    if not kinds:
        return
    gaps = audit.gaps(kinds[0])
    if all(gap.null_low != gap.null_low for gap in gaps):  # not computed
        return
    beyond = [gap for gap in gaps if gap.beyond_chance]
    expected = max(round(LEVEL * len(gaps)), 1)
    about = (
        f"Pair by pair ({WORDS[gaps[0].kind]}), {len(beyond)} of {len(gaps)} differences are "
        f"larger than in 95 % of shuffles; chance alone would make that about {expected}."
    )
    largest = sorted((gap for gap in beyond if not gap.small), key=_excess, reverse=True)
    for gap in largest[:MOST_NAMED]:
        about += f" In {_describe(gap)}"
    yield Statement("unfair" if len(beyond) > 2 * expected else "fact", about)


def _excess(gap: Gap) -> float:
    """Return how far beyond chance a gap is."""
    return max(gap.null_low - gap.value, gap.value - gap.null_high)


def _describe(gap: Gap) -> str:
    (first, second), (n_first, n_second) = gap.groups, gap.counts
    size = significant(abs(gap.value))
    direction = "above" if gap.value > 0 else "below"
    return (
        f"{gap.label_bin}: the {WORDS[gap.kind]} of {first} ({n_first} rows) is {size} {direction} "
        f"that of {second} ({n_second} rows)."
    )


def _cautions(audit: Findings) -> Iterator[Statement]:
    values = audit.rows.predictions
    if (values == values[0]).all() or (audit.task == NUMBERS and _is_constant(values)):
        yield Statement(
            "caution",
            "All predictions are the same: nobody is treated differently, nor is anything learned.",
        )
    if audit.empty:
        names = listed([f"{cell.group} in {cell.label_bin}" for cell in audit.empty], MOST_NAMED)
        yield Statement(
            "caution",
            f"{len(audit.empty)} of {len(audit.cells)} cells have no row ({names}): nothing is "
            "known there, and no figure counts them as fair.",
        )
    if audit.small:
        cells = [f"{cell.group} in {cell.label_bin}: {cell.count}" for cell in audit.small]
        names = listed(cells, MOST_NAMED)
        yield Statement(
            "caution",
            f"{len(audit.small)} cells have fewer than {audit.parameters.small_cell_size} rows "
            f"({names}): what they show is mostly noise.",
        )
    yield from _compared_with_nobody(audit)
    if audit.outside:
        yield Statement(
            "caution",
            f"{audit.outside} labels or groups lie in no bin, and their rows in no cell; widen the "
            "outer edges of y_bins or s_bins to count them.",
        )


def _is_constant(values: Array) -> bool:
    return bool(np.ptp(values) <= 1e-9 * np.abs(values).max())


def _compared_with_nobody(audit: Findings) -> Iterator[Statement]:
    """Return a caution for the rows that no figure of cells looks at."""
    least = audit.parameters.min_cell_size
    why = "every other group is empty there"
    if least > 1:
        why = f"a cell needs min_cell_size={least} rows, and a second one to be compared with"
    for part in audit.rows.cells.partitions:
        large = part.counts >= least
        compared = large & (large.sum(axis=1, keepdims=True) > 1)
        if not compared.any():
            yield Statement(
                "caution",
                f"{part.name}: no label bin holds two groups with enough rows, so nothing is known "
                "about this attribute at equal outcomes.",
            )
            continue
        alone = np.argwhere((part.counts > 0) & ~compared)
        if alone.size:
            labels = audit.label_bins
            names = [f"{part.groups[q]} in {labels[k]}: {part.counts[k, q]}" for k, q in alone]
            yield Statement(
                "caution",
                f"{part.name}: nothing is known about {_many(len(alone), 'cell')} with rows "
                f"({listed(names, MOST_NAMED)}): {why}.",
            )


def _many(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
