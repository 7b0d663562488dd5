"""The rules are their definitions, for any search; each refusal names the remedy."""

import pickle
from copy import deepcopy
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV

from gferm import fairest_within
from gferm.model_selection import lowest_error, pareto_set

# whole numbers make ties, duplicates and errors at the very limit; None is a setting that failed
counts = st.one_of(st.integers(0, 12), st.none())
settings_of_a_search = st.lists(st.tuples(counts, counts), min_size=1, max_size=12)
tolerances = st.sampled_from([0.0, 0.1, 0.2, 0.25, 0.5, 0.9])


def table(pairs, unit=1.0):
    """Write settings as cv_results_ does, in some unit of the error."""
    errors, unfairness = zip(*pairs, strict=True)
    return {
        "mean_test_error": np.array([np.nan if e is None else e * unit for e in errors]),
        "mean_test_dgf": np.array([np.nan if u is None else u / 16 for u in unfairness]),
    }


def shortlist_by_hand(pairs, tolerance):
    """Exact arithmetic on the decimals of the tolerance."""
    best = min(e for e, _ in pairs if e is not None)
    share = 1 - Fraction(str(tolerance))
    return [i for i, (e, _) in enumerate(pairs) if e is not None and e * share <= best]


def choice_by_hand(pairs, tolerance):
    known = [i for i in shortlist_by_hand(pairs, tolerance) if pairs[i][1] is not None]
    return min(known, key=lambda i: (pairs[i][1], pairs[i][0], i))


def assume_a_choice(pairs, tolerance):
    assume(any(e is not None for e, _ in pairs))
    assume(any(pairs[i][1] is not None for i in shortlist_by_hand(pairs, tolerance)))


@given(settings_of_a_search, tolerances, st.sampled_from([1.0, 0.01, 1 / 3, 7e5]))
def test_fairest_within_is_its_definition_in_any_unit(pairs, tolerance, unit):
    assume_a_choice(pairs, tolerance)
    rule, results = fairest_within(tolerance), table(pairs, unit)
    shortlist = rule.shortlist(results)
    assert shortlist.tolist() == shortlist_by_hand(pairs, tolerance)
    chosen = rule(results)
    assert isinstance(chosen, int)
    assert chosen == choice_by_hand(pairs, tolerance)
    best = np.nanmin(results["mean_test_error"])
    assert rule.limit(results["mean_test_error"]) == pytest.approx(best / (1 - tolerance))


@given(settings_of_a_search, tolerances)
def test_what_scorers_negate_is_the_same_choice(pairs, tolerance):
    assume_a_choice(pairs, tolerance)
    rule, results = fairest_within(tolerance), table(pairs)
    for signs in product([1, -1], repeat=2):
        signed = {name: sign * results[name] for name, sign in zip(results, signs, strict=True)}
        assert rule(signed) == rule(results)
        assert lowest_error()(signed) == lowest_error()(results)


@given(settings_of_a_search, tolerances)
def test_a_score_is_an_error_from_one(pairs, tolerance):
    assume_a_choice(pairs, tolerance)
    results = table(pairs, unit=1 / 100)  # accuracies such as 0.91, with the rounding of 1 − 0.91
    results["mean_test_accuracy"] = 1 - results["mean_test_error"]
    rule = fairest_within(tolerance, "mean_test_accuracy", greater_is_better=True)
    assert rule.shortlist(results).tolist() == shortlist_by_hand(pairs, tolerance)
    assert rule(results) == choice_by_hand(pairs, tolerance)
    naive = lowest_error("mean_test_accuracy", greater_is_better=True)
    assert pairs[naive(results)][0] == pairs[lowest_error()(results)][0]


@given(settings_of_a_search, tolerances, st.randoms(use_true_random=False))
def test_the_order_of_the_settings_does_not_matter_but_for_equal_ones(pairs, tolerance, random):
    assume_a_choice(pairs, tolerance)
    shuffled = random.sample(pairs, len(pairs))
    rule = fairest_within(tolerance)
    assert shuffled[rule(table(shuffled))] == pairs[rule(table(pairs))]
    there, here = (rule.shortlist(table(order)) for order in (shuffled, pairs))
    key = str  # None has no order
    assert sorted((shuffled[i] for i in there), key=key) == sorted(
        (pairs[i] for i in here), key=key
    )


@given(settings_of_a_search)
def test_lowest_error_is_the_first_of_the_best(pairs):
    assume(any(e is not None for e, _ in pairs))
    errors = [np.inf if e is None else e for e, _ in pairs]
    assert lowest_error()(table(pairs)) == errors.index(min(errors))


@given(settings_of_a_search, tolerances, tolerances)
def test_more_tolerance_is_a_longer_shortlist_and_a_fairer_choice(pairs, one, other):
    low, high = sorted((one, other))
    assume_a_choice(pairs, low)
    results = table(pairs)
    short, long = (fairest_within(t).shortlist(results) for t in (low, high))
    assert set(short) <= set(long)
    assert lowest_error()(results) in short
    unfairness = results["mean_test_dgf"]
    assert unfairness[fairest_within(high)(results)] <= unfairness[fairest_within(low)(results)]


@given(settings_of_a_search)
def test_the_pareto_set_is_its_definition(pairs):
    def beats(one, other):
        return one != other and one[0] <= other[0] and one[1] <= other[1]

    known = [pair for pair in pairs if None not in pair]
    expected = [
        i
        for i, pair in enumerate(pairs)
        if None not in pair
        and not any(beats(other, pair) for other in known)
        and pairs.index(pair) == i
    ]
    found = pareto_set(*table(pairs).values())
    assert found.tolist() == sorted(expected, key=lambda i: pairs[i][0])


@given(settings_of_a_search, tolerances)
def test_the_choice_is_as_good_as_one_of_the_pareto_set(pairs, tolerance):
    assume(any(None not in pair for pair in pairs))
    pairs = [pair for pair in pairs if None not in pair]
    results = table(pairs)
    assert fairest_within(tolerance)(results) in pareto_set(*results.values())


def test_a_perfect_setting_is_shortlisted_with_its_equals_only():
    results = {"mean_test_error": [0.0, 1e-300, 0.0, 0.1], "mean_test_dgf": [0.3, 0.0, 0.2, 0.1]}
    assert fairest_within(0.9).shortlist(results).tolist() == [0, 2]
    assert fairest_within(0.9)(results) == 2


def test_a_setting_at_the_very_limit_is_not_lost_to_rounding():
    results = {"mean_test_accuracy": [0.91, 0.90, 0.89], "mean_test_dgf": [0.2, 0.1, 0.0]}
    assert 1 - 0.90 > (1 - 0.91) / (1 - 0.1)  # in doubles
    assert fairest_within(0.1, "mean_test_accuracy", greater_is_better=True)(results) == 1


def test_a_data_frame_of_the_results_will_do():
    results = table([(3, 1), (3, 0), (9, 0)])
    assert fairest_within()(pd.DataFrame(results)) == 1


@pytest.mark.parametrize("tolerance", [-0.1, 1.0, 10, np.nan, "0.1", None])
def test_a_tolerance_outside_its_range_is_refused(tolerance):
    with pytest.raises(ValueError, match=r"tolerance=.* must be a number in \[0, 1\)"):
        fairest_within(tolerance)


@pytest.mark.parametrize("column", ["error", "unfairness"])
def test_a_missing_column_is_named_with_those_that_exist(column):
    rule = fairest_within(**{column: "mean_test_absent"})
    with pytest.raises(ValueError, match="multi-metric") as error:
        rule(table([(1, 1)]))
    for word in (f"{column}='mean_test_absent'", "'mean_test_error'", "'mean_test_dgf'"):
        assert word in str(error.value)


@pytest.mark.parametrize("rule", [fairest_within(), lowest_error()], ids=repr)
def test_a_search_that_failed_throughout_has_no_choice(rule):
    with pytest.raises(ValueError, match=r"mean_test_error.* NaN for all 2 .*error_score='raise'"):
        rule(table([(None, 1), (None, 2)]))


def test_a_shortlist_without_unfairness_has_no_choice():
    results = table([(9, None), (10, None), (12, 0)])
    with pytest.raises(ValueError, match=r"mean_test_dgf.* NaN for all 2 .*raise tolerance=0\.1"):
        fairest_within()(results)
    assert fairest_within().shortlist(results).tolist() == [0, 1]
    assert fairest_within(0.25)(results) == 2


SKILL = {"mean_test_skill": [0.5, 0.9, -0.2], **table([(2, 0), (1, 0), (3, 0)])}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"error": "mean_test_skill"}, "pass greater_is_better=True"),
        ({"unfairness": "mean_test_skill"}, "has both signs, -0.2 to 0.9"),
        ({"greater_is_better": True}, "goes up to 3, .*leave it out"),
    ],
)
def test_scores_and_errors_are_not_taken_for_each_other(options, message):
    with pytest.raises(ValueError, match=message):
        fairest_within(**options)(SKILL)


@pytest.mark.parametrize("rule", [fairest_within, lowest_error])
def test_the_least_accurate_model_is_never_chosen_for_its_accuracy(rule):
    results = {"mean_test_accuracy": [0.6, 0.9], "mean_test_dgf": [0.1, 0.1]}
    with pytest.raises(ValueError, match="a score, not an error; pass greater_is_better=True"):
        rule(error="mean_test_accuracy")(results)
    assert rule(error="mean_test_accuracy", greater_is_better=True)(results) == 1
    results["mean_test_accuracy"] = [-0.4, -0.1]  # a loss of one's own under this name
    assert rule(error="mean_test_accuracy")(results) == 1
    results["mean_test_neg_log_loss"] = [-0.7, -0.3]
    assert rule(error="mean_test_neg_log_loss")(results) == 1
    with pytest.raises(ValueError, match=r"negated error.* leave greater_is_better=True out"):
        rule(error="mean_test_neg_log_loss", greater_is_better=True)(results)


@pytest.mark.parametrize(
    "rule", [fairest_within(0.2, "mean_test_e", greater_is_better=True), lowest_error()], ids=repr
)
def test_a_rule_travels_with_its_search(rule):
    for copy in (pickle.loads(pickle.dumps(rule)), deepcopy(rule), clone(rule, safe=False)):
        assert copy == rule
    search = clone(GridSearchCV(Ridge(), {"alpha": [1.0]}, refit=rule))
    assert search.refit == rule
    assert "".join(repr(rule).split()) in "".join(repr(search).split())
    assert eval(repr(rule)) == rule
    with pytest.raises(AttributeError):
        rule.error = "mean_test_other"
