"""How a fit ends: nothing half-fitted, and what the user should know of a success."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from gferm.exceptions import (
    ConstantModelWarning,
    InactiveConstraintWarning,
    SkippedComparisonWarning,
    warn_user,
)
from gferm.fairness.membership import Membership
from gferm.solver.projection import Solution

OF_THE_FEATURES = ("n_features_in_", "feature_names_in_")
ROUNDING = 1e-9
REMEDIES = {
    "projection": "the problem is badly conditioned. Use a larger alpha, fewer y_bins or s_bins, "
    "or solver='spectrum'.",
    "splitting": "the iteration stopped at max_iter={max_iter}. Use a larger max_iter, tol or "
    "alpha, or scale X.",
    "newton": "Newton's method stopped at max_iter={max_iter}, or where rounding let it go no "
    "further. Use a larger max_iter, tol or alpha, or scale X.",
    "libsvm": "libsvm came no closer, nor did max_iter={max_iter} steps of splitting after it. Use "
    "a larger max_iter, tol or alpha, or scale X.",
}


@contextmanager
def unchanged_on_error(estimator: BaseEstimator) -> Iterator[None]:
    """Leave an estimator as it was if fitting fails: never half-fitted."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def share_features(model: Any, other: Any) -> None:
    """Let another estimator know the features that one has read, and no others."""
    known = {name: vars(model)[name] for name in OF_THE_FEATURES if name in vars(model)}
    for name in OF_THE_FEATURES:
        other.__dict__.pop(name, None)
    other.__dict__.update(known)


def warn_about_fit(model: Any, solutions: Sequence[Solution]) -> None:
    """Warn of what the user should know about a fit that succeeded."""
    converged = model.duality_gap_ <= model.tol  # not if it is NaN
    epsilon = model.epsilon or 0.0
    inactive = epsilon > 0.0 and not model.active_ and model.contrasts_ is not None
    # the gap itself, as the first epsilon of a frontier is, was asked for on purpose
    if inactive and converged and epsilon > (1.0 + ROUNDING) * model.violation_:
        warn_user(
            f"epsilon={model.epsilon:g} is larger than the gap of the unconstrained model, "
            f"{model.violation_:.4g}: the constraint is not active and this is the plain "
            "model. Use a smaller epsilon to trade accuracy for fairness.",
            InactiveConstraintWarning,
        )
    constant = [k for k, one in enumerate(solutions) if one.active and one.constant]
    if constant:
        named = [str(model.classes_[k]) for k in constant] if len(solutions) > 1 else []
        of_these = f" of {', '.join(map(repr, named))} against the rest" if named else ""
        warn_user(
            f"epsilon={model.epsilon:g} leaves only the constant model{of_these}: its "
            f"{solutions[0].multipliers.size} contrasts use up every degree of freedom, or every "
            "one worth its cost. Use a larger epsilon, fewer y_bins or s_bins, a smaller alpha, "
            "more features or a richer kernel.",
            ConstantModelWarning,
        )
    if not converged:
        warn_user(
            f"The relative duality gap is {model.duality_gap_:.2g}, above tol={model.tol:g}: "
            f"{REMEDIES[model.solver_.method].format(max_iter=model.max_iter)}",
            ConvergenceWarning,
        )


def warn_of_cells_without_rows(model: Any, members: Membership | None) -> None:
    """Warn where the constraint says nothing: a group without rows of a class, a class left out."""
    constraint = model.contrasts_
    if members is None or constraint is None or model.epsilon is None:
        return
    cells = members.cells
    missing = [
        f"{label!r} in group {part.groups[group]!r}"
        for part, codes in zip(cells.partitions, members.group_codes, strict=True)
        for label, counts in zip(cells.label_bins.labels, part.counts, strict=True)
        for group in np.unique(codes[codes >= 0])
        if counts[group] == 0
    ]
    alone = [repr(block.label_bin) for block in constraint.blocks if not block.size]
    sentences = []
    if missing:
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        sentences.append(
            f"There are no rows of class {', '.join(missing[:5])}{more}: these cells are compared "
            "with nobody."
        )
    if alone:
        sentences.append(
            f"Class {', '.join(sorted(set(alone)))} is not constrained at all: at most one of its "
            f"groups has min_cell_size={model.min_cell_size} rows."
        )
    if sentences:
        warn_user(
            f"{' '.join(sentences)} Merge groups with s_bins, or see contrasts_.skipped.",
            SkippedComparisonWarning,
        )
