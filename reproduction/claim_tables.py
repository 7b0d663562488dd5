"""The findings of claims.py as tables: every comparison, and how many bear out each claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

import numpy as np

from gferm.printed.table import MISSING, Column, PrintedTable, Section, number, signed
from reproduction.claims import (
    DGF,
    ERROR,
    HOLDS,
    REVERSED,
    UNCLEAR,
    USUAL_DGF,
    Finding,
)
from reproduction.paper import BINARY, CONTINUOUS, DATA_NAMES, PAPERS_DATA
from reproduction.summary import Summary
from reproduction.tables import DIGITS, STAND_IN

STUDIES = {BINARY: "binary sensitive attribute", CONTINUOUS: "continuous sensitive attribute"}
INTERVALS = (
    "Paired differences over {n} outer folds; 95 % intervals by the corrected resampled t (Nadeau "
    "and Bengio, 2003), since the folds share training rows."
)
VERDICTS = (
    "A claim holds where the interval lies on its side of 0 (or of 10 %), is reversed where it "
    "lies on the other, and is unclear (not distinguishable) where it holds that value. Intervals "
    "are not corrected for how many there are: one in twenty misses by chance. DGF by rows weighs "
    "pairs of groups by their rows; beyond chance: less the mean DGF of shuffled groups, which "
    "falls when a model merely gets worse."
)
LIKE_WITH_LIKE = (
    "With more label bins a cell has fewer rows, so more of the DGF is chance; “measured at "
    "K = 10” compares like with like."
)


def build_claims(findings: Sequence[Finding], summary: Summary) -> PrintedTable:
    """List every comparison: the difference, its interval, the paper's difference, the verdict.

    Parameters
    ----------
    findings : sequence of Finding
        As `check_claims` gives them.
    summary : Summary
        Of the same records.
    """
    columns = [
        Column("", "comparison"),
        Column("", "before"),
        Column("difference", "ours"),
        Column("difference", "95 % interval"),
        Column("difference", "%"),
        Column("difference", "paper"),
        Column("", "verdict"),
    ]
    compare = summary.data == PAPERS_DATA
    if not compare:
        del columns[5]
    return PrintedTable(
        name=f"claims-{summary.study}",
        title=f"The paper's claims, {_where(summary)}",
        columns=tuple(columns),
        sections=tuple(
            Section(claim, tuple(_row(finding, compare) for finding in group))
            for claim, group in groupby(findings, lambda finding: finding.comparison.claim)
        ),
        notes=_notes(findings, summary),
    )


def build_verdicts(findings: Sequence[Finding], summary: Summary) -> PrintedTable:
    """Count for each claim in how many comparisons it holds."""
    rows, compare = [], summary.data == PAPERS_DATA
    for claim, group in groupby(findings, lambda finding: finding.comparison.claim):
        listed = list(group)
        verdicts = Counter(finding.verdict for finding in listed)
        digits = _digits(listed[0])
        reported = [finding.published for finding in listed if finding.published is not None]
        row = [claim, *(str(verdicts[name]) for name in (HOLDS, UNCLEAR, REVERSED))]
        row.append(signed(float(np.mean([finding.difference for finding in listed])), digits))
        row.append(signed(float(np.mean([finding.percent for finding in listed])), 1))
        row += [signed(float(np.mean(reported)), digits) if reported else MISSING]
        rows.append(tuple(row if compare else row[:-1]))
    columns = [
        Column("", "claim"),
        *(Column("comparisons", name) for name in (HOLDS, "unclear", REVERSED)),
        Column("mean difference", "ours"),
        Column("mean difference", "%"),
        Column("mean difference", "paper"),
    ]
    return PrintedTable(
        name=f"verdicts-{summary.study}",
        title=f"The paper's claims in short, {_where(summary)}",
        columns=tuple(columns if compare else columns[:-1]),
        sections=(Section("", tuple(rows)),),
        notes=_notes(findings, summary),
    )


def _row(finding: Finding, compare: bool) -> tuple[str, ...]:
    digits = _digits(finding)
    row = [
        finding.comparison.case,
        number(finding.before, digits),
        signed(finding.difference, digits),
        f"{signed(finding.low, digits)} to {signed(finding.high, digits)}",
        signed(finding.percent, 1),
        signed(finding.published, digits - 1),
        finding.verdict,
    ]
    if not compare:
        del row[5]
    return tuple(row)


def _digits(finding: Finding) -> int:
    return DIGITS[ERROR if finding.comparison.measure == ERROR else DGF]


def _where(summary: Summary) -> str:
    return f"{STUDIES[summary.study]}: {DATA_NAMES.get(summary.data, summary.data)}"


def _notes(findings: Sequence[Finding], summary: Summary) -> tuple[str, ...]:
    n = max((finding.n for finding in findings), default=0)
    notes = [INTERVALS.format(n=n), VERDICTS]
    if any(finding.comparison.measure == USUAL_DGF for finding in findings):
        notes.append(LIKE_WITH_LIKE)
    return tuple(notes) if summary.data == PAPERS_DATA else (STAND_IN, *notes)
