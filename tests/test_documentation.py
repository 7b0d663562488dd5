"""What the documentation shows runs as it stands."""

import doctest
import importlib
import pkgutil
import re
import runpy
from pathlib import Path

import matplotlib
import numpy as np
import pytest
import sklearn

import gferm

matplotlib.use("Agg")
from matplotlib import pyplot as plt

ROOT = Path(__file__).parents[1]
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(gferm.__path__, "gferm.")
    if module.name != "gferm.__main__"
)


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert failed == 0


def test_readme_code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # it writes a report
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", readme, flags=re.DOTALL)
    assert len(blocks) >= 2
    namespace: dict[str, object] = {}
    with sklearn.config_context(enable_metadata_routing=False):  # the README switches it on
        for block in blocks:
            exec(block, namespace)
    model = namespace["model"]
    assert model.violation_ == pytest.approx(0.01)
    assert model.duality_gap_ < 1e-12
    served = namespace["serving"].predict(namespace["X"])
    np.testing.assert_allclose(served, namespace["search"].predict(namespace["X"]), atol=1e-10)


@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/*.py")), ids=lambda path: path.stem)
def test_examples(path, capsys):
    try:
        with sklearn.config_context():  # an example may switch metadata routing on
            runpy.run_path(str(path))
        assert plt.get_fignums()
    finally:
        plt.close("all")
    assert capsys.readouterr().out


PAGES = ["README.md", *(f"docs/{name}.md" for name in ("audit", "scaling", "reproduction"))]
ABOUT_FILES = [*PAGES, "CONTRIBUTING.md", "docs/method.md"]
FOLDERS = ("", "src", "src/gferm", "reproduction")


@pytest.mark.parametrize("page", PAGES)
def test_pictures_and_links_lead_somewhere(page):
    path = ROOT / page
    links = re.findall(r"\]\(([^)#]+?)\)", path.read_text(encoding="utf-8"))
    assert links
    for link in links:
        assert link.startswith("http") or (path.parent / link).exists(), link


@pytest.mark.parametrize("page", ABOUT_FILES)
def test_files_that_are_named_are_there(page):
    """`solver/path.py`, `choice.py`: what follows in a line may leave out the folder."""
    named = 0
    for line in (ROOT / page).read_text(encoding="utf-8").splitlines():
        beside = set()
        for name in re.findall(r"(?<!\[)`([\w/]+(?:\.py|/))`", line):  # links have their own test
            named += 1
            places = [folder / name for folder in (*(ROOT / one for one in FOLDERS), *beside)]
            assert any(place.exists() for place in places), (name, line)
            beside |= {
                place if place.is_dir() else place.parent for place in places if place.exists()
            }
    assert named or page in PAGES


@pytest.mark.parametrize("page", PAGES)
def test_every_number_is_filled_in(page):
    assert not re.findall(
        r"\b(?:GPU|CPU|DASK)_[A-Z0-9]+", (ROOT / page).read_text(encoding="utf-8")
    )
