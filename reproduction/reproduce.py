"""Everything behind the command: compute what is missing, then write tables and pictures.

    <out>/<data>/settings.json                the settings the folder belongs to
                 binary.jsonl                 a line for each outer fold: four tables and the figure
                 continuous.jsonl             a line for each outer fold: the continuous table
                 run.json                     when, where and how long
                 table-*.md, table-*.tex      each table that was asked for
                 overview.md, overview.tex    with all of them, how many values are the paper's
                 verdicts-*, claims-*         with all of them, what the paper claims; .md and .tex
                 figure-*.png
                 index.html                   all of it on one page; <target>.html for one
                 .lock                        empty; held while a run is at work

Records decide everything else, so what is finished is never computed again.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any

import gferm
from gferm.arrays.device import Device, open_device
from gferm.plotting.style import need_matplotlib
from gferm.printed.table import PrintedTable
from reproduction import ExperimentError
from reproduction.claim_tables import build_claims, build_verdicts
from reproduction.claims import check_claims
from reproduction.figures import draw_frontier, draw_histogram
from reproduction.journal import Journal, lock_folder, open_folder, write_whole
from reproduction.paper import (
    ALL,
    BINARY,
    CONTINUOUS,
    FIGURE,
    PAPERS_DATA,
    REPEATS,
    TABLES,
    TARGETS,
)
from reproduction.problems import PROBLEMS, Problem
from reproduction.protocol import open_journals, run_protocol, settings_of
from reproduction.rendering import picture_section, table_section, to_latex, to_markdown, to_page
from reproduction.summary import Summary, summarize
from reproduction.tables import build_overview, build_table

RUNS = "run.json"


@dataclass(frozen=True, eq=False)
class Reproduction:
    """The tables of a run, and where everything was written.

    Attributes
    ----------
    folder : Path
    sheets : list of PrintedTable
        The tables that were asked for, then the claims and what reproduces.
    computed : int
        Outer folds computed now; the others were there.
    seconds : float
        What that took, tables not counted.
    """

    folder: Path
    sheets: list[PrintedTable]
    computed: int
    seconds: float


def reproduce(
    target: str = ALL,
    *,
    data: str = "crime",
    repeats: int = REPEATS,
    device: str = "cpu",
    jobs: int | None = None,
    out: Path = Path("reproduced"),
    show_progress: bool = True,
) -> Reproduction:
    """Reproduce a table of the paper, its figure, or all of them.

    Parameters
    ----------
    target : str, default="all"
        One of ``TARGETS``.
    data : {"crime", "pupils"}, default="crime"
    repeats : int, default=30
        Repeats of the nested cross-validation. A folder with fewer is continued.
    device : {"cpu", "cuda"}, default="cpu"
    jobs : int, default=None
        Cores to use; None for all.
    out : Path, default="reproduced"
        Results go to a folder in it, named like the data.
    show_progress : bool, default=True

    Raises
    ------
    ExperimentError
        If an argument has no such value, or if the folder cannot be used.
    """
    check_known("target", target, TARGETS)
    check_known("data", data, tuple(PROBLEMS))
    for name, value in (("repeats", repeats), ("jobs", jobs)):
        if value is not None and value < 1:
            raise ExperimentError(f"{name}={value} must be at least 1.")
    try:
        where = open_device(device)
    except ValueError as error:
        raise ExperimentError(str(error)) from error
    need_matplotlib()  # now rather than after all the work
    problem, folder = PROBLEMS[data](), out / data
    with lock_folder(folder):
        stamp = open_folder(folder, settings_of(problem))
        journals = open_journals(folder, _studies(target), stamp)
        runs = _read_runs(folder / RUNS)
        done = {study: len(journal.records) for study, journal in journals.items()}
        started, failed = perf_counter(), True
        try:
            run_protocol(
                problem,
                journals,
                repeats=repeats,
                device=where,
                jobs=jobs,
                show_progress=show_progress,
            )
            failed = False
        except (MemoryError, RuntimeError) as error:
            if not isinstance(error, MemoryError) and "out of memory" not in str(error):
                raise
            raise _out_of_memory(error, where) from error
        finally:  # what was interrupted took its time as well
            seconds = perf_counter() - started
            computed = max(len(journals[study].records) - n for study, n in done.items())
            if computed:
                runs.append(_describe_run(where, computed, seconds))
                with suppress(ExperimentError) if failed else nullcontext():  # the first tells more
                    write_whole(folder / RUNS, json.dumps(runs, indent=2) + "\n")
        sheets = _write(target, problem, journals, folder)
    return Reproduction(folder, sheets, computed, seconds)


def _out_of_memory(error: Exception, device: Device) -> ExperimentError:
    """Return an error that says what to do about too little memory."""
    remedy = "Use --device cpu" if not device.is_cpu else "Use a machine with more memory"
    return ExperimentError(f"{device.description} has too little memory: {error}. {remedy}.")


def check_known(name: str, value: str, known: Sequence[str]) -> None:
    """Raise an error that lists the known names if a name is not among them."""
    if value not in known:
        raise ExperimentError(f"{name}={value!r} is unknown; use one of {', '.join(known)}.")


def _studies(target: str) -> tuple[str, ...]:
    if target == ALL:
        return (BINARY, CONTINUOUS)
    return (TABLES[target].study if target in TABLES else BINARY,)


def _read_runs(path: Path) -> list[Any]:
    """Return the list of runs so far: the only file that differs from one run to the next."""
    try:
        runs = json.loads(path.read_bytes()) if path.exists() else []
        if not isinstance(runs, list):
            raise ValueError("not a JSON list")
    except (OSError, ValueError) as error:
        raise ExperimentError(f"{path} cannot be read: {error}. Delete it to go on.") from error
    return runs


def _describe_run(device: Device, computed: int, seconds: float) -> dict[str, Any]:
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "device": device.description,
        "machine": platform.machine(),
        "python": platform.python_version(),
        "versions": dict(_versions(device)),
        "outer_folds": computed,
        "seconds": round(seconds, 1),
    }


def _versions(device: Device) -> Iterator[tuple[str, str]]:
    yield "gferm", gferm.__version__
    for name in ("numpy", "scipy", "scikit-learn", *([] if device.is_cpu else ["torch"])):
        yield name, version(name)


def _write(
    target: str, problem: Problem, journals: Mapping[str, Journal], folder: Path
) -> list[PrintedTable]:
    """Write every form of what was asked for, and return the tables."""
    records = {study: journal.records for study, journal in journals.items()}
    summaries = {study: summarize(found) for study, found in records.items()}
    asked = [table for name, table in TABLES.items() if target in (name, ALL)]
    tables = [build_table(table.target, summaries[table.study]) for table in asked]
    claims = list(_claims(summaries, records)) if target == ALL else []
    overview = [build_overview(summaries)] if target == ALL and problem.name == PAPERS_DATA else []
    for sheet in [*overview, *tables, *claims]:
        write_whole(folder / f"{sheet.name}.md", to_markdown(sheet))
        write_whole(folder / f"{sheet.name}.tex", to_latex(sheet))
    pictures = _pictures(target, records)
    for name, (_, png) in pictures.items():
        write_whole(folder / f"{name}.png", png)
    parts = [
        *map(table_section, [*overview, *tables]),
        *(picture_section(name, *picture) for name, picture in pictures.items()),
        *map(table_section, claims),
    ]
    title = f"General fair empirical risk minimization, reproduced: {problem.title}"
    write_whole(folder / page_name(target), to_page(parts, title=title))
    return [*tables, *claims, *overview]


def page_name(target: str) -> str:
    """Return the name of the page with all that was asked for."""
    return "index.html" if target == ALL else f"{target}.html"


def _claims(
    summaries: Mapping[str, Summary], records: Mapping[str, list[dict[str, Any]]]
) -> Iterator[PrintedTable]:
    for build in (build_verdicts, build_claims):
        for study, summary in summaries.items():
            yield build(check_claims(records[study]), summary)


def _pictures(
    target: str, records: Mapping[str, list[dict[str, Any]]]
) -> dict[str, tuple[str, bytes]]:
    """Draw what was asked for, and return caption and PNG by name."""
    pictures = {}
    if target in (FIGURE, ALL):
        pictures[FIGURE] = (
            "Share of each group predicted into its own label bin, plain and fair",
            draw_histogram(records[BINARY]),
        )
    if target == ALL:
        for study, found in records.items():
            pictures[f"figure-frontier-{study}"] = (
                f"Held-out error and DGF along the exact frontier, {study} attribute",
                draw_frontier(found),
            )
    return pictures
