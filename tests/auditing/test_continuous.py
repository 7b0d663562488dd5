"""A continuous attribute: the covariance within label bins, and what it shares with groups."""

from math import isnan

import numpy as np
import pandas as pd
import pytest

from gferm import metrics
from gferm.exceptions import NothingToCompareError
from tests.auditing.cases import EDGES, Case, letters, make_numbers

NONE = {"n_boot": 0, "n_permutations": 0}


def make(seed=0, weight=None, **bins):
    y, f, s = make_numbers(seed=seed)
    rng = np.random.default_rng(seed)
    columns = {
        "age": 30 + 10 * s + rng.normal(0, 5, y.size),
        "wealth": rng.exponential(size=y.size) + y,
        "sex": letters(s),
    }
    return Case(y, f, columns, weight, {"y_bins": EDGES} | bins)


def only(case, *names, **bins):
    columns = {name: case.s[name] for name in names}
    return Case(case.y, case.f, columns, case.weight, case.bins | bins)


def covariances(y, f, s, weight=None, edges=EDGES):
    """Σ w (f − f̄)(s − s̄) / Σ w of each label bin, s in standard deviations of all rows."""
    w = np.ones(y.size) if weight is None else weight
    z = (s - np.average(s, weights=w)) / np.sqrt(np.cov(s, aweights=w, ddof=0))
    codes = np.clip(np.digitize(y, edges) - 1, 0, len(edges) - 2)
    found = []
    for k in range(len(edges) - 1):
        rows = codes == k
        found.append(np.cov(f[rows], z[rows], aweights=w[rows], ddof=0)[0, 1])
    return np.array(found)


def covariance_of(case, **options):
    return case.audit(s_bins="continuous", **NONE, **options).figures["covariance"].value


@pytest.mark.parametrize("weight", [None, np.linspace(0.1, 3, 400)])
@pytest.mark.parametrize("names", [["age"], ["wealth"], ["age", "wealth"]])
def test_the_figure_is_the_mean_covariance_of_all_label_bins(names, weight):
    case = only(make(weight=weight), *names)
    each = [covariances(case.y, case.f, case.s[name], weight) for name in names]
    assert covariance_of(case) == pytest.approx(np.abs(each).mean(), rel=1e-9)


@pytest.mark.parametrize("change", [lambda s: s / 1e6, lambda s: 7e5 - 3 * s])
def test_units_and_direction_of_the_attribute_do_not_matter(change):
    case = only(make(), "age")
    changed = Case(case.y, case.f, change(case.s["age"]), bins=case.bins)
    assert covariance_of(changed) == pytest.approx(covariance_of(case), rel=1e-6)


def test_two_groups_as_numbers_have_the_gap_times_their_spread():
    y, f, s = make_numbers()
    gaps = Case(y, f, s, bins={"y_bins": EDGES}).audit(**NONE).gaps("prediction")
    shares = [np.prod(gap.counts) / np.sum(gap.counts) ** 2 for gap in gaps]
    expected = np.mean([abs(gap.value) for gap in gaps] * np.array(shares)) / s.std()
    assert covariance_of(Case(y, f, s, bins={"y_bins": EDGES})) == pytest.approx(expected)


def test_label_bins_in_which_the_attribute_is_constant_are_left_out():
    case = only(make(), "age")
    age = np.where(case.y < 1, 40.0, case.s["age"])
    expected = np.abs(covariances(case.y, case.f, age)[1:]).mean()
    assert covariance_of(Case(case.y, case.f, age, bins=case.bins)) == pytest.approx(expected)


@pytest.mark.parametrize("least", [2, 3])
def test_label_bins_with_too_few_rows_are_left_out(least):
    y = np.array([0.1, 0.2, *np.linspace(1, 2, 20)])
    f, age = y**2, np.sin(np.arange(y.size))
    each = np.abs(covariances(y, f, age, edges=[0, 1, 2]))
    expected = each[1] if least == 3 else each.mean()
    case = Case(y, f, age, bins={"y_bins": [0, 1, 2]})
    assert covariance_of(case, min_cell_size=least) == pytest.approx(expected)


def test_nothing_in_common_is_unknown_and_not_fair():
    y = np.repeat([0.5, 1.5], 20)
    case = Case(y, y, np.repeat([30.0, 40.0], 20), bins={"y_bins": [0, 1, 2]})
    found = case.audit(s_bins="continuous")
    assert isnan(found.figures["covariance"].value)
    assert found.verdict[0].kind == "caution"


@pytest.mark.parametrize("intersectional", [True, False])
def test_groups_and_a_continuous_attribute_are_judged_side_by_side(intersectional):
    case = make(s_bins={"age": "continuous", "wealth": "continuous"}, intersectional=intersectional)
    found = case.audit(**NONE)
    assert (found.attributes, found.continuous) == (("sex",), ("age", "wealth"))
    groups = only(case, "sex", s_bins="auto").audit(**NONE)
    numbers = only(case, "age", "wealth", s_bins="continuous").audit(**NONE)
    assert found.cells == groups.cells
    assert [gap.value for gap in found.all_gaps] == [gap.value for gap in groups.all_gaps]
    for name, figure in groups.figures.items():
        assert found.figures[name].value == pytest.approx(figure.value, rel=1e-12)
    for name in ("covariance", "correlation"):
        assert found.figures[name].value == pytest.approx(numbers.figures[name].value, rel=1e-12)


@pytest.mark.parametrize("weight", [None, np.linspace(0, 3, 400)])
def test_the_correlation_is_the_largest_one(weight):
    case = only(make(weight=weight), "age", "wealth")
    expected = metrics.sensitive_correlation(
        case.y, case.f, sensitive_features=case.s, sample_weight=weight
    )
    for bins in ("continuous", 3, {"age": "continuous"}):
        found = case.audit(s_bins=bins, **NONE).figures["correlation"].value
        assert found == pytest.approx(expected, rel=1e-9)
    if weight is None:
        each = [abs(np.corrcoef(case.f, s)[0, 1]) for s in case.s.values()]
        assert expected == pytest.approx(max(each))


def test_a_constant_predictor_has_no_covariance_and_no_correlation():
    case = only(make(), "age")
    found = Case(case.y, np.full(400, 0.1), case.s, bins=case.bins).audit(s_bins="continuous")
    assert found.figures["covariance"].value == pytest.approx(0, abs=1e-12)
    assert found.figures["covariance"].chance.p > 0.5
    assert isnan(found.figures["correlation"].value)
    assert found.figures["correlation"].interval is None


def test_only_continuous_attributes_leave_no_cells():
    found = only(make(), "age").audit(s_bins="continuous")
    assert set(found.figures) == {"error", "covariance", "correlation"}
    assert found.cells == found.groups == found.all_gaps == ()
    with pytest.raises(ValueError, match="kind='rate': this audit compared no cells"):
        found.gaps("rate")


def test_a_dependence_within_label_bins_is_found_and_independence_is_not():
    rng = np.random.default_rng(0)
    y, age = rng.uniform(0, 3, 500), rng.normal(50, 10, 500)
    noise = rng.normal(0, 1, 500)
    bins = {"y_bins": EDGES, "s_bins": "continuous"}
    assert Case(y, y + age / 30 + noise, age, bins=bins).audit(n_permutations=200).is_unfair
    assert not Case(y, y + noise, age, bins=bins).audit(n_permutations=200).is_unfair


def test_a_column_declared_categorical_may_still_be_taken_as_continuous():
    case = only(make(), "age")
    ages = pd.Series(np.round(case.s["age"]), dtype="category", name="age")
    found = Case(case.y, case.f, ages, bins=case.bins).audit(s_bins="continuous", **NONE)
    plain = Case(case.y, case.f, {"age": ages.astype(float)}, bins=case.bins)
    assert found.figures["covariance"].value == pytest.approx(covariance_of(plain))


def test_a_constant_attribute_is_an_error():
    y, f, _ = make_numbers()
    with pytest.raises(
        NothingToCompareError, match=r"sensitive_features \(sensitive\) is constant"
    ):
        Case(y, f, np.full(400, 3.0)).audit(s_bins="continuous")
