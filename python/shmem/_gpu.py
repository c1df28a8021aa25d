"""The GPU that the symmetric heap of this PE is of."""

from __future__ import annotations

from shmem import _blocks, _cuda
from shmem._runtime import state

# The job that it was asked in, and the GPU of that.
_gpu: tuple[int, int | None] = (0, None)


def heap_gpu() -> int | None:
    """The number of the GPU that this PE's heap is of; None before there is anything in it."""
    global _gpu
    if _gpu[0] != state.turn:
        if not _blocks.heap.vote:
            return None
        _gpu = (state.turn, _cuda.device_of(_blocks.heap.vote))
    return _gpu[1]


def is_elsewhere(device: int) -> bool:
    """Whether that is another GPU than the heap's."""
    return heap_gpu() not in (None, device)
