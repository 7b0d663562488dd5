"""ArrowSource: wherever the rows are and however they arrive, the model is that of all rows."""

import gc
import weakref
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv, dataset, feather, ipc, parquet

from gferm import Bins, FairRegressor, FairRegressorCV
from gferm.streaming import ArrowSource, ParquetSource, fit_stream, search_stream
from gferm.streaming.arrow import in_chunks
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
TABLE = pa.Table.from_pandas(PEOPLE, preserve_index=False)
BINS = {
    "y_bins": [-np.inf, float(np.median(PROBLEM.y)), np.inf],
    "s_bins": {"sex": Bins.categories(["f", "m"]), "region": Bins.categories(["north", "south"])},
}
MODELS = {
    "linear": FairRegressor(kernel="linear", y_bins=2),
    "landmarks": FairRegressor(n_landmarks=15, gamma=0.1, random_state=0, y_bins=2),
}
GIVEN = {
    "linear": FairRegressor(kernel="linear", **BINS),
    "landmarks": FairRegressor(landmarks=PEOPLE[FEATURES].to_numpy()[:15], gamma=0.1, **BINS),
}


def assert_same_as_all_rows(source, model, frame=PEOPLE, features=FEATURES):
    """Compare with `fit` on the data frame itself."""
    roles = source.roles
    weight = None if roles.weight is None else frame[roles.weight].astype(float)
    expected = FairRegressor(**model.get_params()).fit(
        frame[features],
        frame[roles.target].astype(float),
        sensitive_features=frame[list(roles.sensitive)],
        sample_weight=weight,
    )
    found = fit_stream(FairRegressor(**model.get_params()), source)
    rows = frame[features]
    assert source.features == tuple(features)
    assert list(found.feature_names_in_) == features
    np.testing.assert_allclose(found.predict(rows), expected.predict(rows), rtol=0, atol=1e-8)
    assert np.ptp(expected.predict(rows)) > 0.1  # or else any constant would do
    assert found.cells_.label_bins == expected.cells_.label_bins
    assert [part.groups for part in found.cells_.partitions] == [
        part.groups for part in expected.cells_.partitions
    ]


def write_parts(folder, write, ending, table=TABLE, sizes=(50, 0, 70)):
    start = 0
    for k, size in enumerate(sizes):
        write(table.slice(start, size), folder / f"part{k}.{ending}")
        start += size
    return folder


def write_ipc(table, path):
    with ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)


FORMATS = {
    "parquet": lambda table, path: parquet.write_table(table, path, row_group_size=15),
    "feather": lambda table, path: feather.write_feather(table, str(path)),
    "ipc": write_ipc,
    "csv": csv.write_csv,
}


@pytest.mark.parametrize("chunk_rows", [7, 40, 1000])
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("kind", FORMATS)
def test_a_dataset_of_any_format_gives_the_model_of_all_rows(tmp_path, kind, model, chunk_rows):
    sizes = (50, 70) if kind == "csv" else (50, 0, 70)  # without rows, CSV has no types
    folder = write_parts(tmp_path, FORMATS[kind], kind, sizes=sizes)
    source = ArrowSource(dataset.dataset(folder, format=kind), **ROLES, chunk_rows=chunk_rows)
    assert_same_as_all_rows(source, model)


@pytest.mark.parametrize("pieces", [1, 2, 13])
@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_table_gives_the_model_of_all_rows(model, weight, pieces):
    ends = np.linspace(0, N, pieces + 1).astype(int)
    table = pa.concat_tables(TABLE.slice(a, b - a) for a, b in pairwise(ends))
    roles = ROLES | {"weight": weight}
    assert_same_as_all_rows(ArrowSource(table, **roles, features=FEATURES, chunk_rows=31), model)


def test_one_record_batch_is_a_table():
    batch = TABLE.combine_chunks().to_batches()[0]
    assert_same_as_all_rows(ArrowSource(batch, **ROLES), MODELS["linear"])


def reader(size):
    return pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches(max_chunksize=size))


STREAMS = {
    "reader": lambda size: reader(size),
    "list": lambda size: TABLE.to_batches(max_chunksize=size),
    "generator": lambda size: (batch for batch in TABLE.to_batches(max_chunksize=size)),
    "tables": lambda size: [TABLE.slice(k, size) for k in range(0, N, size)],
    "none at first": lambda size: [{name: [] for name in PEOPLE}, *TABLE.to_batches()],
    "dicts": lambda size: [PEOPLE[k : k + size].to_dict("list") for k in range(0, N, size)],
    "polars": lambda size: pl.from_arrow(TABLE),
    "polars batches": lambda size: pl.from_arrow(TABLE).iter_slices(size),
    "pandas": lambda size: PEOPLE,
}


@pytest.mark.parametrize("size", [7, 50])
@pytest.mark.parametrize("model", GIVEN.values(), ids=GIVEN)
@pytest.mark.parametrize("name", STREAMS)
def test_batches_that_come_once_give_the_model_of_all_rows(name, model, size):
    source = ArrowSource(STREAMS[name](size), **ROLES, chunk_rows=40)
    assert not hasattr(source, "outline")
    assert not hasattr(source, "take")
    assert_same_as_all_rows(source, model)


def test_bins_of_a_stream_are_settled_on_its_first_chunk_and_those_of_a_table_on_all_rows():
    table = TABLE.sort_by("salary")
    model = FairRegressor(kernel="linear", y_bins=2)
    with pytest.raises(ValueError, match=r"Chunk 2: y has .* in none of the y_bins"):
        fit_stream(model, ArrowSource(table.to_reader(10), **ROLES, chunk_rows=60))
    frame = PEOPLE.sort_values("salary")
    assert_same_as_all_rows(ArrowSource(table, **ROLES, chunk_rows=60), model, frame)
    whole = ArrowSource(table.to_reader(10), **ROLES, chunk_rows=N)
    assert_same_as_all_rows(whole, model, frame)


@pytest.mark.parametrize("sizes", [[120], [1] * 120, [50, 0, 70], [0, 0, 40, 80, 0], [39, 2, 79]])
def test_chunks_have_one_size_and_keep_the_order(sizes):
    ends = np.cumsum([0, *sizes])
    tables = [TABLE.slice(a, size) for a, size in zip(ends, sizes, strict=False)]
    chunks = [pa.concat_tables(chunk) for chunk in in_chunks(tables, 50)]
    assert [chunk.num_rows for chunk in chunks] == [50, 50, 20]
    assert pa.concat_tables(chunks).equals(TABLE)


@pytest.mark.parametrize("chunk_rows", [13, 60, 1000])
def test_rows_are_taken_by_their_number(tmp_path, chunk_rows):
    write_parts(tmp_path, FORMATS["parquet"], "parquet")
    source = ArrowSource(dataset.dataset(tmp_path), **ROLES, chunk_rows=chunk_rows)
    for rows in ([0, 12, 13, 49, 50, 51, 119], [3], [60], list(range(N))):
        np.testing.assert_array_equal(
            source.take(np.array(rows)), PEOPLE[FEATURES].to_numpy()[rows]
        )


def test_looking_ahead_reads_no_features(tmp_path, monkeypatch):
    read = []
    write_parts(tmp_path, FORMATS["parquet"], "parquet")
    source = ArrowSource(dataset.dataset(tmp_path), **ROLES)
    original = source._scan
    monkeypatch.setattr(source, "_scan", lambda names: read.append(names) or original(names))
    outline = source.outline()
    assert read == [["salary", "sex", "region", "weight"]]
    np.testing.assert_array_equal(outline.y, PEOPLE["salary"])
    assert outline.X is None


def test_folders_of_partitions_and_a_filter(tmp_path):
    """The attribute is the name of a folder, and the rows come in the order of the folders."""
    parquet.write_to_dataset(TABLE, tmp_path, partition_cols=["sex"])
    with pytest.raises(ValueError, match="ArrowSource"):
        ParquetSource(tmp_path, **ROLES)
    people = dataset.dataset(tmp_path, partitioning="hive")
    in_order = PEOPLE.sort_values("sex", kind="stable")
    assert_same_as_all_rows(ArrowSource(people, **ROLES), MODELS["landmarks"], in_order)
    some = people.filter(dataset.field("age") > -0.5)
    assert_same_as_all_rows(
        ArrowSource(some, **ROLES, chunk_rows=20),
        MODELS["landmarks"],
        in_order[in_order["age"] > -0.5],
    )
    plain = dataset.dataset(tmp_path)
    with pytest.raises(ValueError, match="data has no column 'sex'"):
        ArrowSource(plain, **ROLES)


def test_files_may_repeat_what_the_names_of_their_folders_tell(tmp_path):
    in_order = PEOPLE.sort_values("sex", kind="stable")
    for sex, rows in in_order.groupby("sex"):
        table = pa.Table.from_pandas(rows, preserve_index=False)
        words = table.column("sex").cast(pa.string())
        table = table.set_column(table.schema.get_field_index("sex"), "sex", words)
        (tmp_path / f"sex={sex}").mkdir()
        parquet.write_table(table, tmp_path / f"sex={sex}" / "0.parquet")
    people = dataset.dataset(tmp_path, partitioning="hive")
    assert_same_as_all_rows(ArrowSource(people, **ROLES), MODELS["linear"], in_order)


def test_a_partition_by_words_is_no_feature_and_by_numbers_it_is_one(tmp_path):
    frame = PEOPLE.assign(year=2020 + (PEOPLE.index // 40))
    parquet.write_to_dataset(
        pa.Table.from_pandas(frame, preserve_index=False), tmp_path, partition_cols=["year"]
    )
    people = dataset.dataset(tmp_path, partitioning="hive")
    assert_same_as_all_rows(
        ArrowSource(people, **ROLES), MODELS["linear"], frame, [*FEATURES, "year"]
    )
    roles = ROLES | {"sensitive": "sex"}
    with pytest.raises(ValueError, match=r"columns that are not numbers: region \(\w*string\)"):
        ArrowSource(people, **roles)


def test_a_search_goes_over_the_same_chunks():
    grid = {"kernel": "linear", "alphas": [0.1, 10.0], "epsilons": [0, None], "y_bins": 2}
    found = search_stream(FairRegressorCV(**grid), ArrowSource(TABLE, **ROLES, chunk_rows=50))
    whole = search_stream(FairRegressorCV(**grid), ArrowSource(TABLE, **ROLES))
    np.testing.assert_allclose(
        found.cv_results_["mean_test_error"], whole.cv_results_["mean_test_error"], rtol=1e-9
    )
    best = FairRegressor(kernel="linear", y_bins=2, **found.best_params_)
    assert_same_as_all_rows(ArrowSource(TABLE, **ROLES), best)


KINDS = {
    "float32": lambda column: column.cast(pa.float32()),
    "decimal": lambda column: column.cast(pa.decimal128(12, 3), safe=False),
    "dictionary": lambda column: column.dictionary_encode(),
    "decimals in a dictionary": lambda column: column.cast(
        pa.decimal128(12, 3), safe=False
    ).dictionary_encode(),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["rooms", "salary", "weight"])
def test_numbers_of_every_kind_are_numbers(name, kind):
    frame = PEOPLE.assign(**{name: PEOPLE[name].round()})
    table = pa.Table.from_pandas(frame, preserve_index=False)
    place = table.schema.get_field_index(name)
    table = table.set_column(place, name, KINDS[kind](table.column(name)))
    assert_same_as_all_rows(ArrowSource(table, **ROLES, chunk_rows=50), MODELS["linear"], frame)


@pytest.mark.parametrize("kind", ["bool", "bools in a dictionary"])
def test_booleans_are_zero_and_one(kind):
    values = pa.chunked_array([PEOPLE["rooms"] > 0])
    values = values if kind == "bool" else values.dictionary_encode()
    table = TABLE.set_column(1, "rooms", values)
    frame = PEOPLE.assign(rooms=(PEOPLE["rooms"] > 0).astype(float))
    assert_same_as_all_rows(ArrowSource(table, **ROLES), MODELS["linear"], frame)


@pytest.mark.parametrize("split", ["batches", "chunks"])
def test_every_batch_may_have_a_dictionary_and_types_of_its_own(split):
    """Words are stored as themselves or by number, whole numbers as such: the values count."""
    frame = PEOPLE.assign(rooms=PEOPLE["rooms"].round(), sex=np.repeat(["m", "f"], 60))
    batches = [
        pa.Table.from_pandas(frame[k : k + 20], preserve_index=False) for k in range(0, N, 20)
    ]
    for k in (1, 3, 4):
        sex = batches[k].column("sex").dictionary_encode()
        batches[k] = batches[k].set_column(batches[k].schema.get_field_index("sex"), "sex", sex)
        rooms = batches[k].column("rooms").cast(pa.int16())
        batches[k] = batches[k].set_column(1, "rooms", rooms)
    source = ArrowSource(batches, **ROLES, chunk_rows=20 if split == "batches" else 50)
    assert_same_as_all_rows(source, GIVEN["landmarks"], frame)


def test_a_schema_holds_files_that_store_a_column_in_different_types(tmp_path):
    frame = PEOPLE.assign(rooms=PEOPLE["rooms"].round())
    whole = pa.Table.from_pandas(frame, preserve_index=False)
    kinds = [pa.int64(), pa.float64()]
    frame.loc[80, "rooms"] = 0.5
    for k, kind in enumerate(kinds):
        table = pa.Table.from_pandas(frame[60 * k : 60 * k + 60], preserve_index=False)
        table = table.set_column(1, "rooms", table.column("rooms").cast(kind))
        parquet.write_table(table, tmp_path / f"{k}.parquet")
    message = r"1\.parquet stores 'rooms' as double, and the dataset takes it for int64: .*schema="
    with pytest.raises(ValueError, match=message):
        fit_stream(MODELS["linear"], ArrowSource(dataset.dataset(tmp_path), **ROLES))
    people = dataset.dataset(tmp_path, schema=whole.schema)
    assert_same_as_all_rows(ArrowSource(people, **ROLES), MODELS["linear"], frame)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("salary", None, "y has 1 values that are missing or infinite, the first in row 70"),
        ("sex", None, r"sensitive_features \(sex\) has 1 missing"),
        (
            "age",
            None,
            "Chunk 3: column 'age' has 1 values that are missing .* first in row 10; drop",
        ),
        ("age", np.inf, "Chunk 3: column 'age' has 1 values that are missing or infinite"),
        ("weight", None, "Chunk 3: Input sample_weight contains NaN"),
    ],
)
def test_gaps_are_refused_with_their_place(column, value, message):
    frame = PEOPLE.astype({column: object})
    frame.loc[70, column] = value
    table = pa.Table.from_pandas(frame, preserve_index=False)
    with pytest.raises(ValueError, match=message):
        fit_stream(MODELS["linear"], ArrowSource(table, **ROLES, chunk_rows=30))
    if column == "age":
        with pytest.raises(ValueError, match=message):
            fit_stream(GIVEN["linear"], ArrowSource(table.to_reader(17), **ROLES, chunk_rows=30))


def test_booleans_and_whole_numbers_with_gaps_are_refused_too():
    flags = pa.array([None, *(PEOPLE["rooms"] > 0)[1:]])
    table = TABLE.set_column(1, "rooms", flags)
    with pytest.raises(ValueError, match="Chunk 1: column 'rooms' has 1 values"):
        list(ArrowSource(table, **ROLES))
    table = TABLE.set_column(1, "rooms", pa.array([None, *range(N - 1)]))
    with pytest.raises(ValueError, match="Chunk 1: column 'rooms' has 1 values"):
        list(ArrowSource(table, **ROLES))
    sensitive = TABLE.set_column(TABLE.schema.get_field_index("sex"), "sex", flags)
    with pytest.raises(ValueError, match=r"sensitive_features \(sex\) has 1 missing"):
        fit_stream(MODELS["linear"], ArrowSource(sensitive, **ROLES))


@pytest.mark.parametrize("column", ["rooms", "sex", "salary"])
def test_a_column_that_is_missing_in_one_file_is_no_gap_but_an_error(tmp_path, column):
    """pyarrow would fill it with nulls."""
    write_parts(tmp_path, FORMATS["parquet"], "parquet")
    parquet.write_table(TABLE.slice(50).drop_columns(column), tmp_path / "part2.parquet")
    with pytest.raises(ValueError, match=rf"part2\.parquet has no column '{column}'"):
        ArrowSource(dataset.dataset(tmp_path), **ROLES)


def test_a_column_that_is_missing_or_words_in_one_batch_is_named_with_the_batch():
    batches = TABLE.to_batches(max_chunksize=40)
    for bad, message in (
        (batches[2].drop_columns("rooms"), "Batch 3 has no column 'rooms'; there are"),
        (batches[2].rename_columns({"rooms": "Rooms"}), "no column 'rooms'; did you mean 'Rooms'"),
        (batches[2].set_column(1, "rooms", pa.array(["a"] * 40)), r"not numbers: rooms \(string\)"),
    ):
        with pytest.raises(ValueError, match=message):
            fit_stream(GIVEN["linear"], ArrowSource([*batches[:2], bad], **ROLES))


def test_columns_are_checked_before_anything_is_read():
    with pytest.raises(ValueError, match="data has no column 'salery'; did you mean 'salary'"):
        ArrowSource(TABLE, target="salery")
    with pytest.raises(ValueError, match="features has the target 'salary'"):
        ArrowSource(reader(10), target="salary", features=["age", "salary"])
    with pytest.raises(ValueError, match="chunk_rows=0 must be a number of rows"):
        ArrowSource(TABLE, **ROLES, chunk_rows=0)


@pytest.mark.parametrize("data", ["people/", {"age": [1.0]}, 3, None])
def test_what_is_no_arrow_data_is_refused_with_a_remedy(data):
    with pytest.raises(TypeError, match=r"data is a .*; pass a pyarrow Dataset.*dataset\.dataset"):
        ArrowSource(data, **ROLES)


def test_batches_that_are_none_are_refused_with_their_number():
    source = ArrowSource([*TABLE.to_batches(), "words"], **ROLES)
    with pytest.raises(TypeError, match="Batch 2 of data is a str"):
        fit_stream(GIVEN["linear"], source)


def test_rows_that_come_once_cannot_be_read_again():
    source = ArrowSource(reader(10), **ROLES)
    fit_stream(GIVEN["linear"], source)
    with pytest.raises(ValueError, match="RecordBatchReader, which gives its rows once"):
        fit_stream(GIVEN["linear"], source)
    with pytest.raises(AttributeError, match="outline"):
        source.outline()


@pytest.mark.parametrize("name", ["list", "polars", "tables"])
def test_what_can_be_read_again_gives_the_same(name):
    source = ArrowSource(STREAMS[name](17), **ROLES, chunk_rows=50)
    first, second = ([chunk.y.tolist() for chunk in source] for _ in range(2))
    assert first == second
    assert np.concatenate(first).tolist() == PEOPLE["salary"].tolist()


@pytest.mark.parametrize("data", [TABLE[:0], [], [TABLE[:0]], TABLE[:0].to_reader()])
def test_without_rows_there_is_nothing_to_learn(data):
    with pytest.raises(ValueError, match=r"there are no rows to learn from|data holds no rows"):
        fit_stream(GIVEN["linear"], ArrowSource(data, **ROLES))


def test_an_index_of_pandas_is_no_feature():
    frame = PEOPLE[PEOPLE["noise"] > -2.0]
    assert len(frame) < N
    assert_same_as_all_rows(ArrowSource(frame, **ROLES), GIVEN["linear"], frame)


@pytest.mark.parametrize("size", [20, 30, 60])
def test_nothing_of_a_chunk_is_held_while_the_next_batch_is_read(size):
    """Arrow's columns are these arrays themselves, for as long as anything needs them."""
    seen = []

    def batches():
        for k in range(0, N, size):
            gc.collect()
            assert not any(one() is not None for one in seen)
            arrays = [np.array(PEOPLE[name][k : k + size]) for name in [*FEATURES, "salary"]]
            seen.extend(weakref.ref(array) for array in arrays)
            yield pa.table(arrays, [*FEATURES, "salary"])
            del arrays

    for chunk in (source := ArrowSource(batches(), target="salary", chunk_rows=size)):
        seen += [weakref.ref(chunk.X), weakref.ref(chunk.y)]
        del chunk
    assert source.features == tuple(FEATURES)
    assert len(seen) == (N // size) * (len(FEATURES) + 3)
