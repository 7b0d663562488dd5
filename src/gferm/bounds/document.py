"""A certificate as plain JSON types, and as rows of a table.

    {"delta", "held_out": {"averages", "gaps", "cells", "pairs", …}, "theorem": {…} or null, …}

Numbers that are not finite become null. Names are those of the dataclasses.
"""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Any

from gferm.bounds.cell_intervals import CellIntervals
from gferm.bounds.held_out import HeldOutBounds
from gferm.bounds.pair_gaps import Interval
from gferm.bounds.theorem import Bound, TheoremBounds

if TYPE_CHECKING:
    from gferm.bounds.certificate import Certificate

Row = dict[str, Any]
PER_PAIR = ("epsilon", "epsilon_hat", "trained_with", "violation")


def document(certificate: Certificate) -> Row:
    """Return the whole certificate as plain types."""
    theorem = certificate.theorem
    whole = {
        "delta": certificate.delta,
        "held_out": _held_out(certificate.held_out),
        "theorem": None if theorem is None else _theorem(theorem),
        "theorem_silent_because": certificate.silent,
        "notes": list(certificate.notes),
        "verdict": str(certificate).splitlines(),
    }
    plain: Row = _plain(whole)
    return plain


def table(certificate: Certificate, name: str) -> list[Row]:
    """Return the rows of one table: "bounds", "cells" or "pairs"."""
    held_out, theorem = certificate.held_out, certificate.theorem
    if name == "cells":
        return [row for one in held_out.quantities for row in _cells(one)]
    if name == "pairs":
        return [row for one in held_out.quantities for row in _pairs(one)]
    if name != "bounds":
        raise ValueError(f"of={name!r} is unknown; use 'bounds', 'cells' or 'pairs'.")
    rows = [
        {"part": "held-out", "quantity": f"dgf ({average})", **_interval(interval)}
        for average, interval in held_out.averages.items()
    ]
    rows += [
        {"part": "held-out", "quantity": f"mean gap ({quantity})", **_interval(interval)}
        for quantity, interval in held_out.gaps.items()
    ]
    if theorem is None:
        return rows
    mean = theorem.per_pair
    seen = mean(theorem.violation)
    none = float("nan")
    risk = "excess risk" if theorem.applies else "excess risk (void: not trained with ε̂)"
    return [
        *rows,
        _upper("mean gap", seen, mean(theorem.fairness.value), mean(theorem.fairness.largest)),
        _upper(
            "mean gap (own violation)",
            seen,
            mean(theorem.this_model.value),
            mean(theorem.this_model.largest),
        ),
        _upper(risk, none, theorem.excess_risk.value, theorem.excess_risk.largest),
    ]


def _upper(quantity: str, seen: float, value: float, largest: float) -> Row:
    interval = Interval(seen, 0.0, value, largest)
    return {"part": "theorem", "quantity": quantity, **_interval(interval)}


def _held_out(bounds: HeldOutBounds) -> Row:
    return {
        "n_rows": bounds.n_rows,
        "outside": bounds.outside,
        "clipped": bounds.clipped,
        "n_intervals": bounds.n_intervals,
        "averages": {name: _interval(one) for name, one in bounds.averages.items()},
        "gaps": {name: _interval(one) for name, one in bounds.gaps.items()},
        "cells": [row for one in bounds.quantities for row in _cells(one)],
        "pairs": [row for one in bounds.quantities for row in _pairs(one)],
        "empty": list(bounds.empty),
    }


def _theorem(theorem: TheoremBounds) -> Row:
    written = asdict(theorem)
    written["ball"]["reach"] = theorem.ball.reach
    written["per_pair"] = {name: theorem.per_pair(getattr(theorem, name)) for name in PER_PAIR}
    for name in ("fairness", "this_model"):
        bound: Bound = getattr(theorem, name)
        written["per_pair"][name] = theorem.per_pair(bound.value)
        written["per_pair"][f"{name}_largest"] = theorem.per_pair(bound.largest)
        written[name]["vacuous"] = bound.vacuous
    written["excess_risk"]["vacuous"] = theorem.excess_risk.vacuous
    return written


def _interval(interval: Interval) -> Row:
    return {**asdict(interval), "vacuous": interval.vacuous}


def _cells(quantity: CellIntervals) -> list[Row]:
    cells, span = quantity.cells, quantity.span
    return [
        {
            "quantity": quantity.title,
            "attribute": part.name,
            "label_bin": label,
            "group": group,
            "rows": int(part.counts[k, q]),
            "seen": float(quantity.seen[i][k, q]),
            "low": float(quantity.low[i][k, q]),
            "high": float(quantity.high[i][k, q]),
            "vacuous": bool(quantity.low[i][k, q] <= span[0] and quantity.high[i][k, q] >= span[1]),
            "method": quantity.method,
            **{
                f"{method}, {end}": float(bounds[i][j][k, q])
                for method, bounds in quantity.beside.items()
                for j, end in enumerate(("low", "high"))
            },
        }
        for i, part in enumerate(cells.partitions)
        for k, label in enumerate(cells.label_bins.labels)
        for q, group in enumerate(part.groups)
    ]


def _pairs(quantity: CellIntervals) -> list[Row]:
    return [
        {
            "quantity": quantity.title,
            "attribute": attribute,
            "label_bin": label,
            "group": groups[0],
            "other_group": groups[1],
            **_interval(interval),
        }
        for attribute, label, groups, interval in quantity.pairs()
    ]


def _plain(value: Any) -> Any:
    """Turn tuples into lists, and numbers that JSON cannot write into None."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not isfinite(value) else value
