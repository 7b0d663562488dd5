"""The ball a fitted model lies in: ‖w‖, R and κ, and what each of them rests on.

    ‖w‖² = Σ coef²   or   αᵀ K α,        κ² = sup over x of k(x, x)

An intercept b is the weight of one more feature that is 1 for everybody: ‖w‖² grows by b² and κ² by
1. (So predictions far from 0 make a large ball; subtract the mean of y before `fit`.)

κ is 1 for kernels that say how alike two rows are (rbf, laplacian, chi2, cosine, sigmoid). For all
others it depends on which rows there can be: the user knows, or the largest among the rows at hand
stands in for it, which is an assumption and is reported as one.

A bound for one R says nothing about a ball whose radius was read off the fitted model. For all
balls R = 2^j, j a whole number, at once, δ is divided among them:

    δ_j = δ p_j,   p_j = 1 / ((π²/3 − 1) (|j| + 1)²),   Σ_j p_j = 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import frexp, hypot, inf, pi
from typing import Any

import numpy as np

from gferm.arrays import Array
from gferm.estimators.base import FairModel
from gferm.features.kernel import Kernel

ROUNDING = 1e-9


@dataclass(frozen=True)
class Ball:
    """{f : ‖w‖ ≤ radius}, with the intercept as one more weight.

    Attributes
    ----------
    norm : float
        ‖w‖ of the model, with its intercept; of several models the largest.
    penalised : float
        The same without the intercept: what alpha shrinks; of several models the smallest.
    radius : float
        R.
    power : int or None
        j if R = 2^j was chosen among all powers of two; None if R was fixed beforehand.
    share : float
        The part of δ left for this radius: 1, or p_j.
    kappa : float
        With the constant feature, if there is an intercept.
    intercept : bool
    """

    norm: float
    penalised: float
    radius: float
    power: int | None
    share: float
    kappa: float
    intercept: bool

    @property
    def reach(self) -> float:
        """R κ: no prediction of any function of the ball is larger."""
        return self.radius * self.kappa


def power_of_two(norm: float) -> int:
    """Return the smallest j with norm ≤ 2^j; 0 for the zero function."""
    mantissa, exponent = frexp(norm)  # norm = mantissa 2^exponent, mantissa in [1/2, 1)
    return exponent - 1 if mantissa == 0.5 else exponent


def share_of_power(j: int) -> float:
    """Return p_j, the part of δ that the ball of radius 2^j is given."""
    return 1.0 / ((pi**2 / 3.0 - 1.0) * (abs(j) + 1) ** 2)


def ball_of(
    model: FairModel, X: Any, radius: float | None, kappa: float | None
) -> tuple[Ball, list[str]]:
    """Return the ball, and what it assumes.

    Parameters
    ----------
    model : FairModel
    X : array of shape (n_samples, n_features)
        Held-out rows, for κ.
    radius : float or None
        R if it was fixed before the fit.
    kappa : float or None
        sup √k(x, x) over all rows there can be, without the constant feature.
    """
    intercept = bool(model.fit_intercept)
    norms = np.sqrt(_squared_norms(model))
    offsets = np.atleast_1d(model.intercept_) if intercept else np.zeros(norms.size)
    norm = float(np.hypot(norms, offsets).max())
    own, assumed = _kappa(model, X, kappa)
    power = None if radius is not None else power_of_two(norm)
    if radius is not None and norm > radius * (1.0 + ROUNDING):
        raise ValueError(
            f"radius={radius:g} is smaller than the norm of the fitted model, {norm:.4g}"
            f"{' (with its intercept)' if intercept else ''}: the theorem speaks of another ball. "
            "Use a larger alpha in fit, or radius=None for all powers of two at once."
        )
    ball = Ball(
        norm=norm,
        penalised=float(norms.min()),
        radius=float(radius) if power is None and radius is not None else 2.0 ** (power or 0),
        power=power,
        share=1.0 if power is None else share_of_power(power),
        kappa=hypot(own, 1.0) if intercept else own,
        intercept=intercept,
    )
    return ball, assumed


def _squared_norms(model: FairModel) -> Array:
    """Return ‖w‖² of each model, without the intercept."""
    if hasattr(model, "coef_"):
        return np.asarray((np.atleast_2d(model.coef_) ** 2).sum(axis=1))
    dual, kernel = np.atleast_2d(model.dual_coef_), Kernel.of(model)
    own = kernel.products(model.X_fit_, model.X_fit_, dual)
    return np.asarray(np.maximum((dual * own).sum(axis=1), 0.0))  # rounding may leave −1e-17


def _kappa(model: FairModel, X: Any, given: float | None) -> tuple[float, list[str]]:
    """Return κ without the constant feature, and what it assumes."""
    bound = Kernel.of(model).bound
    if bound is not None and given is None:
        return bound, []
    seen, where = _largest_diagonal(model, X)
    kappa = seen if bound is None else bound
    if given is None:
        return kappa, [
            f"κ = {kappa:.4g} is the largest √k(x, x) over {where}; that no other row exceeds it "
            "is an assumption. Pass kappa= to state the bound that holds for all rows."
        ]
    if given < seen * (1.0 - ROUNDING):
        raise ValueError(
            f"kappa={given:g} does not bound √k(x, x): it is {seen:.4g} over {where}. Give a bound "
            "that holds for all rows, or None."
        )
    return float(given), []


def _largest_diagonal(model: FairModel, X: Any) -> tuple[float, str]:
    """Return the largest √k(x, x) over the rows at hand, and which rows these are."""
    kernel, known = Kernel.of(model), getattr(model, "X_fit_", None)
    if kernel.is_given:
        return _root(kernel.diagonal(known)), "the training rows"
    if known is None:
        return _root(kernel.diagonal(X)), "the rows given"
    both = max(_root(kernel.diagonal(rows)) for rows in (known, X))
    return both, "the training rows and those given"


def _root(diagonal: Array) -> float:
    largest = float(np.max(diagonal, initial=0.0))
    return largest**0.5 if largest < inf else inf
