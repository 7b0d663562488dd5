"""What a certificate says, in sentences: a number is never without its meaning or its emptiness."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from gferm.bounds.held_out import PREDICTION, RESIDUAL, HeldOutBounds
from gferm.bounds.pair_gaps import Interval
from gferm.bounds.theorem import Bound, TheoremBounds

if TYPE_CHECKING:
    from gferm.bounds.certificate import Certificate

FEW = 5  # items of a list that are written out
GAPS = {
    PREDICTION: "mean gap of f",
    RESIDUAL: "mean gap of f − y",
}


def verdict(certificate: Certificate) -> list[str]:
    """Return the lines of the verdict."""
    lines = list(_held_out(certificate.held_out, certificate.delta))
    theorem = certificate.theorem
    if theorem is None:
        lines.append(f"Theorem: silent; {certificate.silent}.")
    else:
        lines += _theorem(theorem, certificate.delta)
    return [*lines, *(f"Note: {note}" for note in certificate.notes)]


def _held_out(bounds: HeldOutBounds, delta: float) -> Iterator[str]:
    yield (
        f"Held-out rows ({bounds.n_rows}; all intervals hold at once with probability "
        f"{1.0 - delta:.4g}, whatever the distribution):"
    )
    clipped = ", clipped" if bounds.clipped else ""
    if bounds.averages:
        yield _line("DGF, mean over pairs", _interval(bounds.averages["pairs"]))
    for name, interval in bounds.gaps.items():
        yield _line(GAPS[name] + clipped, _interval(interval))
    if bounds.empty:
        yield f"  no row, so anything is possible: {listed(bounds.empty)}"


def _theorem(theorem: TheoremBounds, delta: float) -> Iterator[str]:
    ball, per_pair = theorem.ball, theorem.per_pair
    radius = "fixed beforehand" if ball.power is None else f"2^{ball.power}, all powers at once"
    intercept = " with the intercept" if ball.intercept else ""
    yield (
        f"Theorem (training rows, {theorem.n_rows}; with probability {1.0 - delta:.4g}; "
        f"R = {ball.radius:.4g}, {radius}; ‖w‖ = {ball.norm:.4g}{intercept}; κ = {ball.kappa:.4g}):"
    )
    yield _line("mean gap", _bound(theorem.fairness, per_pair))
    yield _line("… by its own violation", _bound(theorem.this_model, per_pair))
    yield _line("risk above that of f*", _bound(theorem.excess_risk))
    target, needed, own = map(
        per_pair, (theorem.epsilon, theorem.epsilon_hat, theorem.trained_with)
    )
    meant = "as it was" if theorem.applies else "so f* may be excluded, and the risk's bound void"
    yield _line(
        "ε̂ of the theorem",
        f"{needed:.4g} for ε = {target:.4g}; the model was trained with {own:.4g}, {meant}",
    )
    if theorem.uncovered:
        yield f"  not covered: {listed(theorem.uncovered)}"


def _line(name: str, what: str) -> str:
    return f"  {name:<33} {what}"


def _interval(interval: Interval) -> str:
    return str(interval) + ("; 0 is excluded, the groups differ" if interval.low > 0 else "")


def _bound(bound: Bound, scale: Callable[[float], float] = float) -> str:
    value, largest = scale(bound.value), scale(bound.largest)
    if bound.vacuous:
        return f"≤ {value:.4g}: vacuous, {largest:.4g} holds without any rows"
    return f"≤ {value:.4g} ({largest:.4g} without any rows)"


def listed(items: Sequence[str]) -> str:
    """Write out a few items and count the rest."""
    more = f" and {len(items) - FEW} more" if len(items) > FEW else ""
    return "; ".join(items[:FEW]) + more
