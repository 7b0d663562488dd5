"""What an audit finds, as plain frozen numbers with their counts, intervals and chance."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from gferm.fairness.fairness_losses import FairnessLoss, fairness_loss
from gferm.metrics.reading import PredictedRows

LEAST = {"n_boot": 0, "n_permutations": 0, "min_cell_size": 1, "small_cell_size": 1}


@dataclass(frozen=True)
class AuditParameters:
    """How to audit, checked; see `audit`."""

    intersectional: bool
    loss: str | FairnessLoss
    min_cell_size: int
    small_cell_size: int
    n_boot: int
    ci_quantiles: tuple[float, ...]
    n_permutations: int
    random_state: Any = field(repr=False)

    def __post_init__(self) -> None:
        for name, least in LEAST.items():
            count = getattr(self, name)
            if not isinstance(count, Integral) or isinstance(count, bool) or count < least:
                raise ValueError(f"{name}={count!r} must be an integer of at least {least}.")
        if not isinstance(self.intersectional, (bool, np.bool_)):
            raise ValueError(f"intersectional={self.intersectional!r} must be True or False.")
        fairness_loss(self.loss)  # unknown names are refused even where no loss is needed

    def begin_random_numbers(self) -> np.random.Generator:
        """Return the generator of all draws."""
        return np.random.default_rng(check_random_state(self.random_state).randint(2**31))

    @property
    def settings(self) -> dict[str, Any]:
        """The parameters as plain values; a loss of one's own by its name."""
        found = asdict(self) | {"loss": getattr(self.loss, "__name__", str(self.loss))}
        found.pop("random_state")
        return found


@dataclass(frozen=True)
class Chance:
    """What shuffled groups give, who differ by nothing but chance.

    Attributes
    ----------
    mean, high : float
        The mean of the shuffles, and what 95 % of them stay below.
    p : float
        The share of shuffles that reach the figure seen, which is one of them itself.
    shuffled : str
        "within label bins" or "among everybody".
    """

    mean: float
    high: float
    p: float
    shuffled: str


@dataclass(frozen=True)
class Figure:
    """One figure of an audit.

    Attributes
    ----------
    name, title, meaning, unit : str
    value : float
        NaN where nothing can be compared.
    interval : tuple of float or None
        Its bootstrap quantiles, as ``ci_quantiles`` asks for them.
    chance : Chance or None
    """

    name: str
    title: str
    meaning: str
    unit: str
    value: float
    interval: tuple[float, ...] | None
    chance: Chance | None


@dataclass(frozen=True)
class Cell:
    """One cell, or one whole group where ``label_bin`` is None.

    Attributes
    ----------
    attribute, group : str
    label_bin : str or None
    count : int
    note : str
        "empty", "small" or "".
    label, prediction, residual, error, loss, rate : float or None
        Means of the cell; None where they do not exist.
    rate_interval, prediction_interval : tuple of float or None
        Wilson's and bootstrap quantiles.
    """

    attribute: str
    label_bin: str | None
    group: str
    count: int
    note: str
    label: float | None = None
    prediction: float | None = None
    residual: float | None = None
    error: float | None = None
    loss: float | None = None
    rate: float | None = None
    rate_interval: tuple[float, ...] | None = None
    prediction_interval: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Gap:
    """The difference of two cells of one label bin, the first group minus the second.

    Attributes
    ----------
    kind : {"rate", "prediction", "residual", "error"}
    attribute, label_bin : str
    groups : tuple of str
    counts : tuple of int
    value : float
    low, high : float
        Its interval; NaN where a cell has one row, whose mean nobody knows how well it is known.
    null_low, null_high : float
        Where 95 % of shuffles lie.
    small : bool
        Whether one of the cells is small.
    """

    kind: str
    attribute: str
    label_bin: str
    groups: tuple[str, str]
    counts: tuple[int, int]
    value: float
    low: float
    high: float
    null_low: float
    null_high: float
    small: bool

    @property
    def beyond_chance(self) -> bool:
        """Whether it lies outside of 95 % of the shuffles."""
        return not np.isnan(self.null_low) and not self.null_low <= self.value <= self.null_high


@dataclass(frozen=True)
class Statement:
    """A sentence of the verdict, and how to take it: "fact", "fair", "unfair" or "caution"."""

    kind: str
    text: str


@dataclass(frozen=True, eq=False, repr=False)
class Findings:
    """The numbers of an audit; `Audit` says what each of them is."""

    rows: PredictedRows
    parameters: AuditParameters
    task: str
    positive: str | None
    figures: dict[str, Figure]
    cells: tuple[Cell, ...]
    groups: tuple[Cell, ...]
    all_gaps: tuple[Gap, ...]

    @property
    def n_rows(self) -> int:
        """Rows with a positive weight."""
        return int(self.rows.y.size)

    @property
    def outside(self) -> int:
        """Labels and groups that lie in no bin; their rows are in no cell."""
        return self.rows.membership.n_outside

    @property
    def settings(self) -> dict[str, Any]:
        """How `audit` was called, as plain values."""
        return self.parameters.settings | {"weighted": self.rows.weight is not None}

    @property
    def attributes(self) -> tuple[str, ...]:
        """What was compared by groups, a partition each."""
        return tuple(part.name for part in self.rows.cells.partitions)

    @property
    def continuous(self) -> tuple[str, ...]:
        """What was compared by covariance."""
        return self.rows.cells.scores

    @property
    def label_bins(self) -> tuple[str, ...]:
        """The bins of the label."""
        return self.rows.cells.label_bins.labels

    @property
    def empty(self) -> tuple[Cell, ...]:
        """Cells without a row: nothing is known about them."""
        return tuple(cell for cell in self.cells if cell.note == "empty")

    @property
    def small(self) -> tuple[Cell, ...]:
        """Cells with few rows: what they show is mostly noise."""
        return tuple(cell for cell in self.cells if cell.note == "small")

    def gaps(self, kind: str = "rate") -> tuple[Gap, ...]:
        """Return every compared pair of cells by "rate", "prediction", "residual" or "error".

        Raises
        ------
        ValueError
            If there are no such gaps.
        """
        kinds = list(dict.fromkeys(gap.kind for gap in self.all_gaps))
        if kind not in kinds:
            has = f"has gaps of {kinds}; ask for one of these" if kinds else "compared no cells"
            raise ValueError(f"kind={kind!r}: this audit {has}.")
        return tuple(gap for gap in self.all_gaps if gap.kind == kind)

    def to_frame(self, what: str = "cells") -> Any:
        """Return a tidy pandas DataFrame.

        Parameters
        ----------
        what : {"cells", "groups", "figures", "gaps"}, default="cells"
        """
        import pandas as pd

        tables: dict[str, tuple[type[Any], tuple[Any, ...]]] = {
            "cells": (Cell, self.cells),
            "groups": (Cell, self.groups),
            "figures": (Figure, tuple(self.figures.values())),
            "gaps": (Gap, self.all_gaps),
        }
        if what not in tables:
            raise ValueError(f"what={what!r} is unknown; use one of {list(tables)}.")
        levels = self.parameters.ci_quantiles
        record, rows = tables[what]
        columns = list(_spread_over_columns({one.name: None for one in fields(record)}, levels))
        flat = [_spread_over_columns(asdict(row), levels) for row in rows]
        return pd.DataFrame(flat, columns=columns)

    def __repr__(self) -> str:
        return f"<Audit of {self.n_rows} rows: {', '.join(self.attributes + self.continuous)}>"


def _spread_over_columns(row: dict[str, Any], levels: tuple[float, ...]) -> dict[str, Any]:
    """Return a record with its pairs and nested records in columns of their own."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if name == "chance":
            found = value or dict.fromkeys(one.name for one in fields(Chance))
            flat |= {f"{name}_{key}": one for key, one in found.items()}
        elif name.endswith("interval"):
            stem = name.removesuffix("interval")
            found = value or (float("nan"),) * len(levels)
            flat |= {f"{stem}q{level:g}": one for level, one in zip(levels, found, strict=True)}
        elif name in ("groups", "counts"):
            names = ("group", "other") if name == "groups" else ("count", "other_count")
            flat |= dict(zip(names, value or (None, None), strict=True))
        else:
            flat[name] = value
    return flat
