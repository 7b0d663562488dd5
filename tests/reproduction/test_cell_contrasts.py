"""Sums over cells are all it takes: fair predictions equal those of FairRegressor, refitted."""

import numpy as np
import pytest
from reproduction.cell_contrasts import Bound, CellContrasts
from reproduction.nested import NestedSolver, PaddedFolds
from sklearn.model_selection import KFold

from gferm import Bins, FairRegressor
from gferm.arrays.device import TorchDevice, open_device
from gferm.fairness.cells import CellScheme
from gferm.fairness.membership import sort_rows
from gferm.fairness.sensitive import SensitiveColumn
from gferm.features.kernel import Kernel
from tests.comparing import compare
from tests.problems import make_problem

CPU = open_device("cpu")
ALPHAS = (1e-2, 1.0, 30.0)
GAMMA = 0.2
BOUNDS = (None, Bound(0.0), Bound(0.005), Bound(0.01), Bound(0.01, "sum"))
INACTIVE = pytest.mark.filterwarnings("ignore::gferm.exceptions.InactiveConstraintWarning")


class Rows:
    """Rows with their cells, in folds of unequal size; V has a column that no part needs."""

    def __init__(self, n=86, n_groups=2, n_bins=4, kernel="rbf", seed=0, n_folds=4, device=CPU):
        problem = make_problem(n=n, n_groups=n_groups, seed=seed)
        self.X, self.s = problem.X, problem.s
        self.y = (problem.y - problem.y.min()) / np.ptp(problem.y)
        self.device, self.kernel = device, kernel
        # the last bins hold few rows, so that some of their cells are empty
        self.edges = np.quantile(self.y, [*np.linspace(0, 0.93, n_bins), 1.0])
        self.groups = Bins.categories(range(n_groups))
        self.folds = list(KFold(n_folds, shuffle=True, random_state=seed).split(self.X))
        self.columns = np.column_stack(
            [self.y, self.X[:, 0], np.eye(n_bins * n_groups)[self.members().cell_codes[0]]]
        )

    def members(self, rows=slice(None)):
        scheme = CellScheme(Bins.edges(self.edges), ("s",), (self.groups,), True)
        return sort_rows(scheme, self.y[rows], [SensitiveColumn("s", self.s[rows])])

    def contrasts(self):
        members = [self.members(train) for train, _ in self.folds]
        cells = [rows.cells.partitions[0] for rows in members]
        sums = [
            rows.means_of(0, self.y[train]) * np.where(part.counts > 0, part.counts, np.nan)
            for part, rows, (train, _) in zip(cells, members, self.folds, strict=True)
        ]
        counts = np.stack([part.counts for part in cells])
        return CellContrasts.of(slice(2, None), counts, np.nan_to_num(np.stack(sums)))

    def parts(self):
        n = len(self.y)
        test = PaddedFolds([test for _, test in self.folds], n, inner=False)
        train = PaddedFolds([train for train, _ in self.folds], n, inner=False)
        rows = NestedSolver(self.device, self.columns, ALPHAS)
        rows.load(*rows.decompose(Kernel(self.kernel, gamma=GAMMA).training_matrix(self.X)))
        inner = np.array([[train[:1], train[1:2]] for train, _ in self.folds])
        return rows.hold_out(test.rows, train.rows, inner)

    def reduced(self):
        return self.contrasts().reduce(self.device, self.parts().outer)

    def refit(self, part, alpha, bound):
        train, _ = self.folds[part]
        model = FairRegressor(
            kernel=self.kernel,
            gamma=GAMMA,
            alpha=alpha,
            epsilon=None if bound is None else bound.epsilon,
            epsilon_scale="mean" if bound is None else bound.scale,
            y_bins=self.edges,
            s_bins=self.groups,
        )
        return model.fit(self.X[train], self.y[train], sensitive_features=self.s[train])


def assert_predicts_as_refitted(rows, bounds):
    reduced = rows.reduced()
    found = reduced.predictions(reduced.multipliers(bounds))
    for i, alpha in enumerate(ALPHAS):
        for part, (_, test) in enumerate(rows.folds):
            for j, bound in enumerate(bounds):
                expected = rows.refit(part, alpha, bound).predict(rows.X[test])
                np.testing.assert_allclose(found[i, part, j, : len(test)], expected, atol=1e-8)


@INACTIVE
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_two_groups_are_predicted_as_refitted(kernel, seed):
    assert_predicts_as_refitted(Rows(kernel=kernel, seed=seed), BOUNDS)


@pytest.mark.parametrize("n_groups", [3, 5])
def test_more_groups_are_predicted_as_refitted(n_groups):
    rows = Rows(n_groups=n_groups, n_bins=3)
    assert_predicts_as_refitted(rows, (None, Bound(0.0)))


@pytest.mark.parametrize("n_groups", [3, 5])
def test_some_cells_are_empty(n_groups):
    """The case that has to work is among those above."""
    assert (Rows(n_groups=n_groups, n_bins=3).contrasts().counts == 0).any()


@INACTIVE
def test_cells_that_a_training_part_lacks():
    """One row only in a cell: the part that holds it out compares the others."""
    rows = Rows(n_groups=3, n_bins=3)
    lonely = np.flatnonzero((rows.s == 1) & (rows.y < rows.edges[1]))
    rows.s[lonely[1:]] = 2
    rows.columns[:, 2:] = np.eye(9)[rows.members().cell_codes[0]]
    counts = rows.contrasts().counts.reshape(4, 3, 3)
    assert sorted(counts[:, 0, 1]) == [0.0, 1.0, 1.0, 1.0]
    assert_predicts_as_refitted(rows, (None, Bound(0.0)))
    two = Rows()
    lonely = np.flatnonzero((two.s == 1) & (two.y < two.edges[1]))
    two.s[lonely[1:]] = 0
    two.columns[:, 2:] = np.eye(8)[two.members().cell_codes[0]]
    assert sorted(two.contrasts().counts[:, 1]) == [0.0, 1.0, 1.0, 1.0]
    assert_predicts_as_refitted(two, BOUNDS)


@INACTIVE
def test_a_label_bin_that_a_training_part_lacks():
    """Both rows of the lowest bin are held out; without it, its edge means nothing."""
    rows = Rows()
    _, test = rows.folds[0]
    lowest = [test[rows.s[test] == q][0] for q in (0, 1)]
    rows.y[lowest] = -0.5
    rows.edges = np.array([-1.0, *rows.edges])
    indicators = np.eye(10)[rows.members().cell_codes[0]]
    rows.columns = np.column_stack([rows.y, rows.X[:, 0], indicators])
    counts = rows.contrasts().counts
    assert counts[:, :2].tolist() == [[0, 0], [1, 1], [1, 1], [1, 1]]
    reduced = rows.reduced()
    nu = reduced.multipliers(BOUNDS)
    found = reduced.predictions(nu)
    assert not nu[:, 0, :, 0].any()
    assert nu[:, 1, 1:, 0].any()
    rows.edges = rows.edges[1:]
    for i, alpha in enumerate(ALPHAS):
        for j, bound in enumerate(BOUNDS):
            expected = rows.refit(0, alpha, bound).predict(rows.X[test])
            np.testing.assert_allclose(found[i, 0, j, : len(test)], expected, atol=1e-8)


@pytest.mark.parametrize("n_groups", [2, 3, 5])
def test_weights_give_the_columns_of_contrasts(n_groups):
    """C = V_t D, but for columns of zeros."""
    rows = Rows(n_groups=n_groups)
    contrasts = rows.contrasts()
    for part, (train, _) in enumerate(rows.folds):
        expected = compare(rows.members(train))
        found = rows.columns[train, 2:] @ contrasts.weights[part]
        there = np.abs(found).max(axis=0) > 0
        np.testing.assert_allclose(found[:, there], expected.columns.toarray(), atol=1e-15)
        assert contrasts.weights[part].shape == (4 * n_groups, 4 * (n_groups - 1))
        assert contrasts.n_pairs[part] == expected.scale == len(expected.compared)


@pytest.mark.parametrize("n_groups", [2, 3])
def test_the_small_problem_is_that_of_the_training_rows(n_groups):
    """G = Cᵀ H' C and c₀ = Cᵀ H' y."""
    rows = Rows(n_groups=n_groups)
    reduced, contrasts, fitted = rows.reduced(), rows.contrasts(), rows.parts().fitted
    for part, (train, _) in enumerate(rows.folds):
        C = rows.columns[train, 2:] @ contrasts.weights[part]
        for i in range(len(ALPHAS)):
            hat = fitted[i, part, : len(train)]
            gram = C.T @ hat[:, 2:] @ contrasts.weights[part]
            np.testing.assert_allclose(reduced.gram[i, part], gram, atol=1e-12)
            np.testing.assert_allclose(reduced.start[i, part], C.T @ hat[:, 0], atol=1e-12)


def test_plain_models_have_no_multipliers():
    reduced = Rows().reduced()
    nu = reduced.multipliers([None, Bound(0.0), None])
    assert nu.shape == (3, 4, 3, 4)
    assert not nu[..., [0, 2], :].any()
    assert nu[..., 1, :].any()
    np.testing.assert_array_equal(reduced.predictions(nu)[..., 2, :], reduced.plain)


@pytest.mark.parametrize(
    "bounds", [BOUNDS, BOUNDS[::-1], (BOUNDS[3], None, BOUNDS[1], BOUNDS[4], BOUNDS[2])]
)
def test_bounds_do_not_disturb_one_another(bounds):
    reduced = Rows().reduced()
    together = reduced.multipliers(bounds)
    for j, bound in enumerate(bounds):
        np.testing.assert_array_equal(together[..., j, :], reduced.multipliers([bound])[..., 0, :])


def test_fitted_values_meet_the_bound():
    """`at` predicts other rows: those of the training part, whose mean gap is the epsilon."""
    rows = Rows()
    parts, contrasts = rows.parts(), rows.contrasts()
    reduced = contrasts.reduce(CPU, parts.outer)
    bounds = (Bound(0.0), Bound(0.002), Bound(0.02, "sum"))
    fitted = reduced.at_rows(contrasts, parts.fitted).predictions(reduced.multipliers(bounds))
    for part, (train, _) in enumerate(rows.folds):
        expected = compare(rows.members(train))
        for i in range(len(ALPHAS)):
            plain = np.abs(expected.gaps(parts.fitted[i, part, : len(train), 0]))
            for j, bound in enumerate(bounds):
                gaps = np.abs(expected.gaps(fitted[i, part, j, : len(train)]))
                reached, most = (
                    (gaps.mean(), plain.mean())
                    if bound.scale == "mean"
                    else (2 * gaps.sum(), 2 * plain.sum())
                )
                assert reached == pytest.approx(min(bound.epsilon, most), abs=1e-10)


@pytest.mark.parametrize("n_groups", [2, 3])
def test_one_part_of_many_and_some_of_its_rows(n_groups):
    rows = Rows(n_groups=n_groups, n_bins=3)
    reduced = rows.reduced()
    bounds = BOUNDS if n_groups == 2 else BOUNDS[:2]
    whole = reduced.predictions(reduced.multipliers(bounds))
    for part, (_, test) in enumerate(rows.folds):
        chosen = np.arange(whole.shape[-1]) < len(test)
        chosen[0] = False
        one = reduced.of_part(part, chosen)
        found = one.predictions(one.multipliers(bounds))
        assert one.n_pairs == reduced.n_pairs[part]
        np.testing.assert_allclose(found, whole[:, part][..., chosen], atol=1e-12)


@pytest.mark.parametrize("n_groups", [2, 3])
def test_torch_gives_the_same(n_groups):
    torch = pytest.importorskip("torch", reason="torch is not installed (make test-torch)")
    bounds = BOUNDS if n_groups == 2 else BOUNDS[:2]
    expected = Rows(n_groups=n_groups, n_bins=3).reduced()
    found = Rows(n_groups=n_groups, n_bins=3, device=TorchDevice("cpu", torch)).reduced()
    assert isinstance(found.gram, torch.Tensor)
    host = found.on_host()
    assert host.device == CPU
    assert isinstance(host.gram, np.ndarray)
    nu = expected.multipliers(bounds)
    for other in (found, host):
        np.testing.assert_allclose(other.multipliers(bounds), nu, atol=1e-7 * np.abs(nu).max())
        predictions = other.predictions(other.multipliers(bounds))
        np.testing.assert_allclose(predictions, expected.predictions(nu), atol=1e-9)
