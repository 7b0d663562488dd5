"""The model file: a skops archive of one fitted pipeline, and a page about it.

    gferm.json    format, versions, target, sensitive attributes, settings, features: plain data
    schema.json   the pipeline, as skops wrote it (TablePreparation, then a fair model) …
    *.npy, …      … and its arrays, none of them pickled

Nothing in a file is believed before it is checked: first the page, which is only JSON; then every
type and every kind of node that the schema names, against the lists below. A file with anything
else is refused before skops looks at it, so nothing in it is imported or run.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.pipeline import Pipeline

import gferm
from gferm.arrays import Array
from gferm.exceptions import InputError, warn_user
from gferm.json_ready import json_text
from gferm.tables.columns import Task
from gferm.tables.write import whole_file

FORMAT = 2
PAGE, SCHEMA = "gferm.json", "schema.json"
STEPS = ("prepare", "model")

# What skops must be told to trust …
GFERM_TYPES = (
    "gferm.fairness.bins.AutoBins",
    "gferm.fairness.bins.CategoryBins",
    "gferm.fairness.bins.DerivedEdgeBins",
    "gferm.fairness.bins.EdgeBins",
    "gferm.fairness.bins.NoBins",
    "gferm.fairness.bins.OneBin",
    "gferm.fairness.bins.QuantileBins",
    "gferm.fairness.bins.RangeBins",
    "gferm.fairness.cells.CellScheme",
    "gferm.fairness.cells.Cells",
    "gferm.fairness.cells.Partition",
    "gferm.tables.preparation.TablePreparation",
    "gferm.fairness.constraint.Block",
    "gferm.fairness.constraint.Constraint",
    "gferm.estimators.classifier.FairClassifier",
    "gferm.estimators.regressor.FairRegressor",
    "gferm.fairness.pair_norm.PairNorm",
    "gferm.solver.choice.SolverChoice",
    "scipy.sparse._csr.csr_array",
)
# … and all that may be in a file, which is far less than skops trusts by itself.
TYPES = frozenset(
    (
        *GFERM_TYPES,
        "sklearn.pipeline.Pipeline",
        *(f"builtins.{name}" for name in ("dict", "list", "tuple", "slice", "str", "int", "bool")),
        *("builtins.float", "builtins.NoneType"),
        *(f"numpy.{name}" for name in ("ndarray", "bool", "int64", "float64", "str_")),
    )
)
NODES = frozenset(
    f"{kind}Node"
    for kind in (
        *("Cached", "Dict", "Json", "List", "NdArray", "Object", "Slice", "SparseMatrix"),
        *("Tuple", "Type"),
    )
)


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A fitted pipeline, and what it was fitted for.

    Attributes
    ----------
    pipeline : Pipeline
        ``TablePreparation``, then FairRegressor or FairClassifier; takes a data frame.
    task : {"regression", "classification"}
    target : str
    sensitive, categorical : tuple of str
        Sensitive attributes, and columns of numbers taken as words.
    features : tuple of str
        Columns that a table must have to be predicted.
    words : tuple of str
        Those of them that hold words.
    settings : dict
        The options of the fit that differ from their defaults, as they were given.
    """

    pipeline: Pipeline
    task: Task
    target: str
    sensitive: tuple[str, ...]
    categorical: tuple[str, ...]
    features: tuple[str, ...]
    words: tuple[str, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def model(self) -> Any:
        """The fair model, which takes the prepared matrix."""
        return self.pipeline[-1]

    @property
    def preparation(self) -> Any:
        """What turns a table into that matrix."""
        return self.pipeline[0]

    @property
    def as_text(self) -> tuple[str, ...]:
        """Columns that are read as text: those of words, and numbers taken as words."""
        return (*self.words, *self.categorical)

    def prepare(self, table: pd.DataFrame) -> Array:
        """Return the matrix of a table; warn of words that were not seen in training."""
        matrix: Array = self.preparation.transform(table)
        for column, (rows, word) in self.preparation.unseen(table).items():
            warn_user(
                f"column {column!r} has {rows} rows with words not seen in training, such as "
                f"{word!r:.40}; they count as none of its categories.",
            )
        return matrix

    def bins(self, attributes: Sequence[str]) -> dict[str, Any]:
        """Return y_bins of the fit, and s_bins if it had these sensitive attributes."""
        if self.model.cells_ is None:
            return {}
        scheme = self.model.cells_.scheme
        found: dict[str, Any] = {"y_bins": scheme.label_bins}
        if tuple(attributes) == tuple(scheme.names):
            found["s_bins"] = dict(zip(scheme.names, scheme.sensitive_bins, strict=True))
        return found


def save_model(model: SavedModel, path: Path) -> None:
    """Write a model file, whole or not at all."""
    from skops.io import dump

    lean = Pipeline([*model.pipeline.steps[:-1], ("model", model.model)])
    page = {name: value for name, value in vars(model).items() if name != "pipeline"}
    versions = {"format": FORMAT, "gferm": gferm.__version__, "scikit-learn": _sklearn()}
    with whole_file(path) as part:
        dump(lean, part)
        with zipfile.ZipFile(part, "a") as archive:
            archive.writestr(PAGE, json_text(versions | page))


def load_model(path: Path) -> SavedModel:
    """Return the model in a file of this version; no type but those above is trusted.

    Raises
    ------
    InputError
        If the file is none, is damaged, was saved by another version, or holds other types.
    """
    page, schema = _read_pages(path)
    _require_version(page, path)
    _require_trusted(schema, path)
    from skops.io import load

    try:
        pipeline = load(path, trusted=list(GFERM_TYPES))
        details: dict[str, Any] = {name: page[name] for name in ("task", "target", "settings")}
        for name in ("sensitive", "categorical", "features", "words"):
            details[name] = tuple(page[name])
        model = SavedModel(pipeline=pipeline, **details)
        complete = tuple(name for name, _ in pipeline.steps) == STEPS
    except Exception as error:  # what a damaged or forged file does to skops has many names
        raise _damaged(path) from error
    if not complete:
        raise _damaged(path)
    return model


def _read_pages(path: Path) -> tuple[dict[str, Any], Any]:
    """Return both JSON documents; nothing else in the file is touched."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; give a model file that `gferm fit` wrote.")
    if not path.exists():
        raise InputError(f"There is no file {path}; check the path of the model.")
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            if not {PAGE, SCHEMA} <= names:
                raise _no_model(path)
            page, schema = (json.loads(archive.read(name)) for name in (PAGE, SCHEMA))
            broken = archive.testzip()
    except zipfile.BadZipFile as error:
        raise _no_model(path) from error
    except (OSError, EOFError, ValueError, NotImplementedError, RuntimeError) as error:
        if isinstance(error, InputError):
            raise
        raise _damaged(path) from error
    if broken is not None or not isinstance(page, dict):
        raise _damaged(path)
    return page, schema


def _require_version(page: Mapping[str, Any], path: Path) -> None:
    """Raise an error if another version wrote it: its classes and predictions may differ."""
    if page.get("format") != FORMAT:
        raise InputError(
            f"{path} has format {str(page.get('format'))!r:.20} of model files, and gferm "
            f"{gferm.__version__} reads format {FORMAT}; fit the model again."
        )
    for package, ours in (("gferm", gferm.__version__), ("scikit-learn", _sklearn())):
        theirs = str(page.get(package))
        if theirs != ours:
            raise InputError(
                f"{path} was saved with {package} {theirs:.20}, and this is {ours}; fit the model "
                f"again, or pip install '{package}=={theirs:.20}{'.*' * (package != 'gferm')}'."
            )


def _require_trusted(schema: Any, path: Path) -> None:
    others = {f"{kind} ({node})" if node not in NODES else kind for kind, node in _types(schema)}
    others -= TYPES
    if others:
        raise InputError(
            f"{path} holds types that gferm does not trust: {', '.join(sorted(others)[:3]):.200}. "
            "Nothing of it was loaded; use a model file that `gferm fit` wrote."
        )


def _types(schema: Any) -> Iterator[tuple[str, str]]:
    """Yield the type and the kind of every node of a skops schema, however deep."""
    left = [schema]
    while left:
        node = left.pop()
        if isinstance(node, dict):
            if "__loader__" in node or "__class__" in node or "__module__" in node:
                name = f"{node.get('__module__')}.{node.get('__class__')}"
                yield name, str(node.get("__loader__"))
            left += node.values()
        elif isinstance(node, list):
            left += node


def _sklearn() -> str:
    """Return major and minor version: what is saved does not change between patches."""
    return ".".join(version("scikit-learn").split(".")[:2])


def _no_model(path: Path) -> InputError:
    return InputError(f"{path} is no gferm model; give a model file that `gferm fit` wrote.")


def _damaged(path: Path) -> InputError:
    return InputError(f"{path} is damaged and cannot be read; copy it again or fit it again.")
