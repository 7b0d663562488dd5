"""Records: for each method the chosen setting, and what its model does on the outer test fold.

Hyperparameters are chosen by the figures of the inner folds (learn.py), with the rules of
model_selection. Hits and counts of all cells are kept, so every average of the DGF, pooled values
and their noise can be computed from the records alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gferm.arrays import Array
from gferm.fairness.membership import Membership
from gferm.fairness.pair_norm import PairNorm
from gferm.metrics.chance import chance_of_dgf, chances_of_dgf, dgf_of_counts
from gferm.model_selection import fairest_within, lowest_error
from gferm.solver.path import trace_path
from reproduction.folds import OuterFold
from reproduction.judging import mean_gap
from reproduction.learn import LearnedKernel, VariantResults
from reproduction.paper import (
    COMPARED,
    LAMBDAS,
    N_ALONG,
    N_PERMUTATIONS,
    SHARES,
    TOLERANCE,
    USUAL_BINS,
    Method,
    methods_of,
)
from reproduction.plan import KernelFamily, Plan, Variant

AVERAGES = ("pairs", "all_bins", "sum", "weighted")
CHANCES = (COMPARED, "weighted")
PERCENT = 100.0


class CellSums:
    """Sums over the cells of some rows.

    Attributes
    ----------
    counts : array of int of shape (K, Q)
    """

    def __init__(self, members: Membership) -> None:
        self.members, partition = members, members.cells.partitions[0]
        self.counts = partition.counts
        self._member = np.eye(partition.counts.size)[members.cell_codes[0]]

    def sums(self, values: Array) -> Array:
        """Add values over each cell, (..., n) → (..., K, Q)."""
        found: Array = values @ self._member
        return found.reshape(*values.shape[:-1], *self.counts.shape)

    def hits(self, f: Array) -> npt.NDArray[np.intp]:
        """Count the rows of each cell that are predicted into their own label bin."""
        hit = self.members.scheme.label_bins.assign(f) == self.members.label_codes
        return np.rint(self.sums(hit.astype(float))).astype(int)


class FoldRecords:
    """The records of one outer fold, one for each study.

    Parameters
    ----------
    plan : Plan
    fold : OuterFold
    learned : sequence of LearnedKernel
        One for each kernel of the plan.
    """

    def __init__(self, plan: Plan, fold: OuterFold, learned: Sequence[LearnedKernel]) -> None:
        self.plan, self.fold, self.learned = plan, fold, learned
        self.families: dict[KernelFamily, list[int]] = {}
        for number, kernel in enumerate(plan.kernels):
            self.families.setdefault(kernel.family, []).append(number)
        y, parts = plan.problem.y, plan.members
        self.y_test = y[fold.test]
        self.test = {key: CellSums(cells.take(fold.test)) for key, cells in parts.items()}
        self.train = {key: CellSums(cells.take(fold.train)) for key, cells in parts.items()}
        self.train_labels = {key: sums.sums(y[fold.train]) for key, sums in self.train.items()}

    def record(self, study: str) -> dict[str, Any]:
        """Return the record of a study, ready for JSON."""
        fold, models, frontiers = self.fold, {}, {}
        for method in methods_of(study):
            kernel, alpha, found = self._choose(method)
            models[method.key] = self._model(method, kernel, alpha, found)
            if (method.epsilon, method.n_bins, method.naive) == (0.0, USUAL_BINS, False):
                name = f"{method.learner}, {'with' if method.with_s else 'without'} s"
                frontiers[name] = self._frontier(study, kernel, alpha)
        return {
            "data": self.plan.problem.name,
            "study": study,
            "repeat": fold.repeat,
            "fold": fold.number,
            "seeds": {"outer": fold.repeat, "inner": fold.inner_seed, "chance": fold.inner_seed},
            "n_train": len(fold.train),
            "n_test": len(fold.test),
            "counts": {
                str(K): sums.counts.tolist() for (of, K), sums in self.test.items() if of == study
            },
            "models": models,
            "frontier": frontiers,
        }

    def _choose(self, method: Method) -> tuple[int, int, VariantResults]:
        """Return the kernel and the alpha that the inner folds choose, and the kernel's results."""
        numbers, variant = self.families[self.plan.family(method)], Variant.of(method)
        found = [self.learned[number].results[variant] for number in numbers]
        results = {
            "mean_test_error": np.concatenate([one.inner_error for one in found]),
            "mean_test_dgf": np.concatenate([one.inner_dgf for one in found]),
        }
        rule = lowest_error() if method.naive else fairest_within(TOLERANCE)
        place, alpha = divmod(rule(results), len(LAMBDAS))
        return numbers[place], alpha, found[place]

    def _model(
        self, method: Method, kernel: int, alpha: int, found: VariantResults
    ) -> dict[str, Any]:
        own, f = self.test[method.study, method.n_bins], found.predictions[alpha]
        hits = own.hits(f)
        rng = np.random.default_rng(self.fold.inner_seed)  # one for all: differences are theirs
        chances = chances_of_dgf(hits, own.counts, CHANCES, n_permutations=N_PERMUTATIONS, rng=rng)
        model = {
            "alpha": LAMBDAS[alpha],
            "gamma": self.plan.kernels[kernel].gamma,
            "inner_error": PERCENT * float(found.inner_error[alpha]),
            "inner_dgf": float(found.inner_dgf[alpha]),
            "error": PERCENT * float(np.abs(f - self.y_test).mean()),
            "dgf": _dgfs(hits, own.counts),
            "gap": float(mean_gap(own.sums(f), own.counts)),
            "delta": self._delta(method, alpha, found),
            "chance": {
                average: {"mean": chance.mean, "high": chance.high, "p": chance.p}
                for average, chance in chances.items()
            },
            "hits": hits.tolist(),
        }
        if method.n_bins != USUAL_BINS:  # so that methods of different K can be compared
            usual = self.test[method.study, USUAL_BINS]
            model["dgf_usual"] = _dgfs(usual.hits(f), usual.counts)
        return model

    def _delta(self, method: Method, alpha: int, found: VariantResults) -> dict[str, float]:
        """Return Δ̂ = |ΔP̂| − |ΔL̂|, L the mean of f − y: of test and of training rows."""
        key, f = (method.study, method.n_bins), found.predictions[alpha]
        test, train = self.test[key], self.train[key]
        errors = found.train_sums[alpha] - self.train_labels[key]
        deltas = {}
        for name, hits, distances, counts in (
            ("", test.hits(f), test.sums(f - self.y_test), test.counts),
            ("train_", found.train_hits[alpha], errors, train.counts),
        ):
            mean = float(mean_gap(hits, counts) - mean_gap(distances, counts))
            populated = (counts > 0).sum(axis=1)
            deltas[f"{name}sum"] = mean * float((populated * (populated - 1)).sum())
            deltas[f"{name}pairs"] = mean
        return deltas

    def _frontier(self, study: str, kernel: int, alpha: int) -> dict[str, Any]:
        """Walk the exact path of the outer model, and judge it on the test rows."""
        problem, key = self.learned[kernel].problems[study], (study, USUAL_BINS)
        gram, start = problem.gram[alpha], problem.start[alpha]
        there = np.abs(gram).max(axis=0) > 0.0
        sizes = (self.train[key].counts > 0).sum(axis=1) - 1
        norm = PairNorm(tuple(sizes[sizes > 0].tolist()))
        path = trace_path(gram[np.ix_(there, there)], start[there], norm)
        nu = path.at(np.asarray(SHARES) * path.totals[0])
        f = problem.plain[alpha] - nu @ problem.effects[alpha][:, there].T
        test = self.test[key]
        hits, rng = test.hits(f), np.random.default_rng(self.fold.inner_seed)
        options: dict[str, Any] = {"average": COMPARED, "n_permutations": N_ALONG, "rng": rng}
        return {
            "epsilon": float(path.totals[0] / problem.n_pairs),
            "breakpoints": len(path.totals),
            "error": (PERCENT * np.abs(f - self.y_test).mean(axis=1)).tolist(),
            "dgf": dgf_of_counts(hits, test.counts, COMPARED).tolist(),
            "chance": [chance_of_dgf(one, test.counts, **options).mean for one in hits],
        }


def _dgfs(hits: npt.NDArray[np.intp], counts: npt.NDArray[np.intp]) -> dict[str, float]:
    return {average: float(dgf_of_counts(hits, counts, average)) for average in AVERAGES}
