"""Error and unfairness of many models at once, on the test part of a fold.

Both are better when smaller. An error is −score for scorers of errors ("neg_mean_absolute_error")
and 1 − score for scores whose best value is 1 ("r2", "accuracy"). An unfairness compares the cells
of the test rows, in the bins of all rows; where no label bin holds two groups it is NaN. What
users bring, scorers and callables, is asked setting by setting.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.metrics import get_scorer

from gferm.arrays import Array
from gferm.exceptions import OutsideBinsWarning, warn_user
from gferm.fairness.cells import Cells
from gferm.fairness.membership import Membership
from gferm.metrics.cell_values import CellValues, average_gaps
from gferm.metrics.general import rates_of, risks_of


@dataclass(frozen=True, eq=False)
class TestPart:
    """The rows that models are judged on, and what those models say.

    Attributes
    ----------
    y : array of shape (n_test,)
    answers : array of shape (n_settings, n_test)
        Predicted numbers or classes.
    outputs : array of shape (n_settings, n_models, n_test)
        The numbers that answers are made of.
    weight : array or None
    members : Membership or None
    sensitive : array, dict of arrays or None
    """

    __test__ = False  # not a test case

    y: npt.NDArray[Any]
    answers: npt.NDArray[Any]
    outputs: Array
    weight: Array | None
    members: Membership | None
    sensitive: Any


Measure = Callable[[TestPart], Array]


def _mean(values: npt.NDArray[Any], part: TestPart) -> Array:
    return np.asarray(np.average(values, axis=1, weights=part.weight))


def _mean_absolute(part: TestPart) -> Array:
    return _mean(np.abs(part.answers - part.y), part)


def _mean_squared(part: TestPart) -> Array:
    return _mean((part.answers - part.y) ** 2, part)


def _root_mean_squared(part: TestPart) -> Array:
    return np.sqrt(_mean_squared(part))


def _share_of_mistakes(part: TestPart) -> Array:
    return _mean(part.answers != part.y, part)


# What scikit-learn's scorers say, for all settings in one go
FAST_ERRORS_OF_NUMBERS: dict[str, Measure] = {
    "neg_mean_absolute_error": _mean_absolute,
    "neg_mean_squared_error": _mean_squared,
    "neg_root_mean_squared_error": _root_mean_squared,
}
FAST_ERRORS_OF_CLASSES: dict[str, Measure] = {"accuracy": _share_of_mistakes}


def error_measure(scoring: Any, stand_in: Any) -> Measure:
    """Turn ``scoring`` into errors; ``stand_in`` predicts what it is given."""
    fast = FAST_ERRORS_OF_CLASSES if is_classifier(stand_in) else FAST_ERRORS_OF_NUMBERS
    if isinstance(scoring, str) and scoring in fast:
        return fast[scoring]
    return partial(_by_scorer, f"scoring={scoring!r}", _scorer(scoring), stand_in)


def _by_scorer(name: str, scorer: Callable[..., float], stand_in: Any, part: TestPart) -> Array:
    best = 0.0 if getattr(scorer, "_sign", 1) < 0 else 1.0
    options = {} if part.weight is None else {"sample_weight": part.weight}
    ask = partial(_ask, name, A_SCORER, scorer, stand_in)
    return best - np.array([ask(output.T, part.y, **options) for output in part.outputs])


def _scorer(scoring: Any) -> Callable[..., float]:
    try:
        scorer: Callable[..., float] = get_scorer(scoring)
    except ValueError as error:
        raise ValueError(
            f"scoring={scoring!r} is not the name of a scorer; use one of "
            "sklearn.metrics.get_scorer_names(), or sklearn.metrics.make_scorer(...)."
        ) from error
    return scorer


A_SCORER = (
    "A scorer takes (estimator, X, y) and gives a number, better when larger; "
    "sklearn.metrics.make_scorer makes one of a metric."
)
AN_UNFAIRNESS = (
    "A callable takes (y_true, y_pred, *, sensitive_features) and gives a number of at least 0, "
    "which is 0 for a fair model."
)


def _ask(
    name: str, contract: str, function: Callable[..., Any], *given: Any, **options: Any
) -> float:
    """Call what a user brought; where it fails, say what it was and how it was called."""
    try:
        return float(function(*given, **options))
    except Warning:  # the user made errors of them
        raise
    except Exception as error:
        what, remedy = str(error).rstrip("."), contract
        what = what.replace("FairClassifier has", "FairClassifier with this loss has")
        if "sample_weight" in options and "sample_weight" in what:
            remedy = "Use one that takes sample_weight, or fit without."
        if "predict_proba" in what:
            remedy = "Use a scoring of classes or numbers; only loss='log_loss' has probabilities."
        raise ValueError(f"{name} cannot judge held-out rows: {what}. {remedy}") from error


def _means(part: TestPart) -> CellValues:
    """Average predictions over whole groups; of several classes, or of words, their shares."""
    assert part.members is not None
    numbers = part.answers[:, None]
    if part.outputs.shape[1] > 1:
        classes = np.arange(part.outputs.shape[1])
        numbers = part.outputs.argmax(axis=1)[:, None] == classes[:, None]
    elif numbers.dtype.kind not in "biuf":
        numbers = part.outputs > 0
    return risks_of(part.members.pooled(), np.zeros(part.y.size), numbers, "prediction")


def _mean_gap(values: CellValues) -> Array | None:
    """Average over pairs of groups, then over classes."""
    gaps = average_gaps(values, "pairs")
    return None if gaps is None else gaps.mean(axis=-1)


def _largest_gap(values: CellValues) -> Array | None:
    gaps = np.abs(values.signed_gaps())
    return np.asarray(gaps.max(axis=-1)) if gaps.size else None


def _compare(
    values: Callable[[TestPart], CellValues],
    summarize: Callable[[CellValues], Array | None],
    part: TestPart,
) -> Array:
    gaps = None if part.members is None else summarize(values(part))
    return np.full(len(part.answers), np.nan) if gaps is None else gaps


def _rates(part: TestPart) -> CellValues:
    assert part.members is not None
    return rates_of(part.members, part.answers)


def _risks(part: TestPart) -> CellValues:
    assert part.members is not None
    if part.y.dtype.kind not in "biuf":
        raise ValueError("unfairness='loss_general_fairness' needs numbers; use 'dgf' for classes.")
    return risks_of(part.members, part.y, part.answers)


_OVER_PAIRS = partial(average_gaps, average="pairs")
_BY_DEFINITION = partial(average_gaps, average="definition")

# partials of functions, not functions in functions: they travel to other processes
UNFAIRNESS: dict[str, Measure] = {
    "dgf": partial(_compare, _rates, _OVER_PAIRS),
    "general_fairness": partial(_compare, _rates, _BY_DEFINITION),
    "loss_general_fairness": partial(_compare, _risks, _BY_DEFINITION),
    "mean_distance": partial(_compare, _means, _mean_gap),
    "equalized_odds_difference": partial(_compare, _rates, _largest_gap),
}


def unfairness_measure(unfairness: Any, cells: Cells | None) -> tuple[str, Measure]:
    """Turn ``unfairness`` into a measure, and name it."""
    pooled = cells is not None and cells.label_bins.n_bins == 1 and not cells.label_bins.selective
    if callable(unfairness):
        name = getattr(unfairness, "__name__", "unfairness").strip("<>")
        return "unfairness" if name == "error" else name, partial(_by_hand, unfairness)
    if unfairness == "auto":
        unfairness = "mean_distance" if pooled else "dgf"
    if unfairness not in UNFAIRNESS:
        raise ValueError(
            f"unfairness={unfairness!r} is unknown; use one of {sorted(UNFAIRNESS)}, or a callable "
            "(y_true, y_pred, *, sensitive_features) such as those of gferm.metrics."
        )
    if pooled and unfairness != "mean_distance" and unfairness != "loss_general_fairness":
        raise ValueError(
            f"unfairness={unfairness!r} is zero for every model where y_bins is one bin: all "
            "predictions fall into it. Use unfairness='mean_distance', or more y_bins."
        )
    if cells is not None and cells.scores:
        _report_what_has_no_groups(unfairness, cells)
    return unfairness, UNFAIRNESS[unfairness]


def _report_what_has_no_groups(unfairness: str, cells: Cells) -> None:
    names = list(cells.scores)
    if not cells.partitions:
        raise ValueError(
            f"unfairness={unfairness!r} compares groups, but s_bins makes none of {names}, which "
            "are taken as continuous; use unfairness=gferm.metrics.sensitive_correlation, or give "
            "s_bins a number."
        )
    warn_user(
        f"unfairness={unfairness!r} compares groups, so it does not judge {names}, which are taken "
        "as continuous; use a callable of your own to choose by these too.",
        OutsideBinsWarning,
    )


def _by_hand(metric: Callable[..., float], part: TestPart) -> Array:
    if part.sensitive is None:
        return np.full(len(part.answers), np.nan)
    name = f"unfairness={metric!r}"
    options = {} if part.weight is None else {"sample_weight": part.weight}
    ask = partial(_ask, name, AN_UNFAIRNESS, metric, part.y)
    options["sensitive_features"] = part.sensitive
    values = np.array([ask(answer, **options) for answer in part.answers])
    if (values < 0).any():  # signs would cancel in the mean over folds
        raise ValueError(
            f"{name} gave {np.nanmin(values):.4g}, but unfairness is a distance from 0; take its "
            "absolute value."
        )
    return values
