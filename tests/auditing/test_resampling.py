"""Rows drawn again and groups shuffled: one draw is the same figure of other rows.

Unit vectors as quantities show what a draw did: the sum of the i-th in a stratum is the weight of
row i there.
"""

from dataclasses import replace

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import gferm
from gferm.auditing import draws
from gferm.auditing.draws import Strata, Term
from gferm.auditing.evidence import EVERYBODY, WITHIN_BINS, StratumMeans, gather_evidence
from gferm.auditing.measures import MEASURES
from gferm.auditing.outcome import read_outcome
from tests.auditing.cases import CASES, EDGES, NUMBERS, Case, letters, make_numbers

N_DRAWS = 6
SINGLE = {"y_bins": EDGES}
BY_COUNTS = {"dgf_weighted"}  # pairs keep the weights of the sample in every draw


def evidence_of(case, **options):
    audit = case.audit(**{"n_boot": N_DRAWS, "n_permutations": N_DRAWS} | options)
    outcome = read_outcome(audit.rows, "linear")
    return gather_evidence(audit.rows, outcome, audit.parameters), audit


def units(n):
    return {f"row {i}": Term(row) for i, row in enumerate(np.eye(n))}


def measure(name):
    return next(one for one in MEASURES if one.name == name)


def figures_of(means):
    found = {one.name: one.value(means) for one in MEASURES}
    return {name: values for name, values in found.items() if values is not None}


@pytest.mark.parametrize(
    "name", ["two groups", "marginal", "marginal, weights", "mixed", "0 and 1"]
)
def test_a_draw_is_the_audit_of_rows_with_its_weights(name):
    case = CASES[name]()
    evidence, audit = evidence_of(case, n_permutations=0)
    strata, terms = Strata.of(audit.rows.membership), units(audit.n_rows)
    rng = audit.parameters.begin_random_numbers()  # once more the same
    sums = draws.sum_draws(strata, terms, N_DRAWS, rng)
    weights = np.array([sums[row].sum(axis=1) for row in terms]).T
    if case.weight is not None:
        weights *= audit.rows.weight
    drawn = figures_of(evidence.drawn)
    fixed = case.bins | {"y_bins": audit.rows.cells.label_bins}
    fixed["s_bins"] = dict(enumerate(audit.rows.cells.scheme.sensitive_bins))
    for draw, weight in enumerate(weights):
        again = Case(case.y, case.f, case.s, weight, fixed).audit(n_boot=0, n_permutations=0)
        for one in drawn.keys() - BY_COUNTS:
            assert drawn[one][draw] == pytest.approx(again.figures[one].value, rel=1e-8), one


def test_the_weights_of_a_draw_are_exponential():
    rows = CASES["marginal"]().audit(n_boot=0, n_permutations=0).rows
    terms = units(rows.y.size)
    drawn = draws.sum_draws(Strata.of(rows.membership), terms, 100, np.random.default_rng(0))
    weights = np.concatenate([drawn[name].sum(axis=1) for name in terms])
    n = weights.size
    assert weights.mean() == pytest.approx(1, abs=5 / np.sqrt(n))
    assert weights.var() == pytest.approx(1, abs=5 * np.sqrt(8 / n))


@pytest.mark.parametrize("name", ["two groups", "five groups"])
def test_drawn_means_of_cells_spread_like_those_of_rows_drawn_again(name):
    evidence, audit = evidence_of(CASES[name](), n_boot=4000)
    part, f = audit.rows.cells.partitions[0], audit.rows.predictions
    drawn = evidence.drawn.cells["prediction"].tables[0].reshape(4000, -1)
    for cell, n in enumerate(part.counts.ravel()):
        rows = audit.rows.membership.cell_codes[0] == cell
        assert drawn[:, cell].mean() == pytest.approx(f[rows].mean(), abs=5 * f.std() / 60 / n**0.5)
        assert drawn[:, cell].std() == pytest.approx(f[rows].std() / np.sqrt(n + 1), rel=0.1)


@pytest.mark.parametrize("everybody", [False, True])
@pytest.mark.parametrize("name", ["two groups", "marginal", "outside", "empty cells"])
def test_shuffles_move_rows_within_label_bins_and_keep_strangers_apart(name, everybody):
    rows = CASES[name]().audit(n_boot=0, n_permutations=0).rows
    strata, terms = Strata.of(rows.membership), units(rows.y.size)
    rng = np.random.default_rng(0)
    moved = draws.sum_shuffles(strata, terms, N_DRAWS, rng, everybody=everybody)
    places = np.array([moved[row] for row in terms])  # (rows, draws, strata), 1 where it lies now
    np.testing.assert_array_equal(places.sum(axis=2), 1)
    np.testing.assert_array_equal(places.sum(axis=0), np.tile(strata.sizes, (N_DRAWS, 1)))
    now = places.argmax(axis=2)
    for codes, groups in zip(rows.membership.group_codes, strata.groups, strict=True):
        np.testing.assert_array_equal(groups[now] < 0, np.tile(codes < 0, (N_DRAWS, 1)).T)
    stays = strata.label_codes[now] == rows.membership.label_codes[:, None]
    assert stays.all() != everybody
    home = np.empty(rows.y.size, dtype=int)
    home[strata.order] = np.repeat(np.arange(strata.sizes.size), strata.sizes)
    assert (now != home[:, None]).any()


@pytest.mark.parametrize("name", ["mean_gap", "residual_gap", "dgf"])
def test_a_weight_for_each_group_changes_no_comparison_of_means_nor_its_chance(name):
    # weights stay in their places: moved along, the groups' weights would mix with each other
    case = CASES["five groups"]()
    weight = np.array([1.0, 3.0, 0.5, 10.0, 2.0])[np.unique(case.s, return_inverse=True)[1]]
    found, plain = (
        Case(case.y, case.f, case.s, each, case.bins).audit().figures[name]
        for each in (weight, None)
    )
    assert found.value == pytest.approx(plain.value)
    assert found.interval == pytest.approx(plain.interval)
    assert found.chance.mean == pytest.approx(plain.chance.mean)
    assert found.chance.p == plain.chance.p


def test_a_shuffle_is_the_audit_of_other_groups():
    case = CASES["five groups"]()
    rows = case.audit(n_boot=0, n_permutations=0).rows
    strata, terms = Strata.of(rows.membership), units(400)
    names = np.array(rows.cells.partitions[0].groups)
    for key, everybody in ((WITHIN_BINS, False), (EVERYBODY, True)):
        audit = case.audit(n_boot=0, n_permutations=0)
        outcome = read_outcome(audit.rows, "linear")
        both = {name: Term(own) for name, own in outcome.quantities.items()} | terms
        rng = np.random.default_rng(1)
        sums = draws.sum_shuffles(strata, both, N_DRAWS, rng, everybody=everybody)
        outcome, least = replace(outcome, numeric=()), audit.parameters.min_cell_size
        found = figures_of(StratumMeans(audit.rows, outcome, strata, 1.0, least).of(sums))
        now = np.array([sums[row] for row in terms]).argmax(axis=2)
        for draw in range(N_DRAWS):
            groups = names[strata.groups[0][now[:, draw]]]
            again = Case(case.y, case.f, groups, bins=case.bins).audit(n_boot=0, n_permutations=0)
            for one in found:
                if measure(one).shuffled == key:
                    assert found[one][draw] == pytest.approx(again.figures[one].value), one


@pytest.mark.parametrize("name", ["mean_gap", "dgf", "mean_distance"])
def test_chance_agrees_with_shuffling_by_hand(name):
    y, f, s = make_numbers(n=90, seed=3)
    f -= 0.15 * s  # unfair, but not beyond doubt
    found = Case(y, f, s, bins=SINGLE).audit(n_boot=0, n_permutations=2000).figures[name]
    codes = np.clip(np.digitize(y, EDGES) - 1, 0, 2)
    values = f if name != "dgf" else (np.digitize(f, EDGES) - 1 == codes) * 1.0
    if name == "mean_distance":
        codes = np.zeros_like(codes)

    def figure(s):
        bins = [codes == k for k in np.unique(codes)]
        return np.mean(
            [abs(values[k & (s == 0)].mean() - values[k & (s == 1)].mean()) for k in bins]
        )

    rng, by_hand = np.random.default_rng(0), []
    for _ in range(1000):
        shuffled = s.copy()
        for k in np.unique(codes):
            shuffled[codes == k] = rng.permutation(s[codes == k])
        by_hand.append(figure(shuffled))
    by_hand, noise = np.array(by_hand), np.sqrt(1 / 1000 + 1 / 2000)
    assert found.value == pytest.approx(figure(s))
    assert found.chance.mean == pytest.approx(by_hand.mean(), abs=4 * by_hand.std() * noise)
    p = (by_hand >= found.value - 1e-12).mean()
    assert 0.005 < p < 0.9
    assert found.chance.p == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p)) * noise + 1e-3)
    share_below = (by_hand < found.chance.high - 1e-12).mean()
    assert share_below <= 0.95 + 4 * np.sqrt(0.05 * 0.95) * noise
    assert (by_hand <= found.chance.high + 1e-12).mean() >= 0.95 - 4 * np.sqrt(0.05 * 0.95) * noise


def test_the_same_seed_gives_the_same_numbers_and_another_gives_others():
    case = CASES["mixed"]()
    assert case.audit().to_json() == case.audit(random_state=0).to_json()
    assert case.audit().to_json() != case.audit(random_state=1).to_json()
    state = np.random.RandomState(3)
    assert case.audit(random_state=3).to_json() == case.audit(random_state=state).to_json()


def test_threads_do_not_matter(monkeypatch):
    monkeypatch.setattr(draws, "BLOCK", 2000)  # several blocks
    case = CASES["five groups"]()
    with threadpool_limits(1, user_api="blas"):
        alone = case.audit(n_boot=40, n_permutations=40)
    with threadpool_limits(2, user_api="blas"):
        together = case.audit(n_boot=40, n_permutations=40)
    assert alone.to_json() == together.to_json()


@pytest.mark.parametrize("block", [1, 1000, 2**22])
def test_blocks_of_any_size_hold_every_draw(monkeypatch, block):
    case = CASES["two groups"]()
    usual = case.audit(n_boot=800, n_permutations=800).figures["mean_gap"]
    monkeypatch.setattr(draws, "BLOCK", block)
    found = case.audit(n_boot=800, n_permutations=800).figures["mean_gap"]
    assert found.chance.mean == pytest.approx(usual.chance.mean, rel=0.15)
    np.testing.assert_allclose(found.interval, usual.interval, rtol=0.15)


@pytest.mark.parametrize(
    "name", ["two groups", "five groups", "marginal", "outside", "age in bins"]
)
def test_whole_weights_are_repeated_rows_in_every_figure_and_mean(name):
    # counts, what depends on them (small cells, intervals of rates) and chance are of rows
    case, times = NUMBERS[name](), np.random.default_rng(0).integers(1, 4, 400)
    bins = case.bins | {"s_bins": gferm.Bins.edges([0, 30, 45, 90])} if "age" in name else case.bins
    columns = case.s if isinstance(case.s, dict) else {"s": case.s}
    repeated = Case(
        np.repeat(case.y, times),
        np.repeat(case.f, times),
        {name: np.repeat(s, times) for name, s in columns.items()},
        bins=bins,
    ).audit(n_boot=0, n_permutations=0)
    weighted = Case(case.y, case.f, columns, times, bins).audit(n_boot=0, n_permutations=0)
    for one, figure in repeated.figures.items():
        assert weighted.figures[one].value == pytest.approx(figure.value, rel=1e-9), one
    for cells in ("cells", "groups"):
        for mean in ("label", "prediction", "residual", "error", "rate"):
            np.testing.assert_allclose(
                weighted.to_frame(cells)[mean].astype(float),
                repeated.to_frame(cells)[mean].astype(float),
            )


def test_rows_without_weight_are_no_rows():
    case, rng = CASES["two groups"](), np.random.default_rng(99)
    weight = rng.integers(0, 2, 400) * rng.uniform(1, 2, 400)
    kept = weight > 0
    left_out = Case(case.y[kept], case.f[kept], case.s[kept], weight[kept], case.bins)
    assert Case(case.y, case.f, case.s, weight, case.bins).audit().to_json() == (
        left_out.audit().to_json()
    )


def test_many_attributes_still_have_intervals_with_width():
    # their crossings hold a row each, whose mean would never move if rows were drawn within them
    y, f, _ = make_numbers(n=200)
    columns = {f"s{j}": letters(np.random.default_rng(j).integers(0, 3, 200)) for j in range(6)}
    one = Case(y, f, columns["s0"], bins=SINGLE).audit(n_boot=400).cells
    all_of_them = (
        Case(y, f, columns, bins=SINGLE | {"intersectional": False}).audit(n_boot=400).cells
    )
    widths = [
        np.ptp([c.prediction_interval for c in cells[:9]], axis=1) for cells in (one, all_of_them)
    ]
    np.testing.assert_allclose(*widths, rtol=0.3)
