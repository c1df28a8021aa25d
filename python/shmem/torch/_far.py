"""PEs that are reached through the network, for which the host waits in some jobs.

The proxy copies their data with driver calls. If the proxy uses the program's context, the driver
blocks these calls while a kernel is loaded beside a running one (docs/guides/gpu-network.md), and a
stream that waits for another PE then waits for ever. torch loads kernels at unpredictable times:
those of torch.compile and Triton at their first launch, others in the thread of a backward pass. So
if the proxies have no context of their own, the host waits for a stream that waits for such a PE,
before torch launches its next kernel.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch

from shmem import _blocks
from shmem._gpu import heap_gpu
from shmem._runtime import library, state

# The number of the job for which the PEs of _need_wait were found, and these PEs.
_found: tuple[int, frozenset[int]] = (0, frozenset())


def _need_wait(call: str) -> frozenset[int]:
    """The PEs for which the host has to wait: those that loads and stores do not reach.

    None of them if the proxies have a CUDA context of their own (shmemi_copies_apart).
    """
    global _found
    if _found[0] != state.turn:
        address_at, word = library(call).shmem_ptr, _blocks.heap.vote
        if not word:
            return frozenset()  # nothing is on the heap
        apart = state.loaded is not None and state.loaded.private("shmemi_copies_apart") != 0
        far = () if apart else (p for p in range(state.n_pes) if not address_at(word, p))
        _found = (state.turn, frozenset(far))
    return _found[1]


def finish(call: str, pes: Iterable[int] | None = None) -> None:
    """Waits for torch's current stream if the host has to wait for one of these PEs, or of all PEs.

    It does not wait for a stream that is being captured, which only records work.
    """
    far = _need_wait(call)
    if not far or not (pes is None or far.intersection(pes)):
        return
    stream = torch.cuda.current_stream(heap_gpu())
    with torch.cuda.device(stream.device):
        captured = torch.cuda.is_current_stream_capturing()
    if not captured:
        stream.synchronize()
