"""GF, LGF, DGF and Δ̂ against loops over label bins, pairs of groups and rows."""

from itertools import combinations, product
from math import isnan, nan

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning

from gferm import Bins, metrics
from gferm.exceptions import OutsideBinsWarning
from gferm.fairness.fairness_losses import FAIRNESS_LOSSES
from gferm.metrics import AVERAGES, cell_rates, cell_risks, dgf, loss_general_fairness

GROUPS = "abc"
EDGES = [0, 1, 2, 3]
BINS = {"y_bins": EDGES, "s_bins": Bins.categories(GROUPS)}

# The formulas once more: pairs is a list of (|gap|, weight of cell p, weight of cell q), p < q.
AVERAGE_BY_HAND = {
    "pairs": lambda pairs, K, Q: sum(gap for gap, _, _ in pairs) / len(pairs),
    "definition": lambda pairs, K, Q: sum(gap + gap for gap, _, _ in pairs) / (K * Q * Q),
    "sum": lambda pairs, K, Q: sum(gap + gap for gap, _, _ in pairs),
    "weighted": lambda pairs, K, Q: (
        sum(gap * p * q / (p + q) for gap, p, q in pairs)
        / sum(p * q / (p + q) for _, p, q in pairs)
    ),
}
LOSS_BY_HAND = {
    "linear": lambda f, y: f - y,
    "squared": lambda f, y: (f - y) * (f - y),
    "absolute": lambda f, y: f - y if f > y else y - f,
    "zero_one": lambda f, y: 1 if (f >= 0) != (y > 0) or f == 0 else 0,
    "half_margin": lambda f, y: (1 - f) / 2 if y == 1 else (1 + f) / 2,
    "prediction": lambda f, y: f,
}
NEEDS_SIGNS = ("zero_one", "half_margin")
PAIRWISE = (metrics.dgf, metrics.general_fairness, loss_general_fairness, metrics.delta_hat)

samples = st.lists(
    st.tuples(st.integers(0, 23), st.integers(-4, 28), st.sampled_from(GROUPS), st.integers(0, 3)),
    min_size=4,
    max_size=40,
)
few = settings(max_examples=50, deadline=None)
each_average = pytest.mark.parametrize("average", AVERAGES)


def some_rows(seed=0, n=60):
    """(y, predictions, groups, weight); the cell of label bin 2 and group c is empty."""
    rng = np.random.default_rng(seed)
    y, f = rng.uniform(0, 3, n), rng.uniform(-0.5, 3.5, n)
    s = np.where((y >= 2), rng.choice(list("ab"), n), rng.choice(list("abc"), n))
    return y, f, s, rng.integers(1, 4, n).astype(float)


def bin_of(value, edges):
    for k in range(len(edges) - 1):
        if edges[k] <= value < edges[k + 1] or value == edges[-1] == edges[k + 1]:
            return k
    return None


def pairs_by_hand(y, value, s, weight, edges=EDGES, min_size=1):
    """Every populated pair as (|gap|, weight of p, weight of q); ``value(i)`` is compared."""
    pairs = []
    for k, (p, q) in product(range(len(edges) - 1), combinations(GROUPS, 2)):
        cells = [
            [i for i in range(len(y)) if bin_of(y[i], edges) == k and s[i] == g] for g in (p, q)
        ]
        if min(len(cell) for cell in cells) >= min_size:
            mass = [sum(weight[i] for i in cell) for cell in cells]
            means = [
                sum(weight[i] * value(i) for i in cell) / m
                for cell, m in zip(cells, mass, strict=True)
            ]
            pairs.append((abs(means[0] - means[1]), *mass))
    return pairs


def test_every_average_and_loss_has_a_formula_here():
    assert set(AVERAGE_BY_HAND) == set(AVERAGES)
    assert set(LOSS_BY_HAND) == set(FAIRNESS_LOSSES)


@each_average
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("min_size", [1, 8])
def test_dgf_compares_the_shares_of_predictions_in_their_label_bin(average, weighted, min_size):
    y, f, s, w = some_rows()
    w = w if weighted else np.ones(len(y))
    hit = lambda i: bin_of(f[i], EDGES) == bin_of(y[i], EDGES)  # noqa: E731
    pairs = pairs_by_hand(y, hit, s, w, min_size=min_size)
    assert 0 < len(pairs) < 9
    value = dgf(
        y,
        f,
        sensitive_features=s,
        sample_weight=w if weighted else None,
        average=average,
        min_cell_size=min_size,
        **BINS,
    )
    assert value == pytest.approx(AVERAGE_BY_HAND[average](pairs, 3, 3))


@each_average
@pytest.mark.parametrize("loss", FAIRNESS_LOSSES)
def test_lgf_compares_mean_losses(average, loss):
    y, f, s, w = some_rows()
    edges = EDGES
    if loss in NEEDS_SIGNS:
        y, f, edges = np.where(y < 1.2, -1, 1), f - 1.2, [-1.5, 0, 1.5]
        f[::5] = 0  # no decision is an error
    pairs = pairs_by_hand(y, lambda i: LOSS_BY_HAND[loss](f[i], y[i]), s, w, edges)
    expected = AVERAGE_BY_HAND[average](pairs, len(edges) - 1, 3)
    options = {"loss": loss, "average": average, "y_bins": edges, "s_bins": BINS["s_bins"]}
    value = loss_general_fairness(y, f, sensitive_features=s, sample_weight=w, **options)
    assert value == pytest.approx(expected)
    options["loss"] = lambda f, y: np.array(
        [LOSS_BY_HAND[loss](*row) for row in zip(f, y, strict=True)]
    )
    assert loss_general_fairness(y, f, sensitive_features=s, sample_weight=w, **options) == value


def test_the_paper_s_figures_are_their_literal_sums():
    y, f, s, _ = some_rows()
    one = np.ones(len(y))
    rates = pairs_by_hand(y, lambda i: bin_of(f[i], EDGES) == bin_of(y[i], EDGES), s, one)
    risks = pairs_by_hand(y, lambda i: f[i] - y[i], s, one)
    shared = {"sensitive_features": s, **BINS}
    total = {"P": sum(2 * gap for gap, _, _ in rates), "L": sum(2 * gap for gap, _, _ in risks)}
    assert metrics.general_fairness(y, f, **shared) == pytest.approx(total["P"] / 27)
    assert metrics.loss_general_fairness(y, f, **shared) == pytest.approx(total["L"] / 27)
    assert metrics.delta_hat(y, f, **shared) == pytest.approx(total["P"] - total["L"])


@pytest.mark.parametrize("loss", NEEDS_SIGNS)
def test_losses_of_the_sign_refuse_labels_zero_and_one(loss):
    with pytest.raises(ValueError, match=r"needs labels −1 and \+1, got \[0.0, 1.0\]; recode"):
        loss_general_fairness([0, 1], [0, 1], sensitive_features=["a", "b"], loss=loss, y_bins=1)


def test_unknown_names_are_errors_that_list_the_known_ones():
    with pytest.raises(ValueError, match=r"loss='hinge' is unknown.*'absolute'.*callable"):
        loss_general_fairness([0, 1], [0, 1], sensitive_features=["a", "b"], loss="hinge")
    with pytest.raises(ValueError, match=r"average='mean' is unknown.*'definition', 'pairs'"):
        dgf([0, 1], [0, 1], sensitive_features=["a", "b"], average="mean")


@pytest.mark.parametrize("metric", [*PAIRWISE, metrics.mean_distance], ids=lambda m: m.__name__)
def test_nothing_to_compare_is_nan_and_said_aloud(metric):
    with pytest.warns(UndefinedMetricWarning, match="NaN. Use fewer bins"):
        assert isnan(metric([0.1, 0.9], [0.2, 0.8], sensitive_features=["a", "a"]))


def test_groups_that_never_share_a_label_bin_are_not_called_fair():
    with pytest.warns(UndefinedMetricWarning):
        assert isnan(dgf([0.5, 1.5], [0.5, 1.5], sensitive_features=["a", "b"], **BINS))


@pytest.mark.parametrize("average", sorted(set(AVERAGES) - {"definition"}))
@pytest.mark.parametrize("metric", PAIRWISE[:1] + PAIRWISE[2:], ids=lambda m: m.__name__)
def test_empty_cells_make_no_model_look_fairer(metric, average):
    y, f, s, w = some_rows()
    shared = {"sensitive_features": s, "sample_weight": w, "average": average}
    more = {"y_bins": [-2, -1, *EDGES, 4], "s_bins": Bins.categories("zabc")}
    assert metric(y, f, **shared, **more) == pytest.approx(metric(y, f, **shared, **BINS))


@pytest.mark.parametrize("where", ["label", "group"])
def test_rows_in_no_bin_are_left_out_and_reported(where):
    y, f, s, _ = some_rows()
    expected = dgf(y, f, sensitive_features=s, **BINS)
    y, f, s = np.r_[y, [1.5, 0.5]], np.r_[f, [2.5, 0.5]], np.r_[s, ["a", "b"]]
    if where == "label":
        y[-2:] = [-1, 3.5]
    else:
        s[-2:] = ["q", "r"]
    with pytest.warns(OutsideBinsWarning, match="^2 values .* widen the outer edges"):
        assert dgf(y, f, sensitive_features=s, **BINS) == pytest.approx(expected)


def test_leaving_a_class_out_is_a_choice_and_no_warning():
    rates = cell_rates(
        [0, 1, 1], [0, 1, 0], sensitive_features=["a", "a", "b"], y_bins=Bins.categories([1])
    )
    np.testing.assert_array_equal(rates.values, [[1, 0]])
    np.testing.assert_array_equal(rates.counts, [[1, 1]])


@each_average
@few
@given(rows=samples)
def test_weights_repeat_rows_and_a_weight_of_zero_removes_one(average, rows):
    rows = [*rows, (5, 5, "a", 1), (6, 20, "b", 2)]  # one pair at least
    y, f, s, w = (np.array(part) for part in zip(*rows, strict=True))
    times = w.astype(int)
    for metric in (dgf, loss_general_fairness, metrics.delta_hat):
        weighted = metric(
            y / 8, f / 8, sensitive_features=s, sample_weight=w, average=average, **BINS
        )
        repeated = metric(
            *(np.repeat(v / 8, times) for v in (y, f)),
            sensitive_features=np.repeat(s, times),
            average=average,
            **BINS,
        )
        assert weighted == pytest.approx(repeated, abs=1e-12)


@few
@given(
    samples,
    st.randoms(use_true_random=False),
    st.permutations("uvw"),
    st.sampled_from([0.25, 4.0]),
    st.integers(-3, 3),
)
def test_row_order_group_names_units_and_origin_do_not_matter(rows, random, renamed, scale, shift):
    rows = [*rows, (5, 5, "a", 1), (6, 20, "b", 2)]
    y, f, s, _ = (np.array(part) for part in zip(*rows, strict=True))
    before = dgf(y / 8, f / 8, sensitive_features=s, **BINS)
    order = random.sample(range(len(y)), len(y))
    after = dgf(
        scale * y[order] / 8 + shift,
        scale * f[order] / 8 + shift,
        sensitive_features=[renamed[GROUPS.index(g)] for g in s[order]],
        y_bins=[scale * t + shift for t in EDGES],
    )
    assert after == pytest.approx(before, abs=1e-12)


def test_several_attributes_are_crossed_or_pooled():
    y, f, s, w = some_rows(n=120)
    t = np.where(w == 1, "x", "y")
    shared = {"y_bins": EDGES, "average": "pairs"}
    both = dgf(y, f, sensitive_features={"s": s, "t": t}, **shared)
    joined = dgf(y, f, sensitive_features=[a + b for a, b in zip(s, t, strict=True)], **shared)
    assert both == pytest.approx(joined)
    pooled = dgf(y, f, sensitive_features={"s": s, "t": t}, intersectional=False, **shared)
    hit = lambda i: bin_of(f[i], EDGES) == bin_of(y[i], EDGES)  # noqa: E731
    as_groups = np.where(t == "x", "a", "b")
    gaps = [pair[0] for g in (s, as_groups) for pair in pairs_by_hand(y, hit, g, np.ones(120))]
    assert pooled == pytest.approx(np.mean(gaps))


def test_the_frame_shows_every_cell_with_its_count():
    y, f, s, _ = some_rows()
    frame = cell_risks(y, f, sensitive_features=pd.Series(s, name="team"), **BINS).to_frame()
    cells = list(product(range(3), GROUPS))
    rows = {c: [i for i in range(len(y)) if (bin_of(y[i], EDGES), s[i]) == c] for c in cells}
    assert frame["attribute"].eq("team").all()
    assert list(zip(frame["label_bin"], frame["group"], strict=True)) == [
        (["[0, 1)", "[1, 2)", "[2, 3]"][k], g) for k, g in cells
    ]
    assert frame["count"].tolist() == [len(rows[c]) for c in cells]
    assert frame["count"].min() == 0
    means = [np.mean(f[rows[c]] - y[rows[c]]) if rows[c] else nan for c in cells]
    np.testing.assert_allclose(frame["value"], means)
