"""The features of a table as one matrix: numbers filled and scaled, words as indicators.

    numbers   missing → median of the training rows; then minus the mean, over the deviation
    words     one column of 0 and 1 for every word seen in training, one for "missing" if that was;
              a word not seen there is 0 in all of them

`TablePreparation` is a scikit-learn transformer that learns this on the training rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gferm.arrays import Array
from gferm.arrays.threads import for_each
from gferm.exceptions import InputError
from gferm.printed.table import listed
from gferm.tables.columns import as_numbers, is_categorical, nearest, require_numbers, texts_of

RULE = (
    "Numbers: a missing one is the median of the training rows; then mean 0, deviation 1. "
    "Words: 0 or 1 for each; a missing one is a word of its own, one not seen in training is none."
)
MAX_WORDS = 1000  # of one column: a column of names or texts is no category
CONSTANT = 10 * np.finfo(np.float64).eps  # a deviation of this much of the mean is rounding


class TablePreparation(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn the columns of a data frame into a matrix, by a rule learned on the training rows.

    Parameters
    ----------
    categorical : sequence of str, default=()
        Columns to take as words, though they hold numbers.

    Attributes
    ----------
    feature_names_in_ : array of str
    numbers_ : list of str
    medians_, means_, deviations_ : arrays of shape (n_numbers,)
    words_ : list of str
    levels_ : list of list of str
        The words of each of ``words_``, sorted.
    missing_ : list of bool
        Whether each of ``words_`` had missing values.
    """

    def __init__(self, categorical: Sequence[str] = ()) -> None:
        self.categorical = categorical

    def fit(self, X: pd.DataFrame, y: Any = None) -> TablePreparation:
        """Learn medians, means, deviations and words."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: pd.DataFrame, y: Any = None) -> Array:
        """Learn the rule and apply it, in one pass."""
        words = [name for name in X.columns if is_categorical(X[name], self.categorical)]
        numbers = [name for name in X.columns if name not in set(words)]
        self.feature_names_in_ = np.asarray(X.columns, dtype=object)
        self.numbers_, self.words_ = numbers, words
        encoded = [texts_of(X[name]) for name in words]
        self.levels_ = [sorted(set(texts)) for _, texts in encoded]
        self.missing_ = [bool((codes < 0).any()) for codes, _ in encoded]
        for name, levels in zip(words, self.levels_, strict=True):
            _require_few(name, levels)
        self.medians_, self.means_, self.deviations_ = (np.zeros(len(numbers)) for _ in range(3))
        matrix = np.empty((len(X), self._width), order="F")

        def learn(j: int) -> None:
            values, filled = as_numbers(X[numbers[j]]), matrix[:, j]
            missing = np.isnan(values)
            self.medians_[j] = np.median(values[~missing] if missing.any() else values)
            _fill(filled, values, self.medians_[j])
            self.means_[j] = filled.mean()
            filled -= self.means_[j]
            # not by BLAS, whose own threads would wait for ours
            deviation = np.sqrt(np.square(filled).mean())
            rounding = deviation <= CONSTANT * abs(self.means_[j])
            self.deviations_[j] = 1.0 if rounding else deviation
            filled /= self.deviations_[j]

        for_each(learn, range(len(numbers)))
        self._indicate(matrix, encoded)
        return matrix

    def transform(self, X: pd.DataFrame) -> Array:
        """Apply the rule to other rows; columns are found by name."""
        check_is_fitted(self)
        require_features(X, self.feature_names_in_.tolist())
        matrix = np.empty((len(X), self._width), order="F")

        def apply(j: int) -> None:
            filled = matrix[:, j]
            _fill(filled, as_numbers(X[self.numbers_[j]]), self.medians_[j])
            filled -= self.means_[j]
            filled /= self.deviations_[j]

        for name in self.numbers_:
            require_numbers(X[name], fitting=False)
        for_each(apply, range(len(self.numbers_)))
        self._indicate(matrix, [texts_of(X[name]) for name in self.words_])
        return matrix

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the names of the columns of the matrix."""
        check_is_fitted(self)
        names = list(self.numbers_)
        for name, levels, missing in zip(self.words_, self.levels_, self.missing_, strict=True):
            names += [f"{name}={level}" for level in levels]
            names += [f"{name} is missing"] * missing
        return np.asarray(names, dtype=object)

    def unseen(self, X: pd.DataFrame) -> dict[str, tuple[int, str]]:
        """Return, by column, how many rows have a word not seen in training, and one such word."""
        found = {}
        for name, levels in zip(self.words_, self.levels_, strict=True):
            codes, texts = texts_of(X[name])
            new = [code for code, text in enumerate(texts) if text not in set(levels)]
            if new:
                found[name] = int(np.isin(codes, new).sum()), texts[new[0]]
        return found

    @property
    def _width(self) -> int:
        return len(self.numbers_) + sum(map(len, self.levels_)) + sum(self.missing_)

    def _indicate(self, matrix: Array, encoded: Sequence[tuple[Any, list[str]]]) -> None:
        """Write the columns of 0 and 1 into the matrix."""
        start = len(self.numbers_)
        for (codes, texts), levels, missing in zip(
            encoded, self.levels_, self.missing_, strict=True
        ):
            place = {level: j for j, level in enumerate(levels)}
            # one more place than words: for code −1, missing
            to = np.array(
                [*(place.get(text, -1) for text in texts), len(levels) if missing else -1]
            )
            column = to[codes]
            width = len(levels) + missing
            matrix[:, start : start + width] = column[:, None] == np.arange(width)
            start += width


def require_features(table: pd.DataFrame, features: Sequence[str]) -> None:
    """Raise an error if a table lacks columns that the model was fitted on."""
    known = set(table.columns)
    absent = [name for name in features if name not in known]
    if absent:
        shown = listed([repr(name) for name in absent], 8)
        extra = [name for name in table.columns if name not in set(features)]
        hint = f" For {absent[0]!r}, {nearest(absent[0], extra)}" if extra else ""
        raise InputError(f"the data lack {len(absent)} of the model's columns: {shown}.{hint}")


def _require_few(name: str, levels: Sequence[str]) -> None:
    if len(levels) > MAX_WORDS:
        raise InputError(
            f"column {name!r} has {len(levels)} different words, more than the {MAX_WORDS} that "
            "categories may have; leave it out with --drop, or merge some."
        )


def _fill(place: Array, values: Array, median: float) -> None:
    """Copy numbers to their place, the median where one is missing."""
    place[:] = values
    missing = np.isnan(place)
    if missing.any():
        place[missing] = median
