"""Sums over rows: what is subtracted leaves the problem of the other rows, with all its digits."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import gferm.features.moments as moments_file
from gferm.arrays.blocks import row_blocks
from gferm.arrays.device import CPU
from gferm.features.kernel import Kernel
from gferm.features.landmarks import KernelRows
from gferm.features.moments import Moments, sum_over, training_moments
from gferm.features.origin import Origin
from gferm.solver.crossval import Fold
from tests.systems import linear_system

N, D = 40, 4
WIDTH = D + 2 + 1  # features, targets, and a one
FIELDS = [name for name in Moments.__dataclass_fields__ if name != "origin"]
KINDS = {
    "dense": np.asarray,
    "Fortran order": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "csr": lambda X: sparse.csr_array(X * (X > 0.3)),
    "csr float32": lambda X: sparse.csr_array((X * (X > 0.3)).astype(np.float32)),
}


class Rows:
    """Features, several targets, weights, and contrasts between two halves of any part."""

    def __init__(self, seed=0, n=N, d=D, n_targets=2, offset=0.0, weighted=False, kind="dense"):
        self.rng = np.random.default_rng(seed)
        self.X = KINDS[kind](self.rng.normal(size=(n, d)) + offset)
        self.targets = self.rng.normal(size=(n, n_targets)) + 3.0
        self.weight = self.rng.uniform(0.1, 3.0, n) if weighted else None

    def columns(self, rows):
        """C of a part: every column sums to zero, one entry for each time that a row is there."""
        C = self.rng.uniform(0.5, 1.5, (len(rows), 2)) * (np.arange(len(rows))[:, None] % 3 > 0)
        half = len(rows) // 2
        C[:half] /= C[:half].sum(axis=0)
        C[half:] /= -C[half:].sum(axis=0)
        return sparse.csr_array(C)

    def part(self, rows):
        weight = None if self.weight is None else self.weight[rows]
        return self.X[rows], self.targets[rows], weight


def systems(rows, parts, *, fit_intercept, alpha=1.0):
    """The system of each part by what is taken away, and as `linear_system` assembles it."""
    columns = [rows.columns(part) for part in parts]
    folds = [
        Fold(part, np.empty(0, dtype=int), None, C) for part, C in zip(parts, columns, strict=True)
    ]
    options = {"fit_intercept": fit_intercept}
    found = training_moments(
        rows.X,
        rows.targets,
        rows.weight,
        [(fold.train, fold.spread_columns(len(rows.targets))) for fold in folds],
        alpha=alpha,
        **options,
    )
    for part, C, (moments, probe) in zip(parts, columns, found, strict=True):
        X, targets, weight = rows.part(part)
        system, aims = moments.system(probe, X, weight, **options)
        yield system, aims, [linear_system(X, y, C, weight=weight, **options) for y in targets.T]


def assert_same(system, aims, expected, digits=1e-12, y_size=1.0):
    """Compare in the units of each feature."""
    unit = np.sqrt(np.maximum(expected[0].matrix.diagonal(), 1e-300))
    unit[expected[0].matrix.diagonal() == 0.0] = np.sqrt(unit.max() ** 2 * 1e-3)
    np.testing.assert_allclose(
        system.matrix / np.outer(unit, unit),
        expected[0].matrix / np.outer(unit, unit),
        rtol=0,
        atol=digits,
    )
    np.testing.assert_allclose(
        system.probe / unit[:, None], expected[0].probe / unit[:, None], rtol=0, atol=10 * digits
    )
    assert system.steering is system.probe
    far = np.abs(expected[0].anchor).max() + unit.max()
    np.testing.assert_allclose(system.anchor, expected[0].anchor, rtol=0, atol=digits * far)
    assert system.target is aims[0]
    for aim, one in zip(aims, expected, strict=True):
        size = np.sqrt(one.target.norm2)
        np.testing.assert_allclose(
            aim.vector / unit, one.target.vector / unit, rtol=0, atol=10 * digits * size * y_size
        )
        assert aim.level == pytest.approx(one.target.level, rel=1e-12, abs=1e-12)
        assert aim.norm2 == pytest.approx(one.target.norm2, rel=10 * digits * y_size)
    assert system.centred == expected[0].centred


@given(
    seed=st.integers(0, 1000),
    weighted=st.booleans(),
    fit_intercept=st.booleans(),
    offset=st.sampled_from([0.0, 5.0]),
    kind=st.sampled_from(sorted(KINDS)),
    n_targets=st.integers(1, 3),
)
@settings(deadline=None, max_examples=60)
def test_a_part_has_the_system_of_its_own_rows(
    seed, weighted, fit_intercept, offset, kind, n_targets
):
    rows = Rows(seed, offset=offset, weighted=weighted, kind=kind, n_targets=n_targets)
    rng = np.random.default_rng(seed + 1)
    parts = [
        rng.permutation(N)[:30],  # most of the rows, in no order
        np.arange(N),  # all
        np.sort(rng.permutation(N)[: N // 2]),  # half
        rng.permutation(N)[:12],  # few
        np.sort(rng.integers(0, N, N)),  # a bootstrap sample
        rng.integers(0, 10, 90),  # few rows, many times
        np.r_[np.arange(N), np.arange(5)],  # all, and some again
    ]
    for found in systems(rows, parts, fit_intercept=fit_intercept):
        assert_same(*found)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_the_system_is_what_it_says(kind, weighted, fit_intercept):
    """By plain sums over centred rows."""
    rows = Rows(offset=2.0, weighted=weighted, kind=kind)
    part = np.arange(5, N)
    ((system, aims, _),) = systems(rows, [part], fit_intercept=fit_intercept)
    X, targets, weight = rows.part(part)
    X = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=float)
    weight = np.ones(len(part)) if weight is None else weight
    mean = np.average(X, axis=0, weights=weight) if fit_intercept else np.zeros(D)
    level = np.average(targets, axis=0, weights=weight) if fit_intercept else np.zeros(2)
    np.testing.assert_allclose(system.matrix, (X - mean).T @ (weight[:, None] * (X - mean)))
    np.testing.assert_allclose(system.anchor, mean, atol=1e-14)
    for j, aim in enumerate(aims):
        residual = targets[:, j] - level[j]
        np.testing.assert_allclose(aim.vector, (X - mean).T @ (weight * residual), atol=1e-12)
        assert aim.level == pytest.approx(level[j])
        assert aim.norm2 == pytest.approx(weight @ residual**2)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_sums_add_and_subtract(kind, weighted):
    rows = Rows(weighted=weighted, kind=kind)
    data = rows.X, rows.targets, rows.weight
    origin = Origin.near_the_mean(*data, fit_intercept=True)
    some, others = np.split(np.random.default_rng(0).permutation(N), [13])
    whole, _ = sum_over(*data, origin)
    one, _ = sum_over(*data, origin, rows=some)
    other, _ = sum_over(*data, origin, rows=others)
    for name in FIELDS:
        expected = getattr(other, name)
        np.testing.assert_allclose(getattr(whole - one, name), expected, rtol=1e-11, atol=1e-12)
        added = getattr(one, name) + expected
        np.testing.assert_allclose(added, getattr(whole, name), rtol=1e-11, atol=1e-12)
    assert (whole - one).origin is origin


@pytest.mark.parametrize("rows_per_block", [1, 7, 1000])
@pytest.mark.parametrize("kind", KINDS)
def test_blocks_do_not_change_the_sums(kind, rows_per_block, monkeypatch):
    rows = Rows(weighted=True, kind=kind)
    data, some = (rows.X, rows.targets, rows.weight), np.arange(0, N, 2)
    columns = sparse.csr_array(rows.rng.normal(size=(N, 3)))
    origin = Origin.near_the_mean(*data, fit_intercept=True)
    expected = [sum_over(*data, origin, columns), sum_over(*data, origin, columns, some)]
    monkeypatch.setattr(
        moments_file,
        "row_blocks",
        lambda n, d, doubles=0: row_blocks(n, d, rows_per_block * d),
    )
    found = [sum_over(*data, origin, columns), sum_over(*data, origin, columns, some)]
    for (moments, probe), (moments_before, probe_before) in zip(found, expected, strict=True):
        np.testing.assert_allclose(probe, probe_before, atol=1e-12)
        for name in FIELDS:
            before = getattr(moments_before, name)
            np.testing.assert_allclose(getattr(moments, name), before, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("rows_per_block", [3, 1000])
@pytest.mark.parametrize("weighted", [True, False])
def test_data_far_from_the_origin_keep_their_digits(weighted, rows_per_block, monkeypatch):
    monkeypatch.setattr(
        moments_file,
        "row_blocks",
        lambda n, d, doubles=0: row_blocks(n, d, rows_per_block * d),
    )
    near = Rows(weighted=weighted)
    far = Rows(weighted=weighted)
    near.X = (near.X * 2.0**20).round() / 2.0**20  # so that both are the same numbers, exactly
    far.X = near.X + 2.0**20 * np.arange(1, D + 1)
    far.targets = near.targets + 1e6
    parts = [np.arange(8, N), np.arange(9), np.arange(0, N, 2), np.r_[np.arange(N), 0, 1]]
    here, there = (list(systems(rows, parts, fit_intercept=True)) for rows in (near, far))
    for (_, _, expected), (system, aims, _) in zip(here, there, strict=True):
        diagonal = np.sqrt(expected[0].matrix.diagonal())
        np.testing.assert_allclose(
            system.matrix, expected[0].matrix, rtol=0, atol=1e-12 * diagonal.max() ** 2
        )
        for aim, one in zip(aims, expected, strict=True):
            np.testing.assert_allclose(aim.vector, one.target.vector, rtol=0, atol=1e-7)
            assert aim.level - 1e6 == pytest.approx(one.target.level, abs=1e-9)


def held_out_most(case):
    """Features of which the rows that are held out have most, or all."""
    rows, part = Rows(seed=5), np.arange(6, N)
    if case == "outlier":
        rows.X[2, 1] = 1e8
    elif case == "other units":
        rows.X[:6, 1] *= 1e7
    elif case == "rare":
        rows.X[6:, 1] = 0.0
    elif case == "constant without them":
        rows.X[6:, 1] = 1 / 3
    elif case == "trend":
        rows.X[:, 1] = np.exp(np.linspace(20, 0, N))
    return rows, part


@pytest.mark.parametrize("alpha", [0.0, 1e-12, 1e-3])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(
    "case", ["outlier", "other units", "rare", "constant without them", "trend", "ordinary"]
)
def test_what_is_held_out_takes_no_digits_along(case, weighted, fit_intercept, alpha):
    rows, part = held_out_most(case)
    rows.weight = np.random.default_rng(0).uniform(0.5, 2.0, N) if weighted else None
    ((system, aims, expected),) = systems(rows, [part], fit_intercept=fit_intercept, alpha=alpha)
    diagonal = expected[0].matrix.diagonal() + alpha
    gone = diagonal < 1e-20
    unit = np.where(gone, np.inf, np.sqrt(np.maximum(diagonal, 0.0)))
    error = np.abs(system.matrix - expected[0].matrix) / np.outer(unit, unit)
    assert error.max() <= (1e-10 if case != "ordinary" else 1e-13)
    error = np.abs(aims[0].vector - expected[0].target.vector) / unit
    assert error.max() <= 1e-10 * np.sqrt(expected[0].target.norm2)
    # where nothing of a feature is left, nothing is
    assert np.abs(system.matrix[gone]).max(initial=0.0) <= 1e-20
    assert np.abs(aims[0].vector[gone]).max(initial=0.0) <= 1e-14
    assert not system.probe[gone].any()


def test_ordinary_parts_are_found_by_subtracting(monkeypatch):
    rows, seen = Rows(), []
    original = moments_file.sum_over

    def spy(*given, **options):
        taken = options.get("rows", given[5] if len(given) > 5 else None)
        seen.append(N if taken is None else len(taken))
        return original(*given, **options)

    monkeypatch.setattr(moments_file, "sum_over", spy)
    parts = [np.delete(np.arange(N), range(k, k + 8)) for k in range(0, N, 8)]
    parts += [np.arange(10), np.r_[np.arange(N), 0]]
    list(systems(rows, parts, fit_intercept=True))
    assert seen[0] == N
    assert [size for size in seen[1:] if size != N][:5] == [8] * 5


def test_groups_that_agree_exactly_leave_no_contrast():
    rng = np.random.default_rng(0)
    X = np.tile(rng.normal(size=(10, 3)) + 1e3, (4, 1))
    C = np.zeros((40, 1))
    C[:10], C[10:20] = 0.1, -0.1
    columns = sparse.csr_array(C)
    targets = rng.normal(size=(40, 1))
    part = np.arange(30)
    ((moments, probe),) = training_moments(
        X, targets, None, [(part, columns)], alpha=1.0, fit_intercept=True
    )
    system, _ = moments.system(probe, X[part], None, fit_intercept=True)
    assert not system.probe.any()


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("kind", [*KINDS, "kernel"])
def test_threads_do_not_change_the_sums_nor_the_rows(kind, weighted, monkeypatch):
    rows = Rows(n=400, weighted=weighted, kind="dense" if kind == "kernel" else kind)
    if kind == "kernel":  # whose evaluation uses threads, too
        rows.X = KernelRows(rows.X, rows.X[:D], Kernel("laplacian", gamma=0.1), CPU)
    data = rows.X, rows.targets, rows.weight
    before = [None if part is None else part[:].copy() for part in data]
    columns = sparse.csr_array(rows.rng.normal(size=(400, 3)))
    origin = Origin.near_the_mean(*data, fit_intercept=True)
    monkeypatch.setattr(moments_file, "row_blocks", lambda n, d, doubles=0: row_blocks(n, d, 7 * d))
    found = []
    for threads in (1, 8):
        monkeypatch.setattr(moments_file, "THREADS", threads)
        monkeypatch.setattr(moments_file, "for_each", partial(in_threads, threads))
        found.append(sum_over(*data, origin, columns))
    np.testing.assert_allclose(found[1][1], found[0][1], atol=1e-11)
    for name in FIELDS:
        pair = getattr(found[1][0], name), getattr(found[0][0], name)
        np.testing.assert_allclose(*pair, rtol=1e-11, atol=1e-11)
    for part, unchanged in zip(data, before, strict=True):
        if part is not None:
            np.testing.assert_array_equal(as_dense(part[:]), as_dense(unchanged))


def in_threads(n_threads, work, items):
    with ThreadPoolExecutor(n_threads) as threads:
        list(threads.map(work, items))


def as_dense(block):
    return block.toarray() if sparse.issparse(block) else block


@pytest.mark.parametrize(
    ("room", "shares"), [(8 * WIDTH * (WIDTH + 3), 8), (8 * WIDTH * (WIDTH + 3) - 1, 1)]
)
def test_sums_that_take_much_room_are_taken_once(room, shares, monkeypatch):
    rows, taken = Rows(), []
    monkeypatch.setattr(moments_file, "THREADS", 8)
    monkeypatch.setattr(moments_file, "ROOM", room)
    monkeypatch.setattr(moments_file, "row_blocks", lambda n, d, doubles=0: row_blocks(n, d, d))
    original = moments_file.for_each
    monkeypatch.setattr(
        moments_file,
        "for_each",
        lambda work, items: taken.append(len(items)) or original(work, items),
    )
    origin = Origin.near_the_mean(rows.X, rows.targets, None, fit_intercept=True)
    found, _ = sum_over(rows.X, rows.targets, None, origin, sparse.csr_array((N, 3)))
    assert taken == [shares]
    x = rows.X - origin.x
    np.testing.assert_allclose(found.scatter, x.T @ x, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("weighted", [True, False])
def test_sums_about_any_origins_add_up_and_move(weighted):
    rows = Rows(weighted=weighted)
    data = rows.X, rows.targets, rows.weight
    near = Origin.near_the_mean(*data, fit_intercept=True)
    elsewhere = Origin(near.x + 3.0, near.y - 2.0)
    halves = np.array_split(np.arange(N), 2)
    mine, its = (
        sum_over(*data, origin, rows=half)[0]
        for half, origin in zip(halves, (near, elsewhere), strict=True)
    )
    both, swapped = mine + its, its + mine
    expected = sum_over(*data, both.origin)[0]
    for name in ("mass", "shift", "scatter", "cross", "rise", "square"):
        for found in (both, swapped.counted_from(both.origin)):
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-11)
    weight = np.ones(N) if rows.weight is None else rows.weight
    np.testing.assert_allclose(both.origin.x, np.average(rows.X, axis=0, weights=weight))


@pytest.mark.parametrize(("shift", "own"), [(0.0, False), (10.0, False), (1e4, True)])
def test_rows_far_away_have_an_origin_of_their_own(shift, own):
    rows = Rows()
    origin = Origin.near_the_mean(rows.X, rows.targets, None, fit_intercept=True)
    there = origin.or_nearer(rows.X + shift, rows.targets, None)
    assert (there is not origin) == own
    labels_far = origin.or_nearer(rows.X, rows.targets + shift, None)
    assert (labels_far is not origin) == own
    assert origin.or_nearer(rows.X[:0], rows.targets[:0], None) is origin


def test_rows_that_weigh_nothing_do_not_move_the_origin():
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(100, 3)), np.ones(100)
    X[::2] += 1e6
    weight[::2] = 1e-12
    origin = Origin.near_the_mean(X, np.zeros((100, 1)), weight, fit_intercept=True)
    assert np.abs(origin.x).max() < 1.0


@pytest.mark.parametrize("weighted", [True, False])
def test_rows_by_columns_as_frames_have_them_give_the_same_sums(weighted):
    rows = Rows(weighted=weighted, n=300)
    origin = Origin.near_the_mean(rows.X, rows.targets, rows.weight, fit_intercept=True)
    columns = sparse.csr_array(np.random.default_rng(0).normal(size=(300, 3)))
    data = rows.targets, rows.weight, origin, columns
    by_rows, probe = sum_over(np.ascontiguousarray(rows.X), *data)
    by_columns, same = sum_over(np.asfortranarray(rows.X), *data)
    np.testing.assert_allclose(by_columns.scatter, by_rows.scatter, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(by_columns.cross, by_rows.cross, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(same, probe, rtol=1e-12, atol=1e-12)
