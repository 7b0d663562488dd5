"""The theorem's numbers: against loops over the formulas, grids over the ball, and by hand."""

from itertools import product
from math import ceil, hypot, log, log2, pi, sqrt

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics.pairwise import pairwise_kernels

from gferm import Bins, FairClassifier, FairRegressor, FairRegressorCV, certificate
from gferm.bounds.ball import power_of_two, share_of_power
from gferm.bounds.rademacher import LossOnBall, risk_of_middle
from gferm.losses import LOSSES
from tests.bounds.population import EDGES, KAPPA, S_BINS, draw

DELTA = 0.1
X, Y, S = draw(600, np.random.default_rng(0))
NEW = draw(300, np.random.default_rng(1))
PARTS = {"y_bins": EDGES, "s_bins": S_BINS, "alpha": 0.5}


def fit(**params):
    model = FairRegressor(**{"kernel": "linear", "epsilon": 0.01, **PARTS, **params})
    return model.fit(X, Y, sensitive_features=S)


def certify(model, **options):
    x, y, s = NEW
    return certificate(model, x, y, sensitive_features=s, **{"delta": DELTA, **options})


def b(delta, n, reach, spread, lipschitz=1.0):
    return 2 * lipschitz * reach / sqrt(n) + spread * sqrt(log(2 / delta) / (2 * n))


def counts_by_loop():
    k = [int(y >= EDGES[1]) for y in Y]
    return [
        [sum(a == i and s == q for a, s in zip(k, S, strict=True)) for q in (0, 1)] for i in (0, 1)
    ]


@pytest.mark.parametrize("match", ["prediction", "residual"])
def test_every_formula_by_loops(match):
    model = fit(match=match)
    found = certify(model, radius=3.0, kappa=1.5, y_range=(0.0, 1.0)).theorem
    counts, n, (K, Q) = counts_by_loop(), len(Y), (2, 2)
    reach = 3.0 * sqrt(1.5**2 + 1)
    spread = 2 * reach + (1.0 if match == "residual" else 0.0)
    each = DELTA / (4 * K * Q**2 + 2)
    hat = twice = own = 0.0
    for k, q, other in product(range(K), range(Q), range(Q)):
        for p in {q, other}:
            hat += b(DELTA, counts[k][p], reach, spread)
            twice += 2 * b(each, counts[k][p], reach, spread)
            if q != other:
                own += b(DELTA / (2 * 4), counts[k][p], reach, spread)
    epsilon = 0.01 * 2 * K  # two ordered pairs in each label bin
    assert found.epsilon == pytest.approx(epsilon)
    assert found.epsilon_hat == pytest.approx(epsilon + hat)
    assert found.fairness.value == pytest.approx(epsilon + twice)
    assert found.this_model.value == pytest.approx(2 * K * model.violation_ + own)
    steepest, worst = 2 * (reach + 1), (reach + 1) ** 2
    penalty = 0.5 * (3.0**2 - model.coef_ @ model.coef_) / n
    assert found.penalty_price == pytest.approx(penalty, rel=1e-6)
    assert found.excess_risk.value == pytest.approx(
        2 * b(each, n, reach, worst, steepest) + penalty, rel=1e-5
    )
    assert found.excess_risk.largest == 0.25
    width = 2.0 if match == "residual" else 1.0
    assert found.fairness.largest == pytest.approx(2 * K * width)
    assert found.fairness.vacuous
    assert found.per_pair(found.epsilon) == pytest.approx(0.01)


def test_the_two_scales_of_epsilon_are_one_theorem():
    mean = certify(fit(epsilon=0.01), radius=3.0).theorem
    total = certify(fit(epsilon=0.04, epsilon_scale="sum"), radius=3.0).theorem
    assert total.epsilon == pytest.approx(mean.epsilon)
    assert total.fairness.value == pytest.approx(mean.fairness.value)
    assert total.this_model.value == pytest.approx(mean.this_model.value, rel=1e-6)


def test_a_radius_of_ones_own_costs_a_part_of_delta():
    model = fit()
    norm = hypot(*model.coef_, model.intercept_)
    found = certify(model).theorem
    j = ceil(log2(norm))
    assert (found.ball.power, found.ball.radius) == (j, 2.0**j)
    assert found.ball.norm == pytest.approx(norm)
    share = 1 / ((pi**2 / 3 - 1) * (abs(j) + 1) ** 2)
    assert found.delta == pytest.approx(DELTA * share)
    assert found.delta_each == pytest.approx(found.delta / (4 * 2 * 2**2 + 2))
    fixed = certify(model, radius=2.0**j).theorem
    assert fixed.ball.power is None
    assert fixed.delta == DELTA
    assert fixed.fairness.value < found.fairness.value
    assert fixed.epsilon_hat < found.epsilon_hat


def test_the_shares_of_all_powers_sum_to_one():
    total = sum(share_of_power(j) for j in range(-100_000, 100_001))
    assert total == pytest.approx(1, abs=2e-5)
    assert total < 1


@pytest.mark.parametrize("norm", [1.0, 0.5, 0.49, 2.0, 2.0001, 3e-9, 7e11])
def test_the_power_is_the_smallest_that_will_do(norm):
    j = power_of_two(norm)
    assert 2.0 ** (j - 1) < norm <= 2.0**j


def test_no_rows_no_bound():
    assert LossOnBall(1.0, 1.0, 1.0).deviation(0.1, 0) == np.inf


def test_smaller_delta_is_wider_and_more_rows_are_tighter():
    of_ball = LossOnBall(1.0, 2.0, 4.0)
    assert of_ball.deviation(0.01, 100) > of_ball.deviation(0.1, 100)
    assert of_ball.deviation(0.1, 10**12) < 1e-4
    bounds = [certify(fit(), delta=delta).theorem for delta in (0.01, 0.1)]
    for name in ("fairness", "this_model", "excess_risk"):
        assert getattr(bounds[0], name).value > getattr(bounds[1], name).value


@pytest.mark.parametrize("reach", [0.3, 1.0, 7.0])
@pytest.mark.parametrize("name", LOSSES)
def test_slope_and_range_of_a_loss_against_a_grid(name, reach):
    loss = LOSSES[name]
    ends = (-1.0, 1.0) if loss.takes_classes else (-0.5, 2.0)
    found = LossOnBall.of(loss, reach, ends)
    u = np.linspace(-reach, reach, 4001)
    labels = ends if loss.takes_classes else np.linspace(*ends, 26)
    values = np.array([loss.value(np.full(u.shape, y), u) for y in labels])
    steepest = np.abs(np.diff(values) / np.diff(u)).max()
    assert steepest * (1 - 1e-10) <= found.lipschitz <= steepest * 1.02
    assert found.spread == pytest.approx(values.max())
    assert found.reach == reach
    middle = sum(ends) / 2
    expected = max(loss.value(np.array([y]), np.array([middle]))[0] for y in labels)
    assert risk_of_middle(loss, ends) == pytest.approx(expected)


def test_the_slope_of_the_logistic_loss_is_less_than_one():
    found = LossOnBall.of(LOSSES["log_loss"], 0.5, (-1.0, 1.0))
    assert found.lipschitz == pytest.approx(expit(0.5), rel=1e-5)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(
    "kernel",
    [{"kernel": "rbf", "gamma": 0.7}, {"kernel": "poly", "degree": 2}, {"kernel": "laplacian"}],
    ids=lambda kernel: kernel["kernel"],
)
def test_norm_and_kappa_of_a_kernel(kernel, intercept):
    model = fit(**kernel, fit_intercept=intercept)
    found = certify(model).theorem
    options = {"gamma": 0.7} if kernel["kernel"] == "rbf" else {}
    if kernel["kernel"] == "poly":
        options = {"degree": 2}
    rows = np.vstack([X, NEW[0]])
    gram = pairwise_kernels(rows, metric=kernel["kernel"], **options)
    n = len(X)
    norm2 = model.dual_coef_ @ gram[:n, :n] @ model.dual_coef_
    b2 = model.intercept_**2 if intercept else 0.0
    assert found.ball.norm == pytest.approx(sqrt(norm2 + b2))
    assert found.ball.penalised == pytest.approx(sqrt(norm2))
    assert found.ball.kappa == pytest.approx(sqrt(np.diag(gram).max() + intercept))
    predictions = np.abs(model.predict(rows))
    assert predictions.max() <= found.ball.reach
    assumed = any("κ" in line for line in found.assumptions)
    assert assumed is (kernel["kernel"] == "poly")


def test_a_matrix_and_a_function_are_the_kernel_they_stand_for():
    def gaussian(a, b):
        return np.exp(-0.7 * np.sum((a - b) ** 2))

    x, y, s = NEW
    few, options = slice(0, 120), {"metric": "rbf", "gamma": 0.7}

    def found(kernel, train, test):
        model = FairRegressor(kernel=kernel, gamma=0.7, epsilon=0.01, **PARTS)
        model.fit(train, Y[few], sensitive_features=S[few])
        return certificate(model, test, y, sensitive_features=s, delta=DELTA).theorem

    named, called = found("rbf", X[few], x), found(gaussian, X[few], x)
    matrices = (pairwise_kernels(rows, X[few], **options) for rows in (X[few], x))
    given = found("precomputed", *matrices)
    for other in (called, given):
        assert other.ball.norm == pytest.approx(named.ball.norm)
        assert other.fairness.value == pytest.approx(named.fairness.value)
        assert sum("semi-definite" in line for line in other.assumptions) == 1
        assert sum("κ = 1 " in line for line in other.assumptions) == 1
    assert named.assumptions == ()


def test_kappa_without_and_with_a_statement():
    model = fit()
    seen, stated = certify(model), certify(model, kappa=KAPPA)
    assert any("κ = 1.414" in note for note in seen.notes)
    assert not stated.theorem.assumptions
    assert stated.theorem.fairness.value == pytest.approx(seen.theorem.fairness.value)
    assert certify(model, kappa=3.0).theorem.fairness.value > stated.theorem.fairness.value


def test_cells_without_rows_are_named_and_not_counted():
    rows = (S == 0) | (Y >= 0.5)  # nobody of group 1 below the edge
    model = FairRegressor(kernel="linear", **PARTS)
    model.fit(X[rows], Y[rows], sensitive_features=S[rows])
    found = certify(model).theorem
    assert found.n_pairs == 1
    assert len(found.uncovered) == 1
    assert "(0 rows)" in found.uncovered[0]
    assert found.delta_each == pytest.approx(found.delta / 34)  # K and Q count all cells
    assert found.uncovered[0] in str(certify(model))
    least = min(min(row) for row in counts_by_loop()) + 1
    few = FairRegressor(kernel="linear", epsilon=0.001, **PARTS, min_cell_size=least)
    small = certify(few.fit(X, Y, sensitive_features=S)).theorem
    assert small.n_pairs + len(small.uncovered) == 2
    assert small.uncovered


@pytest.mark.parametrize(
    ("params", "options", "words"),
    [
        ({"y_bins": 2}, {}, ["y_bins was read off", "range of y in the training rows"]),
        ({"y_bins": 1}, {}, ["range of y in the rows given"]),
        ({"y_bins": 1}, {"y_range": (0, 1)}, []),
        ({"y_bins": Bins.quantile(2)}, {"y_range": (0, 1)}, ["y_bins was read off"]),
        ({}, {}, []),
    ],
)
def test_what_is_assumed_is_said(params, options, words):
    found = certify(fit(**params), kappa=2.0, **options).theorem
    assert len(found.assumptions) == len(words)
    for line, word in zip(found.assumptions, words, strict=True):
        assert word in line


def test_the_risk_needs_a_model_that_was_trained_with_epsilon_hat():
    strict = certify(fit(), radius=2.0, kappa=KAPPA, epsilon=0.01).theorem
    assert not strict.applies
    needed = strict.per_pair(strict.epsilon_hat)
    with pytest.warns(UserWarning, match="not active"):
        wide = fit(epsilon=1.0001 * needed)
    again = certify(wide, radius=2.0, kappa=KAPPA, epsilon=0.01).theorem
    assert again.epsilon_hat == pytest.approx(strict.epsilon_hat)
    assert again.applies
    assert again.epsilon == pytest.approx(strict.epsilon)
    risks = [certify(one, epsilon=0.01).to_frame().iloc[-1] for one in (fit(), wide)]
    assert ["void" in row["quantity"] for row in risks] == [True, False]
    assert "void" in str(certify(fit()))
    assert "void" not in str(certify(wide, radius=2.0, kappa=KAPPA, epsilon=0.01))


def test_a_search_pays_for_the_kernels_it_tried():
    parts = {"y_bins": EDGES, "s_bins": S_BINS, "alphas": [0.1, 1], "epsilons": [0.01], "cv": 3}
    search = FairRegressorCV(gammas=[0.1, 0.5, 1.0], **parts).fit(X, Y, sensitive_features=S)
    found = certify(search)
    alone = certify(search.best_estimator_)
    assert found.theorem.delta == pytest.approx(alone.theorem.delta / 3)
    assert found.theorem.fairness.value > alone.theorem.fairness.value
    assert any("3 kernels" in note for note in found.notes)
    assert found.held_out.gaps == alone.held_out.gaps


def test_classes_have_margins_and_decisions():
    y, new = np.where(Y >= 0.5, "high", "low"), np.where(NEW[1] >= 0.5, "high", "low")
    model = FairClassifier(kernel="linear", s_bins=S_BINS, epsilon=0.01, alpha=0.1)
    model.fit(X, y, sensitive_features=S)
    found = certificate(model, NEW[0], new, sensitive_features=NEW[2], kappa=KAPPA).theorem
    ball = found.ball
    assert found.risk == LossOnBall(1.0, ball.reach, 1.0 + ball.reach)  # the hinge
    assert found.constraint == LossOnBall(1.0, ball.reach, 2 * ball.reach)
    assert found.excess_risk.largest == 1.0
    assert found.fairness.largest == pytest.approx(2 * 2 * min(2 * ball.reach, 2.0))


def test_models_against_the_rest_share_delta():
    y = np.array(["a", "b", "c"])[np.searchsorted([0.45, 0.65], Y)]
    new = np.array(["a", "b", "c"])[np.searchsorted([0.45, 0.65], NEW[1])]
    model = FairClassifier("log_loss", kernel="linear", s_bins=S_BINS, epsilon=0.1)
    model.fit(X, y, sensitive_features=S)
    found = certificate(model, NEW[0], new, sensitive_features=NEW[2]).theorem
    norms = np.sqrt((model.coef_**2).sum(axis=1) + model.intercept_**2)
    assert found.ball.norm == pytest.approx(norms.max())
    assert found.delta_each == pytest.approx(found.delta / (3 * (4 * 3 * 2**2 + 2)))


@pytest.mark.parametrize("n_classes", [2, 10])
def test_the_parts_of_delta_sum_to_no_more_than_delta(n_classes):
    """The suprema of the cells; for each model its risk, and Hoeffding for f* in each cell."""
    rng = np.random.default_rng(4)
    y, new = rng.integers(0, n_classes, len(X)), np.arange(len(NEW[1])) % n_classes
    model = FairClassifier("squared", kernel="linear", s_bins=S_BINS, epsilon=0.001)
    model.fit(X, y, sensitive_features=S)
    options = {"sensitive_features": NEW[2], "radius": 8.0, "kappa": KAPPA, "delta": DELTA}
    found = certificate(model, NEW[0], new, **options).theorem
    n_models, n_cells = len(np.atleast_1d(model.intercept_)), n_classes * 2
    apart = found.this_model.value - found.violation
    counts, reach = model.cells_.partitions[0].counts, found.ball.reach
    level = next(
        share
        for share in DELTA / n_cells / np.arange(1, 100)
        if apart == pytest.approx(sum(2 * b(share, m, reach, 2 * reach) for m in counts.ravel()))
    )
    assert found.delta == DELTA
    assert n_cells * level + n_models * (1 + n_cells) * found.delta_each <= DELTA


def test_a_model_trained_with_more_than_epsilon_hat_is_as_unfair_as_it_was_trained():
    with pytest.warns(UserWarning, match="not active"):
        wide = fit(epsilon=50.0)
    found = certify(wide, radius=2.0, kappa=KAPPA, epsilon=0.0).theorem
    strict = certify(fit(), radius=2.0, kappa=KAPPA, epsilon=0.0).theorem
    apart = strict.fairness.value / 2
    assert found.fairness.value == pytest.approx(4 * 50 + apart)
    enough = certify(wide, radius=2.0, kappa=KAPPA, epsilon=50.0).theorem
    assert enough.fairness.value == pytest.approx(4 * 50 + 2 * apart)


def test_a_marginal_comparison_sums_over_attributes():
    other = np.random.default_rng(2).integers(0, 3, len(X))
    model = FairRegressor(kernel="linear", y_bins=EDGES, intersectional=False, epsilon=0.001)
    model.fit(X, Y, sensitive_features={"s": S, "t": other})
    t = np.arange(len(NEW[1])) % 3
    found = certificate(
        model, NEW[0], NEW[1], sensitive_features={"t": t, "s": NEW[2]}, delta=DELTA
    ).theorem
    assert found.n_pairs == 2 * (1 + 3)
    assert found.delta_each == pytest.approx(found.delta / (4 * 2 * (2**2 + 3**2) + 2))


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"match": "residual"},
        {"epsilon_scale": "sum"},
        {"min_cell_size": 60},
    ],
)
def test_a_model_learned_chunk_by_chunk_has_the_theorem_of_its_rows(params):
    whole = fit(**{"epsilon": 0.002, **params})
    streamed = FairRegressor(**whole.get_params())
    for rows in np.array_split(np.arange(len(Y)), [150, 151, 400]):
        streamed.partial_fit(X[rows], Y[rows], sensitive_features=S[rows])
    expected, found = (certify(model).to_dict()["theorem"] for model in (whole, streamed))
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        parts, others = (
            one if isinstance(one, dict) else {name: one} for one in (found[name], value)
        )
        for key, other in others.items():
            words = isinstance(other, list)
            assert parts[key] == (other if words else pytest.approx(other, rel=1e-6)), key
    assert found["n_rows"] == len(Y)
    assert bool(found["uncovered"]) == ("min_cell_size" in params)


def test_weighted_chunks_have_no_theorem():
    model = FairRegressor(kernel="linear", epsilon=0.01, **PARTS)
    for rows in np.array_split(np.arange(len(Y)), 2):
        weight = np.linspace(1, 2, rows.size)
        model.partial_fit(X[rows], Y[rows], sensitive_features=S[rows], sample_weight=weight)
    assert "sample_weight" in certify(model).silent


@pytest.mark.parametrize(
    ("params", "weight", "reason"),
    [
        ({"epsilon": None}, None, "epsilon=None"),
        ({}, np.linspace(1, 2, len(Y)), "sample_weight"),
    ],
)
def test_where_the_theorem_is_silent_it_says_why(params, weight, reason):
    model = FairRegressor(**{"kernel": "linear", "epsilon": 0.01, **PARTS, **params})
    found = certify(model.fit(X, Y, sensitive_features=S, sample_weight=weight))
    assert found.theorem is None
    assert reason in found.silent
    assert reason in str(found)
    assert found.to_dict()["theorem_silent_because"] == found.silent
    assert found.held_out.gaps["prediction"].high < 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"radius": 0.01}, r"radius=0.01 is smaller than the norm .* larger alpha .*radius=None"),
        ({"kappa": 0.5}, r"kappa=0.5 does not bound .*1.41.*or None"),
        ({"radius": 0.0}, "radius"),
        ({"radius": "big"}, "radius"),
        ({"kappa": -1.0}, "kappa"),
        ({"epsilon": -0.1}, "epsilon"),
        ({"y_range": (0.3, 1.0)}, r"y_range=\(0.3, 1.0\) does not hold: y has 0.2"),
    ],
)
def test_statements_that_do_not_hold_are_refused(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        certify(fit(), **options)
