"""The square-loss core: one factorisation, then m-dimensional work.

forms.py          data            → System       A x = t − R ν in n or d unknowns
factorization.py  System.matrix   → Cholesky or Spectrum, the only cubic work
system.py         System          → Reduction    G and c₀, and the way back
projection.py     Reduction + ε   → Solution     with its violation and duality gap
path.py           Reduction       → Path         all ε at once
reference.py      the same problem in CVXPY, for tests and benchmarks
choice.py         which of these runs
"""

from gferm.solver.choice import SolverChoice, choose_solver

__all__ = ["SolverChoice", "choose_solver"]
