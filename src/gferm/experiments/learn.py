"""One kernel, one outer fold: every model, and the figures by which one of them is chosen.

Everything of the size of the data stays on the device; what leaves it is, for every alpha and
variant, the inner error and DGF, the predictions of the outer test rows, and sums over the training
cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import KFold

from gferm.arrays import Array, Codes
from gferm.cells import Cells
from gferm.device import Device
from gferm.experiments.paper import FOLDS, LAMBDAS, USUAL_BINS
from gferm.experiments.work import KernelWork, Variant, Work
from gferm.solver.cell_contrasts import CellContrasts, Reduced
from gferm.solver.nested import AllRows, InnerFolds, NestedParts

Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class OuterFold:
    """A fold of the nested cross-validation; everything random in it follows from two seeds."""

    repeat: int
    number: int
    train: Rows
    test: Rows
    inner_train: tuple[Rows, ...]
    inner_test: tuple[Rows, ...]

    @property
    def inner_seed(self) -> int:
        """The seed of the inner split."""
        return _inner_seed(self.repeat, self.number)


def outer_folds(n: int, repeat: int) -> list[OuterFold]:
    """Split n rows; the seed of the outer split is the number of the repeat."""
    folds = []
    split = KFold(FOLDS, shuffle=True, random_state=repeat).split(np.zeros(n))
    for number, (train, test) in enumerate(split):
        inner = KFold(FOLDS, shuffle=True, random_state=_inner_seed(repeat, number))
        parts = [(train[a], train[b]) for a, b in inner.split(train)]
        inner_train, inner_test = zip(*parts, strict=True)
        folds.append(OuterFold(repeat, number, train, test, inner_train, inner_test))
    return folds


def _inner_seed(repeat: int, fold: int) -> int:
    return 1000 * (repeat + 1) + fold


@dataclass(frozen=True, eq=False)
class Figures:
    """One kernel and one variant: an entry, or a row, for every alpha.

    Attributes
    ----------
    inner_error, inner_dgf : arrays of shape (n_alphas,)
        Means over the inner folds.
    predictions : array of shape (n_alphas, n_test)
        Of the outer test rows.
    train_hits, train_sums : arrays of shape (n_alphas, K, Q)
        Training rows that are predicted into their own label bin, and the sum of predictions.
    """

    inner_error: Array
    inner_dgf: Array
    predictions: Array
    train_hits: Array
    train_sums: Array


@dataclass(frozen=True, eq=False)
class Learned:
    """What one kernel gives for one outer fold.

    Attributes
    ----------
    figures : dict of Figures
        By variant.
    problems : dict of Reduced
        By study: what decides about the outer models in the usual cells, for every alpha.
    """

    figures: dict[Variant, Figures]
    problems: dict[str, Reduced]


class Learner:
    """All kernels of some work on one device, one after another."""

    def __init__(self, work: Work, device: Device) -> None:
        self.work, self.device = work, device
        self.rows = AllRows(device, work.columns(), LAMBDAS)
        self.places = work.places()
        self._decompositions: dict[int, tuple[Any, Any]] = {}

    def load(self, number: int) -> None:
        """Make a kernel ready; its decomposition is kept for the next repeat."""
        if number not in self._decompositions:
            matrix = self.work.kernel_matrix(self.work.kernels[number])
            self._decompositions[number] = self.rows.decompose(matrix)
        self.rows.load(*self._decompositions[number])

    def learn(self, kernel: KernelWork, fold: OuterFold) -> Learned:
        """Learn every variant with the kernel that is loaded."""
        inner = InnerFolds(fold.inner_test, len(self.work.problem.y))
        parts = self.rows.hold_out(fold.test, fold.train, inner)
        figures: dict[Variant, Figures] = {}
        problems = {}
        for key in dict.fromkeys((variant.study, variant.n_bins) for variant in kernel.variants):
            variants = [v for v in kernel.variants if (v.study, v.n_bins) == key]
            judged, reduced = self._judge(key, variants, fold, inner, parts)
            figures |= judged
            if key[1] == USUAL_BINS:
                problems[key[0]] = reduced.on_host()
        return Learned(figures, problems)

    def _judge(
        self,
        key: tuple[str, int],
        variants: Sequence[Variant],
        fold: OuterFold,
        inner: InnerFolds,
        parts: NestedParts,
    ) -> tuple[dict[Variant, Figures], Reduced]:
        """Learn and judge the variants that share their cells."""
        device, y = self.device, self.work.problem.y
        cells, place = self.work.partitions[key], self.places[key]
        contrasts = _contrasts(cells, y, place, fold.train)
        outer = contrasts.reduce(device, parts.outer)
        within = _contrasts(cells, y, place, *fold.inner_train).reduce(device, parts.inner)
        bounds = [variant.bound for variant in variants]
        nu = outer.multipliers(bounds)
        error, dgf = self._inner_figures(
            cells, inner, within.predictions(within.multipliers(bounds))
        )
        fitted = outer.fitted(contrasts, parts.fitted).predictions(nu)
        hits, sums = _sums_over_cells(device, cells, fold.train, fitted)
        predictions = device.get(outer.predictions(nu))
        figures = {
            variant: Figures(error[:, j], dgf[:, j], predictions[:, j], hits[:, j], sums[:, j])
            for j, variant in enumerate(variants)
        }
        return figures, outer

    def _inner_figures(
        self, cells: Cells, inner: InnerFolds, predictions: Any
    ) -> tuple[Array, Array]:
        """Give mean error and mean DGF over the inner folds; predictions are (a, fold, v, row)."""
        xp, put = self.device.xp, self.device.put
        rows = np.where(inner.there, inner.rows, 0)
        y, there = put(self.work.problem.y[rows]), put(inner.there.astype(float))
        sizes = there.sum(-1)
        errors = (xp.abs(predictions - y[:, None, :]) * there[:, None, :]).sum(-1)
        error = (errors / sizes[:, None]).mean(1)
        partition = cells.partitions[0]
        member = np.eye(partition.counts.size)[partition.cell_of[rows]] * inner.there[..., None]
        hits = self.device.get(_hits(self.device, cells, rows, predictions) @ put(member))
        shape = partition.counts.shape
        counts = member.sum(axis=1).reshape(-1, 1, *shape)
        dgf = mean_gap(hits.reshape(*hits.shape[:-1], *shape), counts)
        return self.device.get(error), dgf.mean(axis=1)


def mean_gap(sums: npt.NDArray[Any], counts: npt.NDArray[Any]) -> Array:
    """Give the mean |difference of cell means| over populated pairs, (..., K, Q) → (...)."""
    means = sums / np.maximum(counts, 1)
    p, q = np.triu_indices(sums.shape[-1], k=1)
    populated = (counts[..., p] > 0) & (counts[..., q] > 0)
    gaps = np.abs(means[..., p] - means[..., q]) * populated
    found: Array = gaps.sum(axis=(-1, -2)) / populated.sum(axis=(-1, -2))
    return found


def _contrasts(cells: Cells, y: Array, place: slice, *parts: Rows) -> CellContrasts:
    """Give the contrasts of a training part, or of several."""
    partition = cells.partitions[0]
    shape, size = partition.counts.shape, partition.counts.size
    counts, sums = [], []
    for rows in parts:
        code = partition.cell_of[rows]
        counts.append(np.bincount(code, minlength=size).reshape(shape))
        sums.append(np.bincount(code, y[rows], size).astype(float).reshape(shape))
    if len(parts) == 1:
        return CellContrasts.of(place, counts[0], sums[0])
    return CellContrasts.of(place, np.stack(counts), np.stack(sums))


def _hits(device: Device, cells: Cells, rows: Codes, predictions: Any) -> Any:
    """Say as 0 and 1 which predictions fall into the label bin of their row."""
    xp, edges = device.xp, np.asarray(cells.label_bins.boundaries)  # type: ignore[attr-defined]
    label = cells.label_codes[rows]
    # the rule of Bins.assign: half-open bins, the last one closed
    low, high = device.put(edges[label]), device.put(edges[label + 1])
    last = device.put(label == len(edges) - 2)
    if rows.ndim == 2:  # inner folds: predictions are (a, fold, variant, row)
        low, high, last = low[:, None], high[:, None], last[:, None]
    inside = (predictions >= low) & ((predictions < high) | (last & (predictions == high)))
    return xp.where(inside, 1.0, 0.0 * predictions)


def _sums_over_cells(
    device: Device, cells: Cells, rows: Rows, predictions: Any
) -> tuple[Array, Array]:
    """Give hits and the sum of predictions of every cell, (..., n_rows) → (..., K, Q)."""
    partition = cells.partitions[0]
    member = device.put(np.eye(partition.counts.size)[partition.cell_of[rows]])
    hits = _hits(device, cells, rows, predictions)
    hits, sums = (device.get(values @ member) for values in (hits, predictions))
    shape = (*hits.shape[:-1], *partition.counts.shape)
    return hits.reshape(shape), sums.reshape(shape)
