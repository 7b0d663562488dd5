"""The plan: every method has its kernels and its cells, and nothing is learned twice."""

import numpy as np
import pytest
from reproduction.cell_contrasts import Bound
from reproduction.paper import BINARY, CONTINUOUS, GAMMAS, KERNELS, Method, methods_of
from reproduction.plan import Plan, Variant
from reproduction.problems import PROBLEMS

from tests.reproduction.toy import STUDIES, make_toy


@pytest.fixture(scope="module", params=sorted(PROBLEMS))
def plan(request):
    return Plan.of(PROBLEMS[request.param](), STUDIES)


def test_studies_share_kernels(plan):
    """Three feature sets, not four: 1 linear and 9 Gaussian kernels for two of them, 9 for one.

    Communities: without s both studies have the same features, since s is the same attribute, cut
    or not. Pupils: with s both have all features, whichever of them is called sensitive.
    """
    assert len(plan.feature_sets) == 3
    assert len(plan.kernels) == 29
    shared = {"crime": False, "pupils": True}[plan.problem.name]
    for with_s in (False, True):
        families = [plan.family(Method(kind, "KRLS", with_s, None)) for kind in STUDIES]
        assert (families[0] == families[1]) == (with_s == shared)


@pytest.mark.parametrize(("study", "n_kernels"), [(BINARY, 20), (CONTINUOUS, 18)])
def test_a_study_alone_has_its_own_kernels_only(study, n_kernels):
    plan = Plan.of(make_toy(), [study])
    assert len(plan.kernels) == n_kernels
    assert {key[0] for key in plan.members} == {study}
    assert {variant.study for kernel in plan.kernels for variant in kernel.variants} == {study}


def test_every_method_finds_its_models(plan):
    for method in (method for study in STUDIES for method in methods_of(study)):
        family = plan.family(method)
        X = plan.problem.studies[method.study].features(method.with_s)
        np.testing.assert_array_equal(plan.feature_sets[family.feature_set], X)
        kernels = [kernel for kernel in plan.kernels if kernel.family == family]
        expected = list(GAMMAS) if method.learner == "KRLS" else [None]
        assert [kernel.gamma for kernel in kernels] == expected
        assert all(Variant.of(method) in kernel.variants for kernel in kernels)
        assert (method.study, method.n_bins) in plan.members


def test_no_variant_is_learned_twice(plan):
    for kernel in plan.kernels:
        assert len(set(kernel.variants)) == len(kernel.variants)
    names = [(kernel.family, kernel.gamma) for kernel in plan.kernels]
    assert len(set(names)) == len(names)


def test_variants_know_plain_from_exactly_fair():
    plain, fair = (Variant.of(Method(BINARY, "RLS", False, epsilon)) for epsilon in (None, 0.0))
    assert plain.bound is None
    assert fair.bound == Bound(0.0, "mean")
    naive = Variant.of(Method(BINARY, "KRLS", True, 0.01, True, 5, "sum"))
    assert naive == Variant(BINARY, 5, Bound(0.01, "sum"))


def test_columns_are_labels_and_then_cells(plan):
    columns, places = plan.columns(), plan.places()
    np.testing.assert_array_equal(columns[:, 0], plan.problem.y)
    taken = [0]
    for key, rows in plan.members.items():
        (partition,), place = rows.cells.partitions, places[key]
        block = columns[:, place]
        np.testing.assert_array_equal(block.sum(axis=1), 1.0)
        np.testing.assert_array_equal(block.argmax(axis=1), rows.cell_codes[0])
        np.testing.assert_array_equal(block.sum(axis=0), partition.counts.ravel())
        taken += range(place.start, place.stop)
    assert taken == list(range(columns.shape[1]))
    assert columns.shape[1] == 1 + 2 * (5 + 10 + 20) + 10 * 5


def test_kernels_are_those_of_the_features():
    plan = Plan.of(make_toy(), STUDIES)
    for kernel in plan.kernels:
        X, found = plan.feature_sets[kernel.family.feature_set], plan.kernel_matrix(kernel)
        if KERNELS[kernel.family.learner] == "linear":
            expected = X @ X.T
        else:
            squares = ((X[:, None] - X[None]) ** 2).sum(axis=-1)
            expected = np.exp(-kernel.gamma * squares)
        np.testing.assert_allclose(found, expected, atol=1e-9)
