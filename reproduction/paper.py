"""The experiments of the paper as data: settings, methods and published numbers.

L. Oneto, M. Donini, M. Pontil, General Fair Empirical Risk Minimization. Its sensitive attribute is
binary (four tables and the figure) or continuous in five bins (one table): two studies. Four
readings are needed: "MAPE" is 100·MAE with labels in [0, 1] (labels of 0 make the literal formula
infinite); epsilon is {0, 0.005, 0.01} as in the table, not {0, 0.005, 0.001} as in the text, and
bounds the mean gap of a pair of groups; and DGF is the mean over all label bins and pairs of
groups, those without rows counting 0, which is nearest to the numbers of the first table.

This file computes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from gferm.metrics.chance import ALL_BINS

LAMBDAS = tuple(10.0 ** (j / 2) for j in range(-8, 9))
GAMMAS = tuple(10.0**j for j in range(-4, 5))
EPSILONS = (0.0, 0.005, 0.01)
LABEL_BINS = (5, 10, 20)
USUAL_BINS = 10
COMPARED = ALL_BINS  # the average of the DGF that is chosen by, reported and compared
N_PERMUTATIONS = 1000  # shuffles of the groups behind a chance and a p …
N_ALONG = 100  # … and behind the chance of a point of a frontier, of which a mean is drawn
FOLDS = 10  # of the outer and of the inner cross-validation
REPEATS = 30
SHARES = tuple(1 - j / 20 for j in range(21))  # of the plain model's gap: points of the frontier
TOLERANCE = 0.1  # the shortlist of the NVP: errors up to best / 0.9

BINARY, CONTINUOUS = "binary", "continuous"
PAPERS_DATA = "crime"  # those of its two that are public
DATA_NAMES = {PAPERS_DATA: "Communities and Crime", "pupils": "School pupils"}
KERNELS = {"RLS": "linear", "KRLS": "rbf"}


@dataclass(frozen=True)
class Method:
    """A learner and the way its hyperparameters are chosen.

    Attributes
    ----------
    study : {"binary", "continuous"}
        The sensitive attribute.
    learner : {"RLS", "KRLS"}
    with_s : bool
        Whether the sensitive attribute is a feature.
    epsilon : float or None
        None for the plain learner.
    naive : bool
        Whether the lowest inner error decides, else the NVP.
    n_bins : int
        K, of the constraint and of the DGF.
    epsilon_scale : {"mean", "sum"}
        Whether epsilon bounds the mean gap, or the sum over all bins and ordered pairs.
    """

    study: str
    learner: str
    with_s: bool
    epsilon: float | None
    naive: bool = False
    n_bins: int = USUAL_BINS
    epsilon_scale: str = "mean"

    @property
    def name(self) -> str:
        """The paper's name: "NVM Fair KRLS"."""
        validation, fair = "Naive" if self.naive else "NVM", "" if self.epsilon is None else "Fair "
        return f"{validation} {fair}{self.learner}"

    @property
    def key(self) -> str:
        """The name in records: all that tells it from the others of its study."""
        parts = [self.name, "with s" if self.with_s else "without s"]
        if self.n_bins != USUAL_BINS:
            parts.append(f"K={self.n_bins}")
        if self.epsilon:
            parts.append(f"epsilon={self.epsilon:g}" + " sum" * (self.epsilon_scale == "sum"))
        return ", ".join(parts)


def methods_of(study: str) -> tuple[Method, ...]:
    """Return every method of a study: those of the tables, and a few for comparison."""
    found: list[Method] = []
    for with_s in (False, True):
        for learner in ("RLS", "KRLS") if study == BINARY else ("KRLS",):
            plain = Method(study, learner, with_s, None)
            fair = replace(plain, epsilon=0.0)
            found += [replace(plain, naive=True), plain, replace(fair, naive=True), fair]
            if study == BINARY:
                for scale in ("mean", "sum"):
                    found += [replace(fair, epsilon=e, epsilon_scale=scale) for e in EPSILONS if e]
                found += [replace(fair, n_bins=K) for K in LABEL_BINS if K != USUAL_BINS]
    return tuple(found)


@dataclass(frozen=True)
class Value:
    """A published mean, with its standard deviation where there is one."""

    mean: float
    std: float | None = None


Pair: TypeAlias = tuple[Value, Value]  # error and DGF


@dataclass(frozen=True)
class Row:
    """A line of a table: what was learned, and what the paper reports for CRIME and for UNIGE.

    ``crime`` and ``unige`` hold error and DGF; in the table of Δ̂ its only value.
    """

    method: Method
    crime: tuple[Value, ...]
    unige: tuple[Value, ...]


@dataclass(frozen=True)
class Table:
    """A table of the paper."""

    target: str
    study: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def _with_deviations(*numbers: float) -> tuple[Pair, Pair]:
    """Read error, ±, DGF, ± of CRIME and then of UNIGE."""
    values = [Value(m, d) for m, d in zip(numbers[::2], numbers[1::2], strict=True)]
    return (values[0], values[1]), (values[2], values[3])


def _varying(
    with_s: bool, learner: str, changes: list[dict[str, Any]], crime: str, unige: str
) -> list[Row]:
    """Read error and DGF for one value of the parameter after another."""
    fair = Method(BINARY, learner, with_s, 0.0)
    pairs = []
    for text in (crime, unige):
        numbers = [Value(float(word)) for word in text.split()]
        pairs.append(list(zip(numbers[::2], numbers[1::2], strict=True)))
    methods = [replace(fair, **change) for change in changes]
    return [Row(*parts) for parts in zip(methods, *pairs, strict=True)]


_PLAIN_TO_FAIR: tuple[dict[str, Any], ...] = (
    {"epsilon": None, "naive": True},
    {"epsilon": None, "naive": False},
    {"epsilon": 0.0, "naive": False},
)
_RESULTS = {  # with s, learner: Naive, NVM and NVM Fair
    (False, "RLS"): (
        _with_deviations(9.1, 0.5, 0.19, 0.06, 21.2, 1.8, 0.29, 0.08),
        _with_deviations(10.2, 0.8, 0.16, 0.05, 23.4, 1.9, 0.23, 0.09),
        _with_deviations(10.5, 1.0, 0.11, 0.04, 24.2, 1.9, 0.15, 0.09),
    ),
    (False, "KRLS"): (
        _with_deviations(8.7, 0.4, 0.18, 0.05, 12.2, 0.8, 0.19, 0.05),
        _with_deviations(8.9, 0.7, 0.17, 0.05, 13.7, 1.1, 0.12, 0.05),
        _with_deviations(9.0, 0.7, 0.11, 0.04, 14.1, 1.2, 0.06, 0.03),
    ),
    (True, "RLS"): (
        _with_deviations(9.1, 0.6, 0.20, 0.05, 19.7, 1.7, 0.33, 0.11),
        _with_deviations(9.5, 0.6, 0.18, 0.05, 21.9, 1.9, 0.28, 0.09),
        _with_deviations(9.5, 0.7, 0.12, 0.03, 21.8, 1.8, 0.19, 0.10),
    ),
    (True, "KRLS"): (
        _with_deviations(8.5, 0.6, 0.19, 0.04, 11.5, 0.8, 0.21, 0.06),
        _with_deviations(8.6, 0.6, 0.18, 0.05, 12.6, 0.9, 0.13, 0.05),
        _with_deviations(8.7, 0.7, 0.12, 0.04, 12.9, 0.9, 0.07, 0.03),
    ),
}
_DELTA = {  # with s, learner: CRIME, UNIGE
    (False, "RLS"): (0.03, 0.02),
    (False, "KRLS"): (0.03, 0.03),
    (True, "RLS"): (0.04, 0.03),
    (True, "KRLS"): (0.03, 0.03),
}
_BY_EPSILON = [{"epsilon": epsilon} for epsilon in EPSILONS]
_BY_BINS = [{"n_bins": K} for K in LABEL_BINS]
_CONTINUOUS = {  # with s: NVM KRLS and NVM Fair KRLS
    False: (
        _with_deviations(8.9, 0.7, 0.17, 0.05, 15.9, 1.3, 0.16, 0.06),
        _with_deviations(10.5, 0.8, 0.05, 0.02, 17.8, 1.4, 0.04, 0.02),
    ),
    True: (
        _with_deviations(8.6, 0.6, 0.18, 0.05, 14.5, 1.3, 0.19, 0.07),
        _with_deviations(10.1, 0.8, 0.06, 0.03, 16.2, 1.4, 0.05, 0.02),
    ),
}

TABLES = {
    table.target: table
    for table in (
        Table(
            target="table-results",
            study=BINARY,
            title="Results with ε̂ = 0 and K = 10",
            columns=("error", "DGF"),
            rows=tuple(
                Row(replace(Method(BINARY, learner, with_s, None), **change), *values)
                for (with_s, learner), published in _RESULTS.items()
                for change, values in zip(_PLAIN_TO_FAIR, published, strict=True)
            ),
        ),
        Table(
            target="table-delta",
            study=BINARY,
            title="Δ̂ with ε̂ = 0 and K = 10",
            columns=("Δ̂",),
            rows=tuple(
                Row(Method(BINARY, learner, with_s, 0.0), (Value(crime),), (Value(unige),))
                for (with_s, learner), (crime, unige) in _DELTA.items()
            ),
        ),
        Table(
            target="table-epsilon",
            study=BINARY,
            title="Results varying ε̂ with K = 10",
            columns=("error", "DGF"),
            rows=(
                *_varying(
                    False,
                    "RLS",
                    _BY_EPSILON,
                    crime="10.5 0.11  10.3 0.14  10.2 0.16",
                    unige="24.2 0.15  23.7 0.19  23.4 0.23",
                ),
                *_varying(
                    False,
                    "KRLS",
                    _BY_EPSILON,
                    crime="9.0 0.11  8.9 0.14  8.9 0.17",
                    unige="14.1 0.06  13.9 0.09  13.7 0.12",
                ),
                *_varying(
                    True,
                    "RLS",
                    _BY_EPSILON,
                    crime="9.5 0.12  9.5 0.16  9.5 0.18",
                    unige="21.8 0.19  21.8 0.24  21.9 0.28",
                ),
                *_varying(
                    True,
                    "KRLS",
                    _BY_EPSILON,
                    crime="8.7 0.12  8.6 0.17  8.6 0.18",
                    unige="12.9 0.07  12.7 0.09  12.6 0.13",
                ),
            ),
        ),
        Table(
            target="table-bins",
            study=BINARY,
            title="Results varying K with ε̂ = 0",
            columns=("error", "DGF"),
            rows=(
                # UNIGE at K = 5 without s is printed as .019 and .010; 0.19 and 0.10 may be meant
                *_varying(
                    False,
                    "RLS",
                    _BY_BINS,
                    crime="10.4 0.13  10.5 0.11  15.5 0.05",
                    unige="23.6 0.019  24.2 0.15  35.7 0.06",
                ),
                *_varying(
                    False,
                    "KRLS",
                    _BY_BINS,
                    crime="9.0 0.14  9.0 0.11  14.8 0.04",
                    unige="13.7 0.010  14.1 0.06  22.4 0.03",
                ),
                *_varying(
                    True,
                    "RLS",
                    _BY_BINS,
                    crime="9.5 0.16  9.5 0.12  13.8 0.05",
                    unige="21.8 0.25  21.8 0.19  33.9 0.09",
                ),
                *_varying(
                    True,
                    "KRLS",
                    _BY_BINS,
                    crime="8.7 0.15  8.7 0.12  13.7 0.04",
                    unige="12.8 0.11  12.9 0.07  21.8 0.03",
                ),
            ),
        ),
        Table(
            target="table-continuous",
            study=CONTINUOUS,
            title="Results with ε̂ = 0, K = 10 and Q = 5",
            columns=("error", "DGF"),
            rows=tuple(
                Row(Method(CONTINUOUS, "KRLS", with_s, epsilon), *values)
                for with_s, published in _CONTINUOUS.items()
                for epsilon, values in zip((None, 0.0), published, strict=True)
            ),
        ),
    )
}
FIGURE, ALL = "figure-histogram", "all"
TARGETS = (*TABLES, FIGURE, ALL)
FIGURE_METHODS = tuple(Method(BINARY, "KRLS", False, epsilon) for epsilon in (None, 0.0))
