"""Linear models in their features, f = ⟨w, φ(x)⟩ + b: sums over the rows, then few unknowns.

The sums are taken in one pass over blocks of rows (moments.py): neither a centred copy of X nor an
n×n array is made. They may as well be those of rows that are gone (summary.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from gferm.arrays import Array
from gferm.arrays.device import Device, row_blocks
from gferm.arrays.memory import halve_until_it_fits
from gferm.features.base import Features, Form, RowFeatures, Rows, Test, values_of
from gferm.features.geometry import LinearGeometry
from gferm.features.kernel import require_finite
from gferm.features.landmarks import Landmarks
from gferm.features.moments import Finish, Moments, sum_over
from gferm.features.origin import Origin
from gferm.features.system import System, Target


@dataclass(frozen=True, eq=False)
class LinearFeatures(RowFeatures):
    """Features that are few enough to be summed; X itself, or the rows of sums that are there."""

    form: ClassVar[Form] = "linear"

    @property
    def n_unknowns(self) -> int:
        """As many as there are features."""
        return int(self.X.shape[1])

    @cached_property
    def summed(self) -> Any:
        """What is summed, (n_samples, p)."""
        return self.X.tocsr() if hasattr(self.X, "tocsr") else self.X  # rows of CSC are slow

    @property
    def finish(self) -> Finish | None:
        """What turns sums of those into sums of the features, if they are others."""
        return None

    def system(
        self,
        target: Array,
        columns: Any,
        *,
        home: Device,
        is_convex: Test,
        revisits: bool,
    ) -> System:
        """Take the sums, and write the problem in the weights."""
        rows, targets = self.summed, target[:, None]
        origin = Origin.near_the_mean(rows, targets, self.weight, fit_intercept=self.fit_intercept)
        moments, probe = sum_over(rows, targets, self.weight, origin, columns, device=self.device)
        return self.pose(moments, probe, revisits=revisits)[0]

    def pose(
        self, moments: Moments, probe: Array, *, revisits: bool = False
    ) -> tuple[System, list[Target]]:
        """Write the problem of sums; the system aims at the first of the targets."""
        rows = None if self.X is None else self.summed
        posed = moments.system(probe, rows, self.weight, fit_intercept=self.fit_intercept)
        require_finite(posed[0].matrix, self.kernel)
        return posed

    def part(self, rows: Rows) -> LinearFeatures:
        """Return the features of some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return replace(self, X=self.X[rows], weight=weight)

    def without_rows(self) -> LinearFeatures:
        """Return the same of no rows."""
        return replace(self, X=None, weight=None)

    def values_at(self, rows: Rows, coefficients: Array, learned_on: Rows) -> Array:
        """Evaluate models at some of the rows."""
        return values_of(self.kernel, self.X[rows], coefficients, self.support, self.device)


@dataclass(frozen=True, eq=False)
class LandmarkFeatures(LinearFeatures):
    """Nyström's features: linear in φ(x), evaluated block by block and never held.

    Attributes
    ----------
    landmarks : Landmarks
    """

    form: ClassVar[Form] = "landmarks"
    landmarks: Landmarks

    @property
    def n_unknowns(self) -> int:
        """As many as there are landmarks."""
        return int(self.landmarks.points.shape[0])

    @cached_property
    def summed(self) -> Any:
        """ψ(x), whose sums cost less than those of φ(x)."""
        return self.landmarks.features(self.X, self.device)

    @property
    def finish(self) -> Finish:
        """From sums of ψ to sums of φ."""
        return partial(self.landmarks.finish, device=self.device)

    @property
    def support(self) -> Any:
        """The landmarks."""
        return self.landmarks.points

    def pose(
        self, moments: Moments, probe: Array, *, revisits: bool = False
    ) -> tuple[System, list[Target]]:
        """Write the problem of sums; iterations read kernel values, and give back β."""
        system, targets = super().pose(moments.finished(self.finish), self.finish(probe))
        values = None if self.X is None else self.landmarks.values(self.X, self.device)
        if revisits and values is not None:
            values = values.remembered()
        basis, own = self.landmarks.basis, system.geometry
        assert isinstance(own, LinearGeometry)
        geometry = replace(own, X=values, basis=basis, own_basis=basis, origin=0.0)
        return replace(system, geometry=geometry), targets

    def evaluated(self) -> LinearFeatures:
        """Evaluate φ(x) of all rows, (n, m), to be linear features like any others."""
        rows, device = self.summed, self.device
        features = np.empty(rows.shape)

        def fill(doubles: int) -> None:
            for part in row_blocks(rows.shape[0], rows.shape[1], doubles):
                features[part] = self.finish(device.get(rows[part]).T).T

        halve_until_it_fits(fill, device.at_once(2**22), rows.shape, device)
        return LinearFeatures(self.kernel, self.fit_intercept, device, features, self.weight)


@dataclass(frozen=True, eq=False)
class SummedFeatures(Features):
    """Features of rows that are gone: their sums are all there is.

    Attributes
    ----------
    like : LinearFeatures
        Those of the rows, without any.
    moments : Moments
    """

    like: LinearFeatures
    moments: Moments

    @classmethod
    def of(cls, like: LinearFeatures, moments: Moments) -> SummedFeatures:
        """Take the sums of rows that had such features."""
        return cls(like.kernel, like.fit_intercept, like.device, like, moments)

    @property
    def form(self) -> Form:  # type: ignore[override]
        """That of the rows."""
        return self.like.form

    @property
    def n_unknowns(self) -> int:
        """As many as there are features."""
        return len(self.moments.shift)

    def contrasts(self, columns: Any) -> Any:
        """Turn XᵀC as it was summed into that of the features."""
        return columns if self.like.finish is None else self.like.finish(columns)

    def without_rows(self) -> LinearFeatures:
        """Return the features of the rows that are gone."""
        return self.like

    @property
    def support(self) -> Any:
        """The landmarks, if there are any."""
        return self.like.support

    def system(
        self,
        target: Array,
        columns: Any,
        *,
        home: Device,
        is_convex: Test,
        revisits: bool,
    ) -> System:
        """Write the problem of the sums, whose target they hold; ``columns`` are XᵀC."""
        return self.like.pose(self.moments, columns)[0]
