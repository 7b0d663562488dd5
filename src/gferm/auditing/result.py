"""The result of an audit: its numbers, what they say, and every way to look at them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gferm.auditing.page_data import audit_frontier, data_of_page
from gferm.auditing.presentation import as_html, as_rich, as_text
from gferm.auditing.records import Findings, Statement
from gferm.auditing.verdict import write_verdict
from gferm.json_ready import json_ready

if TYPE_CHECKING:
    from os import PathLike

    from gferm.estimators.frontier import Frontier


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Findings):
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

    @cached_property
    def verdict(self) -> tuple[Statement, ...]:
        """What the figures say, in sentences, with how sure that is."""
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
        from gferm.report import write_page

        stops = [] if frontier is None else audit_frontier(self, frontier, X, verbose=verbose)
        write_page(data_of_page(self, self.to_dict(), stops, title=title), path)

    def __str__(self) -> str:
        return as_text(self, self.verdict)

    def __rich__(self) -> Any:
        return as_rich(self, self.verdict)

    def _repr_html_(self) -> str:
        return as_html(self, self.verdict)
