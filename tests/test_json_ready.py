"""Whatever the library computes can be written as JSON."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from gferm.json_ready import json_ready, json_text


def test_what_json_does_not_know_becomes_what_it_does():
    value = {
        1: (np.int64(2), np.float32(0.5), np.bool_(True), np.str_("a")),
        "array": np.array([[1.0, np.nan], [np.inf, -0.5]]),
        "path": Path("a/b"),
        "day": pd.Timestamp("2020-01-02"),
        "none": None,
    }
    expected = {
        "1": [2, 0.5, True, "a"],
        "array": [[1.0, None], [None, -0.5]],
        "path": str(Path("a/b")),
        "day": "2020-01-02 00:00:00",
        "none": None,
    }
    assert json_ready(value) == expected
    assert json.loads(json_text(value)) == expected
