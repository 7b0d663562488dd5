"""A population that is known exactly: finitely many rows, each with its probability.

x = (z, proxy), z in {−1, 0, 1}, the proxy is s but for one in five; y = (z + s + e + 2) / 5 with a
coin e, so y lies in [1/5, 1]. Every expectation is a weighted sum over 24 rows.
"""

from itertools import product

import numpy as np

EDGES = [0.0, 0.5, 1.0]
S_BINS = [-0.5, 0.5, 1.5]

ROWS = np.array(
    [
        (z, proxy, s, (z + s + e + 2) / 5, (1 / 3) * (0.4 if s else 0.6) * share * 0.5)
        for z, s, e in product((-1, 0, 1), (0, 1), (0, 1))
        for proxy, share in ((s, 0.8), (1 - s, 0.2))
    ]
)
X, S, Y, P = ROWS[:, :2], ROWS[:, 2], ROWS[:, 3], ROWS[:, 4]
KAPPA = float(np.sqrt((X**2).sum(axis=1).max()))


def draw(n, rng):
    """Draw independent rows (X, y, s)."""
    rows = rng.choice(len(P), size=n, p=P / P.sum())
    return X[rows], Y[rows], S[rows]


def label_bin(values):
    return (np.asarray(values) >= EDGES[1]).astype(int)


def cell_means(values, bins=label_bin, n_bins=2):
    """Return E[value | k, q] for every label bin and group."""
    k, means = bins(Y), np.empty((n_bins, 2))
    for i, q in np.ndindex(means.shape):
        cell = (k == i) & (q == S)
        means[i, q] = np.average(values[cell], weights=P[cell])
    return means


def everybody(values):
    return np.zeros(len(values), dtype=int)


def risk(predictions):
    """Return the expected square loss of predictions for the 24 rows."""
    return float(P @ (predictions - Y) ** 2)


def best_fair(epsilon):
    """Return the best [weights, intercept] whose group means differ by at most epsilon.

    Least squares subject to |w·d| ≤ ε: the plain solution, moved along Σ⁻¹d.
    """
    mean, target = P @ X, P @ Y
    sigma = (X - mean).T @ (P[:, None] * (X - mean))
    w = np.linalg.solve(sigma, (X - mean).T @ (P * (Y - target)))
    means = np.array([np.average(X[q == S], axis=0, weights=P[q == S]) for q in (0, 1)])
    d = means[1] - means[0]
    excess = np.sign(d @ w) * max(abs(d @ w) - epsilon, 0.0)
    along = np.linalg.solve(sigma, d)
    w = w - along * excess / (d @ along)
    return w, target - mean @ w
