"""A pass over rows takes fewer of them at once where memory runs out, and says so at the end."""

import weakref
from itertools import pairwise

import numpy as np
import pytest

from gferm.arrays.device import CPU, TorchDevice, row_blocks
from gferm.arrays.memory import halve_until_it_fits


class Library:
    """What a device needs of torch, of which there is too little memory."""

    class cuda:
        class OutOfMemoryError(RuntimeError):
            pass

        empty_cache = staticmethod(lambda: None)
        mem_get_info = staticmethod(lambda name: (3_000_000_000, 16_000_000_000))
        get_device_name = staticmethod(lambda name: "NVIDIA Small")


GPU = TorchDevice("cuda:0", Library)


@pytest.fixture(params=[CPU, GPU], ids=lambda device: device.kind)
def device(request):
    return request.param


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "doubles"), [(10, 3, 7), (10, 3, 1), (1, 9, 100), (0, 4, 8), (5, 0, 2)]
)
def test_blocks_are_all_rows_once_in_order(n_rows, n_columns, doubles):
    blocks = row_blocks(n_rows, n_columns, doubles)
    rows = [row for block in blocks for row in range(n_rows)[block]]
    assert rows == list(range(n_rows))
    sizes = [block.stop - block.start for block in blocks]
    assert all(size * n_columns <= doubles or size == 1 for size in sizes)


@pytest.mark.parametrize("fits", [10**6, 1000, 999, 30, 10])
def test_half_as_much_until_it_fits(fits, device):
    asked = []

    def work(doubles):
        asked.append(doubles)
        if doubles > fits:
            raise device.out_of_memory
        return "done"

    assert halve_until_it_fits(work, 2**20, (100, 10), device) == "done"
    assert asked[0] == 1000  # no more than there is
    assert asked[-1] <= fits
    assert all(less == more // 2 for more, less in pairwise(asked))
    assert all(doubles > fits for doubles in asked[:-1])


def test_what_there_is_no_room_for_is_said_in_words(device):
    tried = []

    def work(doubles):
        blocks = row_blocks(100, 10, doubles)
        tried.append(blocks[0].stop)
        raise device.out_of_memory("CUDA out of memory. Tried to allocate 20.00 GiB.")

    with pytest.raises(MemoryError, match=r"100 rows of 10 numbers.*one row at a time") as error:
        halve_until_it_fits(work, 500, (100, 10), device)
    assert tried[0] == 50
    assert tried[-1] == 1
    assert error.value.__cause__ is error.value.__context__ is None
    assert "fewer landmarks" in str(error.value)
    if device is GPU:
        assert "NVIDIA Small has 3 GB free" in str(error.value)
        assert "device='cpu'" in str(error.value)
    else:
        assert "this machine has" in str(error.value)
        assert "device=" not in str(error.value)


def test_other_mistakes_pass(device):
    def work(doubles):
        raise ValueError("no memory problem")

    with pytest.raises(ValueError, match="no memory problem"):
        halve_until_it_fits(work, 500, (100, 10), device)


def test_memory_of_a_failed_attempt_is_free_for_the_next(device):
    kept = []

    def work(doubles):
        assert all(one() is None for one in kept)
        large = np.empty(doubles)
        kept.append(weakref.ref(large))
        if doubles > 100:
            raise device.out_of_memory
        return doubles

    assert halve_until_it_fits(work, 1000, (100, 10), device) == 62
