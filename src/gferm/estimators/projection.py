"""FairProjection: fairness as a change of features; and what both fair transformers share.

After it, any linear model is fair on the training cells (epsilon = 0): the directions in which the
cells differ are gone, and no model can put them back. A transformer sees labels of any kind, only
to compare people of equal label with each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from gferm.arrays import Array
from gferm.arrays.foreign import as_numpy, back_to
from gferm.estimators.messages import unchanged_on_error
from gferm.estimators.posing import compare_rows, read_label, read_weight, validate_rows
from gferm.exceptions import ConstantModelWarning, warn_user
from gferm.fairness.bins import MAX_AUTO_CATEGORIES, Bins, BinsLike
from gferm.fairness.cells import Cells, SensitiveBins
from gferm.fairness.comparison import Comparison
from gferm.fairness.constraint import Constraint
from gferm.fairness.sensitive import missing_error, read_sensitive_features
from gferm.features.fair_features import contrast_directions, project_features, used_up

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


FLOATS = (np.float64, np.float32)


class FairProjection(OneToOneFeatureMixin, FairTransformer):  # type: ignore[misc]
    """Remove from the features what distinguishes the compared cells.

    ``transform(X) = X − X Q Qᵀ``, where Q spans the differences between the mean rows of compared
    cells. Any linear model after it, with or without an intercept, has equal mean predictions in
    all compared cells of the training rows: for each label bin, in every sensitive group.

    The projection is orthogonal in the units of X, so scale X before it, not after it.

    Parameters
    ----------
    y_bins : "auto", int, sequence of edges or Bins, default="auto"
        Bins of the label. "auto": the classes if the label is not numeric or has at most ten
        values, else ten uniform bins over the range of the rows given to `fit`. A number means
        that many uniform bins; 1 compares whole groups (demographic parity).
    s_bins : "auto", "continuous", int, edges, Bins, or dict of these by column, default="auto"
        Groups of the sensitive attribute, as in `FairRegressor`.
    intersectional : bool, default=True
        With several sensitive attributes: compare all their combinations (True) or the groups
        of each attribute on its own (False).
    min_cell_size : int, default=1
        Cells with fewer rows are not compared; see ``contrasts_.skipped``.

    Attributes
    ----------
    directions_ : array of shape (n_features, r)
        Q, an orthonormal basis of what is removed.
    cells_ : Cells
        Who was compared with whom, with counts.
    contrasts_ : Constraint
        Compared and skipped pairs.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    float32 rows stay float32, and cell means then agree to the rounding of float32; the arithmetic
    is in float64. Sparse rows are accepted, but projected rows are dense.

    Examples
    --------
    >>> from gferm import FairProjection
    >>> from gferm.datasets import make_fair_regression
    >>> from sklearn.linear_model import HuberRegressor
    >>> X, y, s = make_fair_regression(300, random_state=0, return_X_y=True)
    >>> projection = FairProjection(y_bins=1)
    >>> X_fair = projection.fit_transform(X, y, sensitive_features=s)
    >>> f = HuberRegressor().fit(X_fair, y).predict(X_fair)
    >>> bool(abs(f[s == 0].mean() - f[s == 1].mean()) < 1e-9)
    True
    """

    def __init__(
        self,
        *,
        y_bins: BinsLike = "auto",
        s_bins: SensitiveBins = "auto",
        intersectional: bool = True,
        min_cell_size: int = 1,
    ) -> None:
        self.y_bins = y_bins
        self.s_bins = s_bins
        self.intersectional = intersectional
        self.min_cell_size = min_cell_size

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(
        self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> FairProjection:
        """Find the directions in which the cells differ.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Numbers or classes.
        sensitive_features : array, Series, data frame or dict of columns
            The sensitive attributes, one row per sample; required.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the cell means.

        Returns
        -------
        self : FairProjection
        """
        with unchanged_on_error(self):
            compared = self._compare(
                X, y, sensitive_features, sample_weight, dtype=FLOATS, accept_sparse=("csr", "csc")
            )
            self.directions_ = contrast_directions(compared.X, compared.columns)
            self.cells_, self.contrasts_ = compared.cells, compared.constraint
        if used_up(self.directions_).all():
            compared.warn_that_nothing_is_left("features")
        return self

    def transform(self, X: Any) -> Array:
        """Project rows; the sensitive attributes are not needed.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        rows = validate_data(self, as_numpy(X), dtype=FLOATS, accept_sparse="csr", reset=False)
        projected: Array = back_to(project_features(rows, self.directions_), X)
        return projected

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
