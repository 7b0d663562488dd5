"""Records: whole, readable by anybody, and the same for the same seeds."""

import json

import numpy as np
import pytest
from reproduction.paper import COMPARED, SHARES, methods_of
from reproduction.records import AVERAGES, N_PERMUTATIONS, CellSums

from gferm.metrics.chance import chance_of_dgf
from tests.reproduction.toy import ALPHAS, GAMMAS, STUDIES, Toy, make_toy


@pytest.fixture(scope="module")
def toy():
    return Toy()


@pytest.fixture(scope="module", params=STUDIES)
def record(request, toy):
    return toy.record(1, request.param)


def test_a_record_survives_json(record):
    assert json.loads(json.dumps(record, allow_nan=False)) == record


def test_a_record_names_its_fold_and_its_seeds(toy, record):
    fold = toy.folds[1]
    assert (record["data"], record["repeat"], record["fold"]) == ("toy", 0, 1)
    assert (record["n_train"], record["n_test"]) == (len(fold.train), len(fold.test))
    assert record["n_train"] + record["n_test"] == len(toy.problem.y)
    seeds = {"outer": 0, "inner": fold.inner_seed, "chance": fold.inner_seed}
    assert record["seeds"] == seeds


def test_every_method_has_a_model(record):
    methods = methods_of(record["study"])
    assert list(record["models"]) == [method.key for method in methods]
    assert len(record["models"]) == len(methods)
    common = {"alpha", "gamma", "inner_error", "inner_dgf", "error", "dgf", "gap", "delta"}
    for method in methods:
        model = record["models"][method.key]
        usual = {"dgf_usual"} if method.n_bins != 10 else set()
        assert model.keys() == common | {"chance", "hits"} | usual
        assert model["alpha"] in ALPHAS
        assert model["gamma"] in (GAMMAS if method.learner == "KRLS" else (None,))
        assert tuple(model["dgf"]) == AVERAGES
        assert model["delta"].keys() == {"sum", "pairs", "train_sum", "train_pairs"}


def test_counts_are_those_of_the_test_rows(toy, record):
    study = record["study"]
    expected = {"10"} if study == "continuous" else {"5", "10", "20"}
    assert record["counts"].keys() == expected
    for K, counts in record["counts"].items():
        (partition,) = toy.problem.members(study, int(K)).take(toy.folds[1].test).cells.partitions
        assert counts == partition.counts.tolist()
        assert np.sum(counts) == record["n_test"]


def test_hits_are_no_more_than_rows(record):
    for method in methods_of(record["study"]):
        hits = np.array(record["models"][method.key]["hits"])
        counts = np.array(record["counts"][str(method.n_bins)])
        assert hits.dtype.kind == "i"
        assert ((hits >= 0) & (hits <= counts)).all()
        assert 0 < hits.sum() < counts.sum()


def test_chance_is_that_of_the_hits(record):
    for method in methods_of(record["study"]):
        model = record["models"][method.key]
        assert model["chance"].keys() == {COMPARED, "weighted"}
        for average, found in model["chance"].items():
            chance = chance_of_dgf(
                model["hits"],
                record["counts"][str(method.n_bins)],
                n_permutations=N_PERMUTATIONS,
                average=average,
                rng=np.random.default_rng(record["seeds"]["chance"]),
            )
            assert found == {"mean": chance.mean, "high": chance.high, "p": chance.p}
            assert model["dgf"][average] == chance.seen


def test_frontiers_have_a_point_for_every_share(record):
    for found in record["frontier"].values():
        assert found["epsilon"] > 0
        assert {len(found[name]) for name in ("error", "dgf", "chance")} == {len(SHARES)}
        assert found["breakpoints"] >= 2


def test_the_same_seeds_give_the_same_record(toy, record):
    assert Toy(make_toy()).record(1, record["study"]) == record


def test_another_repeat_gives_another_record(toy):
    other = Toy(toy.problem, repeat=1)
    found = other.record(1, "continuous")
    assert found["repeat"] == found["seeds"]["outer"] == 1
    assert found["models"] != toy.record(1, "continuous")["models"]


def test_cell_sums_add_and_count_by_cell():
    problem = make_toy()
    members = problem.members("continuous", 10)
    sums, (partition,) = CellSums(members), members.cells.partitions
    values = np.random.default_rng(0).normal(size=(2, len(problem.y)))
    expected = members.means_of(0, values) * partition.counts
    populated = partition.counts > 0
    np.testing.assert_allclose(sums.sums(values)[:, populated], expected[:, populated])
    assert not sums.sums(values)[:, ~populated].any()
    np.testing.assert_array_equal(sums.hits(problem.y), partition.counts)
    assert not sums.hits(problem.y + 2.0).any()
    np.testing.assert_array_equal(sums.counts, partition.counts)
