"""The protocol of the paper: repeats of nested cross-validation, one record for each outer fold.

    for each repeat
        for each kernel                    one decomposition, kept for the next repeat
            for each outer fold            every alpha, variant and inner fold (learn.py)
        for each outer fold                choose, judge, write one line a study (records.py)

Studies with unfinished folds are worked on together, so that they share kernels; one that is behind
catches up first. No fold is ever computed for a file that has it; a run that is stopped loses the
folds of the repeat it was at, since a kernel is taken up once for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from gferm.arrays.device import Device
from gferm.progress import Advance, progress
from reproduction import ExperimentError, paper
from reproduction.folds import FoldSet, outer_folds
from reproduction.journal import Journal, require_enough_repeats
from reproduction.learn import Learner
from reproduction.plan import Plan
from reproduction.problems import Problem
from reproduction.records import FoldRecords

FORMAT = 2  # of the records


def settings_of(problem: Problem) -> dict[str, Any]:
    """Return what records depend on, but for the number of repeats: more can be added later.

    What else changes them, in the code, has to raise FORMAT.
    """
    return {
        "format": FORMAT,
        "data": problem.name,
        "rows": len(problem.y),
        "lambdas": paper.LAMBDAS,
        "gammas": paper.GAMMAS,
        "epsilons": paper.EPSILONS,
        "label_bins": paper.LABEL_BINS,
        "folds": paper.FOLDS,
        "tolerance": paper.TOLERANCE,
        "permutations": paper.N_PERMUTATIONS,
        "permutations_along_frontiers": paper.N_ALONG,
        "dgf": paper.COMPARED,
        "shares": paper.SHARES,
        "methods": {
            study: [method.key for method in paper.methods_of(study)] for study in problem.studies
        },
    }


@dataclass(frozen=True)
class MissingFolds:
    """Outer folds that studies lack: ``first`` to ``last − 1``, counted through all repeats."""

    studies: tuple[str, ...]
    first: int
    last: int


def missing_folds(done: Mapping[str, int], needed: int) -> Iterator[MissingFolds]:
    """Yield the folds that studies lack: those behind catch up, then all go on together."""
    levels = sorted({*done.values(), needed})
    for first, last in pairwise(levels):
        studies = tuple(study for study, count in done.items() if count <= first)
        if last <= needed:
            yield MissingFolds(studies, first, last)


def open_journals(folder: Path, studies: Sequence[str], stamp: str) -> dict[str, Journal]:
    """Open the files of the studies, and check that they are what this protocol writes."""
    journals = {study: Journal(folder / f"{study}.jsonl", stamp) for study in studies}
    for study, journal in journals.items():
        found = [tuple(map(record.get, ("study", "repeat", "fold"))) for record in journal.records]
        if found != [(study, *divmod(place, paper.FOLDS)) for place in range(len(found))]:
            raise ExperimentError(
                f"{journal.path} does not hold one outer fold after another of the {study} study. "
                "Delete the file to compute it anew."
            )
    return journals


def run_protocol(
    problem: Problem,
    journals: Mapping[str, Journal],
    *,
    repeats: int,
    device: Device,
    jobs: int | None = None,
    show_progress: bool = True,
) -> int:
    """Compute the outer folds that the journals lack, and return their number.

    Raises
    ------
    ExperimentError
        If a journal holds more repeats than are asked for.
    """
    needed = repeats * paper.FOLDS
    for journal in journals.values():
        require_enough_repeats(journal, repeats, paper.FOLDS)
    planned = [
        (Plan.of(problem, part.studies), part)
        for part in missing_folds({s: len(j.records) for s, j in journals.items()}, needed)
    ]
    steps = sum(len(plan.kernels) * (part.last - part.first) for plan, part in planned)
    limits = threadpool_limits(jobs, user_api="blas")
    show = show_progress and steps > 0
    with limits, progress(steps, f"{problem.title}: models", show=show) as advance:
        for plan, part in planned:
            _compute(plan, part, journals, device, advance)
    return sum(part.last - part.first for _, part in planned)


def _compute(
    plan: Plan,
    missing: MissingFolds,
    journals: Mapping[str, Journal],
    device: Device,
    advance: Advance,
) -> None:
    repeats = range(missing.first // paper.FOLDS, -(-missing.last // paper.FOLDS))
    learner, n = Learner(plan, device, keep=len(repeats) > 1), len(plan.problem.y)
    for repeat in repeats:
        folds = [
            fold
            for fold in outer_folds(n, repeat)
            if missing.first <= repeat * paper.FOLDS + fold.number < missing.last
        ]
        learner.prepare(FoldSet(folds, n))
        learned = []
        for number in range(len(plan.kernels)):
            learned.append(learner.learn(number))
            advance(len(folds))
        for fold, models in zip(folds, zip(*learned, strict=True), strict=True):
            records = FoldRecords(plan, fold, models)
            for study in missing.studies:
                journals[study].append(records.record(study))
