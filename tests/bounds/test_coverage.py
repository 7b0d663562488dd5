"""Coverage on a population that is known exactly: both parts hold as often as they say."""

import warnings

import numpy as np
import pytest
from scipy.stats import binom

from gferm import FairClassifier, FairRegressor, certificate
from gferm.bounds.cell_intervals import CellIntervals, gap_intervals
from gferm.bounds.rademacher import LossOnBall
from gferm.exceptions import InactiveConstraintWarning
from tests.bounds import population
from tests.bounds.population import EDGES, KAPPA, S_BINS, P, S, X, Y, best_fair, draw, risk

pytestmark = pytest.mark.slow
DELTA = 0.2
DRAWS = 600
BINS = {"y_bins": EDGES, "s_bins": S_BINS}


def least(draws, delta):
    """Return the fewest successes that chance leaves in all but one of 10 000 experiments."""
    return binom.ppf(1e-4, draws, 1 - delta)


def holds(quantity: CellIntervals, truth):
    """Return whether all cells and all pairs are where the intervals say."""
    cells = (quantity.low[0] <= truth + 1e-12) & (truth <= quantity.high[0] + 1e-12)
    low, high = gap_intervals(quantity.low[0], quantity.high[0])
    gaps = np.abs(truth[:, [0]] - truth[:, [1]])
    return cells.all() and ((low <= gaps + 1e-12) & (gaps <= high + 1e-12)).all()


@pytest.mark.parametrize("n", [30, 300])
def test_all_intervals_of_held_out_rows_hold_at_once(n):
    rng = np.random.default_rng(n)
    train = draw(200, rng)
    model = FairRegressor(kernel="linear", epsilon=0.01, **BINS)
    model.fit(*train[:2], sensitive_features=train[2])
    f = model.predict(X)
    truth = {
        "rate": population.cell_means((population.label_bin(f) == population.label_bin(Y)) * 1.0),
        "prediction": population.cell_means(np.clip(f, 0, 1)),
        "residual": population.cell_means(np.clip(f, 0, 1) - Y),
    }
    gaps = np.abs(np.diff(truth["rate"], axis=1)).ravel()
    true_averages = {"pairs": gaps.mean(), "definition": gaps.sum() / 4, "sum": 2 * gaps.sum()}
    good, narrow = 0, 0
    for _ in range(DRAWS):
        x, y, s = draw(n, rng)
        found = certificate(model, x, y, sensitive_features=s, delta=DELTA).held_out
        cells = all(holds(one, truth[one.name]) for one in found.quantities)
        averages = all(
            found.averages[name].low <= value + 1e-12 <= found.averages[name].high + 2e-12
            for name, value in true_averages.items()
        )
        mean_gap = np.abs(np.diff(truth["prediction"], axis=1)).mean()
        gap = found.gaps["prediction"]
        inside = gap.low - 1e-12 <= mean_gap <= gap.high + 1e-12
        assert not cells or (averages and inside)  # what follows from the cells
        good += cells
        narrow += not found.averages["pairs"].vacuous
    assert good >= least(DRAWS, DELTA)
    assert n < 300 or narrow == DRAWS


def test_rates_alone_are_missed_about_as_often_as_is_said():
    """One rate in each of two cells: the intervals are not so wide that any would do."""
    rng, draws = np.random.default_rng(5), 3000
    predictor = FairClassifier(kernel="linear", epsilon=None)
    predictor.fit(X, Y > 0.5)
    hit = np.where(predictor.predict(X), 1.0, 0.0)
    truth = np.array([np.average(hit[q == S], weights=P[q == S]) for q in (0, 1)])
    missed = 0
    for _ in range(draws):
        x, y, s = draw(400, rng)
        found = certificate(
            predictor, x, y > 0.5, sensitive_features=s, delta=0.9, y_bins=1, s_bins=S_BINS
        ).held_out
        rate = found.quantities[0]
        missed += not ((rate.low[0] <= truth) & (truth <= rate.high[0])).all()
    delta = 0.9 * 2 / found.n_intervals  # the part of these two intervals
    assert draws - missed >= least(draws, delta)
    assert missed >= 0.3 * draws * delta


@pytest.mark.parametrize("n", [20, 200])
def test_the_supremum_over_the_ball_is_below_b(n):
    """For the loss f the supremum is R ‖mean φ − E φ‖, with the constant feature, exactly."""
    rng, radius = np.random.default_rng(n), 3.0
    reach = radius * np.hypot(KAPPA, 1.0)
    bound = LossOnBall(1.0, reach, 2 * reach).deviation(DELTA, n)
    mean = P @ X
    worst = np.array(
        [radius * np.linalg.norm(draw(n, rng)[0].mean(axis=0) - mean) for _ in range(2000)]
    )
    assert np.count_nonzero(worst <= bound) >= least(2000, DELTA)
    assert np.quantile(worst, 1 - DELTA) > bound / 10  # of the right size


def test_the_supremum_of_the_square_loss_is_below_b():
    """The risk of weights v on (x, 1) is quadratic in v: it is looked at all over the ball."""
    from gferm.losses import LOSSES

    rng, radius, n = np.random.default_rng(0), 1.0, 50
    reach = radius * np.hypot(KAPPA, 1.0)
    bound = LossOnBall.of(LOSSES["squared"], reach, (0.2, 1.0)).deviation(DELTA, n)
    directions = rng.normal(size=(2000, 3))
    weights = radius * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    values = (weights @ np.c_[X, np.ones(len(X))].T - Y) ** 2
    below = 0
    for _ in range(500):
        rows = rng.choice(len(P), size=n, p=P / P.sum())
        below += np.abs(values[:, rows].mean(axis=1) - values @ P).max() <= bound
    assert below >= least(500, DELTA)


@pytest.mark.parametrize("radius", [None, 1.0], ids=["all radii", "R = 1"])
@pytest.mark.parametrize("n", [50, 2000])
def test_the_theorems_inequalities_hold(n, radius):
    rng, draws, target = np.random.default_rng(n), 150, 0.01
    w, b = best_fair(target)
    assert np.hypot(np.linalg.norm(w), b) < 1.0  # f* lies in the ball
    best = risk(X @ w + b)
    fair = applied = learned = 0
    for _ in range(draws):
        x, y, s = draw(n, rng)
        shared = {"kappa": KAPPA, "y_range": (0.2, 1.0), "delta": DELTA, "radius": radius}
        bins = {"y_bins": 1, "s_bins": S_BINS, "kernel": "linear"}
        strict = FairRegressor(epsilon=target, **bins)
        with warnings.catch_warnings(action="ignore", category=InactiveConstraintWarning):
            strict.fit(x, y, sensitive_features=s)
            new = draw(20, rng)
            needed = certificate(
                strict, *new[:2], sensitive_features=new[2], **shared
            ).theorem.epsilon_hat
            model = FairRegressor(epsilon=1.001 * needed, epsilon_scale="sum", **bins)
            model.fit(x, y, sensitive_features=s)
        found = certificate(
            model, *new[:2], sensitive_features=new[2], epsilon=2 * target, **shared
        ).theorem
        own = certificate(strict, *new[:2], sensitive_features=new[2], **shared).theorem
        assert found.epsilon == pytest.approx(2 * target)
        gap = [
            np.abs(np.diff(population.cell_means(m.predict(X), population.everybody, 1)))
            for m in (model, strict)
        ]
        fair += 2 * gap[0].item() <= min(found.fairness.value, found.this_model.value) and 2 * gap[
            1
        ].item() <= min(own.fairness.value, own.this_model.value)
        if found.applies:
            applied += 1
            learned += risk(model.predict(X)) - best <= found.excess_risk.value
    assert fair >= least(draws, DELTA)
    assert learned >= least(applied, DELTA)
    if radius is not None:
        assert applied == draws


def test_a_model_trained_with_too_much_is_not_said_to_be_fair():
    x, y, s = draw(1_000_000, np.random.default_rng(3))
    model = FairRegressor(kernel="linear", epsilon=100.0, y_bins=1, s_bins=S_BINS)
    with pytest.warns(InactiveConstraintWarning):
        model.fit(x, y, sensitive_features=s)
    options = {"kappa": KAPPA, "y_range": (0.2, 1.0), "radius": 0.6, "epsilon": 0.0}
    found = certificate(model, x[:50], y[:50], sensitive_features=s[:50], **options).theorem
    gap = np.abs(np.diff(population.cell_means(model.predict(X), population.everybody, 1)))
    assert 2 * gap.item() <= found.fairness.value
    assert 2 * gap.item() <= found.this_model.value < 2


def test_a_model_trained_with_epsilon_hat_admits_the_fair_optimum():
    """The event behind the bound of the risk: f* meets the constraint on the sample."""
    rng, draws, n = np.random.default_rng(9), 400, 100
    w, b = best_fair(0.01)
    reach = np.hypot(KAPPA, 1.0)
    of_ball, met = LossOnBall(1.0, reach, 2 * reach), 0
    for _ in range(draws):
        x, _, s = draw(n, rng)
        f = x @ w + b
        counts = [int((s == q).sum()) for q in (0, 1)]
        epsilon_hat = 0.02 + 3 * sum(of_ball.deviation(DELTA, m) for m in counts)
        met += 2 * abs(f[s == 0].mean() - f[s == 1].mean()) <= epsilon_hat
    assert met >= least(draws, DELTA)
