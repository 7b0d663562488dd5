"""What is to be learned, whatever the rows are and whichever solver does it."""

from __future__ import annotations

from dataclasses import dataclass

from gferm.arrays import Array
from gferm.fairness.constraint import Contrasts
from gferm.losses import Loss


@dataclass(frozen=True, eq=False)
class Task:
    """min Σ w ℓ(y, f) + alpha ‖w‖²  subject to the contrasts, to a precision.

    Attributes
    ----------
    loss : Loss
    alpha : float
    contrasts : Contrasts or None
        None when nobody is compared.
    epsilon : float or None
        None when nothing is constrained.
    tol : float
        The relative duality gap at which iterations stop.
    max_iter : int
    """

    loss: Loss
    alpha: float
    contrasts: Contrasts | None
    epsilon: float | None
    tol: float
    max_iter: int

    def objective(self, y: Array, predictions: Array, weight: Array | None, norm2: float) -> float:
        """Return Σ w ℓ(y, f) + alpha ‖w‖²."""
        losses = self.loss.value(y, predictions)
        risk = float(losses.sum() if weight is None else weight @ losses)
        return risk + self.alpha * norm2
