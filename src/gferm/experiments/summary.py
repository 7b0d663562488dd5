"""Records of outer folds → the numbers of the tables.

Two kinds of averages, for each method:

over folds    mean and standard deviation of a measure over all outer folds of all repeats, as in
              the paper; a fold where nothing is comparable has no value and is counted apart
pooled        hits and counts summed over the folds of a repeat, so every row is predicted once by a
              model that did not see it; then mean and standard deviation over the repeats. Cells
              hold ten times the rows, so the noise of the DGF is smaller, and known: its chance

A repeat that was not finished is in the first, not in the second.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gferm.exceptions import ExperimentError
from gferm.experiments.paper import COMPARED, FOLDS, N_PERMUTATIONS, USUAL_BINS
from gferm.metrics.chance import chance_of_dgf, dgf_of_counts
from gferm.printed.table import MISSING, number

Record: TypeAlias = Mapping[str, Any]
Integers: TypeAlias = npt.NDArray[np.int64]

POOLED = ("pairs", "all_bins", "weighted")


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation of ``n`` values; ``missing`` more could not be measured."""

    mean: float
    std: float
    n: int
    missing: int = 0

    @classmethod
    def of(cls, values: Iterable[float | None]) -> Spread:
        """Summarise values, None for those that are missing."""
        listed = list(values)
        known = np.array([value for value in listed if value is not None], dtype=float)
        known = known[~np.isnan(known)]
        return cls(
            mean=float(known.mean()) if known.size else float("nan"),
            std=float(known.std(ddof=1)) if known.size > 1 else float("nan"),
            n=known.size,
            missing=len(listed) - known.size,
        )


@dataclass(frozen=True)
class Pooled:
    """Out-of-fold values of whole repeats.

    Attributes
    ----------
    error : Spread
        Over repeats, as all others.
    dgf : dict of Spread
        By average: "pairs", "all_bins" and "weighted".
    chance : float
        Mean DGF of shuffled groups, mean over repeats; in the average that is compared.
    p : float
        Median over repeats.
    """

    error: Spread
    dgf: Mapping[str, Spread]
    chance: float
    p: float


@dataclass(frozen=True)
class MethodSummary:
    """What one method achieved.

    Attributes
    ----------
    error, gap, chance : Spread
        ``chance`` is the mean DGF of a test fold when groups are shuffled within label bins.
    dgf, usual_dgf, delta : dict of Spread
        By average. ``usual_dgf`` is measured with ten label bins whatever the method's own; empty
        if the records do not hold it.
    pooled : Pooled or None
        None until a repeat is finished.
    """

    error: Spread
    dgf: Mapping[str, Spread]
    usual_dgf: Mapping[str, Spread]
    gap: Spread
    chance: Spread
    delta: Mapping[str, Spread]
    pooled: Pooled | None


@dataclass(frozen=True)
class Summary:
    """The numbers of one study on one data set.

    Attributes
    ----------
    data, study : str
    n_folds : int
        Outer folds on record.
    n_repeats : int
        Repeats with all their folds.
    methods : dict of MethodSummary
        By the key of a method.
    """

    data: str
    study: str
    n_folds: int
    n_repeats: int
    methods: Mapping[str, MethodSummary]


def summarize(records: Sequence[Record], *, n_folds: int = FOLDS) -> Summary:
    """Summarise the records of one study on one data set.

    Parameters
    ----------
    records : sequence of dict
        One for each outer fold.
    n_folds : int, default=10
        Outer folds of a whole repeat.

    Raises
    ------
    ExperimentError
        If there are none, or if they come from several studies.
    """
    sources = {(record["data"], record["study"]) for record in records}
    if len(sources) != 1:
        raise ExperimentError(
            f"the records come from {sorted(sources)}; give those of one study on one data set."
            if sources
            else "there are no records yet, so there is nothing to summarise; run the study first."
        )
    ((data, study),) = sources
    repeats = whole_repeats(records, n_folds)
    keys = dict.fromkeys(key for record in records for key in record["models"])
    methods = {key: _summarize_method(records, repeats, key) for key in keys}
    return Summary(data, study, len(records), len(repeats), methods)


def whole_repeats(records: Sequence[Record], n_folds: int = FOLDS) -> list[list[Record]]:
    """Sort the records into repeats, and leave out those with folds missing."""
    repeats: dict[int, dict[int, Record]] = {}
    for record in records:
        repeats.setdefault(record["repeat"], {})[record["fold"]] = record
    return [list(folds.values()) for _, folds in sorted(repeats.items()) if len(folds) == n_folds]


def pool(records: Sequence[Record], key: str) -> tuple[Integers, Integers]:
    """Sum the hits and the counts of a method over records, each of shape (K, Q)."""
    hits = [np.array(record["models"][key]["hits"], dtype=np.int64) for record in records]
    n_bins = str(len(hits[0]))
    counts = [np.array(record["counts"][n_bins], dtype=np.int64) for record in records]
    return np.sum(hits, axis=0), np.sum(counts, axis=0)


def _summarize_method(
    records: Sequence[Record], repeats: Sequence[Sequence[Record]], key: str
) -> MethodSummary:
    models = [record["models"][key] for record in records if key in record["models"]]
    whole = [folds for folds in repeats if all(key in record["models"] for record in folds)]
    return MethodSummary(
        error=Spread.of(model["error"] for model in models),
        dgf=_each([model["dgf"] for model in models]),
        usual_dgf=_each([usual_dgf(model) for model in models]),
        gap=Spread.of(model["gap"] for model in models),
        chance=Spread.of(model["chance"][COMPARED]["mean"] for model in models),
        delta=_each([model["delta"] for model in models]),
        pooled=_summarize_pooled(whole, key) if whole else None,
    )


def usual_dgf(model: Record) -> Mapping[str, float | None]:
    """Return the DGF in ten label bins: the model's own, or one measured besides."""
    own = model["dgf"] if len(model.get("hits", ())) == USUAL_BINS else {}
    found: Mapping[str, float | None] = model.get("dgf_usual", own)
    return found


def _each(values: Sequence[Mapping[str, float | None]]) -> dict[str, Spread]:
    """Summarise every variant of a measure."""
    return {part: Spread.of(value[part] for value in values) for part in values[0]}


def _summarize_pooled(repeats: Sequence[Sequence[Record]], key: str) -> Pooled:
    tables = [pool(folds, key) for folds in repeats]
    chances = [
        # the repeat is the seed, so that a table does not change when a repeat is added
        chance_of_dgf(
            hits,
            counts,
            n_permutations=N_PERMUTATIONS,
            average=COMPARED,
            rng=np.random.default_rng(folds[0]["repeat"]),
        )
        for folds, (hits, counts) in zip(repeats, tables, strict=True)
    ]
    return Pooled(
        error=Spread.of(_error_of_all_rows(folds, key) for folds in repeats),
        dgf={
            average: Spread.of(float(dgf_of_counts(*table, average)) for table in tables)
            for average in POOLED
        },
        chance=float(np.mean([chance.mean for chance in chances])),
        p=float(np.median([chance.p for chance in chances])),
    )


def _error_of_all_rows(folds: Sequence[Record], key: str) -> float:
    errors = [record["models"][key]["error"] for record in folds]
    return float(np.average(errors, weights=[record["n_test"] for record in folds]))


def spread(value: Spread | None, digits: int) -> str:
    """Write a mean and, where there is one, its standard deviation."""
    if value is None:
        return MISSING
    mean, std = number(value.mean, digits), number(value.std, digits)
    return mean if std == MISSING else f"{mean}±{std}"
