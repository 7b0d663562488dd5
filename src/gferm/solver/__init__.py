"""The solver: one factorisation, then m-dimensional work; other losses are built around it.

problem.py          features, targets, a constraint → solutions, or the whole path
choice.py           which of these runs
cholesky.py, spectrum.py, refined.py    the only cubic work
reduction.py        factorised system → G and c₀, and the way back
projection.py       G, c₀ and ε → one solution with its violation and duality gap
path.py             G and c₀ → all ε at once (two_groups.py, epsilon_grid.py: for many alphas)

iterations.py       losses without a closed form, from setting to setting
fair_ridge.py       the projection for one target after another
splitting.py        any loss: fair_ridge and prox take turns (anderson.py makes it fast)
newton.py           piecewise linear losses in the features
libsvm.py           the hinge at ε = 0: libsvm on the projected kernel
certificate.py      the duality gap that all of these end with

crossval.py         held-out predictions without refitting, by the hat matrix (hat.py, series.py)
"""

from gferm.solver.choice import SolverChoice, choose_solver

__all__ = ["SolverChoice", "choose_solver"]
