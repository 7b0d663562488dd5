"""What all chunks of a stream share, and the errors and warnings where they do not.

Agreement: bins, landmarks, an origin, and the parameters these follow from
a chunk + Agreement → sums that add to those of any other chunk
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gferm.arrays import Array
from gferm.arrays.device import CPU, Device
from gferm.arrays.equality import are_equal
from gferm.estimators.base import FairModel
from gferm.estimators.posing import Columns
from gferm.exceptions import ShiftedBinsWarning, warn_user
from gferm.fairness.cells import Cells, CellScheme
from gferm.features.kernel import Kernel
from gferm.features.landmarks import Landmarks
from gferm.features.linear import LinearFeatures
from gferm.features.origin import Origin
from gferm.features.space import FunctionSpace

AGREED = ("y_bins", "s_bins", "intersectional", "n_landmarks", "landmarks")
SHIFTED = 0.25  # of all rows, that are in other bins than the first chunk was


@dataclass(frozen=True, eq=False)
class Agreement:
    """What all chunks share.

    Attributes
    ----------
    scheme : CellScheme or None
        None without a constraint.
    landmarks : Landmarks or None
    origin : Origin
        From where chunks are counted that do not lie far from it.
    kernel : Kernel
    fit_intercept : bool
    asked : dict
        The parameters of the model that all of this follows from.
    first_shares : tuple of arrays
        Of the label bins, and of the groups of each partition, in the first chunk, if bins were
        settled on that; empty if they were settled on all rows.
    """

    scheme: CellScheme | None
    landmarks: Landmarks | None
    origin: Origin
    kernel: Kernel
    fit_intercept: bool
    asked: Mapping[str, Any] = field(default_factory=dict)
    first_shares: tuple[Array, ...] = ()

    def features(
        self, device: Device = CPU, X: Any = None, weight: Array | None = None
    ) -> LinearFeatures:
        """Return the features whose sums are learned from, of rows or of none."""
        space = FunctionSpace(self.kernel, self.fit_intercept)
        return space.summable(self.landmarks, device, X, weight)


def asked_of(model: FairModel) -> dict[str, Any]:
    """Return the parameters that an agreement follows from."""
    return {name: getattr(model, name) for name in AGREED}


def require_same_parameters(model: FairModel, agreement: Agreement) -> None:
    """Refuse a model whose parameters are no longer those of the sums."""
    kernel, intercept = agreement.kernel, agreement.fit_intercept
    if (Kernel.of(model), model.fit_intercept) != (kernel, intercept):
        raise ValueError(
            f"kernel, its parameters or fit_intercept have changed: the sums so far are those of "
            f"{kernel}, fit_intercept={intercept}. Set them back, or clone the model to start "
            "afresh."
        )
    for name, asked in agreement.asked.items():
        if not are_equal(getattr(model, name), asked):
            raise ValueError(
                f"{name}={_short(getattr(model, name))} has changed: the sums so far are those of "
                f"{name}={_short(asked)}. Set it back, or clone the model to start afresh."
            )


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"<{type(value).__name__} of shape {np.shape(value)}>"


def require_same_attributes(scheme: CellScheme | None, columns: Columns | None) -> None:
    """Refuse attributes with other names than those of the first chunk."""
    names = None if columns is None else tuple(column.name for column in columns)
    expected = None if scheme is None else scheme.names
    if names != expected:
        raise ValueError(
            f"sensitive_features has the attributes {list(names or ())}, but the first chunk had "
            f"{list(expected or ())}; give the same in every chunk."
        )


def warn_of_shifted_bins(cells: Cells, first_shares: Sequence[Array]) -> None:
    """Warn where quantiles, which have no outer edges, were those of the first chunk alone."""
    label_bins = cells.scheme.label_bins
    drifts = [bins.drifts for bins in cells.scheme.sensitive_bins if not bins.continuous]
    if not first_shares or not (label_bins.drifts or any(drifts)):
        return
    if len(drifts) != len(cells.partitions):  # all combinations
        drifts = [any(drifts)] * len(cells.partitions)
    axes = [("y", label_bins.labels, label_bins.drifts)]
    axes += [
        (part.name, part.groups, drift)
        for part, drift in zip(cells.partitions, drifts, strict=True)
    ]
    for (name, labels, drift), first, now in zip(axes, first_shares, cells.shares, strict=False):
        if not drift or 0.5 * np.abs(now - first).sum() <= SHIFTED:
            continue
        largest = int(np.argmax(now - first))
        argument = "y_bins" if name == "y" else "s_bins"
        warn_user(
            f"{argument}: the bins of {name} were settled on the first chunk, which was unlike the "
            f"rest: {labels[largest]!r} has {now[largest]:.0%} of all rows, and had "
            f"{first[largest]:.0%} of these. Fairness is between other groups than was meant: give "
            f"{argument} as edges.",
            ShiftedBinsWarning,
        )
