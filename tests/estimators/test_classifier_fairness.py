"""The constraint of every loss holds on the training rows, measured by loops over the cells."""

from itertools import combinations

import numpy as np
import pytest

from gferm import Bins, FairClassifier
from gferm.exceptions import InactiveConstraintWarning
from gferm.losses import CLASSIFICATION_LOSSES
from tests.estimators.models import LEARNERS, labels_for, learner, values

every_loss = pytest.mark.parametrize("loss", CLASSIFICATION_LOSSES)
every_kernel = pytest.mark.parametrize("kernel", ["linear", "rbf"])

rng = np.random.default_rng(7)
N = 150
CODE = rng.integers(0, 3, N)
REGION = np.array(["north", "south", "west"])[CODE]
MEMBER = rng.random(N) < 0.4 + 0.1 * CODE
AGE = rng.gamma(3.0, 10.0, N) + 5 * CODE
X = rng.standard_normal((N, 30)) / 2 + np.c_[CODE, AGE / 15, MEMBER, np.ones((N, 27))] / 2
SCORE = X[:, :6] @ [0.5, 0.4, 0.8, 1.0, -1.0, 0.5] + 0.2 * CODE + 0.8 * rng.standard_normal(N)
TWO = np.where(np.median(SCORE) < SCORE, "hired", "not")
THREE = np.array(["c", "a", "b"])[np.digitize(SCORE, np.quantile(SCORE, [0.3, 0.6]))]
WEIGHT = rng.uniform(0.2, 3.0, N)


def mean_gaps(f, labels, groups, weight):
    """Differences of the cell means of f, for all pairs of groups of each label."""
    gaps = []
    for k in np.unique(labels):
        cells = [(labels == k) & (groups == q) for q in np.unique(groups)]
        means = [np.average(f[cell], weights=weight[cell], axis=0) for cell in cells]
        gaps += [a - b for a, b in combinations(means, 2)]
    return np.array(gaps)


def covariances(f, labels, s, weight):
    """Covariance of f and s within each label, s in (overall) standard deviations."""
    gaps = []
    for k in np.unique(labels):
        rows = labels == k
        share = weight[rows] / weight[rows].sum()
        centred = s[rows] - share @ s[rows]
        gaps.append((share * centred) @ f[rows])
    return np.array(gaps) / np.sqrt(np.cov(s, aweights=weight, ddof=0))


def fifths(s):
    return np.digitize(s, np.quantile(s, [0.2, 0.4, 0.6, 0.8], method="higher"))


BOTH = np.array([f"{a} {b}" for a, b in zip(REGION, MEMBER, strict=True)])
ATTRIBUTES = {"region": REGION, "member": MEMBER}

# name: sensitive_features, arguments, gaps(f, labels, weight) by loops
CASES = {
    "two groups": (MEMBER, {}, lambda *a: mean_gaps(*a[:2], MEMBER, a[2])),
    "three names": (REGION, {}, lambda *a: mean_gaps(*a[:2], REGION, a[2])),
    "intersections": (ATTRIBUTES, {}, lambda *a: mean_gaps(*a[:2], BOTH, a[2])),
    "margins": (
        ATTRIBUTES,
        {"intersectional": False},
        lambda *a: np.r_[mean_gaps(*a[:2], REGION, a[2]), mean_gaps(*a[:2], MEMBER, a[2])],
    ),
    "covariance": (
        AGE,
        {"s_bins": "continuous"},
        lambda *a: covariances(*a[:2], AGE, a[2]),
    ),
    "groups and covariance": (
        {"region": REGION, "age": AGE},
        {"s_bins": {"age": "continuous"}},
        lambda *a: np.r_[mean_gaps(*a[:2], REGION, a[2]), covariances(*a[:2], AGE, a[2])],
    ),
}


def fit(loss, y, s, weight=None, **options):
    model = FairClassifier(loss, **{"alpha": 0.3, "gamma": 0.05} | options)
    return model.fit(X, y, sensitive_features=s, sample_weight=weight)


def measure(model, y, gaps, weight):
    """All gaps, one column a model."""
    return gaps(values(model, X), y, np.ones(N) if weight is None else weight)


VARIANTS = {
    "linear, two classes": ("linear", TWO, None),
    "linear, three classes, weights": ("linear", THREE, WEIGHT),
    "rbf, two classes, weights": ("rbf", TWO, WEIGHT),
    "rbf, three classes": ("rbf", THREE, None),
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("case", CASES)
@every_loss
def test_equalized_odds_leave_no_gap_in_any_class(loss, case, variant):
    (s, options, gaps), (kernel, y, weight) = CASES[case], VARIANTS[variant]
    options = {"kernel": kernel, **options}
    plain = fit(loss, y, s, weight, epsilon=None, **options)
    assert np.abs(measure(plain, y, gaps, weight)).max() > 0.01
    fair = fit(loss, y, s, weight, **options)
    left = measure(fair, y, gaps, weight)
    assert np.abs(left).max() <= 1e-8
    assert len(fair.contrasts_.compared) == len(left)


@pytest.mark.parametrize(
    ("y", "epsilon_scale"), [(TWO, "sum"), (THREE, "mean")], ids=["two classes", "three classes"]
)
@pytest.mark.parametrize("case", CASES)
@every_loss
def test_an_active_epsilon_is_met_by_every_model_and_reached_by_the_worst(
    loss, case, y, epsilon_scale
):
    s, options, gaps = CASES[case]
    options = {"epsilon_scale": epsilon_scale, **options}

    def unfairness(model):
        sizes = np.abs(measure(model, y, gaps, None))
        return sizes.mean(axis=0) if epsilon_scale == "mean" else 2 * sizes.sum(axis=0)

    plain = fit(loss, y, s, epsilon=None, **options)
    assert plain.violation_ == pytest.approx(unfairness(plain).max(), abs=1e-8)
    epsilon = 0.4 * unfairness(plain).min()
    fair = fit(loss, y, s, epsilon=epsilon, **options)
    np.testing.assert_allclose(unfairness(fair), epsilon, atol=1e-8)
    assert fair.violation_ == pytest.approx(epsilon, abs=1e-8)
    assert fair.active_


# y_bins: the classes within which the gaps must be zero, of TWO
NOTIONS = {
    "odds": ("classes", [["hired"], ["not"]]),
    "opportunity": (["hired"], [["hired"]]),
    "opportunity of the others": (Bins.categories(["not"]), [["not"]]),
    "an array of classes": (np.array(["not", "hired"]), [["hired"], ["not"]]),
    "parity": (1, [["hired", "not"]]),
}


@pytest.mark.parametrize("as_numbers", [False, True], ids=["words", "numbers"])
@pytest.mark.parametrize("notion", NOTIONS)
@every_kernel
@every_loss
def test_y_bins_say_which_classes_are_compared_and_only_they_are(loss, kernel, notion, as_numbers):
    y_bins, compared = NOTIONS[notion]
    codes = {"hired": 1, "not": 0}
    y = np.array([codes[name] for name in TWO]) if as_numbers else TWO
    if as_numbers and isinstance(y_bins, (list, np.ndarray)):
        y_bins = [codes[name] for name in y_bins]
    elif as_numbers and isinstance(y_bins, Bins):
        y_bins = Bins.categories([codes[name] for name in y_bins.levels])
    f = values(fit(loss, y, MEMBER, kernel=kernel, y_bins=y_bins), X)[:, 0]
    for names in [["hired"], ["not"], ["hired", "not"]]:
        rows = np.isin(TWO, names)
        gap = f[rows & MEMBER].mean() - f[rows & ~MEMBER].mean()
        assert abs(gap) <= 1e-8 if names in compared else abs(gap) > 1e-3


@every_loss
def test_one_class_of_three_may_be_the_only_one_compared(loss):
    f = values(fit(loss, THREE, REGION, y_bins=["b"]), X)
    for name in "abc":
        rows = name == THREE
        gaps = np.abs(mean_gaps(f[rows], THREE[rows], REGION[rows], np.ones(rows.sum())))
        assert gaps.max() <= 1e-8 if name == "b" else gaps.max() > 1e-3


@every_loss
def test_many_ages_are_compared_in_fifths(loss):
    f = values(fit(loss, TWO, AGE, y_bins=1), X)
    everybody = np.zeros(N)
    assert np.abs(mean_gaps(f, everybody, fifths(AGE), np.ones(N))).max() <= 1e-8
    assert np.abs(mean_gaps(f, everybody, REGION, np.ones(N))).max() > 1e-3


@every_kernel
@every_loss
def test_residuals_of_parity_match_the_signs_too(loss, kernel):
    model = fit(loss, TWO, MEMBER, kernel=kernel, match="residual", y_bins=1)
    sign = np.where(model.classes_[1] == TWO, 1.0, -1.0)
    error = model.decision_function(X) - sign
    assert abs(error[MEMBER].mean() - error[~MEMBER].mean()) <= 1e-8
    assert abs(sign[MEMBER].mean() - sign[~MEMBER].mean()) > 0.1


@every_loss
def test_small_cells_are_listed_and_left_alone(loss):
    model = fit(loss, TWO, BOTH, min_cell_size=12)
    f, sizes = values(model, X)[:, 0], {}
    for name in np.unique(TWO):
        cells = [f[(name == TWO) & (q == BOTH)] for q in np.unique(BOTH)]
        large = [cell.mean() for cell in cells if cell.size >= 12]
        small = [cell.mean() for cell in cells if cell.size < 12]
        sizes[name] = (len(large), len(small))
        assert np.ptp(large) <= 1e-8
        assert all(abs(mean - large[0]) > 1e-3 for mean in small)
    assert all(large > 1 and small > 0 for large, small in sizes.values())
    assert len(model.contrasts_.compared) == sum(n * (n - 1) // 2 for n, _ in sizes.values())


@every_kernel
@pytest.mark.parametrize("name", LEARNERS)
def test_an_epsilon_above_the_plain_gap_gives_the_plain_model_and_says_so(name, kernel, problem):
    data = {"X": problem.X, "y": labels_for(name, problem), "sensitive_features": problem.s}
    options = {"kernel": kernel, "tol": 1e-9}
    plain = learner(name, epsilon=None, **options).fit(**data)
    loose = learner(name, epsilon=1.01 * plain.violation_, **options)
    with pytest.warns(InactiveConstraintWarning, match="smaller epsilon"):
        loose.fit(**data)
    assert not loose.active_
    assert loose.objective_ == pytest.approx(plain.objective_, rel=1e-8)
    tight = learner(name, epsilon=0.99 * plain.violation_, **options).fit(**data)
    assert tight.active_
    assert tight.objective_ > plain.objective_
    assert tight.violation_ == pytest.approx(tight.epsilon, abs=1e-8)
