"""An audit along a frontier: what each amount of fairness would cost and bring on these rows.

Models of a frontier are linear in epsilon between its breakpoints, but rates and errors are not,
so the audit stops at every breakpoint and evenly between them. The same random numbers serve every
stop: curves are smooth, and two stops differ by their models alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gferm.arrays import Array
from gferm.auditing.evidence import Evidence, gather
from gferm.auditing.findings import find_figures
from gferm.auditing.outcome import NUMBERS, read_outcome
from gferm.auditing.result import Figure
from gferm.progress import progress

if TYPE_CHECKING:
    from gferm.auditing.result import Audit
    from gferm.estimators.frontier import Frontier

N_EVENLY = 41  # stops at equal distances …
MOST_BREAKPOINTS = 60  # … and at this many breakpoints, if there are more
APART = 1e-3  # of the whole way: as near to a breakpoint, an even stop would show the same
N_DRAWS = 200  # at each stop, for its intervals and its chance


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


def audit_along(
    audit: Audit, frontier: Frontier, X: Any, *, n_draws: int = N_DRAWS, verbose: bool = False
) -> list[Stop]:
    """Audit the models of a frontier on the rows of an audit, from the plain one to the fairest.

    Parameters
    ----------
    audit : Audit
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
    plan = replace(
        audit.plan,
        n_boot=min(n_draws, audit.plan.n_boot),
        n_permutations=min(n_draws, audit.plan.n_permutations),
    )

    def stop(place: int) -> Stop:
        rows = replace(audit.rows, predictions=predictions[place])
        evidence = gather(rows, read_outcome(rows, plan.loss), plan)
        return Stop(
            epsilon=float(epsilons[place]),
            is_breakpoint=bool(is_breakpoint[place]),
            price=float(prices[place]),
            figures={figure.name: figure for figure in find_figures(evidence)},
            rates=_tables(evidence, "rate"),
            predictions=_tables(evidence, "prediction"),
            group_predictions=tuple(
                table[0, 0] for table in evidence.seen.groups("prediction").tables
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


def _tables(evidence: Evidence, quantity: str) -> tuple[Array, ...]:
    if quantity not in evidence.question.quantities:
        return ()
    return tuple(table[0] for table in evidence.seen.of(quantity).tables)


def _require_same_rows(audit: Audit, X: Any) -> None:
    if audit.task != NUMBERS:
        raise ValueError("frontier: this audit is of classes, and a frontier predicts numbers.")
    n_rows = audit.n_rows if audit.rows.kept is None else audit.rows.kept.size
    found = getattr(X, "shape", (None,))[0]
    if found != n_rows:
        raise ValueError(
            f"X={'None' if X is None else f'{found} rows'}: the frontier's models need the "
            f"{n_rows} audited rows, as X=..., in the order of the audit."
        )
