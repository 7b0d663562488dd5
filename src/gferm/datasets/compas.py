"""COMPAS: arrest within two years of defendants in Broward County, with race and sex."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gferm.datasets.dataset import Attribute, Dataset, Loaded, decode, read_bundled

if TYPE_CHECKING:
    from collections.abc import Sequence

TARGET = "two-year-recid"
CLASSES = np.array(["no", "yes"])
GROUPS = {"race": np.array(["not Caucasian", "Caucasian"]), "sex": np.array(["female", "male"])}
SCORES = ("decile-score", "score-text_")  # how the names of the verdicts of COMPAS begin

DESCRIPTION = """\
COMPAS
------
6167 defendants in Broward County, Florida, who were scored by the tool COMPAS in 2013 and 2014. The
target two-year-recid says whether they were charged with a new crime within two years ("yes": 2809,
"no": 3358); the features are age, the numbers of earlier and of juvenile offences, and the degree
of the present charge.

Origin: J. Larson, S. Mattu, L. Kirchner and J. Angwin, How We Analyzed the COMPAS Recidivism
Algorithm, ProPublica, 2016, https://github.com/propublica/compas-analysis.
Licence: public records, published by ProPublica without an explicit licence; ProPublica is to be
credited. Attribution: ProPublica.

Changes: race was reduced to two groups, and the categories were made 0/1 columns, before the file
came here; it holds five defendants fewer than the 6172 of ProPublica's analysis. decile-score and
the three score-text columns are dropped: they are the verdict of COMPAS itself, which a model of
the target should not repeat, and score-text is decile-score in three steps. The label 0 or 1 is
written as "no" or "yes". The age-cat columns, age-num in three steps, are kept. No value is missing
and no row is dropped: 1282 rows of the file repeat an earlier one, as small counts will.
That leaves 12 features with the sensitive ones.

Sensitive attributes: race ("Caucasian": 2100 defendants, 39 % "yes"; "not Caucasian": 4067, 49 %)
and sex ("female": 1173 defendants, 35 % "yes"; "male": 4994, 48 %). As a feature, 1 is "Caucasian"
and "male". The attribute not chosen stays among the features.

Bins: the two classes are the label bins, which makes general fairness equalized odds; each category
is a group.

Limits: the target counts charges that the police and the courts brought, not crimes, so it carries
the unequal policing that a fair model is meant not to pass on, and equalized odds take it as the
truth. M. Barenstein, ProPublica's COMPAS Data Revisited (2019, https://arxiv.org/abs/1906.04711),
finds that the rate of "yes" is too high because of how the two years were cut. Use the data to
compare methods, never to judge a person or a group.
"""


def load_compas(
    *,
    sensitive: str | Sequence[str] = "race",
    include_sensitive: bool = False,
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Loaded:
    """Load COMPAS (two classes, 6167 defendants, 12 features with the sensitive ones).

    Parameters
    ----------
    sensitive : {"race", "sex"} or sequence of these, default="race"
        The sensitive attribute: race ("Caucasian" or "not Caucasian") or sex ("female" or "male");
        or both. A sequence gives a two-dimensional ``sensitive_features``, one column per attribute
        in the order given.
    include_sensitive : bool, default=False
        Whether the chosen attributes are also features, as 0 or 1. Those not chosen always are.
    return_X_y : bool, default=False
        Return ``(X, y, sensitive_features)`` instead of a Bunch.
    as_frame : bool, default=False
        Return pandas objects instead of NumPy arrays.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch`
        ``data`` of shape (6167, n_features), ``target`` ("no" or "yes") of shape (6167,),
        ``sensitive_features`` (strings) of shape (6167,) or (6167, n_attributes),
        ``feature_names``, ``target_name``, ``sensitive_names``, ``y_bins`` and ``s_bins`` ("auto":
        each class is a bin, each category a group; for several attributes a dict, by name or by
        position), and ``DESCR``: origin, licence, changes.
    (X, y, sensitive_features) : tuple, if ``return_X_y`` is True
        The first three of these.

    Examples
    --------
    >>> from gferm.datasets import load_compas
    >>> compas = load_compas(sensitive=["race", "sex"])
    >>> compas.data.shape, compas.sensitive_features[0].tolist()
    ((6167, 10), ['not Caucasian', 'male'])
    """
    columns = read_bundled("compas.csv.gz")
    return Dataset(
        features={
            name: column
            for name, column in columns.items()
            if name != TARGET and not name.startswith(SCORES)
        },
        target_name=TARGET,
        target=decode(columns[TARGET], CLASSES),
        attributes={
            name: Attribute(decode(columns[name], words), [name]) for name, words in GROUPS.items()
        },
        y_bins="auto",
        description=DESCRIPTION,
    ).load(sensitive, include_sensitive=include_sensitive, return_X_y=return_X_y, as_frame=as_frame)
