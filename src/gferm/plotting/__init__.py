"""Plots, as scikit-learn's Display classes: compute once, draw on any axes.

CellRatesDisplay   the paper's histogram: P̂^{k,q} of each group over the label bins
FrontierDisplay    the exact frontier: price of fairness against epsilon, with its breakpoints
SelectionDisplay   a search: error against unfairness of its settings, and the one it chose
"""

from gferm.plotting.cell_rates import CellRatesDisplay
from gferm.plotting.frontier import FrontierDisplay
from gferm.plotting.selection import SelectionDisplay
from gferm.plotting.style import COLORS

__all__ = ["COLORS", "CellRatesDisplay", "FrontierDisplay", "SelectionDisplay"]
