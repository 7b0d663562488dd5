"""What the report shows, as plain data: the audit itself, and the same along a frontier.

    Audit, Stops → dict → page (gferm.report)

The dict is the JSON that the page offers for download; the page computes nothing but positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from gferm.auditing.along import Stop
from gferm.auditing.measures import SHARE
from gferm.auditing.result import plain
from gferm.auditing.tables import heading
from gferm.printed.table import decimals

if TYPE_CHECKING:
    from gferm.auditing.result import Audit

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


def summarize(
    audit: Audit, stops: Sequence[Stop] = (), *, title: str | None = None
) -> dict[str, Any]:
    """Return everything that the page shows.

    Parameters
    ----------
    audit : Audit
        The model before.
    stops : sequence of Stop, default=()
        The models to compare with, from the plain one to the fairest.
    title : str, default=None
    """
    shown = [name for name in SHOWN if name in audit.figures]
    found = {
        "title": title or "Fairness report",
        "heading": heading(audit),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "audit": audit.to_dict(),
        "shown": shown,
        "digits": {name: _digits(name, audit, stops) for name in shown},
        "partitions": [
            {"name": part.name, "groups": list(part.groups), "counts": part.counts.tolist()}
            for part in audit.rows.cells.partitions
        ],
        "stops": [_stop(stop, shown) for stop in stops],
    }
    return dict(plain(found))


def _digits(name: str, audit: Audit, stops: Sequence[Stop]) -> int:
    """Return the decimals in which a figure is written, the same at every stop."""
    if audit.figures[name].unit == SHARE:
        return 3
    return decimals([audit.figures[name].value, *(stop.figures[name].value for stop in stops)])


def _stop(stop: Stop, shown: Sequence[str]) -> dict[str, Any]:
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
