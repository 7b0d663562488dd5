"""The exact accuracy–fairness frontier: every epsilon from one factorisation, of rows or of sums.

The solution is piecewise linear in epsilon (solver/path.py), so a handful of breakpoints holds all
of it. Between two of them coefficients, predictions and gaps are linear interpolations.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone

from gferm.arrays import Array
from gferm.estimators.agreement import require_same_parameters
from gferm.estimators.base import (
    FairModel,
    Learned,
    accept_solutions,
    check_parameters,
    values_of_several,
)
from gferm.estimators.messages import share_features, warn_about_fit
from gferm.estimators.posing import pose_rows
from gferm.estimators.regressor import FairRegressor
from gferm.estimators.streaming import Stream, pose_stream
from gferm.exceptions import UnreachableEpsilonError
from gferm.fairness.cells import Cells
from gferm.fairness.constraint import Constraint
from gferm.fairness.sensitive import missing_error
from gferm.losses import LOSSES, REGRESSION_LOSSES, as_loss
from gferm.solver.problem import TracedPath
from gferm.solver.projection import certify, require_met
from gferm.solver.reduction import Reduction


def frontier(
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    **params: Any,
) -> Frontier:
    """Trace the fair models of every epsilon, from the plain one to the fairest.

    `Frontier.of` does the same with the sums of a model that has learned chunk by chunk.

    Parameters
    ----------
    X, y, sensitive_features, sample_weight
        As in `FairRegressor.fit`.
    **params
        Constructor arguments of `FairRegressor`, but for ``epsilon``.

    Returns
    -------
    Frontier

    Examples
    --------
    >>> from gferm import frontier
    >>> from gferm.datasets import make_fair_regression
    >>> X, y, s = make_fair_regression(300, random_state=0, return_X_y=True)
    >>> path = frontier(X, y, sensitive_features=s, kernel="linear", y_bins=1)
    >>> model = path.at(path.epsilons[0] / 2)
    >>> bool(abs(model.violation_ - path.epsilons[0] / 2) < 1e-9)
    True
    """
    if "epsilon" in params:
        raise ValueError("frontier() covers every epsilon; leave the argument out.")
    model = FairRegressor(**params)
    check_parameters(model)
    _require_square_loss(model)
    posed = pose_rows(model, X, y, sensitive_features, sample_weight)
    assert posed.cells is not None
    path = posed.problem.trace()
    return Frontier(model, Learned.of(posed.problem, posed.cells), path, posed.mass)


@dataclass(frozen=True, eq=False)
class Frontier:
    """All fair models of one learning problem.

    Attributes
    ----------
    model : FairRegressor
        The parameters that the models share.
    learned : Learned
        Features, constraint and cells that they share.
    path : TracedPath
        The solver's breakpoints.
    mass : float
        Σ w, the number of rows without weights.

    Notes
    -----
    A frontier of kernel models keeps the training rows, and for every row a coefficient of the
    plain model and of each contrast: whoever has its file can work out who was in which group.
    Linear models and landmarks keep nothing of the kind.
    """

    model: FairRegressor
    learned: Learned
    path: TracedPath
    mass: float

    @classmethod
    def of(cls, model: FairRegressor) -> Frontier:
        """Trace the frontier of all rows that a model has learned from chunk by chunk.

        The frontier follows from the sums that the model keeps; no row is read again.

        Parameters
        ----------
        model : FairRegressor
            That has learned by `partial_fit`, `gferm.streaming.fit_stream` or
            `gferm.distributed.fit`, with ``sensitive_features``. Its epsilon does not matter: with
            None it can learn where 0 cannot be reached.

        Returns
        -------
        Frontier

        Examples
        --------
        >>> import numpy as np
        >>> from gferm import FairRegressor, Frontier, frontier
        >>> from gferm.datasets import make_fair_regression
        >>> X, y, s = make_fair_regression(300, random_state=0, return_X_y=True)
        >>> model = FairRegressor(kernel="linear", y_bins=1, s_bins="auto", epsilon=None)
        >>> for rows in np.array_split(np.arange(300), 3):
        ...     model = model.partial_fit(X[rows], y[rows], sensitive_features=s[rows])
        >>> whole = frontier(X, y, sensitive_features=s, kernel="linear", y_bins=1)
        >>> bool(np.allclose(Frontier.of(model).epsilons, whole.epsilons))
        True
        """
        if not isinstance(model, FairRegressor) or not hasattr(model, "stream_"):
            raise ValueError(
                f"model={type(model).__name__}(...) keeps no sums of its rows: give a "
                "FairRegressor that has learned by partial_fit, gferm.streaming.fit_stream or "
                "gferm.distributed.fit, or call frontier(X, y, ...)."
            )
        stream: Stream = model.stream_
        _require_square_loss(model)
        if stream.agreement.scheme is None:
            raise missing_error(
                "every chunk its sensitive_features",
                ": the model has learned without any, so there is nobody to compare",
            )
        template = clone(model)  # the model may go on learning
        share_features(model, template)
        require_same_parameters(template, stream.agreement)
        problem, cells = pose_stream(template, stream, constrained=True)
        path, mass = problem.trace(), float(stream.summary.moments.mass)
        return cls(template, Learned.of(problem, cells), path, mass)

    def __len__(self) -> int:
        return len(self.epsilons)

    def __repr__(self) -> str:
        return (
            f"<Frontier: {len(self)} breakpoints, epsilon from {self.epsilons[0]:.4g} (plain) "
            f"to {self.epsilons[-1]:.4g}>"
        )

    @property
    def epsilons(self) -> Array:
        """Decreasing: from the gap of the plain model to 0, or to the smallest there is."""
        return self.path.epsilons

    @property
    def nu(self) -> Array:
        """The solver's ν at the breakpoints, half the marginal costs of the contrasts."""
        return self.path.multipliers

    @property
    def contrasts(self) -> Constraint:
        """The constraint: compared and skipped pairs."""
        assert self.learned.constraint is not None
        return self.learned.constraint

    @property
    def cells(self) -> Cells:
        """Who is compared with whom, with counts."""
        assert self.learned.cells is not None
        return self.learned.cells

    @property
    def reduction(self) -> Reduction:
        """The problem in m numbers."""
        return self.path.reduction

    @property
    def multipliers(self) -> Array:
        """Marginal costs of the contrasts at the breakpoints, (n_breakpoints, m)."""
        return 2.0 * self.nu

    @cached_property
    def mean_squared_errors(self) -> Array:
        """Training error at the breakpoints; it need not be monotone, as `objectives` are."""
        return self.reduction.risk(self.nu) / self.mass

    def objectives_at(self, epsilons: Any) -> Array:
        """Return Σ (y − f)² + alpha ‖w‖² for any epsilons: convex and decreasing."""
        return self.reduction.objective(self._solve(np.asarray(epsilons, dtype=float)))

    @cached_property
    def objectives(self) -> Array:
        """Σ (y − f)² + alpha ‖w‖² at the breakpoints, increasing."""
        return self.reduction.objective(self.nu)

    @cached_property
    def gaps(self) -> Array:
        """Signed gap of every compared pair at the breakpoints, (n_breakpoints, n_pairs)."""
        reached = self.reduction.contrasts_of(self.reduction.coefficients(self.path.multipliers))
        return np.array([self.contrasts.gaps_of(row) for row in reached])

    def at(self, epsilon: float) -> FairRegressor:
        """Return the fitted model for one epsilon; nothing is refitted.

        An epsilon above the gap of the plain model gives the plain model, with ``active_`` False
        and an InactiveConstraintWarning.
        """
        if np.ndim(epsilon):
            raise ValueError(f"epsilon={epsilon!r} must be one number; predict() takes several.")
        return self._model(epsilon, self._solve(np.array([epsilon]))[0])

    def predict(self, X: Any, epsilons: Any = None) -> Array:
        """Predict with several models of the frontier, evaluating the kernel once.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        epsilons : array of shape (n_models,), default=None
            The breakpoints by default.

        Returns
        -------
        array of shape (n_models, n_samples)
        """
        asked = self.epsilons if epsilons is None else np.atleast_1d(epsilons)
        x = self.reduction.coefficients(self._solve(asked))
        features = self.learned.features
        coefficients, intercepts = features.expand(
            self.reduction.restore(x), self.reduction.intercepts(x)
        )
        return values_of_several(self.model, X, coefficients, intercepts, features.support)

    def _solve(self, epsilons: Array) -> Array:
        """Interpolate the multipliers."""
        epsilons = np.asarray(epsilons)
        if epsilons.dtype.kind not in "iuf" or epsilons.size == 0 or not (epsilons >= 0).all():
            raise ValueError(f"epsilon must be a number of 0 or larger, got {epsilons.tolist()}.")
        smallest = self.epsilons[-1]
        if (epsilons < smallest).any():
            raise UnreachableEpsilonError(
                f"epsilon={epsilons.min():g} cannot be reached: this frontier ends at "
                f"{smallest:.6g}, where the model has no freedom left."
            )
        return self.path.at(epsilons)

    def _model(self, epsilon: float, multipliers: Array) -> FairRegressor:
        model: FairRegressor = clone(self.model).set_params(epsilon=float(epsilon))
        share_features(self.model, model)
        solution = certify(self.reduction, self.contrasts, float(epsilon), multipliers)
        require_met(solution.violation, float(epsilon), float(self.epsilons[0]), self.contrasts)
        accept_solutions(model, self.learned, [solution])
        warn_about_fit(model, [solution])
        return model


def _require_square_loss(model: FairModel) -> None:
    if as_loss(model.loss, REGRESSION_LOSSES) != LOSSES["squared"]:
        raise ValueError(
            f"loss={model.loss!r}: only the square loss has an exact frontier. Fit FairRegressor "
            "for each epsilon of interest instead."
        )
