"""Arrays that users pass from other libraries: torch's tensors, and all of the array API standard.

They are read as NumPy's (`as_numpy`), computed on the device where they were (`device_for`), and
the answer is returned in their library and on their device (`back_to`). Scikit-learn's option
``array_api_dispatch`` changes nothing here; its own tools, such as scorers, need it on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gferm.arrays.device import CPU, Device, device_of, is_tensor, open_device


def is_foreign(array: Any) -> bool:
    """Return whether this is an array of another library; data frames and lists are not."""
    if isinstance(array, (np.ndarray, np.generic)):
        return False
    return is_tensor(array) or hasattr(array, "__array_namespace__")


def as_numpy(array: Any) -> Any:
    """Return an array of another library as NumPy's; anything else is returned as it is."""
    if array is None or isinstance(array, np.ndarray):
        return array
    if is_tensor(array):
        halves = array.is_floating_point() and array.element_size() < 4  # not all are NumPy's, too
        return (array.float() if halves else array).numpy(force=True)
    return np.from_dlpack(array) if is_foreign(array) else array


def back_to(values: npt.NDArray[Any], like: Any) -> Any:
    """Return ``values`` in the library and on the device of ``like``.

    Strings stay NumPy's: other libraries have none.
    """
    if not is_foreign(like) or values.dtype.kind not in "biuf":
        return values
    if is_tensor(like):
        return device_of(like).put(values)
    return like.__array_namespace__().asarray(values, device=like.device)


def device_for(name: str | None, X: Any) -> Device:
    """Return the device called ``name``; without a name the GPU that X is on, or the CPU."""
    if name is not None:
        return open_device(name)
    if X is None or isinstance(X, np.ndarray):
        return CPU
    here = device_of(X)
    return here if here.name.startswith("cuda") else CPU
