"""Arrays of other libraries come in as they are and answers go back to where they came from."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from gferm.arrays import device as device_file
from gferm.arrays import foreign
from gferm.arrays.device import CPU, TorchDevice, device_of
from gferm.arrays.foreign import as_numpy, back_to, device_for, is_foreign
from tests.array_libraries import LIBRARIES, numpy_of, tensor
from tests.gpu import lend_gpu, torch_device

KINDS = ["float64", "float32", "int64", "int32", "bool"]


@pytest.fixture(params=LIBRARIES)
def library(request):
    return LIBRARIES[request.param]


def numbers(kind):
    return np.array([[0.0, 1.5, -2.0], [7.0, 0.25, 1.0]]).astype(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_they_come_in_with_their_numbers_and_their_type(kind, library):
    array = library(numbers(kind))
    assert is_foreign(array)
    found = as_numpy(array)
    assert type(found) is np.ndarray
    assert found.dtype == kind
    np.testing.assert_array_equal(found, numbers(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_answers_go_back_to_library_and_device(kind, library):
    like = library(np.arange(3.0))
    answer = back_to(numbers(kind), like)
    assert type(answer) is type(like)
    assert answer.device == like.device
    assert str(answer.dtype).endswith(kind)
    np.testing.assert_array_equal(numpy_of(answer), numbers(kind))


def test_answers_go_back_whatever_their_memory_is_like(library):
    grid = np.arange(12.0).reshape(3, 4)
    frozen = grid.copy()
    frozen.setflags(write=False)
    for values in (grid.T, grid[::-1, ::2], frozen, np.asfortranarray(grid), grid[:0]):
        found = back_to(values, library(np.arange(3.0)))
        np.testing.assert_array_equal(numpy_of(found).reshape(values.shape), values)


def test_words_stay_with_numpy(library):
    words = np.array(["yes", "no"])
    assert back_to(words, library(np.arange(2.0))) is words
    objects = words.astype(object)
    assert back_to(objects, library(np.arange(2.0))) is objects


@pytest.mark.parametrize(
    "ours",
    [
        np.arange(3.0),
        np.float64(1.0),
        np.ma.array([1.0], mask=[True]),
        [1.0, 2.0],
        None,
        pd.DataFrame({"a": [1.0]}),
        pd.Series([1.0]),
        pl.DataFrame({"a": [1.0]}),
        sparse.csr_array(np.eye(2)),
    ],
    ids=lambda ours: type(ours).__name__,
)
def test_what_scikit_learn_takes_stays_as_it_is(ours):
    assert not is_foreign(ours)
    assert as_numpy(ours) is ours
    values = np.arange(3.0)
    assert back_to(values, ours) is values
    assert device_of(ours) is CPU
    assert device_for(None, ours) is CPU


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_half_precision_of_torch_is_read_exactly(kind):
    values = np.array([0.5, -1.25, 96.0])  # all of which has few digits
    given = tensor(values)
    half = given.to(getattr(__import__("torch"), kind))
    found = as_numpy(half)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, values)


def test_a_class_made_of_torch_tensors_is_one():
    torch = torch_device().xp

    class Picture(torch.Tensor):
        pass

    Picture.__module__ = "mine"
    array = torch.tensor([1.0, 2.0], requires_grad=True).as_subclass(Picture)
    assert is_foreign(array)
    np.testing.assert_array_equal(as_numpy(array), [1.0, 2.0])
    assert is_foreign(torch.nn.Parameter(torch.tensor([1.0])))


def test_torch_tensors_in_memory_are_computed_by_numpy():
    torch = torch_device().xp
    array = torch.zeros(2)
    assert device_of(array) == TorchDevice("cpu", torch)
    assert device_for(None, array) is CPU


def test_a_name_goes_before_where_torch_has_the_rows(monkeypatch):
    gpu = lend_gpu(monkeypatch)
    assert device_for("cuda", np.zeros(2)) == gpu
    assert device_for("cpu", tensor(np.zeros(2))) is CPU


def test_torch_tensors_on_a_gpu_are_computed_there(monkeypatch):
    torch = torch_device().xp
    second = TorchDevice("cuda:1", torch)
    monkeypatch.setattr(foreign, "device_of", lambda array: second)
    assert device_for(None, tensor(np.zeros(2))) == second
    monkeypatch.setattr(foreign, "device_of", lambda array: TorchDevice("mps:0", torch))
    assert device_for(None, tensor(np.zeros(2))) is CPU  # which has no doubles


def test_arrays_of_numpy_are_told_apart_without_torch(monkeypatch):
    monkeypatch.setattr(device_file, "import_module", lambda name: pytest.fail(name))
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    assert device_of(np.zeros(2)) is CPU
    assert as_numpy(np.zeros(2)).shape == (2,)


def test_arrays_of_numpy_are_told_apart_at_once(monkeypatch):
    for module in (foreign, device_file):
        monkeypatch.setattr(module, "is_tensor", lambda array: pytest.fail("one look is enough"))
    x = np.zeros(2)
    assert as_numpy(x) is x
    assert back_to(x, x) is x
    assert not is_foreign(x)
    assert device_of(x) is device_for(None, x) is CPU
