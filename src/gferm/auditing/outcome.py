"""What each row contributes to a mean, and what is summed of it.

    rate         1 if the prediction falls into the label's own bin (is the right class)
    prediction   f              label   y           residual   f − y
    error        |f − y|, or 1 if the class is wrong
    loss         a loss of fairness_losses.py, for LGF

Two classes that are words are counted as 0 and 1, 1 for the second in sorted order; more than two
have no mean prediction, only rates and errors. Bins that hold every number have no rates: everybody
is in the right one, and that would read as perfectly fair.

With every attribute s that is a number, f, s, f s, f² and s² are summed too, both standardised.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gferm.arrays import Array
from gferm.auditing.draws import MASS, Term
from gferm.fairness.fairness_losses import FairnessLoss, fairness_loss
from gferm.metrics.reading import PredictedRows, are_words, levels_of

NUMBERS, CLASSES = "numbers", "classes"
STANDARD, SQUARED = "standardised prediction", "its square"


@dataclass(frozen=True, eq=False)
class Outcome:
    """What the rows contribute.

    Attributes
    ----------
    task : {"numbers", "classes"}
    quantities : dict of arrays of shape (n_samples,)
    positive : str or None
        Which of two classes counts as 1 …
    positive_bin : int or None
        … and its label bin, if it has one of its own.
    numeric : tuple of str
        The attributes that have a correlation with the predictions.
    """

    task: str
    quantities: dict[str, Array]
    positive: str | None = None
    positive_bin: int | None = None
    numeric: tuple[str, ...] = ()


def read_outcome(rows: PredictedRows, loss: str | FairnessLoss) -> Outcome:
    """Compute what each row contributes."""
    y, f, bins = rows.y, rows.predictions, rows.cells.label_bins
    hits = (bins.assign(f) == bins.assign(y)).astype(float)
    words = are_words(y)
    found = {} if bins.holds_everything else {"rate": hits}
    task, positive, positive_bin = NUMBERS, None, None
    if bins.selective or words:
        task, classes = CLASSES, levels_of(y)
        found["error"] = (f != y).astype(float)
        if len(classes) > 2:
            return Outcome(task, found)
        positive = str(classes[-1])
        code = int(bins.assign(np.asarray(classes[-1:]))[0])
        positive_bin = code if bins.selective and code >= 0 else None
        if words:
            y, f = (y == classes[-1]).astype(float), (f == classes[-1]).astype(float)
    else:
        found["error"] = np.abs(f - y)
    found |= {"label": y, "prediction": f, "residual": f - y, "loss": _losses(loss, f, y)}
    numeric = tuple(
        column.name
        for column in rows.columns
        if column.values.dtype.kind in "biuf"
        and (not column.nominal or column.name in rows.cells.scores)
    )
    return Outcome(task, found, positive, positive_bin, numeric)


def _losses(loss: str | FairnessLoss, f: Array, y: Array) -> Array:
    found = np.asarray(fairness_loss(loss)(f, y))
    numeric = found.dtype.kind in "biuf"
    if found.shape != y.shape or not numeric or not np.isfinite(found).all():
        raise ValueError(
            f"loss={getattr(loss, '__name__', loss)!r} must give one finite number for each of the "
            f"{y.size} rows, but gave {found.tolist()!r:.60}; write it for arrays: "
            "loss(y_pred, y_true)."
        )
    return found.astype(float)


def moments_with(attribute: str) -> tuple[str, str, str, str, str]:
    """Name the terms f, s, f s, f² and s² of an attribute s."""
    return STANDARD, f"{attribute}: s", f"{attribute}: f s", SQUARED, f"{attribute}: s s"


def terms_of(rows: PredictedRows, outcome: Outcome) -> tuple[dict[str, Term], float]:
    """Return the products whose sums are needed, and the standard deviation of the predictions."""
    weight = rows.weight
    terms = {name: Term(values, weight) for name, values in outcome.quantities.items()}
    if weight is not None:
        terms[MASS] = Term(np.ones(rows.y.size), weight)
    if not outcome.numeric:
        return terms, 1.0
    f, spread = _standardise(outcome.quantities["prediction"], weight)
    terms |= {STANDARD: Term(f, weight), SQUARED: Term(f**2, weight)}
    share, one = 1.0 if weight is None else weight, np.ones(rows.y.size)
    for column in rows.columns:
        if column.name in outcome.numeric:
            s, _ = _standardise(column.values.astype(float), weight)
            _, of_s, mixed, _, squared = moments_with(column.name)
            terms[of_s] = Term(one, share * s)
            terms[mixed] = Term(f, share * s)
            terms[squared] = Term(one, share * s**2)
    return terms, spread


def _standardise(values: Array, weight: Array | None) -> tuple[Array, float]:
    """Return values in deviations from their mean (zeros if constant), and the deviation."""
    centred = values - np.average(values, weights=weight)
    spread = float(np.sqrt(np.average(centred**2, weights=weight)))
    if spread <= 1e-12 * np.abs(values).max():
        return np.zeros_like(centred), spread
    return centred / spread, spread
