"""Figures are drawn without a screen and closed after each test."""

import matplotlib
import pytest

matplotlib.use("Agg")
from matplotlib import pyplot as plt


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")
