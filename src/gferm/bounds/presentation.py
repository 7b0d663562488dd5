"""A certificate in sentences, as rows of a table, and as plain JSON types.

    {"delta", "held_out": {"averages", "gaps", "cells", "pairs", …}, "theorem": {…} or null, …}

A number is never without its meaning or its emptiness. Numbers that are not finite become null.
Names are those of the dataclasses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from gferm.bounds.cell_intervals import CellIntervals, Interval
from gferm.bounds.held_out import PREDICTION, RESIDUAL, HeldOutBounds
from gferm.bounds.theorem import Bound, TheoremBounds
from gferm.json_ready import json_ready
from gferm.printed.table import listed

Record = dict[str, Any]
PER_PAIR = ("epsilon", "epsilon_hat", "trained_with", "violation")
FEW = 5  # items of a list that are written out
GAPS = {PREDICTION: "mean gap of f", RESIDUAL: "mean gap of f − y"}


@dataclass(frozen=True, eq=False)
class BoundsOfModel:
    """The numbers of a certificate; see there."""

    delta: float
    held_out: HeldOutBounds
    theorem: TheoremBounds | None
    silent: str | None
    notes: tuple[str, ...]


def sentences_of(certificate: BoundsOfModel) -> list[str]:
    """Return the lines of the verdict."""
    lines = list(_about_held_out(certificate.held_out, certificate.delta))
    theorem = certificate.theorem
    if theorem is None:
        lines.append(f"Theorem: silent; {certificate.silent}.")
    else:
        lines += _about_theorem(theorem, certificate.delta)
    return [*lines, *(f"Note: {note}" for note in certificate.notes)]


def _about_held_out(bounds: HeldOutBounds, delta: float) -> Iterator[str]:
    yield (
        f"Held-out rows ({bounds.n_rows}; all intervals hold at once with probability "
        f"{1.0 - delta:.4g}, whatever the distribution):"
    )
    clipped = ", clipped" if bounds.clipped else ""
    if bounds.averages:
        yield _line("DGF, mean over pairs", _interval_text(bounds.averages["pairs"]))
    for name, interval in bounds.gaps.items():
        yield _line(GAPS[name] + clipped, _interval_text(interval))
    if bounds.empty:
        yield f"  no row, so anything is possible: {listed(bounds.empty, FEW, '; ')}"


def _about_theorem(theorem: TheoremBounds, delta: float) -> Iterator[str]:
    ball, per_pair = theorem.ball, theorem.per_pair
    radius = "fixed beforehand" if ball.power is None else f"2^{ball.power}, all powers at once"
    intercept = " with the intercept" if ball.intercept else ""
    yield (
        f"Theorem (training rows, {theorem.n_rows}; with probability {1.0 - delta:.4g}; "
        f"R = {ball.radius:.4g}, {radius}; ‖w‖ = {ball.norm:.4g}{intercept}; κ = {ball.kappa:.4g}):"
    )
    yield _line("mean gap", _bound_text(theorem.fairness, per_pair))
    yield _line("… by its own violation", _bound_text(theorem.this_model, per_pair))
    yield _line("risk above that of f*", _bound_text(theorem.excess_risk))
    target, needed, own = map(
        per_pair, (theorem.epsilon, theorem.epsilon_hat, theorem.trained_with)
    )
    meant = "as it was" if theorem.applies else "so f* may be excluded, and the risk's bound void"
    yield _line(
        "ε̂ of the theorem",
        f"{needed:.4g} for ε = {target:.4g}; the model was trained with {own:.4g}, {meant}",
    )
    if theorem.uncovered:
        yield f"  not covered: {listed(theorem.uncovered, FEW, '; ')}"


def _line(name: str, what: str) -> str:
    return f"  {name:<33} {what}"


def _interval_text(interval: Interval) -> str:
    return str(interval) + ("; 0 is excluded, the groups differ" if interval.low > 0 else "")


def _bound_text(bound: Bound, scale: Callable[[float], float] = float) -> str:
    value, largest = scale(bound.value), scale(bound.largest)
    if bound.vacuous:
        return f"≤ {value:.4g}: vacuous, {largest:.4g} holds without any rows"
    return f"≤ {value:.4g} ({largest:.4g} without any rows)"


def json_of(certificate: BoundsOfModel) -> Record:
    """Return the whole certificate as plain types."""
    theorem = certificate.theorem
    whole = {
        "delta": certificate.delta,
        "held_out": _record_of_held_out(certificate.held_out),
        "theorem": None if theorem is None else _record_of_theorem(theorem),
        "theorem_silent_because": certificate.silent,
        "notes": list(certificate.notes),
        "verdict": str(certificate).splitlines(),
    }
    plain: Record = json_ready(whole)
    return plain


def records_of(certificate: BoundsOfModel, name: str) -> list[Record]:
    """Return the rows of one table: "bounds", "cells" or "pairs"."""
    held_out, theorem = certificate.held_out, certificate.theorem
    if name == "cells":
        return [row for one in held_out.quantities for row in _records_of_cells(one)]
    if name == "pairs":
        return [row for one in held_out.quantities for row in _records_of_pairs(one)]
    if name != "bounds":
        raise ValueError(f"of={name!r} is unknown; use 'bounds', 'cells' or 'pairs'.")
    rows = [
        {"part": "held-out", "quantity": f"dgf ({average})", **_record_of_interval(interval)}
        for average, interval in held_out.averages.items()
    ]
    rows += [
        {"part": "held-out", "quantity": f"mean gap ({quantity})", **_record_of_interval(interval)}
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


def _upper(quantity: str, seen: float, value: float, largest: float) -> Record:
    interval = Interval(seen, 0.0, value, largest)
    return {"part": "theorem", "quantity": quantity, **_record_of_interval(interval)}


def _record_of_held_out(bounds: HeldOutBounds) -> Record:
    return {
        "n_rows": bounds.n_rows,
        "outside": bounds.outside,
        "clipped": bounds.clipped,
        "n_intervals": bounds.n_intervals,
        "averages": {name: _record_of_interval(one) for name, one in bounds.averages.items()},
        "gaps": {name: _record_of_interval(one) for name, one in bounds.gaps.items()},
        "cells": [row for one in bounds.quantities for row in _records_of_cells(one)],
        "pairs": [row for one in bounds.quantities for row in _records_of_pairs(one)],
        "empty": list(bounds.empty),
    }


def _record_of_theorem(theorem: TheoremBounds) -> Record:
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


def _record_of_interval(interval: Interval) -> Record:
    return {**asdict(interval), "vacuous": interval.vacuous}


def _records_of_cells(quantity: CellIntervals) -> list[Record]:
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


def _records_of_pairs(quantity: CellIntervals) -> list[Record]:
    return [
        {
            "quantity": quantity.title,
            "attribute": attribute,
            "label_bin": label,
            "group": groups[0],
            "other_group": groups[1],
            **_record_of_interval(interval),
        }
        for attribute, label, groups, interval in quantity.pairs()
    ]
