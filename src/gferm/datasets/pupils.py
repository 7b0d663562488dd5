"""School pupils: a language test in Dutch schools, with sex, minority and socio-economic status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gferm.datasets.dataset import Attribute, BinsSpec, Dataset, Loaded, read_bundled
from gferm.fairness.bins import uniform_edges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

TARGET = "langPOST"
IDENTIFIERS = {"schoolNR", "pupilNR", "classNR"}
OTHER_OUTCOME = "aritPOST"
SHIFTED_COPIES = {"IQ.ver.cen", "grpSiz.cen"}  # of IQ.verb and of groupsiz
Y_BINS = (9.0, *uniform_edges(19, 59, 8))
S_BINS: dict[str, BinsSpec] = {"sex": "auto", "Minority": "auto", "ses": uniform_edges(10, 50, 5)}

DESCRIPTION = """\
School pupils
-------------
2287 pupils of grade 8, about eleven years old, in 131 primary schools in the Netherlands. The
target langPOST is a language test at the end of the school year, in whole points from 9 to 58; the
features are earlier tests of language and arithmetic, verbal and performance IQ, repeated grades,
and facts about the class and the school.

Origin: T. A. B. Snijders and R. J. Bosker, Multilevel Analysis: An Introduction to Basic and
Advanced Multilevel Modeling, Sage, 1999; distributed as the data frame ``bdf`` of the R package
nlme (https://cran.r-project.org/package=nlme).
Licence: the source states none for the data; the package nlme is under the GPL, version 2 or later.
Attribution: Tom Snijders, Roel Bosker and the authors of nlme.

Changes: the identifiers schoolNR, pupilNR and classNR are dropped, and so is aritPOST, the other
test taken at the end of the year. IQ.ver.cen and grpSiz.cen are dropped because they are IQ.verb
and groupsiz less a constant. avg.IQ.ver.cen, the mean of IQ.ver.cen over the pupils of a school, is
kept; it is computed over all pupils, so a split of the rows does not separate it. denomina (the
denomination of the school, 1 to 4, nominal) becomes four 0/1 columns; Minority as a feature is 1
for "Y". No value is missing and no row is dropped. That leaves 24 features with the sensitive ones.

Sensitive attributes: sex (0: 1194 pupils, mean target 39.7; 1: 1093 pupils, 42.3; nlme does not say
which code is which sex), Minority ("N": 2155 pupils, 41.2; "Y": 132 pupils, 36.2) and ses, the
socio-economic status of the family, 10 to 50 (correlation with the target 0.36). Attributes not
chosen stay among the features; schoolSES and percmino are proxies and stay as well.

Bins: nine label bins, edges 9, 19, 24, ..., 59, of five points each but for the first: only two
pupils score below 14, too few for every training fold to hold one. Status has five bins of equal
width over [10, 50].

Limits: pupils share schools, so rows are not independent, and an error estimated by splitting rows
at random is too small for a new school. The data are one country, decades ago, and a test score is
an imperfect measure of what a child knows.
"""


def load_pupils(
    *,
    sensitive: str | Sequence[str] = "sex",
    include_sensitive: bool = False,
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Loaded:
    """Load the school pupils (regression, 2287 pupils, 24 features with the sensitive ones).

    Parameters
    ----------
    sensitive : {"sex", "Minority", "ses"} or sequence of these, default="sex"
        The sensitive attribute: sex (0 or 1), Minority ("N" or "Y") or the continuous
        socio-economic status ses (10 to 50); or several. A sequence gives a two-dimensional
        ``sensitive_features``, one column per attribute in the order given.
    include_sensitive : bool, default=False
        Whether the chosen attributes are also features. Those not chosen always are.
    return_X_y : bool, default=False
        Return ``(X, y, sensitive_features)`` instead of a Bunch.
    as_frame : bool, default=False
        Return pandas objects instead of NumPy arrays.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch`
        ``data`` of shape (2287, n_features), ``target`` of shape (2287,), ``sensitive_features``
        of shape (2287,) or (2287, n_attributes), ``feature_names``, ``target_name``,
        ``sensitive_names``, ``y_bins`` (edges), ``s_bins`` ("auto" for categories, edges for ses;
        for several attributes a dict of these, by name in frames and by position in arrays), and
        ``DESCR``: origin, licence, changes.
    (X, y, sensitive_features) : tuple, if ``return_X_y`` is True
        The first three of these.

    Examples
    --------
    >>> from gferm.datasets import load_pupils
    >>> load_pupils(sensitive="ses").s_bins
    (10.0, 18.0, 26.0, 34.0, 42.0, 50.0)
    """
    columns = dict(read_bundled("school_pupils.csv.gz"))
    columns["sex"] = columns["sex"].astype(int)
    return Dataset(
        features=_features(columns),
        target_name=TARGET,
        target=columns[TARGET],
        attributes={name: Attribute(columns[name], [name], bins) for name, bins in S_BINS.items()},
        y_bins=Y_BINS,
        description=DESCRIPTION,
    ).load(sensitive, include_sensitive=include_sensitive, return_X_y=return_X_y, as_frame=as_frame)


def _features(columns: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return all columns but identifiers, outcomes and copies as numbers, in the source's order."""
    dropped = {TARGET, OTHER_OUTCOME, *IDENTIFIERS, *SHIFTED_COPIES}
    features: dict[str, NDArray[Any]] = {}
    for name, column in columns.items():
        if name == "denomina":
            features |= {f"denomina_{k:.0f}": column == k for k in np.unique(column)}
        elif name not in dropped:
            features[name] = column == "Y" if name == "Minority" else column
    return features
