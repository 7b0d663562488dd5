"""The core: one factorisation, then m-dimensional work; other losses are built around it.

assemble.py         data            → System       A x = t − R ν in n or d unknowns
geometry.py         what these unknowns mean at the rows
cholesky.py, refined.py, spectrum.py
                    System.matrix   → Factorization, the only cubic work
system.py           System          → Reduction    G and c₀, and the way back
projection.py       Reduction + ε   → Solution     with its violation and duality gap
path.py             Reduction       → Path         all ε at once

fair_ridge.py       the projection for one target after another
splitting.py        any loss: fair_ridge and prox take turns (anderson.py makes it fast)
newton.py           piecewise linear losses in the features
support_vectors.py  the hinge at ε = 0: libsvm on the projected kernel
start.py, dual.py   where they begin, and the certificate they end with

settings.py             what is to be learned
learn.py            several targets on one factorisation
choice.py           which of these runs
reference.py        the same problems in CVXPY, for tests and benchmarks
"""

from gferm.solver.choice import SolverChoice, choose_solver

__all__ = ["SolverChoice", "choose_solver"]
