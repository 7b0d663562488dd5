"""Law school: first-year average of law students, with race and sex."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gferm.datasets.dataset import (
    Attribute,
    Dataset,
    Loaded,
    choose_sensitive,
    decode_one_hot,
    one_hot_columns,
    read_bundled,
)
from gferm.fairness.bins import uniform_edges

if TYPE_CHECKING:
    from collections.abc import Sequence

TARGET = "ZFYA"
FEATURES = ("LSAT", "UGPA")
# the file holds each attribute as 0/1 columns, one per category: Race_Asian, ..., Sex_1, Sex_2
PREFIXES = {"race": "Race_", "sex": "Sex_"}

DESCRIPTION = """\
Law school
----------
21791 students of law in the United States who began in 1991. The target ZFYA is the average grade
of the first year, standardised by the source (here from -3.35 to 3.48); the features are the score
of the admission test (LSAT, 11 to 48) and the undergraduate grade point average (UGPA).

Origin: the National Longitudinal Bar Passage Study of the Law School Admission Council, described
in L. F. Wightman, LSAC National Longitudinal Bar Passage Study, LSAC Research Report Series, 1998.
Licence: published for research without an explicit licence; the Law School Admission Council is to
be credited. Attribution: Law School Admission Council.

Changes: PF_0 and PF_1 (passed or not), an outcome later than the features, are dropped. The 0/1
columns by category become one attribute each. No value is missing, every row has exactly one race
and one sex, and no row is dropped. Two students have UGPA 0.0 and 18 are above 4.0: kept as found.
893 rows repeat an earlier one: with two rounded features that is to be expected, so they stay.

Sensitive attributes: race, in the words of the source (Amerindian 99, Asian 845, Black 1282,
Hispanic 488, Mexican 389, Other 293, Puertorican 110, White 18285 students), and sex, coded "1"
(9537) and "2" (12254). The file does not say which code is which sex, so neither does this loader.

Bins: ten label bins of width 0.7 over [-3.5, 3.5]; every one holds rows, but with race many cells
are empty or nearly so: all 14 students in the last bin are White.

Limits: only students who were admitted and finished the first year are seen, a selection in which
race and test scores took part. The categories are those of a questionnaire of 1991. Grades measure
how schools grade as well as what students know.
"""


def load_law(
    *,
    sensitive: str | Sequence[str] = "race",
    include_sensitive: bool = False,
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Loaded:
    """Load the law school data (regression, 21791 students, 2 features).

    Parameters
    ----------
    sensitive : {"race", "sex"} or sequence of these, default="race"
        The sensitive attribute, or several. A sequence gives a two-dimensional
        ``sensitive_features``, one column per attribute in the order given.
    include_sensitive : bool, default=False
        Whether the chosen attributes are also features, as one 0/1 column per category.
    return_X_y : bool, default=False
        Return ``(X, y, sensitive_features)`` instead of a Bunch.
    as_frame : bool, default=False
        Return pandas objects instead of NumPy arrays.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch`
        ``data`` of shape (21791, n_features), ``target`` of shape (21791,), ``sensitive_features``
        (strings) of shape (21791,) or (21791, n_attributes), ``feature_names``, ``target_name``,
        ``sensitive_names``, ``y_bins`` (edges), ``s_bins`` ("auto": each category is a group; for
        several attributes a dict, by name or by position), and ``DESCR``: origin, licence, changes.
    (X, y, sensitive_features) : tuple, if ``return_X_y`` is True
        The first three of these.

    Examples
    --------
    >>> from gferm.datasets import load_law
    >>> load_law(sensitive=["race", "sex"]).sensitive_features[0].tolist()
    ['White', '1']
    """
    columns = read_bundled("law_school.csv.gz")
    one_hot = {name: one_hot_columns(columns, prefix) for name, prefix in PREFIXES.items()}
    features = {name: columns[name] for name in FEATURES}
    for name in choose_sensitive(sensitive, PREFIXES):  # an attribute not chosen is no feature
        features |= one_hot[name]
    return Dataset(
        features=features,
        target_name=TARGET,
        target=columns[TARGET],
        attributes={
            name: Attribute(decode_one_hot(columns, prefix), one_hot[name])
            for name, prefix in PREFIXES.items()
        },
        y_bins=uniform_edges(-3.5, 3.5, 10),
        description=DESCRIPTION,
    ).load(sensitive, include_sensitive=include_sensitive, return_X_y=return_X_y, as_frame=as_frame)
