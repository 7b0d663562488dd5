"""Convex losses of the risk: value, prox, conjugate, range of slopes.

A loss is a convex function φ of one number, the residual t = u − y or the margin t = y·u:

    squared               t²                          absolute    |t|
    huber                 t², 2δ|t| − δ² beyond δ     quantile    τ max(−t, 0) + (1 − τ) max(t, 0)
    epsilon_insensitive   max(|t| − width, 0)         hinge       max(1 − t, 0)
    squared_hinge         max(1 − t, 0)²              log_loss    log(1 + exp(−t))

and brings what the solver asks of it, all elementwise:

    value(y, u)           ℓ(y, u)
    prox(y, v, rho)       argmin_u ℓ(y, u) + ρ/2 (u − v)²
    conjugate(y, g)       sup_u g u − ℓ(y, u), for g between the slopes
    slopes(y)             the least and the largest slope: where the conjugate is finite

A new loss is one small class with φ, its prox, conjugate and slopes; no solver changes. If φ is
piecewise linear it may say so (``_pieces``), and few unknowns are then found by Newton's method.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import expit, xlogy

from gferm.arrays import Array

ON_A_PIECE = 1e-9  # distance of slopes that is rounding
NEWTON_STEPS = 50  # the logistic prox takes two to eleven, for ρ from 1e4 to 1e-4


def _require(holds: bool, name: str, value: float, what: str) -> None:
    if not holds:
        raise ValueError(f"{name}={value!r} must be {what}.")


class Loss(ABC):
    """ℓ(y, u), convex in the prediction u.

    Attributes
    ----------
    takes_classes : bool
        Whether y are the signs −1 and +1 of a class, not numbers.
    """

    takes_classes: ClassVar[bool]

    @abstractmethod
    def value(self, y: Array, u: Array) -> Array:
        """Return ℓ(y, u)."""

    @abstractmethod
    def prox(self, y: Array, v: Array, rho: float) -> Array:
        """Return argmin_u ℓ(y, u) + ρ/2 (u − v)²."""

    @abstractmethod
    def conjugate(self, y: Array, g: Array) -> Array:
        """Return sup_u g u − ℓ(y, u)."""

    @abstractmethod
    def slopes(self, y: Array) -> tuple[Array, Array]:
        """Return the least and the largest slope of ℓ(y, ·)."""

    @property
    def is_piecewise_linear(self) -> bool:
        """Whether ℓ(y, ·) is made of straight pieces, so that `at_kink` makes sense."""
        return False

    def at_kink(self, y: Array, g: Array) -> npt.NDArray[np.bool_]:
        """Return where a slope g lies between those of two pieces: only a kink has it."""
        raise TypeError(f"{self!r} is not piecewise linear")


class _ScalarLoss(Loss):
    """A loss given by φ(t); the subclasses below say what t is."""

    @property
    def _pieces(self) -> tuple[float, ...]:
        """The slopes of a piecewise linear φ."""
        return ()

    @property
    def is_piecewise_linear(self) -> bool:
        return bool(self._pieces)

    def _at_kink(self, slope: Array) -> npt.NDArray[np.bool_]:
        if not self._pieces:
            raise TypeError(f"{self!r} is not piecewise linear")
        nearest = np.min([np.abs(slope - piece) for piece in self._pieces], axis=0)
        return np.asarray(nearest > ON_A_PIECE)

    @abstractmethod
    def _value(self, t: Array) -> Array:
        """φ(t)."""

    @abstractmethod
    def _prox(self, t: Array, rho: float) -> Array:
        """argmin_z φ(z) + ρ/2 (z − t)²."""

    @abstractmethod
    def _conjugate(self, slope: Array) -> Array:
        """φ*(slope)."""

    @property
    @abstractmethod
    def _slopes(self) -> tuple[float, float]:
        """The least and the largest slope of φ."""


class ResidualLoss(_ScalarLoss):
    """φ(u − y)."""

    takes_classes = False

    def value(self, y: Array, u: Array) -> Array:
        """Return φ(u − y)."""
        return self._value(u - y)

    def prox(self, y: Array, v: Array, rho: float) -> Array:
        """Return the prox of φ, moved to y."""
        return y + self._prox(v - y, rho)

    def conjugate(self, y: Array, g: Array) -> Array:
        """Return g y + φ*(g)."""
        return g * y + self._conjugate(g)

    def at_kink(self, y: Array, g: Array) -> npt.NDArray[np.bool_]:
        return self._at_kink(g)

    def slopes(self, y: Array) -> tuple[Array, Array]:
        """Return the slopes of φ, the same in every row."""
        low, high = self._slopes
        return np.full(y.shape, low), np.full(y.shape, high)


class MarginLoss(_ScalarLoss):
    """φ(y u) with y = ±1."""

    takes_classes = True

    def value(self, y: Array, u: Array) -> Array:
        """Return φ(y u)."""
        return self._value(y * u)

    def prox(self, y: Array, v: Array, rho: float) -> Array:
        """Return the prox of φ, mirrored where y = −1."""
        return y * self._prox(y * v, rho)

    def conjugate(self, y: Array, g: Array) -> Array:
        """Return φ*(y g)."""
        return self._conjugate(y * g)

    def at_kink(self, y: Array, g: Array) -> npt.NDArray[np.bool_]:
        return self._at_kink(y * g)

    def slopes(self, y: Array) -> tuple[Array, Array]:
        """Return the slopes of φ, mirrored where y = −1."""
        low, high = self._slopes
        return np.where(y > 0, low, -high), np.where(y > 0, high, -low)


@dataclass(frozen=True)
class Squared(ResidualLoss):
    """t², as in Ridge."""

    def _value(self, t: Array) -> Array:
        return t**2

    def _prox(self, t: Array, rho: float) -> Array:
        return t * (rho / (2.0 + rho))

    def _conjugate(self, slope: Array) -> Array:
        return slope**2 / 4.0

    @property
    def _slopes(self) -> tuple[float, float]:
        return -np.inf, np.inf


@dataclass(frozen=True)
class Huber(ResidualLoss):
    """t² up to |t| = ``delta``, then straight: outliers pull no harder than that.

    As in HuberRegressor, without its estimate of the scale: ``delta`` is in units of y.
    """

    delta: float = 1.35

    def __post_init__(self) -> None:
        _require(self.delta > 0, "delta", self.delta, "a positive number")

    def _value(self, t: Array) -> Array:
        inside = np.minimum(np.abs(t), self.delta)
        return inside * (2.0 * np.abs(t) - inside)

    def _prox(self, t: Array, rho: float) -> Array:
        step = 2.0 * self.delta / rho
        return np.where(
            np.abs(t) <= self.delta + step, t * (rho / (2.0 + rho)), t - step * np.sign(t)
        )

    def _conjugate(self, slope: Array) -> Array:
        return slope**2 / 4.0

    @property
    def _slopes(self) -> tuple[float, float]:
        return -2.0 * self.delta, 2.0 * self.delta


@dataclass(frozen=True)
class EpsilonInsensitive(ResidualLoss):
    """max(|t| − ``width``, 0): errors within the tube are free, as in SVR; |t| for width 0."""

    width: float = 0.1

    def __post_init__(self) -> None:
        _require(self.width >= 0, "width", self.width, "zero or more")

    def _value(self, t: Array) -> Array:
        return np.asarray(np.maximum(np.abs(t) - self.width, 0.0))

    def _prox(self, t: Array, rho: float) -> Array:
        return np.asarray(t - np.sign(t) * np.clip(np.abs(t) - self.width, 0.0, 1.0 / rho))

    def _conjugate(self, slope: Array) -> Array:
        return np.asarray(self.width * np.abs(slope))

    @property
    def _pieces(self) -> tuple[float, ...]:
        return (-1.0, 0.0, 1.0) if self.width > 0 else (-1.0, 1.0)

    @property
    def _slopes(self) -> tuple[float, float]:
        return -1.0, 1.0


@dataclass(frozen=True)
class Quantile(ResidualLoss):
    """The pinball loss: the conditional quantile of ``level``."""

    level: float = 0.5

    def __post_init__(self) -> None:
        _require(0 < self.level < 1, "level", self.level, "between 0 and 1")

    def _value(self, t: Array) -> Array:
        return np.maximum((1.0 - self.level) * t, -self.level * t)

    def _prox(self, t: Array, rho: float) -> Array:
        return t - np.clip(t, -self.level / rho, (1.0 - self.level) / rho)

    def _conjugate(self, slope: Array) -> Array:
        return np.zeros_like(slope)

    @property
    def _pieces(self) -> tuple[float, ...]:
        return self._slopes

    @property
    def _slopes(self) -> tuple[float, float]:
        return -self.level, 1.0 - self.level


@dataclass(frozen=True)
class Hinge(MarginLoss):
    """max(1 − t, 0): the support vector machine."""

    def _value(self, t: Array) -> Array:
        return np.maximum(1.0 - t, 0.0)

    def _prox(self, t: Array, rho: float) -> Array:
        return t + np.clip(1.0 - t, 0.0, 1.0 / rho)

    def _conjugate(self, slope: Array) -> Array:
        return slope

    @property
    def _pieces(self) -> tuple[float, ...]:
        return self._slopes

    @property
    def _slopes(self) -> tuple[float, float]:
        return -1.0, 0.0


@dataclass(frozen=True)
class SquaredHinge(MarginLoss):
    """max(1 − t, 0)²: as in LinearSVC."""

    def _value(self, t: Array) -> Array:
        return np.maximum(1.0 - t, 0.0) ** 2

    def _prox(self, t: Array, rho: float) -> Array:
        return t + np.maximum(1.0 - t, 0.0) * (2.0 / (2.0 + rho))

    def _conjugate(self, slope: Array) -> Array:
        return slope + slope**2 / 4.0

    @property
    def _slopes(self) -> tuple[float, float]:
        return -np.inf, 0.0


@dataclass(frozen=True)
class LogLoss(MarginLoss):
    """log(1 + exp(−t)): logistic regression; the only one with probabilities."""

    def _value(self, t: Array) -> Array:
        return np.logaddexp(0.0, -t)

    def _prox(self, t: Array, rho: float) -> Array:
        """Solve ρ (z − t) = p(z), p(z) = 1/(1 + exp(z)), by Newton's method.

        The left side minus the right is increasing, convex for z < 0 and concave above, so from
        z = 0 (or from the root's side of it) the steps never overshoot.
        """
        z = np.clip(0.0, t, t + 1.0 / rho)  # the root lies there
        for _ in range(NEWTON_STEPS):
            p = expit(-z)
            step = (rho * (z - t) - p) / (rho + p * (1.0 - p))
            z -= step
            if np.abs(step).max(initial=0.0) <= 1e-7:  # the next step would be its square
                break
        return np.asarray(z)

    def _conjugate(self, slope: Array) -> Array:
        p = np.clip(-slope, 0.0, 1.0)
        return np.asarray(xlogy(p, p) + xlogy(1.0 - p, 1.0 - p))

    @property
    def _slopes(self) -> tuple[float, float]:
        return -1.0, 0.0


LOSSES: dict[str, Loss] = {
    "squared": Squared(),
    "absolute": EpsilonInsensitive(width=0.0),
    "huber": Huber(),
    "quantile": Quantile(),
    "epsilon_insensitive": EpsilonInsensitive(),
    "hinge": Hinge(),
    "squared_hinge": SquaredHinge(),
    "log_loss": LogLoss(),
}
REGRESSION_LOSSES = tuple(name for name, loss in LOSSES.items() if not loss.takes_classes)
CLASSIFICATION_LOSSES = (*(n for n, loss in LOSSES.items() if loss.takes_classes), "squared")


def as_loss(loss: str | Loss, names: tuple[str, ...]) -> Loss:
    """Look a loss up among ``names``; a Loss stands for itself if it is of their kind.

    The kinds are two, numbers and classes; the square loss, by name or as an object, is of both.
    """
    if isinstance(loss, Loss):
        known = [LOSSES[name] for name in names]
        left_out = {other.takes_classes for name, other in LOSSES.items() if name not in names}
        if loss.takes_classes in left_out and loss not in known:
            takes, other = (
                ("classes", "Classifier") if loss.takes_classes else ("numbers", "Regressor")
            )
            raise ValueError(
                f"loss={loss!r} learns {takes}; use Fair{other}, or here one of {sorted(names)}."
            )
        return loss
    if loss not in names:
        raise ValueError(
            f"loss={loss!r} is not one of {sorted(names)}; a loss with parameters is given as an "
            "object of gferm.losses, for example Huber(delta=1.0)."
        )
    return LOSSES[loss]
