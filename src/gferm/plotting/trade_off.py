"""Error and unfairness of several models, from what they predict for the same rows.

    error        mean |y − ŷ| of numbers, share of mistakes of classes, or a function
                 (y_true, y_pred)
    unfairness   mean_gap: mean |difference| of the cells' mean predictions; dgf: of their rates;
                 or a function (y_true, y_pred, *, sensitive_features, **bins)

Both are better when smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gferm.arrays import Array
from gferm.metrics import dgf, loss_general_fairness
from gferm.metrics.reading import are_words, bins_of_labels, read_labels


def _mean_absolute(y: npt.NDArray[Any], f: npt.NDArray[Any]) -> float:
    return float(np.abs(y - f).mean())


def _mistakes(y: npt.NDArray[Any], f: npt.NDArray[Any]) -> float:
    return float((y != f).mean())


def _mean_gap(y: Any, f: Any, **options: Any) -> float:
    return loss_general_fairness(y, f, loss="prediction", average="pairs", **options)


ERRORS: dict[str, Callable[..., float]] = {
    "mean absolute error": _mean_absolute,
    "share of mistakes": _mistakes,
}
UNFAIRNESS: dict[str, Callable[..., float]] = {"mean_gap": _mean_gap, "dgf": dgf}
NAMES = {"mean_gap": "mean gap", "dgf": "DGF"}


@dataclass(frozen=True, eq=False)
class TradeOff:
    """The error and the unfairness of several models.

    Attributes
    ----------
    names : tuple of str
        Names of the models; "" for one without a name.
    errors, unfairness : arrays of shape (n_models,)
    error_name, unfairness_name : str
        What was measured.
    n_rows : int
        The number of rows on which it was measured.
    """

    names: tuple[str, ...]
    errors: Array
    unfairness: Array
    error_name: str
    unfairness_name: str
    n_rows: int


def measure_trade_off(
    y_true: Any,
    predictions: Any,
    *,
    sensitive_features: Any,
    names: Sequence[str] | None = None,
    error: str | Callable[..., float] = "auto",
    unfairness: str | Callable[..., float] = "mean_gap",
    **bins: Any,
) -> TradeOff:
    """Compute the error and the unfairness of the predictions of several models.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
    predictions : mapping of str to array of shape (n_samples,), or array (n_models, n_samples)
    sensitive_features : array, Series, data frame or dict of columns
    names : sequence of str, default=None
        Names of the models, if their predictions are an array.
    error : {"auto", "mean absolute error", "share of mistakes"} or callable, default="auto"
        "auto" counts the mistakes of words, and measures the errors of numbers.
    unfairness : {"mean_gap", "dgf"} or callable, default="mean_gap"
    **bins
        ``y_bins``, ``s_bins`` and ``intersectional``, as in `gferm.metrics.dgf`.
    """
    y = read_labels(y_true, "y_true")
    names, stack = _read(predictions, names)
    for i, f in enumerate(stack):
        if f.size != y.size:
            raise ValueError(
                f"predictions has {f.size} values of model {names[i] or i}, but y_true has "
                f"{y.size}; all models must predict the same rows."
            )
    words = are_words(y)
    if error == "auto":
        error = "share of mistakes" if words else "mean absolute error"
    if words and unfairness == "mean_gap":
        raise ValueError(
            "unfairness='mean_gap' compares mean predictions, which words do not have; use "
            "unfairness='dgf', or pass the classes as 0 and 1."
        )
    error_name, error_of = _named_function(error, ERRORS, "error")
    unfairness_name, unfairness_of = _named_function(unfairness, UNFAIRNESS, "unfairness")
    if words and unfairness == "dgf" and "y_bins" not in bins:
        bins["y_bins"] = bins_of_labels(y, np.concatenate(stack), 10)
    # the labels as given, whose index must agree with that of the groups
    options = {"sensitive_features": sensitive_features, **bins}
    return TradeOff(
        names,
        np.array([error_of(y, f) for f in stack], dtype=float),
        np.array([unfairness_of(y_true, f, **options) for f in stack], dtype=float),
        error_name,
        NAMES.get(unfairness_name, unfairness_name),
        y.size,
    )


def _read(
    predictions: Any, names: Sequence[str] | None
) -> tuple[tuple[str, ...], list[npt.NDArray[Any]]]:
    """Return the names and the predictions of the models, checked."""
    if isinstance(predictions, Mapping):
        if names is not None:
            raise ValueError("names belong to an array of predictions; a mapping has its own.")
        names, predictions = [str(name) for name in predictions], list(predictions.values())
    stack = [read_labels(f, "predictions") for f in predictions if np.ndim(f) == 1]
    if not len(predictions) or len(stack) < len(predictions):
        raise ValueError(
            "predictions must be a mapping of names to arrays (n_samples,), or one array "
            f"(n_models, n_samples), got shape {np.shape(predictions)}; of a single model, pass "
            "{'model': y_pred}."
        )
    names = ("",) * len(stack) if names is None else tuple(map(str, names))
    if len(names) != len(stack):
        raise ValueError(f"names has {len(names)} entries for {len(stack)} models.")
    return names, stack


def _named_function(
    asked: str | Callable[..., float], known: Mapping[str, Callable[..., float]], argument: str
) -> tuple[str, Callable[..., float]]:
    """Return a measure and its name."""
    if callable(asked):
        return getattr(asked, "__name__", argument).replace("_", " ").strip("<>"), asked
    if asked not in known:
        raise ValueError(
            f"{argument}={asked!r} is unknown; use one of {sorted(known)}, or a function."
        )
    return asked, known[asked]
