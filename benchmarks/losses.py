"""Losses other than the square: beside SVC, LogisticRegression, and CVXPY with Clarabel."""

from __future__ import annotations

import time

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from tests.comparing import compared_by
from tests.oracle import solve_reference

from benchmarks.measure import Row, publish, seconds_side_by_side
from gferm import FairClassifier
from gferm.features.kernel import Kernel

KERNEL = {"kernel": "rbf", "gamma": 0.1}
ALPHA = 0.5


def make_problem(n: int, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Groups that differ in some features and in their chances; a boundary that is not linear."""
    rng = np.random.default_rng(n)
    s = rng.integers(0, 2, n)
    X = rng.normal(size=(n, d))
    X[:, :3] += 0.5 * s[:, None]
    score = X[:, 0] + X[:, 1] * X[:, 2] + X[:, 3:] @ rng.normal(size=d - 3) / 4 + 0.5 * s
    return X, np.where(score + 0.7 * rng.normal(size=n) > 0.3, 1.0, -1.0), s


def fair(loss: str, kernel: dict, epsilon: float | None) -> FairClassifier:
    return FairClassifier(loss, alpha=ALPHA, epsilon=epsilon, **kernel)


def active_epsilon(loss: str, kernel: dict, X: np.ndarray, y: np.ndarray, s: np.ndarray) -> float:
    """A third of the plain model's gap."""
    return fair(loss, kernel, None).fit(X, y, sensitive_features=s).violation_ / 3


def hinge_beside_svc(n: int = 2000) -> list[Row]:
    X, y, s = make_problem(n, 10)
    svc = SVC(C=1 / (2 * ALPHA), gamma=KERNEL["gamma"])
    rows = []
    active = active_epsilon("hinge", KERNEL, X, y, s)
    for name, epsilon, limit in (("epsilon=0", 0.0, 3), ("active epsilon", active, 15)):
        model = fair("hinge", KERNEL, epsilon)
        seconds = seconds_side_by_side(
            lambda model=model: model.fit(X, y, sensitive_features=s), lambda: svc.fit(X, y)
        )
        what = f"hinge, RBF, n={n}, {name} ({model.solver_.method}, {model.n_iter_} iterations)"
        rows.append(Row(what, "SVC.fit", *seconds, seconds[0] / seconds[1], limit))
    return rows


def hinge_beside_cvxpy(n: int = 800) -> list[Row]:
    X, y, s = make_problem(n, 10)
    epsilon = active_epsilon("hinge", KERNEL, X, y, s)
    model = fair("hinge", KERNEL, epsilon)
    ours, _ = seconds_side_by_side(lambda: model.fit(X, y, sensitive_features=s), lambda: None)
    start = time.perf_counter()
    reference = solve_reference(
        y,
        compared_by(model, y, s),
        epsilon,
        ALPHA,
        kernel_matrix=Kernel("rbf", KERNEL["gamma"])(X),
        loss="hinge",
    )
    theirs = time.perf_counter() - start
    difference = abs(model.objective_ - reference.objective) / reference.objective
    gap = float(np.abs(model.contrasts_.gaps(model.decision_function(X), y, s)).mean())
    name, rival = f"hinge, RBF, n={n}, active epsilon", "CVXPY + Clarabel"
    return [
        Row(name, rival, ours, theirs, theirs / ours, 50, at_most=False),
        Row(
            f"{name}: relative difference of objectives",
            rival,
            model.objective_,
            reference.objective,
            difference,
            1e-5,
            unit="",
        ),
        Row(f"{name}: excess of the mean gap", "epsilon", gap, epsilon, gap - epsilon, 1e-7, ""),
    ]


def logistic_beside_lbfgs(n: int = 200_000, d: int = 50) -> list[Row]:
    X, y, s = make_problem(n, d)
    linear = {"kernel": "linear"}
    model = fair("log_loss", linear, active_epsilon("log_loss", linear, X, y, s))
    plain = LogisticRegression(C=1 / (2 * ALPHA))
    seconds = seconds_side_by_side(
        lambda: model.fit(X, y, sensitive_features=s), lambda: plain.fit(X, y), repeats=5
    )
    what = f"log_loss, linear, n={n}, d={d}, active epsilon ({model.n_iter_} iterations)"
    return [Row(what, "LogisticRegression.fit", *seconds, seconds[0] / seconds[1], 10)]


def run() -> bool:
    rows = [*hinge_beside_svc(), *hinge_beside_cvxpy(), *logistic_beside_lbfgs()]
    return publish("losses", rows, settings=KERNEL | {"alpha": ALPHA, "tol": 1e-6})
