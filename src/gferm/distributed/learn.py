"""fit: each partition is read where it is, and its sums are added up on the way here.

    labels, attributes ──survey──> bins of all rows, and how many rows there are   (outline.py)
    row numbers drawn  ──take────> landmarks: only these rows travel
    first partition    ──open────> names of the features, origin                   } Agreement
    every partition    ──sum─────> Summary ┐
    every partition    ──sum─────> Summary ┴─ + ──> … ──> one Summary ──> model

The tasks are in tasks.py. The client receives what is settled, and one Summary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from dask.delayed import delayed
from sklearn.base import clone

from gferm.cells import CellScheme
from gferm.distributed.outline import Survey, depends_on_rows, join_surveys, resolve
from gferm.distributed.parts import Part, align, n_attributes
from gferm.distributed.tasks import (
    Errand,
    Opening,
    add_up,
    open_part,
    stack,
    sum_part,
    survey_part,
    take_rows,
)
from gferm.estimators.outcome import speak_up, unchanged_on_error
from gferm.estimators.regressor import FairRegressor
from gferm.estimators.streaming import Agreement, Stream, can_stream, solve_stream
from gferm.exceptions import NothingToCompareError
from gferm.landmarks import draw_rows
from gferm.solver.summary import Summary

Model = TypeVar("Model", bound=FairRegressor)
FAN_IN = 8  # results that one task puts together
NO_ROWS = "There are no rows to learn from: every partition is empty, or has sample_weight zero."


def fit(
    model: Model, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
) -> Model:
    """Fit a model on the partitions of dask collections, where they are.

    The model is that of `FairRegressor.fit` on all rows: bins that are not given as such are
    settled on all rows, and uniform landmarks are the same rows for the same ``random_state``.
    Quantiles of more than 100 000 different values are those of an even selection of the values.

    Parameters
    ----------
    model : FairRegressor
        With loss="squared", and kernel="linear" or landmarks. It is fitted in place.
    X : dask array or data frame of shape (n_samples, n_features)
    y : dask array or Series of shape (n_samples,)
    sensitive_features : dask array, Series, data frame or dict of columns
        Required unless the model's epsilon is None.
    sample_weight : dask array or Series of shape (n_samples,), default=None

    Returns
    -------
    model
        The same object, fitted; `partial_fit` may go on from there.

    Raises
    ------
    ValueError
        If a partition is not as it should be, which the message numbers from 0, or if partitions
        cannot be matched.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from gferm import FairRegressor, distributed
    >>> from gferm.datasets import make_fair_regression
    >>> X, y, s = make_fair_regression(600, random_state=0, return_X_y=True)
    >>> parts = [da.from_array(np.asarray(one), chunks=100) for one in (X, y, s)]
    >>> model = FairRegressor(kernel="linear", y_bins=4)
    >>> model = distributed.fit(model, parts[0], parts[1], sensitive_features=parts[2])
    >>> whole = FairRegressor(kernel="linear", y_bins=4).fit(X, y, sensitive_features=s)
    >>> bool(np.allclose(model.coef_, whole.coef_))
    True
    """
    _require_learnable(model, sensitive_features)
    with unchanged_on_error(model):
        parts = align(X, y, sensitive_features, sample_weight)
        agenda = _look_ahead(model, parts, sensitive_features)
        opening = _open(model, agenda)
        agreement = _with_own_kernel(opening.agreement, model)
        model.n_features_in_ = opening.n_features
        model.__dict__.pop("feature_names_in_", None)
        if opening.names is not None:
            model.feature_names_in_ = opening.names
        summary = _sum(model, agreement, agenda.parts)
        model.stream_ = Stream(agreement, summary, len(parts))
        solution = solve_stream(model)
    speak_up(model, [solution])
    return model


@dataclass(frozen=True, eq=False)
class Agenda:
    """What is settled before any partition is summed.

    Attributes
    ----------
    parts : list of Part
    first : int
        Partitions before this one are known to hold no row.
    scheme : CellScheme or None
        None as well if the bins are explicit: they are what they are.
    landmarks : array or None
    """

    parts: Sequence[Part]
    first: int = 0
    scheme: CellScheme | None = None
    landmarks: Any = None


def _require_learnable(model: Any, sensitive_features: Any) -> None:
    """Refuse what cannot be learned from sums, before anything is read."""
    if not isinstance(model, FairRegressor):
        raise ValueError(
            f"{type(model).__name__} cannot be learned from sums; use a FairRegressor."
        )
    model._validate_params()
    try:
        can_stream(model)
    except AttributeError as error:  # for a method that is missing; this is a model that is wrong
        raise ValueError(str(error)) from None
    if sensitive_features is None and model.epsilon is not None:
        raise ValueError(
            "sensitive_features is missing: pass fit(model, X, y, sensitive_features=...), or set "
            "epsilon=None to train without a fairness constraint on purpose."
        )


def _look_ahead(model: FairRegressor, parts: Sequence[Part], s: Any) -> Agenda:
    """Settle bins and landmarks on all rows."""
    draws = _draws_landmarks(model)
    settles = s is not None and _settles_bins(model, n_attributes(s))
    if not draws and not settles:
        return Agenda(parts)
    shared = delayed(clone(model), traverse=False)
    look = delayed(survey_part, pure=False)
    survey = _tree([look(part.number, shared, *part.labels) for part in parts], join_surveys)
    found: Survey = survey.compute()
    rows = np.array(found.rows)
    if not rows.any():
        raise ValueError(NO_ROWS)
    scheme = None
    if settles:
        try:
            options = {name: getattr(model, name) for name in ("y_bins", "s_bins")}
            scheme = resolve(found, **options, intersectional=model.intersectional)
        except NothingToCompareError:
            if model.epsilon is not None:
                raise
            parts = [replace(part, sensitive_features=None) for part in parts]
    landmarks = _take_landmarks(model, parts, rows) if draws else None
    return Agenda(parts, int(np.argmax(rows > 0)), scheme, landmarks)


def _draws_landmarks(model: FairRegressor) -> bool:
    if model.kernel in ("linear", "precomputed"):
        model._find_landmarks(None)  # an error if it is to have some
        return False
    if not isinstance(model.landmarks, str):
        return False
    if model.landmarks != "uniform":
        raise ValueError(
            f"landmarks={model.landmarks!r} looks at all rows at once; use 'uniform', or give the "
            "points themselves."
        )
    return True


def _settles_bins(model: FairRegressor, n_columns: int) -> bool:
    """Say whether any bins depend on the rows."""
    specs: list[Any] = [model.s_bins]
    if isinstance(model.s_bins, Mapping):  # what it does not name is "auto"
        specs = [*model.s_bins.values(), *["auto"] * (n_columns - len(model.s_bins))]
    return depends_on_rows(model.y_bins, "y_bins") or any(
        depends_on_rows(spec, "s_bins") for spec in specs
    )


def _take_landmarks(model: FairRegressor, parts: Sequence[Part], rows: Any) -> Any:
    """Fetch the rows that `FairRegressor.fit` would draw."""
    assert model.n_landmarks is not None
    drawn = draw_rows(int(rows.sum()), model.n_landmarks, model.random_state)
    ends = np.cumsum(rows)
    shared, take = delayed(clone(model), traverse=False), delayed(take_rows, pure=False)
    found = [
        take(part.number, shared, part.X, part.y, part.sample_weight, own - end + n)
        for part, own, n, end in zip(
            parts, np.split(drawn, np.searchsorted(drawn, ends[:-1])), rows, ends, strict=True
        )
        if own.size
    ]
    return _tree(found, stack).compute()


def _open(model: FairRegressor, agenda: Agenda) -> Opening:
    """Let the first partition that has rows settle what is left."""
    shared = delayed(clone(model), traverse=False)
    settled = agenda.scheme, delayed(agenda.landmarks, traverse=False)
    look = delayed(open_part, pure=False)
    for part in agenda.parts[agenda.first :]:
        seen = look(part.number, shared, *settled, part.X, *part.labels)
        opening: Opening | None = seen.compute()
        if opening is not None:
            return opening
    raise ValueError(NO_ROWS)


def _with_own_kernel(agreement: Agreement, model: FairRegressor) -> Agreement:
    """Put the model's kernel into an agreement: a function comes back as a copy of itself."""
    kernel, found = model._kernel(), agreement.landmarks
    landmarks = None if found is None else replace(found, kernel=kernel)
    return replace(agreement, kernel=kernel, landmarks=landmarks)


def _sum(model: FairRegressor, agreement: Agreement, parts: Sequence[Part]) -> Summary:
    """Sum up every partition, and the sums."""
    worker = clone(model)
    names = ("n_features_in_", "feature_names_in_")
    vars(worker).update({name: vars(model)[name] for name in names if name in vars(model)})
    # a node of the graph, which travels once, and not with each task
    shared = delayed(Errand(worker, agreement), traverse=False)
    take = delayed(sum_part, pure=False)
    sums = [take(part.number, shared, part.X, *part.labels) for part in parts]
    summary: Summary = _tree(sums, add_up).compute()
    return summary


def _tree(results: list[Any], join: Callable[[Any], Any]) -> Any:
    """Put results together where they are, a few at a time."""
    put = delayed(join, pure=False)
    while len(results) > 1:
        results = [put(results[i : i + FAN_IN]) for i in range(0, len(results), FAN_IN)]
    return results[0]
