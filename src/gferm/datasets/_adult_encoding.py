"""Adult as a table of numbers: the six numbers first, then one 0/1 column for each category.

``encode`` turns the raw table, with the columns of OpenML, into this form; ``check_encoded`` tells
whether a table has it. Both are pure functions of columns; where these come from is not their
business.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gferm.datasets._bundled import Columns, flags

if TYPE_CHECKING:
    from numpy.typing import NDArray

NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
# the column of OpenML -> how its 0/1 columns begin; only the label gets another name
PREFIXES = {
    "workclass": "workclass_",
    "education": "education_",
    "marital-status": "marital-status_",
    "occupation": "occupation_",
    "relationship": "relationship_",
    "race": "race_",
    "sex": "sex_",
    "native-country": "native-country_",
    "class": "salary_",
}
RAW = (*NUMBERS, *PREFIXES)
LABELS = ("salary_<=50K", "salary_>50K")
REMEDY = (
    f"give either OpenML's raw columns ({', '.join(RAW)}) or their one-hot form (age, ..., "
    f"sex_Female, sex_Male, ..., {', '.join(LABELS)})."
)
MISSING = ("", "?")  # an empty field of a CSV file, and how the source writes it


def encode(raw: Columns, source: str) -> Columns:
    """Drop the rows with a missing value and give one 0/1 column for each category that is left.

    Parameters
    ----------
    raw : mapping of str to array
        The columns of OpenML: strings, "" or "?" where missing, and numbers, NaN where missing.
    source : str
        Where the columns come from, for errors.
    """
    absent = [name for name in RAW if name not in raw]
    if absent:
        raise ValueError(f"{source} lacks the columns {absent} of Adult; {REMEDY}")
    complete = np.all([_known(raw[name]) for name in RAW], axis=0)
    encoded = {name: raw[name][complete].astype(np.float64) for name in NUMBERS}
    for name, prefix in PREFIXES.items():
        values = raw[name][complete]
        encoded |= {f"{prefix}{v}": (values == v).astype(np.float64) for v in np.unique(values)}
    return encoded


def check_encoded(columns: Columns, source: str) -> None:
    """Refuse a table without one of the columns, or whose 0/1 columns do not name one category."""
    absent = [name for name in (*NUMBERS, *LABELS) if name not in columns]
    if absent:
        raise ValueError(f"{source} lacks the columns {absent} of Adult; {REMEDY}")
    for prefix in PREFIXES.values():
        # one-hot with a category left out would put its rows into a wrong group in silence
        if not np.all(sum(flags(columns, prefix).values()) == 1):
            raise ValueError(
                f"{source}: the columns {prefix}* must be 0 or 1, and exactly one of them 1 in "
                "every row; keep the column of every category."
            )
    unknown = sorted(flags(columns, PREFIXES["class"]).keys() - {*LABELS})
    if unknown:
        raise ValueError(f"{source} has the labels {unknown} beside {list(LABELS)}; {REMEDY}")


def _known(column: NDArray[Any]) -> NDArray[np.bool_]:
    known: NDArray[np.bool_] = (
        ~np.isnan(column) if column.dtype.kind == "f" else ~np.isin(column, MISSING)
    )
    return known
