"""The GPU of this PE's symmetric heap."""

from __future__ import annotations

from shmem import _blocks, _cuda
from shmem._runtime import state

# The job for which the GPU was looked up, and that GPU.
_gpu: tuple[int, int | None] = (0, None)


def heap_gpu() -> int | None:
    """The number of the GPU of this PE's heap; None while the heap is empty."""
    global _gpu
    if _gpu[0] != state.turn:
        if not _blocks.heap.vote:
            return None
        _gpu = (state.turn, _cuda.device_of(_blocks.heap.vote))
    return _gpu[1]


def is_elsewhere(device: int) -> bool:
    """Whether this number is that of another GPU than the heap's; False while that is unknown."""
    return heap_gpu() not in (None, device)
