"""Ghosts: arrays in the memory of a GPU, inside the package.

Such an array is a numpy array at an address that the CPU cannot access. The package reads its
shape, strides and type, but never its elements.
"""

from __future__ import annotations

from typing import Any, NoReturn, cast

import numpy as np

from shmem._blocks import address_of_nothing
from shmem._dtypes import Array
from shmem._errors import DeviceError


def refuse_elements(what: str, array: object) -> NoReturn:
    """Refuses calls that would read an array's elements."""
    raise DeviceError(
        what, repr(array), "it is in GPU memory", "copy it: shmem.get(array, this, pe=me)"
    )


class Ghost(np.ndarray[Any, np.dtype[Any]]):
    """An array whose elements the CPU does not read."""

    # A traceback with locals, or a debugger, would read them.
    def __repr__(self) -> str:
        return f"Ghost(shape={self.shape}, dtype={self.dtype})"

    __str__ = __repr__

    def __format__(self, _how: str) -> str:
        return repr(self)

    def _refuse_copy(self, *_: object) -> NoReturn:
        refuse_elements("copy", self)

    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = _refuse_copy  # pickle also reads them


class _Memory:
    """Bytes at an address, and the object that keeps them."""

    def __init__(self, address: int, nbytes: int, owner: object) -> None:
        self._owner = owner
        self.__array_interface__ = {
            "version": 3,
            "data": (address, False),
            "shape": (nbytes,),
            "typestr": "|u1",
        }


def ghost_of(array: np.ndarray[Any, Any]) -> Ghost:
    """An array of GPU memory as a Ghost of the same memory."""
    out: Any = array.view(Ghost)
    return cast(Ghost, out)


def ghost_at(
    address: int,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    owner: object,
    strides: tuple[int, ...] | None = None,
) -> Ghost:
    """An array at an address, which keeps its owner. Strides are in bytes; None: contiguous."""
    # For an array without elements numpy refuses nonzero strides, and torch and cupy have no
    # address.
    if 0 in shape:
        address, strides = address or address_of_nothing(), None
    if strides is None:
        n = dtype.itemsize
        for length in shape:
            n *= length
        flat = np.asarray(_Memory(address, n, owner))
        return ghost_of(flat.view(dtype).reshape(shape))
    low = high = 0
    for length, stride in zip(shape, strides, strict=True):
        low += min(0, (length - 1) * stride)
        high += max(0, (length - 1) * stride)
    flat = np.asarray(_Memory(address + low, high + dtype.itemsize - low, owner))
    return Ghost(shape, dtype, flat.data, -low, strides)


def of_cpu(call: str, name: str, array: Array) -> Array:
    """An operand that the CPU reads, so that it cannot be in GPU memory."""
    if isinstance(array, Ghost):
        raise DeviceError(
            call, f"{name}, an array of {array.dtype}", "it is in GPU memory", "pass one of the CPU"
        )
    return array
