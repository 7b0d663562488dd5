"""The theorem's two bounds and ε̂ for a fitted model, from its own training cells.

With B of rademacher.py, n rows, n_{k,p} of them in a cell and δ' = δ / (4 K Q² + 2):

    ε̂                          =  ε + Σ_k Σ_{q,q'} Σ_{p ∈ {q,q'}} B(δ, n_{k,p})
    L(f̂) − L(f*)               ≤  2 B(δ', n)
    Σ_k Σ_{p,q} |L^{k,p} − L^{k,q}|  ≤  ε + 2 Σ_k Σ_{q,q'} Σ_{p ∈ {q,q'}} B(δ', n_{k,p})

The loss of the second and third lines' cells is that of the constraint, f (match="prediction") or
f − y ("residual"), with L = 1; the risk is the loss that was learned. What is honest about it:

- R: fixed beforehand, or a union over powers of two (rademacher.py); f* is the best of that ball.
- δ is divided by the number of kernels that a search tried, and δ' by the number of models of a
  classifier, each of which has a risk and an f* of its own.
- f̂ of the theorem minimises the risk on the ball; the model minimises risk + α‖w‖²/n, to within its
  duality gap. That costs at most (α (R² − ‖w‖²) + gap) / n, added to the risk's bound.
- f* must meet the empirical constraint. For this fixed function Hoeffding's inequality says when:
  if the model's epsilon is at least ε + 2 Σ_k Σ_{p≠q} c √(ln(2/δ') / (2 n)), which is ε̂ without its
  complexity, and at least ε̂. Otherwise the bound of the risk compares with no f*.
- f̂ of the theorem was trained with ε̂. A model that was trained with more may be less fair than the
  third line says: then ε̂' in ε̂' + ΣΣΣ B(δ', ·) is what it was trained with.
- Pairs with a cell of no rows, or of less than min_cell_size, are in no sum but ``uncovered``; but
  K and Q count all cells, for which take part in no pair depends on the rows.
- For this very model the argument gives more, since its violation v̂ on the training rows is known
  and a group has no gap to itself: v̂ + Σ_k Σ_{p≠q} (B(δ'', n_{k,p}) + B(δ'', n_{k,q})). With M
  cells, δ'' = δ / (2M), which leaves the other half to all else: 1 + M events at δ' are less.

Sums are over ordered pairs, as in the paper; `per_pair` divides by their number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isnan

import numpy as np

from gferm.arrays import Array
from gferm.bounds.ball import Ball, ball_of
from gferm.bounds.cell_intervals import largest_sum
from gferm.bounds.held_out_rows import HeldOutRows, bins_read_off_rows
from gferm.bounds.rademacher import LossOnBall, risk_of_middle
from gferm.bounds.span import CLASSES
from gferm.estimators.base import FairModel
from gferm.fairness.cells import Cells
from gferm.features.kernel import Kernel
from gferm.losses import as_loss
from gferm.metrics.cell_values import n_ordered_pairs, populated_pairs


@dataclass(frozen=True)
class Bound:
    """An upper bound, beside what is guaranteed without any rows.

    Attributes
    ----------
    value : float
    largest : float
        Of gaps: the largest that predictions clipped to the range of y can have, or functions of
        the ball if that is less. Of the excess risk: that of a constant, the middle of that range.
    """

    value: float
    largest: float

    @property
    def vacuous(self) -> bool:
        """Whether it says no more than that."""
        return not self.value < self.largest


@dataclass(frozen=True)
class TheoremBounds:
    """The theorem for one model; sums are over ordered pairs.

    Attributes
    ----------
    n_rows, n_pairs : int
        Training rows, and unordered pairs of cells in the sums.
    delta : float
        What is left of δ after radii and kernels; δ' is ``delta_each``.
    ball : Ball
    constraint, risk : LossOnBall
        Lipschitz constant, reach and range of the two losses.
    epsilon, epsilon_hat : float
        ε, and the ε̂ that the theorem trains with.
    fairness : Bound
        ε + 2 ΣΣΣ B(δ', ·), or more for a model that was trained with more than ε̂.
    this_model : Bound
        The same argument with the violation that the model reached.
    excess_risk : Bound
        2 B(δ', n), and the price of a penalty in place of a ball.
    applies : bool
        Whether f* of the ball, fair to ε, surely meets the constraint the model was trained with.
    uncovered : tuple of str
        Pairs about which nothing is said.
    assumptions : tuple of str
        What has to hold besides rows drawn independently.
    """

    n_rows: int
    n_pairs: int
    delta: float
    delta_each: float
    ball: Ball
    constraint: LossOnBall
    risk: LossOnBall
    epsilon: float
    epsilon_hat: float
    trained_with: float
    violation: float
    fairness: Bound
    this_model: Bound
    excess_risk: Bound
    penalty_price: float
    applies: bool
    uncovered: tuple[str, ...]
    assumptions: tuple[str, ...]

    def per_pair(self, total: float) -> float:
        """Turn a sum over ordered pairs into the mean over pairs: epsilon_scale="mean"."""
        return total / (2 * self.n_pairs)


@dataclass(frozen=True, eq=False)
class PairSums:
    """Sums over the pairs of training cells with ``least`` rows, of bounds that need their counts.

    Attributes
    ----------
    cells : Cells
    least : int
    counts : list of lists of int
        Of those cells, for each label bin with two of them.
    """

    cells: Cells
    least: int
    counts: list[list[int]]

    @classmethod
    def of(cls, cells: Cells, least: int) -> PairSums:
        """Count the rows of the cells that take part in a pair."""
        rows = [row for part in cells.partitions for row in part.counts]
        kept = [row[row >= max(least, 1)].tolist() for row in rows]
        return cls(cells, least, [row for row in kept if len(row) > 1])

    @property
    def n_cells(self) -> int:
        """K Q, of all cells."""
        return sum(part.counts.size for part in self.cells.partitions)

    @property
    def n_pairs(self) -> int:
        """How many unordered pairs there are."""
        return sum(len(row) * (len(row) - 1) // 2 for row in self.counts)

    def triple(self, bound: Callable[[int], float]) -> float:
        """Return Σ_k Σ_{q,q'} Σ_{p ∈ {q,q'}} bound(n_{k,p}), where q = q' is one cell."""
        return sum((2 * len(row) - 1) * sum(map(bound, row)) for row in self.counts)

    def off_diagonal(self, bound: Callable[[int], float]) -> float:
        """Return the same without q = q', whose gap is zero."""
        return sum((2 * len(row) - 2) * sum(map(bound, row)) for row in self.counts)

    def largest(self, gap: float) -> float:
        """Return the largest Σ_k Σ_{p,q} |z_p − z_q| for z in [0, gap]."""
        total = 0.0
        for part in self.cells.partitions:
            low = np.zeros(part.counts.shape)
            twice: Array = 2.0 * populated_pairs(part.counts, self.least).astype(float)
            total += largest_sum(low, low + gap, twice)
        return total


def why_silent(rows: HeldOutRows) -> str | None:
    """Return why the theorem is silent about a model, or None if it is not."""
    model = rows.model
    if model is None:
        return "the model is no FairRegressor or FairClassifier, so its ball is not known"
    if model.epsilon is None or model.contrasts_ is None or model.cells_ is None:
        return "epsilon=None: nothing was constrained, so the theorem bounds nothing"
    if model.cells_.scores:
        return "s_bins='continuous' constrains covariances, and the theorem is about cells"
    if model.cells_.weighted:
        return "it was trained with sample_weight, and the theorem needs rows that count alike"
    if Kernel.of(model).needs_intercept:
        return f"kernel={model.kernel!r} is not positive semi-definite, so there is no ball"
    return None


def apply_theorem(
    rows: HeldOutRows,
    delta: float,
    *,
    radius: float | None,
    kappa: float | None,
    epsilon: float | None,
) -> TheoremBounds:
    """Compute all bounds; `why_silent` must be None."""
    model = rows.model
    assert model is not None
    cells, contrasts = model.cells_, model.contrasts_
    assert cells is not None
    assert contrasts is not None
    assert model.epsilon is not None
    ball, assumed = ball_of(model, rows.X, radius, kappa)
    span = rows.span if rows.classes is None else CLASSES
    residual = model.match == "residual"
    spread = 2.0 * ball.reach + (span.width if residual else 0.0)
    constraint = LossOnBall(1.0, ball.reach, spread)
    loss, y_range = as_loss(model.loss, model.labels.losses), (span.low, span.high)
    risk = LossOnBall.of(loss, ball.reach, y_range)

    n, n_models = cells.n_samples, len(np.atleast_1d(model.intercept_))
    sums = PairSums.of(cells, model.min_cell_size)
    left = delta * ball.share / rows.n_kernels
    n_ordered = n_ordered_pairs(part.counts for part in cells.partitions)
    each = left / (n_models * (4 * n_ordered + 2))
    in_sum = 2.0 * contrasts.scale  # from the units of epsilon to the sum over ordered pairs
    target = in_sum * (model.epsilon if epsilon is None else epsilon)
    trained, reached = in_sum * model.epsilon, in_sum * model.violation_
    epsilon_hat = target + sums.triple(lambda m: constraint.deviation(left, m))
    of_one = LossOnBall(0.0, ball.reach, spread)  # a fixed function: Hoeffding's inequality
    admits = target + sums.off_diagonal(lambda m: of_one.deviation(each, m))
    half = left / (2 * sums.n_cells)
    own = reached + sums.off_diagonal(lambda m: constraint.deviation(half, m))
    apart = sums.triple(lambda m: constraint.deviation(each, m))
    largest = sums.largest(min(spread, span.width * (2.0 if residual else 1.0)))
    slack = model.alpha * (ball.radius**2 - ball.penalised**2)
    price = (max(slack, 0.0) + _duality_gap(model)) / n
    return TheoremBounds(
        n_rows=n,
        n_pairs=sums.n_pairs,
        delta=left,
        delta_each=each,
        ball=ball,
        constraint=constraint,
        risk=risk,
        epsilon=target,
        epsilon_hat=epsilon_hat,
        trained_with=trained,
        violation=reached,
        fairness=Bound(max(target + apart, trained, reached) + apart, largest),
        this_model=Bound(own, largest),
        excess_risk=Bound(2.0 * risk.deviation(each, n) + price, risk_of_middle(loss, y_range)),
        penalty_price=price,
        applies=bool(trained >= max(epsilon_hat, admits)),
        uncovered=tuple(
            f"{pair.attribute}, {pair.label_bin}: {pair.groups[0]} ({pair.counts[0]} rows) and "
            f"{pair.groups[1]} ({pair.counts[1]} rows)"
            for pair in contrasts.skipped
        ),
        assumptions=(*assumed, *_assumptions(rows, model)),
    )


def _duality_gap(model: FairModel) -> float:
    gap = float(model.duality_gap_ * max(model.objective_, 0.0))
    return inf if isnan(gap) else max(gap, 0.0)


def _assumptions(rows: HeldOutRows, model: FairModel) -> list[str]:
    """Return what the numbers rest on, besides κ."""
    found = [
        f"{name} was read off the training rows, and the theorem takes bins as fixed beforehand. "
        "Give edges in fit."
        for name in bins_read_off_rows(rows.cells.scheme)
    ]
    if rows.span.assumed_in_training and rows.classes is None:
        found.append(
            f"y lies in {rows.span}; that no other label lies outside is an assumption. Pass "
            "y_range= to state it."
        )
    if not Kernel.of(model).is_semidefinite:
        found.append(
            f"kernel={model.kernel!r} is positive semi-definite beyond the training rows, on which "
            "it was checked."
        )
    if rows.n_kernels > 1:
        found.append(
            f"the search chose among {rows.n_kernels} kernels, for which δ was divided; nothing "
            "else was tried on these rows."
        )
    return found
