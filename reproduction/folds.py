"""The splits of nested cross-validation.

Everything random follows from the numbers of the repeat and of the fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import KFold

from reproduction.nested import PaddedFolds
from reproduction.paper import FOLDS

Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class OuterFold:
    """A training part and a test part, and the inner folds of the training part."""

    repeat: int
    number: int
    train: Rows
    test: Rows
    inner_train: tuple[Rows, ...]
    inner_test: tuple[Rows, ...]

    @property
    def inner_seed(self) -> int:
        """The seed of the inner split."""
        return _inner_seed(self.repeat, self.number)


def outer_folds(n: int, repeat: int) -> list[OuterFold]:
    """Split n rows; the seed of the outer split is the number of the repeat."""
    folds = []
    split = KFold(FOLDS, shuffle=True, random_state=repeat).split(np.zeros(n))
    for number, (train, test) in enumerate(split):
        inner = KFold(FOLDS, shuffle=True, random_state=_inner_seed(repeat, number))
        parts = [(train[a], train[b]) for a, b in inner.split(train)]
        inner_train, inner_test = zip(*parts, strict=True)
        folds.append(OuterFold(repeat, number, train, test, inner_train, inner_test))
    return folds


def _inner_seed(repeat: int, fold: int) -> int:
    return 1000 * (repeat + 1) + fold


class FoldSet:
    """Outer folds that are learned together.

    Attributes
    ----------
    folds : sequence of OuterFold
    test, train, inner : PaddedFolds
        The inner folds of the first outer fold come first.
    """

    def __init__(self, folds: Sequence[OuterFold], n: int) -> None:
        self.folds = folds
        self.test = PaddedFolds([fold.test for fold in folds], n, inner=False)
        self.train = PaddedFolds([fold.train for fold in folds], n, inner=False)
        self.inner = PaddedFolds(
            [rows for fold in folds for rows in fold.inner_test], n, inner=True
        )

    def __len__(self) -> int:
        return len(self.folds)

    @cached_property
    def inner_train(self) -> list[Rows]:
        """The training rows of all inner folds."""
        return [rows for fold in self.folds for rows in fold.inner_train]

    @cached_property
    def outer_train(self) -> list[Rows]:
        """The training rows of all outer folds."""
        return [fold.train for fold in self.folds]

    @property
    def inner_rows(self) -> Rows:
        """The inner test rows, (n_outer, n_inner, n_rows)."""
        return self.inner.rows.reshape(len(self), -1, self.inner.rows.shape[1])
