"""PEs that are reached through the network, for which the host waits.

There the proxy copies by calls of the driver, and the driver lets a load of a kernel hold
them until the GPU is idle (docs/gpu-network.md). A stream that waits for another PE then
waits for ever. torch loads kernels when it likes: those of torch.compile and Triton at
their first launch, others in the thread of a backward pass. So what waits for another PE
is done before the next kernel of torch's is launched.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch

from shmem import _memory
from shmem._device import heap_gpu
from shmem._runtime import library, state

# The job that it was asked in, and those of its PEs.
_found: tuple[int, frozenset[int]] = (0, frozenset())


def _far(call: str) -> frozenset[int]:
    """The PEs whose memory this PE's GPU does not reach by loads and stores."""
    global _found
    if _found[0] != state.turn:
        reached, word = library(call).shmem_ptr, _memory.heap.vote
        if not word:
            return frozenset()  # nothing is on the heap
        _found = (state.turn, frozenset(p for p in range(state.n_pes) if not reached(word, p)))
    return _found[1]


def finish(call: str, pes: Iterable[int] | None = None) -> None:
    """Waits for torch's current stream where some of those PEs, or of all, is far away.

    A stream that is captured only takes down what there is to do.
    """
    far = _far(call)
    if not far or not (pes is None or far.intersection(pes)):
        return
    stream = torch.cuda.current_stream(heap_gpu())
    with torch.cuda.device(stream.device):
        captured = torch.cuda.is_current_stream_capturing()
    if not captured:
        stream.synchronize()
