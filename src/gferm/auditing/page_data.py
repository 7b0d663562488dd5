"""What the page of an audit shows, as plain data: the audit itself, and the same along a frontier.

    Audit, Frontier → stops → dict → page (gferm.report)

The dict is the JSON that the page offers for download; the page computes nothing but positions.

Models of a frontier are linear in epsilon between its breakpoints, but rates and errors are not,
so the audit stops at every breakpoint and evenly between them. The same random numbers serve every
stop: curves are smooth, and two stops differ by their models alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from gferm.arrays import Array
from gferm.auditing.evidence import gather_evidence
from gferm.auditing.findings import find_figures
from gferm.auditing.measures import SHARE
from gferm.auditing.outcome import NUMBERS, read_outcome
from gferm.auditing.presentation import heading
from gferm.auditing.records import Figure, Findings
from gferm.json_ready import json_ready
from gferm.metrics.cell_values import CellValues
from gferm.printed.table import decimals
from gferm.progress import progress

if TYPE_CHECKING:
    from gferm.estimators.frontier import Frontier

N_EVENLY = 41  # stops at equal distances …
MOST_BREAKPOINTS = 60  # … and at this many breakpoints, if there are more
APART = 1e-3  # of the whole way: as near to a breakpoint, an even stop would show the same
N_DRAWS = 200  # at each stop, for its intervals and its chance

SHOWN = (  # in the table of before and after, and in this order on the cards
    "error",
    "dgf_weighted",
    "dgf",
    "equalized_odds_difference",
    "mean_gap",
    "residual_gap",
    "covariance",
    "mean_distance",
    "error_gap",
    "correlation",
)


@dataclass(frozen=True, eq=False)
class Stop:
    """One model of a frontier, audited.

    Attributes
    ----------
    epsilon : float
    is_breakpoint : bool
    price : float
        How much larger the training objective is than that of the plain model, as a share.
    figures : dict of Figure
    rates, predictions : tuples of arrays of shape (K, Q)
        Of each partition; NaN where a cell is empty.
    group_predictions : tuple of arrays of shape (Q,)
    """

    epsilon: float
    is_breakpoint: bool
    price: float
    figures: dict[str, Figure]
    rates: tuple[Array, ...]
    predictions: tuple[Array, ...]
    group_predictions: tuple[Array, ...]


def audit_frontier(
    audit: Findings, frontier: Frontier, X: Any, *, n_draws: int = N_DRAWS, verbose: bool = False
) -> list[Stop]:
    """Audit the models of a frontier on the rows of an audit, from the plain one to the fairest.

    Parameters
    ----------
    audit : Findings
        Of numbers; its rows, bins and settings are used again.
    frontier : Frontier
    X : array of shape (n_samples, n_features)
        The audited rows, in the order of the audit.
    n_draws : int, default=200
        Bootstrap draws and shuffles at each stop, if the audit has any.
    verbose : bool, default=False
        Whether to show a progress bar.
    """
    _require_same_rows(audit, X)
    epsilons, is_breakpoint = choose_stops(frontier)
    predictions = frontier.predict(X, epsilons)
    if audit.rows.kept is not None:
        predictions = predictions[:, audit.rows.kept]
    prices = frontier.objectives_at(epsilons) / frontier.objectives[0] - 1.0
    parameters = replace(
        audit.parameters,
        n_boot=min(n_draws, audit.parameters.n_boot),
        n_permutations=min(n_draws, audit.parameters.n_permutations),
    )

    def stop(place: int) -> Stop:
        rows = replace(audit.rows, predictions=predictions[place])
        evidence = gather_evidence(rows, read_outcome(rows, parameters.loss), parameters)
        return Stop(
            epsilon=float(epsilons[place]),
            is_breakpoint=bool(is_breakpoint[place]),
            price=float(prices[place]),
            figures={figure.name: figure for figure in find_figures(evidence)},
            rates=_tables(evidence.seen.cells.get("rate")),
            predictions=_tables(evidence.seen.cells.get("prediction")),
            group_predictions=tuple(
                table[0] for table in _tables(evidence.seen.groups.get("prediction"))
            ),
        )

    stops = []
    with progress(epsilons.size, "Auditing the frontier", show=verbose) as advance:
        for place in range(epsilons.size):
            stops.append(stop(place))
            advance(1)
    return stops


def choose_stops(frontier: Frontier) -> tuple[Array, Any]:
    """Return decreasing epsilons, and which of them are breakpoints."""
    breaks = frontier.epsilons
    if breaks.size > MOST_BREAKPOINTS:
        breaks = breaks[np.unique(np.linspace(0, breaks.size - 1, MOST_BREAKPOINTS).astype(int))]
    even = np.linspace(breaks[0], breaks[-1], N_EVENLY)
    between = even[1:-1]
    nearest = np.abs(between[:, None] - breaks).min(axis=1)
    apart = between[nearest > APART * (breaks[0] - breaks[-1])]
    epsilons = np.unique(np.concatenate([breaks, apart]))[::-1]
    return epsilons, np.isin(epsilons, breaks)


def _tables(means: CellValues | None) -> tuple[Array, ...]:
    return () if means is None else tuple(table[0] for table in means.tables)


def _require_same_rows(audit: Findings, X: Any) -> None:
    if audit.task != NUMBERS:
        raise ValueError("frontier: this audit is of classes, and a frontier predicts numbers.")
    n_rows = audit.n_rows if audit.rows.kept is None else audit.rows.kept.size
    found = getattr(X, "shape", (None,))[0]
    if found != n_rows:
        raise ValueError(
            f"X={'None' if X is None else f'{found} rows'}: the frontier's models need the "
            f"{n_rows} audited rows, as X=..., in the order of the audit."
        )


def data_of_page(
    audit: Findings,
    plain: dict[str, Any],
    stops: Sequence[Stop] = (),
    *,
    title: str | None = None,
) -> dict[str, Any]:
    """Return everything that the page shows.

    Parameters
    ----------
    audit : Findings
        The model before …
    plain : dict
        … as plain Python objects.
    stops : sequence of Stop, default=()
        The models to compare with, from the plain one to the fairest.
    title : str, default=None
    """
    shown = [name for name in SHOWN if name in audit.figures]
    found = {
        "title": title or "Fairness report",
        "heading": heading(audit),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "audit": plain,
        "shown": shown,
        "digits": {name: _digits(name, audit, stops) for name in shown},
        "partitions": [
            {"name": part.name, "groups": list(part.groups), "counts": part.counts.tolist()}
            for part in audit.rows.cells.partitions
        ],
        "stops": [_data_of_stop(stop, shown) for stop in stops],
    }
    return dict(json_ready(found))


def _digits(name: str, audit: Findings, stops: Sequence[Stop]) -> int:
    """Return the decimals in which a figure is written, the same at every stop."""
    if audit.figures[name].unit == SHARE:
        return 3
    return decimals([audit.figures[name].value, *(stop.figures[name].value for stop in stops)])


def _data_of_stop(stop: Stop, shown: Sequence[str]) -> dict[str, Any]:
    return {
        "epsilon": stop.epsilon,
        "breakpoint": stop.is_breakpoint,
        "price": stop.price,
        "figures": {
            name: {
                "value": stop.figures[name].value,
                "interval": stop.figures[name].interval,
                "chance": asdict(chance) if (chance := stop.figures[name].chance) else None,
            }
            for name in shown
        },
        "rates": [table.tolist() for table in stop.rates],
        "predictions": [table.tolist() for table in stop.predictions],
        "group_predictions": [means.tolist() for means in stop.group_predictions],
    }
