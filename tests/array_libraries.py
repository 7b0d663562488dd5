"""Arrays of other libraries for tests: the strictest one, and torch's tensors of several kinds."""

import numpy as np
import pytest

from tests.gpu import ABSENT


def strict(array):
    """As the array API standard says, and nothing more."""
    library = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    return library.asarray(array)


def strict_elsewhere(array):
    """On a device that NumPy does not know."""
    library = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    return library.asarray(array, device=library.Device("device1"))


def tensor(array):
    return pytest.importorskip("torch", reason=ABSENT).tensor(array)


def tensor_with_gradient(array):
    made = tensor(array)
    return made.requires_grad_() if made.is_floating_point() else made


def tensor_on_gpu(array):
    """Where there is one."""
    made = tensor(array)
    if not pytest.importorskip("torch", reason=ABSENT).cuda.is_available():
        pytest.skip("there is no GPU")
    return made.cuda()


LIBRARIES = {
    "strict": strict,
    "strict elsewhere": strict_elsewhere,
    "torch": tensor,
    "torch with gradient": tensor_with_gradient,
    "torch on a GPU": tensor_on_gpu,
}


def numpy_of(array):
    """The numbers of any of them, by a way that gferm does not take."""
    strict_inside = getattr(array, "_array", None)
    return np.array(array.tolist() if strict_inside is None else strict_inside)
