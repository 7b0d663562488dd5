"""Features: what f is, on the rows at hand; space.py chooses.

    linear       f = ⟨w, x⟩ + b                 d unknowns    linear.py
    landmarks    f = Σ_j β_j k(z_j, ·) + b      m unknowns    landmarks.py, nystroem.py
    kernel       f = Σ_i α_i k(x_i, ·) + b      n unknowns    expansion.py

A `FunctionSpace` is what a user asked for, before there are rows; its `features` are the rows as
the solver takes them. Whoever learns, from rows, folds or sums, asks features and not which kind
they are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from gferm.arrays import Array
from gferm.arrays.device import CPU, Device
from gferm.features.kernel import Kernel
from gferm.features.system import System

Form = Literal["kernel", "linear", "landmarks"]
Rows = npt.NDArray[np.intp]
Test = Callable[[Any, float], bool]
"""Tells whether a matrix is positive semi-definite, but for rounding of the precision given."""


@dataclass(frozen=True, eq=False)
class Features(ABC):
    """What a learning problem asks of f: its system, and the way back to a fitted model.

    Attributes
    ----------
    kernel : Kernel
    fit_intercept : bool
    device : Device
        Where to compute.
    """

    form: ClassVar[Form]
    kernel: Kernel
    fit_intercept: bool
    device: Device

    @property
    @abstractmethod
    def n_unknowns(self) -> int:
        """p, the size of the system."""

    @property
    def support(self) -> Any:
        """The points that a fitted model is expanded on; None if it has weights of features."""
        return None

    @abstractmethod
    def system(
        self,
        target: Array,
        columns: Any,
        *,
        home: Device,
        is_convex: Test,
        revisits: bool,
    ) -> System:
        """Write the learning problem of one target and some contrasts.

        Parameters
        ----------
        target : array of shape (n_samples,)
        columns : sparse array of shape (n_samples, m)
            C; of sums, whose rows are gone, XᵀC.
        home : Device
            Where an n×n matrix lives, if there is one.
        is_convex : callable
            For kernels that need not be semi-definite.
        revisits : bool
            Whether iterations will come back to the rows.
        """

    def contrasts(self, columns: Any) -> Any:
        """Return other contrasts as a system takes them that is written already."""
        return columns

    def without_rows(self) -> Features:
        """Return what fitted models of these features take."""
        return self

    def expand(self, unknowns: Array, intercepts: Array) -> tuple[Array, Array]:
        """Turn what was solved for, one row a model, into fitted coefficients and intercepts."""
        return unknowns, intercepts


@dataclass(frozen=True, eq=False)
class RowFeatures(Features):
    """Features of rows that are at hand.

    Attributes
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The rows that count.
    weight : array of shape (n_samples,) or None
    """

    X: Any
    weight: Array | None

    @property
    def n_rows(self) -> int:
        """How many rows count."""
        return int(self.X.shape[0])

    @abstractmethod
    def part(self, rows: Rows) -> RowFeatures:
        """Return the features of some of the rows."""

    @abstractmethod
    def values_at(self, rows: Rows, coefficients: Array, learned_on: Rows) -> Array:
        """Evaluate models that were learned on some of the rows at others, without intercepts."""


def values_of(
    kernel: Kernel, X: Any, coefficients: Array, support: Any, device: Device = CPU
) -> Array:
    """Evaluate fitted models at new rows, one model a row of coefficients, without intercepts."""
    if support is None:  # whatever the device, and so without it
        return np.asarray(X @ coefficients.T).T
    return kernel.products(X, support, coefficients, device)
