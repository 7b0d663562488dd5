"""How a learning problem is solved: what was asked for, and the one choice of what runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from scipy.linalg import LinAlgWarning

from gferm.arrays import Array
from gferm.exceptions import warn_user
from gferm.features.base import Form
from gferm.features.kernel import Kernel
from gferm.features.system import System
from gferm.losses import LOSSES, Loss, as_loss
from gferm.solver.cholesky import Cholesky, NotPositiveDefiniteError
from gferm.solver.reduction import FactorizedSystem
from gferm.solver.refined import Refined
from gferm.solver.spectrum import Spectrum


@dataclass(frozen=True)
class Factorizer:
    """A way to factorise A + alpha I.

    Attributes
    ----------
    build : callable
        Takes a system and its shift.
    matrices : float
        The n×n arrays of doubles that it holds, the matrix itself among them.
    too_small : str
        What to say of an alpha that it cannot cope with; empty if the spectrum may take over.
    """

    build: Callable[[System, float], FactorizedSystem]
    matrices: float
    too_small: str = ""


FACTORIZATIONS = {
    "cholesky": Factorizer(FactorizedSystem.by_cholesky, Cholesky.matrices),
    "spectrum": Factorizer(FactorizedSystem.by_spectrum, Spectrum.matrices),
    "refined": Factorizer(
        FactorizedSystem.in_single,
        Refined.matrices,
        "is too small beside the kernel matrix for solver='refined', which factorises in float32; "
        "use solver='cholesky', or a larger alpha.",
    ),
}
SOLVERS = ("auto", *FACTORIZATIONS)
LIBSVM = "libsvm"
NEWTON_FEATURES = 1000  # beyond it a factorisation for every step costs more than it saves


@dataclass(frozen=True)
class Settings:
    """min Σ w ℓ(y, f) + alpha ‖w‖²  subject to  Ω(Cᵀf − o) ≤ epsilon·scale.

    Attributes
    ----------
    loss : Loss
    alpha : float
    epsilon : float or None
        None when nothing is constrained.
    solver : str
        What the user asked for; choice.py says what runs.
    tol : float
        The relative duality gap at which iterations stop.
    max_iter : int
    """

    loss: Loss
    alpha: float
    epsilon: float | None = 0.0
    solver: str = "auto"
    tol: float = 1e-6
    max_iter: int = 5000

    def objective(self, y: Array, predictions: Array, weight: Array | None, norm2: float) -> float:
        """Compute Σ w ℓ(y, f) + alpha ‖w‖²."""
        losses = self.loss.value(y, predictions)
        risk = float(losses.sum() if weight is None else weight @ losses)
        return risk + self.alpha * norm2


@dataclass(frozen=True)
class SolverChoice:
    """What runs.

    Attributes
    ----------
    method : {"projection", "splitting", "newton", "libsvm"}
        The exact projection (square loss), splitting (any loss), Newton's method (piecewise
        linear losses in the features), or libsvm on the projected kernel (hinge, epsilon 0 or
        None).
    form : {"kernel", "linear", "landmarks"}
        n unknowns, d, or as many as there are landmarks.
    factorization : {"cholesky", "spectrum", "refined"} or None
        Of the n×n, d×d or m×m matrix; libsvm needs none. "refined" is a Cholesky factor in
        float32, refined to float64.
    """

    method: Literal["projection", "splitting", "newton", "libsvm"]
    form: Form
    factorization: str | None


def choose_solver(
    *,
    kernel: str | Callable[..., Any],
    n_samples: int,
    n_features: int,
    n_landmarks: int | None = None,
    alpha: float,
    solver: str = "auto",
    loss: str | Loss = "squared",
    epsilon: float | None = 0.0,
    match: str = "prediction",
    fit_intercept: bool = True,
    device: str = "cpu",
) -> SolverChoice:
    """Return which solver a fit will run.

    The linear kernel is solved in the features, d×d, unless there are more features than rows.
    The square loss has a closed form. In the features, up to a thousand of them, piecewise linear
    losses (hinge, absolute, quantile, epsilon_insensitive) are solved by Newton's method. The
    hinge with a kernel at epsilon 0 (or None) runs on the projected kernel with libsvm. All else
    is splitting. ``solver="auto"`` factorises by Cholesky, except for alpha = 0 where only the
    spectrum copes with a singular matrix; "cholesky", "spectrum" and "refined" ask for splitting
    by them. A GPU has no libsvm.

    Examples
    --------
    >>> from gferm.solver import choose_solver
    >>> choose_solver(kernel="linear", n_samples=1_000_000, n_features=50, alpha=1.0)
    SolverChoice(method='projection', form='linear', factorization='cholesky')
    >>> choose_solver(kernel="rbf", n_samples=2000, n_features=50, alpha=1.0, loss="hinge")
    SolverChoice(method='libsvm', form='kernel', factorization=None)
    """
    form: Form = Kernel(kernel).form(n_samples, n_features)
    if n_landmarks is not None:
        form = "landmarks"
    return choose_method(
        form,
        n_features,
        as_loss(loss, tuple(LOSSES)),
        alpha=alpha,
        solver=solver,
        epsilon=epsilon,
        match=match,
        fit_intercept=fit_intercept,
        device=device,
    )


def choose_method(
    form: Form,
    n_unknowns: int,
    loss: Loss,
    *,
    alpha: float,
    solver: str = "auto",
    epsilon: float | None = 0.0,
    match: str = "prediction",
    fit_intercept: bool = True,
    device: str = "cpu",
) -> SolverChoice:
    """Return what runs on features of this form, as `choose_solver` says."""
    if solver not in (*SOLVERS, LIBSVM):
        raise ValueError(f"solver={solver!r} is not one of {[*SOLVERS, LIBSVM]}.")
    if alpha == 0 and loss != LOSSES["squared"]:
        raise ValueError(
            f"alpha=0 is possible with loss='squared' only, not with {loss!r}; use a small "
            "positive alpha."
        )
    why_not = _why_not_libsvm(loss, epsilon, match, fit_intercept, device)
    if solver == LIBSVM:
        if form == "landmarks":
            raise ValueError(
                "solver='libsvm' knows no landmarks; use n_landmarks=None, or solver='auto'."
            )
        if why_not:
            raise ValueError(f"solver='libsvm' cannot solve {why_not}, or use solver='auto'.")
        return SolverChoice("libsvm", "kernel", None)
    factorization = "spectrum" if alpha == 0 else "cholesky"
    if solver in FACTORIZATIONS:
        factorization = solver
    if loss == LOSSES["squared"]:
        return SolverChoice("projection", form, factorization)
    few = form == "linear" and n_unknowns <= NEWTON_FEATURES
    if solver == "auto" and few and loss.is_piecewise_linear:
        return SolverChoice("newton", form, factorization)
    if solver == "auto" and form == "kernel" and not why_not:
        return SolverChoice("libsvm", form, None)
    return SolverChoice("splitting", form, factorization)


def factorize_system(
    system: System, shift: float, choice: SolverChoice, *, alpha: float, strict: bool
) -> tuple[FactorizedSystem, SolverChoice]:
    """Factorise as chosen, and say what ran in the end; ``alpha`` is what the user asked for.

    A Cholesky that breaks down is an error (strict), or the spectrum takes over with a warning.
    """
    factorizer = FACTORIZATIONS[str(choice.factorization)]
    try:
        return factorizer.build(system, shift), choice
    except NotPositiveDefiniteError:
        if factorizer.too_small:
            raise ValueError(f"alpha={alpha:g} {factorizer.too_small}") from None
        problem = f"alpha={alpha:g} is too small for a Cholesky factorisation of the kernel matrix"
        if strict:
            raise ValueError(f"{problem}; use solver='spectrum' or a larger alpha.") from None
        warn_user(
            f"{problem}; solved with solver='spectrum' instead, which is slower. A larger alpha "
            "avoids this.",
            LinAlgWarning,
        )
        choice = replace(choice, factorization="spectrum")
        return FACTORIZATIONS["spectrum"].build(system, shift), choice


def _why_not_libsvm(
    loss: Loss, epsilon: float | None, match: str, fit_intercept: bool, device: str
) -> str:
    """Name the argument for which libsvm has no answer; empty if it has one."""
    if loss != LOSSES["hinge"]:
        return f"loss={loss!r}; it needs loss='hinge'"
    if epsilon:
        return f"epsilon={epsilon:g}; it needs epsilon=0"
    if epsilon is not None and match != "prediction":
        return f"match={match!r}; it needs match='prediction'"
    if device != "cpu":
        return f"device={device!r}; it needs device='cpu'"
    return "" if fit_intercept else "fit_intercept=False; it always has an intercept"
