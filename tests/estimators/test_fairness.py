"""The constraint holds on the training rows, measured by loops over the cells."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from gferm import Bins, FairRegressor
from gferm.exceptions import InactiveConstraintWarning

Y_BINS = 3


def label_bins(y):
    """The label bin of each row: Y_BINS of equal width over the range of y."""
    return np.digitize(y, np.linspace(y.min(), y.max(), Y_BINS + 1)[1:-1])


def mean_gaps(f, y, groups, weight, min_size=1):
    """Differences of the cell means of f, for all pairs of groups of each label bin."""
    labels, gaps = label_bins(y), []
    for k in np.unique(labels):
        means = []
        for q in np.unique(groups):
            cell = (labels == k) & (groups == q)
            if cell.sum() >= min_size:
                means.append(np.average(f[cell], weights=weight[cell]))
        gaps += [a - b for a, b in combinations(means, 2)]
    return np.array(gaps)


def covariances(f, y, s, weight):
    """Covariance of f and s within each label bin, s in (overall) standard deviations."""
    labels, gaps = label_bins(y), []
    spread = np.sqrt(np.cov(s, aweights=weight, ddof=0))
    for k in np.unique(labels):
        rows = labels == k
        gaps.append(np.cov(f[rows], s[rows], aweights=weight[rows], ddof=0)[0, 1] / spread)
    return np.array(gaps)


def fifths(s, weight):
    """The group of each row when the sorted rows are cut where a fifth of the weight is nearest."""
    order = np.argsort(s)
    share = np.cumsum(weight[order]) / weight.sum()
    last = [np.argmin(np.abs(share - fifth)) for fifth in (0.2, 0.4, 0.6, 0.8)]
    groups = np.empty(s.size, dtype=int)
    groups[order] = np.searchsorted(last, np.arange(s.size))
    return groups


rng = np.random.default_rng(5)
N = 120
CODE = rng.integers(0, 3, N)
AGE = rng.gamma(3.0, 10.0, N) + 5 * CODE
REGION = np.array(["north", "south", "west"])[CODE]
MEMBER = rng.random(N) < 0.3 + 0.2 * CODE
X = rng.standard_normal((N, 30)) / 5 + np.c_[CODE, AGE / 15, MEMBER, np.ones((N, 27))]
Y = X[:, :6] @ [0.5, 0.4, 0.8, 1.0, -1.0, 0.5] + 0.5 * CODE + 0.3 * rng.standard_normal(N)
WEIGHT = rng.uniform(0.2, 3.0, N)
ONES = np.ones(N)
TWO = pd.DataFrame({"region": REGION, "member": MEMBER})

# name: sensitive_features, arguments of FairRegressor, gaps(f, y, weight) by loops
CASES = {
    "two groups": (MEMBER, {}, lambda f, y, w: mean_gaps(f, y, MEMBER, w)),
    "three names": (REGION, {}, lambda f, y, w: mean_gaps(f, y, REGION, w)),
    "quantiles": (AGE, {}, lambda f, y, w: mean_gaps(f, y, fifths(AGE, w), w)),
    "edges": (
        AGE,
        {"s_bins": [0, 25, 40, np.inf]},
        lambda f, y, w: mean_gaps(f, y, np.digitize(AGE, [25, 40]), w),
    ),
    "covariance": (AGE, {"s_bins": "continuous"}, lambda f, y, w: covariances(f, y, AGE, w)),
    "intersections": (TWO, {}, lambda f, y, w: mean_gaps(f, y, 2 * CODE + MEMBER, w)),
    "margins": (
        TWO,
        {"intersectional": False},
        lambda f, y, w: np.r_[mean_gaps(f, y, REGION, w), mean_gaps(f, y, MEMBER, w)],
    ),
    "groups and covariance": (
        {"region": REGION, "age": AGE},
        {"s_bins": {"age": "continuous"}},
        lambda f, y, w: np.r_[mean_gaps(f, y, REGION, w), covariances(f, y, AGE, w)],
    ),
    "large cells only": (
        REGION,
        {"min_cell_size": 15},
        lambda f, y, w: mean_gaps(f, y, REGION, w, min_size=15),
    ),
}


def fit(s, weight=None, **options):
    model = FairRegressor(**{"y_bins": Y_BINS, "alpha": 0.3, "gamma": 0.1, **options})
    return model.fit(X, Y, sensitive_features=s, sample_weight=weight)


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


@pytest.fixture(params=["plain rows", "weighted rows"])
def weight(request):
    return None if request.param == "plain rows" else WEIGHT


def measure(model, gaps, weight):
    """All gaps of what the model matches, by loops."""
    matched = model.predict(X) - (Y if model.match == "residual" else 0.0)
    return gaps(matched, Y, ONES if weight is None else weight)


@pytest.mark.parametrize("match", ["prediction", "residual"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_epsilon_zero_leaves_no_gap(case, weight, kernel, match):
    s, options, gaps = case
    options = {"kernel": kernel, "match": match, **options}
    plain = fit(s, weight, epsilon=None, **options)
    assert np.abs(measure(plain, gaps, weight)).max() > 0.01
    fair = fit(s, weight, epsilon=0.0, **options)
    left = measure(fair, gaps, weight)
    assert np.abs(left).max() <= 1e-8
    assert len(fair.contrasts_.compared) == left.size


@pytest.mark.parametrize("epsilon_scale", ["mean", "sum"])
@pytest.mark.parametrize("match", ["prediction", "residual"])
def test_an_active_epsilon_is_met_exactly(case, weight, match, epsilon_scale):
    s, options, gaps = case
    options = {"match": match, "epsilon_scale": epsilon_scale, **options}

    def unfairness(model):
        sizes = np.abs(measure(model, gaps, weight))
        return sizes.mean() if epsilon_scale == "mean" else 2 * sizes.sum()  # ordered pairs

    plain = fit(s, weight, epsilon=None, **options)
    assert plain.violation_ == pytest.approx(unfairness(plain), abs=1e-8)
    epsilon = 0.4 * unfairness(plain)
    fair = fit(s, weight, epsilon=epsilon, **options)
    assert unfairness(fair) == pytest.approx(epsilon, abs=1e-8)
    assert fair.violation_ == pytest.approx(epsilon, abs=1e-8)
    assert fair.active_


def test_small_cells_are_listed_and_left_alone():
    model = fit(REGION, epsilon=0.0, min_cell_size=15)
    labels, f = label_bins(Y), model.predict(X)
    cells = [[f[(labels == k) & (q == REGION)] for q in np.unique(REGION)] for k in range(Y_BINS)]
    pairs = [pair for row in cells for pair in combinations(row, 2)]
    small = [(a, b) for a, b in pairs if min(a.size, b.size) < 15]
    assert 0 < len(small) < len(pairs)
    assert len(model.contrasts_.skipped) == len(small)
    left = [abs(a.mean() - b.mean()) for a, b in small if a.size and b.size]
    assert min(left) > 1e-3


@pytest.mark.parametrize("epsilon", [None, 0.0, 0.05])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("s", [REGION, AGE], ids=["groups", "quantiles"])
def test_an_integer_weight_is_a_repeated_row_and_zero_is_none(s, kernel, epsilon):
    times = np.random.default_rng(6).integers(0, 4, N)
    times[[np.argmin(Y), np.argmax(Y)]] = 0  # the bins are those of the rows that count
    rows = np.repeat(np.arange(N), times)
    model = FairRegressor(kernel=kernel, epsilon=epsilon, y_bins=Y_BINS)
    weighted = model.fit(X, Y, sensitive_features=s, sample_weight=times).predict(X)
    repeated = model.fit(X[rows], Y[rows], sensitive_features=s[rows]).predict(X)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-8, atol=1e-8)
    unweighted = model.fit(X, Y, sensitive_features=s).predict(X)
    assert np.abs(unweighted - weighted).max() > 0.01


def test_weights_matter_by_their_ratios_as_far_as_fairness_goes():
    once, tenfold = (fit(REGION, c * WEIGHT, alpha=c * 0.3, epsilon=0.1) for c in (1, 10))
    np.testing.assert_allclose(once.predict(X), tenfold.predict(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_an_epsilon_above_the_plain_gap_gives_the_plain_model_and_says_so(kernel):
    plain = fit(REGION, kernel=kernel, epsilon=None)
    with pytest.warns(InactiveConstraintWarning, match="smaller epsilon"):
        loose = fit(REGION, kernel=kernel, epsilon=1.01 * plain.violation_)
    np.testing.assert_array_equal(loose.predict(X), plain.predict(X))
    assert not loose.active_
    tight = fit(REGION, kernel=kernel, epsilon=0.99 * plain.violation_)
    assert tight.active_


def test_label_categories_left_out_are_not_compared():
    # equal opportunity: one class of a yes-or-no label
    label = (np.median(Y) < Y).astype(float)
    model = FairRegressor(y_bins=Bins.categories([1.0]), alpha=0.3)
    f = model.fit(X, label, sensitive_features=MEMBER).predict(X)
    gaps = [f[(label == k) & MEMBER].mean() - f[(label == k) & ~MEMBER].mean() for k in (0, 1)]
    assert abs(gaps[1]) <= 1e-8
    assert abs(gaps[0]) > 1e-3
