"""What has to be learned for some studies: which kernels, and for each of them which models.

A model is a kernel (its features and gamma), alpha, and a variant: plain, or fair for some label
bins and bound. One decomposition of a kernel serves every alpha, every variant and every fold, and
studies with the same features share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from gferm.arrays import Array
from gferm.fairness.cells import Partition
from gferm.fairness.membership import Membership
from gferm.features.kernel import Kernel
from reproduction.cell_contrasts import Bound
from reproduction.paper import GAMMAS, KERNELS, Method, methods_of
from reproduction.problems import Problem


@dataclass(frozen=True)
class Variant:
    """The bound of a model, and the members in which it is bounded and judged."""

    study: str
    n_bins: int
    bound: Bound | None

    @classmethod
    def of(cls, method: Method) -> Variant:
        """Return the variant of a method."""
        bound = None
        if method.epsilon is not None:
            bound = Bound(method.epsilon, method.epsilon_scale)
        return cls(method.study, method.n_bins, bound)


@dataclass(frozen=True)
class KernelFamily:
    """The kernels of one learner on one set of features, among which a method chooses."""

    feature_set: int
    learner: str


@dataclass(frozen=True, eq=False)
class PlannedKernel:
    """One kernel, and the variants that are learned with it.

    Attributes
    ----------
    family : KernelFamily
    gamma : float or None
    variants : tuple of Variant
    """

    family: KernelFamily
    gamma: float | None
    variants: tuple[Variant, ...]


@dataclass(frozen=True, eq=False)
class Plan:
    """All kernels for some studies of a problem.

    Attributes
    ----------
    problem : Problem
    studies : tuple of str
    feature_sets : list of arrays of shape (n, d)
    kernels : list of PlannedKernel
    members : dict of Membership
        By study and number of label bins, in the order of their columns.
    """

    problem: Problem
    studies: tuple[str, ...]
    feature_sets: list[Array]
    kernels: list[PlannedKernel]
    members: dict[tuple[str, int], Membership]
    _families: dict[tuple[str, bool, str], KernelFamily] = field(repr=False)

    @classmethod
    def of(cls, problem: Problem, studies: Sequence[str]) -> Plan:
        """Return the plan with all that the methods of the studies need."""
        feature_sets: list[Array] = []
        families: dict[tuple[str, bool, str], KernelFamily] = {}
        variants: dict[KernelFamily, dict[Variant, None]] = {}
        members: dict[tuple[str, int], Membership] = {}
        for method in (method for study in studies for method in methods_of(study)):
            key = (method.study, method.with_s, method.learner)
            if key not in families:
                X = problem.studies[method.study].features(method.with_s)
                families[key] = KernelFamily(_place_of(X, feature_sets), method.learner)
            variant = Variant.of(method)
            variants.setdefault(families[key], {})[variant] = None
            where = (variant.study, variant.n_bins)
            if where not in members:
                members[where] = problem.members(*where)
        kernels = [
            PlannedKernel(family, gamma, tuple(some))
            for family, some in variants.items()
            for gamma in (GAMMAS if KERNELS[family.learner] == "rbf" else (None,))
        ]
        return cls(problem, tuple(studies), feature_sets, kernels, members, families)

    def kernel_matrix(self, planned: PlannedKernel) -> Array:
        """Evaluate a kernel on all rows."""
        kernel = Kernel(KERNELS[planned.family.learner], gamma=planned.gamma)
        matrix: Array = kernel.training_matrix(self.feature_sets[planned.family.feature_set])
        return matrix

    def columns(self) -> Array:
        """Return V: the labels, then the indicators of the cells of every partition."""
        indicators = [
            np.eye(part.counts.size)[rows.cell_codes[0]]
            for part, rows in zip(self._partitions(), self.members.values(), strict=True)
        ]
        return np.hstack([self.problem.y[:, None], *indicators])

    def places(self) -> dict[tuple[str, int], slice]:
        """Return the columns of each partition in V."""
        ends = 1 + np.cumsum([p.counts.size for p in self._partitions()])
        starts = [1, *ends[:-1].tolist()]
        return {
            key: slice(start, int(end))
            for key, start, end in zip(self.members, starts, ends, strict=True)
        }

    def family(self, method: Method) -> KernelFamily:
        """Return the kernels that a method chooses among."""
        return self._families[method.study, method.with_s, method.learner]

    def _partitions(self) -> list[Partition]:
        return [rows.cells.partitions[0] for rows in self.members.values()]


def _place_of(X: Array, feature_sets: list[Array]) -> int:
    """Return the place of X in the list, at its end if it is new."""
    for place, known in enumerate(feature_sets):
        if np.array_equal(known, X):
            return place
    feature_sets.append(X)
    return len(feature_sets) - 1
