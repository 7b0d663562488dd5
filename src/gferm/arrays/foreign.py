"""Arrays of other libraries: torch's tensors, and whatever follows the array API standard.

They come in by way of NumPy, are computed where they were (`device_for`), and answers go back to
the library and device that the question came from. Whether scikit-learn's ``array_api_dispatch``
is on changes nothing here; its own tools, such as scorers, want it on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gferm.arrays.device import CPU, Device, device_of, is_tensor, open_device


def is_foreign(array: Any) -> bool:
    """Return whether this is an array of another library; data frames and lists are none."""
    if isinstance(array, (np.ndarray, np.generic)):
        return False
    return is_tensor(array) or hasattr(array, "__array_namespace__")


def as_numpy(array: Any) -> Any:
    """Bring an array of another library to NumPy; anything else stays as it is."""
    if is_tensor(array):
        halves = array.is_floating_point() and array.element_size() < 4  # not all are NumPy's, too
        return (array.float() if halves else array).numpy(force=True)
    return np.from_dlpack(array) if is_foreign(array) else array


def back_to(values: npt.NDArray[Any], like: Any) -> Any:
    """Bring an answer to the library and device of the array that was asked about.

    Names of classes stay NumPy's: other libraries have no words.
    """
    if not is_foreign(like) or values.dtype.kind not in "biuf":
        return values
    if is_tensor(like):
        return device_of(like).put(values)
    return like.__array_namespace__().asarray(values, device=like.device)


def device_for(name: str | None, X: Any) -> Device:
    """Return the device with a name, or where X is: a GPU if it is a tensor on one."""
    if name is not None:
        return open_device(name)
    here = device_of(X)
    return here if here.name.startswith("cuda") else CPU
