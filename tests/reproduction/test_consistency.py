"""The closed forms are those of the population; a run that is cut off ends with the same bytes."""

import json
import sys
from itertools import combinations, pairwise

import numpy as np
import pytest
from matplotlib.figure import Figure
from reproduction.consistency import (
    BINARY,
    CONTINUOUS,
    MODELS,
    PLAIN,
    RELAXED,
    STUDIES,
    ZERO,
    draw_problem,
    population_measures,
    run_consistency,
)
from reproduction.consistency_figure import Panel, draw_panel, log_slope
from reproduction.journal import DIGITS, LOCK

from reproduction import ExperimentError, consistency

SMALL = {"repeats": 2, "sizes": (100, 300), "show_progress": False}
FILES = ("settings.json", "consistency.jsonl", "consistency.md", "consistency.png")
LARGE = 200_000
ROUNDING = 10.0 ** (1 - DIGITS)  # of the numbers in a journal


def contents(folder):
    assert sorted(path.name for path in folder.iterdir()) == sorted([LOCK, *FILES])
    return {name: (folder / name).read_bytes() for name in FILES}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    run_consistency(folder, **SMALL)
    return contents(folder)


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    folder = tmp_path_factory.mktemp("grown")
    return run_consistency(folder, repeats=12, sizes=(300, 1700, 10_000), show_progress=False)


@pytest.fixture
def quick(finished, monkeypatch):
    """Runs with a picture that is there already; drawing takes longest."""
    monkeypatch.setattr(consistency, "draw", lambda sizes, panels: finished["consistency.png"])


@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.parametrize("proxy", [0.0, 0.4, -1.3])
def test_closed_forms_are_what_a_large_sample_shows(study, proxy):
    made = draw_problem(study, LARGE, 7)
    rng = np.random.default_rng(0)
    coef = np.append(made.coef_fair[:-1] + 0.3 * rng.standard_normal(5), proxy)
    intercept = made.intercept_fair + 0.2
    known = population_measures(made, study, coef, intercept)

    f = made.data @ coef + intercept
    best = made.data @ made.coef_fair + made.intercept_fair
    # paired, so that the noise of y cancels
    differences = (made.target - f) ** 2 - (made.target - best) ** 2
    error = differences.std() / LARGE**0.5
    assert abs(known["excess"] - differences.mean()) < 4 * error

    groups = [
        f[(low <= made.sensitive_features) & (made.sensitive_features <= high)]
        for low, high in pairwise(made.s_bins)
    ]
    gaps = [abs(a.mean() - b.mean()) for a, b in combinations(groups, 2)]
    error = np.mean([g.std() / g.size**0.5 for g in groups])
    assert abs(known["unfairness"] - np.mean(gaps)) < 4 * error


@pytest.mark.parametrize("study", STUDIES)
def test_closed_forms_agree_with_the_known_optima(study):
    made = draw_problem(study, 10, 3)
    fair = population_measures(made, study, made.coef_fair, made.intercept_fair)
    assert fair == {"excess": 0.0, "estimation": 0.0, "unfairness": 0.0}
    plain = population_measures(made, study, made.coef_plain, made.intercept_plain)
    assert plain["excess"] == pytest.approx(made.mse_plain - made.mse_fair)
    assert plain["estimation"] == pytest.approx(0, abs=1e-12)
    if study == BINARY:
        assert plain["unfairness"] == pytest.approx(made.gap_plain)


@pytest.mark.parametrize("study", STUDIES)
def test_the_constraint_holds_on_the_sample(study, grown):
    assert not grown.values[study, ZERO, "sample_unfairness"].any()
    relaxed = grown.values[study, RELAXED, "sample_unfairness"]
    norms = [np.linalg.norm(draw_problem(study, 2, seed).coef_fair) for seed in range(12)]
    n_groups = 2 if study == BINARY else 5
    widths = 2 * np.sqrt(2 * n_groups / np.array(grown.sizes))[:, None] * norms
    plain = grown.values[study, PLAIN, "sample_unfairness"]
    np.testing.assert_allclose(relaxed, np.minimum(widths, plain), rtol=ROUNDING)


@pytest.mark.parametrize("study", STUDIES)
def test_risk_and_unfairness_fall_as_the_theorem_says(study, grown):
    for key in ("excess", "unfairness"):
        slope, error = grown.slope(study, RELAXED, key)
        assert -0.5 - 4 * error < slope < -0.25
        assert grown.slope(study, PLAIN, key)[0] == pytest.approx(0, abs=0.03)
    assert grown.slope(study, ZERO, "unfairness")[0] < -0.25
    assert grown.slope(study, RELAXED, "estimation")[0] < -0.7


def test_without_slack_more_than_two_groups_cost_directions_at_any_size(grown):
    assert grown.slope(BINARY, ZERO, "excess")[0] < -0.25
    assert grown.slope(CONTINUOUS, ZERO, "excess")[0] == pytest.approx(0, abs=0.15)
    # Q − 2 = 3 random directions of five: this share of ‖β‖², give or take
    norms = [np.sum(draw_problem(CONTINUOUS, 2, seed).coef_fair ** 2) for seed in range(12)]
    shares = grown.values[CONTINUOUS, ZERO, "estimation"][-1] / norms
    # a share is Beta(3/2, 1) distributed
    error = np.sqrt(1.5 / (2.5**2 * 3.5) / 12)
    assert abs(shares.mean() - 3 / 5) < 4 * error


def test_a_slope_is_exact_on_a_power_and_undefined_at_zero():
    sizes = (10, 100, 1000)
    values = 3 * np.outer(np.array(sizes, dtype=float) ** -0.7, np.ones(4))
    assert log_slope(sizes, values) == pytest.approx((-0.7, 0))
    assert np.isnan(log_slope(sizes, np.zeros((3, 4)))).all()
    slope, error = log_slope(sizes, values[:, :1])
    assert slope == pytest.approx(-0.7)
    assert np.isnan(error)


def test_the_error_of_a_slope_is_its_spread_over_draws():
    sizes, rng = (10, 100, 1000), np.random.default_rng(0)
    power = np.array(sizes, dtype=float)[:, None] ** -0.5
    found = np.array(
        [log_slope(sizes, power * np.exp(rng.normal(size=(3, 60)))) for _ in range(60)]
    )
    spread = found[:, 0].std()
    assert 0.02 < spread < 0.1
    assert np.median(found[:, 1]) == pytest.approx(spread, rel=0.35)


def test_a_run_that_was_cut_off_anywhere_ends_with_the_same_bytes(finished, tmp_path, quick):
    whole = finished["consistency.jsonl"]
    first = whole.index(b"\n") + 1
    for kept in (0, 1, first - 1, first, first + 1, len(whole) // 2, len(whole) - 1, len(whole)):
        folder = tmp_path / str(kept)
        folder.mkdir()
        (folder / "settings.json").write_bytes(finished["settings.json"])
        (folder / "consistency.jsonl").write_bytes(whole[:kept])
        (folder / "consistency.md.part").write_bytes(b"cut off, too")
        run_consistency(folder, **SMALL)
        assert contents(folder) == finished


def test_finished_work_is_not_done_again(finished, tmp_path, monkeypatch):
    for name in ("settings.json", "consistency.jsonl"):
        (tmp_path / name).write_bytes(finished[name])
    monkeypatch.setattr(consistency, "measure", None)
    run_consistency(tmp_path, **SMALL)
    assert contents(tmp_path) == finished


def test_a_record_tells_how_to_repeat_it(finished):
    records = [json.loads(line) for line in finished["consistency.jsonl"].splitlines()]
    assert [(r["n"], r["seed"]) for r in records] == [(100, 0), (300, 0), (100, 1), (300, 1)]
    for record in records:
        for study in STUDIES:
            assert record[study].keys() == MODELS.keys()
            made = draw_problem(study, record["n"], record["seed"])
            X = made.data - made.data.mean(axis=0)
            y = made.target - made.target.mean()
            coef = np.linalg.solve(X.T @ X + np.eye(6), X.T @ y)  # ridge, the plain model
            intercept = made.target.mean() - made.data.mean(axis=0) @ coef
            known = population_measures(made, study, coef, intercept)
            for key, value in known.items():
                assert record[study][PLAIN][key] == pytest.approx(value, rel=ROUNDING, abs=1e-9)


def test_the_table_and_the_picture_show_what_was_measured(finished):
    page = finished["consistency.md"].decode()
    for title in STUDIES.values():
        assert f"## {title}" in page
    assert "{" not in page
    tables = [line for line in page.splitlines() if line.startswith("| ")]
    assert sum(line.startswith("| 100 |") for line in tables) == len(STUDIES)
    records = [json.loads(line) for line in finished["consistency.jsonl"].splitlines()]
    values = [r[BINARY][ZERO]["unfairness"] for r in records if r["n"] == 300]
    row = next(line for line in tables if line.startswith("| 300 |"))
    assert row.split("|")[5].strip().startswith(f"{np.median(values):.2g} (")
    assert finished["consistency.png"].startswith(b"\x89PNG")


def test_curves_are_medians_and_the_rate_starts_at_one_of_them():
    sizes = np.array([100, 400, 1600])
    curves = {name: np.random.default_rng(0).exponential(size=(3, 9)) for name in "abcd"}
    curves["d"] = np.zeros((3, 9))  # has no place in logarithms, and does no harm
    ax = Figure().subplots()
    draw_panel(ax, sizes, Panel("title", "label", curves, beside="b"))
    *medians, rate = ax.lines
    assert [line.get_label() for line in medians] == list(curves)
    for line, values in zip(medians, curves.values(), strict=True):
        np.testing.assert_allclose(line.get_ydata(), np.median(values, axis=1))
    start = np.median(curves["b"][0])
    np.testing.assert_allclose(rate.get_ydata(), [start, start / 2, start / 4])
    assert ax.get_xscale() == ax.get_yscale() == "log"
    low, high = ax.get_ylim()
    for line in (*medians[:3], rate):
        assert np.all((low < line.get_ydata()) & (line.get_ydata() < high))


def test_progress_is_shown_when_asked_for(tmp_path, capsys, quick):
    run_consistency(tmp_path / "shown", **SMALL | {"show_progress": True})
    assert "consistency" in capsys.readouterr().err
    run_consistency(tmp_path / "silent", **SMALL)
    assert capsys.readouterr().err == ""


def test_other_settings_are_refused(finished, tmp_path):
    (tmp_path / "settings.json").write_bytes(finished["settings.json"])
    with pytest.raises(ExperimentError, match=r"sizes \(\[100, 300\] there, \[100, 400\] now\)"):
        run_consistency(tmp_path, **SMALL | {"sizes": (100, 400)})


def test_more_repeats_are_added_and_fewer_refused(finished, tmp_path, quick):
    run_consistency(tmp_path, **SMALL | {"repeats": 1})
    assert (
        "±" not in (tmp_path / "consistency.md").read_text(encoding="utf-8").split("Slopes")[1][90:]
    )
    run_consistency(tmp_path, **SMALL)
    assert contents(tmp_path) == finished
    with pytest.raises(ExperimentError, match=r"holds 2 repeats, more than --repeats 1\."):
        run_consistency(tmp_path, **SMALL | {"repeats": 1})


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"repeats": 0}, "repeats == 0"),
        ({"sizes": (100,)}, "at least two"),
        ({"sizes": (300, 100)}, "increase"),
    ],
)
def test_bad_arguments_leave_no_folder(change, match, tmp_path):
    with pytest.raises(ValueError, match=match):
        run_consistency(tmp_path / "new", **SMALL | change)
    assert not (tmp_path / "new").exists()


def test_numbers_of_numpy_are_numbers(finished, tmp_path, quick):
    sizes = np.array(SMALL["sizes"])
    run_consistency(tmp_path, repeats=np.int64(2), sizes=sizes, show_progress=False)
    assert contents(tmp_path) == finished


def test_without_matplotlib_nothing_is_begun(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"gferm\[plot\]"):
        run_consistency(tmp_path / "new", **SMALL)
    assert not (tmp_path / "new").exists()
