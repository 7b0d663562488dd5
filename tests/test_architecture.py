"""Imports point one way, and importing gferm stays light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import gferm

SOURCE = Path(gferm.__file__).parent
REPRODUCTION = Path(__file__).parents[1] / "reproduction"

# A module may import from earlier lines only, or from its own package.
LAYERS = [
    {"exceptions", "json_ready", "printed", "progress"},
    {"arrays"},
    {"fairness", "losses"},
    {"datasets", "features", "metrics", "report"},
    {"auditing"},
    {"solver"},
    {"estimators"},
    {"model_selection"},
    {"streaming"},
    {"distributed"},
    {"bounds"},
    {"plotting"},
    {"tables"},
    {"cli"},
    {"__main__"},
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}


def layer_of(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_layers(path):
    """Name the layers a file imports from, but for those under TYPE_CHECKING."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            node.body.clear()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gferm."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.ImportFrom) and node.module == "gferm":
            yield from (alias.name for alias in node.names)


MODULES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_one_way(path):
    own = layer_of(path)
    assert own in RANK, f"give {own} a place in LAYERS"
    wrong = [name for name in imported_layers(path) if name != own and RANK[name] >= RANK[own]]
    assert not wrong, f"{own} must not import {wrong}"


def is_private(name):
    return name.startswith("_") and not name.endswith("__")


@pytest.mark.parametrize("path", sorted(REPRODUCTION.glob("*.py")), ids=lambda path: path.stem)
def test_the_experiments_use_public_names_only(path):
    wrong = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            names = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
            wrong += filter(is_private, names)
        elif isinstance(node, ast.Attribute) and is_private(node.attr):
            own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            wrong += [] if own else [node.attr]
    assert not wrong


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_the_library_knows_nothing_of_the_experiments(path):
    imported = [
        name
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (getattr(node, "module", None) or "", *(alias.name for alias in node.names))
    ]
    assert not {name.split(".")[0] for name in imported} & {"reproduction", "benchmarks", "tests"}


def test_the_core_works_without_any_optional_dependency():
    code = """
import sys
class Absent:
    names = {"pandas", "polars", "typer", "rich", "matplotlib", "cvxpy", "torch", "dask"}
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.names:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
import gferm
X, y, s = gferm.datasets.load_crime(return_X_y=True)
model = gferm.FairRegressor(gamma=0.1).fit(X[:200], y[:200], sensitive_features=s[:200])
gferm.metrics.dgf(y[:200], model.predict(X[:200]), sensitive_features=s[:200])
gferm.frontier(X[:200], y[:200], sensitive_features=s[:200])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_tables_know_no_terminal():
    for path in (SOURCE / "tables").glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        nodes = [n for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom)]
        names = {alias.name for node in nodes for alias in node.names}
        names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
        assert not {name.split(".")[0] for name in names} & {"typer", "rich"}, path.name


def test_every_public_name_is_documented_and_exists():
    for name in gferm.__all__:
        assert getattr(gferm, name).__doc__, name
