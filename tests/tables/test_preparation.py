"""Tables become matrices by the rule that is written down."""

import numpy as np
import pandas as pd

from gferm.tables.preparation import TablePreparation


def test_words_and_missing_values_follow_the_rule():
    train = pd.DataFrame({"x": [1.0, 2.0, 9.0, np.nan], "w": ["a", None, "b", "a"]})
    preparation = TablePreparation().fit(train)
    names = preparation.get_feature_names_out().tolist()
    assert names == ["x", "w=a", "w=b", "w is missing"]
    filled = np.array([1.0, 2.0, 9.0, 2.0])
    scaled = (filled - filled.mean()) / filled.std()
    new = pd.DataFrame({"w": ["b", "never seen", None], "x": [np.nan, 9.0, 1.0]})
    expected = np.column_stack([scaled[[1, 2, 0]], [[0, 1, 0], [0, 0, 0], [0, 0, 1]]])
    np.testing.assert_allclose(preparation.transform(new), expected)
    np.testing.assert_array_equal(preparation.transform(train), preparation.fit_transform(train))
    assert preparation.unseen(new) == {"w": (1, "never seen")}


def test_a_constant_column_is_zero():
    train = pd.DataFrame({"c": np.full(50, 0.1), "x": np.arange(50.0)})
    matrix = TablePreparation().fit_transform(train)
    assert np.abs(matrix[:, 0]).max() < 1e-12
