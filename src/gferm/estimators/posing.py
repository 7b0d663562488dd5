"""From what a user passes to `fit` to a learning problem.

X, y, weights ──> rows that count       checked, aligned, weighted
attributes    ──> columns ──> cells     who is compared with whom
all of it     ──> LearningProblem
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import _check_sample_weight, validate_data

from gferm.arrays import Array
from gferm.arrays.device import CPU, Device
from gferm.arrays.foreign import as_numpy, device_for
from gferm.exceptions import NothingToCompareError
from gferm.fairness.cells import Cells
from gferm.fairness.comparison import Comparison, no_contrasts
from gferm.fairness.constraint import Constraint
from gferm.fairness.membership import Membership, require_every_row_in_a_bin
from gferm.fairness.sensitive import SensitiveColumn, missing_error, read_sensitive_features
from gferm.features.base import RowFeatures
from gferm.features.kernel import Kernel
from gferm.features.landmarks import Landmarks
from gferm.features.space import FunctionSpace
from gferm.losses import as_loss
from gferm.solver.choice import LIBSVM, Settings
from gferm.solver.problem import LearningProblem

Columns = tuple[SensitiveColumn, ...]
OR_PLAIN = "or set epsilon=None to train without a fairness constraint on purpose"


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows with positive weight, ready to be compared and learned from.

    Attributes
    ----------
    X, y : the rows that count
    X_all : all rows
    weight : array or None
    kept : array of bool of shape (n_samples,), or None
        Which of the user's rows these are; None for all of them.
    device : Device
        Where to compute.
    """

    X: Any
    X_all: Any
    y: npt.NDArray[Any]
    weight: Array | None
    kept: npt.NDArray[np.bool_] | None
    device: Device = CPU

    def features(
        self, space: FunctionSpace, landmarks: Landmarks | None, **options: Any
    ) -> RowFeatures:
        """Return the rows as the solver takes them."""
        return space.features(
            self.X,
            self.weight,
            landmarks=landmarks,
            device=self.device,
            X_all=self.X_all,
            kept=self.kept,
            **options,
        )


def read_rows(model: Any, X: Any, y: Any, sample_weight: Any, **checks: Any) -> TrainingRows:
    """Check what was passed to the `fit` of a fair model, and drop rows of weight zero."""
    kernel, device = Kernel.of(model), device_for(model.device, X)
    X, y = validate_rows(
        model,
        as_numpy(X),
        as_numpy(y),
        dtype=kernel.dtype,
        accept_sparse=kernel.accept_sparse,
        y_numeric=not model.labels.are_classes,
        **checks,
    )
    weight = read_weight(as_numpy(sample_weight), X)
    rows = TrainingRows(X, X, y, weight, None, device)
    if weight is not None and not weight.all():
        kept = weight > 0
        rows = replace(rows, X=kernel.part(X, kept), y=y[kept], weight=weight[kept], kept=kept)
    kernel.require_suitable(rows.X)
    return replace(rows, y=model.labels.check(rows.y))


@dataclass(frozen=True, eq=False)
class PosedRows:
    """The learning problem of some rows.

    Attributes
    ----------
    problem : LearningProblem
    members : Membership or None
        Which row is in which cell; None when nobody is compared.
    y : array of shape (n_samples,)
        The labels that count.
    mass : float
        Σ w, the number of rows without weights.
    """

    problem: LearningProblem
    members: Membership | None
    y: npt.NDArray[Any]
    mass: float

    @property
    def cells(self) -> Cells | None:
        """The table of cells."""
        return None if self.members is None else self.members.cells


def pose_rows(model: Any, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> PosedRows:
    """Read what was passed to `fit`, and write the learning problem."""
    plain = model.epsilon is None and sensitive_features is None
    rows = read_rows(model, X, y, sample_weight, ensure_min_samples=1 if plain else 2)
    space = FunctionSpace.of(model)
    landmarks = space.find_landmarks(rows.X, getattr(model, "feature_names_in_", None))
    targets = model.labels.targets(rows.y)
    attributes = None if plain else read_sensitive(sensitive_features, rows, like=(X, y))
    members, constraint, columns = compare_for(model, rows, attributes, targets)
    problem = LearningProblem(
        rows.features(space, landmarks, in_rows=model.solver == LIBSVM),
        targets,
        constraint,
        columns,
        settings_of(model),
    )
    mass = float(rows.y.size if rows.weight is None else rows.weight.sum())
    return PosedRows(problem, members, rows.y, mass)


def comparison_of(model: Any, y: npt.NDArray[Any]) -> Comparison:
    """Return who is compared with whom, with the bins that these labels settle."""
    return Comparison.of(model, y_bins=model.labels.bins(y, model.y_bins))


def compare_for(
    model: Any, rows: TrainingRows, attributes: Columns | None, targets: Sequence[Array]
) -> tuple[Membership | None, Constraint | None, sparse.csr_array]:
    """Compare rows as a model asks; nobody if no attributes are given."""
    if attributes is not None:
        comparison = comparison_of(model, rows.y)
        try:
            return compare_rows(comparison, rows.y, attributes, rows.weight, targets)
        except NothingToCompareError:
            if model.epsilon is not None:  # else nothing was to be constrained
                raise
    return None, None, no_contrasts(rows.y.size)


def compare_rows(
    comparison: Comparison,
    y: npt.NDArray[Any],
    attributes: Any,
    weight: Array | None,
    targets: Sequence[Array],
) -> tuple[Membership, Constraint, sparse.csr_array]:
    """Settle the bins on rows, all of which must lie in them, and build the constraint."""
    members = comparison.sort(y, attributes, weight)
    require_every_row_in_a_bin(members, y, attributes)
    found = members, *comparison.constrain(members, targets[0] if targets else None)
    if comparison.match == "residual" and len(targets) > 1:
        raise ValueError(
            "match='residual' compares f − y with y = ±1, which more than two classes do not "
            "have; use match='prediction'."
        )
    return found


def settings_of(model: Any) -> Settings:
    """Return how the model's learning problem is to be solved."""
    loss = as_loss(model.loss, model.labels.losses)
    how = model.solver, model.tol, model.max_iter
    return Settings(loss, model.alpha, model.epsilon, *how)


def validate_rows(estimator: Any, X: Any, y: Any, **checks: Any) -> tuple[Any, npt.NDArray[Any]]:
    """Validate X and y, and name the columns of X that are not numbers."""
    try:
        X_checked, y_checked = validate_data(estimator, X, y, **checks)
        if checks.get("y_numeric") and y_checked.dtype.kind in "US":  # scikit-learn lets text pass
            y_checked = y_checked.astype(np.float64)
    except (TypeError, ValueError) as error:
        columns = _columns_that_are_not_numbers(X)
        labels = np.asarray(y)
        if checks.get("y_numeric") and _are_words(labels):
            raise ValueError(
                f"y has labels that are not numbers, such as {str(labels.flat[0])!r}: a "
                "regressor learns numbers. Use FairClassifier to learn classes."
            ) from error
        if not checks.get("y_numeric") and labels.dtype.kind == "O" and labels.ndim == 1:
            require_no_missing(labels)
        if not columns:
            raise
        raise ValueError(
            f"X has columns that are not numbers: {columns}. Encode them first, for example with "
            "OneHotEncoder in a ColumnTransformer."
        ) from error
    return X_checked, y_checked


def require_no_missing(y: npt.NDArray[Any]) -> None:
    """Refuse labels that are None, NaN or pandas' NA; ``y`` holds objects."""
    missing = [
        value is None or type(value).__name__ == "NAType" or bool(value != value) for value in y
    ]
    if any(missing):
        raise ValueError(
            f"y has {sum(missing)} missing values, the first in row {missing.index(True)}; drop "
            "these rows, or give 'unknown' a class of its own."
        )


def read_label(y: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Read classes or numbers, none missing; numbers kept as objects become numbers."""
    if y.dtype.kind != "O":
        return y
    require_no_missing(y)
    if all(isinstance(value, (Real, np.bool_)) for value in y):
        numbers = np.asarray(y.tolist())  # bool, int or float, as the objects are
        return numbers if numbers.dtype.kind in "biuf" else y.astype(np.float64)
    return np.asarray([str(value) for value in y])


def read_weight(sample_weight: Any, X: Any) -> Array | None:
    """Check sample_weight against the rows."""
    if sample_weight is None:
        return None
    weight: Array = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    if not weight.any():
        raise ValueError("sample_weight is zero everywhere; give at least one row a weight.")
    return weight


def read_sensitive(sensitive_features: Any, rows: TrainingRows, like: Sequence[Any]) -> Columns:
    """Read the sensitive attributes of the rows that count."""
    if sensitive_features is None:
        raise missing_error(f"fit(X, y, sensitive_features=...), one row per sample, {OR_PLAIN}")
    n_samples = rows.y.size if rows.kept is None else rows.kept.size
    columns = read_sensitive_features(sensitive_features, n_samples, like=like)
    if rows.kept is None:
        return columns
    return tuple(column.keep(rows.kept) for column in columns)


def _columns_that_are_not_numbers(X: Any) -> list[str]:
    if not hasattr(X, "columns"):
        return []
    return [str(name) for name in X.columns if not _are_numbers(np.asarray(X[name]))]


def _are_words(values: npt.NDArray[Any]) -> bool:
    """Return whether these are texts, not all of which are numbers."""
    texts = values.dtype.kind in "OUST" and all(isinstance(value, str) for value in values.flat)
    return texts and not _are_numbers(values)


def _are_numbers(values: npt.NDArray[Any]) -> bool:
    if values.dtype.kind in "mM":  # a date would become its count of nanoseconds
        return False
    try:
        values.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True
