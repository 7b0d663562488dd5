"""One kernel, some outer folds: every model, and the figures by which one of them is chosen.

Everything of the size of the data stays on the device; what leaves it is, for every alpha and
variant, the inner error and DGF, the predictions of the outer test rows, and sums over the training
cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gferm.arrays import Array
from gferm.arrays.device import Device
from gferm.arrays.threads import for_each
from reproduction.cell_contrasts import CellContrasts, ReducedProblem, contrasts_of
from reproduction.folds import FoldSet
from reproduction.judging import FoldJudge
from reproduction.nested import NestedModels, NestedSolver, join_models
from reproduction.paper import LAMBDAS, USUAL_BINS
from reproduction.plan import Plan, Variant


@dataclass(frozen=True, eq=False)
class VariantResults:
    """Results of one kernel and one variant: an entry, or a row, for every alpha.

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
class LearnedKernel:
    """Results of one kernel in one outer fold.

    Attributes
    ----------
    results : dict of VariantResults
        By variant.
    problems : dict of ReducedProblem
        By study: what decides about the outer models in the usual cells, for every alpha.
    """

    results: dict[Variant, VariantResults]
    problems: dict[str, ReducedProblem]


class Learner:
    """Learns the kernels of a plan on one device, one after another.

    Parameters
    ----------
    plan : Plan
    device : Device
    keep : bool
        Whether the decompositions of the kernels are kept for another set of folds.
    """

    def __init__(self, plan: Plan, device: Device, *, keep: bool = True) -> None:
        self.plan, self.device, self.keep = plan, device, keep
        self.solver = NestedSolver(device, plan.columns(), LAMBDAS)
        self.places = plan.places()
        self._decompositions: dict[int, tuple[Any, Any]] = {}

    def prepare(self, folds: FoldSet) -> None:
        """Take up some folds: compute what all kernels need to know of them."""
        self.folds, y = folds, self.plan.problem.y
        self._in_cells = {
            key: _FoldsInCells(
                inner=FoldJudge(self.device, cells, y, folds.inner),
                train=FoldJudge(self.device, cells, y, folds.train),
                inner_contrasts=contrasts_of(cells, y, self.places[key], folds.inner_train),
                outer_contrasts=contrasts_of(cells, y, self.places[key], folds.outer_train),
            )
            for key, cells in self.plan.members.items()
        }

    def learn(self, number: int) -> list[LearnedKernel]:
        """Learn every variant of a kernel, and return what each outer fold has of it."""
        self._load(number)
        parts, kernel = self._hold_out(), self.plan.kernels[number]
        learned = [LearnedKernel({}, {}) for _ in self.folds.folds]
        for key in dict.fromkeys((variant.study, variant.n_bins) for variant in kernel.variants):
            variants = [v for v in kernel.variants if (v.study, v.n_bins) == key]
            self._judge(key, variants, parts, learned)
        return learned

    def _load(self, number: int) -> None:
        found = self._decompositions.get(number)
        if found is None:
            found = self.solver.decompose(self.plan.kernel_matrix(self.plan.kernels[number]))
            if self.keep:
                self._decompositions[number] = found
        self.solver.load(*found)

    def _hold_out(self) -> NestedModels:
        """Hold out all folds: together on a GPU, each on a core of its own on the CPU."""
        folds = self.folds
        rows = (folds.test.rows, folds.train.rows, folds.inner_rows)
        if self.device.name != "cpu":
            return self.solver.hold_out(*rows)
        found: list[NestedModels | None] = [None] * len(folds)

        def hold_out_one(o: int) -> None:
            found[o] = self.solver.hold_out(*(some[o : o + 1] for some in rows))

        for_each(hold_out_one, range(len(folds)))
        return join_models(self.device, [part for part in found if part is not None])

    def _judge(
        self,
        key: tuple[str, int],
        variants: Sequence[Variant],
        parts: NestedModels,
        learned: Sequence[LearnedKernel],
    ) -> None:
        """Learn and judge the variants that share their cells, and add them to ``learned``."""
        view, device = self._in_cells[key], self.device
        bounds = [variant.bound for variant in variants]
        outer = view.outer_contrasts.reduce(device, parts.outer)
        nu = outer.multipliers(bounds)
        at_train = outer.at_rows(view.outer_contrasts, parts.fitted).predictions(nu)
        train_hits, train_sums = view.train.hits(at_train), view.train.sums(at_train)
        predictions = device.get(outer.predictions(nu))
        inner = view.inner_contrasts.reduce(device, parts.inner)
        at_inner = inner.predictions(inner.multipliers(bounds))
        errors, dgfs = (
            figure(at_inner).reshape(len(LAMBDAS), len(learned), -1, len(variants))
            for figure in (view.inner.errors, view.inner.dgf)
        )
        error, dgf = errors.mean(axis=2), mean_of_comparable(dgfs)
        for o, one in enumerate(learned):
            rows = self.folds.test.present[o]
            one.results.update(
                (
                    variant,
                    VariantResults(
                        error[:, o, j],
                        dgf[:, o, j],
                        predictions[:, o, j, rows],
                        train_hits[:, o, j],
                        train_sums[:, o, j],
                    ),
                )
                for j, variant in enumerate(variants)
            )
        if key[1] == USUAL_BINS:
            host = outer.on_host()
            for o, one in enumerate(learned):
                one.problems[key[0]] = host.of_part(o, self.folds.test.present[o])


@dataclass(frozen=True, eq=False)
class _FoldsInCells:
    """Folds in the cells of one partition: measures and contrasts."""

    inner: FoldJudge
    train: FoldJudge
    inner_contrasts: CellContrasts
    outer_contrasts: CellContrasts


def mean_of_comparable(dgfs: Array) -> Array:
    """Average over inner folds, (a, n_outer, n_inner, v) → (a, n_outer, v).

    A fold where nobody can be compared has no DGF, whatever the setting, and is left out.
    """
    known = np.asarray(~np.isnan(dgfs).all(axis=(0, 3)))
    n_known = known.sum(axis=1)[:, None]
    sums = np.where(known[..., None], dgfs, 0.0).sum(axis=2)
    found: Array = np.where(n_known > 0, sums, np.nan) / np.maximum(n_known, 1)
    return found
