"""Every error of an audit names the argument, what is wrong with it, and the remedy."""

import re
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import gferm
from gferm import Bins
from gferm.exceptions import NothingToCompareError
from tests.auditing.cases import letters, make_numbers

Y, F, S = make_numbers(n=60)
GROUPS = letters(S)
CLASSES = S[::-1].copy()
WORDS = np.array(["no", "yes"])[CLASSES]


def audit(y=Y, f=F, s=GROUPS, **options):
    options = {"n_boot": 5, "n_permutations": 5, "y_bins": 3} | options
    return gferm.audit(y, f, sensitive_features=s, **options)


def refuses(*words, error=ValueError):
    """Expect all words, in any order."""
    return pytest.raises(
        error, match="(?s)" + "".join(f"(?=.*{re.escape(word)})" for word in words)
    )


def but(values, place, value):
    changed = np.array(values, dtype=object if isinstance(value, (str, type(None))) else None)
    changed[place] = value
    return changed


def scores(y_pred, y_true):
    return 1.0


LABELS = {
    "lengths": ((Y[:-1], F), ["y_true has 59", "y_pred has 60"]),
    "NaN label": ((but(Y, 3, np.nan), F), ["y_true", "NaN"]),
    "NaN prediction": ((Y, but(F, 3, np.nan)), ["y_pred", "NaN"]),
    "infinite": ((Y, but(F, 3, np.inf)), ["y_pred", "infinity"]),
    "no word": ((but(WORDS, 5, None), WORDS), ["y_true has 1 missing", "row 5", "drop"]),
    "no number": ((but(Y, 5, None), F), ["y_true has 1 missing", "row 5", "drop"]),
    "masked": ((np.ma.array(Y, mask=S == 1), F), ["y_true", "masked", "drop"]),
    "masked predictions": ((Y, np.ma.array(F, mask=S == 1)), ["y_pred", "masked"]),
    "empty": ((Y[:0], F[:0], GROUPS[:0]), ["y_true has no rows"]),
    "two columns": ((np.c_[Y, Y], F), ["y_true", "(60, 2)", "one value for each row"]),
    "two columns of predictions": ((Y, np.c_[F, F]), ["y_pred", "(60, 2)"]),
    "a number": ((1.0, F), ["y_true", "one-dimensional"]),
    "a word": (("price", F), ["y_true", "one-dimensional"]),
    "a generator": ((iter(Y), F), ["y_true", "one-dimensional"]),
    "nothing": ((None, F), ["y_true is missing"]),
    "no predictions": ((Y, None), ["y_pred is missing"]),
    "complex": ((Y * 1j, F), ["y_true", "complex128", "numbers"]),
    "dates": ((np.array(["NaT", "2026-01-01"] * 30, "M8[D]"), F), ["y_true", "datetime64"]),
    "words and numbers": ((but(WORDS.astype(object), 5, 7), WORDS), ["y_true mixes", "7"]),
    "scores of words": ((WORDS, F), ["y_pred", "not scores", "'yes'"]),
    "codes of words": ((WORDS, CLASSES), ["y_pred holds [0, 1]", "'yes'"]),
    "another class": ((WORDS, but(WORDS, 0, "maybe")), ["y_pred holds ['maybe']", "y_bins="]),
}


@pytest.mark.parametrize("case", LABELS)
def test_labels_and_predictions(case):
    arguments, words = LABELS[case]
    with refuses(*words):
        audit(*arguments)


@pytest.mark.parametrize("bins", ["classes", Bins.categories([0, 1])])
def test_scores_are_not_classes(bins):
    with refuses("y_pred holds", "[0, 1]", "not scores"):
        audit(CLASSES, np.linspace(0.1, 0.9, 60), y_bins=bins)


SENSITIVE = {
    "none": (None, ["sensitive_features is missing"]),
    "its name": ("sex", ["sensitive_features", "not its name"]),
    "no column": ({}, ["sensitive_features has no column"]),
    "lengths": (GROUPS[:-1], ["59 rows", "60 samples"]),
    "NaN": (but(Y, 7, np.nan), ["sensitive_features (sensitive)", "row 7", "drop or impute"]),
    "no word": ({"sex": but(GROUPS, 7, None)}, ["sensitive_features (sex)", "row 7"]),
    "complex": (S * 1j, ["sensitive_features (sensitive)", "complex"]),
    "identifiers": ([f"id {i}" for i in range(60)], ["sensitive", "60 different", "identifier"]),
}


@pytest.mark.parametrize("case", SENSITIVE)
def test_sensitive_features(case):
    values, words = SENSITIVE[case]
    with refuses(*words):
        audit(s=values)


@pytest.mark.parametrize("s", [np.full(60, "a"), {"sex": GROUPS, "all": np.full(60, 1)}])
def test_a_single_group_has_nobody_to_be_compared_with(s):
    with refuses("1 of its groups", "nobody to compare with", error=NothingToCompareError):
        audit(s=s, intersectional=False)


SETTINGS = {
    "n_boot": [(-1, "at least 0"), (1.5, "integer"), (True, "integer"), (None, "integer")],
    "n_permutations": [(-1, "at least 0"), (1e3, "integer"), ("9", "integer")],
    "min_cell_size": [(0, "at least 1"), (2.5, "integer"), (True, "integer")],
    "small_cell_size": [(0, "at least 1"), (2.5, "integer")],
    "ci_quantiles": [
        ((0.9, 0.1), "increasing"),
        ((0.1,), "at least two"),
        ((0, 1), "between 0 and 1"),
        ((0.1, np.nan), "increasing"),
        (("low", "high"), "such as (0.025, 0.975)"),
        (0.95, "at least two"),
        (None, "at least two"),
    ],
    "intersectional": [("no", "True or False"), (None, "True or False")],
    "loss": [("huber", "use one of"), (None, "use one of"), (["linear"], "use one of")],
    "y_bins": [
        (0, "at least 1"),
        (2.5, "number of bins"),
        ("deciles", "number of bins"),
        (None, "number of bins"),
        ([1], "at least two"),
        ([3, 2, 1], "increasing"),
        ("continuous", "s_bins"),
        (True, "integer"),
    ],
    "s_bins": [
        (0, "at least 1"),
        ("deciles", "use a number of bins"),
        ({"race": 3}, "['sensitive']"),
    ],
}


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [(name, value, words) for name, each in SETTINGS.items() for value, words in each],
)
def test_settings(name, value, words):
    with refuses(name, words):
        audit(**{name: value})


@pytest.mark.parametrize("bins", [3, [0, 1, 2], "continuous"])
def test_words_are_not_binned_as_numbers(bins):
    with refuses("sensitive_features (sensitive) is not numeric", "Bins.categories"):
        audit(s_bins=bins)


def test_labels_outside_of_all_bins():
    with refuses(
        "y_bins=['[10, 11]']", "Give bins that hold the labels", error=NothingToCompareError
    ):
        audit(y_bins=[10, 11])
    with refuses("y_bins names ['maybe']", "['no', 'yes']"):
        audit(WORDS, WORDS, y_bins=["maybe"])
    with refuses("0 of its groups", "s_bins", error=NothingToCompareError):
        audit(s_bins=Bins.categories(["x", "z"]))


@pytest.mark.parametrize(
    "loss",
    [
        scores,
        lambda f, y: (f - y)[:3],
        lambda f, y: f * np.nan,
        lambda f, y: f * 1j,
        lambda f, y: np.array(["a"] * f.size),
        lambda f, y: None,
    ],
)
def test_a_loss_gives_a_finite_number_for_each_row(loss):
    with refuses(f"loss={loss.__name__!r}", "60 rows", "but gave", "loss(y_pred, y_true)"):
        audit(loss=loss)


def test_an_unknown_loss_is_refused_where_no_loss_is_needed():
    words = np.array(["a", "b", "c"])[np.arange(60) % 3]
    with refuses("loss='huber' is unknown"):
        audit(words, words, loss="huber")


@pytest.mark.parametrize(
    ("weight", "word"),
    [
        (np.full(60, -1.0), "Negative"),
        (np.zeros(60), "non-zero"),
        (np.ones(59), "(59,)"),
        (np.full(60, np.nan), "NaN"),
        (["heavy"] * 60, "heavy"),
    ],
)
def test_weights(weight, word):
    with refuses("sample_weight must be 60 numbers of at least 0", word):
        audit(sample_weight=weight)


OTHER = np.arange(60) + 1


@pytest.mark.parametrize(
    ("names", "which"),
    [
        (("y_pred", "y_true"), {"f"}),
        (("sensitive_features", "y_true"), {"s"}),
        (("sensitive_features['sex']", "y_true"), {"column"}),
        (("sample_weight", "y_true"), {"sample_weight"}),
        (("sensitive_features", "sample_weight"), {"s", "no label"}),
    ],
)
def test_rows_with_another_index_may_be_other_rows(names, which):
    index = {
        name: OTHER if name in which else None for name in ("f", "s", "column", "sample_weight")
    }
    arguments = {
        "y": pd.Series(Y),
        "f": pd.Series(F, index=index["f"]),
        "s": pd.DataFrame({"sex": GROUPS}, index=index["s"]),
        "sample_weight": pd.Series(np.ones(60), index=index["sample_weight"]),
    }
    if "column" in which:
        arguments["s"] = {"sex": pd.Series(GROUPS, index=index["column"]), "age": S}
    if "no label" in which:
        arguments |= {"y": Y, "f": F}
    with refuses(*names, "different indexes", "reset_index(drop=True)"):
        audit(**arguments)


def test_columns_of_a_dict_must_agree_with_each_other():
    columns = {"sex": pd.Series(GROUPS), "age": pd.Series(S, index=OTHER)}
    with refuses("sensitive_features['age']", "sensitive_features['sex']", "different indexes"):
        audit(s=columns)


def test_too_many_pairs_or_crossings_to_be_drawn_again(monkeypatch):
    rng = np.random.default_rng(0)
    columns = {f"s{j}": letters(rng.integers(0, 3, 60)) for j in range(4)}
    module = sys.modules["gferm.auditing.audit"]  # the function of this name hides it
    monkeypatch.setattr(module, "MOST_PAIRS", 30)
    with refuses("36 pairs of cells", "n_boot=0, n_permutations=0"):
        audit(s=columns, intersectional=False)
    assert audit(s=columns, intersectional=False, n_boot=0, n_permutations=0).figures
    monkeypatch.setattr(module, "MOST_PAIRS", 36)
    monkeypatch.setattr(module, "MOST_SUMS", 200)
    with refuses("4 attributes", "strata", "n_boot and n_permutations to 3 or less"):
        audit(s=columns, intersectional=False)


def test_decimals_and_huge_numbers_are_numbers():
    found = audit(np.array([Decimal(str(y)) for y in Y]), F)
    assert found.to_json() == audit().to_json()
    assert audit(Y * 1e300, F * 1e300).task == "numbers"
