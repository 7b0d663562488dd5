"""Every loss against a numeric prox, Fenchel–Young, and what is known of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from gferm.losses import (
    CLASSIFICATION_LOSSES,
    LOSSES,
    REGRESSION_LOSSES,
    EpsilonInsensitive,
    Huber,
    Quantile,
    as_loss,
)

CASES = {
    **LOSSES,
    "huber, narrow": Huber(0.2),
    "quantile 0.9": Quantile(0.9),
    "tube": EpsilonInsensitive(0.7),
}
every_loss = pytest.mark.parametrize("name", CASES)
numbers = st.floats(-6, 6, allow_nan=False)
rhos = st.floats(-3, 3).map(lambda e: 10.0**e)


def label_of(loss, y):
    """A label this loss takes."""
    return np.where(y >= 0, 1.0, -1.0) if loss.takes_classes else y


def inside(loss, y, share):
    """A slope between the least and the largest, with infinity at ±4."""
    low, high = np.clip(loss.slopes(y), -4.0, 4.0)
    return low + share * (high - low)


@every_loss
@given(y=numbers, v=numbers, rho=rhos)
def test_prox_is_the_minimiser(name, y, v, rho):
    loss = CASES[name]
    y, v = label_of(loss, np.array([y])), np.array([v])

    def objective(u):
        return float(loss.value(y, np.array([u]))[0] + rho / 2 * (u - v[0]) ** 2)

    u = float(loss.prox(y, v, rho)[0])
    reach = 20.0 + 2.0 / rho
    numeric = minimize_scalar(
        objective, bounds=(u - reach, u + reach), method="bounded", options={"xatol": 1e-12}
    )
    assert objective(u) <= numeric.fun + 1e-9 * (1 + abs(numeric.fun))


@every_loss
@given(y=numbers, v=numbers, rho=rhos)
def test_prox_gives_a_slope_that_attains_fenchel_young(name, y, v, rho):
    # g = ρ (v − u) is a slope at u = prox(v): ℓ(u) + ℓ*(g) = u g exactly.
    loss = CASES[name]
    y, v = label_of(loss, np.array([y])), np.array([v])
    u = loss.prox(y, v, rho)
    g = rho * (v - u)
    low, high = loss.slopes(y)
    size = 1e-9 * (1 + rho) * (1 + abs(v[0]))
    assert low[0] - size <= g[0] <= high[0] + size
    g = np.clip(g, low, high)
    assert loss.value(y, u) + loss.conjugate(y, g) == pytest.approx(u * g, abs=10 * size)


@every_loss
@given(y=numbers, u=numbers, share=st.floats(0, 1))
def test_fenchel_young_holds_everywhere(name, y, u, share):
    loss = CASES[name]
    y, u = label_of(loss, np.array([y])), np.array([u])
    g = inside(loss, y, share)
    assert loss.value(y, u)[0] + loss.conjugate(y, g)[0] >= (u * g)[0] - 1e-9


@every_loss
@given(y=numbers, share=st.floats(0.02, 0.98))
def test_conjugate_is_the_supremum(name, y, share):
    loss = CASES[name]
    y = label_of(loss, np.array([y]))
    g = inside(loss, y, share)
    grid = np.linspace(-12, 12, 480_001)
    supremum = np.max(g * grid - loss.value(y, grid))
    assert loss.conjugate(y, g)[0] == pytest.approx(supremum, abs=1e-4)


@every_loss
def test_the_least_and_the_largest_slope_are_those_far_away(name):
    loss = CASES[name]
    y = np.array([1.0, -1.0])
    for end, far in zip(loss.slopes(y), (-1e4, 1e4), strict=True):
        u = np.full(2, far)
        rise = loss.value(y, u + 0.5) - loss.value(y, u - 0.5)
        finite = np.isfinite(end)
        np.testing.assert_allclose(rise[finite], end[finite], atol=1e-9)
        assert (np.abs(rise[~finite]) > 1e3).all()


@every_loss
def test_convex_and_never_negative(name):
    loss, rng = CASES[name], np.random.default_rng(0)
    y = label_of(loss, rng.normal(size=2000))
    a, b = rng.normal(scale=3, size=(2, 2000))
    assert (loss.value(y, a) >= 0).all()
    middle = loss.value(y, (a + b) / 2)
    assert (middle <= (loss.value(y, a) + loss.value(y, b)) / 2 + 1e-12).all()


@every_loss
def test_huge_predictions_and_extreme_rho_stay_finite(name):
    loss = CASES[name]
    y = np.tile([1.0, -1.0], 3)
    v = np.array([1e6, -1e6, -1e6, 1e6, 0.0, 0.0])
    for rho in (1e-8, 1.0, 1e8):
        u = loss.prox(y, v, rho)
        assert np.isfinite(u).all()
        assert np.isfinite(loss.value(y, u)).all()


@pytest.mark.parametrize("name", [name for name, loss in CASES.items() if loss.is_piecewise_linear])
@given(y=numbers, v=numbers, rho=rhos)
def test_a_slope_between_those_of_the_pieces_pins_the_prox_to_a_kink(name, y, v, rho):
    # At a kink the prox stays when v moves a little; on a piece it moves along.
    loss = CASES[name]
    y, v = label_of(loss, np.array([y])), np.array([v])
    u, step = loss.prox(y, v, rho), 1e-4 / rho
    moved = [loss.prox(y, v + sign * step, rho) - u for sign in (1, -1)]
    pinned = bool(loss.at_kink(y, rho * (v - u))[0])
    stays = any(abs(m[0]) <= 1e-3 * step for m in moved)
    moves = any(abs(abs(m[0]) - step) <= 1e-3 * step for m in moved)
    assert stays if pinned else moves


def test_losses_know_whether_they_are_piecewise_linear():
    straight = {name for name, loss in LOSSES.items() if loss.is_piecewise_linear}
    assert straight == {"hinge", "absolute", "quantile", "epsilon_insensitive"}
    with pytest.raises(TypeError, match="LogLoss"):
        LOSSES["log_loss"].at_kink(np.ones(1), np.ones(1))


def test_relations_between_losses():
    rng = np.random.default_rng(1)
    y, u = rng.normal(size=(2, 500))
    value = {name: loss.value(y, u) for name, loss in LOSSES.items()}
    np.testing.assert_allclose(value["absolute"], 2 * value["quantile"])
    np.testing.assert_allclose(Huber(1e6).value(y, u), value["squared"])
    np.testing.assert_allclose(EpsilonInsensitive(0.0).value(y, u), value["absolute"])
    np.testing.assert_allclose(Huber(1e-6).value(y, u) / 2e-6, value["absolute"], atol=1e-6)
    np.testing.assert_allclose(value["squared_hinge"], value["hinge"] ** 2)


def test_names_are_split_by_what_they_learn():
    assert set(REGRESSION_LOSSES) | set(CLASSIFICATION_LOSSES) == set(LOSSES)
    assert set(REGRESSION_LOSSES) & set(CLASSIFICATION_LOSSES) == {"squared"}


def test_unknown_names_list_the_known():
    with pytest.raises(ValueError, match=r"loss='hubber' .*'huber'.*gferm\.losses"):
        as_loss("hubber", REGRESSION_LOSSES)
    with pytest.raises(ValueError, match="loss='hinge' is not one of"):
        as_loss("hinge", REGRESSION_LOSSES)
    assert as_loss(Huber(2.0), REGRESSION_LOSSES) == Huber(2.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Huber(0.0), "delta=0.0"),
        (lambda: Quantile(1.0), "level=1.0"),
        (lambda: EpsilonInsensitive(-0.1), "width=-0.1"),
    ],
)
def test_parameters_are_checked(make, message):
    with pytest.raises(ValueError, match=message):
        make()
