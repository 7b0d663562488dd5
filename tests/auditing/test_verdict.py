"""The verdict: unfairness is seen, chance is not called unfair, and the unknown is never fair."""

from dataclasses import replace

import numpy as np
import pytest

from gferm import Bins
from gferm.auditing import Chance
from gferm.auditing.evidence import WITHIN_BINS
from tests.auditing.cases import EDGES, Case, classes, letters, make_numbers

ENOUGH = {"n_boot": 0, "n_permutations": 100}


def of_kind(audit, kind):
    return [one.text for one in audit.verdict if one.kind == kind]


def said(audit, *words, kind="caution"):
    return any(all(word in text for word in words) for text in of_kind(audit, kind))


def numbers(n=400, bins=EDGES, **options):
    y, f, s = make_numbers(n, **options)
    return Case(y, f, letters(s), bins={"y_bins": bins})


@pytest.mark.parametrize("case", [numbers(), numbers(n_groups=4), numbers(bins=1)])
def test_clear_unfairness_is_seen(case):
    found = case.audit(**ENOUGH)
    assert found.is_unfair
    assert found.verdict[0].kind == "unfair"
    assert "treated differently" in found.verdict[0].text


def test_classes_that_are_recognised_less_often_are_seen():
    rng = np.random.default_rng(0)
    y, s = rng.integers(0, 2, 400), rng.integers(0, 2, 400)
    f = np.where(rng.random(400) < 0.4 * s * y, 1 - y, y)
    found = Case(y, f, letters(s)).audit(**ENOUGH)
    assert found.is_unfair
    assert said(found, "In 1: the rate of right predictions of a", "above that of b", kind="fact")


def test_the_right_answer_for_everybody_is_not_unfair():
    case = classes([0, 1])
    found = Case(case.y, case.y, case.s, bins=case.bins).audit(**ENOUGH)
    assert not found.is_unfair
    assert {figure.value for figure in found.figures.values() if figure.unit == "share"} == {0}
    assert said(found, "No difference", "no proof", kind="fair")


@pytest.mark.slow
@pytest.mark.parametrize("task", ["numbers", "classes", "weights", "marginal"])
def test_where_nothing_but_chance_differs_about_one_in_twenty_is_called_unfair(task):
    n_seeds, unfair = 300, 0
    for seed in range(n_seeds):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 3, 150) + 0.5
        s = (rng.random(150) < 0.3 + 0.2 * (y > 1)).astype(int)  # depends on the label alone
        f, weight, more = y + rng.normal(0, 1, 150), None, {"y_bins": EDGES}
        columns = {"s": letters(s)}
        if task == "classes":
            y, f, more = (y > 1) * 1, (f > 1) * 1, {}
        if task == "weights":
            weight = rng.exponential(size=150) ** (1 + 2 * s)  # a few rows stand for one group
        if task == "marginal":
            columns["t"] = letters(rng.integers(0, 3, 150))
            more["intersectional"] = False
        case = Case(y, f, columns, weight, more)
        unfair += case.audit(random_state=seed, n_boot=0, n_permutations=199).is_unfair
    noise = np.sqrt(0.05 * 0.95 / n_seeds)
    assert unfair / n_seeds < 0.05 + 3 * noise
    assert unfair / n_seeds > 0.005  # Bonferroni asks for more than it must, but not for all


@pytest.mark.parametrize(("p", "kind"), [(0.016, "unfair"), (0.017, "fair")])
def test_the_answer_is_corrected_for_the_number_of_figures(p, kind):
    found = numbers().audit(n_boot=0, n_permutations=100)
    chance = Chance(mean=0.0, high=0.1, p=p, shuffled=WITHIN_BINS)
    names = ("dgf", "dgf_weighted", "mean_gap")
    figures = {name: replace(found.figures[name], chance=chance) for name in names}
    answer = replace(found, figures=figures).verdict[0]
    assert answer.kind == kind
    assert f"smallest p of 3 figures, times 3: {3 * p:.3f}" in answer.text


def test_without_shuffles_nothing_is_called_fair():
    found = numbers().audit(n_boot=0, n_permutations=0)
    assert "n_permutations=0" in found.verdict[0].text
    assert not of_kind(found, "fair")
    assert not of_kind(found, "unfair")
    with pytest.raises(ValueError, match=r"not known\. .*n_permutations=0"):
        _ = found.is_unfair


@pytest.mark.parametrize("case", [numbers(), classes([0, 1])])
def test_too_few_shuffles_to_find_anything_are_named_with_the_number_it_takes(case):
    # the smallest of n p-values, times n, cannot be less than n / (1 + shuffles)
    n = 4 if case.audit(**ENOUGH).task == "classes" else 3
    few = case.audit(n_boot=0, n_permutations=20 * n - 1)
    assert few.verdict[0].kind == "caution"
    assert f"n_permutations={20 * n} or more" in few.verdict[0].text
    with pytest.raises(ValueError, match="too few"):
        _ = few.is_unfair
    assert case.audit(n_boot=0, n_permutations=20 * n).verdict[0].kind in ("fair", "unfair")


@pytest.mark.parametrize("kind", ["unfair", "fair"])
def test_a_single_figure_that_no_shuffle_can_tell_from_chance_is_a_fact(kind):
    found = numbers().audit(n_boot=0, n_permutations=10)
    assert not of_kind(found, kind)


def test_nothing_comparable_is_unknown():
    y = np.repeat([0.5, 1.5], 20)  # groups never share a label bin
    found = Case(y, y, letters((y > 1) * 1), bins={"y_bins": [0, 1, 2]}).audit(**ENOUGH)
    assert found.verdict[0].kind == "caution"
    assert not found.all_gaps
    with pytest.raises(ValueError, match="not known"):
        _ = found.is_unfair


def test_words_and_a_continuous_attribute_have_no_figure_to_judge():
    rng = np.random.default_rng(0)
    y = np.array(["low", "mid", "top"])[rng.integers(0, 3, 60)]
    found = Case(y, y, rng.normal(size=60)).audit(s_bins="continuous", **ENOUGH)
    assert "no figure applies" in found.verdict[0].text


def test_an_attribute_that_is_nowhere_compared_is_named_beside_one_that_is():
    y, f, s = make_numbers()
    columns = {"sex": letters(s), "era": np.where(y > 1.5, "new", "old")}
    bins = {"y_bins": [0, 1.5, 3.1], "intersectional": False}
    y[y == 1.5] = 1.4
    found = Case(y, f, columns, bins=bins).audit(**ENOUGH)
    assert said(found, "era: no label bin", "nothing is known")
    assert not said(found, "sex:")


@pytest.mark.parametrize("case", [numbers(), classes(["no", "yes"])])
def test_a_model_that_says_the_same_of_everybody_is_named(case):
    constant = np.full(400, case.f[0]) if case.f.dtype.kind == "U" else np.pi + 1e-13 * case.f
    for f, expected in ((constant, True), (case.f, False)):
        found = replace(case, f=f).audit(**ENOUGH)
        assert said(found, "All predictions are the same") == expected


def test_empty_and_small_cells_are_named():
    case = numbers(60, n_groups=2, bins=[*EDGES, 4])
    case.s[:3] = "c"
    found = case.audit(small_cell_size=5, **ENOUGH)
    empty = [f"{cell.group} in {cell.label_bin}" for cell in found.empty]
    assert len(empty) >= 2
    assert said(found, f"{len(empty)} of 12 cells have no row", *empty[:3])
    assert all(0 < cell.count < 5 for cell in found.small)
    assert said(found, f"{len(found.small)} cells have fewer than 5 rows", found.small[0].group)


def test_cells_that_are_too_small_to_be_compared_are_named():
    y, f, s = make_numbers(n_groups=2)
    s = letters(s)
    s[:40] = "c"
    found = Case(y, f, s, bins={"y_bins": EDGES}).audit(min_cell_size=30, **ENOUGH)
    assert not any("c" in gap.groups for gap in found.all_gaps)
    counts = [cell.count for cell in found.cells if cell.group == "c"]
    assert not found.small  # they are large enough to be read …
    assert said(found, "3 cells with rows", f"c in [0, 1): {counts[0]}", "min_cell_size=30")


def test_a_group_alone_in_its_label_bin_is_named():
    y, f, s = make_numbers()
    s[y > 2] = 0
    found = Case(y, f, letters(s), bins={"y_bins": EDGES}).audit(**ENOUGH)
    assert said(found, "1 cell", "a in [2, 3]", "empty there")


@pytest.mark.parametrize(
    ("bins", "outside"),
    [
        ({"y_bins": [1, 2, 3]}, lambda y, s: (y < 1).sum()),
        ({"s_bins": Bins.categories(["a", "b"])}, lambda y, s: (s == "c").sum()),
    ],
)
def test_rows_outside_of_the_bins_are_counted(bins, outside):
    case = numbers(n_groups=3)
    found = case.audit(**ENOUGH, **bins)
    assert found.outside == outside(case.y, case.s) > 0
    assert said(found, f"{found.outside} labels or groups lie in no bin")
    assert not said(case.audit(**ENOUGH), "lie in no bin")


def test_a_class_left_out_on_purpose_is_not_outside():
    found = classes(["no", "yes"], y_bins=["yes"]).audit(**ENOUGH)
    assert found.outside == 0


def test_the_largest_gaps_beyond_chance_are_named_and_small_cells_are_not():
    y, f, s = make_numbers(n=600)
    f = f + 2.0 * (s == 1) * (y > 2)
    case = Case(y, f, letters(s), bins={"y_bins": EDGES})
    (sentence,) = [one.text for one in case.audit(**ENOUGH).verdict if "Pair by" in one.text]
    assert "In [2, 3]: the rate of right predictions of a" in sentence
    all_small = case.audit(small_cell_size=1000, **ENOUGH)
    (sentence,) = [one.text for one in all_small.verdict if "Pair by pair" in one.text]
    assert "In [" not in sentence
