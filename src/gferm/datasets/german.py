"""German credit: good and bad credit risks, with sex and age."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gferm.datasets.dataset import Attribute, Dataset, Loaded, decode, read_bundled

if TYPE_CHECKING:
    from collections.abc import Sequence

TARGET = "credit-label"
CLASSES = np.array(["good", "bad"])  # by the code in the file: 1 is the bad risk
GROUPS = {"sex": np.array(["female", "male"]), "age": np.array(["<25", ">=25"])}
PRODUCT = "sex-age"  # 1 where both attributes are: would give either of them away

DESCRIPTION = """\
German credit
-------------
1000 customers of a German bank. The target credit-label says whether the credit was a good risk
(700) or a bad one (300); the features are the duration in months, the amount, four more numbers and
0/1 columns for account, history, purpose, savings, employment, property, housing and the like,
under the codes of the source (status_A11: less than 0 DM on the account).

Origin: H. Hofmann, Statlog (German Credit Data), UCI Machine Learning Repository, 1994,
https://doi.org/10.24432/C5NC77.
Licence: CC BY 4.0 (https://creativecommons.org/licenses/by/4.0/). Attribution: Hans Hofmann.

Changes: the categories were made 0/1 columns, personal status was reduced to sex, and age to two
groups, before the file came here; the years themselves are not in it. sex-age, the product of the
two attributes, is dropped. The label 0 or 1 is written as "good" or "bad". No value is missing and
no row is dropped. That leaves 58 features with the sensitive ones.

Sensitive attributes: sex ("female": 310 customers, 35 % bad; "male": 690, 28 % bad) and age ("<25":
149 customers, 41 % bad; ">=25": 851, 28 % bad). The cut is below 25: customers of 25 count as
older, where other versions of these data cut above 25 (190 and 810). As a feature, 1 is "male" and
">=25". The attribute not chosen stays among the features.

Bins: the two classes are the label bins, which makes general fairness equalized odds; each category
is a group.

Limits: sex was read off personal status, whose codes were mislabelled: U. Grömping, South German
Credit Data: Correcting a Widely Used Data Set (Beuth University of Applied Sciences Berlin, report
4/2019) shows that "female" here holds single men too and "male" holds single women, and that other
columns are mislabelled as well. Bad risks were oversampled. The credits are of the 1970s. Use the
data to compare methods, not to learn about women, men or credit.
"""


def load_german(
    *,
    sensitive: str | Sequence[str] = "sex",
    include_sensitive: bool = False,
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Loaded:
    """Load German credit (two classes, 1000 customers, 58 features with the sensitive ones).

    Parameters
    ----------
    sensitive : {"sex", "age"} or sequence of these, default="sex"
        The sensitive attribute: sex ("female" or "male") or age ("<25" or ">=25"); or both. A
        sequence gives a two-dimensional ``sensitive_features``, one column per attribute in the
        order given.
    include_sensitive : bool, default=False
        Whether the chosen attributes are also features, as 0 or 1. Those not chosen always are.
    return_X_y : bool, default=False
        Return ``(X, y, sensitive_features)`` instead of a Bunch.
    as_frame : bool, default=False
        Return pandas objects instead of NumPy arrays.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch`
        ``data`` of shape (1000, n_features), ``target`` ("good" or "bad") of shape (1000,),
        ``sensitive_features`` (strings) of shape (1000,) or (1000, n_attributes),
        ``feature_names``, ``target_name``, ``sensitive_names``, ``y_bins`` and ``s_bins`` ("auto":
        each class is a bin, each category a group; for several attributes a dict, by name or by
        position), and ``DESCR``: origin, licence, changes.
    (X, y, sensitive_features) : tuple, if ``return_X_y`` is True
        The first three of these.

    Examples
    --------
    >>> from gferm.datasets import load_german
    >>> german = load_german()
    >>> german.data.shape, german.target[0].item(), german.sensitive_features[0].item()
    ((1000, 57), 'good', 'male')
    """
    columns = read_bundled("german_credit.csv.gz")
    return Dataset(
        features={n: c for n, c in columns.items() if n not in {TARGET, PRODUCT}},
        target_name=TARGET,
        target=decode(columns[TARGET], CLASSES),
        attributes={
            name: Attribute(decode(columns[name], words), [name]) for name, words in GROUPS.items()
        },
        y_bins="auto",
        description=DESCRIPTION,
    ).load(sensitive, include_sensitive=include_sensitive, return_X_y=return_X_y, as_frame=as_frame)
