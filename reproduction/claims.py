"""What the paper claims of its experiments, each claim tested on paired outer folds.

A comparison is one measure of two methods on the same folds. With d_1, …, d_N its differences over
all folds of all repeats, mean d̄ and variance s², the folds share training rows, so s²/N is too
small. The corrected resampled t interval (Nadeau and Bengio, 2003) is

    d̄ ± t_{N−1}(0.975) · sqrt((1/N + n_test/n_train) · s²)

A claim has a sign: it holds if the interval lies on that side of 0, is reversed if it lies on the
other, and is not distinguishable else. "Slightly" is read as less than the tenth that the paper's
validation gives away: the interval is then compared with a tenth of the first method's mean.

DGF is the average that is compared with the paper; "by rows" weighs the pairs of groups by their
rows, so that bins with a handful count little; "beyond chance" is what a DGF has more than that of
shuffled groups. Chance falls with the hits: a model that is merely worse has the lower DGF.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Any, TypeAlias

import numpy as np
from scipy.stats import t as student

from gferm.arrays import Array
from reproduction.paper import (
    BINARY,
    COMPARED,
    EPSILONS,
    LABEL_BINS,
    PAPERS_DATA,
    TABLES,
    TOLERANCE,
    Method,
)
from reproduction.summary import Record, usual_dgf

LEVEL = 0.95
ERROR, DGF, USUAL_DGF, GAP = "error", "DGF", "DGF at K = 10", "gap"
WEIGHTED_DGF = "DGF by rows"
BEYOND, WEIGHTED_BEYOND = "DGF beyond chance", "DGF by rows beyond chance"
HOLDS, REVERSED, UNCLEAR = "holds", "reversed", "not distinguishable"

# what the paper says of a change: the claim, its measure and the sign of the difference
RAISES_SLIGHTLY = "The constraint costs less than 10 % in error"
CONSTRAINED = (
    ("The constraint lowers DGF", DGF, -1),
    ("The constraint lowers DGF beyond chance", BEYOND, -1),
    ("The constraint lowers DGF by rows", WEIGHTED_DGF, -1),
    ("The constraint lowers DGF by rows beyond chance", WEIGHTED_BEYOND, -1),
    ("The constraint lowers the gap it bounds", GAP, -1),
    ("The constraint raises the error", ERROR, +1),
    (RAISES_SLIGHTLY, ERROR, -1),
)
LARGER_EPSILON = (
    ("A larger ε̂ raises DGF", DGF, +1),
    ("A larger ε̂ raises DGF by rows", WEIGHTED_DGF, +1),
    ("A larger ε̂ lowers the error", ERROR, -1),
)
MORE_BINS = (
    ("A larger K lowers DGF", DGF, -1),
    ("A larger K lowers DGF by rows", WEIGHTED_DGF, -1),
    ("A larger K lowers DGF, measured at K = 10", USUAL_DGF, -1),
    ("A larger K raises the error", ERROR, +1),
)
S_AS_FEATURE = (
    ("s as a feature raises DGF", DGF, +1),
    ("s as a feature lowers the error", ERROR, -1),
)
Claims: TypeAlias = tuple[tuple[str, str, int], ...]


@dataclass(frozen=True)
class Comparison:
    """A claim about one measure of two methods.

    Attributes
    ----------
    claim : str
        What the paper says.
    case : str
        Where: "RLS, without s, ε̂ 0 → 0.005".
    measure : str
        "error", "gap" or one of the DGFs.
    before, after : Method
    sign : {1, -1}
        Of ``after`` less ``before``, if the claim holds.
    margin : float
        What the difference is compared with, as a share of ``before``.
    """

    claim: str
    case: str
    measure: str
    before: Method
    after: Method
    sign: int
    margin: float = 0.0


@dataclass(frozen=True)
class Finding:
    """A comparison and what the records say.

    Attributes
    ----------
    comparison : Comparison
    n : int
        Pairs of folds.
    before : float
        Mean of the first method over these folds.
    difference, low, high : float
        Mean difference and its interval.
    published : float or None
        The paper's difference, if these are its data and it reports both methods.
    """

    comparison: Comparison
    n: int
    before: float
    difference: float
    low: float
    high: float
    published: float | None = None

    @property
    def percent(self) -> float:
        """The difference in percent of the first method's mean; NaN where there is none."""
        return 100.0 * self.difference / self.before if self.before > 0 else float("nan")

    @property
    def verdict(self) -> str:
        """Return whether the claim holds, is reversed, or is not distinguishable from chance."""
        margin = self.comparison.margin * self.before
        if not (self.low > margin or self.high < margin):  # NaN too
            return UNCLEAR
        side = np.sign(self.difference - margin)
        return HOLDS if side == self.comparison.sign else REVERSED


def comparisons_of(study: str) -> list[Comparison]:
    """Return every comparison that the paper's claims about a study ask for, sorted by claim."""
    comparisons = [
        Comparison(
            claim, case, measure, before, after, sign, TOLERANCE * (claim == RAISES_SLIGHTLY)
        )
        for claims, case, before, after in _changes(study)
        for claim, measure, sign in claims
    ]
    order = list(dict.fromkeys(comparison.claim for comparison in comparisons))
    return sorted(comparisons, key=lambda comparison: order.index(comparison.claim))


def _changes(study: str) -> Iterator[tuple[Claims, str, Method, Method]]:
    """Return what is claimed of a change, where, and the methods before and after it."""
    learners = ("RLS", "KRLS") if study == BINARY else ("KRLS",)
    for with_s, learner in product((False, True), learners):
        plain = Method(study, learner, with_s, None)
        fair = replace(plain, epsilon=0.0)
        where = f"{learner}, {'with' if with_s else 'without'} s"
        yield CONSTRAINED, where, plain, fair
        for a, b in _steps(EPSILONS) if study == BINARY else ():
            ends = replace(fair, epsilon=a), replace(fair, epsilon=b)
            yield LARGER_EPSILON, f"{where}, ε̂ {a:g} → {b:g}", *ends
        for a, b in _steps(LABEL_BINS) if study == BINARY else ():
            ends = replace(fair, n_bins=int(a)), replace(fair, n_bins=int(b))
            yield MORE_BINS, f"{where}, K {a:g} → {b:g}", *ends
        if not with_s:
            for method in (replace(plain, naive=True), plain, fair):
                yield S_AS_FEATURE, method.name, method, replace(method, with_s=True)


def check_claims(records: Sequence[Record]) -> list[Finding]:
    """Test the paper's claims about a study, in the order of `comparisons_of`.

    Parameters
    ----------
    records : sequence of dict
        Those of one study on one data set. Comparisons of methods that are not in them, or of a
        measure that is not, are left out.
    """
    if not records:
        return []
    found = [_test(comparison, records) for comparison in comparisons_of(records[0]["study"])]
    return [finding for finding in found if finding is not None]


def corrected_interval(
    differences: Array, test_share: float, level: float = LEVEL
) -> tuple[float, float]:
    """Return the corrected resampled t interval of a mean of differences between folds.

    Parameters
    ----------
    differences : array of shape (n,)
    test_share : float
        n_test / n_train of a fold.
    level : float, default=0.95

    Returns
    -------
    low, high : float
        The whole line if there are fewer than two differences.
    """
    n = differences.size
    if n < 2:
        return -np.inf, np.inf
    width = corrected_error(differences, test_share) * student.ppf((1 + level) / 2, n - 1)
    return float(differences.mean() - width), float(differences.mean() + width)


def corrected_error(differences: Array, test_share: float) -> float:
    """Return the standard error of a mean of differences between folds that share training rows."""
    return float(np.sqrt((1 / differences.size + test_share) * differences.var(ddof=1)))


def published(method: Method, measure: str) -> float | None:
    """Return what the paper reports of a method for CRIME; None if it does not."""
    values = _PUBLISHED.get(method)
    return None if values is None else values.get(measure)


def _test(comparison: Comparison, records: Sequence[Record]) -> Finding | None:
    pairs, shares = [], []
    for record in records:
        pair = [
            _value(record, method.key, comparison.measure)
            for method in (comparison.before, comparison.after)
        ]
        if None not in pair:
            pairs.append(pair)
            shares.append(record["n_test"] / record["n_train"])
    if not pairs:
        return None
    before, after = np.array(pairs, dtype=float).T
    low, high = corrected_interval(after - before, float(np.mean(shares)))
    difference, reported = float(np.mean(after - before)), None
    if records[0]["data"] == PAPERS_DATA:
        ends = [published(m, comparison.measure) for m in (comparison.before, comparison.after)]
        reported = None if ends[0] is None or ends[1] is None else ends[1] - ends[0]
    return Finding(comparison, len(pairs), float(before.mean()), difference, low, high, reported)


def _value(record: Record, key: str, measure: str) -> float | None:
    model = record["models"].get(key)
    if model is None:
        return None
    value: float | None = _READ[measure](model)
    return value


def _beyond_chance(model: Record, average: str) -> float | None:
    seen, chance = model["dgf"].get(average), model["chance"][average]["mean"]
    return None if seen is None or chance is None else seen - chance


def _steps(values: Sequence[float]) -> list[tuple[float, float]]:
    """Return each step, and the one from the first to the last."""
    return [*pairwise(values), (values[0], values[-1])]


_READ: dict[str, Callable[[Record], Any]] = {
    ERROR: lambda model: model["error"],
    DGF: lambda model: model["dgf"].get(COMPARED),
    WEIGHTED_DGF: lambda model: model["dgf"].get("weighted"),
    USUAL_DGF: lambda model: usual_dgf(model).get(COMPARED),
    BEYOND: lambda model: _beyond_chance(model, COMPARED),
    WEIGHTED_BEYOND: lambda model: _beyond_chance(model, "weighted"),
    GAP: lambda model: model.get("gap"),
}
_PUBLISHED = {
    row.method: {ERROR: row.crime[0].mean, DGF: row.crime[1].mean}
    for table in TABLES.values()
    if len(table.columns) == 2
    for row in table.rows
}
