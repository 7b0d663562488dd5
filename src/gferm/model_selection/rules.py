"""Which setting of a search to keep: rules on errors e_i and unfairness u_i of held-out folds.

    lowest_error      argmin e_i                                               the naive rule
    fairest_within    argmin u_i  subject to  e_i ≤ min e / (1 − tolerance)    the paper's NVP
    pareto_set        all i that no j beats in one measure without losing in the other

The first two are the ``refit=`` of a search: called with ``cv_results_``, they give an index. They
are classes with the names of functions, so that they print as they are written, compare, pickle
and are copied with the search that holds them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from gferm.arrays import Array, Codes
from gferm.model_selection.results import read_errors, read_unfairness

ROUNDING = 1e-12  # 1 − 0.90 exceeds (1 − 0.91) / 0.9 by rounding only; accuracies are like that


@dataclass(frozen=True)
class fairest_within:
    """The fairest of the settings whose error is close to the best: the paper's NVP.

    Shortlists every setting with error ≤ best / (1 − tolerance), then takes the fairest of them.
    Of equally fair settings it takes the one of lower error, then the one that comes first.

    Parameters
    ----------
    tolerance : float in [0, 1), default=0.1
        How far from the best error the shortlist goes; 0.1 goes up to best / 0.9.
    error, unfairness : str, default="mean_test_error" and "mean_test_dgf"
        Columns of ``cv_results_``: "mean_test_" and the scorer's name in ``scoring``. Both are
        better near 0; scorers negate such measures, so their absolute values are taken.
    greater_is_better : bool, default=False
        Whether ``error`` is a score whose best value is 1, such as r2, accuracy or roc_auc; the
        error is then 1 − score.

    Notes
    -----
    For GridSearchCV and RandomizedSearchCV. The halving searches of scikit-learn know one scorer
    only and ignore a callable ``refit``.

    Examples
    --------
    >>> from gferm import fairest_within
    >>> results = {"mean_test_error": [1.0, 1.1, 1.2], "mean_test_dgf": [0.3, 0.2, 0.1]}
    >>> fairest_within(tolerance=0.1)(results)  # 1.2 is more than 1 / 0.9
    1
    >>> fairest_within(tolerance=0.2)(results)
    2
    """

    tolerance: float = 0.1
    error: str = "mean_test_error"
    unfairness: str = "mean_test_dgf"
    greater_is_better: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.tolerance, Real) or not 0 <= self.tolerance < 1:
            raise ValueError(
                f"tolerance={self.tolerance!r} must be a number in [0, 1): 0.1 shortlists every "
                "setting whose error is at most best / 0.9."
            )

    def measures(self, cv_results: Mapping[str, Any]) -> tuple[Array, Array]:
        """Return error and unfairness of every setting, each at least 0 and NaN where missing."""
        errors = read_errors(cv_results, self.error, self.greater_is_better)
        return errors, read_unfairness(cv_results, self.unfairness)

    def limit(self, errors: npt.ArrayLike) -> float:
        """Return the largest error of a shortlist, best / (1 − tolerance)."""
        values = np.asarray(errors, dtype=float)
        return float(values[_best(values, self.error)] / (1.0 - self.tolerance))

    def shortlist(self, cv_results: Mapping[str, Any]) -> Codes:
        """Return the settings of nearly the best error, in the order of the search."""
        errors = read_errors(cv_results, self.error, self.greater_is_better)
        return np.flatnonzero(errors <= self.limit(errors) * (1.0 + ROUNDING))

    def __call__(self, cv_results: Mapping[str, Any]) -> int:
        """Return the index of the chosen setting."""
        errors, unfairness = self.measures(cv_results)
        shortlist = self.shortlist(cv_results)
        known = shortlist[np.isfinite(unfairness[shortlist])]
        if not known.size:
            raise ValueError(
                f"unfairness={self.unfairness!r} is NaN for all {shortlist.size} settings of the "
                "shortlist, so none can be called the fairest: in some fold there was nobody to "
                "compare. Give the scorer fewer bins (y_bins, s_bins), use fewer or stratified "
                f"folds, or raise tolerance={self.tolerance!r}."
            )
        return int(known[np.lexsort((errors[known], unfairness[known]))[0]])


@dataclass(frozen=True)
class lowest_error:
    """The setting of lowest error, however unfair: the naive rule.

    Parameters
    ----------
    error, greater_is_better
        As in `fairest_within`.

    Examples
    --------
    >>> from gferm.model_selection import lowest_error
    >>> lowest_error()({"mean_test_error": [1.2, 1.0, 1.1]})
    1
    """

    error: str = "mean_test_error"
    greater_is_better: bool = field(default=False, kw_only=True)

    def __call__(self, cv_results: Mapping[str, Any]) -> int:
        """Return the index of the chosen setting."""
        return _best(read_errors(cv_results, self.error, self.greater_is_better), self.error)


def pareto_set(errors: npt.ArrayLike, unfairness: npt.ArrayLike) -> Codes:
    """Return the settings that no other beats in one measure without losing in the other.

    Parameters
    ----------
    errors, unfairness : arrays of shape (n_settings,)
        Both better when smaller; a setting with a NaN is in no set.

    Returns
    -------
    array of indices
        By increasing error, so by decreasing unfairness; of equal settings the first.

    Examples
    --------
    >>> from gferm.model_selection import pareto_set
    >>> pareto_set([1.0, 2.0, 3.0, 2.5], [0.3, 0.1, 0.0, 0.2])
    array([0, 1, 2])
    """
    e, u = np.asarray(errors, dtype=float), np.asarray(unfairness, dtype=float)
    order = np.lexsort((u, e))
    order = order[np.isfinite(e[order]) & np.isfinite(u[order])]
    # whoever comes earlier has no larger error, so only a strictly fairer setting is unbeaten
    fairest_so_far = np.minimum.accumulate(np.concatenate([[np.inf], u[order]]))[:-1]
    unbeaten: Codes = order[u[order] < fairest_so_far]
    return unbeaten


def _best(errors: Array, column: str) -> int:
    if not np.isfinite(errors).any():
        raise ValueError(
            f"error={column!r} is NaN for all {errors.size} settings: every fit or score failed; "
            "search with error_score='raise' to see why."
        )
    return int(np.argmin(np.where(np.isfinite(errors), errors, np.inf)))
