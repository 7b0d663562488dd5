"""Small learning problems that several tests share."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Problem:
    """Rows whose groups differ in features and in label, so that fairness costs something."""

    X: np.ndarray
    y: np.ndarray
    s: np.ndarray

    def subset(self, rows):
        return Problem(self.X[rows], self.y[rows], self.s[rows])


def make_problem(n=120, d=5, n_groups=3, seed=0):
    rng = np.random.default_rng(seed)
    s = rng.integers(0, n_groups, n)
    X = rng.normal(size=(n, d)) + 0.6 * s[:, None] * rng.normal(size=d)
    y = X @ rng.normal(size=d) + np.sin(2 * X[:, 0]) + 0.8 * s + 0.3 * rng.normal(size=n)
    return Problem(X, y, s)


def cell_mean_gaps(f, y, s, edges, weight=None):
    """Signed gaps f̄_kp − f̄_kq for all populated pairs p < q of each label bin, by plain loops."""
    weight = np.ones_like(f) if weight is None else weight
    gaps = []
    for k in range(len(edges) - 1):
        last = k == len(edges) - 2
        in_bin = (y >= edges[k]) & ((y <= edges[k + 1]) if last else (y < edges[k + 1]))
        means = [
            np.average(f[in_bin & (s == q)], weights=weight[in_bin & (s == q)])
            for q in np.unique(s)
            if (in_bin & (s == q)).any()
        ]
        gaps += [means[p] - means[q] for p in range(len(means)) for q in range(p + 1, len(means))]
    return np.array(gaps)
