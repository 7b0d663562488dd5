"""Blocks are copied as they are, by one buffer or by many, from any part of an array."""

import numpy as np
import pytest

from gferm.arrays import host_transfer
from gferm.arrays.host_transfer import HostTransfer
from tests.gpu import torch_device

SHAPES = [(0, 3), (1, 1), (5, 3), (12, 7), (3, 20)]


@pytest.mark.parametrize("size", [20, 30, 2**20])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", SHAPES)
def test_blocks_go_to_torch_and_back(shape, dtype, size, monkeypatch):
    monkeypatch.setattr(host_transfer, "BUFFER_SIZE", size)
    monkeypatch.setattr(host_transfer, "COPY_SIZE", 8)
    device = torch_device()
    transfer = HostTransfer(device, dtype)
    whole = np.random.default_rng(0).normal(size=(30, 40)).astype(dtype)
    before = whole.copy()
    block = whole[4 : 4 + shape[0], 9 : 9 + shape[1]]  # rows that do not follow each other
    there = transfer.to_device(block)
    np.testing.assert_array_equal(device.get(there), block)
    transfer.to_host(2.0 * there, block)
    np.testing.assert_array_equal(block, 2.0 * before[4 : 4 + shape[0], 9 : 9 + shape[1]])
    block /= 2.0
    np.testing.assert_array_equal(whole, before)  # and nothing else has changed


def test_what_torch_is_given_is_a_copy():
    block = np.ones((3, 3))
    there = HostTransfer(torch_device(), float).to_device(block)
    there += 1.0
    np.testing.assert_array_equal(block, np.ones((3, 3)))
