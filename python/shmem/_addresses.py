"""Addresses: where the data of an array is, and whether that is symmetric memory."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from shmem import _blocks
from shmem._describe import describe
from shmem._dtypes import Array
from shmem._errors import DeviceError, FreedError, ShmemError, SizeError, SymmetryError
from shmem._ghosts import Ghost
from shmem._runtime import refuse, state

# In CPython a numpy array has the address of its data first in the object, behind the header of
# every object. a.ctypes.data takes ten times as long. _is_direct checks once that both agree.
HEAD = object.__basicsize__
word_at = ctypes.c_size_t.from_address
# The same address as a value for parameters that are pointers, in calls without types.
pointer_at = ctypes.c_void_p.from_address


def _read_address(array: Array) -> int:
    return word_at(id(array) + HEAD).value


def _ask_address(array: Array) -> int:
    return int(array.ctypes.data)


def _is_direct() -> bool:
    a = np.arange(6, dtype=np.int16)
    return all(_read_address(x) == _ask_address(x) for x in (a, a[2:], a.reshape(2, 3)[1:, 1:]))


IS_DIRECT = _is_direct()
address_of = _read_address if IS_DIRECT else _ask_address


def refuse_address(call: str, name: str, array: Any, address: int) -> ShmemError:
    """Why an address cannot be used as a symmetric one."""
    if state.count == 0:
        return refuse(call)
    what = describe(name, array)
    if _blocks.find_freed(address):
        return FreedError(call, what, "it was freed", "use it before shmem.free only")
    if _blocks.find(address, 0) is not None:
        return SizeError(call, what, "it ends behind its allocation", "pass a slice that is inside")
    if state.heap == "device" and not isinstance(array, Ghost):
        return DeviceError(
            call,
            what,
            "it is in main memory, and the symmetric heap in GPU memory",
            "make it with shmem.empty, zeros or full, and device='cuda'",
        )
    return SymmetryError(
        call,
        what,
        "it is not in symmetric memory",
        "make it with shmem.empty, zeros or full, or register it, after the init of this job",
    )


def check_span(call: str, name: str, array: Array) -> int:
    """The address of an array with strides, all of which must be symmetric memory."""
    low = high = address_of(array)
    for n, stride in zip(array.shape, array.strides, strict=True):
        if n == 0:
            break
        low += min(0, (n - 1) * stride)
        high += max(0, (n - 1) * stride)
    if _blocks.find(low, high + array.itemsize - low if array.size else 0) is None:
        raise refuse_address(call, name, array, low)
    return address_of(array)
