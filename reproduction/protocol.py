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
from reproduction.journal import Journal, refuse_fewer
from reproduction.learn import Learner
from reproduction.problems import Problem
from reproduction.records import FoldRecords
from reproduction.work import Work

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
class Stretch:
    """Outer folds, counted through all repeats, that the same studies lack."""

    studies: tuple[str, ...]
    first: int
    last: int


def stretches(done: Mapping[str, int], needed: int) -> Iterator[Stretch]:
    """Let studies that are behind catch up, then go on together."""
    levels = sorted({*done.values(), needed})
    for first, last in pairwise(levels):
        studies = tuple(study for study, count in done.items() if count <= first)
        if last <= needed:
            yield Stretch(studies, first, last)


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
    """Compute the outer folds that the journals lack, and give their number.

    Raises
    ------
    ExperimentError
        If a journal holds more repeats than are asked for.
    """
    needed = repeats * paper.FOLDS
    for journal in journals.values():
        refuse_fewer(journal, repeats, paper.FOLDS)
    plan = [
        (Work.plan(problem, stretch.studies), stretch)
        for stretch in stretches({s: len(j.records) for s, j in journals.items()}, needed)
    ]
    steps = sum(len(work.kernels) * (part.last - part.first) for work, part in plan)
    limits = threadpool_limits(jobs, user_api="blas")
    show = show_progress and steps > 0
    with limits, progress(steps, f"{problem.title}: models", show=show) as advance:
        for work, stretch in plan:
            _run_stretch(work, stretch, journals, device, advance)
    return sum(part.last - part.first for _, part in plan)


def _run_stretch(
    work: Work,
    stretch: Stretch,
    journals: Mapping[str, Journal],
    device: Device,
    advance: Advance,
) -> None:
    repeats = range(stretch.first // paper.FOLDS, -(-stretch.last // paper.FOLDS))
    learner, n = Learner(work, device, keep=len(repeats) > 1), len(work.problem.y)
    for repeat in repeats:
        folds = [
            fold
            for fold in outer_folds(n, repeat)
            if stretch.first <= repeat * paper.FOLDS + fold.number < stretch.last
        ]
        learner.take_up(FoldSet(folds, n))
        learned = []
        for number in range(len(work.kernels)):
            learned.append(learner.learn(number))
            advance(len(folds))
        for fold, models in zip(folds, zip(*learned, strict=True), strict=True):
            records = FoldRecords(work, fold, models)
            for study in stretch.studies:
                journals[study].append(records.record(study))
