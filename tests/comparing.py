"""Constraints beside the columns of their rows, as tests look at both."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from gferm.fairness.comparison import Comparison
from gferm.fairness.constraint import Constraint
from gferm.fairness.membership import sort_rows
from gferm.fairness.sensitive import read_sensitive_features


@dataclass(frozen=True, eq=False)
class Compared:
    """A constraint and its C; it answers like the constraint itself."""

    constraint: Constraint
    columns: sparse.csr_array

    def __getattr__(self, name):
        return getattr(self.constraint, name)

    def gaps(self, predictions):
        return self.constraint.gaps_of(self.columns.T @ np.asarray(predictions))

    def with_offset(self, offset):
        return Compared(replace(self.constraint, offset=offset), self.columns)


def compare(rows, target=None, **options):
    """Compare sorted rows."""
    return Compared(*Comparison(rows.scheme.label_bins, **options).constrain(rows, target))


def compared_by(model, y, s, weight=None):
    """The constraint of a fitted model, with C of the rows it was fitted on."""
    columns = read_sensitive_features(s, len(y))
    y = np.asarray(y)
    rows = sort_rows(model.cells_.scheme, y, columns, weight)
    size = getattr(model, "min_cell_size", 1)
    found = compare(rows, min_cell_size=size)
    assert found.compared == model.contrasts_.compared
    return Compared(model.contrasts_, found.columns)
