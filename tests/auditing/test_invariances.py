"""What must not matter to an audit: order, names, units, a common shift, an empty bin."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gferm.auditing.measures import UNITS
from tests.auditing.cases import EDGES, Case, letters

few = settings(max_examples=25, deadline=None)
NONE = {"n_boot": 0, "n_permutations": 0}
DRAWN = {"n_boot": 25, "n_permutations": 25}
OF_LOSS = "loss_general_fairness"  # in the unit of the loss, here the linear one
MIXED = "delta_hat"  # gaps of rates minus gaps of residuals


@st.composite
def rows(draw):
    """Some rows on a grid: labels and predictions in [0, 3), at least two groups."""
    n = draw(st.integers(6, 30))
    values = st.lists(st.integers(0, 47), min_size=n, max_size=n)
    y, f = (np.array(draw(values)) / 16 for _ in range(2))
    s = np.array([0, 1, *draw(st.lists(st.integers(0, 2), min_size=n - 2, max_size=n - 2))])
    return Case(y, f, letters(s), bins={"y_bins": EDGES})


def values_of(audit):
    return {name: figure.value for name, figure in audit.figures.items()}


def changed(case, y=None, f=None, s=None, **bins):
    return Case(
        case.y if y is None else y,
        case.f if f is None else f,
        case.s if s is None else s,
        bins=case.bins | bins,
    )


def assert_same(found, expected, rel=1e-9, absolute=1e-12):
    assert found.keys() == expected.keys()
    for name in expected:
        assert found[name] == pytest.approx(expected[name], rel=rel, abs=absolute, nan_ok=True), (
            name
        )


@few
@given(rows(), st.randoms(use_true_random=False))
def test_the_order_of_rows(case, random):
    order = random.sample(range(case.y.size), case.y.size)
    found, expected = (
        one.audit(**NONE)
        for one in (changed(case, case.y[order], case.f[order], case.s[order]), case)
    )
    assert_same(values_of(found), values_of(expected))
    for table in ("cells", "groups", "gaps"):
        assert found.to_frame(table).round(9).equals(expected.to_frame(table).round(9))


@few
@given(rows())
def test_the_names_of_groups_also_for_intervals_and_chance(case):
    names = dict(zip("abc", ["Ada", "Bea", "Cleo"], strict=True))  # in the same order
    found = changed(case, s=np.array([names[one] for one in case.s])).audit(**DRAWN).to_json()
    for old, new in names.items():
        found = found.replace(new, old)
    assert found == case.audit(**DRAWN).to_json()


@few
@given(rows())
def test_the_order_of_groups(case):
    found = changed(case, s=letters(7 - np.array([ord(one) - ord("a") for one in case.s])))
    assert_same(values_of(found.audit(**NONE)), values_of(case.audit(**NONE)))


@few
@given(rows(), st.sampled_from([0.25, 2.0, 1024.0]))
def test_units_of_the_label_scale_what_is_in_units_and_nothing_else(case, scale):
    # powers of two: not even rounding changes, so intervals and chance scale too
    edges = (np.array(EDGES) * scale).tolist()
    scaled = changed(case, case.y * scale, case.f * scale, y_bins=edges).audit(**DRAWN)
    for name, figure in case.audit(**DRAWN).figures.items():
        if name == MIXED:
            continue
        factor, found = (
            scale if figure.unit == UNITS or name == OF_LOSS else 1.0,
            scaled.figures[name],
        )
        assert found.value == pytest.approx(figure.value * factor, nan_ok=True), name
        assert (found.interval is None) == (figure.interval is None)
        if figure.interval is not None:
            assert found.interval == pytest.approx(
                [end * factor for end in figure.interval], abs=1e-12
            )
        if figure.chance is not None:
            assert found.chance.p == figure.chance.p
            assert found.chance.mean == pytest.approx(figure.chance.mean * factor, abs=1e-12)


@few
@given(rows(), st.sampled_from([-8.0, 0.5, 64.0]))
def test_a_common_shift_of_labels_predictions_and_bins(case, shift):
    edges = (np.array(EDGES) + shift).tolist()
    found = changed(case, case.y + shift, case.f + shift, y_bins=edges).audit(**DRAWN)
    expected = case.audit(**DRAWN)
    assert_same(values_of(found), values_of(expected))
    for name, figure in expected.figures.items():
        if figure.chance is not None:
            assert found.figures[name].chance.mean == pytest.approx(figure.chance.mean, abs=1e-9)


@few
@given(rows(), st.floats(-5, 5))
def test_a_shift_of_the_predictions_alone_moves_no_gap_of_means(case, shift):
    found = values_of(changed(case, f=case.f + shift).audit(**NONE))
    expected = values_of(case.audit(**NONE))
    for name in ("mean_gap", "residual_gap", "mean_distance"):
        assert found[name] == pytest.approx(expected[name], abs=1e-9, nan_ok=True)


@few
@given(rows())
def test_a_bin_that_no_label_lies_in_changes_no_mean_over_pairs(case):
    found, expected = changed(case, y_bins=[*EDGES, 9]).audit(**NONE), case.audit(**NONE)
    found, expected = values_of(found), values_of(expected)
    # the paper's definition divides by all bins, populated or not
    for name in ("general_fairness", "loss_general_fairness"):
        assert found.pop(name) * 4 == pytest.approx(expected.pop(name) * 3, nan_ok=True)
    assert_same(found, expected)


@few
@given(rows())
def test_an_attribute_twice_is_as_good_as_once_in_a_mean_over_pairs(case):
    twice = changed(case, s={"s": case.s, "again": case.s}, intersectional=False).audit(**DRAWN)
    once = case.audit(**DRAWN)
    for name in ("dgf", "dgf_weighted", "mean_gap", "mean_distance", "error"):
        found, expected = twice.figures[name], once.figures[name]
        assert found.value == pytest.approx(expected.value, nan_ok=True)
        assert (found.interval is None) == (expected.interval is None)
        if expected.interval is not None:
            assert found.interval == pytest.approx(expected.interval)
    with_names = changed(case, s={"s": case.s, "again": case.s}).audit(**NONE)  # all combinations
    assert with_names.figures["mean_gap"].value == pytest.approx(
        once.figures["mean_gap"].value, nan_ok=True
    )


@few
@given(rows())
def test_a_predictor_that_is_right_has_no_gap_but_that_of_the_labels(case):
    found = changed(case, f=case.y).audit(**NONE)
    for name in ("error", "dgf", "residual_gap", "loss_general_fairness", "error_gap"):
        assert not abs(found.figures[name].value) > 1e-12  # NaN where nothing can be compared
