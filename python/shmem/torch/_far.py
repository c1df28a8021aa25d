"""PEs that are reached through the network, for which the host waits in some jobs.

The proxy copies their data with driver calls. If the proxy uses the program's context, the driver
blocks these calls while a kernel is loaded beside a running one (docs/guides/gpu-network.md), and a
stream that waits for another PE then waits for ever. torch loads kernels at unpredictable times:
those of torch.compile and Triton at their first launch, others in the thread of a backward pass. So
where the proxies have no context of their own, the host waits for the stream's waits for other PEs
before torch launches its next kernel.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch

from shmem import _blocks
from shmem._gpu import heap_gpu
from shmem._runtime import library, state

# The job for which these PEs were looked up, and the PEs.
_found: tuple[int, frozenset[int]] = (0, frozenset())


def _held(call: str) -> frozenset[int]:
    """The PEs that this PE's GPU does not reach by loads and stores."""
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
    """Waits for torch's current stream if one of those PEs, or of all PEs, is remote.

    A stream that is being captured only records work.
    """
    held = _held(call)
    if not held or not (pes is None or held.intersection(pes)):
        return
    stream = torch.cuda.current_stream(heap_gpu())
    with torch.cuda.device(stream.device):
        captured = torch.cuda.is_current_stream_capturing()
    if not captured:
        stream.synchronize()
