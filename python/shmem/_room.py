"""The error for a symmetric heap that has no room."""

from __future__ import annotations

import ctypes

from shmem._errors import HeapError
from shmem._runtime import state

MORE = "free arrays on every PE, or raise SHMEM_SYMMETRIC_SIZE"


def use() -> tuple[int, int, int]:
    """The bytes of the heap, its free bytes, and the bytes of the largest free block."""
    numbers = (ctypes.c_uint64 * 3)()
    if state.loaded is not None:
        state.loaded.untyped("shmemi_heap_use")(numbers)
    return numbers[0], numbers[1], numbers[2]


def error(call: str, subject: str, nbytes: int, remedy: str = MORE) -> HeapError:
    """The exception for nbytes that could not be allocated."""
    size, free, largest = use()
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
