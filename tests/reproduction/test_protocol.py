"""Every outer fold is computed once, in order, and is the same whatever was there before."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reproduction.journal import Journal
from reproduction.learn import Learner
from reproduction.paper import BINARY, COMPARED, CONTINUOUS, FOLDS, methods_of
from reproduction.plan import Plan
from reproduction.protocol import missing_folds, open_journals, run_protocol, settings_of
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_info

from gferm.arrays.device import open_device
from gferm.metrics.chance import chance_of_dgf
from reproduction import ExperimentError, paper, protocol
from tests.reproduction.shrunk import CHANGES, shrink, shrunk

STUDIES = (BINARY, CONTINUOUS)
MARK = "0123456789ab"


@pytest.fixture(scope="module", autouse=True)
def small():
    with pytest.MonkeyPatch.context() as patch:
        shrink(patch)
        yield


def run(folder, *, studies=STUDIES, repeats=1, **options):
    """Run the protocol; give the number of folds computed and the journals."""
    journals = open_journals(folder, studies, MARK)
    options = {"device": open_device("cpu"), "show_progress": False, **options}
    return run_protocol(shrunk("crime"), journals, repeats=repeats, **options), journals


@pytest.fixture(scope="module")
def finished(tmp_path_factory, small):
    """The files of two repeats, written at once."""
    folder = tmp_path_factory.mktemp("finished")
    assert run(folder, repeats=2)[0] == 2 * FOLDS
    return {study: (folder / f"{study}.jsonl").read_bytes() for study in STUDIES}


@pytest.fixture(scope="module")
def records(finished):
    return {study: [json.loads(line) for line in finished[study].splitlines()] for study in STUDIES}


def keep(folder, finished, counts):
    """Put the first lines of finished files into a folder."""
    for study, count in counts.items():
        lines = finished[study].splitlines(keepends=True)
        (folder / f"{study}.jsonl").write_bytes(b"".join(lines[:count]))


# -- missing folds --------------------------------------------------------------------------------


@given(
    done=st.dictionaries(st.sampled_from("abcd"), st.integers(0, 40), min_size=1),
    needed=st.integers(0, 40),
)
def test_missing_folds_cover_what_is_missing_once_and_in_order(done, needed):
    parts = list(missing_folds(done, needed))
    for study, count in done.items():
        covered = [i for p in parts if study in p.studies for i in range(p.first, p.last)]
        assert covered == list(range(count, needed))
    for part in parts:
        assert part.studies
        assert part.first < part.last
        assert list(part.studies) == [study for study in done if study in part.studies]
    for before, after in pairwise(parts):
        assert before.last == after.first  # so whoever is behind comes first
        assert set(before.studies) < set(after.studies)  # and shares with the others from then on


def test_finished_studies_need_nothing():
    assert list(missing_folds({"a": 20, "b": 20}, 20)) == []


# -- settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "name", "key", "value"),
    [
        (paper, "LAMBDAS", "lambdas", (1.0,)),
        (paper, "GAMMAS", "gammas", (1.0,)),
        (paper, "EPSILONS", "epsilons", (0.0, 0.1)),
        (paper, "LABEL_BINS", "label_bins", (10, 15)),
        (paper, "FOLDS", "folds", 7),
        (paper, "TOLERANCE", "tolerance", 0.2),
        (paper, "COMPARED", "dgf", "pairs"),
        (paper, "SHARES", "shares", (1.0, 0.0)),
        (paper, "N_PERMUTATIONS", "permutations", 7),
        (paper, "N_ALONG", "permutations_along_frontiers", 7),
        (protocol, "FORMAT", "format", 0),
    ],
)
def test_whatever_records_depend_on_is_a_setting(module, name, key, value, monkeypatch):
    before = settings_of(shrunk("crime"))
    monkeypatch.setattr(module, name, value)
    after = settings_of(shrunk("crime"))
    assert before[key] != after[key] == value
    others = {k for k in after if k != key and before[k] != after[k]}
    assert others <= {"methods"}  # which have epsilons and bins in their names


def test_the_data_are_a_setting_and_the_number_of_repeats_is_none():
    crime, pupils = (settings_of(shrunk(name)) for name in ("crime", "pupils"))
    assert {**crime, "data": "pupils"} == pupils  # as many rows of both
    assert crime["rows"] == len(shrunk("crime").y)
    assert "repeats" not in crime
    for name in ("LAMBDAS", "GAMMAS"):
        assert crime[name.lower()] == CHANGES[name][1]


# -- records --------------------------------------------------------------------------------------


@pytest.mark.parametrize("study", STUDIES)
def test_there_is_one_line_for_each_outer_fold_in_order(study, finished, records):
    assert finished[study].endswith(b"\n")
    found = [(r["data"], r["study"], r["repeat"], r["fold"]) for r in records[study]]
    assert found == [("crime", study, i, j) for i in range(2) for j in range(FOLDS)]
    names = [method.key for method in methods_of(study)]
    assert all(list(record["models"]) == names for record in records[study])


@pytest.mark.parametrize("study", STUDIES)
def test_the_seeds_of_a_record_give_its_rows_and_its_chance(study, records):
    problem = shrunk("crime")
    members = problem.members(study, 10)
    partition = members.cells.partitions[0]
    seen = set()
    for record in records[study]:
        seeds = record["seeds"]
        split = KFold(FOLDS, shuffle=True, random_state=seeds["outer"]).split(problem.y)
        train, test = list(split)[record["fold"]]
        assert (record["n_train"], record["n_test"]) == (len(train), len(test))
        counts = np.bincount(members.cell_codes[0][test], minlength=partition.counts.size)
        assert np.ravel(record["counts"]["10"]).tolist() == counts.tolist()
        model = record["models"]["NVM Fair KRLS, with s"]
        chance = chance_of_dgf(
            np.array(model["hits"]),
            counts.reshape(partition.counts.shape),
            n_permutations=CHANGES["N_PERMUTATIONS"][1],
            average=COMPARED,
            rng=np.random.default_rng(seeds["chance"]),
        )
        assert model["chance"][COMPARED]["mean"] == pytest.approx(chance.mean, rel=1e-6)
        assert model["chance"][COMPARED]["p"] == pytest.approx(chance.p, rel=1e-6)
        seen.add((seeds["outer"], seeds["inner"]))
    assert len(seen) == len({inner for _, inner in seen}) == 2 * FOLDS


# -- going on -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("binary", "continuous", "computed"),
    [(20, 20, 0), (10, 10, 10), (4, 3, 17), (20, 0, 20), (7, 16, 13), (19, 20, 1)],
)
def test_from_any_state_the_files_end_with_the_same_bytes(
    binary, continuous, computed, finished, tmp_path
):
    keep(tmp_path, finished, {BINARY: binary, CONTINUOUS: continuous})
    assert run(tmp_path, repeats=2)[0] == computed
    for study in STUDIES:
        assert (tmp_path / f"{study}.jsonl").read_bytes() == finished[study]


@pytest.mark.parametrize("study", STUDIES)
def test_one_study_alone_has_the_same_records_and_leaves_the_other_alone(study, finished, tmp_path):
    assert run(tmp_path, studies=(study,))[0] == FOLDS
    assert [path.name for path in tmp_path.iterdir()] == [f"{study}.jsonl"]
    assert finished[study].startswith((tmp_path / f"{study}.jsonl").read_bytes())
    before = (tmp_path / f"{study}.jsonl").stat().st_mtime_ns
    assert run(tmp_path)[0] == FOLDS  # those of the other
    assert (tmp_path / f"{study}.jsonl").stat().st_mtime_ns == before


def test_no_fold_is_computed_that_is_there(finished, tmp_path, monkeypatch):
    keep(tmp_path, finished, {BINARY: 4, CONTINUOUS: 13})
    prepare, taken = Learner.prepare, []

    def spy(self, folds):
        taken.append((self.plan.studies, [(f.repeat, f.number) for f in folds.folds]))
        prepare(self, folds)

    monkeypatch.setattr(Learner, "prepare", spy)
    run(tmp_path, repeats=2)
    assert taken == [
        ((BINARY,), [(0, j) for j in range(4, 10)]),
        ((BINARY,), [(1, j) for j in range(3)]),
        (STUDIES, [(1, j) for j in range(3, 10)]),
    ]


def test_a_kernel_is_evaluated_once_for_all_repeats_and_studies(finished, tmp_path, monkeypatch):
    keep(tmp_path, finished, {BINARY: 9, CONTINUOUS: 9})
    evaluate, evaluated = Plan.kernel_matrix, []

    def spy(self, kernel):
        evaluated.append((kernel.family, kernel.gamma))
        return evaluate(self, kernel)

    monkeypatch.setattr(Plan, "kernel_matrix", spy)
    run(tmp_path, repeats=2)
    assert len(evaluated) == len(set(evaluated))
    apart = [k for study in STUDIES for k in Plan.of(shrunk("crime"), (study,)).kernels]
    assert len(evaluated) < len(apart)


def test_a_fold_is_on_disk_before_the_next_is_judged(finished, tmp_path, monkeypatch):
    keep(tmp_path, finished, {BINARY: 6, CONTINUOUS: 6})
    before, records = [], protocol.FoldRecords
    paths = [tmp_path / f"{study}.jsonl" for study in STUDIES]

    def spy(*args):
        before.append([path.read_bytes().count(b"\n") for path in paths])
        return records(*args)

    monkeypatch.setattr(protocol, "FoldRecords", spy)
    run(tmp_path)
    assert before == [[j, j] for j in range(6, FOLDS)]


@pytest.mark.parametrize(("held", "there"), [(20, 2), (11, 2)])
def test_more_repeats_than_asked_for_are_refused_with_both_numbers(
    held, there, finished, tmp_path, monkeypatch
):
    keep(tmp_path, finished, {BINARY: held, CONTINUOUS: 3})
    monkeypatch.setattr(protocol, "_compute", None)
    message = (
        rf"binary\.jsonl holds {there} repeats, more than --repeats 1\. Ask for --repeats {there}"
    )
    with pytest.raises(ExperimentError, match=message):
        run(tmp_path)
    assert len(Journal(tmp_path / "binary.jsonl", MARK).records) == held


# -- files that are not ours ----------------------------------------------------------------------


def _swap(lines):
    lines[2], lines[3] = lines[3], lines[2]


def _drop_first(lines):
    del lines[0]


def _repeat_last(lines):
    lines.append(lines[-1])


def _no_numbers(lines):
    lines[-1] = json.dumps({"settings": MARK}).encode() + b"\n"


@pytest.mark.parametrize("damage", [_swap, _drop_first, _repeat_last, _no_numbers])
def test_records_that_do_not_follow_one_another_are_refused(damage, finished, tmp_path):
    lines = finished[CONTINUOUS].splitlines(keepends=True)
    damage(lines)
    (tmp_path / "continuous.jsonl").write_bytes(b"".join(lines))
    with pytest.raises(
        ExperimentError, match=r"continuous\.jsonl does not hold .* Delete the file to compute"
    ):
        run(tmp_path, repeats=2)
    assert (tmp_path / "continuous.jsonl").read_bytes() == b"".join(lines)
    assert not (tmp_path / "binary.jsonl").exists()


def test_the_file_of_another_study_is_refused(finished, tmp_path):
    (tmp_path / "binary.jsonl").write_bytes(finished[CONTINUOUS])
    with pytest.raises(ExperimentError, match=r"binary\.jsonl does not hold"):
        run(tmp_path, repeats=2)


# -- cores and progress ---------------------------------------------------------------------------


def blas_threads():
    return {
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


def test_jobs_limit_the_threads_while_it_runs(tmp_path, monkeypatch):
    learn, seen, before = Learner.learn, [], blas_threads()

    def spy(self, number):
        seen.append(blas_threads())
        return learn(self, number)

    monkeypatch.setattr(Learner, "learn", spy)
    for jobs in (1, 2):
        (tmp_path / str(jobs)).mkdir()
        run(tmp_path / str(jobs), studies=(CONTINUOUS,), jobs=jobs)
        assert set().union(*seen) == {jobs}
        assert blas_threads() == before
        seen.clear()
    one, two = (Journal(tmp_path / str(jobs) / "continuous.jsonl", MARK).records for jobs in (1, 2))
    assert_close(one, two)


def assert_close(one, other):
    """Compare records: numbers to 1e-6, all else exactly."""
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert list(one) == list(other)
        one, other = list(one.values()), list(other.values())
    if isinstance(one, list):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_close(a, b)
    elif isinstance(one, float):
        assert one == pytest.approx(other, rel=1e-6, abs=1e-6)
    else:
        assert one == other


@pytest.mark.parametrize(("binary", "shown"), [(0, True), (5, True), (10, False)])
def test_progress_ends_at_its_total_and_is_silent_when_there_is_nothing_to_do(
    binary, shown, finished, tmp_path, capsys
):
    keep(tmp_path, finished, {BINARY: binary, CONTINUOUS: 10})
    run(tmp_path, show_progress=True)
    said = capsys.readouterr()
    total = len(Plan.of(shrunk("crime"), (BINARY,)).kernels) * (10 - binary)
    assert said.out == ""
    assert (f"{total}/{total}" in said.err) == shown
    assert ("Communities and Crime: models" in said.err) == shown
    assert bool(said.err) == shown
