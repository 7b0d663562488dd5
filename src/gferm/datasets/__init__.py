"""Datasets with sensitive attributes: bundled, fetched, and synthetic ones of known optimum."""

from gferm.datasets.adult import fetch_adult
from gferm.datasets.compas import load_compas
from gferm.datasets.crime import load_crime
from gferm.datasets.german import load_german
from gferm.datasets.law import load_law
from gferm.datasets.pupils import load_pupils
from gferm.datasets.synthetic import make_fair_classification, make_fair_regression

__all__ = [
    "fetch_adult",
    "load_compas",
    "load_crime",
    "load_german",
    "load_law",
    "load_pupils",
    "make_fair_classification",
    "make_fair_regression",
]
