"""ParquetSource: whatever the files, row groups and types, the model is that of all rows."""

import gc
import os
import weakref
from itertools import product

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from gferm import FairRegressor
from gferm.arrays import threads
from gferm.streaming import ParquetSource, fit_stream
from tests.problems import make_problem

N = 120
PROBLEM = make_problem(n=N, d=10, n_groups=2)
RNG = np.random.default_rng(1)
NAMES = ["age", "rooms", "garden", "years", "noise"]
PEOPLE = pd.DataFrame(PROBLEM.X, columns=[*NAMES, *(f"score {k}" for k in range(5))])
PEOPLE["salary"] = PROBLEM.y
PEOPLE["sex"] = np.array(["f", "m"])[PROBLEM.s]
PEOPLE["region"] = np.array(["north", "south"])[RNG.integers(0, 2, N)]
PEOPLE["weight"] = RNG.integers(0, 3, N).astype(float)
FEATURES = list(PEOPLE.columns[:10])
ROLES = {"target": "salary", "sensitive": ("sex", "region"), "weight": "weight"}
MODELS = {
    "linear": {"kernel": "linear"},
    "landmarks": {"n_landmarks": 15, "gamma": 0.1, "random_state": 0},
}


def write(path, frame=PEOPLE, rows=25, schema=None):
    parquet.write_table(pa.Table.from_pandas(frame, schema, False), path, row_group_size=rows)
    return path


@pytest.fixture
def folder(tmp_path):
    """Three files of several row groups, in the order of their names."""
    for k, start in enumerate(range(0, N, 40)):
        write(tmp_path / f"part{k}.parquet", PEOPLE.iloc[start : start + 40], rows=15)
    (tmp_path / "notes.txt").write_text("no rows")
    return tmp_path


def assert_same_as_all_rows(source, params, frame=PEOPLE, names=("sex", "region"), **options):
    model = FairRegressor(y_bins=2, **params, **options)
    expected = FairRegressor(y_bins=2, **params, **options).fit(
        frame[list(source.features)],
        frame[source.roles.target],
        sensitive_features=frame[list(names)],
        sample_weight=None if source.roles.weight is None else frame[source.roles.weight],
    )
    fit_stream(model, source)
    rows = frame[list(source.features)]
    np.testing.assert_allclose(model.predict(rows), expected.predict(rows), rtol=0, atol=1e-8)
    assert model.cells_.label_bins == expected.cells_.label_bins
    assert [part.groups for part in model.cells_.partitions] == [
        part.groups for part in expected.cells_.partitions
    ]
    assert list(model.feature_names_in_) == list(source.features)
    return model


@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("intersectional", [True, False])
@pytest.mark.parametrize("params", MODELS.values(), ids=MODELS)
def test_a_folder_gives_the_model_of_all_rows(folder, params, intersectional, weight):
    source = ParquetSource(folder, **ROLES | {"weight": weight}, features=FEATURES)
    assert (source.n_rows, len(source)) == (N, 9)
    assert len(list(source)) == 9
    assert_same_as_all_rows(source, params, intersectional=intersectional)


@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_row_groups_do_not_matter(tmp_path, rows):
    source = ParquetSource(write(tmp_path / "all.parquet", rows=rows), **ROLES)
    assert source.features == tuple(FEATURES)
    assert_same_as_all_rows(source, MODELS["landmarks"])


def test_files_may_be_listed_and_order_their_columns_as_they_like(tmp_path):
    first, second = PEOPLE.iloc[:50], PEOPLE.iloc[50:]
    paths = [
        write(tmp_path / "b.parquet", first),
        write(tmp_path / "a.parquet", second[second.columns[::-1]]),
    ]
    source = ParquetSource(paths, **ROLES)
    assert source.paths == paths
    assert_same_as_all_rows(source, MODELS["linear"])


@pytest.mark.parametrize("column", ["sex", "rooms"])
def test_columns_stored_as_dictionaries_are_their_values(folder, column):
    """Each file has a dictionary of its own."""
    frame = PEOPLE.assign(rooms=PEOPLE["rooms"].round())
    for k, start in enumerate(range(0, N, 40)):
        table = pa.Table.from_pandas(frame.iloc[start : start + 40], preserve_index=False)
        place = table.schema.get_field_index(column)
        table = table.set_column(place, column, table.column(column).dictionary_encode())
        parquet.write_table(table, folder / f"part{k}.parquet", row_group_size=15)
    source = ParquetSource(folder, **ROLES)
    assert_same_as_all_rows(source, MODELS["landmarks"], frame)


KINDS = {
    "float32": pa.float32(),
    "int8": pa.int8(),
    "decimal": pa.decimal128(12, 3),
}


@pytest.mark.parametrize(
    ("name", "kind"), [*product(["rooms", "salary", "weight"], sorted(KINDS)), ("rooms", "bool")]
)
def test_numbers_of_every_kind_are_numbers(tmp_path, name, kind):
    values = PEOPLE[name].round() if kind != "bool" else PEOPLE[name] > 0
    table = pa.Table.from_pandas(PEOPLE.assign(**{name: values}), preserve_index=False)
    place = table.schema.get_field_index(name)
    table = table.set_column(
        place, name, table.column(name).cast(KINDS.get(kind, pa.bool_()), safe=False)
    )
    parquet.write_table(table, tmp_path / "all.parquet", row_group_size=50)
    source = ParquetSource(tmp_path, **ROLES)
    assert_same_as_all_rows(source, MODELS["linear"], PEOPLE.assign(**{name: values.astype(float)}))


def test_files_may_store_the_same_column_in_different_types(tmp_path):
    frame = PEOPLE.assign(salary=(10 * PEOPLE["salary"]).round(), rooms=PEOPLE["rooms"].round())
    write(tmp_path / "a.parquet", frame.iloc[:60])
    write(tmp_path / "b.parquet", frame.iloc[60:].astype({"salary": int, "rooms": int}))
    assert_same_as_all_rows(ParquetSource(tmp_path, **ROLES), MODELS["linear"], frame)


def test_a_sensitive_attribute_may_be_a_feature_and_is_one_only_if_named(tmp_path):
    frame = PEOPLE.assign(sex=PROBLEM.s)
    path = write(tmp_path / "all.parquet", frame)
    roles = {"target": "salary", "sensitive": "sex"}
    source = ParquetSource(path, **roles, features=["sex", "age", "rooms", "noise"])
    assert_same_as_all_rows(source, MODELS["linear"], frame, ["sex"])
    assert "sex" not in ParquetSource(path, **roles, features=FEATURES).features


def test_row_groups_and_files_without_rows_are_passed_over(folder):
    write(folder / "aaa.parquet", PEOPLE.iloc[:0])
    with parquet.ParquetWriter(folder / "part9.parquet", pa.Schema.from_pandas(PEOPLE)) as writer:
        writer.write_table(pa.Table.from_pandas(PEOPLE.iloc[:0]))
        writer.write_table(pa.Table.from_pandas(PEOPLE.iloc[:5]))
    source = ParquetSource(folder, **ROLES)
    assert (source.n_rows, len(source)) == (N + 5, 10)
    assert_same_as_all_rows(source, MODELS["landmarks"], pd.concat([PEOPLE, PEOPLE.iloc[:5]]))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("salary", "y has 1 values that are missing or infinite, the first in row 70"),
        ("sex", r"sensitive_features \(sex\) has 1 missing"),
        ("age", r"all\.parquet, row group 2: column 'age' has 1 values .* the first in row 20"),
        ("weight", r"Chunk 3 \(.*all\.parquet, row group 2\): Input sample_weight contains NaN"),
    ],
)
def test_gaps_are_refused_with_their_place(tmp_path, column, message):
    frame = PEOPLE.astype({column: object})
    frame.loc[70, column] = None
    source = ParquetSource(write(tmp_path / "all.parquet", frame), **ROLES)
    with pytest.raises(ValueError, match=message):
        fit_stream(FairRegressor(kernel="linear", y_bins=2), source)


def test_gaps_in_rows_that_are_landmarks_are_refused(tmp_path):
    frame = PEOPLE.assign(age=PEOPLE["age"].where(PEOPLE.index % 2 > 0))
    source = ParquetSource(write(tmp_path / "all.parquet", frame), **ROLES)
    with pytest.raises(ValueError, match=r"row group 0: column 'age' has 13 values .* in row 0"):
        fit_stream(FairRegressor(n_landmarks=20, y_bins=2), source)


def test_a_column_that_is_missing_in_any_file_is_named_with_its_neighbour(folder):
    with pytest.raises(ValueError, match="no column 'salery'; did you mean 'salary'"):
        ParquetSource(folder, target="salery")
    with pytest.raises(ValueError, match=r"no column 'zzz'; there are \['age', "):
        ParquetSource(folder, target="salary", sensitive="zzz")
    write(folder / "part2.parquet", PEOPLE.drop(columns="rooms"))
    with pytest.raises(ValueError, match=r"part2\.parquet has no column 'rooms'"):
        ParquetSource(folder, **ROLES)


def test_features_that_are_words_are_named_at_once(folder):
    with pytest.raises(ValueError, match=r"columns that are not numbers: region \(\w*string\)"):
        ParquetSource(folder, target="salary", sensitive="sex")


def test_an_index_of_pandas_is_no_feature_unless_named(tmp_path):
    """Numbers of rows are stored as a column once the rows are no longer all of them."""
    frame = PEOPLE[PEOPLE["noise"] > -2.0]
    parquet.write_table(pa.Table.from_pandas(frame), tmp_path / "all.parquet", row_group_size=40)
    assert "__index_level_0__" in parquet.read_schema(tmp_path / "all.parquet").names
    source = ParquetSource(tmp_path, **ROLES)
    assert source.features == tuple(FEATURES)
    assert_same_as_all_rows(source, MODELS["linear"], frame)
    named = ParquetSource(tmp_path, **ROLES, features=["age", "__index_level_0__"])
    np.testing.assert_array_equal(next(iter(named)).X["__index_level_0__"], frame.index[:40])


def test_a_column_that_is_there_twice_is_refused(tmp_path):
    table = pa.table([PEOPLE[name] for name in ("age", "age", "salary")], ["age", "age", "salary"])
    parquet.write_table(table, tmp_path / "all.parquet")
    with pytest.raises(ValueError, match="has 2 columns 'age'; rename all of them but one"):
        ParquetSource(tmp_path, target="salary")


def test_an_infinite_number_is_refused_and_a_large_one_is_not(tmp_path):
    ends = np.where(np.arange(N) == 70, np.inf, np.where(np.arange(N) == 71, -np.inf, 1.0))
    path = write(tmp_path / "all.parquet", PEOPLE.assign(age=ends))
    with pytest.raises(ValueError, match="'age' has 2 values that are missing or infinite"):
        list(ParquetSource(path, **ROLES))
    large = PEOPLE.assign(age=np.full(N, 1.5e308))  # whose sum is infinite
    found = [*ParquetSource(write(path, large), **ROLES)]
    assert np.concatenate([chunk.X["age"] for chunk in found]).tolist() == [1.5e308] * N


def test_one_feature_may_be_given_by_its_name(folder):
    assert ParquetSource(folder, **ROLES, features="rooms").features == ("rooms",)


def test_files_in_folders_are_not_left_out_in_silence(folder):
    (folder / "year=2020").mkdir()
    write(folder / "year=2020" / "x.parquet")
    message = r"such as 'year=2020/x\.parquet'.*ArrowSource\(pyarrow\.dataset\.dataset\('/.*hive"
    with pytest.raises(ValueError, match=message):
        ParquetSource(folder, **ROLES)
    assert ParquetSource(folder / "year=2020", **ROLES).n_rows == N


@pytest.mark.parametrize("name", ["_delta_log", ".cache"])
def test_folders_of_other_programs_are_passed_over(folder, name):
    (folder / name).mkdir()
    write(folder / name / "x.parquet")
    (folder / "nothing.parquet").mkdir()
    assert ParquetSource(folder, **ROLES).n_rows == N


def test_the_target_is_no_feature(folder):
    with pytest.raises(ValueError, match="features has the target 'salary'"):
        ParquetSource(folder, target="salary", features=["age", "salary"])


def test_paths_without_rows_are_refused(tmp_path):
    with pytest.raises(ValueError, match="holds no file that ends in"):
        ParquetSource(tmp_path, **ROLES)
    with pytest.raises(FileNotFoundError, match=r"There is no file .*x\.parquet"):
        ParquetSource(tmp_path / "x.parquet", **ROLES)
    write(tmp_path / "empty.parquet", PEOPLE.iloc[:0])
    with pytest.raises(ValueError, match="holds no rows"):
        ParquetSource(tmp_path, **ROLES, features=FEATURES)
    (tmp_path / "bad.parquet").write_bytes(b"")
    with pytest.raises(ValueError, match=r"bad\.parquet is no Parquet file"):
        ParquetSource(tmp_path, **ROLES, features=FEATURES)


def test_it_can_be_read_again_and_leaves_no_file_open(folder):
    open_before = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    source = ParquetSource(folder, **ROLES)
    first, second = ([chunk.y.tolist() for chunk in source] for _ in range(2))
    assert first == second
    source.outline()
    source.take(np.array([0, 50, 119]))
    if open_before:
        assert len(os.listdir("/proc/self/fd")) == open_before


def test_rows_are_taken_by_their_number_in_all_files(folder):
    rows = np.array([0, 14, 15, 39, 40, 41, 119])
    found = ParquetSource(folder, **ROLES).take(rows)
    np.testing.assert_array_equal(found, PEOPLE[FEATURES].to_numpy()[rows])


def test_nothing_of_a_chunk_is_held_while_the_next_one_is_read(folder, monkeypatch):
    monkeypatch.setattr(threads, "_allowed_threads", lambda: 1)
    seen, original = [], parquet.ParquetFile.read_row_group

    def watched(self, *given, **options):
        gc.collect()
        assert not any(one() is not None for one in seen)
        return original(self, *given, **options)

    monkeypatch.setattr(parquet.ParquetFile, "read_row_group", watched)
    source = ParquetSource(folder, **ROLES)
    original_chunk = source._chunk

    def kept(table, *place):
        chunk = original_chunk(table, *place)
        seen.extend([weakref.ref(table), weakref.ref(chunk.X), weakref.ref(chunk.y)])
        return chunk

    monkeypatch.setattr(source, "_chunk", kept)
    fit_stream(FairRegressor(kernel="linear", y_bins=2), source)
    assert len(seen) == 27
