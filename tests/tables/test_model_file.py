"""Model files: they come back as they were, and nothing in a strange one is believed."""

import json
import os
import pickle
import shutil
import zipfile
from io import BytesIO

import numpy as np
import pytest
import skops.io
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from gferm import Bins, FairClassifier, FairRegressor
from gferm.exceptions import InputError
from gferm.tables.model_file import PAGE, SCHEMA, STEPS, SavedModel, load_model, save_model
from gferm.tables.preparation import TablePreparation
from tests.cli.people import assert_refused, invoke, people

FEATURES = ["age", "income", "region", "member"]
NUMBERS = [
    FairRegressor(kernel="linear", y_bins=3),
    FairRegressor(kernel="linear", epsilon=None, y_bins=[-9.0, 0.0, 9.0]),
    FairRegressor(y_bins=Bins.quantile(3), s_bins={"age": "continuous"}, intersectional=False),
    FairRegressor(y_bins=1, s_bins={"age": 3}, kernel="laplacian", gamma=0.1),
    FairRegressor("huber", kernel="linear", y_bins=2, s_bins={"age": Bins.quantile(2)}),
    FairRegressor("absolute", kernel="linear", y_bins=1, epsilon=0.1, match="residual"),
    FairRegressor("quantile", kernel="linear", y_bins=1, epsilon_scale="sum"),
]
CLASSES = [
    FairClassifier("log_loss", kernel="linear"),
    FairClassifier("hinge", y_bins=["yes"]),
    FairClassifier("squared_hinge", y_bins=1),
    FairClassifier("squared", kernel="poly", epsilon=0.1),
]


def learn(model):
    """Fit a model as the command does."""
    table = people(120).dropna(subset="age")
    target = table["hired"].to_numpy(str) if model in CLASSES else table["salary"].to_numpy()
    preparation = TablePreparation(("member",))
    matrix = preparation.fit_transform(table[FEATURES])
    names = ["sex", "age"] if isinstance(model.s_bins, dict) else ["sex"]
    model.fit(matrix, target, sensitive_features=table[names])
    return table, SavedModel(
        pipeline=Pipeline([("prepare", preparation), ("model", model)]),
        task="classification" if model in CLASSES else "regression",
        target="salary",
        sensitive=tuple(names),
        categorical=("member",),
        features=tuple(FEATURES),
        words=tuple(preparation.words_),
        settings={"alpha": 1.0},
    )


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("model", NUMBERS + CLASSES, ids=repr)
def test_a_model_comes_back_bit_for_bit(model, tmp_path):
    table, saved = learn(model)
    save_model(saved, tmp_path / "m.skops")
    loaded = load_model(tmp_path / "m.skops")
    np.testing.assert_array_equal(loaded.pipeline.predict(table), saved.pipeline.predict(table))
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(
            loaded.pipeline.predict_proba(table), saved.pipeline.predict_proba(table)
        )
    assert str(loaded.model.cells_) == str(model.cells_)
    blocks = [list(map(vars, one.contrasts_.blocks)) for one in (loaded.model, model)]
    assert blocks[0] == blocks[1]
    assert loaded.model.get_params().keys() == model.get_params().keys()
    for name in ("violation_", "duality_gap_", "objective_", "solver_", "n_features_in_"):
        assert getattr(loaded.model, name) == getattr(model, name)
    for name in ("task", "target", "sensitive", "categorical", "features", "words", "settings"):
        assert getattr(loaded, name) == getattr(saved, name)
    assert os.listdir(tmp_path) == ["m.skops"]


def test_a_linear_model_holds_no_rows(tmp_path):
    _, saved = learn(NUMBERS[0])
    save_model(saved, tmp_path / "m.skops")
    with zipfile.ZipFile(tmp_path / "m.skops") as archive:
        names = [name for name in archive.namelist() if name.endswith(".npy")]
        sizes = [np.load(BytesIO(archive.read(name))).size for name in names]
    assert max(sizes) < 20  # of 119 rows
    loaded, ours = load_model(tmp_path / "m.skops").model.cells_, NUMBERS[0].cells_
    assert loaded.n_samples == ours.n_samples == 120 - 1
    np.testing.assert_array_equal(loaded.partitions[0].counts, ours.partitions[0].counts)


# -- files that are none, or strange ----------------------------------------------------------


def refuse(path, *words):
    """Expect the same refusal of the function and of the command."""
    with pytest.raises(InputError):
        load_model(path)
    out = path.with_name("out.csv")
    data = path.with_name("data.csv")
    people(12).to_csv(data, index=False)
    assert_refused(invoke("predict", path, data, "--out", out), path.name, *words)
    assert not out.exists()


def rewritten(path, to, **changes):
    """Copy an archive; a change takes the bytes of a member, or gives it nothing."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(to, "w") as new:
        for name in old.namelist():
            key = name.replace(".", "_")
            content = changes[key](old.read(name)) if key in changes else old.read(name)
            if content is not None:
                new.writestr(name, content)
    return to


def with_page(**values):
    return lambda page: json.dumps({**json.loads(page), **values}).encode()


class Bomb:
    """Does harm when it is unpickled or made."""

    def __reduce__(self):
        return os.mkdir, ("harm",)


def test_a_pickle_is_never_loaded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "m.skops"
    path.write_bytes(pickle.dumps(Bomb()))
    refuse(path, "no gferm model")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data.pkl", pickle.dumps(Bomb()))
    refuse(path, "no gferm model")
    assert not os.path.exists("harm")


def test_a_pickle_in_place_of_an_array_is_not_loaded(numbers_model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "m.skops"
    shutil.copy(numbers_model, path)
    with zipfile.ZipFile(path) as archive:
        arrays = [name for name in archive.namelist() if name.endswith(".npy")]
    bad = {name.replace(".", "_"): lambda content: pickle.dumps(Bomb()) for name in arrays}
    refuse(rewritten(numbers_model, path, **bad), "damaged")
    assert not os.path.exists("harm")


def test_other_files(tmp_path):
    path = tmp_path / "m.skops"
    refuse(path, "no file")
    for content in (b"", b"salary,sex\n1,f\n", b"PK\x03\x04 and no more"):
        path.write_bytes(content)
        refuse(path, "no gferm model", "gferm fit")
    skops.io.dump(Ridge(), path)
    refuse(path, "no gferm model")
    path.unlink()
    path.mkdir()
    refuse(path, "is a folder")


def test_a_truncated_model(numbers_model, tmp_path):
    content, path = numbers_model.read_bytes(), tmp_path / "m.skops"
    for length in (10, len(content) // 2, len(content) - 5):
        path.write_bytes(content[:length])
        refuse(path, "m.skops")


def test_a_model_with_a_wrong_byte(numbers_model, tmp_path):
    content, path = bytearray(numbers_model.read_bytes()), tmp_path / "m.skops"
    content[content.index(b"\x93NUMPY") + 200] ^= 1
    path.write_bytes(content)
    refuse(path, "damaged")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"gferm": "0.0.7"}, ["saved with gferm 0.0.7", "pip install 'gferm==0.0.7'"]),
        ({"scikit-learn": "1.2"}, ["scikit-learn 1.2", "pip install 'scikit-learn==1.2.*'"]),
        ({"format": 1}, ["format '1'", "fit the model again"]),
        ({"features": 7}, ["damaged"]),
    ],
)
def test_another_version(change, words, numbers_model, tmp_path):
    page = {PAGE.replace(".", "_"): with_page(**change)}
    refuse(rewritten(numbers_model, tmp_path / "m.skops", **page), *words)


@pytest.mark.parametrize(
    "member", [lambda x: None, lambda x: b"{", lambda x: b"[]", lambda x: b'{"__loader__": "x"}']
)
@pytest.mark.parametrize("name", [PAGE, SCHEMA])
def test_broken_members(name, member, numbers_model, tmp_path):
    changes = {name.replace(".", "_"): member}
    refuse(rewritten(numbers_model, tmp_path / "m.skops", **changes), "m.skops")


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (Ridge(), "sklearn.linear_model._ridge.Ridge"),  # skops would trust it, we need not
        (FunctionTransformer(os.mkdir, kw_args={"mode": 7}), "FunctionTransformer"),
        (Bomb(), "Bomb"),
    ],
)
def test_untrusted_types_are_refused_unseen(content, named, numbers_model, tmp_path, monkeypatch):
    path = tmp_path / "m.skops"
    skops.io.dump(Pipeline([("prepare", content), ("model", Ridge())]), path)
    with zipfile.ZipFile(numbers_model) as model, zipfile.ZipFile(path, "a") as archive:
        archive.writestr(PAGE, model.read(PAGE))
    monkeypatch.setattr(skops.io, "load", None)  # not even asked
    refuse(path, "does not trust", named, "Nothing of it was loaded")


def test_a_trusted_type_under_an_untrusted_node_is_refused(numbers_model, tmp_path):
    def as_reduce(schema):
        return schema.replace(b'"ObjectNode"', b'"ReduceNode"', 1)

    changes = {SCHEMA.replace(".", "_"): as_reduce}
    refuse(rewritten(numbers_model, tmp_path / "m.skops", **changes), "ReduceNode")


def test_other_steps_are_refused(numbers_model, tmp_path):
    names = {SCHEMA.replace(".", "_"): lambda s: s.replace(b'\\"model\\"', b'\\"other\\"')}
    path = rewritten(numbers_model, tmp_path / "m.skops", **names)
    refuse(path, "damaged")
    assert STEPS == ("prepare", "model")
