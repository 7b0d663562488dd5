"""Error and unfairness of many models at once, on the test part of a fold.

Both are better when smaller. An error is −score for scorers of errors ("neg_mean_absolute_error")
and 1 − score for scores whose best value is 1 ("r2", "accuracy"). An unfairness compares the cells
of the test rows, in the bins of all rows; where no label bin holds two groups it is NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import get_scorer

from gferm.arrays import Array
from gferm.cells import Cells
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
    cells : Cells or None
    sensitive : array or dict of arrays
    """

    __test__ = False  # not a test case

    y: npt.NDArray[Any]
    answers: npt.NDArray[Any]
    outputs: Array
    weight: Array | None
    cells: Cells | None
    sensitive: Any


Measure = Callable[[TestPart], Array]


def _mean(values: npt.NDArray[Any], part: TestPart) -> Array:
    return np.asarray(np.average(values, axis=1, weights=part.weight))


# What scikit-learn's scorers say, for all settings in one go
FAST_ERRORS: dict[str, Measure] = {
    "neg_mean_absolute_error": lambda part: _mean(np.abs(part.answers - part.y), part),
    "neg_mean_squared_error": lambda part: _mean((part.answers - part.y) ** 2, part),
    "neg_root_mean_squared_error": lambda part: np.sqrt(_mean((part.answers - part.y) ** 2, part)),
    "accuracy": lambda part: _mean(part.answers != part.y, part),
}


def error_measure(scoring: Any, stand_in: Any) -> Measure:
    """Turn ``scoring`` into errors; ``stand_in`` predicts what it is given."""
    if isinstance(scoring, str) and scoring in FAST_ERRORS:
        return FAST_ERRORS[scoring]
    scorer = get_scorer(scoring) if isinstance(scoring, str) else scoring
    if not callable(scorer):
        raise ValueError(
            f"scoring={scoring!r} is neither the name of a scorer nor a scorer; use a name from "
            "sklearn.metrics.get_scorer_names() or sklearn.metrics.make_scorer(...)."
        )
    best = 0.0 if getattr(scorer, "_sign", 1) < 0 else 1.0

    def measure(part: TestPart) -> Array:
        options = {} if part.weight is None else {"sample_weight": part.weight}
        scores = [scorer(stand_in, output.T, part.y, **options) for output in part.outputs]
        return best - np.asarray(scores, dtype=float)

    return measure


def _gaps_of_means(part: TestPart) -> CellValues:
    """Compare mean predictions of whole groups; of two classes, the shares of the second."""
    assert part.cells is not None
    numbers = part.answers
    if numbers.dtype.kind not in "biuf":
        if part.outputs.shape[1] > 1:
            raise ValueError(
                "unfairness='mean_distance' compares means of numbers or of two classes; for more "
                "classes use 'dgf' or a callable."
            )
        numbers = (part.outputs[:, 0] > 0).astype(float)
    return risks_of(part.cells.pooled(), np.zeros(numbers.shape[1]), numbers, "prediction")


def _largest_gap(values: CellValues) -> Array | None:
    gaps, _ = values.gaps()
    return gaps.max(axis=-1) if gaps.size else None


def _compare(
    values: Callable[[TestPart], CellValues], summarize: Callable[[CellValues], Array | None]
) -> Measure:
    def measure(part: TestPart) -> Array:
        gaps = None if part.cells is None else summarize(values(part))
        return np.full(len(part.answers), np.nan) if gaps is None else gaps

    return measure


def _rates(part: TestPart) -> CellValues:
    assert part.cells is not None
    return rates_of(part.cells, part.answers)


def _risks(part: TestPart) -> CellValues:
    assert part.cells is not None
    if part.y.dtype.kind not in "biuf":
        raise ValueError("unfairness='loss_general_fairness' needs numbers; use 'dgf' for classes.")
    return risks_of(part.cells, part.y, part.answers)


_OVER_PAIRS = partial(average_gaps, average="pairs")
_BY_DEFINITION = partial(average_gaps, average="definition")

UNFAIRNESS: dict[str, Measure] = {
    "dgf": _compare(_rates, _OVER_PAIRS),
    "general_fairness": _compare(_rates, _BY_DEFINITION),
    "loss_general_fairness": _compare(_risks, _BY_DEFINITION),
    "mean_distance": _compare(_gaps_of_means, _OVER_PAIRS),
    "equalized_odds_difference": _compare(_rates, _largest_gap),
}


def unfairness_measure(unfairness: Any, cells: Cells | None) -> tuple[str, Measure]:
    """Turn ``unfairness`` into a measure, and name it."""
    pooled = cells is not None and cells.label_bins.n_bins == 1 and not cells.label_bins.selective
    if unfairness == "auto":
        unfairness = "mean_distance" if pooled else "dgf"
    if callable(unfairness):
        return getattr(unfairness, "__name__", "unfairness").strip("<>"), _by_hand(unfairness)
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
    return unfairness, UNFAIRNESS[unfairness]


def _by_hand(metric: Callable[..., float]) -> Measure:
    def measure(part: TestPart) -> Array:
        options = {} if part.weight is None else {"sample_weight": part.weight}
        options["sensitive_features"] = part.sensitive
        return np.array([metric(part.y, answer, **options) for answer in part.answers], dtype=float)

    return measure
