"""Audits that several tests share: every kind of label, attribute and weight."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import gferm
from gferm import Bins

QUICK = {"n_boot": 25, "n_permutations": 25}
EDGES = [0, 1, 2, 3]


@dataclass(frozen=True)
class Case:
    """Rows, and how they are sorted into cells."""

    y: Any
    f: Any
    s: Any
    weight: Any = None
    bins: dict[str, Any] = field(default_factory=dict)

    def audit(self, **options):
        options = {**QUICK, **self.bins, **options}
        return gferm.audit(
            self.y, self.f, sensitive_features=self.s, sample_weight=self.weight, **options
        )

    @property
    def arguments(self):
        """What a function of gferm.metrics takes."""
        shared = {"sensitive_features": self.s, "sample_weight": self.weight, **self.bins}
        return (self.y, self.f), shared


def make_numbers(n=400, n_groups=2, seed=0):
    """Make labels in [0, 3], predictions that favour the later groups, and the groups."""
    rng = np.random.default_rng(seed)
    s = rng.integers(0, n_groups, n)
    y = np.clip(rng.uniform(0, 3, n) + 0.1 * s, 0, 3)
    return y, y + 0.3 * s + rng.normal(0, 0.4 + 0.1 * s, n), s


def letters(codes):
    return np.array(list("abcdefgh"))[codes]


def two_groups():
    y, f, s = make_numbers()
    return Case(y, f, letters(s), bins={"y_bins": EDGES})


def numeric_groups():
    y, f, s = make_numbers(n_groups=4, seed=1)
    return Case(y, f, s, bins={"y_bins": 4})


def five_groups():
    y, f, s = make_numbers(n_groups=5, seed=2)
    return Case(y, f, letters(s), bins={"y_bins": EDGES})


def weighted():
    y, f, s = make_numbers(n_groups=3, seed=3)
    return Case(
        y, f, letters(s), np.random.default_rng(0).integers(0, 4, 400) * 0.7, {"y_bins": EDGES}
    )


def several(intersectional):
    y, f, s = make_numbers(n_groups=6, seed=4)
    columns = {"team": letters(s % 3), "level": s // 3}
    return Case(y, f, columns, bins={"y_bins": EDGES, "intersectional": intersectional})


def several_weighted():
    case = several(intersectional=False)
    return Case(case.y, case.f, case.s, np.random.default_rng(1).uniform(0.5, 2, 400), case.bins)


def age_in_bins():
    y, f, s = make_numbers(seed=5)
    age = 30 + 10 * s + np.random.default_rng(5).normal(0, 5, 400)
    return Case(y, f, age, bins={"y_bins": EDGES, "s_bins": 3})


def mixed():
    y, f, s = make_numbers(seed=6)
    age = 30 + 10 * s + np.random.default_rng(6).normal(0, 5, 400)
    bins = {"y_bins": 5, "intersectional": False, "s_bins": {"age": Bins.quantile(3)}}
    return Case(y, f, {"age": age, "sex": letters(s)}, bins=bins)


def empty_cells():
    y, f, s = make_numbers(n=60, n_groups=4, seed=7)
    s[y > 2] %= 2
    return Case(y, f, letters(s), bins={"y_bins": [*EDGES, 4]})


def outside():
    y, f, s = make_numbers(n_groups=4, seed=8)
    bins = {"y_bins": [0.5, 1, 2, 2.5], "s_bins": Bins.categories(["a", "b", "c"])}
    return Case(y, f, letters(s), bins=bins)


def classes(names, n_groups=2, weight=None, seed=9, **bins):
    rng = np.random.default_rng(seed)
    s = rng.integers(0, n_groups, 400)
    y = rng.integers(0, len(names), 400)
    right = rng.random(400) < 0.7 - 0.15 * s * (y == 1)
    f = np.where(right, y, rng.integers(0, len(names), 400))
    names = np.array(names)
    return Case(names[y], names[f], letters(s), weight, bins)


NUMBERS: dict[str, Callable[[], Case]] = {
    "two groups": two_groups,
    "numeric groups": numeric_groups,
    "five groups": five_groups,
    "weights": weighted,
    "intersectional": lambda: several(intersectional=True),
    "marginal": lambda: several(intersectional=False),
    "marginal, weights": several_weighted,
    "age in bins": age_in_bins,
    "mixed": mixed,
    "empty cells": empty_cells,
    "outside": outside,
}
CLASSES: dict[str, Callable[[], Case]] = {
    "words": lambda: classes(["no", "yes"], y_bins=Bins.categories(["no", "yes"])),
    "0 and 1": lambda: classes([0, 1], n_groups=3, y_bins=Bins.categories([0, 1])),
    "weighted classes": lambda: classes(
        [0, 1], weight=np.linspace(0, 2, 400), y_bins=Bins.categories([0, 1])
    ),
    "three classes": lambda: classes(
        ["high", "low", "mid"], n_groups=3, y_bins=Bins.categories(["high", "low", "mid"])
    ),
    "one class of two": lambda: classes(["no", "yes"], y_bins=Bins.categories(["yes"])),
}
CASES = NUMBERS | CLASSES
