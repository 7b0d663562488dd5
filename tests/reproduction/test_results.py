"""The results in results/: what the paper's readers were promised, and files that fit the code."""

import json
import lzma
from pathlib import Path

import numpy as np
import pytest
from reproduction.claim_tables import build_claims, build_verdicts
from reproduction.claims import RAISES_SLIGHTLY, REVERSED, WEIGHTED_DGF, check_claims
from reproduction.consistency import RELAXED, SIZES, Consistency
from reproduction.consistency import STUDIES as CONSISTENCY_STUDIES
from reproduction.paper import FOLDS, REPEATS, TABLES, methods_of
from reproduction.problems import PROBLEMS
from reproduction.protocol import settings_of
from reproduction.rendering import to_latex, to_markdown
from reproduction.summary import COMPARED, summarize
from reproduction.tables import build_overview, build_tables, show_spread

from gferm.printed.table import number

ROOT = Path(__file__).parents[2]
RESULTS, DOCS = ROOT / "results", ROOT / "docs"
STUDIES = ("binary", "continuous")
pytestmark = pytest.mark.skipif(not RESULTS.exists(), reason="not a checkout: no results/ folder")


@pytest.fixture(scope="module")
def records():
    """Read a packed journal, once."""
    read = {}

    def get(data, study):
        if (data, study) not in read:
            packed = (RESULTS / data / f"{study}.jsonl.xz").read_bytes()
            read[data, study] = [json.loads(line) for line in lzma.decompress(packed).splitlines()]
        return read[data, study]

    return get


@pytest.mark.parametrize("data", PROBLEMS)
@pytest.mark.parametrize("study", STUDIES)
def test_every_fold_and_every_method_is_there(records, data, study):
    found = records(data, study)
    assert [(r["repeat"], r["fold"]) for r in found] == [
        divmod(place, FOLDS) for place in range(REPEATS * FOLDS)
    ]
    keys = [method.key for method in methods_of(study)]
    assert all(list(record["models"]) == keys for record in found)
    seeds = [tuple(record["seeds"].values()) for record in found]
    assert len(set(seeds)) == len(seeds)


@pytest.mark.parametrize("data", PROBLEMS)
def test_they_belong_to_the_settings_of_today(data):
    found = json.loads((RESULTS / data / "settings.json").read_text(encoding="utf-8"))
    assert found == json.loads(json.dumps(settings_of(PROBLEMS[data]())))


@pytest.mark.parametrize("data", PROBLEMS)
@pytest.mark.parametrize("study", STUDIES)
def test_the_tables_are_those_of_the_records(records, data, study):
    found = records(data, study)
    summary, findings = summarize(found), check_claims(found)
    claims = [build_claims(findings, summary), build_verdicts(findings, summary)]
    for sheet in [*build_tables(summary), *claims]:
        for ending, render in ((".md", to_markdown), (".tex", to_latex)):
            path = RESULTS / data / f"{sheet.name}{ending}"
            assert path.read_text(encoding="utf-8") == render(sheet), f"run make reproduce: {path}"


def test_the_documentation_has_the_numbers_of_the_tables(records):
    methods = summarize(records("crime", "binary")).methods
    rows = {
        row.method.name: row.method for row in TABLES["table-results"].rows if not row.method.with_s
    }
    compared = 0
    for page, digits in ((DOCS / "reproduction.md", (2, 3)), (DOCS.parent / "README.md", (1, 2))):
        for line in page.read_text(encoding="utf-8").splitlines():
            name, *cells = [cell.strip() for cell in line.strip("|").split("|")]
            if name not in rows or len(cells) < 4:
                continue
            found = methods[rows[name].key]
            expected = [
                show_spread(found.error, digits[0]),
                show_spread(found.dgf[COMPARED], digits[1]),
            ]
            if len(cells) > 4:
                pooled = found.pooled
                means = (found.chance.mean, pooled.dgf[COMPARED].mean, pooled.chance, pooled.p)
                expected += [number(mean, 3) for mean in means]
            assert [cell.replace(" ", "") for cell in (cells[1], *cells[3:])] == expected
            compared += 1
    assert compared == 6 + 4


def test_the_run_names_its_device_and_took_less_than_five_minutes():
    (run,) = json.loads((RESULTS / "crime" / "run.json").read_text(encoding="utf-8"))
    assert "H200" in run["device"]
    assert run["outer_folds"] == REPEATS * FOLDS
    assert run["seconds"] < 300


def test_the_overview_is_that_of_the_records(records):
    sheet = build_overview({study: summarize(records("crime", study)) for study in STUDIES})
    for ending, render in ((".md", to_markdown), (".tex", to_latex)):
        path = RESULTS / "crime" / f"overview{ending}"
        assert path.read_text(encoding="utf-8") == render(sheet), f"run make reproduce: {path}"


def test_naive_rows_lie_within_one_published_deviation(records):
    methods = summarize(records("crime", "binary")).methods
    naive = [row for row in TABLES["table-results"].rows if row.method.naive]
    assert len(naive) == 4
    for row in naive:
        found, (error, dgf) = methods[row.method.key], row.crime
        assert abs(found.error.mean - error.mean) <= error.std
        assert abs(found.dgf[COMPARED].mean - dgf.mean) <= dgf.std
        assert abs(found.dgf["pairs"].mean - dgf.mean) <= dgf.std


def test_delta_has_the_sign_and_the_size_of_the_papers(records):
    methods = summarize(records("crime", "binary")).methods
    for row in TABLES["table-delta"].rows:
        ours, paper = methods[row.method.key].delta, row.crime[0].mean
        assert 0.1 < ours["train_pairs"].mean / paper < 10
        assert ours["train_sum"].mean > 0


@pytest.mark.parametrize("data", PROBLEMS)
@pytest.mark.parametrize("study", STUDIES)
def test_the_claims_go_the_way_the_paper_says_but_for_their_price(records, data, study):
    findings = check_claims(records(data, study))
    reversed_ = [f.comparison for f in findings if f.verdict == REVERSED]
    assert {c.claim for c in reversed_ if c.measure != WEIGHTED_DGF} <= {RAISES_SLIGHTLY}
    assert {c.before.learner for c in reversed_ if c.claim == RAISES_SLIGHTLY} <= {"RLS"}
    dgf, gap, error = (
        [f.difference for f in findings if f.comparison.claim == claim]
        for claim in (
            "The constraint lowers DGF",
            "The constraint lowers the gap it bounds",
            "The constraint raises the error",
        )
    )
    assert np.max(dgf) < 0 < np.min(error)
    assert np.max(gap) < 0


def test_the_consistency_experiment_follows_the_theorem():
    packed = (RESULTS / "consistency" / "consistency.jsonl.xz").read_bytes()
    draws = [json.loads(line) for line in lzma.decompress(packed).splitlines()]
    assert min(SIZES) == 100
    assert max(SIZES) == 100_000
    result = Consistency.from_records(draws, SIZES, REPEATS)
    for study in CONSISTENCY_STUDIES:
        for measure in ("excess", "unfairness"):
            slope, error = result.slope(study, RELAXED, measure)
            assert -0.55 < slope < -0.4
            assert error < 0.05
