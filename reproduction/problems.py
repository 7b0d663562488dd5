"""The data of the experiments, with everything scaled to [0, 1].

Communities and Crime is so at its source. The paper's other dataset, UNIGE, is private; School
pupils stands in for it, with sex as the binary attribute and the family's status in five bins as
the continuous one. Its features and labels are moved to [0, 1] by their smallest and largest values
over all rows, as those of Communities and Crime were.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from gferm.arrays import Array
from gferm.datasets import load_crime, load_pupils
from gferm.fairness.bins import BinsLike, uniform_edges
from gferm.fairness.comparison import Comparison
from gferm.fairness.membership import Membership
from gferm.fairness.sensitive import SensitiveColumn
from reproduction.paper import BINARY, CONTINUOUS, DATA_NAMES


@dataclass(frozen=True, eq=False)
class Study:
    """One sensitive attribute of a dataset.

    Attributes
    ----------
    attribute : str
    values : array of shape (n,)
    bins : BinsLike
        The groups.
    without_s, with_s : arrays of shape (n, d)
        The features, without and with the attribute.
    """

    attribute: str
    values: Array
    bins: BinsLike
    without_s: Array
    with_s: Array

    def features(self, with_s: bool) -> Array:
        """Return the features of a model that may, or may not, use the attribute."""
        return self.with_s if with_s else self.without_s


@dataclass(frozen=True, eq=False)
class Problem:
    """A dataset with its two studies."""

    name: str
    title: str
    y: Array
    studies: dict[str, Study]

    def members(self, study: str, n_bins: int) -> Membership:
        """Sort all rows into cells, with K label bins of equal width."""
        attribute = self.studies[study]
        columns = [SensitiveColumn(attribute.attribute, attribute.values)]
        comparison = Comparison(uniform_edges(0, 1, n_bins), attribute.bins)
        return comparison.sort(self.y, columns)


def _study(load: Callable[..., Any], sensitive: str) -> Study:
    data, more = (load(sensitive=sensitive, include_sensitive=also) for also in (False, True))
    return Study(
        attribute=data.sensitive_names[0],
        values=data.sensitive_features,
        bins=data.s_bins,
        without_s=_to_unit_range(data.data),
        with_s=_to_unit_range(more.data),
    )


def _to_unit_range(values: Array) -> Array:
    low, high = values.min(axis=0), values.max(axis=0)
    scaled: Array = (values - low) / np.where(high > low, high - low, 1.0)
    return scaled


@cache
def crime() -> Problem:
    """Load Communities and Crime."""
    return Problem(
        name="crime",
        title=DATA_NAMES["crime"],
        y=load_crime().target,
        studies={kind: _study(load_crime, kind) for kind in (BINARY, CONTINUOUS)},
    )


@cache
def pupils() -> Problem:
    """Load School pupils."""
    return Problem(
        name="pupils",
        title=DATA_NAMES["pupils"],
        y=_to_unit_range(load_pupils().target),
        studies={
            BINARY: _study(load_pupils, "sex"),
            CONTINUOUS: _study(load_pupils, "ses"),
        },
    )


PROBLEMS: dict[str, Callable[[], Problem]] = {"crime": crime, "pupils": pupils}
