"""Sources of sums: rows that come in chunks or lie in partitions, read once where they are.

    number of a row → its fold                              whatever the chunks or partitions
    rows of a chunk → a Summary for each fold and kernel    (they add: FoldSums)
    FoldSums of all → a Stream for each kernel and fold     what learning needs (learn_by_sums.py)

Kernels share bins, and landmarks unless each finds its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import add
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gferm.estimators.agreement import Agreement
from gferm.estimators.base import FairModel
from gferm.estimators.messages import share_features
from gferm.estimators.streaming import ChunkRows, Stream, reach_agreement, sum_rows
from gferm.fairness.cells import CellScheme
from gferm.features.summary import Summary


class Source(Protocol):
    """Rows that are read once, wherever they are."""

    def streams(self, models: Sequence[Any], n_folds: int = 1) -> list[list[Stream]]:
        """Return for each model the sums of every fold.

        The models have one kernel each. They read no row themselves but the first, and know their
        features then.
        """


@dataclass(frozen=True, eq=False)
class FoldSums:
    """Sums of every fold, for every kernel; those of parts of the rows add.

    Attributes
    ----------
    of_folds : list of lists of Summary
        One for each fold, of one for each kernel.
    """

    of_folds: Sequence[Sequence[Summary]]

    def __add__(self, other: FoldSums) -> FoldSums:
        both = zip(self.of_folds, other.of_folds, strict=True)
        return FoldSums([[*map(add, one, more)] for one, more in both])


@dataclass(frozen=True, eq=False)
class SumTask:
    """What every chunk is summed with.

    Attributes
    ----------
    models : list of FairModel
        One for each kernel, not fitted; they know their features.
    agreements : list of Agreement
        One for each kernel.
    n_folds : int
        One is no cross-validation.
    """

    models: Sequence[FairModel]
    agreements: Sequence[Agreement]
    n_folds: int

    @classmethod
    def settled_on(
        cls,
        chunk: ChunkRows,
        models: Sequence[FairModel],
        n_folds: int,
        scheme: CellScheme | None,
        landmarks: Any,
    ) -> SumTask:
        """Settle what is not known on rows that the first of the models has read."""
        agreements: list[Agreement] = []
        for model in models:
            share_features(models[0], model)
            agreements.append(reach_agreement(model, chunk, scheme=scheme, landmarks=landmarks))
            scheme = agreements[0].scheme
        return cls(models, agreements, n_folds)

    def sum_folds(self, chunk: ChunkRows, n_before: int) -> FoldSums:
        """Sum up a chunk; ``n_before`` rows, of any weight, came before it."""
        if self.n_folds == 1:
            return FoldSums([self._sum(chunk)])
        folds = fold_of(n_before + chunk.places, self.n_folds)
        try:
            return FoldSums([self._sum(chunk.part(folds == k)) for k in range(self.n_folds)])
        except ValueError:
            sum_rows(self.models[0], chunk, self.agreements[0])  # numbers rows among all
            raise

    def _sum(self, rows: ChunkRows) -> list[Summary]:
        pairs = zip(self.models, self.agreements, strict=True)
        return [sum_rows(model, rows, agreement) for model, agreement in pairs]

    def streams(self, sums: FoldSums, n_chunks: int) -> list[list[Stream]]:
        """Return the sums of all chunks by kernels."""
        by_kernel = zip(*sums.of_folds, strict=True)
        return [
            [Stream(agreement, summary, n_chunks) for summary in summaries]
            for agreement, summaries in zip(self.agreements, by_kernel, strict=True)
        ]


def fold_of(numbers: npt.NDArray[np.intp], n_folds: int) -> npt.NDArray[np.intp]:
    """Return the fold of each row by its number: as good as random, and the same in any chunks.

    The finaliser of SplitMix64: every bit of the number moves every bit of the result.
    """
    x = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((x ^ (x >> np.uint64(31))) % np.uint64(n_folds)).astype(np.intp)
