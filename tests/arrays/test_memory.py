"""The matrix goes where there is room; where there is none, that is said in words, in time.

Sizes are told by a device that does not exist.
"""

import re
from functools import partial

import pytest

from gferm.arrays.device import CPU, UNKNOWN, TorchDevice
from gferm.arrays.memory import explain_out_of_memory
from gferm.arrays.memory import with_room_for as with_room_beside
from gferm.solver.cholesky import PANELS, BlockedCholesky, Cholesky, panel_size
from gferm.solver.refined import Refined
from gferm.solver.spectrum import Spectrum
from tests.gpu import room

with_room_for = partial(with_room_beside, workspace=panel_size)


class Library:
    """What a device needs of torch to be asked for its memory."""

    class cuda:
        class OutOfMemoryError(RuntimeError):
            pass

        get_device_name = staticmethod(lambda name: "NVIDIA Small")


GPU = TorchDevice("cuda:0", Library)
FULL = Library.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 74.51 GiB.")
N = 10_000
MATRIX, BLOCKS = 8 * N * N, 8 * N * PANELS * 2048  # bytes


class Work:
    """Says where it was done, unless there is no room."""

    def __init__(self, **errors):
        self.errors, self.homes = errors, []

    def __call__(self, home):
        self.homes.append(home.kind)
        if home.kind in self.errors:
            raise self.errors[home.kind]
        return home.kind


def test_what_fits_is_done_on_the_device(monkeypatch):
    room(monkeypatch, on_gpu=MATRIX + BLOCKS, in_memory=0)
    work = Work()
    assert with_room_for(N, GPU, work) == "cuda"
    assert work.homes == ["cuda"]


@pytest.mark.parametrize("free", [MATRIX + BLOCKS - 1, BLOCKS])
def test_what_does_not_is_done_out_of_core_without_trying(free, monkeypatch):
    room(monkeypatch, on_gpu=free, in_memory=MATRIX)
    work = Work()
    assert with_room_for(N, GPU, work) == "cpu"
    assert work.homes == ["cpu"]


def test_a_device_that_said_it_had_room_is_forgiven(monkeypatch):
    room(monkeypatch, on_gpu=10 * MATRIX, in_memory=MATRIX)
    work = Work(cuda=FULL)
    assert with_room_for(N, GPU, work) == "cpu"
    assert work.homes == ["cuda", "cpu"]


FACTORIZATIONS = [Cholesky, BlockedCholesky, Refined, Spectrum]


@pytest.mark.parametrize("matrices", [kind.matrices for kind in FACTORIZATIONS])
def test_work_says_how_many_matrices_it_takes(matrices, monkeypatch):
    needed = int(matrices * MATRIX)
    room(monkeypatch, on_gpu=needed + BLOCKS, in_memory=0)
    assert with_room_for(N, GPU, Work(), matrices=matrices) == "cuda"
    room(monkeypatch, on_gpu=needed + BLOCKS - 1, in_memory=needed)
    assert with_room_for(N, GPU, Work(), matrices=matrices) == "cpu"
    room(monkeypatch, on_gpu=needed + BLOCKS - 1, in_memory=needed - 1)
    with pytest.raises(MemoryError):
        with_room_for(N, GPU, Work(), matrices=matrices)


@pytest.mark.parametrize(
    ("on_gpu", "in_memory", "errors", "homes"),
    [
        (BLOCKS, MATRIX - 1, {}, []),  # said in time: nothing was tried
        (BLOCKS - 1, 9 * MATRIX, {}, []),  # not even the blocks
        (9 * MATRIX, MATRIX - 1, {"cuda": FULL}, ["cuda"]),
        (9 * MATRIX, MATRIX, {"cuda": FULL, "cpu": FULL}, ["cuda", "cpu"]),
        (9 * MATRIX, MATRIX, {"cuda": FULL, "cpu": MemoryError()}, ["cuda", "cpu"]),
    ],
)
def test_what_fits_nowhere_is_said_in_words(on_gpu, in_memory, errors, homes, monkeypatch):
    room(monkeypatch, on_gpu=on_gpu, in_memory=in_memory)
    work = Work(**errors)
    with pytest.raises(MemoryError) as error:
        with_room_for(N, GPU, work)
    assert work.homes == homes
    assert error.value.__suppress_context__ or error.value.__context__ is None  # nothing of torch
    message = str(error.value)
    assert "A kernel on all 10000 rows takes 0.8 GB" in message
    assert f"this machine has {in_memory / 1e9:.3g} GB free" in message
    assert f"NVIDIA Small has {on_gpu / 1e9:.3g} GB free" in message
    assert "Set n_landmarks" in message


@pytest.mark.parametrize("matrices", [1.0, 4.0])
@pytest.mark.parametrize("device", [CPU, GPU], ids=lambda device: device.kind)
def test_as_many_rows_as_it_names_would_fit(device, matrices, monkeypatch):
    room(monkeypatch, on_gpu=10**9, in_memory=5 * 10**9)
    n = 60_000
    with pytest.raises(MemoryError) as error:
        with_room_for(n, device, Work(cpu=MemoryError()), matrices=matrices)
    rows = int(re.search(r"fit on (\d+) rows at most", str(error.value)).group(1))
    assert matrices * 8 * rows**2 < 5e9
    assert ("to be decomposed" in str(error.value)) == (matrices > 1)
    assert with_room_for(rows, device, Work(), matrices=matrices) == "cpu"
    with pytest.raises(MemoryError):  # and not many more
        with_room_for(5 * rows // 4, GPU, Work(), matrices=matrices)


def test_fewer_rows_are_fewer_than_there_are(monkeypatch):
    """Where a system does not say what it has free, or had more than it could give."""
    room(monkeypatch, on_gpu=UNKNOWN, in_memory=UNKNOWN)
    with pytest.raises(MemoryError, match=r"does not say what is free.*fit on 90 rows at most"):
        with_room_for(100, CPU, Work(cpu=MemoryError()))


def test_mistakes_pass_as_they_are(monkeypatch):
    room(monkeypatch, on_gpu=9 * MATRIX, in_memory=9 * MATRIX)
    for device in (CPU, GPU):
        with pytest.raises(ValueError, match="not positive"):
            with_room_for(N, device, Work(**{device.kind: ValueError("not positive")}))


def test_what_is_left_over_is_said_in_words_too(monkeypatch):
    room(monkeypatch, on_gpu=2 * 10**9, in_memory=0)
    told = pytest.raises(MemoryError, match=r"NVIDIA Small has 2 GB free.*device='cpu'")
    with told as error, explain_out_of_memory(GPU):
        raise FULL
    assert error.value.__suppress_context__
    with pytest.raises(MemoryError, match="as NumPy said it"), explain_out_of_memory(CPU):
        raise MemoryError("as NumPy said it")
    with pytest.raises(MemoryError, match="in words already"), explain_out_of_memory(GPU):
        raise MemoryError("in words already")
