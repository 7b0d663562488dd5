"""Communities and Crime: violent crime per community, against its share of black residents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from gferm.datasets.dataset import (
    Attribute,
    Columns,
    Dataset,
    Loaded,
    check_sensitive,
    read_bundled,
)
from gferm.fairness.bins import uniform_edges

if TYPE_CHECKING:
    from numpy.typing import NDArray

TARGET = "ViolentCrimesPerPop"
ATTRIBUTE = "racepctblack"
THRESHOLD = 0.06  # splits the communities into the groups of Calders et al. (2013): 970 and 1024
BINARY_BINS = (-0.5, 0.5, 1.5)
IDENTIFIERS = {"state", "county", "community", "communityname", "fold"}

DESCRIPTION = """\
Communities and Crime
---------------------
1994 communities in the United States. The target is the number of violent crimes per inhabitant;
the features describe population, income, family, housing and migration. All numbers are scaled to
[0, 1] by the source, which also cuts values more than three standard deviations from the mean: 44
communities share the largest target, 1.0, and 0.06 in racepctblack is not "6 % of the residents".

Origin: M. Redmond, Communities and Crime, UCI Machine Learning Repository, 2002,
https://doi.org/10.24432/C53W3X; compiled from the 1990 census, the 1990 LEMAS survey of police
departments and the FBI's Uniform Crime Reports of 1995.
Licence: CC BY 4.0 (https://creativecommons.org/licenses/by/4.0/). Attribution: Michael Redmond.

Changes: five identifiers (state, county, community, communityname, fold) are dropped, and so are
the 22 columns of the police survey that are missing for 1675 of the communities. The only missing
value left, one OtherPerCap, is replaced by the mean of its column. No row is dropped.

Sensitive attribute: racepctblack, the scaled share of black residents. The binary version is
racepctblack > 0.06, which gives 970 communities with s = 1 (mean target 0.35) and 1024 with s = 0
(mean target 0.13). Other features, such as racePctWhite or the incomes by race, are close proxies
and stay in.

Bins: ten label bins and, for the continuous attribute, five bins, of equal width over [0, 1]. High
label bins hold few communities with s = 0: 3, 3 and 1 in the last three.

Limits: the target counts crimes reported to and recorded by the police, so it reflects policing as
well as crime, and communities whose counts were incomplete are not in the data. The unit is a
community in the 1990s, not a person. Use it to compare methods, never to judge a place or a group.
"""


def load_crime(
    *,
    sensitive: Literal["binary", "continuous"] = "binary",
    include_sensitive: bool = False,
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Loaded:
    """Load Communities and Crime (regression, 1994 communities, 99 or 100 features).

    Parameters
    ----------
    sensitive : {"binary", "continuous"}, default="binary"
        The sensitive attribute: whether racepctblack is above 0.06 (0 or 1), or racepctblack
        itself, scaled to [0, 1].
    include_sensitive : bool, default=False
        Whether the sensitive attribute, as chosen above, is also a feature. Otherwise racepctblack
        is in no feature.
    return_X_y : bool, default=False
        Return ``(X, y, sensitive_features)`` instead of a Bunch.
    as_frame : bool, default=False
        Return pandas objects instead of NumPy arrays.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch`
        ``data`` of shape (1994, 99) or (1994, 100), ``target`` and ``sensitive_features`` of shape
        (1994,), ``feature_names``, ``target_name``, ``sensitive_names``, the edges ``y_bins`` and
        ``s_bins``, and ``DESCR``: origin, licence and changes.
    (X, y, sensitive_features) : tuple, if ``return_X_y`` is True
        The first three of these.

    Examples
    --------
    >>> from gferm.datasets import load_crime
    >>> crime = load_crime()
    >>> crime.data.shape, int(crime.sensitive_features.sum())
    ((1994, 99), 970)
    """
    check_sensitive(sensitive, ("binary", "continuous"))
    columns = _clean(read_bundled("communities_and_crime.csv.gz"))
    target = columns.pop(TARGET)
    name, s, s_bins = ATTRIBUTE, columns[ATTRIBUTE], uniform_edges(0, 1, 5)
    if sensitive == "binary":
        name, s, s_bins = f"{ATTRIBUTE} > {THRESHOLD}", (s > THRESHOLD).astype(int), BINARY_BINS
    # in place, so that the other features keep their order
    features = {
        name if column == ATTRIBUTE else column: s if column == ATTRIBUTE else values
        for column, values in columns.items()
    }
    return Dataset(
        features=features,
        target_name=TARGET,
        target=target,
        attributes={name: Attribute(s, [name], s_bins)},
        y_bins=uniform_edges(0, 1, 10),
        description=DESCRIPTION,
    ).load(name, include_sensitive=include_sensitive, return_X_y=return_X_y, as_frame=as_frame)


def _clean(columns: Columns) -> dict[str, NDArray[np.float64]]:
    """Drop identifiers and columns that are mostly missing; fill single gaps with the mean."""
    cleaned = {}
    for name, column in columns.items():
        if name in IDENTIFIERS or np.isnan(column).mean() > 0.5:
            continue
        cleaned[name] = np.where(np.isnan(column), np.nanmean(column), column)
    return cleaned
