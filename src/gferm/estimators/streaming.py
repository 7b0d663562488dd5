"""Learning from rows that come in chunks: sums grow, and the model is solved from the sums.

    chunk → ChunkRows → cells of the bins that were agreed on → Summary    (they add)
    Summary → LearningProblem → the same solution as that of all rows

What has to be the same for all chunks is an `Agreement` (agreement.py). It is reached on the first
chunk, or on what is known of all rows (streaming/, distributed/); after that the same rows make the
same model, in whatever chunks they come.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gferm.arrays import Array
from gferm.arrays.foreign import as_numpy, device_for
from gferm.estimators.agreement import (
    Agreement,
    asked_of,
    require_same_attributes,
    require_same_parameters,
    warn_of_shifted_bins,
)
from gferm.estimators.base import FairModel, Learned, accept_solutions
from gferm.estimators.messages import unchanged_on_error, warn_about_fit
from gferm.estimators.posing import (
    Columns,
    TrainingRows,
    comparison_of,
    read_rows,
    read_sensitive,
    settings_of,
)
from gferm.exceptions import NothingToCompareError
from gferm.fairness.cells import Cells, CellScheme
from gferm.fairness.comparison import Comparison
from gferm.fairness.constraint import Constraint
from gferm.fairness.membership import require_every_row_in_a_bin, sort_rows
from gferm.features.landmarks import Landmarks
from gferm.features.linear import SummedFeatures
from gferm.features.origin import Origin
from gferm.features.space import FunctionSpace
from gferm.features.summary import Summary, constrain, summarize_rows
from gferm.losses import LOSSES, as_loss
from gferm.solver.problem import LearningProblem
from gferm.solver.projection import Solution


@dataclass(frozen=True, eq=False)
class ChunkRows:
    """The rows of a chunk that count.

    Attributes
    ----------
    rows : TrainingRows
    columns : tuple of SensitiveColumn, or None
        Their sensitive attributes; None where nobody is to be compared.
    """

    rows: TrainingRows
    columns: Columns | None

    @property
    def places(self) -> npt.NDArray[np.intp]:
        """Where in the chunk these rows are."""
        kept = self.rows.kept
        return np.arange(self.rows.y.size) if kept is None else np.flatnonzero(kept)

    def part(self, some: npt.NDArray[np.bool_]) -> ChunkRows:
        """Return some of the rows."""
        rows, columns = self.rows, self.columns
        weight = None if rows.weight is None else rows.weight[some]
        X, y = rows.X[some], rows.y[some]
        return ChunkRows(
            replace(rows, X=X, X_all=None, y=y, weight=weight, kept=None),
            None if columns is None else tuple(column.keep(some) for column in columns),
        )


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
) -> ChunkRows | None:
    """Check a chunk, of which the first settles the features; None if no row has a weight."""
    n_rows = np.size(as_numpy(y))
    if n_rows == 0:  # a filter may leave nothing of a night's rows
        return None
    share = None if weight is None else as_numpy(weight)
    idle = share is not None and np.size(share) == n_rows and not np.any(share)
    rows = read_rows(model, X, y, None if idle else weight, reset=first)
    plain = model.epsilon is None and s is None
    columns = None if plain else read_sensitive(s, rows, like=(X, y))
    return None if idle else ChunkRows(rows, columns)


def reach_agreement(
    model: FairModel,
    chunk: ChunkRows,
    *,
    scheme: CellScheme | None = None,
    landmarks: Any = None,
) -> Agreement:
    """Settle bins and landmarks that are not known yet on the first rows."""
    rows, columns = chunk.rows, chunk.columns
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
        space.summable(found, rows.device, rows.X, rows.weight).summed,
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


def sum_rows(model: FairModel, chunk: ChunkRows, agreement: Agreement) -> Summary:
    """Take the sums of rows, all of which must lie in the bins.

    Nothing but the sums is made or changed: several chunks may be summed at once.
    """
    scheme, rows, columns, members = agreement.scheme, chunk.rows, chunk.columns, None
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
    summed = agreement.features(rows.device, rows.X, rows.weight).summed
    targets, origin = np.column_stack(model.labels.targets(rows.y)), agreement.origin
    if agreement.fit_intercept:
        origin = origin.or_nearer(summed, targets, rows.weight)
    return summarize_rows(summed, targets, rows.weight, members, origin, rows.device)


def learn_chunk(model: FairModel, X: Any, y: Any, s: Any, weight: Any) -> None:
    """Add a chunk to the model's stream, and solve; without an answer yet, there is no model."""
    with unchanged_on_error(model):
        before: Stream | None = getattr(model, "stream_", None)
        was_fitted = before is not None and hasattr(model, "intercept_")
        stream = _add_chunk(model, before, (X, y, s, weight))
        if stream is None:
            raise ValueError(
                "There are no rows, or sample_weight is zero everywhere; give at least one row a "
                "weight."
            )
        model.stream_ = stream
        try:
            solution = solve_stream(model)
        except NothingToCompareError:
            if was_fitted:  # a model is not lost in silence
                raise
            _forget(model)
            return
        warn_about_fit(model, [solution])  # if that is an error, the chunk is not learned


def _add_chunk(
    model: FairModel, before: Stream | None, given: tuple[Any, Any, Any, Any]
) -> Stream | None:
    """Return the stream with one more chunk; None if no row had a weight so far."""
    with errors_in_chunk(1 if before is None else before.n_chunks + 1):
        if before is None:
            chunk = read_chunk(model, *given, first=True)
            if chunk is None:
                return None
            agreement = reach_agreement(model, chunk)
            return Stream(agreement, sum_rows(model, chunk, agreement))
        require_same_parameters(model, before.agreement)
        chunk = read_chunk(model, *given, first=False)
        summary = None if chunk is None else sum_rows(model, chunk, before.agreement)
    return before.grown(summary)


def pose_stream(
    model: FairModel, stream: Stream, *, constrained: bool
) -> tuple[LearningProblem, Cells | None]:
    """Return the learning problem of sums, and the table of their cells.

    Where it is not to be ``constrained``, it may lack anybody to compare.
    """
    agreement, moments = stream.agreement, stream.summary.moments
    cells: Cells | None = None
    constraint: Constraint | None = None
    probe = np.zeros((moments.shift.size, 0))
    if agreement.scheme is not None:
        try:
            comparison = Comparison.of(model)
            cells, constraint, probe = constrain(stream.summary, agreement.scheme, comparison)
        except NothingToCompareError:
            if constrained:
                raise
    features = SummedFeatures.of(agreement.features(device_for(model.device, None)), moments)
    sums_hold_it = np.empty(0)
    problem = LearningProblem(features, [sums_hold_it], constraint, probe, settings_of(model))
    return problem, cells


def solve_stream(model: FairModel) -> Solution:
    """Solve the learning problem of the sums in ``stream_``, and set the fitted attributes."""
    stream: Stream = model.stream_
    problem, cells = pose_stream(model, stream, constrained=model.epsilon is not None)
    (solution,) = problem.solve()
    accept_solutions(model, Learned.of(problem, cells), [solution])
    if cells is not None:
        warn_of_shifted_bins(cells, stream.agreement.first_shares)
    return solution


def _forget(model: FairModel) -> None:
    """Make a model unfitted again, but for what its stream has seen."""
    kept = ("stream_", "n_features_in_", "feature_names_in_")
    for name in [name for name in vars(model) if name.endswith("_") and name not in kept]:
        del model.__dict__[name]


@contextmanager
def errors_in_chunk(number: int, place: str | None = None) -> Iterator[None]:
    """Name the chunk in which an error arose."""
    try:
        yield
    except (TypeError, ValueError) as error:
        kind = type(error) if type(error) in (TypeError, NothingToCompareError) else ValueError
        where = "" if place is None else f" ({place})"
        raise kind(f"Chunk {number}{where}: {error}") from error
