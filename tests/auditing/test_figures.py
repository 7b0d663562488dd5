"""Every figure is the function of gferm.metrics, whatever the labels, groups and weights."""

import warnings
from math import isnan

import numpy as np
import pytest

from gferm import Bins, metrics
from gferm.auditing.measures import MEASURES
from gferm.exceptions import OutsideBinsWarning
from tests.auditing.cases import CASES, CLASSES, NUMBERS, Case, classes, make_numbers

QUICK = {"n_boot": 0, "n_permutations": 0}


def of(function, **more):
    def expected(arguments, shared):
        return function(*arguments, **shared, **more)

    return expected


def groups_only(shared):
    return {name: value for name, value in shared.items() if name != "y_bins"}


def numeric_columns(features):
    columns = features if isinstance(features, dict) else {"sensitive": features}
    return {name: s for name, s in columns.items() if np.asarray(s).dtype.kind in "biuf"}


def error(arguments, shared):
    y, f = arguments
    words = y.dtype.kind == "U" or isinstance(shared["y_bins"], Bins)
    errors = (y != f) if words else np.abs(y - f)
    return np.average(errors, weights=shared["sample_weight"])


def error_gap(arguments, shared):
    y, f = arguments
    errors = np.abs(f - y) if y.dtype.kind == "f" else (f != y).astype(float)
    return metrics.mean_distance(errors, errors, **groups_only(shared))


def correlation(arguments, shared):
    numeric = numeric_columns(shared["sensitive_features"])
    if not numeric:
        return None
    return metrics.sensitive_correlation(
        *arguments, sensitive_features=numeric, sample_weight=shared["sample_weight"]
    )


def odds(arguments, shared):
    if shared["y_bins"] in (Bins.categories(["yes"]),):  # one class was asked for
        return opportunity(arguments, shared)
    return metrics.equalized_odds_difference(*arguments, **groups_only(shared))


def opportunity(arguments, shared):
    levels = np.unique(arguments[0])
    if levels.size > 2:
        return None
    return metrics.equal_opportunity_difference(
        *arguments, **groups_only(shared), pos_label=levels[-1].item()
    )


ORACLES = {
    "error": error,
    "dgf": of(metrics.dgf),
    "dgf_weighted": of(metrics.dgf, average="weighted"),
    "general_fairness": of(metrics.general_fairness),
    "dgf_sum": of(metrics.dgf, average="sum"),
    "mean_gap": of(metrics.loss_general_fairness, loss="prediction", average="pairs"),
    "residual_gap": of(metrics.loss_general_fairness, loss="linear", average="pairs"),
    "loss_general_fairness": of(metrics.loss_general_fairness),
    "delta_hat": of(metrics.delta_hat),
    "mean_distance": lambda arguments, shared: metrics.mean_distance(
        *arguments, **groups_only(shared)
    ),
    "error_gap": error_gap,
    "correlation": correlation,
    "covariance": lambda arguments, shared: None,  # see test_continuous.py
}
OF_CLASSES = {"equalized_odds_difference": odds, "equal_opportunity_difference": opportunity}
NEEDS_NUMBERS = {"mean_gap", "residual_gap", "loss_general_fairness", "delta_hat", "mean_distance"}


def as_numbers(case):
    """Write classes as an audit counts them: 1 for the second."""
    y, f = np.asarray(case.y), np.asarray(case.f)
    if y.dtype.kind != "U":
        return case
    bins = {**case.bins, "y_bins": Bins.categories([{"no": 0, "yes": 1}[b] for b in _named(case)])}
    return Case((y == "yes") * 1.0, (f == "yes") * 1.0, case.s, case.weight, bins)


def _named(case):
    return case.bins["y_bins"].levels


def expected_of(name, case):
    if name in NEEDS_NUMBERS:
        if np.unique(case.y).size > 2 and np.asarray(case.y).dtype.kind == "U":
            return None
        case = as_numbers(case)
    arguments, shared = case.arguments
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutsideBinsWarning)
        return (ORACLES | OF_CLASSES)[name](arguments, shared)


def test_every_measure_has_an_oracle():
    assert {measure.name for measure in MEASURES} == {*ORACLES, *OF_CLASSES}


@pytest.mark.parametrize("name", ORACLES | OF_CLASSES)
@pytest.mark.parametrize("case", CASES)
def test_figures_are_those_of_the_metrics(case, name):
    if case in NUMBERS and name in OF_CLASSES:
        assert name not in CASES[case]().audit(**QUICK).figures
        return
    case = CASES[case]()
    expected, figures = expected_of(name, case), case.audit(**QUICK).figures
    if expected is None:
        assert name not in figures
    else:
        assert figures[name].value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("least", [2, 30])
@pytest.mark.parametrize("name", ["dgf", "dgf_weighted", "dgf_sum", "mean_gap", "delta_hat"])
def test_smaller_cells_take_no_part(name, least):
    case = CASES["empty cells"]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nothing is left of 30
        arguments, shared = case.arguments
        expected = ORACLES[name](arguments, shared | {"min_cell_size": least})
    value = case.audit(min_cell_size=least, **QUICK).figures[name].value
    assert value == pytest.approx(expected, nan_ok=True)
    assert isnan(value) == (least == 30)


@pytest.mark.parametrize("loss", ["squared", "absolute", lambda f, y: (f > y) * 1.0])
def test_lgf_takes_any_loss(loss):
    arguments, shared = CASES["five groups"]().arguments
    expected = metrics.loss_general_fairness(*arguments, **shared, loss=loss)
    found = CASES["five groups"]().audit(loss=loss, **QUICK)
    assert found.figures["loss_general_fairness"].value == pytest.approx(expected)


@pytest.mark.parametrize("y_bins", ["classes", 10, ["no", "yes"]])
def test_ways_to_ask_for_classes(y_bins):
    case = CLASSES["words"]()
    expected = case.audit(**QUICK).to_dict()
    assert case.audit(y_bins=y_bins, **QUICK).to_dict() == expected


@pytest.mark.parametrize("names", [[0, 1], [0.0, 1.0], [False, True]])
def test_two_numbers_and_booleans_are_classes(names):
    case = classes(names)
    figures = case.audit(**QUICK).figures
    for bins in (Bins.categories(names), "classes"):
        assert case.audit(y_bins=bins, **QUICK).figures.keys() == figures.keys()
    assert figures["equal_opportunity_difference"].value == pytest.approx(
        metrics.equal_opportunity_difference(case.y, case.f, sensitive_features=case.s)
    )


def test_one_bin_has_no_rates_for_everybody_would_be_right():
    y, f, s = make_numbers()
    for bins in (1, [-np.inf, np.inf]):
        figures = Case(y, f, s, bins={"y_bins": bins}).audit(**QUICK).figures
        assert not {"dgf", "dgf_weighted", "general_fairness", "delta_hat"} & set(figures)
        assert figures["mean_gap"].value == pytest.approx(figures["mean_distance"].value)


def test_a_class_that_only_the_bins_know_is_an_empty_cell():
    y, f = np.array([0, 1] * 20), np.array([0, 1, 1, 2] * 10)
    found = Case(y, f, letters := np.array(["a", "b"]).repeat(20)).audit(
        y_bins=Bins.categories([0, 1, 2]), **QUICK
    )
    assert [cell.label_bin for cell in found.empty] == ["2", "2"]
    assert found.figures["error"].value == pytest.approx(np.mean(y != f))
    assert set(letters) == {cell.group for cell in found.cells}
