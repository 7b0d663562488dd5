"""One place that decides which solver runs, and tells anyone who asks."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from scipy.linalg import LinAlgWarning

from gferm.solver.factorization import NotPositiveDefiniteError
from gferm.solver.system import Reduction, System

SOLVERS = ("auto", "cholesky", "spectrum")


@dataclass(frozen=True)
class SolverChoice:
    """The form of the problem (n coefficients or d) and its factorisation."""

    form: Literal["kernel", "linear"]
    factorization: Literal["cholesky", "spectrum"]


def choose_solver(
    *,
    kernel: str | Callable[..., Any],
    n_samples: int,
    n_features: int,
    alpha: float,
    solver: str = "auto",
) -> SolverChoice:
    """Say which solver a square-loss fit will run.

    The linear kernel is solved in the features, d×d, unless there are more features than rows.
    ``solver="auto"`` is Cholesky, except for alpha = 0 where only the spectrum copes with a
    singular matrix.

    Examples
    --------
    >>> from gferm.solver import choose_solver
    >>> choose_solver(kernel="linear", n_samples=1_000_000, n_features=50, alpha=1.0)
    SolverChoice(form='linear', factorization='cholesky')
    """
    form: Literal["kernel", "linear"] = (
        "linear" if kernel == "linear" and n_features <= n_samples else "kernel"
    )
    if solver == "spectrum" or (solver == "auto" and alpha == 0):
        return SolverChoice(form, "spectrum")
    return SolverChoice(form, "cholesky")


def reduce_system(
    system: System, alpha: float, choice: SolverChoice, *, strict: bool
) -> tuple[Reduction, SolverChoice]:
    """Factorise as chosen, and say what ran in the end.

    A Cholesky that breaks down is an error (strict), or the spectrum takes over with a warning.
    """
    spectrum = SolverChoice(choice.form, "spectrum")
    if choice == spectrum:
        return system.diagonalize().reduce(alpha), choice
    try:
        return system.reduce(alpha), choice
    except NotPositiveDefiniteError:
        problem = f"alpha={alpha:g} is too small for a Cholesky factorisation of the kernel matrix"
        if strict:
            raise ValueError(f"{problem}; use solver='spectrum' or a larger alpha.") from None
        warnings.warn(
            f"{problem}; solved with solver='spectrum' instead, which is slower. A larger alpha "
            "avoids this.",
            LinAlgWarning,
            stacklevel=6,
        )
        return system.diagonalize().reduce(alpha), spectrum
