"""The page of every kind of audit, read as text: no browser is needed."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from gferm import FairClassifier, FairRegressor, audit, frontier
from gferm.auditing.page_data import (
    APART,
    MOST_BREAKPOINTS,
    N_EVENLY,
    audit_frontier,
    choose_stops,
    data_of_page,
)
from gferm.datasets import load_compas, load_crime, make_fair_regression
from gferm.report import render_page, write_page

FEW = {"n_boot": 20, "n_permutations": 20}


def plain_page(audit):
    return data_of_page(audit, audit.to_dict())


def data_of(page):
    return json.loads(
        re.search(r'<script type="application/json" id="data">(.*?)</script>', page)[1]
    )


class Outline(HTMLParser):
    """Tags that open and close, ids, and what is written in table cells."""

    VOID = frozenset(["meta", "link", "input", "br", "img"])

    def __init__(self, page):
        super().__init__()
        self.open, self.ids = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def numbers_of(figure):
    chance = figure.chance
    return [
        figure.value,
        *(figure.interval or ()),
        *((chance.mean, chance.high, chance.p) if chance else ()),
    ]


def regression(**options):
    X, y, s = make_fair_regression(300, random_state=0, return_X_y=True)
    model = FairRegressor(kernel="linear", epsilon=None).fit(X, y)
    return audit(y, model.predict(X), sensitive_features=s, y_bins=4, **FEW, **options)


def marginal():
    X, y, s = make_fair_regression(300, random_state=0, return_X_y=True)
    both = pd.DataFrame({"group": s, "half": np.arange(300) % 2})
    return audit(y, X[:, 0], sensitive_features=both, intersectional=False, y_bins=3, **FEW)


def continuous():
    crime = load_crime(sensitive="continuous")
    y, s = crime.target[:300], crime.sensitive_features[:300]
    return audit(y, y**2, sensitive_features=s, s_bins="continuous", y_bins=4, **FEW)


def classes():
    X, y, s = load_compas(return_X_y=True)
    X, y, s = X[:400], y[:400], s[:400]
    model = FairClassifier("log_loss", kernel="linear", epsilon=None).fit(X, y)
    return audit(y, model.predict(X), sensitive_features=s, **FEW)


def three_classes():
    y = np.array(["a", "b", "c"] * 50)
    return audit(y, np.roll(y, 7), sensitive_features=np.arange(150) % 2, **FEW)


def without_draws():
    y = np.linspace(0, 1, 90)
    return audit(y, y, sensitive_features=np.arange(90) % 3, y_bins=2, n_boot=0, n_permutations=0)


KINDS = [regression, marginal, continuous, classes, three_classes, without_draws]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_audit_has_a_page(kind, tmp_path):
    found = kind()
    found.report(tmp_path / "report.html", title="A <b>title</b>")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    outline = Outline(page)
    assert outline.open == []
    assert len(set(outline.ids)) == len(outline.ids)
    assert "A &lt;b&gt;title&lt;/b&gt;" in page
    assert "<b>title" not in page
    assert data_of(page)["audit"] == found.to_dict()
    for statement in found.verdict:
        assert json.dumps(statement.text, ensure_ascii=False)[1:12]
    assert "slider" not in outline.ids
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_the_page_asks_for_nothing():
    page = render_page(plain_page(regression()))
    outside = [
        url
        for url in re.findall(r'(?:src|href|action)="([^"]+)"', page.split("<script>")[0])
        if not url.startswith(("#", "data:"))
    ]
    assert outside == []
    assert "default-src 'none'" in page


def test_a_frontier_needs_the_audited_rows(case, tmp_path):
    for X, said in ((None, "X=None"), (case.X[:-1], "rows")):
        with pytest.raises(ValueError, match=said):
            case.audit.report(tmp_path / "report.html", frontier=case.frontier, X=X)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="classes"):
        classes().report(tmp_path / "report.html", frontier=case.frontier, X=case.X)


def test_stops_are_the_breakpoints_and_evenly_between(case):
    epsilons, is_breakpoint = choose_stops(case.frontier)
    assert (np.diff(epsilons) < 0).all()
    assert epsilons[0] == case.frontier.epsilons[0]
    assert epsilons[-1] == case.frontier.epsilons[-1] == 0.0
    assert set(case.frontier.epsilons) == set(epsilons[is_breakpoint])
    assert epsilons.size <= MOST_BREAKPOINTS + N_EVENLY
    longest = 1 / (N_EVENLY - 1) + APART  # beside a breakpoint that an even stop gave way to
    assert np.abs(np.diff(epsilons)).max() <= (1 + 1e-9) * longest * epsilons[0]


def test_stops_of_many_groups_are_thinned_out():
    crime, groups = load_crime(), np.random.default_rng(0).integers(0, 9, 800)
    X, y = crime.data[:800], crime.target[:800]
    many = frontier(X, y, sensitive_features=groups, gamma=0.1, alpha=0.3, y_bins=8)
    assert len(many) > MOST_BREAKPOINTS
    epsilons, is_breakpoint = choose_stops(many)
    assert is_breakpoint.sum() == MOST_BREAKPOINTS
    assert {epsilons[0], epsilons[-1]} == {many.epsilons[0], many.epsilons[-1]}


def test_a_stop_is_the_audit_of_its_model(case):
    stops = audit_frontier(case.audit, case.frontier, case.X, n_draws=60)
    assert stops[0].price == pytest.approx(0.0, abs=1e-12)
    assert (np.diff([stop.price for stop in stops]) > -1e-12).all()
    stop = stops[len(stops) // 2]
    found = case.audit_of(case.frontier.predict(case.X, [stop.epsilon])[0])
    assert stop.figures.keys() == found.figures.keys()
    for name, figure in found.figures.items():  # the same random numbers, so alike but for rounding
        np.testing.assert_allclose(numbers_of(stop.figures[name]), numbers_of(figure), atol=1e-12)
    shape = stop.rates[0].shape
    for table, field in ((stop.rates[0], "rate"), (stop.predictions[0], "prediction")):
        cells = [np.nan if (v := getattr(c, field)) is None else v for c in found.cells]
        np.testing.assert_allclose(table, np.reshape(cells, shape))


def test_rows_of_weight_zero_are_left_out_along_the_frontier(case):
    weight = np.ones(case.y.size)
    weight[::3] = 0.0
    options = {"sensitive_features": case.s, **case.bins, **case.draws}
    plain = case.frontier.predict(case.X)[0]
    weighted = audit(case.y, plain, sample_weight=weight, **options)
    stop = audit_frontier(weighted, case.frontier, case.X)[0]
    assert stop.figures["mean_gap"].value == weighted.figures["mean_gap"].value


def test_a_page_that_is_there_stays_if_the_new_one_fails(tmp_path):
    path = tmp_path / "report.html"
    write_page(plain_page(regression()), path)
    before = path.read_bytes()
    with pytest.raises(Exception, match="undefined"):
        write_page({"title": "half"}, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_without_its_packages_the_report_says_what_to_install(tmp_path):
    code = f"""
import sys
sys.modules["plotly"] = sys.modules["plotly.offline"] = None
import gferm
found = gferm.audit([0.0, 1.0, 0.2, 0.9], [0.0, 1.0, 0.1, 0.9], sensitive_features=[0, 0, 1, 1],
                    y_bins=2, n_boot=0, n_permutations=0)
try:
    found.report({str(tmp_path / "report.html")!r})
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'gferm[report]'" in done.stdout
    assert list(tmp_path.iterdir()) == []
