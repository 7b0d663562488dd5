"""How far risks on a sample can be from those of the population, at once for a ball of functions.

For f(x) = ⟨w, φ(x)⟩ with ‖w‖ ≤ R and κ² = sup k(x, x), a loss that is L-Lipschitz in f and varies
by at most c on the ball, n independent rows of one distribution and any δ, with probability 1 − δ

    sup over the ball |L(f) − L̂(f)| ≤ B(δ, n) = 2 L R κ / √n + c √(ln(2/δ) / (2n)).

The first term is twice the Rademacher complexity of the ball (with Talagrand's contraction), the
second is McDiarmid's inequality, on both sides (remark 2 of the paper; math.md, section 10).

A bound for one R says nothing about a ball whose radius was read off the fitted model. For all
balls R = 2^j, j a whole number, at once, δ is divided among them:

    δ_j = δ p_j,   p_j = 1 / ((π²/3 − 1) (|j| + 1)²),   Σ_j p_j = 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import frexp, inf, log, pi, sqrt


@dataclass(frozen=True)
class Class:
    """A ball of functions with a loss: all that B needs to know of F.

    Attributes
    ----------
    lipschitz : float
        L.
    reach : float
        R κ, the largest |f|.
    spread : float
        c, the largest value of the loss minus the smallest.
    """

    lipschitz: float
    reach: float
    spread: float

    def deviation(self, delta: float, n: int) -> float:
        """B(δ, n, F); infinite without rows."""
        if n == 0:
            return inf
        complexity = 2.0 * self.lipschitz * self.reach / sqrt(n)
        return complexity + self.spread * sqrt(log(2.0 / delta) / (2.0 * n))


def power_of_two(norm: float) -> int:
    """Return the smallest j with norm ≤ 2^j; 0 for the zero function."""
    mantissa, exponent = frexp(norm)  # norm = mantissa 2^exponent, mantissa in [1/2, 1)
    return exponent - 1 if mantissa == 0.5 else exponent


def share_of_power(j: int) -> float:
    """p_j: the part of δ that the ball of radius 2^j is given."""
    return 1.0 / ((pi**2 / 3.0 - 1.0) * (abs(j) + 1) ** 2)
