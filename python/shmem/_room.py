"""The size of the symmetric heap, and the error if there is too little memory."""

from __future__ import annotations

import ctypes
from typing import NamedTuple

from shmem._errors import HeapError
from shmem._runtime import quick, untyped

MORE = "free arrays on every PE, or raise SHMEM_SYMMETRIC_SIZE"


class Heap(NamedTuple):
    """The size and use of this PE's symmetric heap, in bytes, as `heap` returns them.

    Attributes
    ----------
    size : int
        The whole heap: SHMEM_SYMMETRIC_SIZE, rounded up to pages.
    used : int
        Allocated, to arrays and to the library. `used + free` is `size`.
    free : int
        Not allocated.
    largest : int
        The largest free block. Memory is fragmented if it is much less than `free`.
    """

    size: int
    used: int
    free: int
    largest: int


def heap() -> Heap:
    """Return how much of this PE's symmetric heap is used and free.

    The call is local. An array that was dropped or freed counts as used until every PE has dropped
    it and the PEs meet in an allocation or in `reclaim`.

    Returns
    -------
    Heap
        `size`, `used`, `free` and `largest`, in bytes.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.

    Examples
    --------
    >>> before = shmem.heap().used
    >>> box = shmem.zeros(1000)
    >>> shmem.heap().used - before >= box.nbytes
    True
    """
    quick("heap")
    return _use()


def _use() -> Heap:
    """The use of the heap, as the library counts it."""
    numbers = (ctypes.c_uint64 * 3)()
    untyped("shmemi_heap_use")(numbers)
    size, free, largest = numbers
    return Heap(size, size - free, free, largest)


def error(call: str, subject: str, nbytes: int, remedy: str = MORE) -> HeapError:
    """The exception for nbytes that could not be allocated."""
    size, _, free, largest = _use()
    cause = f"{free} of {size} bytes are free, the largest free block has {largest}"
    if nbytes <= largest:
        cause += ", and the host of a PE has no memory for it"
    return HeapError(
        call,
        subject,
        f"the symmetric heap has no room: {cause}",
        remedy,
        nbytes,
        free,
        largest,
        size,
    )
