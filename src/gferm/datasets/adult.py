"""Adult: income above 50 000 dollars in the census of 1994, with sex, race and age; fetched."""

from __future__ import annotations

from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import URLError

import numpy as np

from gferm.datasets._adult_encoding import PREFIXES, check_encoded, encode
from gferm.datasets._bundled import (
    BinsSpec,
    Columns,
    Dataset,
    Loaded,
    categories,
    choose_sensitive,
    flags,
    in_words,
    read_csv,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

OPENML_ID = 1590  # adult, version 2: numbers are numbers there, version 1 has them in bins
TARGET = "salary"
S_BINS: dict[str, BinsSpec] = {
    "sex": "auto",
    "race": "auto",
    "age": (17.0, 25.0, 35.0, 45.0, 55.0, 65.0, 90.0),
}

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
    names = choose_sensitive(sensitive, tuple(S_BINS))
    columns = _download(data_home) if path is None else _read(Path(path))
    source = f"OpenML's data set {OPENML_ID}" if path is None else f"path={str(path)!r}"
    if "class" in columns:  # raw
        columns = encode(columns, source)
    check_encoded(columns, source)
    left_out = {*flags(columns, PREFIXES["class"])}
    if not include_sensitive:
        left_out |= {column for name in names for column in _columns_of(columns, name)}
    return Dataset(
        features={name: column for name, column in columns.items() if name not in left_out},
        target_name=TARGET,
        target=categories(columns, PREFIXES["class"]),
        sensitive={
            name: categories(columns, PREFIXES[name]) if name in PREFIXES else columns[name]
            for name in names
        },
        several=not isinstance(sensitive, str),
        y_bins="auto",
        s_bins=[S_BINS[name] for name in names],
        description=DESCRIPTION,
    ).hand_out(return_X_y=return_X_y, as_frame=as_frame)


def _columns_of(columns: Columns, attribute: str) -> Columns:
    """The columns that hold an attribute: its 0/1 columns, or the one of its name."""
    if attribute in PREFIXES:
        return flags(columns, PREFIXES[attribute])
    return {attribute: columns[attribute]}


def _read(path: Path) -> Columns:
    try:
        return read_csv(path)
    except ValueError as error:
        raise ValueError(
            f"path={str(path)!r} is not a CSV file with a header and rows of equal length: {error}"
        ) from error


def _download(data_home: str | PathLike[str] | None) -> Columns:
    """The raw columns, from OpenML or from what an earlier call left in `data_home`."""
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
            column = in_words(np.array([*levels, ""]), np.where(np.isnan(column), -1, column))
        columns[name] = column
    return columns | {"class": np.asarray(raw.target, dtype=str)}
