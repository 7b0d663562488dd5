"""The features of a table as one matrix: numbers filled and scaled, words as indicators.

    numbers   missing → median of the training rows; then minus the mean, over the deviation
    words     one column of 0 and 1 for every word seen in training, one for "missing" if that was;
              a word not seen there is 0 in all of them

`TablePreparation` is a scikit-learn transformer that learns this on the training rows. A column
that is neither, or mixes both, is an error that names the first value in the way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gferm.arrays import Array
from gferm.cli.columns import as_numbers, first_number, first_word, kind_of, nearest, row, texts_of
from gferm.cli.terminal import InputError

RULE = (
    "Numbers: a missing one is the median of the training rows; then mean 0, deviation 1. "
    "Words: 0 or 1 for each; a missing one is a word of its own, one not seen in training is none."
)
MAX_WORDS = 1000  # of one column: a column of names or texts is no category
CONSTANT = 10 * np.finfo(np.float64).eps  # a deviation of this much of the mean is rounding
THREADS = min(cpu_count() or 1, 8)


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

        _for_each(learn, len(numbers))
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
            require_numbers(X[name], name, fitting=False)
        _for_each(apply, len(self.numbers_))
        self._indicate(matrix, [texts_of(X[name]) for name in self.words_])
        return matrix

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Name the columns of the matrix."""
        check_is_fitted(self)
        names = list(self.numbers_)
        for name, levels, missing in zip(self.words_, self.levels_, self.missing_, strict=True):
            names += [f"{name}={level}" for level in levels]
            names += [f"{name} is missing"] * missing
        return np.asarray(names, dtype=object)

    def unseen(self, X: pd.DataFrame) -> dict[str, tuple[int, str]]:
        """Count the rows with a word not seen in training, and give one, for each column."""
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
        """Set the columns of 0 and 1."""
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


def is_categorical(values: pd.Series, categorical: Sequence[str]) -> bool:
    """Return whether a feature is taken as words; refuse what is fit for neither."""
    name = str(values.name)
    if not values.notna().any():
        raise InputError(f"column {name!r} has no value in any row; leave it out with --drop.")
    kind = kind_of(values)
    if name in categorical:
        return True
    if kind == "words" and not isinstance(values.dtype, pd.CategoricalDtype):
        require_one_kind(values, name, "fix it, or take all as words with --categorical")
        return True
    if kind == "numbers":
        require_numbers(values, name)
    elif kind == "other":
        raise InputError(
            f"column {name!r} holds {_describe(values)}, neither numbers nor words; turn it into "
            "numbers, such as days, or leave it out with --drop."
        )
    return kind == "words"


def require_numbers(values: pd.Series, name: str, *, fitting: bool = True) -> None:
    """Refuse a column with values that are no numbers, or infinite."""
    kind = kind_of(values)
    if kind == "words" and not values.notna().any():  # nothing there: all missing
        return
    if kind != "numbers":
        place = (first_word(values) if kind == "words" else None) or 0
        shown = values[values.notna()].iloc[0] if kind != "words" else values.iloc[place]
        raise InputError(
            f"column {name!r} must hold numbers, but {row(place)} holds {str(shown)!r:.40}; fix it."
        )
    infinite = np.isinf(as_numbers(values))
    if infinite.any():
        remedy = "fix it, or leave the column out with --drop" if fitting else "fix it"
        raise InputError(
            f"column {name!r} is infinite in {row(int(np.argmax(infinite)))}; {remedy}."
        )


def require_features(table: pd.DataFrame, features: Sequence[str]) -> None:
    """Refuse a table that lacks columns the model was fitted on."""
    known = set(table.columns)
    absent = [name for name in features if name not in known]
    if absent:
        shown = ", ".join(map(repr, absent[:8])) + (", …" if len(absent) > 8 else "")
        extra = [name for name in table.columns if name not in set(features)]
        hint = f" For {absent[0]!r}, {nearest(absent[0], extra)}" if extra else ""
        raise InputError(f"the data lack {len(absent)} of the model's columns: {shown}.{hint}")


def require_one_kind(values: pd.Series, name: str, remedy: str) -> None:
    """Refuse a column of numbers with a few words among them, or the reverse."""
    number, word = first_number(values), first_word(values)
    if number is None or word is None:
        return
    numbers = pd.to_numeric(values.astype(object), errors="coerce").notna().sum()
    mostly_numbers = 2 * numbers >= values.notna().sum()
    what, place = ("numbers", word) if mostly_numbers else ("words", number)
    raise InputError(
        f"column {name!r} mixes numbers and words: it holds mostly {what}, but {row(place)} holds "
        f"{str(values.iloc[place])!r:.40}; {remedy}."
    )


def _require_few(name: str, levels: Sequence[str]) -> None:
    if len(levels) > MAX_WORDS:
        raise InputError(
            f"column {name!r} has {len(levels)} different words, more than the {MAX_WORDS} that "
            "categories may have; leave it out with --drop, or merge some."
        )


def _describe(values: pd.Series) -> str:
    kind = str(values.dtype)
    return "dates" if kind.startswith("datetime") else f"values such as {_first(values)!r:.40}"


def _first(values: pd.Series) -> str:
    return str(values[values.notna()].iloc[0])


def _fill(place: Array, values: Array, median: float) -> None:
    """Copy numbers to their place, the median where one is missing."""
    place[:] = values
    missing = np.isnan(place)
    if missing.any():
        place[missing] = median


def _for_each(work: Callable[[int], None], n: int) -> None:
    """Do all columns; NumPy lets go of Python's lock, so threads share them."""
    if THREADS == 1 or n < THREADS:
        for j in range(n):
            work(j)
        return
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(n)))
