"""Origins: points near the rows, from which sums over them are counted and lose few digits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gferm.arrays import Array
from gferm.arrays.device import dense, row_blocks

FEW = 256  # rows that tell where a chunk lies
FAR = 100.0  # standard deviations from which on rows have an origin of their own


@dataclass(frozen=True, eq=False)
class Origin:
    """Where x and the targets y are counted from; zero without an intercept."""

    x: Array
    y: Array

    @classmethod
    def near_the_mean(
        cls,
        X: Any,
        targets: Array,
        weight: Array | None,
        rows: npt.NDArray[np.intp] | None = None,
        *,
        fit_intercept: bool,
    ) -> Origin:
        """Take the mean of some of the rows, here and there; of the targets the exact means."""
        if not fit_intercept:
            return cls(np.zeros(X.shape[1]), np.zeros(targets.shape[1]))
        some = slice(None) if rows is None else rows
        share = None if weight is None else weight[some]
        n_rows = X.shape[0] if rows is None else rows.size
        sample = _here_and_there(n_rows, row_blocks(n_rows, X.shape[1])[0].stop)
        places = sample if rows is None else rows[sample]
        near = np.average(
            dense(X[places]), axis=0, weights=None if weight is None else weight[places]
        )
        return cls(near, np.average(targets[some], axis=0, weights=share))

    def or_nearer(self, X: Any, targets: Array, weight: Array | None) -> Origin:
        """Return this origin, or the mean of a few of these rows if they lie far from it."""
        if X.shape[0] == 0:
            return self
        few = _here_and_there(X.shape[0], FEW)
        share, far = None if weight is None else weight[few], False
        means = []
        for values, here in ((dense(X[few]), self.x), (targets[few], self.y)):
            mean = np.average(values, axis=0, weights=share)
            spread = np.average((values - mean) ** 2, axis=0, weights=share) ** 0.5
            far |= bool((np.abs(here - mean) > FAR * spread).any())
            means.append(mean)
        return Origin(*means) if far else self

    def is_at(self, other: Origin) -> bool:
        """Return whether both are one point."""
        same = self is other or np.array_equal(self.x, other.x)
        return same and np.array_equal(self.y, other.y)


def _here_and_there(n_rows: int, size: int) -> npt.NDArray[np.intp]:
    """Return rows for a first look, evenly spaced."""
    return np.linspace(0, n_rows - 1, min(n_rows, size)).astype(np.intp)
