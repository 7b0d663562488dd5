"""What is finished is never computed again, and whatever happens the files end the same."""

import json
import lzma
import platform
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
import scipy
import sklearn
from reproduction.journal import Journal
from reproduction.paper import ALL, FIGURE, TABLES, TARGETS
from reproduction.reproduce import reproduce
from reproduction.tables import STAND_IN

import gferm
from gferm.arrays.device import CPU, TorchDevice
from reproduction import ExperimentError, protocol
from reproduction import reproduce as module
from tests.reproduction.shrunk import shrink

ALWAYS = {"settings.json", "run.json", ".lock"}
SHEETS = (
    *TABLES,
    *(f"{kind}-{study}" for kind in ("verdicts", "claims") for study in ("binary", "continuous")),
)
OVERVIEW = "overview"  # of the data that are compared with the paper
PICTURES = ("figure-histogram", "figure-frontier-binary", "figure-frontier-continuous")
VOID = {"meta", "img"}


def page_of(target):
    return "index.html" if target == ALL else f"{target}.html"


def files_of(target):
    """Name the files that a target leaves in a fresh folder."""
    if target == ALL:
        names, pictures, studies = (OVERVIEW, *SHEETS), PICTURES, ("binary", "continuous")
    elif target == FIGURE:
        names, pictures, studies = (), PICTURES[:1], ("binary",)
    else:
        names, pictures, studies = (target,), (), (TABLES[target].study,)
    return {
        *ALWAYS,
        page_of(target),
        *(f"{study}.jsonl" for study in studies),
        *(f"{name}.{form}" for name in names for form in ("md", "tex")),
        *(f"{picture}.png" for picture in pictures),
    }


@pytest.fixture(scope="module", autouse=True)
def small():
    with pytest.MonkeyPatch.context() as patch:
        shrink(patch)
        yield


def run(out, target=ALL, **options):
    return reproduce(target, **{"repeats": 1, "out": out, "show_progress": False, **options})


def contents(folder, *, but=()):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name not in but}


@pytest.fixture(scope="module")
def finished(tmp_path_factory, small):
    """Two repeats of everything, at once."""
    found = run(tmp_path_factory.mktemp("finished"), repeats=2)
    return found, contents(found.folder)


@pytest.fixture(scope="module")
def once(tmp_path_factory, small):
    """One repeat of everything."""
    return contents(run(tmp_path_factory.mktemp("once")).folder)


@pytest.fixture(scope="module")
def pupils(tmp_path_factory, small):
    found = run(tmp_path_factory.mktemp("pupils"), data="pupils")
    return found, contents(found.folder)


@pytest.fixture
def quick(monkeypatch):
    """Runs without pictures, which take longest."""
    monkeypatch.setattr(module, "draw_histogram", lambda records: b"a histogram")
    monkeypatch.setattr(module, "draw_frontier", lambda records: b"a frontier")


@pytest.fixture
def idle(monkeypatch):
    """Runs that must not compute anything."""
    monkeypatch.setattr(protocol, "_compute", None)


def lay(folder, files, names):
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(files[name])


# -- going on -------------------------------------------------------------------------------------


def test_the_second_call_computes_nothing_and_changes_no_byte(finished, tmp_path, idle):
    lay(tmp_path / "crime", finished[1], finished[1])
    again = run(tmp_path, repeats=2)
    assert again.computed == 0
    assert contents(again.folder) == finished[1]
    assert again.sheets == finished[0].sheets


def test_more_repeats_extend_what_is_there(finished, once, tmp_path):
    names = [name for name in once if name.endswith(".jsonl")]
    for name in names:
        assert finished[1][name].startswith(once[name])
    lay(tmp_path / "crime", once, once)
    more = run(tmp_path, repeats=2)
    assert more.computed == 10
    found, expected = contents(more.folder), dict(finished[1])
    runs = [json.loads(files.pop("run.json")) for files in (found, expected)]
    assert found == expected
    assert [one["outer_folds"] for one in runs[0]] == [10, 10]
    assert [one["outer_folds"] for one in runs[1]] == [20]


def test_fewer_repeats_are_refused_and_nothing_is_written(finished, tmp_path, idle):
    lay(tmp_path / "crime", finished[1], finished[1])
    with pytest.raises(ExperimentError, match=r"holds 2 repeats, more than --repeats 1\."):
        run(tmp_path, repeats=1)
    assert contents(tmp_path / "crime") == finished[1]


def test_a_table_alone_and_then_all_the_rest(once, tmp_path, monkeypatch):
    alone = run(tmp_path, "table-continuous")
    assert alone.computed == 10
    found = contents(alone.folder)
    assert set(found) == files_of("table-continuous")
    assert found["continuous.jsonl"] == once["continuous.jsonl"]
    assert found["table-continuous.md"] == once["table-continuous.md"]
    stretch, studies = protocol._compute, []
    monkeypatch.setattr(
        protocol,
        "_compute",
        lambda work, *rest: (studies.append(work.studies), stretch(work, *rest)),
    )
    assert run(tmp_path).computed == 10
    assert studies == [("binary",)]
    expected = {**once, "table-continuous.html": found["table-continuous.html"]}
    del expected["run.json"]
    assert contents(alone.folder, but=["run.json"]) == expected
    assert run(tmp_path, "table-results").computed == 0


@pytest.mark.parametrize("kept", [(0.0, 0.95), (0.51, 0.5), (1.0, 0.031), (0.999, 0.999)])
def test_journals_cut_at_any_byte_end_with_the_same_bytes(kept, once, tmp_path, quick):
    lay(tmp_path / "crime", once, ["settings.json"])
    for name, share in zip(("binary.jsonl", "continuous.jsonl"), kept, strict=True):
        whole = once[name]
        (tmp_path / "crime" / name).write_bytes(whole[: round(share * len(whole))])
    (tmp_path / "crime" / "table-bins.md.part").write_bytes(b"cut short, too")
    found = contents(run(tmp_path).folder)
    assert set(found) == set(once)
    for name in once:
        if name != "run.json" and not name.endswith((".png", ".html")):
            assert found[name] == once[name]


@pytest.mark.parametrize("also_plain", [False, True])
def test_packed_journals_are_unpacked_and_used(also_plain, once, tmp_path, quick, idle):
    folder = tmp_path / "crime"
    lay(folder, once, ["settings.json", *(["binary.jsonl"] if also_plain else [])])
    for name in ("binary.jsonl", "continuous.jsonl"):
        # where both are there the plain one counts: it may have grown
        packed = b"old" if also_plain and name == "binary.jsonl" else lzma.compress(once[name])
        (folder / f"{name}.xz").write_bytes(packed)
    assert run(tmp_path).computed == 0
    for name in ("binary.jsonl", "continuous.jsonl", "table-results.md", "claims-continuous.tex"):
        assert (folder / name).read_bytes() == once[name]


@pytest.mark.parametrize("damage", [lambda xz: xz[:-20], lambda xz: b"x" + xz, lambda xz: b""])
def test_a_damaged_packed_journal_is_told(damage, once, tmp_path, idle):
    lay(tmp_path / "crime", once, ["settings.json"])
    packed = damage(lzma.compress(once["continuous.jsonl"]))
    (tmp_path / "crime" / "continuous.jsonl.xz").write_bytes(packed)
    message = r"continuous\.jsonl\.xz cannot be read: .* Delete the file to compute it anew"
    with pytest.raises(ExperimentError, match=message):
        run(tmp_path, "table-continuous")
    assert not (tmp_path / "crime" / "continuous.jsonl").exists()


@pytest.mark.parametrize("content", ["{", "{}", "3"])
def test_a_list_of_runs_that_is_none_is_told_before_any_work(content, once, tmp_path, idle):
    lay(tmp_path / "crime", once, ["settings.json"])
    (tmp_path / "crime" / "run.json").write_text(content)
    with pytest.raises(ExperimentError, match=r"run\.json cannot be read: .* Delete it to go on"):
        run(tmp_path, "table-continuous")
    assert (tmp_path / "crime" / "run.json").read_text() == content


def test_a_run_that_was_interrupted_is_noted(once, tmp_path, quick, monkeypatch):
    append, left = Journal.append, [13]

    def interrupt(self, record):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        append(self, record)

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "append", interrupt)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path)
    folder = tmp_path / "crime"
    assert set(contents(folder)) == {*ALWAYS, "binary.jsonl", "continuous.jsonl"}
    assert run(tmp_path).computed == 4  # the seventh of one study only
    assert [one["outer_folds"] for one in json.loads((folder / "run.json").read_bytes())] == [7, 4]
    assert (folder / "continuous.jsonl").read_bytes() == once["continuous.jsonl"]


class Cuda(TorchDevice):
    description = "A GPU"


@pytest.mark.parametrize(
    ("error", "device", "told"),
    [
        (
            MemoryError("Unable to allocate"),
            CPU,
            "CPU has .* Use a machine with more",
        ),
        (RuntimeError("CUDA out of memory"), Cuda("cuda", None), "A GPU has .* Use --device cpu"),
    ],
)
def test_too_little_memory_is_told(error, device, told, tmp_path, monkeypatch):
    def fail(*args):
        raise error

    monkeypatch.setattr(protocol, "_compute", fail)
    monkeypatch.setattr(module, "open_device", lambda name: device)
    with pytest.raises(ExperimentError, match=told) as caught:
        run(tmp_path, device=device.name)
    assert str(error) in str(caught.value)


def test_other_errors_come_through(tmp_path, monkeypatch):
    def fail(*args):
        raise RuntimeError("a bug")

    monkeypatch.setattr(protocol, "_compute", fail)
    with pytest.raises(RuntimeError, match="a bug"):
        run(tmp_path)
    assert not (tmp_path / "crime" / "run.json").exists()


# -- what is refused before any work --------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"target": "table"}, ["target='table'", *TARGETS]),
        ({"data": "unige"}, ["data='unige'", "crime, pupils"]),
        ({"repeats": 0}, ["repeats=0", "at least 1"]),
        ({"jobs": 0}, ["jobs=0", "at least 1"]),
        ({"jobs": -1}, ["jobs=-1", "at least 1"]),
        ({"device": "tpu"}, ["'tpu'", "cpu", "cuda"]),
    ],
)
def test_arguments_without_meaning_are_refused(options, words, tmp_path, idle):
    with pytest.raises(ExperimentError) as caught:
        run(tmp_path / "out", **options)
    assert all(word in str(caught.value) for word in words)
    assert not (tmp_path / "out").exists()


def test_missing_matplotlib_is_told_before_any_work(tmp_path, monkeypatch, idle):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'gferm\[plot\]'"):
        run(tmp_path / "out")
    assert not (tmp_path / "out").exists()


# -- what is written ------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [t for t in TARGETS if t != ALL])
def test_a_target_writes_its_own_files_and_no_others(target, once, tmp_path, idle):
    study = TABLES[target].study if target in TABLES else "binary"
    lay(tmp_path / "crime", once, [f"{study}.jsonl", "run.json"])
    found = run(tmp_path, target)
    files = contents(found.folder)
    assert set(files) == files_of(target)
    page = Page(files.pop(page_of(target)))
    assert page.ids == [target]
    assert len(page.links) == (target == FIGURE)
    for name, content in files.items():
        assert content == once[name]
    assert [sheet.name for sheet in found.sheets] == [target] * (target in TABLES)


def test_everything_at_once(finished):
    found, files = finished
    assert found.computed == 20
    assert found.folder.name == "crime"
    assert set(files) == files_of(ALL)
    assert [sheet.name for sheet in found.sheets] == [*SHEETS, OVERVIEW]
    for picture in PICTURES:
        assert files[f"{picture}.png"].startswith(b"\x89PNG")


def test_the_run_is_noted(finished):
    found, files = finished
    (noted,) = json.loads(files["run.json"])
    versions = {
        "gferm": gferm.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }
    assert noted.pop("date").count("-") == 2
    assert noted == {
        "device": "CPU",
        "machine": platform.machine(),
        "python": platform.python_version(),
        "versions": versions,
        "outer_folds": 20,
        "seconds": round(found.seconds, 1),
    }
    assert found.seconds > 0


class Page(HTMLParser):
    """Keeps what a page holds, and makes sure that tags are closed."""

    def __init__(self, content):
        super().__init__()
        self.open, self.tags, self.links, self.ids = [], [], [], []
        self.feed(content.decode())
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href", "srcset")]
        self.ids += [value for name, value in attrs if name == "id"]
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_whole_and_needs_nothing_else(finished, pupils):
    for (_, files), first in ((finished, [OVERVIEW]), (pupils, [])):
        page = Page(files["index.html"])
        assert page.open == []
        assert not {"script", "link", "iframe", "object", "embed"} & set(page.tags)
        claims = [name for name in SHEETS if name not in TABLES]
        assert page.ids == [*first, *TABLES, *PICTURES, *claims]
        within = [link for link in page.links if link.startswith("#")]
        assert within == [f"#{name}" for name in page.ids]
        elsewhere = [link for link in page.links if link not in within]
        assert len(elsewhere) == len(PICTURES)
        assert all(link.startswith("data:image/png;base64,") for link in elsewhere)
        for word in (b"http:", b"https:", b"url(", b"@import", b"file:"):
            assert word not in files["index.html"]


def test_the_pages_name_their_data(finished, pupils):
    for (_, files), title in ((finished, "Communities and Crime"), (pupils, "School pupils")):
        assert f"reproduced: {title}</title>" in files["index.html"].decode()


@pytest.mark.parametrize("name", SHEETS)
def test_only_the_papers_data_are_compared_with_the_paper(name, finished, pupils):
    for (found, files), compared in ((finished, True), (pupils, False)):
        (sheet,) = [sheet for sheet in found.sheets if sheet.name == name]
        assert ("paper" in [column.name for column in sheet.columns]) == compared
        assert (STAND_IN in sheet.notes) != compared
        markdown = files[f"{name}.md"].decode()
        header = next(line for line in markdown.splitlines() if line.startswith("|"))
        assert ("paper" in header) == compared
        for form in ("md", "tex"):
            assert ("School pupils stands in" in files[f"{name}.{form}"].decode()) != compared
    start = pupils[1]["index.html"].decode().split(f'<section id="{name}">')[1]
    assert "School pupils stands in" in start.split("</section>")[0]


def test_the_records_of_other_data_are_other_records(once, pupils):
    assert {json.loads(line)["data"] for line in pupils[1]["binary.jsonl"].splitlines()} == {
        "pupils"
    }
    assert pupils[1]["binary.jsonl"] != once["binary.jsonl"]
