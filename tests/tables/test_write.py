"""Written tables are safe to open."""

import pandas as pd

from gferm.tables.write import safe_for_spreadsheets


def test_which_texts_are_guarded():
    texts = ["=1", "+a", "-a", "@a", "\ta", "\ra", "-1.5", "+2e-3", "a=1", "", None, " =1"]
    expected = ["'=1", "'+a", "'-a", "'@a", "'\ta", "'\ra", "-1.5", "+2e-3", "a=1", "", None, " =1"]
    table = pd.DataFrame({"-n": pd.Series(texts, dtype=object), "x": range(12)})
    safe = safe_for_spreadsheets(table)
    assert [None if pd.isna(text) else text for text in safe["'-n"]] == expected
    assert safe["x"].tolist() == list(range(12))
    assert table.columns.tolist() == ["-n", "x"]  # the original is untouched
    groups = pd.DataFrame({"g": pd.Categorical(["=a", "b"])})
    assert safe_for_spreadsheets(groups)["g"].tolist() == ["'=a", "b"]
