"""Adult: income above 50 000 dollars in the census of 1994, with sex, race and age; fetched.

``encode`` turns the raw table of OpenML into numbers: the six numbers first, then one 0/1 column
for each category. ``check_encoded`` refuses a table that has another form.
"""

from __future__ import annotations

from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import URLError

import numpy as np

from gferm.datasets.dataset import (
    Attribute,
    BinsSpec,
    Columns,
    Dataset,
    Loaded,
    choose_sensitive,
    decode,
    decode_one_hot,
    one_hot_columns,
    read_csv,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from numpy.typing import NDArray

OPENML_ID = 1590  # adult, version 2: numbers are numbers there, version 1 has them in bins
TARGET = "salary"
S_BINS: dict[str, BinsSpec] = {
    "sex": "auto",
    "race": "auto",
    "age": (17.0, 25.0, 35.0, 45.0, 55.0, 65.0, 90.0),
}

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

DESCRIPTION = """\
Adult
-----
48842 persons in the census of the United States in 1994, 45222 of them without a missing value. The
target says whether the income was above 50 000 dollars a year (">50K": 11208 of the 45222, "<=50K":
34014); the features are age, education, work, hours, capital gains and losses, family and origin.

Origin: B. Becker and R. Kohavi, Adult, UCI Machine Learning Repository, 1996,
https://doi.org/10.24432/C5XW20; fetched from https://www.openml.org/d/1590.
Licence: CC BY 4.0 (https://creativecommons.org/licenses/by/4.0/). Attribution: Barry Becker and
Ronny Kohavi.

Changes: the 3620 rows with a missing workclass, occupation or native-country are dropped. Each
category becomes a 0/1 column. The label column "class" is called salary. That leaves 104 features
with the sensitive ones. fnlwgt, the number of persons that a row stands for, is a weight of the
survey rather than a fact about the person; it is kept, as is usual with these data.

Sensitive attributes: sex ("Female": 14695 persons, 11 % above; "Male": 30527, 31 %), race
("Amer-Indian-Eskimo": 435 persons, 12 %; "Asian-Pac-Islander": 1303, 28 %; "Black": 4228, 13 %;
"Other": 353, 13 %; "White": 38903, 26 %) and age in years (17 to 90). Attributes not chosen stay
among the features; relationship_Husband and relationship_Wife tell the sex and stay as well.

Bins: the two classes are the label bins, which makes general fairness equalized odds. Each sex and
race is a group; age has the edges 17, 25, 35, 45, 55, 65, 90.

Limits: the threshold of 50 000 dollars was high in 1994, so that results depend on it; see F. Ding,
M. Hardt, J. Miller and L. Schmidt, Retiring Adult (NeurIPS 2021). Incomes reflect the pay of the
time, unequal as it was, and equalized odds take them as the truth.
"""


def fetch_adult(
    *,
    data_home: str | PathLike[str] | None = None,
    path: str | PathLike[str] | None = None,
    sensitive: str | Sequence[str] = "sex",
    include_sensitive: bool = False,
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Loaded:
    """Fetch Adult from OpenML (two classes, 45222 persons, 104 features with the sensitive ones).

    The first call downloads about 1 MB into `data_home`; later calls read it from there.

    Parameters
    ----------
    data_home : str or path-like, default=None
        The folder for downloads, by default that of scikit-learn, ``~/scikit_learn_data``.
    path : str or path-like, default=None
        Read this CSV file (gzip or plain) instead of fetching anything. It has a header and either
        the raw columns of OpenML or their one-hot form.
    sensitive : {"sex", "race", "age"} or sequence of these, default="sex"
        The sensitive attribute: sex ("Female" or "Male"), race (five categories) or the continuous
        age (17 to 90); or several. A sequence gives a two-dimensional ``sensitive_features``, one
        column per attribute in the order given.
    include_sensitive : bool, default=False
        Whether the chosen attributes are also features, sex and race as one 0/1 column per
        category. Those not chosen always are.
    return_X_y : bool, default=False
        Return ``(X, y, sensitive_features)`` instead of a Bunch.
    as_frame : bool, default=False
        Return pandas objects instead of NumPy arrays.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch`
        ``data`` of shape (45222, n_features), ``target`` ("<=50K" or ">50K") of shape (45222,),
        ``sensitive_features`` of shape (45222,) or (45222, n_attributes), ``feature_names``,
        ``target_name``, ``sensitive_names``, ``y_bins`` ("auto": each class is a bin), ``s_bins``
        ("auto" for categories, edges for age; for several attributes a dict of these, by name in
        frames and by position in arrays), and ``DESCR``: origin, licence, changes.
    (X, y, sensitive_features) : tuple, if ``return_X_y`` is True
        The first three of these.

    Raises
    ------
    ConnectionError
        If OpenML cannot be reached and `data_home` does not hold the data yet.

    Examples
    --------
    >>> from gferm.datasets import fetch_adult
    >>> fetch_adult().data.shape  # doctest: +SKIP
    (45222, 102)
    """
    choose_sensitive(sensitive, S_BINS)  # a wrong name is refused before anything is fetched
    columns = _download(data_home) if path is None else _read(Path(path))
    source = f"OpenML's data set {OPENML_ID}" if path is None else f"path={str(path)!r}"
    if "class" in columns:  # raw
        columns = encode(columns, source)
    check_encoded(columns, source)
    labels = one_hot_columns(columns, PREFIXES["class"])
    return Dataset(
        features={name: column for name, column in columns.items() if name not in labels},
        target_name=TARGET,
        target=decode_one_hot(columns, PREFIXES["class"]),
        attributes={name: _attribute(columns, name) for name in S_BINS},
        y_bins="auto",
        description=DESCRIPTION,
    ).load(sensitive, include_sensitive=include_sensitive, return_X_y=return_X_y, as_frame=as_frame)


def _attribute(columns: Columns, name: str) -> Attribute:
    """Return an attribute from its 0/1 columns, or from the one of its name."""
    if name not in PREFIXES:
        return Attribute(columns[name], [name], S_BINS[name])
    one_hot = one_hot_columns(columns, PREFIXES[name])
    return Attribute(decode_one_hot(one_hot, PREFIXES[name]), one_hot, S_BINS[name])


def _read(path: Path) -> Columns:
    try:
        return read_csv(path)
    except ValueError as error:
        raise ValueError(
            f"path={str(path)!r} is not a CSV file with a header and rows of equal length: {error}"
        ) from error


def _download(data_home: str | PathLike[str] | None) -> Columns:
    """Fetch the raw columns from OpenML, or read what an earlier call left in `data_home`."""
    from sklearn.datasets import fetch_openml  # here, so that importing gferm stays light

    try:
        # this parser is slower than that of pandas, but needs no pandas
        raw = fetch_openml(
            data_id=OPENML_ID, data_home=data_home, as_frame=False, parser="liac-arff"
        )
    except (URLError, HTTPException, ConnectionError, TimeoutError) as error:
        folder = (
            "scikit-learn's data_home" if data_home is None else f"data_home={str(data_home)!r}"
        )
        raise ConnectionError(
            f"Adult is not in {folder} and could not be fetched from OpenML: {error}. Retry with a "
            "network, or pass data_home= a folder into which a machine with a network has fetched "
            "it, or path= a CSV file of it."
        ) from error
    columns = {}
    for name, column in zip(raw.feature_names, raw.data.T, strict=True):
        levels = raw.categories.get(name)
        if levels is not None:  # codes, NaN where missing: -1 is the last word, which is empty
            column = decode(np.where(np.isnan(column), -1, column), np.array([*levels, ""]))
        columns[name] = column
    return columns | {"class": np.asarray(raw.target, dtype=str)}


def encode(raw: Columns, source: str) -> Columns:
    """Drop rows with a missing value and turn every category that is left into a 0/1 column.

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
    """Raise a ValueError unless all columns are there and the 0/1 columns name one category."""
    absent = [name for name in (*NUMBERS, *LABELS) if name not in columns]
    if absent:
        raise ValueError(f"{source} lacks the columns {absent} of Adult; {REMEDY}")
    for prefix in PREFIXES.values():
        # one-hot with a category left out would put its rows into a wrong group in silence
        if not np.all(sum(one_hot_columns(columns, prefix).values()) == 1):
            raise ValueError(
                f"{source}: the columns {prefix}* must be 0 or 1, and exactly one of them 1 in "
                "every row; keep the column of every category."
            )
    unknown = sorted(one_hot_columns(columns, PREFIXES["class"]).keys() - {*LABELS})
    if unknown:
        raise ValueError(f"{source} has the labels {unknown} beside {list(LABELS)}; {REMEDY}")


def _known(column: NDArray[Any]) -> NDArray[np.bool_]:
    known: NDArray[np.bool_] = (
        ~np.isnan(column) if column.dtype.kind == "f" else ~np.isin(column, MISSING)
    )
    return known
