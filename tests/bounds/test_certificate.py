"""certificate(): the held-out intervals by loops, what does not matter, and what is refused."""

import json
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn.dummy import DummyRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gferm.metrics
from gferm import Bins, Certificate, FairClassifier, FairClassifierCV, FairRegressor, certificate
from gferm.bounds.cell_intervals import gap_intervals, largest_sum
from gferm.bounds.concentration import of_means
from gferm.metrics import AVERAGES
from tests.bounds.population import EDGES, S_BINS, draw

X, Y, S = draw(500, np.random.default_rng(0))
NEW = draw(400, np.random.default_rng(1))
BINS = {"y_bins": EDGES, "s_bins": S_BINS}
WORDS = np.array(["low", "middle", "high"])


def classes(y, n=2):
    return WORDS[np.searchsorted([0.45, 0.65][: n - 1], y)]


@pytest.fixture(scope="module")
def model():
    return FairRegressor(epsilon=0.01, gamma=0.5, **BINS).fit(X, Y, sensitive_features=S)


@pytest.fixture(scope="module")
def classifier():
    model = FairClassifier(kernel="linear", epsilon=0.01, alpha=0.1, s_bins=S_BINS)
    return model.fit(X, classes(Y), sensitive_features=S)


def certify(model, rows=NEW, **options):
    x, y, s = rows
    return certificate(model, x, y, sensitive_features=s, **options)


def quantity(found, name):
    (one,) = (one for one in found.held_out.quantities if one.name == name)
    return one


def in_cells(values, y, s):
    k = (y >= EDGES[1]).astype(int)
    return {(i, q): values[(k == i) & (s == q)] for i in (0, 1) for q in (0, 1)}


def test_rates_are_exact_intervals_at_their_part_of_delta(model):
    x, y, s = NEW
    found = certify(model, delta=0.1)
    assert found.held_out.n_intervals == 3 * 4  # rate, prediction, residual
    rates = quantity(found, "rate")
    predicted = model.predict(x)
    hit = (predicted >= EDGES[1]) == (y >= EDGES[1])
    for (k, q), values in in_cells(hit, y, s).items():
        test = binomtest(int(values.sum()), values.size)
        expected = test.proportion_ci(1 - 0.1 / 12, method="exact")
        assert rates.seen[0][k, q] == pytest.approx(values.mean())
        assert rates.low[0][k, q] == pytest.approx(expected.low)
        assert rates.high[0][k, q] == pytest.approx(expected.high)
    for low, high in (tables[0] for tables in rates.beside.values()):
        assert (low <= rates.low[0] + 1e-12).all()
        assert (high >= rates.high[0] - 1e-12).all()


@pytest.mark.parametrize("name", ["prediction", "residual"])
def test_means_are_intervals_of_clipped_values(name):
    x, y, s = NEW
    low, high = 0.2, 1.0
    model = LinearRegression().fit(X, 2 * Y - 0.6)  # leaves the range of y on both sides
    found = certify(model, delta=0.1, y_range=(low, high), **BINS)
    f = np.clip(model.predict(x), low, high)
    values, start, width = (f, low, 0.8) if name == "prediction" else (f - y, -0.8, 1.6)
    one = quantity(found, name)
    assert one.span == pytest.approx((start, start + width))
    for (k, q), cell in in_cells((values - start) / width, y, s).items():
        given = (np.array([part]) for part in (cell.mean(), cell.var(ddof=1), cell.size))
        bounds = of_means(*given, 0.1 / 12)
        assert one.seen[0][k, q] == pytest.approx(start + width * cell.mean())
        assert one.low[0][k, q] == pytest.approx(start + width * bounds[0][0])
        assert one.high[0][k, q] == pytest.approx(start + width * bounds[1][0])
    clipped = np.count_nonzero(f != model.predict(x))
    assert clipped > 0
    assert found.held_out.clipped == clipped
    assert any(f"{clipped} of 400" in note for note in found.notes)
    assert ", clipped" in str(found)


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("s_bins", [S_BINS, [0, 0.2, 0.3, 1, 2]], ids=["2 groups", "4 groups"])
def test_averages_are_those_of_the_metrics_inside_their_intervals(average, s_bins):
    x, y, _ = NEW
    s = np.random.default_rng(3).choice([0.0, 0.25, 0.5], size=y.size)  # the last group is empty
    s = s if len(s_bins) > 3 else NEW[2]
    predictor = LinearRegression().fit(X, Y)
    bins = {"y_bins": EDGES, "s_bins": s_bins}
    found = certificate(predictor, x, y, sensitive_features=s, **bins)
    interval = found.held_out.averages[average]
    expected = gferm.metrics.dgf(
        y, predictor.predict(x), sensitive_features=s, average=average, **bins
    )
    assert interval.seen == pytest.approx(expected)
    assert interval.low <= interval.seen <= interval.high <= interval.largest
    rates = quantity(found, "rate")
    n_groups = len(s_bins) - 1
    pairs, lowest = list(combinations(range(n_groups), 2)), 0.0
    counts = np.array([[cell.size for cell in row] for row in by_bin_and_group(y, s, s_bins)])
    weight = np.zeros((2, len(pairs)))
    for k in (0, 1):
        for j, (p, q) in enumerate(pairs):
            both = min(counts[k, p], counts[k, q]) > 0
            harmonic = 2 / (1 / counts[k, p] + 1 / counts[k, q]) if both else 0.0
            of_all = 2 / (2 * n_groups**2) if average == "definition" else 2.0
            weight[k, j] = {"pairs": both, "weighted": harmonic}.get(average, of_all)
    if average in ("pairs", "weighted"):
        weight /= weight.sum()
    lowest = (gap_intervals(rates.low[0], rates.high[0])[0] * weight).sum()
    assert interval.low == pytest.approx(lowest)
    assert interval.high == pytest.approx(largest_sum(rates.low[0], rates.high[0], weight))
    empty = np.zeros((2, n_groups))
    assert interval.largest == pytest.approx(largest_sum(empty, empty + 1, weight))


def by_bin_and_group(y, s, s_bins):
    k = (y >= EDGES[1]).astype(int)
    q = np.digitize(s, s_bins) - 1
    return [[y[(k == i) & (q == j)] for j in range(len(s_bins) - 1)] for i in (0, 1)]


def test_cells_without_rows_may_be_anything(model):
    x, y, s = NEW
    rows = (s == 0) | (y >= EDGES[1])
    found = certify(model, (x[rows], y[rows], s[rows]))
    assert len(found.held_out.empty) == 1
    assert found.held_out.empty[0] in str(found)
    assert found.held_out.n_intervals == 3 * 3
    rates = quantity(found, "rate")
    assert (rates.low[0][0, 1], rates.high[0][0, 1]) == (0, 1)
    assert np.isnan(rates.seen[0][0, 1])
    *_, unseen = (interval for _, label, _, interval in rates.pairs() if label == "[0, 0.5)")
    assert unseen.high == max(rates.high[0][0, 0], 1 - rates.low[0][0, 0])
    gap = found.held_out.gaps["prediction"]  # the model was trained to close two gaps; one is seen
    one, two = (interval for *_, interval in quantity(found, "prediction").pairs())
    assert gap.seen == pytest.approx(two.seen)
    assert gap.high == pytest.approx((one.high + two.high) / 2)
    assert found.to_dict()["held_out"]["cells"][1]["seen"] is None


def test_without_a_pair_an_average_may_be_anything(model):
    x, y, s = NEW
    found = certify(model, (x[s == 0], y[s == 0], s[s == 0]))
    rates = quantity(found, "rate")
    most = np.maximum(rates.high[0][:, 0], 1 - rates.low[0][:, 0])  # nobody was seen of the other
    largest = {"pairs": 1.0, "weighted": 1.0, "definition": 0.5, "sum": 4.0}
    high = largest | {"definition": 2 * most.sum() / 8, "sum": 2 * most.sum()}
    for average, interval in found.held_out.averages.items():
        assert np.isnan(interval.seen)
        assert interval.low == 0
        assert interval.high == pytest.approx(high[average])
        assert interval.largest == largest[average]


def test_attributes_have_parts_of_delta_that_do_not_depend_on_each_other():
    x, y, s = NEW
    predictor = LinearRegression().fit(X, Y)
    bins = {"y_bins": EDGES, "s_bins": {"s": S_BINS, "t": [0, 1, 2, 3, 4]}}
    for n_others in (1, 3):
        both = {"s": s, "t": np.arange(len(y)) % n_others + 0.5}
        found = certificate(
            predictor, x, y, sensitive_features=both, intersectional=False, delta=0.1, **bins
        )
        rates = quantity(found, "rate")
        assert found.held_out.n_intervals == 3 * (4 + 2 * n_others)
        rows = int(rates.cells.partitions[0].counts[0, 0])
        test = binomtest(round(rates.seen[0][0, 0] * rows), rows)
        expected = test.proportion_ci(1 - 0.1 / 2 / 12)
        assert rates.low[0][0, 0] == pytest.approx(expected.low)
        assert rates.high[0][0, 0] == pytest.approx(expected.high)


def test_a_range_narrower_than_the_signs_of_classes_keeps_residuals_in_theirs():
    x, y, s = NEW
    model = FairClassifier(kernel="linear", match="residual", s_bins=S_BINS, epsilon=0.01)
    model.fit(X, Y > 0.5, sensitive_features=S)
    for end in (0.2, 3.0):
        one = quantity(certify(model, (x, y > 0.5, s), y_range=(-end, end)), "residual")
        assert one.span == pytest.approx((-end - 1, end + 1))
        assert (one.low[0] <= one.seen[0]).all()
        assert (one.seen[0] <= one.high[0]).all()


def test_rows_outside_every_bin_are_left_out_and_counted(model):
    x, y, s = NEW
    outside = np.r_[y[:-3], 7.0, 7.0, 0.3], np.r_[s[:-1], 5.0]
    found = certify(model, (x, *outside))
    assert found.held_out.outside == 3
    assert found.held_out.n_rows == 397
    assert any(note.startswith("3 rows") for note in found.notes)


def test_smaller_delta_is_wider(model):
    narrow, wide = (certify(model, delta=delta).held_out for delta in (0.2, 0.01))
    for a, b in zip(narrow.quantities, wide.quantities, strict=True):
        assert (b.low[0] <= a.low[0]).all()
        assert (b.high[0] > a.high[0]).any()
    for average in ("pairs", "sum"):
        assert wide.averages[average].high > narrow.averages[average].high


def test_more_rows_close_in_on_what_is_seen(model):
    x, y, s = NEW
    many = np.repeat(x, 300, axis=0), np.repeat(y, 300), np.repeat(s, 300)
    few, found = certify(model), certify(model, many)
    for name in few.held_out.gaps:
        before, after = few.held_out.gaps[name], found.held_out.gaps[name]
        assert after.seen == pytest.approx(before.seen)
        assert after.high - after.low < 0.2 * (before.high - before.low)


def test_the_order_of_rows_and_the_names_of_groups_do_not_matter():
    x, y, s = NEW
    order = np.random.default_rng(0).permutation(y.size)

    def found(names, order):
        model = FairRegressor(kernel="linear", epsilon=0.01, y_bins=EDGES)
        model.fit(X, Y, sensitive_features=names[S.astype(int)])
        return certificate(
            model, x[order], y[order], sensitive_features=names[s[order].astype(int)]
        )

    one = found(np.array(["f", "m"]), np.arange(y.size))
    other = found(np.array(["z", "a"]), order)
    for name in ("averages", "gaps"):
        for key, interval in getattr(one.held_out, name).items():
            same = getattr(other.held_out, name)[key]
            assert (same.seen, same.low, same.high) == pytest.approx(
                (interval.seen, interval.low, interval.high)
            )
    assert one.theorem.fairness.value == pytest.approx(other.theorem.fairness.value)


def test_attributes_are_matched_by_name():
    x, y, s = NEW
    t, new = np.random.default_rng(4).integers(0, 2, len(Y)), np.arange(y.size) % 2
    model = FairRegressor(kernel="linear", epsilon=0.001, y_bins=1, intersectional=False)
    model.fit(X, Y, sensitive_features=pd.DataFrame({"s": S, "t": t}))
    one, other = (
        certificate(model, x, y, sensitive_features=features)
        for features in ({"s": s, "t": new}, {"t": new, "s": s})
    )
    assert one.to_json() == other.to_json()
    with pytest.raises(ValueError, match=r"attributes \['s', 'u'\].*trained with \['s', 't'\]"):
        certificate(model, x, y, sensitive_features={"s": s, "u": new})
    with pytest.raises(ValueError, match="trained with"):
        certificate(model, x, y, sensitive_features=s)


def test_a_proven_gap_is_said():
    s = NEW[2]
    predictor = LinearRegression().fit(S[:, None], S)
    found = certificate(predictor, s[:, None], s, sensitive_features=s, y_bins=1, s_bins=S_BINS)
    gap = found.held_out.gaps["prediction"]
    assert gap.low > 0.7
    assert "0 is excluded, the groups differ" in str(found)
    assert found.held_out.averages == {}  # one bin holds every prediction
    assert "DGF" not in str(found)
    assert found.theorem is None
    assert "no FairRegressor" in found.silent


def test_few_rows_are_vacuous_and_say_so(model):
    found = certify(model, tuple(part[:2] for part in NEW))
    assert found.held_out.averages["pairs"].vacuous
    assert str(found).count("vacuous") >= 2
    assert found.to_dict()["held_out"]["averages"]["pairs"]["vacuous"] is True


def test_a_classifier_is_judged_by_classes_and_decisions(classifier):
    x, y, s = NEW
    found = certify(classifier, (x, classes(y), s))
    assert set(found.held_out.gaps) == {"prediction"}
    hit = classifier.predict(x) == classes(y)
    low = np.array(
        [hit[(classes(y) == c) & (s == q)].mean() for c in ("low", "middle") for q in (0, 1)]
    )
    assert quantity(found, "rate").seen[0].ravel() == pytest.approx(low)
    decisions = np.clip(classifier.decision_function(x), -1, 1)
    cell = decisions[(classes(y) == "low") & (s == 1)]
    assert quantity(found, "prediction").seen[0][0, 1] == pytest.approx(cell.mean())
    wide = certify(classifier, (x, classes(y), s), y_range=(-9, 9))
    assert wide.held_out.clipped == 0
    assert wide.held_out.gaps["prediction"].high > found.held_out.gaps["prediction"].high
    assert wide.theorem.fairness == found.theorem.fairness  # y is −1 or 1 all the same


def test_one_bin_of_classes_is_demographic_parity():
    x, y, s = NEW
    model = FairClassifier(
        kernel="linear", epsilon=0.01, alpha=0.1, y_bins=1, match="residual", s_bins=S_BINS
    ).fit(X, classes(Y), sensitive_features=S)
    found = certify(model, (x, classes(y), s))
    share = [(model.predict(x) == "middle")[s == q].mean() for q in (0, 1)]
    assert quantity(found, "rate").seen[0].ravel() == pytest.approx(share)
    sign = np.where(classes(y) == "middle", 1.0, -1.0)
    residual = np.clip(model.decision_function(x), -1, 1) - sign
    assert quantity(found, "residual").seen[0][0, 1] == pytest.approx(residual[s == 1].mean())


def test_of_several_models_the_worst_is_bounded():
    x, y, s = NEW
    model = FairClassifier("squared", kernel="linear", epsilon=0.05, s_bins=S_BINS)
    model.fit(X, classes(Y, 3), sensitive_features=S)
    found = certify(model, (x, classes(y, 3), s))
    decisions = [one for one in found.held_out.quantities if one.name == "prediction"]
    assert [one.of for one in decisions] == ["high", "low", "middle"]
    assert found.held_out.n_intervals == (1 + 3) * 6
    for end in ("seen", "low", "high"):
        of_each = [getattr(one.average("compared"), end) for one in decisions]
        assert getattr(found.held_out.gaps["prediction"], end) == max(of_each)
    assert {"prediction (low)", "rate"} <= set(found.to_frame("cells")["quantity"])


@pytest.mark.parametrize("y_bins", [None, 1, ["middle"]])
def test_any_classifier_has_held_out_intervals(y_bins):
    x, y, s = NEW
    predictor = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, classes(Y, 3))
    y_bins = Bins.categories(y_bins) if isinstance(y_bins, list) else y_bins
    found = certify(predictor, (x, classes(y, 3), s), y_bins=y_bins, s_bins=S_BINS)
    assert found.theorem is None
    assert found.held_out.gaps == {}
    assert found.held_out.averages["pairs"].high < 1
    assert found.held_out.n_intervals == {None: 6, 1: 3 * 2}.get(y_bins, 2)


def test_a_search_is_certified_by_its_best_estimator():
    x, y, s = NEW
    search = FairClassifierCV(
        "squared", kernel="linear", alphas=[0.1, 1], epsilons=[0.05], s_bins=S_BINS, cv=3
    ).fit(X, classes(Y), sensitive_features=S)
    rows = x, classes(y), s
    found, alone = certify(search, rows), certify(search.best_estimator_, rows)
    assert found.to_dict()["held_out"] == alone.to_dict()["held_out"]
    assert found.theorem == alone.theorem  # one kernel: alphas and epsilons cost nothing


def test_a_model_without_constraint_still_has_held_out_intervals():
    model = FairRegressor(kernel="linear", epsilon=None).fit(X, Y)
    found = certify(model, **BINS)
    assert "nothing was constrained" in found.silent
    assert found.held_out.gaps["prediction"].high < 1
    constrained_nowhere = FairRegressor(kernel="linear", epsilon=None, **BINS)
    again = certify(constrained_nowhere.fit(X, Y, sensitive_features=S))
    assert again.held_out.gaps == found.held_out.gaps


def test_rows_of_training_are_refused_or_counted(model):
    with pytest.raises(ValueError, match=r"X_fit_.*never saw: split them off"):
        certify(model, (X, Y, S))
    rng = np.random.default_rng(0)
    new, noisy = (x + rng.normal(0, 0.01, x.shape) for x in (NEW[0], X))
    model = FairRegressor(epsilon=0.01, gamma=0.5, **BINS).fit(noisy, Y, sensitive_features=S)
    mixed = np.vstack([new[:-5], noisy[:5]])
    assert any(note.startswith("5 of 400 rows") for note in certify(model, (mixed, *NEW[1:])).notes)
    assert not any("equal a training row" in n for n in certify(model, (new, *NEW[1:])).notes)


def test_the_range_is_that_of_the_edges_or_an_assumption(model):
    assert quantity(certify(model), "prediction").span == (0.0, 1.0)
    free = FairRegressor(kernel="linear", epsilon=0.001, y_bins=1).fit(X, Y, sensitive_features=S)
    found = certify(free)
    assert quantity(found, "prediction").span == (NEW[1].min(), NEW[1].max())
    assert any("read off the rows given" in note for note in found.notes)
    stated = certify(free, y_range=(0, 2))
    assert not any("read off the rows given" in note for note in stated.notes)


def test_everything_is_plain_json(model):
    found = certify(model)
    written = json.loads(found.to_json(indent=1))
    assert written == found.to_dict()
    assert written["theorem"]["fairness"]["value"] == found.theorem.fairness.value
    assert written["verdict"] == str(found).splitlines()
    assert written["theorem"]["per_pair"]["epsilon"] == pytest.approx(0.01)
    assert len(written["held_out"]["pairs"]) == 3 * 2
    assert isinstance(found, Certificate)


def test_tables(model):
    found = certify(model)
    bounds = found.to_frame()
    assert list(bounds["part"].unique()) == ["held-out", "theorem"]
    assert (bounds["low"] <= bounds["high"]).all()
    assert len(found.to_frame("cells")) == 3 * 4
    assert found.to_frame("cells")["rows"].sum() == 3 * 400
    assert len(found.to_frame("pairs")) == 3 * 2
    with pytest.raises(ValueError, match="of='rows' is unknown; use 'bounds'"):
        found.to_frame("rows")


def test_html_is_escaped():
    x, y, s = NEW
    groups = np.array(["<b>f</b>", "m"])[s.astype(int)]
    rows = (s == 1) | (y >= EDGES[1])
    predictor = DummyRegressor().fit(X, Y)
    found = certificate(predictor, x[rows], y[rows], sensitive_features=groups[rows], y_bins=EDGES)
    page = found._repr_html_()
    assert "<b>" not in page
    assert "&lt;b&gt;" in page
    assert page.count("<tr>") == 1 + len(found.to_frame())


@pytest.mark.parametrize("delta", [0, 1, -0.1, 2, "5 %", None])
def test_delta_is_a_probability(model, delta):
    with pytest.raises((ValueError, TypeError), match="delta"):
        certify(model, delta=delta)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sample_weight": np.ones(400)}, "sample_weight is not possible here.*Leave it out"),
        ({"y_bins": 3}, "y_bins cannot be chosen for a model that has cells of its own"),
        ({"y_bins": 3, "s_bins": 2}, "y_bins, s_bins cannot"),
        ({"y_range": (1, 0)}, "finite numbers .low, high."),
        ({"y_range": (0, np.inf)}, "finite numbers .low, high."),
        ({"sensitive_features": NEW[2][:-1]}, "399 rows but there are 400"),
        ({"sensitive_features": None}, "sensitive_features is missing"),
        ({"sensitive_features": NEW[2] + 10}, "no row in any cell.*coded as in training"),
    ],
)
def test_bad_input_of_a_fair_model(model, options, message):
    x, y, s = NEW
    with pytest.raises(ValueError, match=message):
        certificate(model, x, y, **{"sensitive_features": s, **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "y_bins is missing"),
        ({"y_bins": 4}, "y_bins would be read off the rows given"),
        ({"y_bins": Bins.quantile(2)}, "y_bins would be read off the rows given"),
        ({"y_bins": EDGES, "s_bins": 2}, "s_bins would be read off the rows given"),
        ({"y_bins": EDGES, "s_bins": "continuous"}, "no groups.*sensitive_correlation"),
    ],
)
def test_bins_of_another_predictor_must_not_depend_on_the_rows(options, message):
    with pytest.raises(ValueError, match=message):
        certify(LinearRegression().fit(X, Y), **options)


def test_words_need_classes(classifier):
    x, y, s = NEW
    with pytest.raises(ValueError, match=r"no classes_; wrap it"):
        certify(LinearRegression().fit(X, Y), (x, classes(y), s), y_bins=1, s_bins=S_BINS)
    with pytest.raises(ValueError, match=r"\['high'\], but the model knows \['low', 'middle'\]"):
        certify(classifier, (x, classes(y, 3), s))


def test_what_cannot_predict_is_refused():
    with pytest.raises(ValueError, match="has no predict"):
        certify(StandardScaler())
    with pytest.raises(NotFittedError):
        certify(FairRegressor())
    with pytest.raises(ValueError, match="y is constant"):
        certify(DummyRegressor().fit(X, Y), (NEW[0], 0 * NEW[1], NEW[2]), y_bins=1, s_bins=S_BINS)
