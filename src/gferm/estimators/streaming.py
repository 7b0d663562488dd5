"""Learning from rows that come in chunks: sums grow, the model is solved from the sums.

    chunk → rows → cells of the bins that were agreed on → Summary    (they add)
    Summary → System → the same projection as ever

What has to be the same for all chunks is an `Agreement` (agreement.py): bins and landmarks. It is
reached on the first chunk, or on what is known of all rows (streaming/, distributed/); after that
the same rows make the same model, in whatever chunks they come.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from gferm.arrays import Array
from gferm.arrays.foreign import as_numpy, device_for
from gferm.estimators.agreement import (
    Agreement,
    asked_of,
    require_same_attributes,
    require_same_parameters,
    warn_of_shifted_bins,
)
from gferm.estimators.base import FairModel, accept_solutions, comparison_of, settings_of
from gferm.estimators.messages import unchanged_on_error, warn_about_fit
from gferm.estimators.reading import Columns, TrainingRows, read_rows, read_sensitive
from gferm.exceptions import NothingToCompareError
from gferm.fairness.cells import Cells, CellScheme
from gferm.fairness.comparison import Comparison, require_every_row_in_a_bin
from gferm.fairness.constraint import Constraint
from gferm.fairness.membership import sort_rows
from gferm.features.landmarks import Landmarks
from gferm.features.linear import SummedFeatures
from gferm.features.origin import Origin
from gferm.features.space import FunctionSpace
from gferm.features.summary import Summary, constrain, summarize_rows
from gferm.losses import LOSSES, as_loss
from gferm.solver.problem import LearningProblem
from gferm.solver.projection import Solution

Given = tuple[Any, Any, Any, Any]
"""X, y, sensitive features and sample weight of a chunk, as the user gave them."""


@dataclass(frozen=True, eq=False)
class Stream:
    """What was agreed on, and what has been learned so far."""

    agreement: Agreement
    summary: Summary
    n_chunks: int = 1

    @property
    def n_rows(self) -> int:
        """Rows so far, those of weight zero left out."""
        return self.summary.n_rows

    def grown(self, summary: Summary | None) -> Stream:
        """Add the sums of one more chunk, which may have had no row with a weight."""
        both = self.summary if summary is None else self.summary + summary
        return Stream(self.agreement, both, self.n_chunks + 1)


def can_stream(model: FairModel) -> bool:
    """Return whether there is a partial_fit; else an AttributeError, whose cause says why not."""
    if as_loss(model.loss, model.labels.losses) != LOSSES["squared"]:
        raise AttributeError(
            f"loss={model.loss!r}: only the square loss can be learned chunk by chunk; use "
            "loss='squared', or fit on all rows."
        )
    if not FunctionSpace.of(model).is_summable:
        raise AttributeError(
            f"kernel={model.kernel!r} without landmarks needs all rows at once; set n_landmarks, "
            "such as n_landmarks=1000, or use kernel='linear'."
        )
    return True


def read_chunk(
    model: FairModel, X: Any, y: Any, s: Any, weight: Any, *, first: bool
) -> tuple[TrainingRows, Columns | None] | None:
    """Check a chunk, of which the first settles the features; None if no row has a weight."""
    if np.size(as_numpy(y)) == 0:  # a filter may leave nothing of a night's rows
        return None
    idle = (
        weight is not None
        and np.size(as_numpy(weight)) == np.size(as_numpy(y))
        and not np.any(as_numpy(weight))
    )
    rows = read_rows(model, X, y, None if idle else weight, reset=first)
    plain = model.epsilon is None and s is None
    columns = None if plain else read_sensitive(s, rows, like=(X, y))
    return None if idle else (rows, columns)


def agree(
    model: FairModel,
    rows: TrainingRows,
    columns: Columns | None,
    *,
    scheme: CellScheme | None = None,
    landmarks: Any = None,
) -> Agreement:
    """Settle what is not given on the first rows."""
    first_shares: tuple[Array, ...] = ()
    if scheme is None and columns is not None:
        scheme = comparison_of(model, rows.y).resolve(rows.y, columns, rows.weight)
        first_shares = sort_rows(scheme, rows.y, columns, rows.weight).cells.shares
    space = FunctionSpace.of(model)
    if landmarks is None:
        found = space.find_landmarks(rows.X, getattr(model, "feature_names_in_", None))
    else:
        found = Landmarks.at(landmarks, space.kernel)
    origin = Origin.near_the_mean(
        _summed(space, rows, found),
        np.column_stack(model.labels.targets(rows.y)),
        rows.weight,
        fit_intercept=model.fit_intercept,
    )
    return Agreement(
        scheme,
        found,
        origin,
        space.kernel,
        model.fit_intercept,
        asked_of(model),
        first_shares,
    )


def _summed(space: FunctionSpace, rows: TrainingRows, landmarks: Landmarks | None) -> Any:
    """Return what the sums are taken of."""
    return space.summable(landmarks, rows.device, rows.X, rows.weight).summed


def summarize_chunk(
    model: FairModel, rows: TrainingRows, columns: Columns | None, agreement: Agreement
) -> Summary:
    """Take the sums of one chunk, all of whose rows must lie in the bins."""
    scheme, members = agreement.scheme, None
    require_same_parameters(model, agreement)
    require_same_attributes(scheme, columns)
    if scheme is not None and columns is not None:
        members = sort_rows(scheme, rows.y, columns, rows.weight)
        try:
            require_every_row_in_a_bin(members, rows.y, columns, all_bins_filled=False)
        except ValueError as error:
            if not agreement.first_shares:
                raise
            raise ValueError(
                f"{error} Bins that are not given were settled on the first chunk: give s_bins as "
                "edges or Bins.categories([...]), and y_bins as edges."
            ) from error
    summed = _summed(FunctionSpace.of(model), rows, agreement.landmarks)
    targets, origin = np.column_stack(model.labels.targets(rows.y)), agreement.origin
    if agreement.fit_intercept:
        origin = origin.or_nearer(summed, targets, rows.weight)
    return summarize_rows(summed, targets, rows.weight, members, origin, rows.device)


def sum_chunk(
    model: FairModel, agreement: Agreement, rows: Given, *, number: int
) -> Summary | None:
    """Take the sums of a chunk that is not the first; None if no row has a weight.

    Nothing but the sums is made or changed: several chunks may be summed at once.
    """
    with naming_chunk(number):
        found = read_chunk(model, *rows, first=False)
        return None if found is None else summarize_chunk(model, *found, agreement)


def open_stream(model: FairModel, rows: Given, *, number: int, **settled: Any) -> Stream | None:
    """Start with the first chunk; None if none of its rows has a weight.

    ``settled``: scheme and landmarks, if known.
    """
    with naming_chunk(number):
        found = read_chunk(model, *rows, first=True)
        if found is None:
            return None
        agreement = agree(model, *found, **settled)
        return Stream(agreement, summarize_chunk(model, *found, agreement), number)


def learn_chunk(model: FairModel, X: Any, y: Any, s: Any, weight: Any) -> None:
    """Add a chunk to the model's stream, and solve; without an answer yet, there is no model."""
    with unchanged_on_error(model):
        before, learned = getattr(model, "stream_", None), hasattr(model, "intercept_")
        number = 1 if before is None else before.n_chunks + 1
        if before is None:
            stream = open_stream(model, (X, y, s, weight), number=number)
        else:
            stream = before.grown(
                sum_chunk(model, before.agreement, (X, y, s, weight), number=number)
            )
        if stream is None:
            raise ValueError(
                "There are no rows, or sample_weight is zero everywhere; give at least one row a "
                "weight."
            )
        model.stream_ = stream
        try:
            solution = solve_stream(model)
        except NothingToCompareError:
            if before is not None and learned:  # a model is not lost in silence
                raise
            _forget(model)
            return
        warn_about_fit(model, [solution])  # if that is an error, the chunk is not learned


@dataclass(frozen=True, eq=False)
class PosedSums:
    """The learning problem of sums, and the table of their cells."""

    problem: LearningProblem
    cells: Cells | None


def pose_sums(
    model: FairModel, agreement: Agreement, summary: Summary, *, constrained: bool
) -> PosedSums:
    """Write the learning problem of sums.

    Where it is not to be ``constrained``, it may lack anybody to compare.
    """
    require_same_parameters(model, agreement)
    cells: Cells | None = None
    constraint: Constraint | None = None
    probe = np.zeros((summary.moments.shift.size, 0))
    if agreement.scheme is not None:
        try:
            comparison = Comparison.of(model)
            cells, constraint, probe = constrain(summary, agreement.scheme, comparison)
        except NothingToCompareError:
            if constrained:
                raise
    device = device_for(model.device, None)
    like = FunctionSpace.of(model).summable(agreement.landmarks, device)
    features, sums_hold_it = SummedFeatures.of(like, summary.moments), np.empty(0)
    problem = LearningProblem(features, [sums_hold_it], constraint, probe, settings_of(model))
    return PosedSums(problem, cells)


def solve_stream(model: FairModel) -> Solution:
    """Solve the learning problem of the sums in ``stream_``, and set the fitted attributes."""
    agreement, summary = model.stream_.agreement, model.stream_.summary
    posed = pose_sums(model, agreement, summary, constrained=model.epsilon is not None)
    (solution,) = posed.problem.solve()
    accept_solutions(model, posed.problem, posed.cells, [solution])
    if posed.cells is not None:
        warn_of_shifted_bins(posed.cells, agreement.first_shares)
    return solution


def _forget(model: FairModel) -> None:
    """Make a model unfitted again, but for what its stream has seen."""
    kept = ("stream_", "n_features_in_", "feature_names_in_")
    for name in [name for name in vars(model) if name.endswith("_") and name not in kept]:
        del model.__dict__[name]


@contextmanager
def naming_chunk(number: int, place: str | None = None) -> Iterator[None]:
    """Name the chunk in which an error arose."""
    try:
        yield
    except (TypeError, ValueError) as error:
        kind = type(error) if type(error) in (TypeError, NothingToCompareError) else ValueError
        where = "" if place is None else f" ({place})"
        raise kind(f"Chunk {number}{where}: {error}") from error
