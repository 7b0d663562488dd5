"""Pooled values are those of all rows at once; what is missing is left out and counted."""

import copy

import numpy as np
import pytest
from reproduction.paper import FIGURE_METHODS, Method
from reproduction.summary import COMPARED, POOLED, Spread, pool, summarize, whole_repeats

from gferm.fairness.bins import Bins
from gferm.metrics import dgf
from gferm.metrics.chance import chance_of_dgf, dgf_of_counts
from reproduction import ExperimentError
from tests.reproduction.synthetic import make_records, make_rows, predict

PLAIN = FIGURE_METHODS[0]


@pytest.fixture(scope="module")
def records():
    return make_records(n_repeats=3, methods=FIGURE_METHODS)


def out_of_fold(method, repeat):
    """Predict every row as make_records does for its only method."""
    y, s, n_groups = make_rows(method.study)
    rng, f = np.random.default_rng([repeat, 7]), np.empty(y.size)
    for test in np.array_split(rng.permutation(y.size), 10):
        f[test] = predict(method, y[test], s[test], rng)
    return y, f, s, n_groups


@pytest.mark.parametrize(
    "method",
    [
        PLAIN,
        Method("binary", "RLS", True, 0.0, n_bins=20),
        Method("continuous", "KRLS", False, None),
    ],
)
def test_pooled_values_are_those_of_all_rows(method):
    found = summarize(make_records(method.study, methods=[method])).methods[method.key].pooled
    values = {average: [] for average in POOLED}
    errors = []
    for repeat in range(2):
        y, f, s, n_groups = out_of_fold(method, repeat)
        cells = {
            "sensitive_features": s,
            "y_bins": Bins.uniform(0, 1, method.n_bins),
            "s_bins": Bins.categories(range(n_groups)),
        }
        for average in ("pairs", "weighted"):
            values[average].append(dgf(y, f, average=average, **cells))
        n_pairs = method.n_bins * n_groups * (n_groups - 1)
        values["all_bins"].append(dgf(y, f, average="sum", **cells) / n_pairs)
        errors.append(100 * np.mean(np.abs(y - f)))
    for average in POOLED:
        assert found.dgf[average].mean == pytest.approx(np.mean(values[average]))
        assert found.dgf[average].std == pytest.approx(np.std(values[average], ddof=1))
    assert found.error.mean == pytest.approx(np.mean(errors))


def test_means_and_deviations_are_over_all_folds(records):
    summary = summarize(records)
    assert (summary.data, summary.study) == ("crime", "binary")
    assert (summary.n_folds, summary.n_repeats) == (30, 3)
    for key, found in summary.methods.items():
        models = [record["models"][key] for record in records]
        for spread, values in (
            (found.error, [model["error"] for model in models]),
            (found.dgf["sum"], [model["dgf"]["sum"] for model in models]),
            (found.gap, [model["gap"] for model in models]),
            (found.delta["train_pairs"], [model["delta"]["train_pairs"] for model in models]),
        ):
            assert (spread.n, spread.missing) == (30, 0)
            assert spread.mean == pytest.approx(np.mean(values))
            assert spread.std == pytest.approx(np.std(values, ddof=1))


def test_a_stopped_repeat_is_in_no_pooled_value(records):
    stopped, whole = summarize(records[:27]), summarize(records[:20])
    assert (stopped.n_folds, stopped.n_repeats) == (27, 2)
    for key, found in stopped.methods.items():
        assert found.pooled == whole.methods[key].pooled
        assert found.error.n == 27
    started = summarize(records[:7])
    assert started.n_repeats == 0
    assert all(found.pooled is None for found in started.methods.values())
    assert summarize(records[:4], n_folds=4).n_repeats == 1


def test_the_order_of_records_does_not_matter(records):
    order = np.random.default_rng(0).permutation(30)
    shuffled = summarize([records[i] for i in order])
    for key, found in summarize(records).methods.items():
        assert shuffled.methods[key].pooled.p == found.pooled.p
        assert shuffled.methods[key].error.mean == pytest.approx(found.error.mean)


def test_missing_values_are_left_out_and_counted(records):
    changed = copy.deepcopy(records)
    for record in changed[:4]:
        record["models"][PLAIN.key]["dgf"] = dict.fromkeys(record["models"][PLAIN.key]["dgf"])
    found = summarize(changed).methods[PLAIN.key].dgf["pairs"]
    assert (found.n, found.missing) == (26, 4)
    rest = [record["models"][PLAIN.key]["dgf"]["pairs"] for record in records[4:]]
    assert found.mean == pytest.approx(np.mean(rest))


def test_a_method_that_some_folds_lack_has_its_own_number_of_folds(records):
    changed = copy.deepcopy(records)
    del changed[0]["models"][PLAIN.key]
    found = summarize(changed).methods[PLAIN.key]
    assert found.error.n == 29
    assert found.pooled.error.n == 2


def test_spreads_of_few_values():
    assert Spread.of([2.0, 4.0]) == Spread(3.0, np.sqrt(2), 2)
    one, none = Spread.of([2.0, None, float("nan")]), Spread.of([None])
    assert (one.mean, one.n, one.missing) == (2.0, 1, 2)
    assert np.isnan([one.std, none.mean, none.std]).all()
    assert (none.n, none.missing) == (0, 1)


def test_the_chance_of_a_fair_repeat_is_near_its_dgf(records):
    """Hits that do not depend on the group have a p spread over [0, 1]."""
    changed = copy.deepcopy(records)
    rng = np.random.default_rng(0)
    for record in changed:
        counts = np.array(record["counts"]["10"])
        record["models"][PLAIN.key]["hits"] = rng.binomial(counts, 0.4).tolist()
    pooled = summarize(changed).methods[PLAIN.key].pooled
    assert 0.05 < pooled.p < 0.95
    assert pooled.dgf["pairs"].mean == pytest.approx(pooled.chance, rel=0.5)


def test_the_pooled_chance_is_that_of_each_repeat(records):
    pooled = summarize(records).methods[PLAIN.key].pooled
    chances = [
        chance_of_dgf(*pool(folds, PLAIN.key), average=COMPARED, rng=np.random.default_rng(repeat))
        for repeat, folds in enumerate(whole_repeats(records))
    ]
    assert pooled.chance == pytest.approx(np.mean([chance.mean for chance in chances]))
    assert pooled.p == sorted(chance.p for chance in chances)[1]


def test_pool_adds_tables(records):
    hits, counts = pool(records[:10], PLAIN.key)
    y, s, n_groups = make_rows()
    expected = np.zeros((10, n_groups), dtype=int)
    np.add.at(expected, (Bins.uniform(0, 1, 10).assign(y), s), 1)
    np.testing.assert_array_equal(counts, expected)
    assert (hits <= counts).all()
    assert 0 < dgf_of_counts(hits, counts) < 1
    assert len(whole_repeats(records)) == 3


def test_records_of_several_studies_are_refused(records):
    with pytest.raises(ExperimentError, match="run the study first"):
        summarize([])
    other = {**records[0], "study": "continuous"}
    with pytest.raises(ExperimentError, match=r"'binary'.*'continuous'.*one study"):
        summarize([records[0], other])
