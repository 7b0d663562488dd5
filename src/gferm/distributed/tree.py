"""Put the results of partitions together where they are, a few at a time.

sum₀ … sum₇ | sum₈ … sum₁₅ | …
   add            add            FAN_IN results are in memory at once
          add                    what comes to the client is as large as one of them
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dask.delayed import delayed
from sklearn.base import clone

from gferm.distributed.parts import Part
from gferm.distributed.tasks import Errand, Sums, add_folds, sum_part
from gferm.estimators.agreement import Agreement
from gferm.estimators.messages import share_features
from gferm.estimators.regressor import FairRegressor

FAN_IN = 8  # results that one task puts together


def sum_parts(
    models: Sequence[FairRegressor],
    agreements: Sequence[Agreement],
    parts: Sequence[Part],
    n_folds: int = 1,
) -> Sums:
    """Sum up every partition, by folds and kernels, and add the sums."""
    workers = [clone(model) for model in models]
    share_features(models[0], workers[0])
    # a node of the graph, which travels once, and not with each task
    shared = delayed(Errand(workers, agreements, n_folds), traverse=False)
    take = delayed(sum_part, pure=False)
    found = [take(part.number, shared, part.before or 0, *part.rows) for part in parts]
    sums: Sums = put_together(found, add_folds)
    return sums


def put_together(results: list[Any], join: Callable[[Any], Any]) -> Any:
    """Compute results, and join them as a tree."""
    put = delayed(join, pure=False)
    while len(results) > 1:
        results = [put(results[i : i + FAN_IN]) for i in range(0, len(results), FAN_IN)]
    return results[0].compute()
