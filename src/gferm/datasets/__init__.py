"""Datasets with sensitive attributes: bundled real ones and a synthetic one of known optimum."""

from gferm.datasets.crime import load_crime
from gferm.datasets.fair_regression import make_fair_regression
from gferm.datasets.law import load_law
from gferm.datasets.pupils import load_pupils

__all__ = ["load_crime", "load_law", "load_pupils", "make_fair_regression"]
