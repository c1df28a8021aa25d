"""Addresses: where the data of an array is, and whether that is symmetric memory."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from shmem import _blocks
from shmem._describe import describe
from shmem._dtypes import Array
from shmem._errors import DeviceError, FreedError, ShmemError, SizeError, SymmetryError
from shmem._ghosts import Ghost
from shmem._runtime import refuse, state

# Makes a ctypes array of 0 elements at the address of a buffer. ctypes passes such an array as a
# pointer to a function without declared types. numpy's own a.ctypes.data takes four times as long.
pointer_to: Callable[[Any], ctypes.Array[ctypes.c_char]] = (ctypes.c_char * 0).from_buffer


def address_of(array: Array) -> int:
    """The address of the first element of an array."""
    try:
        return ctypes.addressof(pointer_to(array))
    except (TypeError, ValueError):
        # ctypes takes only buffers that are contiguous and writable, and numpy exports no buffer
        # of an array of times or of another package's type.
        address: int = array.__array_interface__["data"][0]
        return address


def refuse_address(call: str, name: str, array: Any, address: int) -> ShmemError:
    """The error for an operand that is not in symmetric memory. name says which operand it is."""
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
    """The address of an array with strides; an error unless all of it is in symmetric memory."""
    low = high = address_of(array)
    for n, stride in zip(array.shape, array.strides, strict=True):
        if n == 0:
            break
        low += min(0, (n - 1) * stride)
        high += max(0, (n - 1) * stride)
    if _blocks.find(low, high + array.itemsize - low if array.size else 0) is None:
        raise refuse_address(call, name, array, low)
    return address_of(array)
