"""A report of a real frontier, and a browser to open it with."""

import shutil

import numpy as np
import pytest

from gferm import audit, frontier
from gferm.datasets import load_crime

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [  # without these it looks for hosts of its own
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

ATTRIBUTE = '<script>window.attacked = "attribute"</script>'
GROUPS = np.array(['<img src=x onerror="window.attacked=1">', "=cmd|' /C calc'!A0"])


class Case:
    """One frontier, learned on some rows, and the audit of its plain model on the others."""

    def __init__(self, n_boot=60, n_permutations=60):
        crime = load_crime()
        X, y, s = crime.data, crime.target, GROUPS[crime.sensitive_features]
        self.bins = {"y_bins": [0, 0.2, 0.4, 0.6, 1]}
        train, self.test = np.arange(0, len(y), 3), np.arange(1, len(y), 3)
        self.X, self.y, self.s = X[self.test], y[self.test], {ATTRIBUTE: s[self.test]}
        self.frontier = frontier(
            X[train], y[train], sensitive_features={ATTRIBUTE: s[train]}, gamma=0.1, alpha=0.3,
            **self.bins,
        )  # fmt: skip
        self.draws = {"n_boot": n_boot, "n_permutations": n_permutations}
        self.audit = self.audit_of(self.frontier.predict(self.X)[0])

    def audit_of(self, predictions):
        return audit(self.y, predictions, sensitive_features=self.s, **self.bins, **self.draws)


@pytest.fixture(scope="session")
def case():
    return Case()


@pytest.fixture(scope="session")
def report(case, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    title = '</script><script>window.attacked="title"</script>'
    case.audit.report(path, frontier=case.frontier, X=case.X, title=title)
    return path


@pytest.fixture(scope="session")
def browser():
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("no Chromium here: apt-get install chromium (or put it on the PATH)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield opened
        opened.close()
