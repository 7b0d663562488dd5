"""The plan of a scan: what all partitions agree on, settled before any of them is summed.

    labels, attributes ──sketch──> bins of all rows, and how many rows there are   (bin_sketch.py)
    row numbers drawn  ──take────> landmarks: only these rows travel
    first partition    ──open────> names of the features, origin: a SumTask

The tasks are in partition_tasks.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from dask.delayed import delayed
from sklearn.base import clone

from gferm.distributed.bin_sketch import BinSketch, depends_on_rows, join_sketches, resolve_bins
from gferm.distributed.dask_partitions import DaskPartition, count_attributes, number_rows
from gferm.distributed.partition_tasks import (
    join_as_tree,
    open_partition,
    sketch_partition,
    stack_rows,
    take_rows,
)
from gferm.estimators.agreement import Agreement
from gferm.estimators.messages import share_features
from gferm.estimators.regressor import FairRegressor
from gferm.exceptions import NothingToCompareError
from gferm.fairness.cells import CellScheme
from gferm.features.kernel import Kernel
from gferm.features.landmarks import draw_rows
from gferm.features.space import FunctionSpace
from gferm.streaming.source import SumTask

NO_ROWS = "There are no rows to learn from: every partition is empty, or has sample_weight zero."


@dataclass(frozen=True, eq=False)
class ScanPlan:
    """What is settled before any partition is summed.

    Attributes
    ----------
    partitions : list of DaskPartition
    first : int
        Partitions before this one are known to hold no row.
    scheme : CellScheme or None
        None as well if the bins are explicit: they are what they are.
    landmarks : array or None
    """

    partitions: Sequence[DaskPartition]
    first: int = 0
    scheme: CellScheme | None = None
    landmarks: Any = None


def plan_scan(
    model: FairRegressor, parts: Sequence[DaskPartition], s: Any, *, numbered: bool = False
) -> ScanPlan:
    """Settle bins and landmarks on all rows, and the numbers of the rows if they are needed."""
    space = FunctionSpace.of(model)
    space.require_consistent()
    space.require_uniform()
    draws = space.draws_landmarks
    settles = s is not None and _settles_bins(model, count_attributes(s))
    counts = numbered and parts[0].before is None
    if not draws and not settles and not counts:
        return ScanPlan(parts)
    shared = delayed(clone(model), traverse=False)
    look = delayed(sketch_partition, pure=False)
    sketches = [look(part.number, shared, *part.labels) for part in parts]
    found: BinSketch = join_as_tree(sketches, join_sketches)
    rows = np.array(found.counts)
    if not rows.any():
        raise ValueError(NO_ROWS)
    parts, scheme = number_rows(parts, found.sizes), None
    if settles:
        try:
            options = {name: getattr(model, name) for name in ("y_bins", "s_bins")}
            scheme = resolve_bins(found, **options, intersectional=model.intersectional)
        except NothingToCompareError:
            if model.epsilon is not None:
                raise
            parts = [replace(part, sensitive_features=None) for part in parts]
    landmarks = _take_landmarks(model, parts, rows) if draws else None
    return ScanPlan(parts, int(np.argmax(rows > 0)), scheme, landmarks)


def _settles_bins(model: FairRegressor, n_columns: int) -> bool:
    """Return whether any bins depend on the rows."""
    specs: list[Any] = [model.s_bins]
    if isinstance(model.s_bins, Mapping):  # what it does not name is "auto"
        specs = [*model.s_bins.values(), *["auto"] * (n_columns - len(model.s_bins))]
    return depends_on_rows(model.y_bins, "y_bins") or any(
        depends_on_rows(spec, "s_bins") for spec in specs
    )


def _take_landmarks(model: FairRegressor, parts: Sequence[DaskPartition], rows: Any) -> Any:
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
    return join_as_tree(found, stack_rows)


def settle_on_first(models: Sequence[FairRegressor], n_folds: int, plan: ScanPlan) -> SumTask:
    """Settle what is left on the first partition that has rows, for one model of each kernel.

    The models know their features then.
    """
    shared = delayed([clone(model) for model in models], traverse=False)
    known = n_folds, plan.scheme, delayed(plan.landmarks, traverse=False)
    look = delayed(open_partition, pure=False)
    for part in plan.partitions[plan.first :]:
        task: SumTask | None = look(part.number, shared, *known, *part.given).compute()
        if task is not None:
            workers = [clone(model) for model in models]
            for reader, *others in zip(task.models, models, workers, strict=True):
                for model in others:
                    share_features(reader, model)
            pairs = zip(task.agreements, models, strict=True)
            return SumTask(workers, [_with_own_kernel(*pair) for pair in pairs], n_folds)
    raise ValueError(NO_ROWS)


def _with_own_kernel(agreement: Agreement, model: FairRegressor) -> Agreement:
    """Put the model's kernel into an agreement: a function comes back as a copy of itself."""
    kernel, found = Kernel.of(model), agreement.landmarks
    landmarks = None if found is None else replace(found, kernel=kernel)
    return replace(agreement, kernel=kernel, landmarks=landmarks)
