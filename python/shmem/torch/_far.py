"""PEs that are reached through the network, for which the host waits in some jobs.

There the proxy copies by calls of the driver, and what it does in the program's context the
driver holds while a kernel is loaded beside one that runs (docs/guides/gpu-network.md). A stream
that waits for another PE then waits for ever. torch loads kernels when it likes: those of
torch.compile and Triton at their first launch, others in the thread of a backward pass. So
where the proxies have no context of their own, what waits for another PE is done before the
next kernel of torch's is launched.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch

from shmem import _blocks
from shmem._gpu import heap_gpu
from shmem._runtime import library, state

# The job that it was asked in, and those of its PEs.
_found: tuple[int, frozenset[int]] = (0, frozenset())


def _held(call: str) -> frozenset[int]:
    """The PEs of which that holds: this PE's GPU does not reach them by loads and stores."""
    global _found
    if _found[0] != state.turn:
        reached, word = library(call).shmem_ptr, _blocks.heap.vote
        if not word:
            return frozenset()  # nothing is on the heap
        apart = state.loaded is not None and state.loaded.private("shmemi_copies_apart") != 0
        far = () if apart else (p for p in range(state.n_pes) if not reached(word, p))
        _found = (state.turn, frozenset(far))
    return _found[1]


def finish(call: str, pes: Iterable[int] | None = None) -> None:
    """Waits for torch's current stream where some of those PEs, or of all, is such a one.

    A stream that is captured only takes down what there is to do.
    """
    held = _held(call)
    if not held or not (pes is None or held.intersection(pes)):
        return
    stream = torch.cuda.current_stream(heap_gpu())
    with torch.cuda.device(stream.device):
        captured = torch.cuda.is_current_stream_capturing()
    if not captured:
        stream.synchronize()
