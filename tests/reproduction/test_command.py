"""The command: stopped at any moment it goes on; what is wrong it says in a line."""

import errno
import json
import lzma
import os
import random
import re
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from time import sleep

import pytest
from reproduction.command import app
from reproduction.journal import Journal, stamp_of
from reproduction.paper import TARGETS
from reproduction.problems import PROBLEMS
from typer.main import get_command
from typer.testing import CliRunner

import gferm
from reproduction import protocol
from reproduction import reproduce as module
from tests.reproduction.shrunk import shrink

ROOT = Path(__file__).parents[2]
DRIVER = """
import os, signal, sys
import pytest
from gferm.__main__ import main
from tests.reproduction.shrunk import shrink

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have told us to ignore it
number, left, fsync = int(sys.argv.pop(1)), int(sys.argv.pop(1)), os.fsync

def sync(file):  # say so, and get a signal at one of these moments
    global left
    left -= 1
    print("sync", flush=True)
    if left == 0:
        os.kill(os.getpid(), number)
    fsync(file)

os.fsync = sync
shrink(pytest.MonkeyPatch())
main("reproduction.command")
"""
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")


@pytest.fixture(scope="module", autouse=True)
def small():
    with pytest.MonkeyPatch.context() as patch:
        shrink(patch)
        yield


@pytest.fixture
def quick(monkeypatch):
    """Runs without pictures, which take longest."""
    monkeypatch.setattr(module, "draw_histogram", lambda records: b"a histogram")
    monkeypatch.setattr(module, "draw_frontier", lambda records: b"a frontier")


@pytest.fixture
def idle(monkeypatch):
    """Runs that must not compute anything."""
    monkeypatch.setattr(protocol, "_compute", None)


def invoke(*words):
    return CliRunner().invoke(app, [*map(str, words)])


def contents(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.name not in ("run.json", ".lock")}


@pytest.fixture(scope="module")
def finished(tmp_path_factory, small):
    """One repeat of everything, with nothing in between."""
    out = tmp_path_factory.mktemp("finished")
    done = invoke("--repeats", 1, "--out", out)
    assert done.exit_code == 0, done.output
    return contents(out / "crime")


def lay(out, files, names=None):
    folder = out / "crime"
    folder.mkdir(parents=True)
    for name in names or files:
        (folder / name).write_bytes(files[name])
    return folder


def assert_refused(done, *words):
    """Expect one line on stderr, nothing else, and exit code 2."""
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("Error: ")
    for word in words:
        assert str(word) in done.stderr


# -- what it prints -------------------------------------------------------------------------------


def test_tables_and_where_they_are_are_printed(finished, tmp_path, quick, idle, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")  # a path is never broken
    folder = lay(tmp_path / "a[b]c", finished)
    done = invoke("--repeats", 1, "--out", tmp_path / "a[b]c")
    assert done.exit_code == 0, done.output
    assert "nothing was computed" in done.stdout
    assert f"Wrote {folder / 'index.html'}," in done.stdout
    assert done.stderr == ""
    for words in ("Results with ε̂ = 0 and K = 10", "The paper's claims in short"):
        assert words in done.stdout
    assert "The paper's claims, " not in done.stdout  # every single one: for the page


def test_the_number_of_computed_folds_is_printed_and_progress_goes_to_stderr(tmp_path, quick):
    done = invoke("table-continuous", "--repeats", 1, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert "Computed 10 outer folds in" in done.stdout
    assert "models" in done.stderr
    assert "models" not in done.stdout


def test_everything_is_asked_for_by_default(monkeypatch):
    asked = []

    class Stop(Exception):
        pass

    def stop(target, **options):
        asked.append({"target": target, **options})
        raise Stop

    monkeypatch.setattr("reproduction.command.reproduce", stop)
    assert isinstance(invoke().exception, Stop)
    assert asked == [
        {
            "target": "all",
            "data": "crime",
            "repeats": 30,
            "device": "cpu",
            "jobs": None,
            "out": Path("reproduced"),
        }
    ]
    options = {"data": "pupils", "repeats": 3, "device": "cuda", "jobs": 2, "out": Path("there")}
    words = [word for key, value in options.items() for word in (f"--{key}", value)]
    assert isinstance(invoke("table-bins", *words).exception, Stop)
    assert asked[1] == {"target": "table-bins", **options}


def test_help_lists_what_there_is(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    said = " ".join(invoke("--help").stdout.replace("│", " ").split())
    for word in (*TARGETS, "consistency", *PROBLEMS, "--device", "--jobs", "--out"):
        assert word in said
    assert said.count("python -m reproduction") >= 2
    for words in ("Examples", "Exit codes", "0 done", "2 wrong input", "130 stopped"):
        assert words in said
    assert "[bold]" not in said


def test_paragraphs_of_help_fill_their_lines(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    paragraph = invoke("--help").stdout.split("Examples")[0].split("Safe to stop")[1]
    lines = [line.strip() for line in paragraph.strip().splitlines()]
    assert len(lines) > 3
    for line, following in pairwise(lines[1:]):
        assert len(line) + 1 + len(following.split()[0]) > 57


@pytest.mark.parametrize("page", ["README.md", "docs/reproduction.md", "reproduction/command.py"])
def test_every_example_names_targets_and_options_that_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    examples = re.findall(r"^ *python -m reproduction ([^#\n]*)", text, re.MULTILINE)
    assert len(examples) >= 2
    for words in map(str.split, examples):
        asked = get_command(app).make_context("reproduction", words)  # refuses unknown options
        assert asked.params["target"] in (*TARGETS, "consistency")


def test_the_theorem_has_its_own_folder(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "reproduction.command.run_consistency",
        lambda folder, repeats: asked.append((folder, repeats)),
    )
    done = invoke("consistency", "--repeats", 3, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert asked == [(tmp_path / "consistency", 3)]
    for name, value in (("device", "cuda"), ("device", "cpu"), ("data", "crime"), ("jobs", 1)):
        done = invoke("consistency", f"--{name}", value, "--out", tmp_path)
        assert_refused(done, "consistency", f"--{name}", "--repeats and --out only")
    assert len(asked) == 1


# -- arguments ------------------------------------------------------------------------------------


def test_an_unknown_target_is_refused_with_those_that_exist(tmp_path, idle):
    done = invoke("table-resultz", "--out", tmp_path / "out")
    assert_refused(done, "'table-resultz'", *TARGETS, "consistency")
    assert not (tmp_path / "out").exists()


def test_unknown_data_are_refused_with_those_that_exist(tmp_path, idle):
    assert_refused(invoke("--data", "unige", "--out", tmp_path / "out"), "'unige'", *PROBLEMS)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("option", ["--repeats", "--jobs"])
@pytest.mark.parametrize("value", ["0", "-1", "many"])
def test_numbers_are_checked(option, value, tmp_path, idle):
    done = invoke(option, value, "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert option in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


class NoCuda:
    class cuda:
        is_available = staticmethod(lambda: False)


@pytest.mark.parametrize(
    ("device", "torch", "words"),
    [
        ("tpu", None, ["'tpu'", "cpu", "cuda"]),
        ("cuda", None, ["needs torch", "pip install 'gferm[gpu]'", "device='cpu'"]),
        ("cuda", NoCuda, ["needs a CUDA GPU", "device='cpu'"]),
    ],
)
def test_a_device_that_is_not_there_is_never_replaced(
    device, torch, words, tmp_path, monkeypatch, idle
):
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert_refused(invoke("--device", device, "--out", tmp_path / "out"), *words)
    assert not (tmp_path / "out").exists()


def test_missing_matplotlib_is_told_before_any_work(tmp_path, monkeypatch, idle):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert_refused(invoke("--out", tmp_path / "out"), "matplotlib", "pip install 'gferm[plot]'")
    assert not (tmp_path / "out").exists()


# -- folders that cannot be used ------------------------------------------------------------------


def test_results_of_other_settings_are_refused_with_both(finished, tmp_path, idle):
    settings = json.loads(finished["settings.json"])
    settings["tolerance"] = 0.25
    files = {**finished, "settings.json": json.dumps(settings).encode()}
    folder = lay(tmp_path, files)
    done = invoke("--repeats", 1, "--out", tmp_path)
    assert_refused(
        done, folder, "tolerance (0.25 there, 0.1 now)", "choose another --out or delete"
    )
    assert contents(folder) == files


def test_a_file_in_place_of_the_folder(tmp_path, idle):
    (tmp_path / "out").write_text("mine")
    assert_refused(invoke("--out", tmp_path / "out"), tmp_path / "out", "Choose another --out")
    assert (tmp_path / "out").read_text() == "mine"


def test_a_folder_that_cannot_be_made(tmp_path, monkeypatch, idle):
    def deny(path, *args, **options):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, "mkdir", deny)
    done = invoke("--out", tmp_path / "out")
    assert_refused(done, tmp_path / "out", "Permission denied", "Choose another --out")


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere"
)
@pytest.mark.parametrize("claimed", [False, True])
def test_a_folder_that_may_not_be_written_to(claimed, finished, tmp_path, idle):
    folder = lay(tmp_path, finished, ["settings.json"])
    if not claimed:
        (folder / "settings.json").unlink()
    folder.chmod(0o500)
    try:
        assert_refused(invoke("--out", tmp_path), folder, "Permission denied")
    finally:
        folder.chmod(0o700)


def test_a_lock_that_cannot_be_made(finished, tmp_path, idle):
    folder = lay(tmp_path, finished, ["settings.json"])
    (folder / ".lock").mkdir()
    assert_refused(invoke("--out", tmp_path), folder, "Choose another --out")


def test_one_run_at_a_time(finished, tmp_path, quick, idle):
    fcntl = pytest.importorskip("fcntl", reason="not on Windows")
    folder = lay(tmp_path, finished)
    with (folder / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = invoke("--repeats", 1, "--out", tmp_path)
        assert_refused(done, folder, "in use by another run", "choose another --out")
        assert contents(folder) == finished
    assert invoke("--repeats", 1, "--out", tmp_path).exit_code == 0


def test_fewer_repeats_than_there_are(finished, tmp_path, idle):
    line = finished["binary.jsonl"].splitlines(keepends=True)[0]
    more = json.dumps({**json.loads(line), "repeat": 1}).encode() + b"\n"
    files = {**finished, "binary.jsonl": finished["binary.jsonl"] + more}
    folder = lay(tmp_path, files)
    done = invoke("--repeats", 1, "--out", tmp_path)
    assert_refused(done, folder / "binary.jsonl", "holds 2 repeats", "--repeats 1", "--repeats 2")
    assert contents(folder) == files


@pytest.mark.parametrize(
    ("name", "damage", "words"),
    [
        ("binary.jsonl", lambda file: file.replace(b"\n", b"\n{\n", 1), ["damaged in line 2"]),
        ("binary.jsonl", lambda file: file[file.index(b"\n") + 1 :], ["one outer fold after"]),
        (
            "binary.jsonl",
            lambda file: file.replace(b'{"settings":"', b'{"settings":"x'),
            ["line 1"],
        ),
        ("continuous.jsonl.xz", lambda file: lzma.compress(file)[:-9], ["cannot be read"]),
    ],
)
def test_damaged_files_are_named(name, damage, words, finished, tmp_path, idle):
    plain = name.removesuffix(".xz")
    folder = lay(tmp_path, {file: finished[file] for file in finished if file != plain})
    (folder / name).write_bytes(damage(finished[plain]))
    before = contents(folder)
    assert_refused(invoke("--repeats", 1, "--out", tmp_path), folder / name, *words)
    assert contents(folder) == before


# -- a full disk ----------------------------------------------------------------------------------


def fill_disk(patch, after):
    """Let some calls of fsync pass and no more."""
    fsync, left = os.fsync, [after]

    def sync(file):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(file)

    patch.setattr(os, "fsync", sync)


@pytest.mark.parametrize(
    ("after", "file", "lines"),
    [
        (0, "settings.json", None),
        (1, "binary.jsonl", (0, None)),
        (8, "continuous.jsonl", (4, 3)),
        (21, "run.json", (10, 10)),
        (26, "table-delta.md", (10, 10)),
    ],
)
def test_a_full_disk_is_told_and_the_same_command_goes_on(
    after, file, lines, finished, tmp_path, quick
):
    folder, ask = tmp_path / "crime", ("--repeats", 1, "--out", tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        fill_disk(patch, after)
        done = invoke(*ask)
    assert done.exit_code == 2
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"Error: {folder / file} could not be written: No space left on device")
    assert "same command" in last
    assert "Traceback" not in done.stderr
    assert not list(folder.glob("*.part"))
    for study, count in zip(("binary", "continuous"), lines or (None, None), strict=True):
        path = folder / f"{study}.jsonl"
        written = path.read_bytes() if path.exists() else b""
        assert written.count(b"\n") == (count or 0)
        assert finished[path.name].startswith(written)
    assert invoke(*ask).exit_code == 0
    found = contents(folder)
    assert set(found) == set(finished)
    for name in finished:
        if not name.endswith((".png", ".html")):  # there are none here
            assert found[name] == finished[name]


# -- stopped and killed ---------------------------------------------------------------------------


def test_an_interrupt_is_no_error_and_says_how_to_go_on(tmp_path, monkeypatch):
    def interrupt(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("reproduction.command.reproduce", interrupt)
    monkeypatch.setenv("COLUMNS", "30")
    done = invoke("--out", tmp_path / "out")
    assert done.exit_code == 130
    assert done.stdout == ""
    where = f"Finished repeats are in {tmp_path / 'out'}"
    assert done.stderr == f"Stopped. {where}; run the same command again to go on.\n"


@pytest.fixture
def start(tmp_path):
    """Start the command as a process of its own, to get a signal at its n-th fsync (0: never)."""
    script, children = tmp_path / "driver.py", []
    script.write_text(DRIVER)
    source = os.pathsep.join([str(Path(gferm.__file__).parents[1]), str(ROOT)])
    words = ["--repeats", "1", "--jobs", "1", "--out", str(tmp_path)]

    def begin(number, moment):
        child = subprocess.Popen(
            [sys.executable, str(script), str(int(number)), str(moment), *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={**os.environ, "PYTHONPATH": source, "PYTHONIOENCODING": "utf-8"},
        )
        children.append(child)
        return child

    yield begin
    for child in children:
        child.kill()
        child.communicate()


def assert_whole_lines(folder, finished):
    for study in ("binary", "continuous"):
        path = folder / f"{study}.jsonl"
        if path.exists():
            stamp = stamp_of(json.loads(finished["settings.json"]))
            assert len(Journal(path, stamp).records) == path.read_bytes().count(b"\n")
            assert finished[path.name].startswith(path.read_bytes())


@POSIX
def test_ctrl_c_stops_it_and_the_same_command_goes_on(finished, tmp_path, start):
    child = start(signal.SIGINT, 6)
    _, said = child.communicate()
    assert child.returncode == 130, said
    assert said.splitlines()[-1].startswith(f"Stopped. Finished repeats are in {tmp_path};")
    assert "Traceback" not in said
    folder = tmp_path / "crime"
    assert_whole_lines(folder, finished)
    assert not (folder / "index.html").exists()
    assert invoke("--repeats", 1, "--out", tmp_path).exit_code == 0
    assert contents(folder) == finished


def kill_again_and_again(moments, finished, folder, start):
    """Kill at the n-th fsync, or where n is negative some time after the first −n of them."""
    rng = random.Random(0)
    for moment in moments:
        child = start(signal.SIGKILL, max(moment, 0))
        for _ in range(-moment):
            assert child.stdout.readline() == "sync\n"
        if moment < 0:
            sleep(rng.uniform(0, 0.3))
            child.kill()
        child.communicate()
        assert child.returncode == -signal.SIGKILL or moment < 0  # it may have been faster
        assert_whole_lines(folder, finished)
    assert invoke("--repeats", 1, "--out", folder.parent).exit_code == 0
    assert contents(folder) == finished


@POSIX
def test_killed_it_ends_with_the_same_files(finished, tmp_path, start):
    kill_again_and_again((5,), finished, tmp_path / "crime", start)


@POSIX
@pytest.mark.slow
def test_killed_at_many_moments_it_ends_with_the_same_files(finished, tmp_path, start):
    moments = (1, 2, -1, 3, -2, 2, 7, -1, 1, 9, 12, 20)
    kill_again_and_again(moments, finished, tmp_path / "crime", start)
