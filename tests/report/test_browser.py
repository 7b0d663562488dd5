"""The report in a real browser: its slider, its download, its width, its access, its silence."""

import json

import numpy as np
import pytest

from tests.report.conftest import ATTRIBUTE, GROUPS

WIDTHS = {"desktop": 1280, "tablet": 768, "phone": 360}


class Opened:
    """A page with everything it said and asked for."""

    def __init__(self, browser, path, *, width=1280, scheme="light"):
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, accept_downloads=True
        )
        self.page = self.context.new_page()
        self.errors, self.requests = [], []
        self.page.on("console", lambda message: self.errors.append(message.text))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("#chart-means .main-svg")

    def move_to(self, stop):
        self.page.evaluate(
            "stop => { const slider = document.getElementById('slider'); slider.value = stop;"
            "slider.dispatchEvent(new Event('input')); }",
            stop,
        )

    def data(self):
        return json.loads(self.page.text_content("#data"))


@pytest.fixture
def open_page(browser, report):
    opened = []

    def open_it(**options):
        opened.append(Opened(browser, report, **options))
        return opened[-1]

    yield open_it
    for one in opened:
        one.context.close()


def test_it_loads_in_silence(open_page, report):
    opened = open_page()
    assert opened.errors == []
    assert [url for url in opened.requests if not url.startswith(("data:", "blob:"))] == [
        report.as_uri()
    ]
    assert opened.page.evaluate("window.attacked") is None


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 0.77, 1.0])
def test_the_slider_shows_the_figures_of_the_frontier_at_epsilon(open_page, case, share):
    page = (opened := open_page()).page
    stops = opened.data()["stops"]
    place = round(share * (len(stops) - 1))
    opened.move_to(place)
    epsilon = float(page.get_attribute("#epsilon", "data-value"))
    assert epsilon == stops[place]["epsilon"]
    found = case.audit_of(case.frontier.at(epsilon).predict(case.X))
    for row in page.query_selector_all("tr[data-figure]"):
        name = row.get_attribute("data-figure")
        cell = row.query_selector('[data-role="value"]')
        assert float(cell.get_attribute("data-value")) == pytest.approx(
            found.figures[name].value, abs=1e-12
        )
        shown = cell.text_content().replace("−", "-")
        digits = len(shown.partition(".")[2])
        assert float(shown) == pytest.approx(found.figures[name].value, abs=0.5001 * 10**-digits)


SEEN = """() => {
  const text = (selector) => document.querySelector(selector).textContent;
  const traces = (id) => document.getElementById(id).data;
  return {
    error: text('tr[data-figure="error"] [data-role="value"]'),
    sentence: text("#sentence"),
    card: text(".card .number"),
    rates: traces("chart-rates").filter((one) => one.type === "bar").map((one) => [...one.y]),
    means: traces("chart-means").map((one) => [...one.y]),
    ring: traces("chart-price").at(-1).x[0],
  };
}"""


def test_the_slider_moves_error_rates_means_and_sentence_together(open_page):
    opened = open_page()
    stops, seen = opened.data()["stops"], []
    for stop in (0, len(stops) - 1):
        opened.move_to(stop)
        seen.append(opened.page.evaluate(SEEN))
    for key in seen[0]:
        assert seen[0][key] != seen[1][key], key
    np.testing.assert_allclose(np.array(seen[1]["rates"]).T, np.array(stops[-1]["rates"][0]))


def test_the_keyboard_moves_the_slider(open_page):
    page = open_page().page
    page.focus("#slider")
    before = page.text_content("#sentence")
    page.keyboard.press("End")
    after = page.text_content("#sentence")
    assert before != after
    assert "epsilon 0 " in after
    page.keyboard.press("Home")
    assert page.input_value("#slider") == "0"
    for button, stop in (("fairest", "max"), ("plain", "min")):
        page.click(f'[data-stop="{button}"]')
        assert page.input_value("#slider") == page.get_attribute("#slider", stop)


def test_the_download_is_what_was_computed(open_page, case):
    page = open_page().page
    with page.expect_download() as download:
        page.click("#download")
    with open(download.value.path(), encoding="utf-8") as file:
        found = json.load(file)
    assert found["audit"] == case.audit.to_dict()
    assert found["stops"][0]["epsilon"] == case.frontier.epsilons[0]


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS.keys())
def test_nothing_is_wider_than_the_screen(open_page, width):
    page = open_page(width=width).page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    inside = page.evaluate(
        """() => [...document.querySelectorAll("section, .chart, .card, .control, h1, h2")]
             .filter((one) => one.getBoundingClientRect().right > innerWidth + 1).length"""
    )
    assert inside == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(open_page, scheme):
    from axe_playwright_python.sync_playwright import Axe

    page = open_page(scheme=scheme).page
    assert page.get_attribute("html", "data-theme") == scheme
    found = Axe().run(page).response["violations"]
    serious = [
        (one["id"], one["nodes"][0]["html"])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
    assert serious == []


def test_names_are_text_on_the_page_and_in_the_charts(open_page):
    page = open_page().page
    assert page.locator("th.section").first.text_content() == ATTRIBUTE
    cells = page.locator("table.cells tbody tr td:nth-child(2)").all_text_contents()
    assert set(cells) == set(GROUPS)
    legend = page.locator("#chart-means .legendtext").all_text_contents()
    assert any(text.startswith("<img src=x") for text in legend)
    assert page.locator("img").count() == 0


CHART_WIDTHS = """() => [...document.querySelectorAll(".chart .main-svg:first-child")]
    .map((one) => one.getBoundingClientRect().width)"""


def test_paper_is_white_even_in_the_dark(open_page):
    page = open_page(scheme="dark").page
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.get_attribute("html", "data-theme") == "light"
    assert page.evaluate(CHART_WIDTHS) == [672.0] * 5
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.get_attribute("html", "data-theme") == "dark"
    assert min(page.evaluate(CHART_WIDTHS)) != 672.0  # as wide as the screen again
    page.emulate_media(media="print")
    assert not page.is_visible("#slider")
    assert page.is_visible("table.figures")
