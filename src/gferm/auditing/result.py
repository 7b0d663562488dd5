"""What an audit found: plain, frozen numbers with their counts, intervals and chance."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gferm.json_ready import json_ready

if TYPE_CHECKING:
    from os import PathLike

    from gferm.auditing.audit import AuditParameters
    from gferm.estimators.frontier import Frontier
    from gferm.metrics.reading import PredictedRows


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


@dataclass(frozen=True, eq=False)
class Audit:
    """How a predictor treats groups: make one with `gferm.audit`.

    Attributes
    ----------
    rows : PredictedRows
        The rows that were audited.
    parameters : AuditParameters
        How `audit` was called.
    task : {"numbers", "classes"}
    positive : str or None
        Which of two classes counts as 1.
    figures : dict of Figure
        By name, such as "dgf" or "mean_gap".
    cells, groups : tuples of Cell
    all_gaps : tuple of Gap
        Of every kind; see `gaps`.

    Examples
    --------
    >>> import gferm
    >>> X, y, s = gferm.datasets.make_fair_regression(500, random_state=0, return_X_y=True)
    >>> model = gferm.FairRegressor(epsilon=None).fit(X, y)
    >>> found = gferm.audit(y, model.predict(X), sensitive_features=s, y_bins=3)
    >>> figure = found.figures["mean_gap"]
    >>> bool(figure.interval[0] < figure.value < figure.interval[1])
    True
    """

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

    @cached_property
    def verdict(self) -> tuple[Statement, ...]:
        """What the figures say, in sentences, with how sure that is."""
        from gferm.auditing.verdict import write_verdict

        return tuple(write_verdict(self))

    @property
    def is_unfair(self) -> bool:
        """Whether the verdict is that groups with equal outcomes are treated differently.

        Raises
        ------
        ValueError
            If these rows and settings cannot tell, which must not read as fair.
        """
        answer = self.verdict[0]
        if answer.kind not in ("fair", "unfair"):
            raise ValueError(f"Whether it is unfair is not known. {answer.text}")
        return answer.kind == "unfair"

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

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python objects, ready for JSON: None stands for NaN."""
        parts = {
            name: getattr(self, name)
            for name in ("task", "positive", "n_rows", "outside", "settings")
        }
        for name in ("attributes", "continuous", "label_bins"):
            parts[name] = list(getattr(self, name))
        parts["figures"] = {name: asdict(figure) for name, figure in self.figures.items()}
        for name, rows in (("cells", self.cells), ("groups", self.groups), ("gaps", self.all_gaps)):
            parts[name] = [asdict(row) for row in rows]
        parts["verdict"] = [asdict(statement) for statement in self.verdict]
        found: dict[str, Any] = json_ready(parts)
        return found

    def to_json(self, *, indent: int | None = 2) -> str:
        """Write `to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)

    def report(
        self,
        path: str | PathLike[str],
        *,
        frontier: Frontier | None = None,
        X: Any = None,
        title: str | None = None,
        verbose: bool = False,
    ) -> None:
        """Write a page that explains it all: one HTML file, which needs nothing else.

        Parameters
        ----------
        path : str or path
        frontier : Frontier, default=None
            Fair models to compare with, best learned on other rows: what fairness would cost.
        X : array of shape (n_samples, n_features), default=None
            The audited rows as the frontier's models take them, in the order of the audit.
        title : str, default=None
        verbose : bool, default=False
            Whether to show a progress bar.
        """
        from gferm.auditing.page_data import audit_frontier, data_of_page
        from gferm.report import write_page

        stops = [] if frontier is None else audit_frontier(self, frontier, X, verbose=verbose)
        write_page(data_of_page(self, stops, title=title), path)

    def __str__(self) -> str:
        from gferm.auditing.presentation import as_text

        return as_text(self)

    def __repr__(self) -> str:
        return f"<Audit of {self.n_rows} rows: {', '.join(self.attributes + self.continuous)}>"

    def __rich__(self) -> Any:
        from gferm.auditing.presentation import as_rich

        return as_rich(self)

    def _repr_html_(self) -> str:
        from gferm.auditing.presentation import as_html

        return as_html(self)


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
