"""The multipliers of a whole grid are those of one projection after another."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import gferm.solver.epsilon_grid as grid_file
from gferm.exceptions import UnreachableEpsilonError
from gferm.fairness.cells import CellScheme
from gferm.fairness.membership import sort_rows
from gferm.fairness.sensitive import read_sensitive_features
from gferm.features.kernel import Kernel
from gferm.solver.epsilon_grid import multipliers_of_grid
from gferm.solver.projection import project
from gferm.solver.reduction import Reduction, noise_free_spectrum
from tests.comparing import compare
from tests.problems import make_problem
from tests.systems import by_spectrum, kernel_system, linear_system

ALPHAS = (1.0, 1e-3, 1e3, 30.0)
HUGE = 1e9


def contrasts_of(problem, y_bins, **options):
    columns = read_sensitive_features(problem.s, len(problem.y))
    scheme = CellScheme.resolve(
        problem.y, columns, y_bins=y_bins, s_bins="auto", intersectional=True
    )
    return compare(sort_rows(scheme, problem.y, columns), problem.y, **options)


def reductions_of(problem, contrasts, kernel, alphas=ALPHAS):
    """G, c₀ and the way back to predictions, for each alpha."""
    if kernel == "linear":
        rows = problem.X
        system = linear_system(problem.X, problem.y, contrasts.columns)
    else:
        rows = Kernel("rbf", 0.3)(problem.X)
        system = kernel_system(rows.copy(), problem.y, contrasts.columns)
    factorized = by_spectrum(system, 1.0)
    return [_Predicts(rows, factorized.shifted(alpha).reduce()) for alpha in alphas]


@dataclass
class _Predicts:
    rows: np.ndarray
    reduction: Reduction

    def predict(self, coefficients):
        f = self.rows @ coefficients
        return f - f.mean()  # the level is that of the labels, whatever the multipliers


def conditioning(gram):
    """Largest eigenvalue over the smallest that is not rounding."""
    values, _ = noise_free_spectrum(gram)
    return values[-1] / values[values > 0].min()


def on_grid(reductions, contrasts, epsilons):
    grams = np.array([one.reduction.gram for one in reductions])
    plain = np.array([one.reduction.contrasts for one in reductions])
    return multipliers_of_grid(grams, plain, contrasts, epsilons)


def assert_is_projection(nu, model, contrasts, epsilon):
    """The predictions of one projection; NaN where there is none."""
    reduction = model.reduction
    try:
        expected = project(reduction, contrasts, epsilon)
    except UnreachableEpsilonError:
        assert np.isnan(nu).all()
        return
    assert np.isfinite(nu).all()
    plain, fair = reduction.restore(reduction.coefficients(np.array([0 * nu, nu])))
    f = model.predict(expected.coefficients)
    size = max(np.abs(f).max(), np.abs(model.predict(plain)).max())
    rounding = 1e-8 + 100 * np.finfo(float).eps * conditioning(reduction.gram)
    np.testing.assert_allclose(model.predict(fair), f, rtol=0, atol=rounding * size)
    assert_optimal(nu, reduction, contrasts, epsilon)


def assert_optimal(nu, reduction, contrasts, epsilon):
    """Feasible, without a duality gap; ν = 0 if and only if nothing is asked."""
    start, norm = reduction.contrasts - contrasts.offset, contrasts.norm
    if epsilon is None or norm.value(start) <= contrasts.scale * epsilon:
        assert not nu.any()
        return
    left, bound = start - reduction.gram @ nu, contrasts.scale * epsilon
    size = norm.value(start)
    assert norm.value(left) <= bound + 2e-6 * size
    gap = bound * norm.dual(nu) - nu @ left
    assert abs(gap) <= 1e-7 * size * norm.dual(nu)


@given(
    n_groups=st.integers(2, 5),
    y_bins=st.integers(1, 4),
    d=st.integers(1, 8),
    kernel=st.sampled_from(["rbf", "linear"]),
    match=st.sampled_from(["prediction", "residual"]),
    scale=st.sampled_from(["mean", "sum"]),
    shares=st.lists(st.one_of(st.none(), st.floats(0, 1.5)), min_size=1, max_size=5),
    seed=st.integers(0, 1000),
)
@example(2, 1, 4, "linear", "prediction", "mean", [3.1e-210], 0)  # below rounding
@settings(deadline=None, max_examples=60)
def test_every_setting_is_its_own_projection(
    n_groups, y_bins, d, kernel, match, scale, shares, seed
):
    problem = make_problem(n=70, d=d, n_groups=n_groups, seed=seed)
    contrasts = contrasts_of(problem, y_bins, match=match, epsilon_scale=scale)
    reductions = reductions_of(problem, contrasts, kernel)
    assume(max(conditioning(one.reduction.gram) for one in reductions) < 1e6)
    plain = contrasts.violation_of(reductions[0].reduction.contrasts)
    # shares of what a plain model has, in no order, with the extremes among them
    epsilons = [None if share is None else share * plain for share in shares]
    epsilons += [HUGE, 0.0, None, 0.3 * plain, 0.0]
    found = on_grid(reductions, contrasts, epsilons)
    assert found.shape == (len(ALPHAS), len(epsilons), contrasts.n_contrasts)
    for nus, reduction in zip(found, reductions, strict=True):
        for nu, epsilon in zip(nus, epsilons, strict=True):
            assert_is_projection(nu, reduction, contrasts, epsilon)


@pytest.mark.parametrize("n_groups", [2, 4])
def test_a_singular_gram_is_no_obstacle(n_groups):
    problem = make_problem(n=90, d=2, n_groups=n_groups)
    contrasts = contrasts_of(problem, 4)
    reductions = reductions_of(problem, contrasts, "linear")
    rank = np.linalg.matrix_rank(reductions[0].reduction.gram, hermitian=True)
    assert rank == 2 < contrasts.n_contrasts
    epsilons = [0.0, None, 0.1, 0.01, 1e-4, HUGE]
    for nus, reduction in zip(on_grid(reductions, contrasts, epsilons), reductions, strict=True):
        for nu, epsilon in zip(nus, epsilons, strict=True):
            assert_is_projection(nu, reduction, contrasts, epsilon)


@pytest.mark.parametrize("n_groups", [2, 3])
def test_what_cannot_be_met_is_not_a_number_and_the_rest_is(n_groups):
    # residuals of a line: as many contrasts as it likes to ask for, one coefficient to give
    problem = make_problem(n=90, d=1, n_groups=n_groups)
    contrasts = contrasts_of(problem, 3, match="residual")
    reductions = reductions_of(problem, contrasts, "linear")
    least = []
    for reduction in reductions:
        with pytest.raises(UnreachableEpsilonError, match="the smallest that can is") as error:
            project(reduction.reduction, contrasts, 0.0)
        least.append(float(str(error.value).split("smallest that can is ")[1].split(". ")[0]))
    least = np.array(least)
    epsilons = [1.01 * least.max(), 0.0, None, 0.9 * least.min(), HUGE]
    found = on_grid(reductions, contrasts, epsilons)
    np.testing.assert_array_equal(
        np.isnan(found).any(axis=2), np.tile([False, True, False, True, False], (len(ALPHAS), 1))
    )
    for nus, reduction in zip(found, reductions, strict=True):
        for nu, epsilon in zip(nus, epsilons, strict=True):
            assert_is_projection(nu, reduction, contrasts, epsilon)


def test_what_rounding_would_break_is_not_a_number():
    problem = make_problem(n=70, d=1, n_groups=5, seed=196)
    contrasts = contrasts_of(problem, 4, match="residual")
    (model,) = reductions_of(problem, contrasts, "rbf", [1e3])
    assert conditioning(model.reduction.gram) > 1e12
    with pytest.raises(UnreachableEpsilonError):
        project(model.reduction, contrasts, 0.0)
    assert np.isnan(on_grid([model], contrasts, [0.0])).all()


def test_nothing_that_moves_is_nothing_to_pay():
    """G = 0: contrasts of zero are met for free, others never."""
    problem = make_problem(n=60, n_groups=3)
    contrasts, residual = contrasts_of(problem, 2), contrasts_of(problem, 2, match="residual")
    nothing = np.zeros((2, contrasts.n_contrasts, contrasts.n_contrasts))
    plain = np.zeros((2, contrasts.n_contrasts))
    assert not multipliers_of_grid(nothing, plain, contrasts, [0.0, 0.1, None]).any()
    found = multipliers_of_grid(nothing, plain, residual, [0.0, 1e-3, None, HUGE])
    assert np.isnan(found[:, :2]).all()
    assert not found[:, 2:].any()


def test_a_gram_of_rounding_beside_others_moves_nothing():
    problem = make_problem(n=80, n_groups=2)
    contrasts = contrasts_of(problem, 3)
    m = contrasts.n_contrasts
    G = np.diag([1.0, 1e-17, 2.0][:m])
    c = np.array([1.0, 1e-17, -1.0][:m])
    nu = multipliers_of_grid(G[None], c[None], contrasts, [0.0])[0, 0]
    np.testing.assert_allclose(nu, [1.0, 0.0, -0.5], atol=1e-12)


@pytest.mark.parametrize("epsilons", [[0.0], [None], [HUGE], [0.1], [0.1, 0.2]])
def test_any_epsilon_may_be_alone(epsilons):
    problem = make_problem(n=60, n_groups=3)
    contrasts = contrasts_of(problem, 2)
    reductions = reductions_of(problem, contrasts, "rbf")
    for nus, reduction in zip(on_grid(reductions, contrasts, epsilons), reductions, strict=True):
        for nu, epsilon in zip(nus, epsilons, strict=True):
            assert_is_projection(nu, reduction, contrasts, epsilon)


def test_one_path_serves_all_positive_epsilons(monkeypatch):
    calls, original = [], grid_file.trace_path
    monkeypatch.setattr(
        grid_file, "trace_path", lambda *given, **kw: calls.append(1) or original(*given, **kw)
    )
    problem = make_problem(n=60, n_groups=3)
    contrasts = contrasts_of(problem, 2)
    reductions = reductions_of(problem, contrasts, "rbf")
    on_grid(reductions, contrasts, [0.0, None, HUGE])
    assert not calls
    on_grid(reductions, contrasts, [1e-4 * k for k in range(10)])
    assert 0 < len(calls) <= len(ALPHAS)
