"""Which bins sort the held-out rows: those of the model, or some that the rows had no part in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gferm.fairness.bins import Bins, BinsLike, as_bins
from gferm.fairness.cells import Cells, CellScheme, SensitiveBins
from gferm.fairness.comparison import Comparison
from gferm.fairness.membership import Membership, sort_rows
from gferm.fairness.sensitive import SensitiveColumn
from gferm.metrics.reading import require_groups

UNNAMED = "sensitive"  # what a column is called that came without a name


def cells_as_trained(
    trained: Cells, y: npt.NDArray[Any], columns: tuple[SensitiveColumn, ...], given: dict[str, Any]
) -> Membership:
    """Sort rows as the model's training rows were sorted."""
    named = [name for name, value in given.items() if value is not None]
    if named:
        raise ValueError(
            f"{', '.join(named)} cannot be chosen for a model that has cells of its own: the "
            "certificate is about these. Leave the argument out."
        )
    return sort_rows(trained.scheme, y, _match_by_name(columns, trained.scheme.names))


def cells_of_own_bins(
    classes: Any,
    y: npt.NDArray[Any],
    columns: Sequence[SensitiveColumn],
    *,
    y_bins: BinsLike | None,
    s_bins: SensitiveBins | None,
    intersectional: bool | None,
) -> Membership:
    """Sort rows for a predictor without cells, and refuse bins that are read off these rows."""
    if y_bins is None and classes is not None:
        y_bins = Bins.categories(np.asarray(classes).tolist())
    if y_bins is None:
        raise ValueError(
            "y_bins is missing: this model has no bins of its own. Give increasing edges, "
            "Bins.categories([...]), or 1 to compare whole groups."
        )
    comparison = Comparison(
        y_bins=as_bins(y_bins, "y_bins"),
        s_bins="auto" if s_bins is None else s_bins,
        intersectional=intersectional is None or intersectional,
    )
    rows = comparison.sort(y, columns)
    for name, bins in named_bins(rows.scheme):
        if not bins.explicit and not bins.holds_everything:
            raise ValueError(
                f"{name} would be read off the rows given, and intervals do not hold for cells "
                f"that depend on their own rows. Give {name} as edges or Bins.categories([...])."
            )
    return rows


def named_bins(scheme: CellScheme) -> list[tuple[str, Bins]]:
    """List the bins of label and attributes with the argument that makes them."""
    return [
        ("y_bins", scheme.label_bins),
        *(("s_bins", bins) for bins in scheme.sensitive_bins if not bins.continuous),
    ]


def require_rows_in_cells(cells: Cells, columns: Sequence[SensitiveColumn]) -> None:
    """Refuse rows of which none can be judged."""
    require_groups(cells)
    if not any(part.counts.any() for part in cells.partitions):
        values = {column.name: np.unique(column.values).tolist()[:10] for column in columns}
        raise ValueError(
            f"sensitive_features and y leave no row in any cell: the attributes are {values}, the "
            f"groups {[part.groups for part in cells.partitions]}, the bins of the label "
            f"{cells.label_bins.labels}. Pass them coded as in training."
        )


def _match_by_name(
    columns: tuple[SensitiveColumn, ...], names: tuple[str, ...]
) -> tuple[SensitiveColumn, ...]:
    """Return the attributes in the order of training."""
    by_name = {column.name: column for column in columns}
    if set(by_name) == set(names):
        return tuple(by_name[name] for name in names)
    if len(names) == len(columns) == 1 and UNNAMED in (columns[0].name, names[0]):
        return columns
    raise ValueError(
        f"sensitive_features has the attributes {list(by_name)}, but the model was trained with "
        f"{list(names)}; pass the same ones."
    )
