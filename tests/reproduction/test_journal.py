"""No line that append() returned for is lost, none is damaged, whatever happens."""

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from reproduction.journal import Journal, open_folder, rounded, write_whole

from reproduction import ExperimentError
from reproduction import journal as journal_module

MARK = "0123456789ab"
STAMPED = {"settings": MARK}
RECORDS = [
    {**STAMPED, **record}
    for record in (
        {"i": 0, "a": 0.5},
        {"i": 1, "a": None, "é\n": "ü\r\n\u2028"},
        {"i": 2, "a": [1, 2.5]},
    )
]


@pytest.fixture
def written(tmp_path):
    """A journal of three lines."""
    path = tmp_path / "work.jsonl"
    journal = Journal(path, MARK)
    for record in RECORDS:
        journal.append({key: value for key, value in record.items() if key not in STAMPED})
    return path


@pytest.fixture
def four_digits(monkeypatch):
    monkeypatch.setattr(journal_module, "DIGITS", 4)


def test_what_was_appended_is_there_again(written):
    assert Journal(written, MARK).records == RECORDS
    assert [json.loads(line) for line in written.read_bytes().split(b"\n")[:-1]] == RECORDS


def test_records_read_again_are_those_in_memory(tmp_path, four_digits):
    journal = Journal(tmp_path / "work.jsonl", MARK)
    journal.append({"third": 1 / 3, "pair": (1, 2), 3: np.nan})
    assert journal.records == Journal(journal.path, MARK).records
    assert journal.records == [{**STAMPED, "third": 0.3333, "pair": [1, 2], "3": None}]


def test_a_file_cut_at_any_byte_loses_the_cut_line_only_and_ends_the_same(written):
    content = written.read_bytes()
    for kept in range(len(content) + 1):
        written.write_bytes(content[:kept])
        journal = Journal(written, MARK)
        assert journal.records == RECORDS[: content[:kept].count(b"\n")]
        for record in RECORDS[len(journal.records) :]:
            journal.append(record)
        assert written.read_bytes() == content


@pytest.mark.parametrize("tail", [b"\0" * 100, b"\xff\xfe", b'{"i":', b"{}"])
def test_a_tail_without_its_newline_is_dropped(written, tail):
    content = written.read_bytes()
    written.write_bytes(content + tail)
    assert Journal(written, MARK).records == RECORDS
    assert written.read_bytes() == content


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
def test_kill_9_loses_nothing_that_append_returned_for(tmp_path):
    path = tmp_path / "work.jsonl"
    code = """
import sys
from itertools import count
from pathlib import Path
from reproduction.journal import Journal
journal = Journal(Path(sys.argv[1]), sys.argv[2])
for i in count(len(journal.records)):
    journal.append({"i": i, "text": "x" * 50_000})
    print(i, flush=True)
"""
    with subprocess.Popen(
        [sys.executable, "-c", code, path, MARK], stdout=subprocess.PIPE
    ) as child:
        for _ in range(20):
            child.stdout.readline()
        child.send_signal(signal.SIGKILL)
        told = child.stdout.read().split()
    records = Journal(path, MARK).records
    assert len(records) >= max([20, *(int(i) + 1 for i in told)])
    assert records == [{**STAMPED, "i": i, "text": "x" * 50_000} for i in range(len(records))]


@pytest.mark.parametrize("damage", [b"{", b"", b"\xff\xff", b"\0\0\0\0", b"3", b"[]", b"null"])
def test_a_damaged_line_in_the_middle_is_named(written, damage):
    lines = written.read_bytes().split(b"\n")
    lines[1] = damage
    written.write_bytes(b"\n".join(lines))
    with pytest.raises(ExperimentError, match=r"work\.jsonl is damaged in line 2: .* Delete the"):
        Journal(written, MARK)
    assert written.read_bytes() == b"\n".join(lines)  # nothing is thrown away unasked


def test_a_line_of_other_settings_is_refused_and_kept(written):
    content = written.read_bytes()
    for other in (b'{"i":3}\n', b'{"settings":"ba9876543210","i":3}\n'):
        written.write_bytes(content + other)
        with pytest.raises(ExperimentError, match=r"other settings in line 4\. .*work\.jsonl\.xz"):
            Journal(written, MARK)
        assert written.read_bytes() == content + other


def test_what_a_killed_run_left_half_written_is_swept_away(tmp_path):
    open_folder(tmp_path, {"a": 1})
    (tmp_path / "run.json.part").write_bytes(b"[")
    open_folder(tmp_path, {"a": 1})
    assert [path.name for path in tmp_path.iterdir()] == ["settings.json"]
    (tmp_path / "mine.part").write_bytes(b"[")  # the folder is not for other settings
    with pytest.raises(ExperimentError):
        open_folder(tmp_path, {"a": 2})
    assert (tmp_path / "mine.part").exists()


def test_the_stamp_tells_settings_apart_whatever_their_order(tmp_path):
    settings = {"a": 1, "b": (0.5, None)}
    first = open_folder(tmp_path / "1", settings)
    assert open_folder(tmp_path / "1", settings) == first
    assert open_folder(tmp_path / "2", dict(reversed(settings.items()))) == first
    assert open_folder(tmp_path / "3", {**settings, "a": 2}) != first


def test_a_line_is_on_disk_when_append_returns(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda number: synced.append(os.fstat(number).st_size))
    journal, sizes = Journal(tmp_path / "work.jsonl", MARK), []
    for record in RECORDS:
        journal.append(record)
        sizes.append(journal.path.stat().st_size)
    assert synced == sizes


def fail(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_is_told_and_leaves_whole_lines(written, monkeypatch):
    content, journal = written.read_bytes(), Journal(written, MARK)
    monkeypatch.setattr(os, "fsync", fail)
    message = r"work\.jsonl could not be written: No space left .* 3 records are safe; make room"
    with pytest.raises(ExperimentError, match=message):
        journal.append({"i": 3})
    assert written.read_bytes() == content
    assert journal.records == RECORDS
    monkeypatch.undo()
    journal.append({"i": 3})
    assert Journal(written, MARK).records == [*RECORDS, {**STAMPED, "i": 3}]


def test_a_full_disk_at_the_first_line_leaves_an_empty_file(tmp_path, monkeypatch):
    journal = Journal(tmp_path / "work.jsonl", MARK)
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(ExperimentError, match="0 records are safe"):
        journal.append({"i": 0})
    assert Journal(journal.path, MARK).records == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_device_that_is_full_is_told(tmp_path):
    path = tmp_path / "work.jsonl"
    journal = Journal(path, MARK)
    path.symlink_to("/dev/full")
    with pytest.raises(ExperimentError, match=r"work\.jsonl could not be written: No space left"):
        journal.append({"i": 0})


def test_what_is_no_json_is_refused_before_anything_is_written(written):
    content = written.read_bytes()
    with pytest.raises(TypeError, match="not JSON serializable"):
        Journal(written, MARK).append({"i": object()})
    assert written.read_bytes() == content


def test_a_file_where_a_folder_is_needed(tmp_path):
    file = tmp_path / "file"
    file.write_text("mine")
    for folder in (file, file / "below"):
        with pytest.raises(ExperimentError, match=r"cannot be used .*file.* Choose another --out"):
            open_folder(folder, {})
    with pytest.raises(ExperimentError, match="could not be written: Not a directory"):
        write_whole(file / "page.md", "text")
    with pytest.raises(ExperimentError, match="0 records are safe"):
        Journal(file / "work.jsonl", MARK).append({})
    with pytest.raises(ExperimentError, match="cannot be read: Is a directory"):
        Journal(tmp_path, MARK)
    assert file.read_text() == "mine"


def test_a_folder_is_claimed_once_and_the_same_settings_may_come_back(tmp_path):
    folder = tmp_path / "deep" / "folder"
    settings = {"repeats": 3, "sizes": (1, 2), "nothing": None}
    for _ in range(2):
        open_folder(folder, settings)
    assert [path.name for path in folder.iterdir()] == ["settings.json"]
    open_folder(folder, {"sizes": [1, 2], "repeats": 3, "nothing": None})


def test_other_settings_are_refused_with_both_values(tmp_path):
    open_folder(tmp_path, {"repeats": 3, "data": "a" * 100, "same": 1})
    before = (tmp_path / "settings.json").read_bytes()
    with pytest.raises(ExperimentError) as caught:
        open_folder(tmp_path, {"repeats": 5, "seed": 0, "same": 1})
    message = str(caught.value)
    assert "repeats (3 there, 5 now)" in message
    assert "seed (null there, 0 now)" in message
    assert "aaa... there, null now)" in message
    assert "same" not in message.split(". To go on")[0]
    assert str(tmp_path) in message
    assert "choose another --out or delete" in message
    assert (tmp_path / "settings.json").read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"3", b"null"])
def test_unreadable_settings_are_not_overwritten(tmp_path, content):
    (tmp_path / "settings.json").write_bytes(content)
    with pytest.raises(ExperimentError, match="cannot be used for results"):
        open_folder(tmp_path, {})
    assert (tmp_path / "settings.json").read_bytes() == content


@pytest.mark.parametrize("content", ["ε̂\n", b"\x89PNG\r\n"])
def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch, content):
    path = tmp_path / "page"
    expected = content.encode() if isinstance(content, str) else content
    write_whole(path, content)
    assert path.read_bytes() == expected
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(ExperimentError, match="page could not be written: No space left"):
        write_whole(path, "other")
    assert path.read_bytes() == expected
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, np.float64("nan"), np.float32("inf")])
def test_what_is_not_a_number_is_null(value):
    assert rounded({"a": [value, {"b": value}]}) == {"a": [None, {"b": None}]}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1 / 3, 0.3333),
        (2e-20 / 3, 6.667e-21),
        (123456.0, 123500.0),
        (0.1 + 0.2, 0.3),
        (np.float64(1 / 3), 0.3333),
        (np.float32(0.25), 0.25),
        (np.int64(7), 7),
        (np.bool_(True), True),
        (np.array([[1 / 3, np.nan]]), [[0.3333, None]]),
        (True, True),
        (12345678901234567, 12345678901234567),
        ("1.23456789012", "1.23456789012"),
        (None, None),
        ((1, 0.5), [1, 0.5]),
    ],
)
def test_floats_keep_few_digits_and_all_else_stays(value, expected, four_digits):
    found = rounded(value)
    assert found == expected
    assert type(found) is type(expected)
    assert json.loads(json.dumps(found)) == expected
