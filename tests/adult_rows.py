"""Six rows with the columns of OpenML's Adult, three of them with a gap."""

import numpy as np

from gferm.datasets.adult import NUMBERS

# OpenML's order of the columns. Rows 1, 3 and 5 have gaps: "", "?" and NaN.
RAW = {
    "age": [39, 50, 38, 53, 28, 37],
    "workclass": ["State-gov", "", "Private", "?", "Private", "Private"],
    "fnlwgt": [77516, 83311, 215646, 234721, 338409, 284582],
    "education": ["Bachelors", "Bachelors", "HS-grad", "11th", "Bachelors", "Masters"],
    "education-num": [13, 13, 9, 7, 13, 14],
    "marital-status": ["Never-married", "Divorced", "Divorced", "Divorced", "Widowed", "Widowed"],
    "occupation": ["Sales", "", "Sales", "?", "Tech-support", "Sales"],
    "relationship": ["Husband", "Wife", "Wife", "Husband", "Wife", "Wife"],
    "race": ["White", "White", "Black", "Other", "Black", "White"],
    "sex": ["Male", "Female", "Female", "Male", "Female", "Female"],
    "capital-gain": [2174, 0, 0, 0, 0, 0],
    "capital-loss": [0, 0, 0, 0, 0, 0],
    "hours-per-week": [40, 13, 40, 40, 40, np.nan],
    "native-country": ["Cuba", "Cuba", "Cuba", "Cuba", "Peru", "Cuba"],
    "class": ["<=50K", "<=50K", "<=50K", ">50K", ">50K", ">50K"],
}
COMPLETE = [0, 2, 4]


def raw_columns():
    return {
        name: np.array(column, dtype=float if name in NUMBERS else str)
        for name, column in RAW.items()
    }
