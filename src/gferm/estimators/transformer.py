"""What both fair transformers share: the bins they take, and rows → cells → contrasts.

A transformer sees labels of any kind, only to compare people of equal label with each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions

from gferm.arrays.foreign import as_numpy
from gferm.estimators.base import compare_rows
from gferm.estimators.reading import read_label, read_weight, validate_rows
from gferm.exceptions import ConstantModelWarning, warn_user
from gferm.fairness.bins import MAX_AUTO_CATEGORIES, Bins, BinsLike
from gferm.fairness.cells import Cells
from gferm.fairness.comparison import Comparison
from gferm.fairness.constraint import Constraint
from gferm.fairness.sensitive import missing_error, read_sensitive_features

AUTO_LABEL_BINS = 10


@dataclass(frozen=True, eq=False)
class ComparedRows:
    """All rows, and the contrasts of those with positive weight.

    Attributes
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    columns : sparse array of shape (n_samples, m)
        C, with empty rows for rows of weight zero.
    cells, constraint : of the rows with positive weight only
    """

    X: Any
    columns: sparse.csr_array
    cells: Cells
    constraint: Constraint

    def warn_that_nothing_is_left(self, what: str) -> None:
        """Warn that only constants are fair."""
        warn_user(
            f"The {self.constraint.n_contrasts} contrasts use up the {what}: only constant models "
            "are fair. Use fewer y_bins or s_bins, more features or a richer kernel.",
            ConstantModelWarning,
        )


class FairTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base of FairProjection and FairKernelProjection; see there for the parameters."""

    y_bins: Any
    s_bins: Any
    intersectional: bool
    min_cell_size: int

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "y_bins": [
            StrOptions({"auto"}),
            Interval(Integral, 1, None, closed="left"),
            "array-like",
            Bins,
        ],
        "s_bins": [str, Interval(Integral, 1, None, closed="left"), "array-like", Bins, dict],
        "intersectional": ["boolean"],
        "min_cell_size": [Interval(Integral, 1, None, closed="left")],
    }

    def _compare(
        self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, **checks: Any
    ) -> ComparedRows:
        """Check all that was given to `fit` and settle who is compared with whom."""
        rows, label = validate_rows(self, as_numpy(X), as_numpy(y), ensure_min_samples=2, **checks)
        label = read_label(label)
        if sensitive_features is None:
            raise missing_error(
                "fit(X, y, sensitive_features=...), one row per sample. In a Pipeline, call "
                "set_config(enable_metadata_routing=True) of sklearn and "
                f"{type(self).__name__}(...).set_fit_request(sensitive_features=True)"
            )
        attributes = read_sensitive_features(sensitive_features, label.size, like=(X, y))
        weight = read_weight(as_numpy(sample_weight), rows)
        # A row of weight zero is no row …
        kept = np.ones(label.size, dtype=bool) if weight is None else weight > 0.0
        members, constraint, columns = compare_rows(
            Comparison.of(self, y_bins=label_bins(self.y_bins, label[kept])),
            label[kept],
            tuple(column.keep(kept) for column in attributes),
            None if weight is None else weight[kept],
            (),
        )
        # … but it has a representation like any other.
        place = sparse.eye_array(label.size, format="csr")[:, np.flatnonzero(kept)]
        return ComparedRows(rows, (place @ columns).tocsr(), members.cells, constraint)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def label_bins(y_bins: BinsLike, y: npt.NDArray[Any]) -> BinsLike:
    """Settle what "auto" means for a label: its classes, or uniform bins of many numbers."""
    if not isinstance(y_bins, str):
        return y_bins
    many = y.dtype.kind in "iuf" and np.unique(y).size > MAX_AUTO_CATEGORIES
    return AUTO_LABEL_BINS if many else y_bins
