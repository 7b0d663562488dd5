"""What a user of the fair transformers may do wrong: named, with a remedy, and nothing changes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from gferm import FairKernelProjection, FairProjection

BOTH = [FairProjection, FairKernelProjection]
both = pytest.mark.parametrize("transformer", BOTH)


def with_first(array, value):
    array = np.array(array, dtype=object if value is None else float)
    array.flat[0] = value
    return array


# what the user did, the arguments that say so, the message
MISTAKES = [
    ("no s", lambda p: {"sensitive_features": None},
     r"sensitive_features is missing.*set_fit_request\(sensitive_features=True\)"),
    ("s too short", lambda p: {"sensitive_features": p.s[1:]}, "has 69 rows"),
    ("NaN in s", lambda p: {"sensitive_features": with_first(p.s, np.nan)}, "1 missing"),
    ("another index",
     lambda p: {"X": pd.DataFrame(p.X), "sensitive_features": pd.Series(p.s, range(70, 0, -1))},
     r"different indexes.*\.loc\[X\.index\]"),
    ("one group", lambda p: {"sensitive_features": np.ones(70)}, "a single group"),
    ("NaN in X", lambda p: {"X": with_first(p.X, np.nan)}, "X contains NaN"),
    ("NaN in y", lambda p: {"y": with_first(p.y, np.nan)}, "y contains NaN"),
    ("None in y", lambda p: {"y": with_first(p.y, None)}, "y has 1 missing values.*row 0.*drop"),
    ("no y", lambda p: {"y": None}, "(requires y to be passed|missing.*'y')"),
    ("an identifier for y", lambda p: {"y": [f"id {i}" for i in range(70)], "y_bins": "auto"},
     r"y has 70 different values.*Bins\.categories"),
    ("bins of words", lambda p: {"y": np.where(p.y > 0, "a", "b")}, "y is not numeric"),
    ("y outside its edges", lambda p: {"y_bins": [0.0, 1.0]}, "none of the y_bins.*widen"),
    ("y_bins misspelt", lambda p: {"y_bins": "classes"}, "'y_bins'.*'auto'"),
    ("words in X", lambda p: {"X": pd.DataFrame(p.X).assign(job="x")},
     r"X has columns that are not numbers: \['job'\]"),
    ("weights all zero", lambda p: {"sample_weight": np.zeros(70)},
     "(?i)sample.weights? .*(at least one|non-zero)"),
    ("cells too small", lambda p: {"min_cell_size": 60}, "smaller min_cell_size"),
]  # fmt: skip
OF_THE_KERNEL = [
    ("unknown kernel", lambda p: {"kernel": "gauss"}, "'kernel'.*among.*'rbf'"),
    ("asymmetric", lambda p: {"X": np.triu(np.ones((70, 70))), "kernel": "precomputed"},
     "not symmetric"),
    ("indefinite", lambda p: {"X": np.eye(70) - 0.5, "kernel": "precomputed"},
     "not positive semi-definite.*matrix passed as X"),
    ("indefinite formula", lambda p: {"kernel": "additive_chi2", "X": np.abs(p.X)},
     "not positive semi-definite.*another kernel"),
    ("not square", lambda p: {"kernel": "precomputed"}, "needs a square X"),
    ("negative counts", lambda p: {"kernel": "chi2"}, "Negative values.*use another"),
    ("NaN from a kernel", lambda p: {"kernel": lambda a, b: np.nan}, "not finite"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("transformer", "mistake"),
    [(cls, case) for cls in BOTH for case in MISTAKES]
    + [(FairKernelProjection, case) for case in OF_THE_KERNEL],
    ids=lambda value: value[0] if isinstance(value, tuple) else value.__name__,
)
def test_a_mistake_is_named_with_its_remedy_and_changes_nothing(problem, transformer, mistake):
    _, arguments, message = mistake
    given = {"X": problem.X, "y": problem.y, "sensitive_features": problem.s, "y_bins": 3}
    given |= arguments(problem)
    names = ("X", "y", "sensitive_features", "sample_weight")
    called = {name: given.pop(name) for name in names if name in given}
    for method in ("fit", "fit_transform"):
        projection = transformer(**given)
        before = dict(vars(projection))
        with pytest.raises((TypeError, ValueError), match=f"(?s){message}"):
            getattr(projection, method)(**called)
        assert vars(projection) == before
    fitted = transformer(y_bins=2).fit(problem.X, problem.y, sensitive_features=problem.s)
    options, expected = fitted.get_params(), fitted.transform(problem.X_new)
    with pytest.raises(ValueError, match=f"(?s){message}"):
        fitted.set_params(**given).fit(**called)
    again = fitted.set_params(**options).transform(problem.X_new)
    np.testing.assert_array_equal(again, expected)


@both
def test_transform_before_fit_and_with_other_columns_is_refused(problem, transformer):
    projection = transformer(y_bins=2)
    with pytest.raises(NotFittedError, match="Call 'fit'"):
        projection.transform(problem.X)
    projection.fit(problem.X, problem.y, sensitive_features=problem.s)
    with pytest.raises(ValueError, match="X has 4 features"):
        projection.transform(problem.X[:, 1:])


def test_s_that_nobody_requested_is_an_error_and_never_an_unfair_model(problem):
    pipeline = make_pipeline(FairProjection(y_bins=1), Ridge())
    with pytest.raises(ValueError, match="sensitive_features is missing"):
        pipeline.fit(problem.X, problem.y)
