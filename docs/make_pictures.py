"""The pictures in docs/pictures: `make pictures` draws, or photographs, all of them.

Those of the demo, of the examples and of benchmarks are drawn; the demo's report is opened in a
browser.
"""

from __future__ import annotations

import runpy
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib as mpl
from playwright.sync_api import Page, sync_playwright

mpl.use("agg")
from growth_picture import draw as draw_growth
from matplotlib import pyplot as plt

from gferm.cli.demo import draw_frontier, draw_histograms, predict_held_out, write_report

HERE = Path(__file__).parent
PICTURES, EXAMPLES = HERE / "pictures", HERE.parent / "examples"

FIGURES = {  # name: the example, and which of its figures
    "classification": ("plot_classification", 1),
    "gaps": ("plot_audit", 2),
    "selection": ("plot_search", 1),
}
VIEWS = {  # name: width, height, color scheme, and what is at the top
    "report": (1280, 1300, "light", "header"),
    "report-charts": (1280, 1180, "dark", "section:has(#charts-title)"),
    "report-phone": (390, 844, "light", ".control"),
}
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--no-sandbox", "--disable-background-networking", "--disable-sync", "--no-first-run")


def draw_examples() -> None:
    """Run the examples and keep a figure of each."""
    for name, (example, number) in FIGURES.items():
        runpy.run_path(str(EXAMPLES / f"{example}.py"))
        plt.figure(number).savefig(PICTURES / f"{name}.png", dpi=110)
        plt.close("all")


def photograph(report: Path) -> None:
    """Open the page in each size."""
    chromium = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if chromium is None:
        sys.exit("The pictures of the report need Chromium: apt-get install chromium.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for name, (width, height, scheme, top) in VIEWS.items():
            context = browser.new_context(
                viewport={"width": width, "height": height},
                color_scheme=scheme,
                reduced_motion="reduce",
            )
            page = context.new_page()
            page.goto(report.as_uri())
            _take(page, top, PICTURES / f"{name}.png")
            context.close()
        browser.close()


def _take(page: Page, top: str, path: Path) -> None:
    """Choose the fairest model and scroll to a part, below the slider that stays in sight."""
    page.wait_for_selector("#chart-means .main-svg")
    page.click('[data-stop="fairest"]')
    page.evaluate("top => document.querySelector(top).scrollIntoView()", top)
    page.evaluate("above => scrollBy(0, -above)", 160 if top.startswith("section") else 12)
    page.wait_for_timeout(300)  # charts are drawn in the next frame
    page.screenshot(path=path)


def main() -> None:
    """Make all pictures."""
    result = predict_held_out()
    draw_frontier(result, PICTURES / "frontier.png")
    draw_histograms(result, PICTURES / "histogram.png")
    draw_examples()
    draw_growth(PICTURES / "growth.png")
    with TemporaryDirectory() as folder:
        report = Path(folder, "report.html")
        write_report(report)
        photograph(report)


if __name__ == "__main__":
    main()
