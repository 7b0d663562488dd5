"""Bins: how the values of a label or of a sensitive attribute are grouped.

The paper prescribes edges t_1 < … < t_{K+1} for the label and σ_1 < … < σ_{Q+1} for the sensitive
attribute; points in the same bin are regarded as indistinguishable. Bins are half-open,
[t_k, t_{k+1}), and the last one is closed so that the largest value belongs somewhere.

A specification (a number, edges, a word or a ``Bins``) becomes bins in two steps:
``as_bins(spec)`` reads the specification, ``bins.resolve(values)`` settles whatever depends on the
data. Resolved bins only ever ``assign`` codes; −1 stands for "in no bin".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gferm.arrays import Array, Codes
from gferm.exceptions import NothingToCompareError

MAX_AUTO_CATEGORIES = 10
AUTO_QUANTILES = 5


def uniform_edges(low: float, high: float, n_bins: int) -> tuple[float, ...]:
    """Return the edges of ``n_bins`` bins of equal width.

    Exact arithmetic on the decimals of ``low`` and ``high`` makes them the doubles nearest to the
    decimals, 0.3 and not 0.30000000000000004, so a label written 0.3 in a file falls into the bin
    that it opens.
    """
    start, end = Fraction(str(low)), Fraction(str(high))
    return tuple(float(start + k * (end - start) / n_bins) for k in range(n_bins + 1))


class Bins(ABC):
    """Groups of values; make one with `uniform`, `quantile`, `edges` or `categories`.

    Examples
    --------
    >>> from gferm import Bins
    >>> Bins.uniform(0, 1, 4).labels
    ('[0, 0.25)', '[0.25, 0.5)', '[0.5, 0.75)', '[0.75, 1]')
    >>> Bins.categories(["a", "b"]).assign(["b", "a", "c"])
    array([ 1,  0, -1])
    """

    #: True for bins that stand for "no bins at all": the limit S_Q = S of the paper
    continuous: ClassVar[bool] = False
    #: True when the user named the bins, False when they were derived from data
    explicit: ClassVar[bool] = True
    #: True when a label outside the bins was left out on purpose (classes), not by a slip (edges)
    selective: ClassVar[bool] = False

    @staticmethod
    def uniform(lo: float, hi: float, n: int) -> EdgeBins:
        """Return ``n`` bins of equal width from ``lo`` to ``hi``."""
        _check_count(n, "Bins.uniform")
        if not (np.isfinite(lo) and np.isfinite(hi) and lo < hi):
            raise ValueError(f"Bins.uniform needs finite lo < hi, got lo={lo!r}, hi={hi!r}.")
        return EdgeBins(uniform_edges(float(lo), float(hi), int(n)))

    @staticmethod
    def quantile(n: int) -> QuantileBins:
        """Return ``n`` bins with (nearly) equal numbers of rows; open at both ends."""
        _check_count(n, "Bins.quantile")
        return QuantileBins(int(n))

    @staticmethod
    def edges(edges: Sequence[float]) -> EdgeBins:
        """Return the bins between increasing ``edges``; the outer ones may be infinite."""
        return EdgeBins(tuple(float(e) for e in edges))

    @staticmethod
    def categories(levels: Sequence[Hashable]) -> CategoryBins:
        """Return one bin for each of ``levels``."""
        return CategoryBins(tuple(levels))

    @abstractmethod
    def resolve(self, values: npt.NDArray[Any], weight: Array | None, name: str) -> Bins:
        """Settle what depends on the data; ``name`` is the argument that errors speak of."""

    @abstractmethod
    def assign(self, values: npt.ArrayLike) -> Codes:
        """Return the bin of each value, −1 where there is none."""

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """A printable name for each bin."""

    @property
    def drifts(self) -> bool:
        """Whether rows unlike those that the bins were read off go anywhere, without an error."""
        return False

    @property
    def holds_everything(self) -> bool:
        """Whether there is one bin, in which every number lies."""
        return False

    @property
    def n_bins(self) -> int:
        """How many bins there are."""
        return len(self.labels)


@dataclass(frozen=True)
class EdgeBins(Bins):
    """Bins between increasing boundaries."""

    boundaries: tuple[float, ...]

    def __post_init__(self) -> None:
        edges = np.asarray(self.boundaries, dtype=float)
        if edges.ndim != 1 or edges.size < 2:
            raise ValueError(
                f"Bin edges must be at least two numbers, got {list(self.boundaries)!r}; "
                "n bins have n + 1 edges."
            )
        if np.isnan(edges).any() or not (np.diff(edges) > 0).all():
            raise ValueError(
                f"Bin edges must be strictly increasing numbers, got {list(self.boundaries)!r}; "
                "sort them and remove duplicates."
            )

    def resolve(self, values: npt.NDArray[Any], weight: Array | None, name: str) -> EdgeBins:
        _require_numbers(values, name, "edges")
        return self

    def assign(self, values: npt.ArrayLike) -> Codes:
        edges = np.asarray(self.boundaries)
        x = np.asarray(values, dtype=float)
        codes = np.searchsorted(edges, x, side="right")  # NaN is beyond the last edge
        codes -= 1  # in place, as all of this: new memory costs more than the work
        codes[x == edges[-1]] = edges.size - 2  # the last bin is closed
        codes[codes >= edges.size - 1] = -1
        return codes

    @property
    def holds_everything(self) -> bool:
        return self.boundaries == (-np.inf, np.inf)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        edges = _written_apart(self.boundaries)
        names = [f"[{lo}, {hi})" for lo, hi in pairwise(edges)]
        names[-1] = names[-1][:-1] + "]"
        if self.boundaries[0] == -np.inf:
            names[0] = f"< {edges[1]}"
        if self.boundaries[-1] == np.inf:
            names[-1] = f"≥ {edges[-2]}"
        return ("all",) if self.holds_everything else tuple(names)


@dataclass(frozen=True)
class DerivedEdgeBins(EdgeBins):
    """Edges that were read off data rather than named by the user."""

    explicit: ClassVar[bool] = False

    @property
    def drifts(self) -> bool:
        return bool(np.isinf(self.boundaries).any())


@dataclass(frozen=True)
class CategoryBins(Bins):
    """One bin for each level."""

    selective: ClassVar[bool] = True
    levels: tuple[Hashable, ...]

    def __post_init__(self) -> None:
        if not self.levels:
            raise ValueError("Bins.categories needs at least one level.")
        if len(set(self.levels)) < len(self.levels):
            raise ValueError(f"Bins.categories got a level twice: {list(self.levels)!r}.")

    def resolve(self, values: npt.NDArray[Any], weight: Array | None, name: str) -> CategoryBins:
        return self

    def assign(self, values: npt.ArrayLike) -> Codes:
        x = np.asarray(values)
        codes = np.full(x.shape, -1, dtype=np.intp)
        if x.dtype.kind in "OUST":  # hashing visits each value once, comparing visits it Q times
            place = {level: q for q, level in enumerate(self.levels)}
            codes.ravel()[:] = [place.get(value, -1) for value in x.ravel().tolist()]
        else:
            for q, level in enumerate(self.levels):
                codes[x == level] = q
        return codes

    @cached_property
    def labels(self) -> tuple[str, ...]:
        # a column of 0 and 1 that once had gaps holds 0.0 and 1.0
        return tuple(
            str(level).removesuffix(".0") if isinstance(level, float) else str(level)
            for level in self.levels
        )


@dataclass(frozen=True)
class OneBin(Bins):
    """Everybody, whatever the values are."""

    explicit: ClassVar[bool] = False

    def resolve(self, values: npt.NDArray[Any], weight: Array | None, name: str) -> OneBin:
        return self

    def assign(self, values: npt.ArrayLike) -> Codes:
        return np.zeros(np.shape(values), dtype=np.intp)

    @property
    def holds_everything(self) -> bool:
        return True

    @property
    def labels(self) -> tuple[str, ...]:
        return ("all",)


@dataclass(frozen=True)
class DeferredBins(Bins):
    """A rule that makes bins once it sees data."""

    n: int

    def assign(self, values: npt.ArrayLike) -> Codes:
        raise TypeError(f"{self} depends on data: resolve it first.")

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(f"bin {k + 1} of {self.n}" for k in range(self.n))


class RangeBins(DeferredBins):
    """``n`` bins of equal width over the range of the data."""

    def resolve(self, values: npt.NDArray[Any], weight: Array | None, name: str) -> Bins:
        if self.n == 1:  # nothing to settle on the data
            return OneBin()
        _require_numbers(values, name, f"{self.n} uniform bins")
        lo, hi = float(np.min(values)), float(np.max(values))
        if not lo < hi:
            raise NothingToCompareError(
                f"{name} is constant (every value is {lo:g}), so {self.n} bins over its range do "
                "not exist; give the bins by their edges, or use a single one."
            )
        return DerivedEdgeBins(uniform_edges(lo, hi, self.n))


class QuantileBins(DeferredBins):
    """``n`` bins with equal numbers of rows, open at both ends."""

    def resolve(self, values: npt.NDArray[Any], weight: Array | None, name: str) -> Bins:
        _require_numbers(values, name, f"{self.n} quantile bins")
        levels, place = np.unique(values, return_inverse=True)
        rows = np.cumsum(np.bincount(place, weights=weight))
        # Ties cannot be split: of the cuts between neighbouring values, take the nearest.
        share_below = rows[:-1] / rows[-1]
        targets = np.arange(1, self.n) / self.n if levels.size > 1 else ()
        cuts = sorted({int(np.abs(share_below - target).argmin()) for target in targets})
        inner = levels[1:][cuts].astype(float)
        return DerivedEdgeBins((-np.inf, *inner.tolist(), np.inf))


class AutoBins(DeferredBins):
    """Categories for words or few values, else ``n`` quantile bins."""

    def resolve(self, values: npt.NDArray[Any], weight: Array | None, name: str) -> Bins:
        levels = np.unique(values)
        numeric = values.dtype.kind in "biuf"
        if numeric and levels.size > MAX_AUTO_CATEGORIES:
            return QuantileBins(self.n).resolve(values, weight, name)
        if levels.size > max(MAX_AUTO_CATEGORIES, values.size // 2):
            raise ValueError(
                f"{name} has {levels.size} different values in {values.size} rows: it looks like "
                "an identifier, or numbers stored as text. Convert it to numbers, or name the "
                "groups with Bins.categories([...])."
            )
        return CategoryBins(tuple(levels.tolist()))


@dataclass(frozen=True)
class NoBins(Bins):
    """The limit S_Q = S: the attribute itself, standardised, not its groups."""

    continuous: ClassVar[bool] = True
    center: float = 0.0
    spread: float = 1.0

    def resolve(self, values: npt.NDArray[Any], weight: Array | None, name: str) -> NoBins:
        _require_numbers(values, name, 's_bins="continuous"')
        x = np.asarray(values, dtype=float)
        center = float(np.average(x, weights=weight))
        spread = float(np.sqrt(np.average((x - center) ** 2, weights=weight)))
        if spread <= 1e-12 * np.abs(x).max():
            raise NothingToCompareError(
                f"{name} is constant (every value is {center:g}): there is nothing to compare. "
                "Check the column, or drop the constraint with epsilon=None."
            )
        return NoBins(center, spread)

    def assign(self, values: npt.ArrayLike) -> Codes:
        return np.zeros(np.shape(values), dtype=np.intp)

    def standardize(self, values: npt.ArrayLike) -> Array:
        """Express values in standard deviations from the mean, so gaps are in units of y."""
        scaled: Array = (np.asarray(values, float) - self.center) / self.spread
        return scaled

    @property
    def labels(self) -> tuple[str, ...]:
        return ("continuous",)


BinsLike = int | str | Sequence[float] | Bins

WORDS: Mapping[str, Bins] = {"auto": AutoBins(AUTO_QUANTILES), "continuous": NoBins()}


def as_bins(spec: BinsLike, name: str) -> Bins:
    """Read a specification of bins; ``name`` is the argument that errors speak of."""
    if isinstance(spec, Bins):
        return spec
    if isinstance(spec, str) and spec in WORDS:
        return WORDS[spec]
    if isinstance(spec, Integral):
        _check_count(spec, name)
        return RangeBins(int(spec))
    try:
        edges = np.asarray(spec, dtype=float)
    except (TypeError, ValueError):
        edges = np.empty(())
    if edges.ndim != 1:
        raise ValueError(
            f"{name}={spec!r} is not a way to make bins; use a number of bins, increasing edges, "
            f"one of {sorted(WORDS)}, or a gferm.Bins such as Bins.categories([...])."
        )
    try:
        return Bins.edges(edges.tolist())
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _check_count(n: object, name: str) -> None:
    if not isinstance(n, Integral) or isinstance(n, bool) or n < 1:
        raise ValueError(f"{name}: the number of bins must be an integer of at least 1, got {n!r}.")


def _written_apart(edges: Sequence[float]) -> list[str]:
    """Write numbers with six digits, or with as many more as it takes to tell them apart."""
    for digits in range(6, 18):
        names = [f"{edge:.{digits}g}" for edge in edges]
        if len(set(names)) == len(names):
            break
    return names


def _require_numbers(values: npt.NDArray[Any], name: str, what: str) -> None:
    if values.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} is not numeric, so {what} cannot be made from it; "
            "use Bins.categories([...]) to name its groups."
        )
