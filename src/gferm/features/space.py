"""The functions a model is chosen from, as a user's parameters name them; and the one choice.

Kernel and landmarks make a `FunctionSpace`. Its `features` are rows as the solver takes them:
linear, on landmarks, or in the rows themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gferm.arrays import Array
from gferm.arrays.device import CPU, Device
from gferm.arrays.foreign import as_numpy
from gferm.features.base import RowFeatures
from gferm.features.expansion import KernelFeatures, WideFeatures
from gferm.features.kernel import Kernel
from gferm.features.landmarks import Landmarks, find_landmarks, require_own_columns
from gferm.features.linear import LandmarkFeatures, LinearFeatures


@dataclass(frozen=True, eq=False)
class FunctionSpace:
    """What f may be.

    Attributes
    ----------
    kernel : Kernel
    fit_intercept : bool
    n_landmarks : int or None
    landmarks : str or points
    random_state : int, RandomState or None
        Of the choice of landmarks.
    alpha : float
        The regularisation, on which leverages depend.
    """

    kernel: Kernel
    fit_intercept: bool = True
    n_landmarks: int | None = None
    landmarks: Any = "uniform"
    random_state: Any = None
    alpha: float = 1.0

    @classmethod
    def of(cls, parameters: Any) -> FunctionSpace:
        """Read the attributes of an estimator that bear these names."""
        names = ("fit_intercept", "n_landmarks", "landmarks", "random_state", "alpha")
        return cls(Kernel.of(parameters), *(getattr(parameters, name) for name in names))

    @property
    def has_landmarks(self) -> bool:
        """Whether functions live on landmarks."""
        return self.n_landmarks is not None or not isinstance(self.landmarks, str)

    @property
    def is_summable(self) -> bool:
        """Whether sums over rows are all that a square loss needs, so that rows may come and go."""
        return self.kernel.is_linear or self.has_landmarks

    @property
    def draws_landmarks(self) -> bool:
        """Whether landmarks have to be found among the rows."""
        return self.has_landmarks and isinstance(self.landmarks, str)

    def require_consistent(self) -> None:
        """Refuse landmarks that cannot be, before any row is read.

        Raises
        ------
        ValueError
            If nobody says how many there are, or there is no kernel to approximate.
        """
        if not self.has_landmarks:
            if self.landmarks != "uniform":
                raise ValueError(
                    f"landmarks={self.landmarks!r} says how to find landmarks but not how many; "
                    "set n_landmarks, such as n_landmarks=1000."
                )
        elif self.kernel.is_linear or self.kernel.is_given:
            raise ValueError(
                f"Landmarks approximate a kernel, and kernel={self.kernel.metric!r} cannot have "
                "any; use another one, such as kernel='rbf', or no landmarks."
            )

    def require_uniform(self) -> None:
        """Refuse landmarks that only a look at all rows at once can find."""
        if self.draws_landmarks and self.landmarks != "uniform":
            raise ValueError(
                f"landmarks={self.landmarks!r} looks at all rows at once; use 'uniform', or give "
                "the points themselves."
            )

    def find_points(self, X: Any, names: Any = None) -> Any:
        """Return the points of the landmarks, or None without any; ``names`` are X's columns."""
        self.require_consistent()
        if not self.has_landmarks:
            return None
        require_own_columns(self.landmarks, names)
        given = as_numpy(self.landmarks)
        return find_landmarks(
            X, self.n_landmarks, given, self.kernel, self.random_state, self.alpha
        )

    def find_landmarks(self, X: Any, names: Any = None) -> Landmarks | None:
        """Return the landmarks, or None for a model on all rows."""
        points = self.find_points(X, names)
        return None if points is None else Landmarks.at(points, self.kernel)

    def features(
        self,
        X: Any,
        weight: Array | None = None,
        *,
        landmarks: Landmarks | None = None,
        device: Device = CPU,
        X_all: Any = None,
        kept: npt.NDArray[np.bool_] | None = None,
        smallest_part: float = 1.0,
        in_rows: bool = False,
    ) -> RowFeatures:
        """Choose the features of some rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        weight : array of shape (n_samples,) or None
        landmarks : Landmarks or None
            As `find_landmarks` gave them.
        device : Device
        X_all, kept
            All rows, and which of them X holds.
        smallest_part : float
            The share of the rows that the smallest part to be learned has.
        in_rows : bool
            Whether to solve in the rows in any case.
        """
        given = self.kernel, self.fit_intercept, device, X, weight
        few = self.kernel.form(int(smallest_part * X.shape[0]), X.shape[1]) == "linear"
        if landmarks is not None or (few and not in_rows):
            return self.summable(landmarks, device, X, weight)
        if self.kernel.is_linear:
            return WideFeatures.about_the_mean(*given)
        return KernelFeatures(*given, None if kept is None else X_all, kept)

    def summable(
        self,
        landmarks: Landmarks | None,
        device: Device = CPU,
        X: Any = None,
        weight: Array | None = None,
    ) -> LinearFeatures:
        """Return the features whose sums are learned from, of rows or of none."""
        given = self.kernel, self.fit_intercept, device, X, weight
        return LinearFeatures(*given) if landmarks is None else LandmarkFeatures(*given, landmarks)
