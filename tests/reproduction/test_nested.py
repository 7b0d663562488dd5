"""Nothing is refitted, and everything equals refitting: outer folds, inner ones, fitted values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reproduction.nested import NestedSolver, PaddedFolds, join_models
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.model_selection import KFold

from gferm import FairRegressor
from gferm.arrays.device import TorchDevice, open_device
from tests.problems import make_problem

CPU = open_device("cpu")
ALPHAS = (1e-3, 1.0, 1e3)
KERNELS = {"linear": linear_kernel, "rbf": lambda X: rbf_kernel(X, gamma=0.2)}


def make_columns(problem, seed=0):
    """Return V: labels, the indicators of the groups, and something else."""
    noise = np.random.default_rng(seed).normal(size=len(problem.y))
    return np.column_stack([problem.y, np.eye(problem.s.max() + 1)[problem.s], noise])


def nested_folds(n, n_outer, n_inner, seed=0):
    """Return (train, test, inner test parts) of each outer fold."""
    found = []
    for o, (train, test) in enumerate(
        KFold(n_outer, shuffle=True, random_state=seed).split(np.zeros(n))
    ):
        inner = KFold(n_inner, shuffle=True, random_state=seed + o + 1).split(train)
        found.append((train, test, [train[rows] for _, rows in inner]))
    return found


class Folded:
    """All folds as rectangles."""

    def __init__(self, folds, n):
        self.test = PaddedFolds([test for _, test, _ in folds], n, inner=False)
        self.train = PaddedFolds([train for train, _, _ in folds], n, inner=False)
        self.inner = PaddedFolds([rows for *_, inner in folds for rows in inner], n, inner=True)
        self.shape = (len(folds), -1, self.inner.rows.shape[1])

    @property
    def rows(self):
        return self.test.rows, self.train.rows, self.inner.rows.reshape(self.shape)


def load(kernel, columns, alphas=ALPHAS, device=CPU):
    rows = NestedSolver(device, columns, alphas)
    rows.load(*rows.decompose(kernel))
    return rows


def refit(kernel, columns, train, alpha):
    """Return the dual coefficients and intercepts of columns: min Σ (v − Ka − b)² + α aᵀKa."""
    K, n = kernel[np.ix_(train, train)], len(train)
    bordered = np.zeros((n + 1, n + 1))
    bordered[:n, :n] = K + alpha * np.eye(n)
    bordered[n, :n] = bordered[:n, n] = 1.0
    right = np.vstack([columns[train], np.zeros((1, columns.shape[1]))])
    solution = np.linalg.solve(bordered, right)
    return solution[:n], solution[n]


def assert_equals_refits(found, rectangle_lines, kernel, columns, held_out_from, alphas=ALPHAS):
    """Compare a HeldOut with refits on the rows that are left; lines are (rows, train)."""
    for i, alpha in enumerate(alphas):
        for j, (rows, train) in enumerate(zip(rectangle_lines, held_out_from, strict=True)):
            a, b = refit(kernel, columns, train, alpha)
            expected = kernel[np.ix_(rows, train)] @ a + b
            np.testing.assert_allclose(
                found.predictions[i, j, : len(rows)], expected, atol=1e-8, rtol=1e-8
            )
            lost = columns[train].T @ (columns[train] - kernel[np.ix_(train, train)] @ a - b)
            np.testing.assert_allclose(found.lost[i, j], lost, atol=1e-8 * len(train), rtol=1e-8)


def assert_all_equal_refits(kernel, columns, folds, found, alphas=ALPHAS):
    tests = [test for _, test, _ in folds]
    trains = [train for train, _, _ in folds]
    assert_equals_refits(found.outer, tests, kernel, columns, trains, alphas)
    inner = [rows for *_, inner in folds for rows in inner]
    left = [np.setdiff1d(train, rows) for train, _, inner in folds for rows in inner]
    assert_equals_refits(found.inner, inner, kernel, columns, left, alphas)
    for i, alpha in enumerate(alphas):
        for o, train in enumerate(trains):
            a, b = refit(kernel, columns, train, alpha)
            fitted = kernel[np.ix_(train, train)] @ a + b
            np.testing.assert_allclose(
                found.fitted[i, o, : len(train)], fitted, atol=1e-8, rtol=1e-8
            )


# 43 rows in 4 folds: 11, 11, 11 and 10 held out; of 32 or 33 rows in 5: 6 or 7
@pytest.mark.parametrize(("n", "n_outer", "n_inner"), [(43, 4, 5), (40, 4, 5), (43, 4, 3)])
@pytest.mark.parametrize("name", KERNELS)
def test_equals_refits(name, n, n_outer, n_inner):
    problem = make_problem(n=n)
    kernel, columns = KERNELS[name](problem.X), make_columns(problem)
    folds = nested_folds(n, n_outer, n_inner)
    folded = Folded(folds, n)
    found = load(kernel, columns).hold_out(*folded.rows)
    assert_all_equal_refits(kernel, columns, folds, found)


def test_rows_are_missing_in_an_outer_fold_and_in_its_inner_folds_at_once():
    """The case that has to work is among those above."""
    folded = Folded(nested_folds(43, 4, 5), 43)
    short = ~folded.test.present.all(axis=1)
    assert short.any()
    assert not folded.inner.present.reshape(folded.shape)[short].all()
    assert (folded.test.rows[~folded.test.present] == 44).all()
    assert (folded.inner.rows[~folded.inner.present] == 43).all()


@given(
    n=st.integers(12, 40),
    n_outer=st.integers(2, 6),
    n_inner=st.integers(2, 5),
    kernel=st.sampled_from(sorted(KERNELS)),
    alphas=st.lists(st.sampled_from([1e-4, 1e-2, 0.3, 10.0, 1e4]), min_size=1, max_size=3),
    seed=st.integers(0, 1000),
)
@settings(max_examples=40, deadline=None)
def test_equals_refits_whatever_the_folds(n, n_outer, n_inner, kernel, alphas, seed):
    problem = make_problem(n=n, d=3, seed=seed)
    matrix, columns = KERNELS[kernel](problem.X), make_columns(problem, seed)
    folds = nested_folds(n, n_outer, n_inner, seed)
    found = load(matrix, columns, alphas).hold_out(*Folded(folds, n).rows)
    assert_all_equal_refits(matrix, columns, folds, found, alphas)


@pytest.mark.parametrize("alpha", [1e-2, 1e2])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_equals_the_plain_estimator(kernel, alpha):
    problem = make_problem(n=43)
    folds = nested_folds(43, 4, 5)
    rows = load(KERNELS[kernel](problem.X), make_columns(problem), [alpha])
    found = rows.hold_out(*Folded(folds, 43).rows)
    model = FairRegressor(kernel=kernel, gamma=0.2, alpha=alpha, epsilon=None)
    for o, (train, test, inner) in enumerate(folds):
        model.fit(problem.X[train], problem.y[train])
        expected = model.predict(problem.X[test])
        np.testing.assert_allclose(
            found.outer.predictions[0, o, : len(test), 0], expected, atol=1e-8
        )
        for i, held_out in enumerate(inner):
            left = np.setdiff1d(train, held_out)
            model.fit(problem.X[left], problem.y[left])
            expected = model.predict(problem.X[held_out])
            predictions = found.inner.predictions[0, 5 * o + i, : len(held_out), 0]
            np.testing.assert_allclose(predictions, expected, atol=1e-8)


def parts_of(found):
    """Return every array of NestedModels, by name."""
    return {
        "outer predictions": found.outer.predictions,
        "outer lost": found.outer.lost,
        "inner predictions": found.inner.predictions,
        "inner lost": found.inner.lost,
        "fitted": found.fitted,
    }


def assert_same_parts(one, other, atol=1e-12):
    for name, array in parts_of(one).items():
        np.testing.assert_allclose(array, parts_of(other)[name], atol=atol, err_msg=name)


@pytest.fixture
def whole():
    """Return 43 rows in folds of unequal size."""
    problem = make_problem(n=43)
    rows = load(KERNELS["rbf"](problem.X), make_columns(problem))
    return rows, Folded(nested_folds(43, 4, 5), 43)


def test_outer_folds_together_are_outer_folds_apart(whole):
    rows, folded = whole
    apart = [rows.hold_out(*(some[o : o + 1] for some in folded.rows)) for o in range(4)]
    assert_same_parts(join_models(CPU, apart), rows.hold_out(*folded.rows))


def test_what_is_held_out_is_not_looked_at(whole):
    """Whatever V is at rows held out, models and V_tᵀ(I − H')V_t stay."""
    rows, folded = whole
    problem = make_problem(n=43)
    test = folded.test.rows[0]
    changed = make_columns(problem)
    changed[test[test < 43]] += 100.0
    other = load(KERNELS["rbf"](problem.X), changed)
    first = [some[:1] for some in folded.rows]
    assert_same_parts(other.hold_out(*first), rows.hold_out(*first), atol=1e-9)


def test_rows_that_are_not_there_have_no_effect(whole):
    """One more place for a missing row in the outer fold, and one in each inner fold."""
    rows, folded = whole
    test, train, inner = (some[:1] for some in folded.rows)
    full = folded.inner.present.reshape(folded.shape)[0].all(axis=1)
    inner = inner[:, full]
    assert (test < 43).all()
    plain = rows.hold_out(test, train, inner)
    wider = rows.hold_out(
        np.pad(test, ((0, 0), (0, 1)), constant_values=44),
        train,
        np.pad(inner, ((0, 0), (0, 0), (0, 1)), constant_values=43),
    )
    np.testing.assert_array_equal(wider.outer.predictions[:, :, -1], 0.0)
    np.testing.assert_array_equal(wider.inner.predictions[:, :, -1], 0.0)
    for name in ("outer", "inner"):
        one, other = getattr(plain, name), getattr(wider, name)
        np.testing.assert_allclose(other.predictions[:, :, :-1], one.predictions, atol=1e-12)
        np.testing.assert_allclose(other.lost, one.lost, atol=1e-12)
    np.testing.assert_allclose(wider.fitted, plain.fitted, atol=1e-12)


def test_one_kernel_after_another_is_each_alone():
    problem = make_problem(n=30)
    columns, folded = make_columns(problem), Folded(nested_folds(30, 4, 3), 30)
    rows = NestedSolver(CPU, columns, ALPHAS)
    decompositions = {name: rows.decompose(kernel(problem.X)) for name, kernel in KERNELS.items()}
    for name in ("linear", "rbf", "linear"):
        rows.load(*decompositions[name])
        alone = load(KERNELS[name](problem.X), columns)
        assert_same_parts(rows.hold_out(*folded.rows), alone.hold_out(*folded.rows))


@pytest.mark.parametrize("kernel", [np.zeros((20, 20)), np.ones((20, 20))])
def test_a_kernel_without_information_leaves_the_mean(kernel):
    problem = make_problem(n=20)
    folds = nested_folds(20, 4, 3)
    found = load(kernel, make_columns(problem)).hold_out(*Folded(folds, 20).rows)
    for o, (train, test, _) in enumerate(folds):
        mean = problem.y[train].mean()
        np.testing.assert_allclose(found.outer.predictions[:, o, : len(test), 0], mean)


@given(sizes=st.lists(st.sampled_from([3, 4]), min_size=1, max_size=6), inner=st.booleans())
def test_rectangles_hold_every_row_once(sizes, inner):
    rows = np.arange(sum(sizes))
    folds = np.split(rows, np.cumsum(sizes)[:-1])
    rectangle = PaddedFolds(folds, len(rows), inner=inner)
    for line, there, fold in zip(rectangle.rows, rectangle.present, folds, strict=True):
        np.testing.assert_array_equal(line[there], fold)
        assert (line[~there] == len(rows) + (not inner)).all()


def test_folds_that_differ_by_two_rows_are_refused():
    with pytest.raises(ValueError, match="differ by one row"):
        PaddedFolds([np.arange(5), np.arange(5, 8)], 8, inner=False)


def test_torch_gives_the_same(whole):
    torch = pytest.importorskip("torch", reason="torch is not installed (make test-torch)")
    expected, folded = whole
    device = TorchDevice("cpu", torch)
    problem = make_problem(n=43)
    rows = load(KERNELS["rbf"](problem.X), make_columns(problem), device=device)
    together = rows.hold_out(*folded.rows)
    apart = [rows.hold_out(*(some[o : o + 1] for some in folded.rows)) for o in range(4)]
    for found in (together, join_models(device, apart)):
        assert_same_parts(found, expected.hold_out(*folded.rows), atol=1e-9)
