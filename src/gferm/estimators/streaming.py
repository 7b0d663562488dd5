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
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gferm.arrays import Array
from gferm.arrays.foreign import as_numpy, device_for
from gferm.estimators.agreement import (
    Agreement,
    Columns,
    asked_of,
    require_same_attributes,
    require_same_parameters,
    warn_of_shifted_bins,
)
from gferm.estimators.outcome import speak_up, unchanged_on_error
from gferm.estimators.training import (
    TrainingData,
    read_sensitive,
    require_every_row_in_a_bin,
    resolve_scheme,
)
from gferm.exceptions import NothingToCompareError
from gferm.fairness.cells import Cells, CellScheme
from gferm.fairness.constraint import Contrasts
from gferm.features.kernel import require_finite
from gferm.features.nystroem import Landmarks
from gferm.losses import LOSSES, as_loss
from gferm.solver.choice import SolverChoice, factorize_system
from gferm.solver.origin import Origin
from gferm.solver.projection import Solution, project
from gferm.solver.summary import Summary, constrain, summarize_rows
from gferm.solver.system import FactorizedSystem

if TYPE_CHECKING:
    from gferm.estimators.base import FairModel

Rows = tuple[Any, Any, Any, Any]
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
    if as_loss(model.loss, model._losses) != LOSSES["squared"]:
        raise AttributeError(
            f"loss={model.loss!r}: only the square loss can be learned chunk by chunk; use "
            "loss='squared', or fit on all rows."
        )
    if model.kernel != "linear" and model.n_landmarks is None and isinstance(model.landmarks, str):
        raise AttributeError(
            f"kernel={model.kernel!r} without landmarks needs all rows at once; set n_landmarks, "
            "such as n_landmarks=1000, or use kernel='linear'."
        )
    return True


def read_chunk(
    model: FairModel, X: Any, y: Any, s: Any, weight: Any, *, first: bool
) -> tuple[TrainingData, Columns | None] | None:
    """Check a chunk, of which the first settles the features; None if no row has a weight."""
    if np.size(as_numpy(y)) == 0:  # a filter may leave nothing of a night's rows
        return None
    idle = (
        weight is not None
        and np.size(as_numpy(weight)) == np.size(as_numpy(y))
        and not np.any(as_numpy(weight))
    )
    data = model._read_rows(X, y, None if idle else weight, reset=first)
    plain = model.epsilon is None and s is None
    columns = None if plain else read_sensitive(s, data, like=(X, y))
    return None if idle else (data, columns)


def agree(
    model: FairModel,
    data: TrainingData,
    columns: Columns | None,
    *,
    scheme: CellScheme | None = None,
    landmarks: Any = None,
) -> Agreement:
    """Settle what is not given on the first rows."""
    first_shares: tuple[Array, ...] = ()
    if scheme is None and columns is not None:
        bins = model._label_bins(data.y)
        scheme = resolve_scheme(model, data.y, columns, data.weight, bins)
        first_shares = scheme.assign(data.y, columns, data.weight).shares
    if landmarks is None:
        found = model._find_landmarks(data.X)
    else:
        found = Landmarks.at(landmarks, model._kernel())
    origin = Origin.near_the_mean(
        _features(data, found),
        model._target_table(data.y),
        data.weight,
        fit_intercept=model.fit_intercept,
    )
    return Agreement(
        scheme,
        found,
        origin,
        model._kernel(),
        model.fit_intercept,
        asked_of(model),
        first_shares,
    )


def summarize_chunk(
    model: FairModel, data: TrainingData, columns: Columns | None, agreement: Agreement
) -> Summary:
    """Take the sums of one chunk, all of whose rows must lie in the bins."""
    scheme, cells = agreement.scheme, None
    require_same_parameters(model, agreement)
    require_same_attributes(scheme, columns)
    if scheme is not None and columns is not None:
        cells = scheme.assign(data.y, columns, data.weight)
        try:
            require_every_row_in_a_bin(scheme, cells, data.y, columns, all_bins_filled=False)
        except ValueError as error:
            if not agreement.first_shares:
                raise
            raise ValueError(
                f"{error} Bins that are not given were settled on the first chunk: give s_bins as "
                "edges or Bins.categories([...]), and y_bins as edges."
            ) from error
    rows, targets = _features(data, agreement.landmarks), model._target_table(data.y)
    origin = agreement.origin
    if agreement.fit_intercept:
        origin = origin.or_nearer(rows, targets, data.weight)
    return summarize_rows(rows, targets, data.weight, cells, origin, data.device)


def sum_chunk(model: FairModel, agreement: Agreement, rows: Rows, *, number: int) -> Summary | None:
    """Take the sums of a chunk that is not the first; None if no row has a weight.

    Nothing but the sums is made or changed: several chunks may be summed at once.
    """
    with naming_chunk(number):
        found = read_chunk(model, *rows, first=False)
        return None if found is None else summarize_chunk(model, *found, agreement)


def open_stream(model: FairModel, rows: Rows, *, number: int, **settled: Any) -> Stream | None:
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
        speak_up(model, [solution])  # a warning may be an error, and the chunk is not learned then


@dataclass(frozen=True, eq=False)
class Posed:
    """The learning problem of a stream, factorised: what `FairModel._accept` wants beside it."""

    cells: Cells | None
    contrasts: Contrasts | None
    factorized: FactorizedSystem
    choice: SolverChoice
    data: TrainingData


def pose_stream(model: FairModel, stream: Stream, *, constrained: bool) -> Posed:
    """Write the learning problem of the sums, and do the one factorisation.

    Where it is not to be ``constrained``, it may lack anybody to compare.
    """
    agreement, summary = stream.agreement, stream.summary
    require_same_parameters(model, agreement)
    cells, contrasts, landmarks = None, None, agreement.landmarks
    if landmarks is not None:
        summary = summary.finished(partial(landmarks.finish, device=device_for(model.device, None)))
    probe = np.zeros((summary.moments.shift.size, 0))
    if agreement.scheme is not None:
        try:
            cells, contrasts, probe = constrain(
                summary,
                agreement.scheme,
                match=model.match,
                min_cell_size=model.min_cell_size,
                epsilon_scale=model.epsilon_scale,
            )
        except NothingToCompareError:
            if constrained:
                raise
    system = summary.system(probe, fit_intercept=model.fit_intercept)
    require_finite(system.matrix, model._kernel())
    if landmarks is not None:
        system = system.read_by(None, landmarks.basis)
    choice = model._choose_for((system.matrix.shape[0], model.n_features_in_), landmarks)
    strict = model.solver == "cholesky"
    factorized, choice = factorize_system(
        system, model.alpha, choice, alpha=model.alpha, strict=strict
    )
    nobody = TrainingData(None, None, np.empty(0), None, None, landmarks=landmarks)
    return Posed(cells, contrasts, factorized, choice, nobody)


def solve_stream(model: FairModel) -> Solution:
    """Solve the learning problem of the sums in ``stream_``, and set the fitted attributes."""
    posed = pose_stream(model, model.stream_, constrained=model.epsilon is not None)
    solution = project(posed.factorized.reduce(), posed.contrasts, model.epsilon)
    model._accept(posed.data, posed.cells, posed.contrasts, posed.choice, [solution])
    if posed.cells is not None:
        warn_of_shifted_bins(posed.cells, model.stream_.agreement.first_shares)
    return solution


def _forget(model: FairModel) -> None:
    """Make a model unfitted again, but for what its stream has seen."""
    kept = ("stream_", "n_features_in_", "feature_names_in_")
    for name in [name for name in vars(model) if name.endswith("_") and name not in kept]:
        del model.__dict__[name]


@contextmanager
def naming_chunk(number: int, place: str | None = None) -> Iterator[None]:
    """Say in which chunk an error arose."""
    try:
        yield
    except (TypeError, ValueError) as error:
        kind = type(error) if type(error) in (TypeError, NothingToCompareError) else ValueError
        where = "" if place is None else f" ({place})"
        raise kind(f"Chunk {number}{where}: {error}") from error


def _features(data: TrainingData, landmarks: Landmarks | None) -> Any:
    """Return what the sums are taken of."""
    return data.X if landmarks is None else landmarks.features(data.X, data.device)
