"""Plots, as scikit-learn's Display classes: compute once, draw on any axes.

CalibrationByGroupDisplay   mean label against mean prediction of each group
CellRatesDisplay            the paper's histogram: P̂^{k,q} of each group over the label bins
FrontierDisplay             price of fairness: of the exact frontier, or of held-out predictions
GapDisplay                  gaps of all compared pairs, with intervals, against chance
SelectionDisplay            error against unfairness of many models, and the one that is chosen
"""

from gferm.plotting.calibration_by_group import CalibrationByGroupDisplay
from gferm.plotting.cell_rates import CellRatesDisplay
from gferm.plotting.frontier import FrontierDisplay
from gferm.plotting.gap import GapDisplay
from gferm.plotting.selection import SelectionDisplay
from gferm.plotting.style import COLORS

__all__ = [
    "COLORS",
    "CalibrationByGroupDisplay",
    "CellRatesDisplay",
    "FrontierDisplay",
    "GapDisplay",
    "SelectionDisplay",
]
