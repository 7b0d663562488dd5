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
    {"solver"},
    {"estimators"},
    {"auditing", "model_selection"},
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


def imported_modules(path):
    """Name the modules of gferm that a file imports: at its top, in functions, for types."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gferm"):
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                is_module = (SOURCE.parent / module.replace(".", "/")).with_suffix(".py").exists()
                yield module if is_module or node.module == "gferm" else node.module


def imported_layers(path):
    return {name.split(".")[1] for name in imported_modules(path)}


MODULES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_one_way(path):
    own = layer_of(path)
    assert own in RANK, f"give {own} a place in LAYERS"
    wrong = [name for name in imported_layers(path) if name != own and RANK[name] >= RANK[own]]
    assert not wrong, f"{own} must not import {wrong}"


def test_no_modules_import_each_other():
    """However long the way round; a package stands for the file that is its face."""

    def module_of(path):
        return ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)

    def file_of(name):
        return name if name in graph else f"{name}.__init__"

    graph = {module_of(path): path for path in MODULES}
    left = {name: {file_of(one) for one in imported_modules(path)} for name, path in graph.items()}
    left = {name: (found & left.keys()) - {name} for name, found in left.items()}
    while True:
        done = {name for name, found in left.items() if not found}
        if not done:
            break
        left = {name: found - done for name, found in left.items() if name not in done}
    assert not left


def is_private(name):
    return name.startswith("_") and not name.endswith("__")


def private_names(path):
    """List the private names of others that a file imports or reads."""
    wrong = []
    tree = ast.parse(path.read_text(encoding="utf-8"))
    here = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    here |= {
        target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gferm"):
            names = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
            wrong += filter(is_private, names)
        elif isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in here:
            own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            wrong += [] if own else [node.attr]
    return set(wrong)


@pytest.mark.parametrize("path", sorted(REPRODUCTION.glob("*.py")), ids=lambda path: path.stem)
def test_the_experiments_use_public_names_only(path):
    assert not private_names(path)


# what scikit-learn, dask and Python call so, and documents
OF_OTHERS = {
    "_getframe",
    "_meta",
    "_n_features_out",
    "_parameter_constraints",
    "_kernel_constraints",
    "_sign",
    "_training_dim",
}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_nobody_uses_the_private_names_of_another_module(path):
    assert not private_names(path) - OF_OTHERS


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_only_features_know_kernels_by_name(path):
    """Everybody else asks the kernel, or the features that were made of it."""
    if layer_of(path) == "features":
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Compare):
            words = {one.value for one in ast.walk(node) if isinstance(one, ast.Constant)}
            assert not words & {"precomputed", "rbf", "polynomial", "additive_chi2"}, node.lineno
            left = ast.unparse(node.left)
            assert not (left.endswith(("kernel", "metric")) and "linear" in words), node.lineno


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_warnings_find_the_line_of_the_user_by_themselves(path):
    if path.name != "exceptions.py":
        assert "stacklevel" not in path.read_text(encoding="utf-8")


def test_dir_shows_the_public_names_and_no_module_hides_behind_a_function():
    assert [name for name in dir(gferm) if not name.startswith("__")] == sorted(gferm.__all__)
    for name in gferm.__all__:
        hidden = (SOURCE / f"{name}.py").exists() or (SOURCE / name).exists()
        assert not (hidden and callable(getattr(gferm, name)))


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
