"""Reading a model and held-out rows: the same cells as in training, the same predictions as served.

A fair model is a FairRegressor or FairClassifier, or the best_estimator_ of a search; it brings its
cells, and its values f, which the constraint is about. For anything else with predict, cells are
made of y_bins and s_bins, and f is what it predicts, if these are numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from gferm.arrays import Array
from gferm.arrays.foreign import as_numpy
from gferm.bounds.span import Span, choose_span
from gferm.estimators.base import FairModel, model_values
from gferm.estimators.posing import read_label
from gferm.fairness.bins import Bins, BinsLike, as_bins
from gferm.fairness.cells import Cells, CellScheme, SensitiveBins
from gferm.fairness.comparison import Comparison
from gferm.fairness.membership import Membership, sort_rows
from gferm.fairness.sensitive import SensitiveColumn, match_by_name, read_sensitive_features
from gferm.features.kernel import Kernel
from gferm.metrics.reading import read_labels, require_groups, require_same_length


@dataclass(frozen=True, eq=False)
class HeldOutRows:
    """Held-out rows in the cells of a model, with its predictions.

    Attributes
    ----------
    model : FairModel or None
        None for a predictor of another kind.
    X : array or sparse matrix
        As a fair model takes it.
    y, predictions : arrays of shape (n_samples,)
    classes : array or None
        Those of the model, if it has any.
    values : array of shape (n_models, n_samples) or None
        f; None if the predictions are classes of a predictor of another kind.
    membership : Membership
    span : Span
        The range of y, and of f once it is clipped.
    familiar : int
        Rows that equal a training row, where these are known.
    n_kernels : int
        Kernels that a search chose from.
    """

    model: FairModel | None
    X: Any
    y: npt.NDArray[Any]
    predictions: npt.NDArray[Any]
    classes: npt.NDArray[Any] | None
    values: Array | None
    membership: Membership
    span: Span
    familiar: int
    n_kernels: int

    @property
    def cells(self) -> Cells:
        """The table of these rows."""
        return self.membership.cells

    @property
    def model_names(self) -> list[str]:
        """The class that each model tells from the rest; empty where there is one model."""
        n_models = 0 if self.values is None else len(self.values)
        if self.classes is None or n_models < 2:
            return [""] * n_models
        return [str(label) for label in self.classes]

    @property
    def hits(self) -> list[tuple[str, Array]]:
        """What rates are rates of, each with its class if it has one.

        The prediction falls into the bin of the label. But a single bin without ends holds every
        prediction: there it is, of classes, that each of them is predicted, but the first of two
        (demographic parity); of numbers there is nothing to count.
        """
        bins = self.cells.label_bins
        if not bins.holds_everything:
            hit = np.asarray(bins.assign(self.predictions) == self.membership.label_codes)
            return [("", hit.astype(float))]
        if self.classes is None:
            return []
        asked = self.classes[1:] if self.classes.size == 2 else self.classes
        return [(str(label), (self.predictions == label).astype(float)) for label in asked]

    @property
    def targets(self) -> Array | None:
        """What f is compared with: y, or ±1 where a classifier matches residuals."""
        if self.classes is None:
            return None if self.values is None else np.asarray(self.y, dtype=float)[None, :]
        if self.model is None or self.model.match != "residual":
            return None
        return np.where(self.y == self.classes[1], 1.0, -1.0)[None, :]

    @property
    def outside(self) -> int:
        """Rows in no cell, but for classes left out on purpose."""
        in_no_group = np.any([codes < 0 for codes in self.membership.group_codes], axis=0)
        in_no_bin = (self.membership.label_codes < 0) & (not self.cells.label_bins.selective)
        return int((in_no_group | in_no_bin).sum())


def read_held_out(
    model: Any,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    y_bins: BinsLike | None,
    s_bins: SensitiveBins | None,
    intersectional: bool | None,
    y_range: tuple[float, float] | None,
) -> HeldOutRows:
    """Check everything and sort the rows."""
    if not hasattr(model, "predict"):
        raise ValueError(f"model={model!r:.60} has no predict; pass a fitted predictor.")
    inner = getattr(model, "best_estimator_", model)
    fair = inner if isinstance(inner, FairModel) else None
    if fair is not None:
        check_is_fitted(fair)
        X = as_numpy(X)
    predictions = read_labels(as_numpy(model.predict(X)), "model.predict(X)")
    label = read_labels(read_label(column_or_1d(as_numpy(y))), "y")
    require_same_length(label, predictions)
    columns = read_sensitive_features(sensitive_features, label.size, like=[X, y])
    classes = getattr(inner, "classes_", None)
    bins = {"y_bins": y_bins, "s_bins": s_bins, "intersectional": intersectional}
    if fair is not None and fair.cells_ is not None:
        membership = _sort_as_trained(fair.cells_, label, columns, bins)
    else:
        membership = _sort_into_own_bins(classes, label, columns, **bins)  # type: ignore[arg-type]
    _require_rows_in_cells(membership.cells, columns)
    if classes is not None:
        _require_known_classes(label, classes)
    values = _values(fair, X, predictions, classes)
    if classes is None and (values is None or label.dtype.kind not in "biuf"):
        raise ValueError(
            "y or the predictions are words, but the model has no classes_; wrap it in a "
            "scikit-learn classifier, or code the classes as numbers."
        )
    rows = X if fair is None else _as_the_model_takes(fair, X)
    return HeldOutRows(
        model=fair,
        X=rows,
        y=label,
        predictions=predictions,
        classes=None if classes is None else np.asarray(classes),
        values=values,
        membership=membership,
        span=choose_span(membership.scheme.label_bins, label if classes is None else None, y_range),
        familiar=0 if fair is None else _familiar(fair, rows),
        n_kernels=_kernels_tried(model),
    )


def _sort_as_trained(
    trained: Cells, y: npt.NDArray[Any], columns: tuple[SensitiveColumn, ...], given: dict[str, Any]
) -> Membership:
    """Sort rows as the model's training rows were sorted."""
    named = [name for name, value in given.items() if value is not None]
    if named:
        raise ValueError(
            f"{', '.join(named)} cannot be chosen for a model that has cells of its own: the "
            "certificate is about these. Leave the argument out."
        )
    return sort_rows(trained.scheme, y, match_by_name(columns, trained.scheme.names))


def _sort_into_own_bins(
    classes: Any,
    y: npt.NDArray[Any],
    columns: Sequence[SensitiveColumn],
    *,
    y_bins: BinsLike | None,
    s_bins: SensitiveBins | None,
    intersectional: bool | None,
) -> Membership:
    """Sort rows for a predictor without cells, and refuse bins that are read off these rows."""
    if y_bins is None and classes is not None:
        y_bins = Bins.categories(np.asarray(classes).tolist())
    if y_bins is None:
        raise ValueError(
            "y_bins is missing: this model has no bins of its own. Give increasing edges, "
            "Bins.categories([...]), or 1 to compare whole groups."
        )
    comparison = Comparison(
        y_bins=as_bins(y_bins, "y_bins"),
        s_bins="auto" if s_bins is None else s_bins,
        intersectional=intersectional is None or intersectional,
    )
    rows = comparison.sort(y, columns)
    for name in bins_read_off_rows(rows.scheme):
        raise ValueError(
            f"{name} would be read off the rows given, and intervals do not hold for cells "
            f"that depend on their own rows. Give {name} as edges or Bins.categories([...])."
        )
    return rows


def bins_read_off_rows(scheme: CellScheme) -> list[str]:
    """List the arguments, y_bins and s_bins, whose bins were read off the rows they sort."""
    named = [("y_bins", scheme.label_bins)]
    named += [("s_bins", bins) for bins in scheme.sensitive_bins if not bins.continuous]
    return [name for name, bins in named if not (bins.explicit or bins.holds_everything)]


def _require_rows_in_cells(cells: Cells, columns: Sequence[SensitiveColumn]) -> None:
    """Refuse rows of which none can be judged."""
    require_groups(cells)
    if not any(part.counts.any() for part in cells.partitions):
        values = {column.name: np.unique(column.values).tolist()[:10] for column in columns}
        raise ValueError(
            f"sensitive_features and y leave no row in any cell: the attributes are {values}, the "
            f"groups {[part.groups for part in cells.partitions]}, the bins of the label "
            f"{cells.label_bins.labels}. Pass them coded as in training."
        )


def _values(
    fair: FairModel | None, X: Any, predictions: npt.NDArray[Any], classes: Any
) -> Array | None:
    if fair is not None:
        return model_values(fair, X)
    if classes is None and predictions.dtype.kind in "biuf":
        return np.asarray(predictions, dtype=float)[None, :]
    return None


def _as_the_model_takes(model: FairModel, X: Any) -> Any:
    return validate_data(model, X, accept_sparse=Kernel.of(model).accept_sparse, reset=False)


def _require_known_classes(y: npt.NDArray[Any], classes: Any) -> None:
    unknown = [label for label in np.unique(y).tolist() if label not in np.asarray(classes)]
    if unknown:
        raise ValueError(
            f"y has the classes {unknown[:10]}, but the model knows {np.asarray(classes).tolist()};"
            " code them as in training, or drop these rows."
        )


def _familiar(model: FairModel, X: Any) -> int:
    """Count rows that equal a training row; refuse X if it is the training rows."""
    known = getattr(model, "X_fit_", None)
    if known is None or hasattr(known, "tocsr") or hasattr(X, "tocsr"):
        return 0
    if known.shape == X.shape and np.array_equal(known, X):
        raise ValueError(
            "X is the rows the model was trained on (X_fit_). A certificate needs rows it never "
            "saw: split them off with train_test_split before fit."
        )
    seen = {row.tobytes() for row in np.ascontiguousarray(known, dtype=np.float64)}
    return sum(row.tobytes() in seen for row in np.ascontiguousarray(X, dtype=np.float64))


def _kernels_tried(model: Any) -> int:
    """Return how many kernels a search chose from; alpha and epsilon stay in the same ball."""
    results = getattr(model, "cv_results_", None)
    if results is None:
        return 1
    settings = (
        {name: value for name, value in params.items() if name not in ("alpha", "epsilon")}
        for params in results["params"]
    )
    return len({repr(sorted(setting.items())) for setting in settings})
