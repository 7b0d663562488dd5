"""Mean label against mean prediction, in bins of the prediction, for each group.

The cells are those of cells.py with the prediction ŷ in the place of the label: row i lies in bin
k(i) of ŷ_i and in group q(i), and a point is a cell,

    (mean of ŷ, mean of y) over D_{k,q},    shape (K, Q).

The bins are the same for all groups, so points above each other have the same prediction. The mean
m of n labels has the interval m ± t_{n−1} √(v/n) of Student, v the variance with denominator n − 1;
a share has Wilson's. Weighted rows count as n = (Σw)²/Σw² of equal weight. No rows, and one row of
numbers, have no interval: NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from gferm.arrays import Array
from gferm.auditing.findings import wilson
from gferm.fairness.bins import Bins, as_bins
from gferm.fairness.cells import SensitiveBins
from gferm.fairness.comparison import Comparison
from gferm.fairness.sensitive import UNNAMED, read_sensitive_features
from gferm.metrics.reading import (
    read_labels,
    read_numbers,
    read_rows_of_cells,
    read_weights,
    require_same_length,
)
from gferm.plotting.style import place_of

LEVEL = 0.95  # of the intervals
STRATEGIES: dict[str, Callable[[int], Bins]] = {
    "quantile": Bins.quantile,
    "uniform": lambda n_bins: as_bins(n_bins, "n_bins"),
}


@dataclass(frozen=True, eq=False)
class Calibration:
    """The points of a calibration curve for each group, NaN where a cell is empty.

    Attributes
    ----------
    groups : tuple of str
        The Q groups.
    bins : Bins
        The K bins of the prediction.
    predictions, labels : arrays of shape (K, Q)
        Mean prediction and mean label of each cell.
    low, high : arrays of shape (K, Q)
        95 % interval of the mean label: Wilson's for classes 0 and 1, else Student's.
    counts : array of shape (K, Q)
        Rows in each cell.
    classes : bool
        Whether the labels are 0 and 1, and their mean a share.
    attribute : str
        Whose groups these are.
    """

    groups: tuple[str, ...]
    bins: Bins
    predictions: Array
    labels: Array
    low: Array
    high: Array
    counts: npt.NDArray[np.intp]
    classes: bool
    attribute: str = UNNAMED


def calibrate(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    n_bins: int = 10,
    strategy: str = "quantile",
    s_bins: SensitiveBins = "auto",
    intersectional: bool = True,
    attribute: str | None = None,
    pos_label: Any = None,
) -> Calibration:
    """Compute the points; parameters as in `CalibrationByGroupDisplay.from_predictions`."""
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy={strategy!r} is unknown; use one of {sorted(STRATEGIES)}.")
    y, f = read_shares_or_numbers(y_true, pos_label), read_numbers(y_pred, "y_pred")
    require_same_length(y, f)
    # the arrays below have lost the indexes that must agree
    read_sensitive_features(sensitive_features, f.size, like=[y_true, y_pred])
    weight = read_weights(sample_weight, f)
    kept = np.ones(f.size, dtype=bool) if weight is None else weight > 0
    as_bins(n_bins, "n_bins")  # a wrong number is refused under its own name
    bins = STRATEGIES[strategy](n_bins).resolve(
        f[kept], None if weight is None else weight[kept], "y_pred"
    )
    comparison = Comparison(bins, s_bins, intersectional)
    rows = read_rows_of_cells(f, y, sensitive_features, sample_weight, comparison)
    f, y, members = rows.y, rows.predictions, rows.membership  # the prediction has bins here
    place = place_of(attribute, [part.name for part in rows.cells.partitions])
    part, cell_of = rows.cells.partitions[place], members.cell_codes[place]
    mean, n = members.means_of(place, y), part.effective_rows
    classes = bool(np.isin(y, (0.0, 1.0)).all())
    if classes:
        low, high = interval_of_share(mean, n)
    else:
        around = y - mean.ravel()[cell_of]
        low, high = interval_of_mean(mean, members.means_of(place, around**2), n)
    predicted = members.means_of(place, f)
    return Calibration(
        part.groups, bins, predicted, mean, low, high, part.counts, classes, part.name
    )


def interval_of_share(share: Array, n: Array) -> tuple[Array, Array]:
    """Return Wilson's interval of a share seen in n rows."""
    tail = (1.0 - LEVEL) / 2.0
    low, high = (np.clip(wilson(share, n, level), 0.0, 1.0) for level in (tail, 1.0 - tail))
    return low, high


def interval_of_mean(mean: Array, squares: Array, n: Array) -> tuple[Array, Array]:
    """Return Student's interval of a mean, ``squares`` the mean squared deviation from it."""
    n = np.where(n > 1, n, np.nan)
    half = stats.t.ppf(0.5 + LEVEL / 2, n - 1) * np.sqrt(squares / (n - 1))
    return mean - half, mean + half


def read_shares_or_numbers(y_true: Any, pos_label: Any) -> Array:
    """Read numbers, or two classes as 1 for ``pos_label`` and 0 for the other."""
    y = read_labels(y_true, "y_true")
    if pos_label is not None and pos_label not in np.unique(y).tolist():
        raise ValueError(
            f"pos_label={pos_label!r} is not among the labels {np.unique(y).tolist()[:10]}; name "
            "the class whose share is predicted."
        )
    if pos_label is None and y.dtype.kind not in "biuf":
        raise ValueError(
            f"y_true has words such as {str(y[0])!r}, which have no mean; name the class whose "
            "share is predicted by pos_label=..."
        )
    read: Array = np.asarray(y if pos_label is None else y == pos_label, dtype=float)
    return read
